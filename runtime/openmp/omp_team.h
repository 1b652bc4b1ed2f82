// The threads that execute a parallel region, and their arrival at its barriers (DESIGN 4,
// collective rule): a thread leaves a barrier with the latest virtual arrival time of all.
//
// No locks, no allocation. Arrival times are maxima, which only grow. Two slots used in turn
// suffice for a region's barriers: a thread that reaches the next barrier but one has seen all
// others reach the one between, so all have read the first slot.
#ifndef DWELL_RUNTIME_OPENMP_OMP_TEAM_H_
#define DWELL_RUNTIME_OPENMP_OMP_TEAM_H_

#include <stddef.h>

#include <atomic>

#include "runtime/contract/omp_constructs.h"
#include "runtime/process/shared_words.h"
#include "runtime/process/state.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

constexpr uint32_t kLastBarrier = 2;  // slot of the barrier at the end of the region

struct alignas(64) OmpArrivals {
    std::atomic<uint64_t> real;  // real ticks without pauses
    std::atomic<uint64_t> virt;
    // Last barrier: how many threads other than the forking one have left regions of this team.
    std::atomic<uint64_t> left;

    // Stores an arrival and returns the latest real time so far. Real times are stored in order
    // except for some nanoseconds: a value that is lost was not later.
    uint64_t arrive(const DualTime& at) {
        const uint64_t latest = real.load(std::memory_order_relaxed);
        if (latest < at.real) real.store(at.real, std::memory_order_relaxed);
        raise(&virt, at.virt);
        return latest;
    }
    // The cache line comes from another processor: prefetched.
    void fetch() const { fetch_to_write(this); }
    DualTime latest() const {
        return {real.load(std::memory_order_relaxed), virt.load(std::memory_order_relaxed)};
    }

  private:
    static void raise(std::atomic<uint64_t>* most, uint64_t value) {
        uint64_t seen = most->load(std::memory_order_relaxed);
        while (seen < value &&
               !most->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
        }
    }
};

// A team belongs to the thread that forks its regions, and is reused for them in succession.
// Nothing is reset between regions, because all times of a region are later than those of the
// previous one.
struct alignas(64) OmpTeam {
    // Written by the forking thread before the others use the team; the way they get it orders
    // these accesses.
    uint64_t address;
    uint64_t call;   // where the program called the runtime, 0: unknown
    CellIndex node;  // the region's node in the forking thread's tree
    uint32_t size;
    DualTime fork;
    uint64_t expected;  // value of arrivals[kLastBarrier].left when all threads left the region
    OmpConstruct construct;  // a region, or a league of teams
    bool in_use;             // until the region is joined
    std::atomic<bool> has_tasks;
    TeamStalls* stalls;  // stalls of the forking thread's team
    OmpArrivals arrivals[3];

    void leave() { arrivals[kLastBarrier].left.fetch_add(1, std::memory_order_release); }
    // For the forking thread only.
    bool is_free() const {
        return !in_use && arrivals[kLastBarrier].left.load(std::memory_order_acquire) == expected;
    }
    void join() {
        expected += size - 1;
        in_use = false;
    }
    // When the last thread reached the end of the region; 0: none did.
    uint64_t end_real() const {
        const uint64_t last = arrivals[kLastBarrier].latest().real;
        return last >= fork.real ? last : 0;
    }
};

static_assert(offsetof(OmpTeam, arrivals) == 64);

// A free team for a region that `thread` forks now; null when too many are in use.
OmpTeam* take_team(Thread* thread);
// The team of the region at `node` that `thread` forked and did not join; null: none.
OmpTeam* forked_team(const Thread* thread, CellIndex node);
// Prefetches the team of the thread's next region; or of the thread that forked the last region of
// `team`.
void fetch_next_team(const Thread* thread);
void fetch_other_team(const OmpTeam* team);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_TEAM_H_
