// Sizes of datatypes and communicators, asked of MPI when they are not cached.
#include "runtime/mpi/datatypes.h"

#include "runtime/mpi/mpi_handles.h"

namespace dwell {

uint64_t find_type_bytes(Thread* thread, MPI_Datatype type) {
    const ToolWork work(thread);
    const uint64_t epoch = g_process.type_epoch.load(std::memory_order_relaxed);
    const auto handle = reinterpret_cast<uintptr_t>(type);
    const uint64_t bytes = size_of(type);
    thread->types[place_in(kTypeBits, handle)] = {handle, bytes, epoch};
    return bytes;
}

int comm_size(MPI_Comm comm) {
    return comm == g_mpi.comm_world ? g_process.header->world_size : size_of(comm);
}

int comm_span(MPI_Comm comm) { return is_inter(comm) ? remote_size_of(comm) : comm_size(comm); }

namespace {

int own_rank(MPI_Comm comm) {
    return comm == g_mpi.comm_world ? g_process.header->rank : rank_in(comm);
}

struct Neighbors {
    int in;
    int out;
};

// MPI-3.1 7.6: a Cartesian topology has two neighbours in each dimension, some of which may be
// MPI_PROC_NULL.
Neighbors neighbors_of(MPI_Comm comm) {
    const int kind = topology_of(comm);
    int count = 0;
    if (kind == MPI_CART) {
        g_mpi.Cartdim_get(comm, &count);
        return {2 * count, 2 * count};
    }
    if (kind == MPI_GRAPH) {
        g_mpi.Graph_neighbors_count(comm, own_rank(comm), &count);
        return {count, count};
    }
    if (kind == MPI_DIST_GRAPH) {
        Neighbors found{};
        int weighted = 0;
        g_mpi.Dist_graph_neighbors_count(comm, &found.in, &found.out, &weighted);
        return found;
    }
    return {0, 0};
}

}  // namespace

int neighbors_in(MPI_Comm comm) { return neighbors_of(comm).in; }
int neighbors_out(MPI_Comm comm) { return neighbors_of(comm).out; }

uint64_t own_count(MPI_Comm comm, const int* counts) { return as_count(counts[own_rank(comm)]); }

Place place_of(MPI_Comm comm, int root) {
    if (root == MPI_PROC_NULL) return Place::kNone;
    if (root == MPI_ROOT) return Place::kRemoteRoot;
    if (is_inter(comm)) return Place::kOther;
    return own_rank(comm) == root ? Place::kRoot : Place::kOther;
}

}  // namespace dwell
