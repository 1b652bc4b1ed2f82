// Computation by line without probes: the kernel samples each thread's instruction address into a
// ring that dwell maps (cpu-clock, user mode only, no signal). A communication statement that finds
// samples empties the ring and records them below the interval that just ended.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLING_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLING_H_

#include "runtime/process/state.h"

namespace dwell {

// All functions are for the calling thread. A thread that lives a few milliseconds is not worth the
// system calls: sampling of all but the first begins after kSamplingDelay_ns. Warns once a process
// when the kernel refuses.
constexpr uint64_t kSamplingDelay_ns = 5'000'000;
// Decides before the first thread, when the record file is made, whether to sample. Sampling makes
// context switches dearer and doubles the time of programs that wait for messages while ranks share
// processors; there it is used only on request.
void choose_sampling();
void start_sampling(Thread* thread);
void start_sampling_later(Thread* thread);
// For a program without MPI: other OpenMP threads are idle between regions because of this thread.
// Samples from the first region on; they are read when the thread stops.
void start_serial_sampling(Thread* thread);
void stop_sampling(Thread* thread);
// Starts sampling of a new thread as chosen for the process: now, later, or not at all.
void begin_sampling(Thread* thread);
void end_sampling(Thread* thread);
// At the end of the observation.
void stop_all_sampling();

inline bool has_samples(const Thread* thread) {
    return __atomic_load_n(thread->ring_head, __ATOMIC_ACQUIRE) != thread->ring_seen;
}

// End of the samples in the thread's ring; 0 without a ring.
uint64_t samples_end(const Thread* thread);

// Scope of slow work: samples taken meanwhile, also in libraries called by dwell, are no
// computation.
class OwnSamples {
  public:
    explicit OwnSamples(Thread* thread);
    ~OwnSamples();
    OwnSamples(const OwnSamples&) = delete;
    OwnSamples& operator=(const OwnSamples&) = delete;

  private:
    Thread* thread_;
    uint64_t from_;  // position in the ring
};

// After has_samples(): empties the ring. Samples are recorded below `interval`; with 0 they were
// taken inside a communication statement and are only counted. Without samples it does nothing.
DWELL_COLD void drain_samples(Thread* thread, CellIndex interval);

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLING_H_
