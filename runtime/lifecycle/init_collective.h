// MPI_Init and MPI_Init_thread as a meeting of all ranks (DESIGN 4, collective rule). What dwell
// cost each of them until then would else make their virtual clocks differ, and the first message
// between two of them tell of waiting that there was not.
#ifndef DWELL_RUNTIME_LIFECYCLE_INIT_COLLECTIVE_H_
#define DWELL_RUNTIME_LIFECYCLE_INIT_COLLECTIVE_H_

#include "runtime/calls/records.h"

namespace dwell {

// By every observed rank, after relate_clocks(). `call`: the recorded call, stopped and not yet
// left, or null. Sets its virtual duration.
void classify_init(Call* call);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_INIT_COLLECTIVE_H_
