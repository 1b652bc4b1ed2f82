#include "runtime/mpi_semantics.h"

#include <errno.h>

namespace dwell {

uint64_t find_type_bytes(Thread* thread, MPI_Datatype type) {
    const uint64_t start = now_ticks();
    const uint64_t epoch = g_process.type_epoch.load(std::memory_order_relaxed);
    const auto handle = reinterpret_cast<uintptr_t>(type);
    MPI_Count bytes = 0;
    if (g_mpi.Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
    thread->types[place_in(kTypeBits, handle)] = {handle, static_cast<uint64_t>(bytes), epoch};
    thread->slow_ticks += now_ticks() - start;
    return static_cast<uint64_t>(bytes);
}

int comm_size(MPI_Comm comm) {
    int size = 0;
    g_mpi.Comm_size(comm, &size);
    return size;
}

int comm_span(MPI_Comm comm) {
    int inter = 0;
    if (comm != g_mpi.comm_world) g_mpi.Comm_test_inter(comm, &inter);
    if (inter == 0) return comm_size(comm);
    int size = 0;
    g_mpi.Comm_remote_size(comm, &size);
    return size;
}

namespace {

struct Neighbors {
    int in;
    int out;
};

// MPI-3.1 7.6: the neighbours of a Cartesian topology are two for each dimension, also where
// MPI_PROC_NULL stands for one.
Neighbors neighbors_of(MPI_Comm comm) {
    int kind = MPI_UNDEFINED;
    int count = 0;
    g_mpi.Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        g_mpi.Cartdim_get(comm, &count);
        return {2 * count, 2 * count};
    }
    if (kind == MPI_GRAPH) {
        int rank = 0;
        g_mpi.Comm_rank(comm, &rank);
        g_mpi.Graph_neighbors_count(comm, rank, &count);
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

uint64_t own_count(MPI_Comm comm, const int* counts) {
    int rank = 0;
    g_mpi.Comm_rank(comm, &rank);
    return as_count(counts[rank]);
}

Place place_of(MPI_Comm comm, int root) {
    if (root == MPI_PROC_NULL) return Place::kNone;
    if (root == MPI_ROOT) return Place::kRemoteRoot;
    int inter = 0;
    if (comm != g_mpi.comm_world) g_mpi.Comm_test_inter(comm, &inter);
    if (inter != 0) return Place::kOther;
    int rank = -1;
    g_mpi.Comm_rank(comm, &rank);
    return rank == root ? Place::kRoot : Place::kOther;
}

}  // namespace dwell
