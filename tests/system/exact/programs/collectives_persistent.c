// Persistent collectives, an extension of Open MPI 4's, 4 ranks, N rounds: counts, bytes and
// IN_PLACE as in collectives.c and neighbours.c; the bytes are booked on the line that starts the
// operation.
#include <mpi.h>
#include <stdio.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

//@ let N=3
enum { N = 3 };

static int rank, a[64], b[64];
static const int ramp[4] = {1, 2, 3, 4}, ramp_at[4] = {0, 1, 3, 6};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
    const int many[4] = {rank + 1, rank + 1, rank + 1, rank + 1}, many_at[4] = {0, 4, 8, 12};
    const int ones[4] = {1, 1, 1, 1}, at[4] = {0, 8, 16, 24};
    const int two[2] = {1, 2}, two_at[2] = {0, 8}, both[2] = {2, 1};
    const MPI_Aint far_at[2] = {0, 32};
    const MPI_Datatype to[4] = {MPI_INT, MPI_DOUBLE, MPI_INT, MPI_DOUBLE};
    const MPI_Datatype mine = rank % 2 ? MPI_DOUBLE : MPI_INT;
    const MPI_Datatype from[4] = {mine, mine, mine, mine};
    const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    const MPI_Comm w = MPI_COMM_WORLD;
    const MPI_Info no = MPI_INFO_NULL;
    double c[8] = {1, 2, 3, 4}, d[8];
    int size = 4, ring = 1;
    MPI_Request r, pair[2];
    MPI_Comm cart;
    for (int i = 0; i < 64; i++) a[i] = i + rank;
    MPI_Cart_create(w, 1, &size, &ring, 0, &cart);

    //@ MPIX_Barrier_init count=4 sent=0 received=0
    MPIX_Barrier_init(w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=0 received=0
        MPI_Start(&r);
        //@ MPI_Wait count=4*N sent=0 received=0 recv_events=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Bcast_init count=4 sent=0 received=0
    MPIX_Bcast_init(b, 3, MPI_INT, 1, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=12*N received=36*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Reduce_init count=4
    MPIX_Reduce_init(a, b, 2, MPI_INT, MPI_SUM, 2, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=32*N received=8*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Gather_init count=4
    MPIX_Gather_init(a, 1, MPI_INT, b, 1, MPI_INT, 0, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=16*N received=16*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Gatherv_init count=4
    MPIX_Gatherv_init(a, rank + 1, MPI_INT, b, ramp, ramp_at, MPI_INT, 3, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=40*N received=40*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Scatter_init count=4
    MPIX_Scatter_init(a, 2, MPI_INT, b, 2, MPI_INT, 0, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=32*N received=32*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Scatterv_init count=4
    MPIX_Scatterv_init(a, ramp, ramp_at, MPI_INT, b, rank + 1, MPI_INT, 0, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=40*N received=40*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Allgather_init count=4
    MPIX_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=16*N received=64*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Allgatherv_init count=4
    MPIX_Allgatherv_init(a, rank + 1, MPI_INT, b, ramp, ramp_at, MPI_INT, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=40*N received=160*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Alltoall_init count=4
    MPIX_Alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=64*N received=64*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Alltoallv_init count=4
    MPIX_Alltoallv_init(a, ramp, ramp_at, MPI_INT, b, many, many_at, MPI_INT, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=160*N received=160*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Alltoallw_init count=4
    MPIX_Alltoallw_init(c, ones, at, to, d, ones, at, from, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=96*N received=96*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Allreduce_init count=4
    MPIX_Allreduce_init(a, b, 2, MPI_INT, MPI_MAX, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=32*N received=32*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Reduce_scatter_init count=4
    MPIX_Reduce_scatter_init(a, b, ramp, MPI_INT, MPI_SUM, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=160*N received=40*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Reduce_scatter_block_init count=4
    MPIX_Reduce_scatter_block_init(a, b, 2, MPI_INT, MPI_SUM, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=128*N received=32*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Scan_init count=4
    MPIX_Scan_init(a, b, 2, MPI_INT, MPI_SUM, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=32*N received=32*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Exscan_init count=4
    MPIX_Exscan_init(a, b, 2, MPI_INT, MPI_SUM, w, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=32*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);

    // Of a ring: two neighbours each.
    //@ MPIX_Neighbor_allgather_init count=4
    MPIX_Neighbor_allgather_init(a, 3, MPI_INT, b, 3, MPI_INT, cart, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=48*N received=96*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Neighbor_allgatherv_init count=4
    MPIX_Neighbor_allgatherv_init(a, 1, MPI_INT, b, ones, two_at, MPI_INT, cart, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=16*N received=32*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Neighbor_alltoall_init count=4
    MPIX_Neighbor_alltoall_init(a, 3, MPI_INT, b, 3, MPI_INT, cart, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=96*N received=96*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Neighbor_alltoallv_init count=4
    MPIX_Neighbor_alltoallv_init(a, two, two_at, MPI_INT, b, both, two_at, MPI_INT, cart, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=48*N received=48*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);
    //@ MPIX_Neighbor_alltoallw_init count=4
    MPIX_Neighbor_alltoallw_init(a, two, far_at, ints, b, both, far_at, ints, cart, no, &r);
    for (int i = 0; i < N; i++) {
        //@ MPI_Start count=4*N sent=48*N received=48*N
        MPI_Start(&r);
        //@ MPI_Wait count=4*N
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r);

    // Each rank may start them in another order.
    //@ MPIX_Barrier_init count=4
    MPIX_Barrier_init(w, no, &pair[rank % 2]);
    //@ MPIX_Allreduce_init count=4
    MPIX_Allreduce_init(a, b, 1, MPI_INT, MPI_MIN, w, no, &pair[1 - rank % 2]);
    for (int i = 0; i < N; i++) {
        //@ MPI_Startall count=4*N sent=16*N received=16*N
        MPI_Startall(2, pair);
        //@ MPI_Waitall count=4*N recv_events=8*N
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    MPI_Comm_free(&cart);
#endif
    printf("rank %d %d\n", rank, b[0]);
    MPI_Finalize();
    return 0;
}
