#include "runtime/mpi/eager_limits.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/process/state.h"

namespace dwell {

// What Open MPI has where nothing is set.
DWELL_CALL_DATA EagerLimits g_eager_limits;

namespace {

// `mpirun --mca NAME VALUE` sets the variable as well. What Open MPI would not understand leaves
// the limit as it was.
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
    read_limit("OMPI_MCA_btl_vader_eager_limit", &g_eager_limits.node);
    read_limit("OMPI_MCA_btl_vader_max_inline_send", &g_eager_limits.copied);
    read_limit("OMPI_MCA_btl_tcp_eager_limit", &g_eager_limits.hosts);
    errno = saved_errno;
}

}  // namespace dwell
