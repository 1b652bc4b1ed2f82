// Counts read from the kernel without PAPI (metrics.h, kernel_events.h).
#ifndef DWELL_RUNTIME_MEASURE_KERNEL_COUNTERS_H_
#define DWELL_RUNTIME_MEASURE_KERNEL_COUNTERS_H_

#include "runtime/measure/metrics.h"

namespace dwell {

// Adds an event to the sets opened from now on; false when it does not work. Not thread-safe.
bool add_kernel_event(const char* name);

// The source of all added events.
CounterSource kernel_source();

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_KERNEL_COUNTERS_H_
