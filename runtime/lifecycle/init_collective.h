// Treats MPI_Init and MPI_Init_thread as a collective of all ranks (DESIGN 4, collective rule).
// Otherwise dwell's cost so far would make the ranks' virtual clocks differ, and the first messages
// would show waiting that did not happen.
#ifndef DWELL_RUNTIME_LIFECYCLE_INIT_COLLECTIVE_H_
#define DWELL_RUNTIME_LIFECYCLE_INIT_COLLECTIVE_H_

#include "runtime/calls/records.h"

namespace dwell {

// On every observed rank, after relate_clocks(). `call`: the recorded call between stop() and
// leave(), or null. Sets its virtual duration.
void classify_init(Call* call);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_INIT_COLLECTIVE_H_
