// Neighbourhood collectives, 4 ranks, N rounds. On the periodic ring every rank has 2 neighbours on
// each side of the operation; in the star rank 0 sends to the other three and nobody else sends.
#include <mpi.h>
#include <stdio.h>

//@ let N=3
enum { N = 3 };

int main(int argc, char** argv) {
    int rank, a[8] = {0}, b[8] = {0};
    MPI_Comm ring, star;
    MPI_Request request[5];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    //@ MPI_Cart_create count=4
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){4}, (int[]){1}, 0, &ring);
    const int leaves[3] = {1, 2, 3}, root[1] = {0};
    //@ MPI_Dist_graph_create_adjacent count=4
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank ? 1 : 0, root, MPI_UNWEIGHTED, rank ? 0 : 3,
                                   leaves, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star);
    // To the left 1 int, to the right 2; so 2 come from the left and 1 from the right.
    const int out[2] = {1, 2}, in[2] = {2, 1}, at[2] = {0, 2}, one[2] = {1, 1};
    const MPI_Aint bytes_at[2] = {0, 8};
    const MPI_Datatype kinds[2] = {MPI_INT, MPI_INT};
    for (int i = 0; i < 8; i++) a[i] = 10 * rank + i;
    for (int i = 0; i < N; i++) {
        //@ MPI_Neighbor_allgather count=4*N sent=16*N received=32*N
        MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, ring);
        //@ MPI_Neighbor_allgatherv count=4*N sent=16*N received=32*N
        MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, one, at, MPI_INT, ring);
        //@ MPI_Neighbor_alltoall count=4*N sent=32*N received=32*N
        MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, ring);
        //@ MPI_Neighbor_alltoallv count=4*N sent=48*N received=48*N
        MPI_Neighbor_alltoallv(a, out, at, MPI_INT, b, in, at, MPI_INT, ring);
        //@ MPI_Neighbor_alltoallw count=4*N sent=32*N received=32*N
        MPI_Neighbor_alltoallw(a, one, bytes_at, kinds, b, one, bytes_at, kinds, ring);
        //@ MPI_Ineighbor_alltoall count=4*N sent=32*N received=32*N
        MPI_Ineighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, ring, &request[0]);
        //@ MPI_Wait count=4*N sent=0 received=0
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        //@ MPI_Neighbor_alltoall count=4*N sent=12*N received=12*N
        MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, star);
    }
    printf("rank %d %d %d\n", rank, b[0], b[1]);
    MPI_Finalize();
    return 0;
}
