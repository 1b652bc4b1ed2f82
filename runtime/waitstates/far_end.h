// MPI_Finalize of a job on several hosts: who came last, and when (DESIGN 4, collective rule).
#ifndef DWELL_RUNTIME_WAITSTATES_FAR_END_H_
#define DWELL_RUNTIME_WAITSTATES_FAR_END_H_

#include "runtime/waitstates/waits.h"

namespace dwell {

struct FarEnd {
    bool known;
    uint32_t peer;  // the last on the virtual clock
    Moment last;    // with the latest real time of all
};

// By every observed rank of a job whose hosts' clocks are related: waits until all are there, as
// MPI_Finalize itself does. `call`: the recorded call, or null. False, at once, in other jobs.
bool meet_at_end(Call* call, FarEnd* end);
// After stop(): sets the call's virtual duration.
void settle_end(Call* call, const FarEnd& end);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_FAR_END_H_
