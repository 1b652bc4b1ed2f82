// The partners that a rank waits for in a collective: values of `depends=` in mpi_calls.table.
#ifndef DWELL_RUNTIME_MPI_DEPENDENCE_H_
#define DWELL_RUNTIME_MPI_DEPENDENCE_H_

#include <stdint.h>

namespace dwell {

enum class Dependence : uint8_t {
    kNobody,
    kUnknown,
    kAll,        // in an inter-communicator: all of the other group
    kEverybody,  // of both groups
    kSome,       // everybody, and others that are no members
    kRoot,
    kToRoot,    // the root waits for all, others for nobody
    kUpTo,      // members of lower rank
    kSources,   // the sources in a topology
    kMay,       // everybody or nobody: the standard leaves it open
    kProfiled,  // all profiled ranks, whoever else is a member
};

// Access to a window by some of its members (MPI-3.1 11.5.2): MPI_Win_start and MPI_Win_complete
// wait for the targets' MPI_Win_post, MPI_Win_wait for the origins' MPI_Win_complete.
enum class Epoch : uint8_t { kPost, kStart, kComplete, kWait };

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_DEPENDENCE_H_
