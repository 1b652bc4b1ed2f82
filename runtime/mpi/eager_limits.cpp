// Open MPI's limits, from the environment.
#include "runtime/mpi/eager_limits.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/process/state.h"

namespace dwell {

// Open MPI's defaults.
DWELL_CALL_DATA EagerLimits g_eager_limits;

namespace {

// `mpirun --mca NAME VALUE` sets the variable as well. A value that Open MPI would not accept
// leaves the limit unchanged.
void read_limit(const char* name, uint64_t* limit) {
    const char* text = getenv(name);
    if (text == nullptr || *text < '0' || *text > '9') return;
    char* end = nullptr;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0') *limit = value;
}

}  // namespace

void read_eager_limits() {
    const int saved_errno = errno;
    read_limit("OMPI_MCA_btl_vader_eager_limit", &g_eager_limits.eager_limit_shm);
    read_limit("OMPI_MCA_btl_vader_max_inline_send", &g_eager_limits.copy_limit);
    read_limit("OMPI_MCA_btl_tcp_eager_limit", &g_eager_limits.eager_limit_net);
    errno = saved_errno;
}

}  // namespace dwell
