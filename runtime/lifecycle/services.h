// Registers the rooms that keep state for threads (process/hooks.h).
#ifndef DWELL_RUNTIME_LIFECYCLE_SERVICES_H_
#define DWELL_RUNTIME_LIFECYCLE_SERVICES_H_

namespace dwell {

// Before the first thread is attached; may be called again.
void list_services();

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_SERVICES_H_
