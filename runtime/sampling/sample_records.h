// What samples say, as records: below the interval that they were taken in, the call paths that
// they were taken along, each with their number.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLE_RECORDS_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLE_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr size_t kLargestSample_bytes = UINT16_MAX + 1;  // perf_event_header::size
constexpr int kMostSampledFrames = 256;
// Of the thread's scratch (scratch_of): the sample, and behind it its addresses and those of the
// statement under way. The stack of the program may be small.
constexpr size_t kSampleScratch_bytes =
    kLargestSample_bytes + 2 * kMostSampledFrames * sizeof(uint64_t);

// Books a sample of `size` bytes (perf_event_open(2), or sample_spill.h), which stands for `weight`
// of them. With `interval` 0 they are only counted. Needs kSampleScratch_bytes; `sample` may lie in
// the first of them. Slow, not signal-safe.
void record_sample(Thread* thread, CellIndex interval, const char* sample, size_t size,
                   uint32_t weight);

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLE_RECORDS_H_
