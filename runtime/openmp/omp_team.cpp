// Allocation of teams.
#include "runtime/openmp/omp_team.h"

namespace dwell {

namespace {

// Teams for all forking threads, two at a time; a thread keeps its teams.
constexpr uint32_t kTeams = 512;
constinit OmpTeam g_teams[kTeams]{};
std::atomic<uint32_t> g_teams_given{0};

// Two consecutive teams, or null.
OmpTeam* new_teams() {
    if (g_teams_given.load(std::memory_order_relaxed) >= kTeams) return nullptr;
    const uint32_t number = g_teams_given.fetch_add(2, std::memory_order_relaxed);
    return number < kTeams ? &g_teams[number] : nullptr;
}

OmpTeam* free_team(Thread* thread) {
    OmpThread* const own = &thread->omp;
    for (int i = 0; i < kOmpTeams; ++i) {
        const uint32_t at = (own->next_team + static_cast<uint32_t>(i)) % kOmpTeams;
        if (own->teams[at] == nullptr) {
            OmpTeam* const both = new_teams();
            if (both == nullptr) return nullptr;
            for (const uint32_t place : {at & ~1u, at | 1u}) {
                own->teams[place] = &both[place & 1];
                own->teams[place]->stalls = &thread->team_stalls[place];
            }
        }
        OmpTeam* const team = own->teams[at];
        if (!team->is_free()) continue;
        // The other one is free at the next region, after all threads have left this one.
        own->next_team = at ^ 1;
        return team;
    }
    return nullptr;
}

}  // namespace

OmpTeam* take_team(Thread* thread) {
    OmpTeam* const team = free_team(thread);
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
