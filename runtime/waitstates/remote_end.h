// The wait analysis of MPI_Finalize in a job on several hosts (DESIGN 4, collective rule).
#ifndef DWELL_RUNTIME_WAITSTATES_REMOTE_END_H_
#define DWELL_RUNTIME_WAITSTATES_REMOTE_END_H_

#include "runtime/waitstates/waits.h"

namespace dwell {

struct RemoteEnd {
    bool known;
    uint32_t peer;    // the last on the virtual clock
    EnterStamp last;  // its stamp, with the latest real time of all
};

// By every profiled rank of a job whose hosts' clocks are related: waits until all are there, as
// MPI_Finalize does. `call`: the recorded call, or null. False, at once, in other jobs.
bool synchronise_at_end(Call* call, RemoteEnd* end);
// After stop(): sets the call's virtual duration.
void classify_end(Call* call, const RemoteEnd& end);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_REMOTE_END_H_
