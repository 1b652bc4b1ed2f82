// Short lists of ranks: neighbours in a topology, partners of a window's epoch.
#ifndef DWELL_RUNTIME_MPI_FEW_RANKS_H_
#define DWELL_RUNTIME_MPI_FEW_RANKS_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

constexpr uint32_t kMostRanks = 32;
struct FewRanks {
    uint32_t count;
    bool known;  // false: not looked up, or too many
    int32_t ranks[kMostRanks];
};

inline bool is_among(const FewRanks& list, int rank) {
    for (uint32_t k = 0; k < list.count; ++k) {
        if (list.ranks[k] == rank) return true;
    }
    return false;
}

// The sources and targets of a communicator's neighbourhood collectives, in MPI's order of
// neighbours (MPI-3.1 7.6); negative: none. `rank`: the caller's. Local MPI calls of some
// microseconds; the handle must be valid. Not signal-safe.
void read_neighbours(MPI_Comm comm, int rank, FewRanks* sources, FewRanks* targets);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_FEW_RANKS_H_
