// What happens to the whole process is taken notice of by each of its threads, in its next call or
// probe: pauses, resets of all counts (MPI_Pcontrol), unloaded modules.
#ifndef DWELL_RUNTIME_PROCESS_RESET_H_
#define DWELL_RUNTIME_PROCESS_RESET_H_

#include "runtime/contract/virtual_clock.h"
#include "runtime/process/state.h"

namespace dwell {

// What happened to the process since the thread was here last.
DWELL_COLD void take_notice(Thread* thread);
// Of the pauses that the thread has not noticed yet what lies after `since`: what was under way
// when another thread paused the process may have gone on in the pause, or beyond it. Of several
// pauses of which one ended before `since` it is known only that they were no longer than that.
inline uint64_t paused_since(const Thread* thread, uint64_t since) {
    const uint64_t paused = g_live->paused_ticks - thread->paused_ticks;
    return earlier(paused, beyond(g_live->resumed_ticks, since));
}

// The thread's open call was left by a throw or a longjmp, as an error handler may do: it counts,
// without a time, among the failed ones.
void record_abandoned(Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_RESET_H_
