// The kernel as the source of counts (metrics.h), without PAPI: see kernel_events.h.
#ifndef DWELL_RUNTIME_MEASURE_KERNEL_COUNTERS_H_
#define DWELL_RUNTIME_MEASURE_KERNEL_COUNTERS_H_

#include "runtime/measure/metrics.h"

namespace dwell {

// The event is counted from now on in each set that is opened; false when it cannot be. Not thread
// safe.
bool add_kernel_event(const char* name);

// Of all events that were added.
CounterSource kernel_source();

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_KERNEL_COUNTERS_H_
