// Computation by line without probes: the kernel samples each thread's instruction address into a
// ring that dwell maps (cpu-clock, user mode only, no signal). The ring is emptied when a
// communication statement finds something in it, and each sample becomes a record under the
// interval that just ended.
#ifndef DWELL_RUNTIME_SAMPLING_H_
#define DWELL_RUNTIME_SAMPLING_H_

#include "runtime/state.h"

namespace dwell {

// Both for the calling thread, resp. any thread that no longer runs in dwell. start_sampling warns
// once for a process when the kernel refuses.
void start_sampling(Thread* thread);
void stop_sampling(Thread* thread);

inline bool has_samples(const Thread* thread) {
    return thread->ring_head != nullptr &&
           __atomic_load_n(thread->ring_head, __ATOMIC_ACQUIRE) != thread->ring_seen;
}

// Empties the ring. Samples go under `interval`; with 0 they were taken inside a communication
// statement and are only counted.
DWELL_COLD void drain_samples(Thread* thread, CellIndex interval);

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_H_
