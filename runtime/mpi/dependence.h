// Which of its partners a collective makes a rank wait for: what `meets=` in mpi_calls.table says.
#ifndef DWELL_RUNTIME_MPI_DEPENDENCE_H_
#define DWELL_RUNTIME_MPI_DEPENDENCE_H_

#include <stdint.h>

namespace dwell {

enum class Dependence : uint8_t {
    kNobody,
    kUnknown,
    kAll,        // of an inter-communicator: all of the other group
    kEverybody,  // of both groups
    kSome,       // everybody, and others that are not members
    kRoot,
    kToRoot,    // the root all, the others nobody
    kUpTo,      // those of lower rank
    kSources,   // those that send to it in a topology
    kMay,       // everybody or nobody: the standard leaves it open
    kProfiled,  // all observed ranks, whoever else is a member
};

// Access to a window by some of its members (MPI-3.1 11.5.2): Win_start and Win_complete wait for
// those who expose their memory by Win_post, Win_wait for those who end their access by
// Win_complete.
enum class Epoch : uint8_t { kPost, kStart, kComplete, kWait };

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_DEPENDENCE_H_
