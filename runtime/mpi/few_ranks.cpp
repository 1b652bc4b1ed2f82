// Neighbours in Cartesian, graph and distributed graph topologies.
#include "runtime/mpi/few_ranks.h"

#include "runtime/mpi/mpi_handles.h"

namespace dwell {

namespace {

constexpr auto kMost = static_cast<int>(kMostRanks);

void know(int count, FewRanks* list) {
    list->count = static_cast<uint32_t>(count);
    list->known = true;
}

}  // namespace

void read_neighbours(MPI_Comm comm, int rank, FewRanks* sources, FewRanks* targets) {
    const int kind = topology_of(comm);
    int count = 0;
    if (kind == MPI_DIST_GRAPH) {
        int out = 0;
        int weighted = 0;
        int weights[2 * kMost];
        g_mpi.Dist_graph_neighbors_count(comm, &count, &out, &weighted);
        if (count > kMost || out > kMost) return;
        g_mpi.Dist_graph_neighbors(comm, count, sources->ranks, weights, out, targets->ranks,
                                   weights + kMost);
        know(count, sources);
        know(out, targets);
        return;
    }
    if (kind == MPI_CART) {
        g_mpi.Cartdim_get(comm, &count);
        if (2 * count > kMost) return;
        for (int dimension = 0; dimension < count; ++dimension) {
            int* pair = &sources->ranks[2 * dimension];
            g_mpi.Cart_shift(comm, dimension, 1, &pair[0], &pair[1]);
        }
        count *= 2;
    } else if (kind == MPI_GRAPH) {
        g_mpi.Graph_neighbors_count(comm, rank, &count);
        if (count > kMost) return;
        g_mpi.Graph_neighbors(comm, rank, count, sources->ranks);
    } else {
        return;
    }
    know(count, sources);
    *targets = *sources;
}

}  // namespace dwell
