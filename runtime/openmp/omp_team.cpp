#include "runtime/openmp/omp_team.h"

namespace dwell {

namespace {

// Of all threads that fork regions, by twos. Those that were given to a thread stay that one's.
constexpr uint32_t kTeams = 512;
constinit OmpTeam g_teams[kTeams]{};
std::atomic<uint32_t> g_teams_given{0};

// Two teams that follow each other, or null.
OmpTeam* new_teams() {
    if (g_teams_given.load(std::memory_order_relaxed) >= kTeams) return nullptr;
    const uint32_t number = g_teams_given.fetch_add(2, std::memory_order_relaxed);
    return number < kTeams ? &g_teams[number] : nullptr;
}

OmpTeam* free_team(OmpThread* own) {
    for (int i = 0; i < kOmpTeams; ++i) {
        const uint32_t at = (own->next_team + static_cast<uint32_t>(i)) % kOmpTeams;
        if (own->teams[at] == nullptr) {
            OmpTeam* const both = new_teams();
            if (both == nullptr) return nullptr;
            own->teams[at & ~1u] = both;
            own->teams[at | 1u] = both + 1;
        }
        OmpTeam* const team = own->teams[at];
        if (!team->is_free()) continue;
        // The other one of two is free by the next region, when all have left this one.
        own->next_team = at ^ 1;
        return team;
    }
    return nullptr;
}

// A part of a region's time: the longest of those in the last region that has one, and the sum of
// these.
struct LongestParts {
    std::atomic<uint64_t> last;  // in one word: which region, by its fork, and how long
    std::atomic<uint64_t> sum;

    // False where another thread's is longer.
    bool add(uint64_t fork, uint64_t ticks) {
        constexpr int kBits = 40;
        constexpr uint64_t kMost = (uint64_t{1} << kBits) - 1;  // minutes
        const uint64_t region = fork << kBits;
        const uint64_t own = earlier(ticks, kMost);
        uint64_t seen = last.load(std::memory_order_relaxed);
        uint64_t longest = 0;
        do {
            longest = (seen & ~kMost) == region ? seen & kMost : 0;
            if (own <= longest) return false;
        } while (!last.compare_exchange_weak(seen, region | own, std::memory_order_relaxed));
        sum.fetch_add(own - longest, std::memory_order_relaxed);
        return true;
    }
};

// Beside the teams, as they are seldom written.
struct alignas(64) TeamStalls {
    LongestParts io;
    LongestParts asleep;
    LongestParts kernel;
    std::atomic<CellIndex> io_node;
};
constinit TeamStalls g_stalls[kTeams]{};

}  // namespace

void tell_stalls(const OmpTeam* team, const OmpStalls& stalls) {
    TeamStalls* const all = &g_stalls[team - g_teams];
    const uint64_t fork = team->fork.real;
    if (all->io.add(fork, stalls.io_ticks)) {
        all->io_node.store(stalls.io_node, std::memory_order_relaxed);
    }
    all->asleep.add(fork, stalls.asleep_ticks);
    all->kernel.add(fork, stalls.kernel_ticks);
}

OmpStalls stalls_in_teams(const Thread* thread) {
    OmpStalls sums{};
    uint64_t most_io = 0;
    for (const OmpTeam* team : thread->omp.teams) {
        if (team == nullptr) continue;
        const TeamStalls& stalls = g_stalls[team - g_teams];
        const uint64_t io = stalls.io.sum.load(std::memory_order_relaxed);
        sums.io_ticks += io;
        sums.asleep_ticks += stalls.asleep.sum.load(std::memory_order_relaxed);
        sums.kernel_ticks += stalls.kernel.sum.load(std::memory_order_relaxed);
        if (io > most_io) sums.io_node = stalls.io_node.load(std::memory_order_relaxed);
        most_io = later(most_io, io);
    }
    return sums;
}

OmpTeam* take_team(Thread* thread) {
    OmpTeam* const team = free_team(&thread->omp);
    if (team == nullptr) return nullptr;
    team->size = 1;
    team->in_use = true;
    if (team->has_tasks.load(std::memory_order_relaxed)) {
        team->has_tasks.store(false, std::memory_order_relaxed);
    }
    return team;
}

OmpTeam* forked_team(const Thread* thread, CellIndex node) {
    for (OmpTeam* team : thread->omp.teams) {
        if (team != nullptr && team->in_use && team->node == node) return team;
    }
    return nullptr;
}

void fetch_other_team(const OmpTeam* team) {
    __builtin_prefetch(&g_teams[static_cast<uint32_t>(team - g_teams) ^ 1]);
}

void fetch_next_team(const Thread* thread) {
    const OmpTeam* const next = thread->omp.teams[thread->omp.next_team];
    if (next == nullptr) return;
    fetch_to_write(next);
    next->arrivals[kLastBarrier].fetch();
}

}  // namespace dwell
