// Stores samples in records: below the interval in which they were taken, their call paths with
// counts.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLE_RECORDS_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLE_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr size_t kLargestSample_bytes = UINT16_MAX + 1;  // perf_event_header::size
constexpr int kMostSampledFrames = 256;
// Size of the thread's scratch memory (scratch_of): the sample, its addresses and those of the
// statement under way. The program's stack may be too small for them.
constexpr size_t kSampleScratch_bytes =
    kLargestSample_bytes + 2 * kMostSampledFrames * sizeof(uint64_t);

// A moment by two clocks, for the events of samples; 0 ns: there are none.
struct SampleClock {
    uint64_t ticks;
    uint64_t ns;  // CLOCK_MONOTONIC
};

// Records a sample of `size` bytes (perf_event_open(2), or sample_spill.h) with the given `weight`.
// With `interval` 0 it is only counted. Needs kSampleScratch_bytes of scratch, in which `sample`
// may lie. Slow, not signal-safe.
void record_sample(Thread* thread, CellIndex interval, const char* sample, size_t size,
                   uint32_t weight, const SampleClock& now);

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLE_RECORDS_H_
