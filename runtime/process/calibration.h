// Measures the cost of dwell's own steps, before the first of them is recorded (DESIGN 4, local
// rule).
#ifndef DWELL_RUNTIME_PROCESS_CALIBRATION_H_
#define DWELL_RUNTIME_PROCESS_CALIBRATION_H_

#include "runtime/process/clock.h"
#include "runtime/process/state.h"

namespace dwell {

struct StepTicks {
    uint64_t all;
    uint64_t inner;  // the part of `all` that was added to `node`
};

// Ticks of one `step`: the minimum of many short rounds, because interruptions only add time.
template <typename Step>
StepTicks least_ticks(Thread* thread, Node* node, Step step) {
    constexpr int kSteps = 200;
    constexpr int kRounds = 40;
    StepTicks least{UINT64_MAX, UINT64_MAX};
    for (int round = 0; round < kRounds; ++round) {
        node->ticks = 0;
        thread->slow_overhead = 0;
        const uint64_t begin = now_ticks();
        for (int i = 0; i < kSteps; ++i) step();
        const uint64_t all = now_ticks() - begin;
        if (all < least.all) least.all = all;
        if (node->ticks < least.inner) least.inner = node->ticks;
    }
    return {least.all / kSteps, least.inner / kSteps};
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_CALIBRATION_H_
