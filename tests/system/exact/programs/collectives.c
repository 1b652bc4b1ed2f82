// Blocking collectives; 4 ranks, N rounds. `sent` is what the caller's send buffer holds for the
// operation, `received` what its receive buffer gets, its own part included (head of
// runtime/contract/mpi_calls.table); figures below are sums over the 4 ranks and N rounds.
#include <mpi.h>
#include <stdio.h>

//@ let N=3
enum { N = 3 };

static int rank, a[64], b[64];
static const int ramp[4] = {1, 2, 3, 4}, ramp_at[4] = {0, 1, 3, 6};  // rank r has r + 1 items

static void one_to_all(void) {
    const int many[4] = {rank + 1, rank + 1, rank + 1, rank + 1};
    const int many_at[4] = {0, 4, 8, 12};
    //@ MPI_Barrier count=4*N sent=0 received=0
    MPI_Barrier(MPI_COMM_WORLD);
    // Only the root sends, the other three receive.
    //@ MPI_Bcast count=4*N sent=12*N received=36*N
    MPI_Bcast(a, 3, MPI_INT, 1, MPI_COMM_WORLD);
    //@ MPI_Reduce count=4*N sent=32*N received=8*N
    MPI_Reduce(a, b, 2, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    const void* from = rank == 2 ? MPI_IN_PLACE : (const void*)a;
    //@ MPI_Reduce count=4*N sent=32*N received=8*N
    MPI_Reduce(from, b, 2, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    //@ MPI_Gather count=4*N sent=16*N received=16*N
    MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_WORLD);
    // 1 + 2 + 3 + 4 = 10 ints.
    //@ MPI_Gatherv count=4*N sent=40*N received=40*N
    MPI_Gatherv(a, rank + 1, MPI_INT, b, ramp, ramp_at, MPI_INT, 3, MPI_COMM_WORLD);
    //@ MPI_Scatter count=4*N sent=32*N received=32*N
    MPI_Scatter(a, 2, MPI_INT, b, 2, MPI_INT, 0, MPI_COMM_WORLD);
    //@ MPI_Scatterv count=4*N sent=40*N received=40*N
    MPI_Scatterv(a, ramp, ramp_at, MPI_INT, b, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    //@ MPI_Allgather count=4*N sent=16*N received=64*N
    MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD);
    //@ MPI_Allgather count=4*N sent=16*N received=64*N
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, MPI_COMM_WORLD);
    //@ MPI_Allgatherv count=4*N sent=40*N received=160*N
    MPI_Allgatherv(a, rank + 1, MPI_INT, b, ramp, ramp_at, MPI_INT, MPI_COMM_WORLD);
    //@ MPI_Alltoall count=4*N sent=64*N received=64*N
    MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD);
    //@ MPI_Alltoall count=4*N sent=64*N received=64*N
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, MPI_COMM_WORLD);
    // Every rank sends j + 1 ints to rank j: 10 ints from each rank.
    //@ MPI_Alltoallv count=4*N sent=160*N received=160*N
    MPI_Alltoallv(a, ramp, ramp_at, MPI_INT, b, many, many_at, MPI_INT, MPI_COMM_WORLD);
}

static void wide_and_reductions(void) {
    // Ranks 0 and 2 get ints, 1 and 3 doubles: 4 + 8 + 4 + 8 = 24 bytes from each rank.
    const int ones[4] = {1, 1, 1, 1}, at[4] = {0, 8, 16, 24};
    const MPI_Datatype to[4] = {MPI_INT, MPI_DOUBLE, MPI_INT, MPI_DOUBLE};
    const MPI_Datatype mine = rank % 2 ? MPI_DOUBLE : MPI_INT;
    const MPI_Datatype from[4] = {mine, mine, mine, mine};
    double c[8] = {1, 2, 3, 4}, d[8];
    //@ MPI_Alltoallw count=4*N sent=96*N received=96*N
    MPI_Alltoallw(c, ones, at, to, d, ones, at, from, MPI_COMM_WORLD);
    //@ MPI_Allreduce count=4*N sent=64*N received=64*N
    MPI_Allreduce(c, d, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    //@ MPI_Allreduce count=4*N sent=64*N received=64*N
    MPI_Allreduce(MPI_IN_PLACE, d, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    //@ MPI_Reduce_scatter count=4*N sent=160*N received=40*N
    MPI_Reduce_scatter(a, b, ramp, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    //@ MPI_Reduce_scatter_block count=4*N sent=128*N received=32*N
    MPI_Reduce_scatter_block(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    //@ MPI_Scan count=4*N sent=32*N received=32*N
    MPI_Scan(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    //@ MPI_Exscan count=4*N sent=32*N
    MPI_Exscan(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void between_groups(MPI_Comm inter) {
    // World rank 0 is the root, the other group of two ranks receives 8 bytes each.
    const int root = rank == 0 ? MPI_ROOT : rank == 2 ? MPI_PROC_NULL : 0;
    //@ MPI_Bcast count=4*N sent=8*N received=16*N
    MPI_Bcast(a, 2, MPI_INT, root, inter);
    // Each rank gets an int from each of the two remote ranks.
    //@ MPI_Allgather count=4*N sent=16*N received=32*N
    MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, inter);
    //@ MPI_Alltoall count=4*N sent=32*N received=32*N
    MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, inter);
    //@ MPI_Barrier count=4*N sent=0 received=0
    MPI_Barrier(inter);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    for (int i = 0; i < 64; i++) a[i] = i + rank;
    for (int i = 0; i < N; i++) {
        one_to_all();
        wide_and_reductions();
        between_groups(inter);
    }
    printf("rank %d %d %d\n", rank, a[0] + a[1], b[1]);
    MPI_Finalize();
    return 0;
}
