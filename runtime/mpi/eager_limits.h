// The message sizes above which MPI sends wait for their receivers.
#ifndef DWELL_RUNTIME_MPI_EAGER_LIMITS_H_
#define DWELL_RUNTIME_MPI_EAGER_LIMITS_H_

#include <stdint.h>

namespace dwell {

// Limits in bytes, for larger messages.
struct EagerLimits {
    uint64_t eager_limit_shm = 4096;  // rendezvous within the host: the send waits for the receive
    uint64_t copy_limit =
        256;  // single copy: stays with the sender until the receiver copies it;
              // the send waits for that, the receive only for the begin of the send
    uint64_t eager_limit_net = 65536;  // rendezvous between hosts
};
extern EagerLimits g_eager_limits __attribute__((visibility("hidden")));

// In MPI_Init: reads the user's settings. MPI_T would also know those of configuration files, but
// starting it registers every component of Open MPI: 230 ms.
void read_eager_limits();

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_EAGER_LIMITS_H_
