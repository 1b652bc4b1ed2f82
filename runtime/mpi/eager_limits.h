// The message sizes above which MPI sends wait for their receivers.
#ifndef DWELL_RUNTIME_MPI_EAGER_LIMITS_H_
#define DWELL_RUNTIME_MPI_EAGER_LIMITS_H_

#include <stdint.h>

namespace dwell {

// In bytes. Within a host, a message above `copy_limit` may stay with the sender until the receiver
// copies it (single copy): the send waits for that, the receive only for the begin of the send.
struct EagerLimits {
    uint64_t eager_limit_shm = 4096;  // above: rendezvous within the host
    uint64_t copy_limit = 256;
    uint64_t eager_limit_net = 65536;  // above: rendezvous between hosts
};
extern EagerLimits g_eager_limits __attribute__((visibility("hidden")));

// In MPI_Init: reads the user's settings. MPI_T would also know those of configuration files, but
// starting it registers every component of Open MPI: 230 ms.
void read_eager_limits();

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_EAGER_LIMITS_H_
