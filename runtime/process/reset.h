// Process-wide changes that each thread notices at its next call or probe: pauses and resets
// (MPI_Pcontrol), unloaded modules.
#ifndef DWELL_RUNTIME_PROCESS_RESET_H_
#define DWELL_RUNTIME_PROCESS_RESET_H_

#include "runtime/process/state.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

// Applies the changes since the thread last looked.
DWELL_COLD void apply_changes(Thread* thread);
// The part of the pauses not noticed by the thread so far that lies after `since`: a call under way
// may have ended during or after another thread's pause. An upper bound if one of several pauses
// ended before `since`.
inline uint64_t paused_since(const Thread* thread, uint64_t since) {
    const uint64_t paused = g_live->paused_ticks - thread->paused_ticks;
    return earlier(paused, beyond(g_live->resumed_ticks, since));
}

// The thread's open call was left by a throw or a longjmp, for example by an error handler: counts
// it as failed, without time.
void record_abandoned(Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_RESET_H_
