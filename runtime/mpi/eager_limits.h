// From which size on MPI sends wait for their receivers.
#ifndef DWELL_RUNTIME_MPI_EAGER_LIMITS_H_
#define DWELL_RUNTIME_MPI_EAGER_LIMITS_H_

#include <stdint.h>

namespace dwell {

// A message of more bytes
struct EagerLimits {
    uint64_t node = 4096;   // waits for its receiver;
    uint64_t copied = 256;  // may be left where it is until the receiver takes it out of there: its
                            // send waits for that, and the receive for nothing but the send's begin
    uint64_t hosts = 65536;  // to another host waits for its receiver
};
extern EagerLimits g_eager_limits __attribute__((visibility("hidden")));

// In MPI_Init: as the user set them. MPI_T would tell as well what configuration files say, but
// starting it registers every component of Open MPI: 230 ms.
void read_eager_limits();

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_EAGER_LIMITS_H_
