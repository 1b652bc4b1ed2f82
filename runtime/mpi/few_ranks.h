// Ranks of a communicator or window where they are few: neighbours in a topology, partners of a
// window's epoch.
#ifndef DWELL_RUNTIME_MPI_FEW_RANKS_H_
#define DWELL_RUNTIME_MPI_FEW_RANKS_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

constexpr uint32_t kMostRanks = 32;
struct FewRanks {
    uint32_t count;
    bool known;  // false: not asked for, or too many
    int32_t ranks[kMostRanks];
};

inline bool is_among(const FewRanks& list, int rank) {
    for (uint32_t k = 0; k < list.count; ++k) {
        if (list.ranks[k] == rank) return true;
    }
    return false;
}

// From whom neighbourhood collectives of a communicator get something, and to whom they give, in
// the order in which MPI names neighbours (MPI-3.1 7.6); negative: nobody. `rank`: the caller's.
// Local calls of MPI, some microseconds; the handle must be good. Not signal-safe.
void read_neighbours(MPI_Comm comm, int rank, FewRanks* sources, FewRanks* targets);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_FEW_RANKS_H_
