// The threads that execute one parallel region, and when they came to its barriers (DESIGN 4,
// collective rule): who leaves a barrier takes over the latest virtual time at which any came.
//
// Nothing here is locked or allocated. Times at a barrier are kept as maxima, which only grow: two
// places for a region's barriers in turn are enough, because who comes to the next but one has seen
// all others come to the one in between, so all have read what they want to know of the first.
#ifndef DWELL_RUNTIME_OPENMP_OMP_TEAM_H_
#define DWELL_RUNTIME_OPENMP_OMP_TEAM_H_

#include <stddef.h>

#include <atomic>

#include "runtime/contract/omp_constructs.h"
#include "runtime/contract/virtual_clock.h"
#include "runtime/process/shared_words.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kLastBarrier = 2;  // slot of the barrier at the end of the region

struct alignas(64) OmpArrivals {
    std::atomic<uint64_t> real;  // without pauses
    std::atomic<uint64_t> virt;
    // Of the last barrier: how many threads left a region of this team, but those that forked.
    std::atomic<uint64_t> left;

    // Returns the latest real time so far. Real times come in the order in which they are told, but
    // for some nanoseconds: whose is lost then was there as early.
    uint64_t tell(const DualTime& at) {
        const uint64_t latest = real.load(std::memory_order_relaxed);
        if (latest < at.real) real.store(at.real, std::memory_order_relaxed);
        raise(&virt, at.virt);
        return latest;
    }
    // The line comes from another processor: asked for before it is needed.
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

// A team belongs to the thread that forks its regions, and serves one after the other. Nothing is
// set back in between: all times of a region are later than those of the one before.
struct alignas(64) OmpTeam {
    // Written by the thread that forks, before others come. How they learn of the team orders this.
    uint64_t address;
    uint64_t call;   // where the program called the runtime for it, 0: not known
    CellIndex node;  // of the region, in its tree
    uint32_t size;
    DualTime fork;
    uint64_t expected;       // arrivals[kLastBarrier].left when all have left the region
    OmpConstruct construct;  // a region's, or a league's of teams
    bool in_use;             // until it is joined
    std::atomic<bool> has_tasks;
    TeamStalls* stalls;  // of the thread that forks
    OmpArrivals arrivals[3];

    void leave() { arrivals[kLastBarrier].left.fetch_add(1, std::memory_order_release); }
    // Of the forking thread only.
    bool is_free() const {
        return !in_use && arrivals[kLastBarrier].left.load(std::memory_order_acquire) == expected;
    }
    void join() {
        expected += size - 1;
        in_use = false;
    }
    // When the last one came to the end of the region; 0 where nobody did.
    uint64_t end_real() const {
        const uint64_t last = arrivals[kLastBarrier].latest().real;
        return last >= fork.real ? last : 0;
    }
};

static_assert(offsetof(OmpTeam, arrivals) == 64);

// A team for a region that `thread` forks now; null when too many are in use.
OmpTeam* take_team(Thread* thread);
// That of the region at `node` that `thread` forked and did not join; null: none.
OmpTeam* forked_team(const Thread* thread, CellIndex node);
// Its next region will come soon; or that of the thread that forked the last one of `team`.
void fetch_next_team(const Thread* thread);
void fetch_other_team(const OmpTeam* team);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_TEAM_H_
