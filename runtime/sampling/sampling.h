// Computation by line without probes: the kernel samples each thread's instruction address into a
// ring that dwell maps (cpu-clock, user mode only, no signal). The ring is emptied when a
// communication statement finds something in it, and each sample becomes a record under the
// interval that just ended.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLING_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLING_H_

#include "runtime/process/state.h"

namespace dwell {

// All for the calling thread. A thread that lives for a few milliseconds only is not worth the
// system calls: sampling of any but the first begins when it is seen again after kSamplingDelay_ns.
// Warns once for a process when the kernel refuses.
constexpr uint64_t kSamplingDelay_ns = 5'000'000;
// Before the first of them, when the record file is made: whether there is sampling, which makes
// each switch from one thread to another dearer. Where ranks share processors it doubles the time
// of programs that wait for messages, so there is none unless it was asked for.
void choose_sampling();
void start_sampling(Thread* thread);
void start_sampling_later(Thread* thread);
// Of a program without MPI: between regions of OpenMP other threads are idle because of this one.
// From the first region on; the samples are read when the thread stops.
void start_serial_sampling(Thread* thread);
void stop_sampling(Thread* thread);
// A new thread: as the process is, now or later or not at all.
void begin_sampling(Thread* thread);
void end_sampling(Thread* thread);
// The observation ends.
void stop_all_sampling();

inline bool has_samples(const Thread* thread) {
    return __atomic_load_n(thread->ring_head, __ATOMIC_ACQUIRE) != thread->ring_seen;
}

// Where the samples that the thread's ring has so far end; 0 without a ring.
uint64_t samples_end(const Thread* thread);

// Around slow work: what is sampled meanwhile, in libraries that dwell calls, is no computation.
class OwnSamples {
  public:
    explicit OwnSamples(Thread* thread);
    ~OwnSamples();
    OwnSamples(const OwnSamples&) = delete;
    OwnSamples& operator=(const OwnSamples&) = delete;

  private:
    Thread* thread_;
    uint64_t from_;  // of the ring
};

// After has_samples: empties the ring. Samples go under `interval`; with 0 they were taken inside a
// communication statement and are only counted. Nothing is done when there are none.
DWELL_COLD void drain_samples(Thread* thread, CellIndex interval);

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLING_H_
