// Which rooms hear of threads (process/hooks.h).
#ifndef DWELL_RUNTIME_LIFECYCLE_SERVICES_H_
#define DWELL_RUNTIME_LIFECYCLE_SERVICES_H_

namespace dwell {

// Before the first thread is attached; more than once is as well.
void list_services();

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_SERVICES_H_
