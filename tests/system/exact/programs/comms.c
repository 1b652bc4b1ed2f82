// Peers are ranks of MPI_COMM_WORLD, whatever communicator a call uses; 4 ranks. Each ring below
// moves 4 bytes from each rank to one other, N times; the comments derive who that is.
#include <mpi.h>
#include <stdio.h>

//@ let N=3
enum { N = 3 };

static int world, sum;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    int me, in = -1;
    MPI_Comm split, copy, pair, few, half, inter, merged, cart;
    MPI_Group all, members;
    // Keys are reversed: new rank n is world rank 3 - n, so n -> n + 1 is r -> r - 1.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world, &split);
    MPI_Comm_rank(split, &me);
    for (int i = 0; i < N; i++) {
        //@ MPI_Sendrecv count=4*N sent=16*N received=16*N
        //@ + taken={(r,(r+1)%4):4*N for r in range(4)}
        MPI_Sendrecv(&world, 1, MPI_INT, (me + 1) % 4, 0, &in, 1, MPI_INT, (me + 3) % 4, 0, split,
                     MPI_STATUS_IGNORE);
        sum = 10 * sum + in;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < N; i++) {
        //@ MPI_Sendrecv count=4*N taken={(r,(r-1)%4):4*N for r in range(4)}
        MPI_Sendrecv(&world, 1, MPI_INT, (world + 1) % 4, 0, &in, 1, MPI_INT, MPI_ANY_SOURCE, 0,
                     copy, MPI_STATUS_IGNORE);
        sum += in;
    }
    // Ranks 0 and 1 of the new communicators are world ranks 1 and 3, then 2 and 0.
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, (int[]){1, 3}, &members);
    MPI_Comm_create(MPI_COMM_WORLD, members, &pair);
    MPI_Group_free(&members);
    if (world == 1) {
        //@ MPI_Send count=1 sent=4 peers={(1,3):(1,4,0)}
        MPI_Send(&world, 1, MPI_INT, 1, 0, pair);
    }
    if (world == 3) {
        //@ MPI_Recv count=1 received=4 peers={(3,1):(1,0,4)}
        MPI_Recv(&in, 1, MPI_INT, 0, 0, pair, MPI_STATUS_IGNORE);
    }
    MPI_Group_incl(all, 2, (int[]){2, 0}, &members);
    if (world == 0 || world == 2) MPI_Comm_create_group(MPI_COMM_WORLD, members, 7, &few);
    if (world == 2) {
        //@ MPI_Send count=1 sent=4 peers={(2,0):(1,4,0)}
        MPI_Send(&world, 1, MPI_INT, 1, 0, few);
    }
    if (world == 0) {
        //@ MPI_Recv count=1 received=4 peers={(0,2):(1,0,4)}
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, few, MPI_STATUS_IGNORE);
    }
    sum += in;
    // Evens 0, 2 face odds 1, 3: remote rank k is world rank 2 k + 1 or 2 k. k meets k: r <-> r
    // ^ 1.
    MPI_Comm_split(MPI_COMM_WORLD, world % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world % 2, 3, &inter);
    for (int i = 0; i < N; i++) {
        //@ MPI_Sendrecv count=4*N peers={(r,r^1):(2*N,4*N,4*N) for r in range(4)}
        MPI_Sendrecv(&world, 1, MPI_INT, world / 2, 0, &in, 1, MPI_INT, world / 2, 0, inter,
                     MPI_STATUS_IGNORE);
        sum += in;
    }
    // Odds are the high group: merged order 0, 2, 1, 3; n -> n + 1 is 0 -> 2 -> 1 -> 3 -> 0.
    MPI_Intercomm_merge(inter, world % 2, &merged);
    MPI_Comm_rank(merged, &me);
    //@ MPI_Sendrecv count=4 taken={(2,0):4,(1,2):4,(3,1):4,(0,3):4}
    MPI_Sendrecv(&world, 1, MPI_INT, (me + 1) % 4, 0, &in, 1, MPI_INT, MPI_ANY_SOURCE, 0, merged,
                 MPI_STATUS_IGNORE);
    sum += in;
    // A 2 x 2 torus: the neighbour along the first dimension of r is r + 2.
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &cart);
    int from, to;
    MPI_Cart_shift(cart, 0, 1, &from, &to);
    //@ MPI_Sendrecv count=4 peers={(r,(r+2)%4):(2,4,4) for r in range(4)}
    MPI_Sendrecv(&world, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, cart, MPI_STATUS_IGNORE);
    sum += in;
    // Handles are reused after MPI_Comm_free: even rounds have 0 -> 1, odd ones 3 -> 2.
    for (int i = 0; i < 2 * N; i++) {
        MPI_Comm fresh;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -world : world, &fresh);
        MPI_Comm_rank(fresh, &me);
        if (me == 0) {
            //@ MPI_Send count=2*N sent=8*N peers={(0,1):(N,4*N,0),(3,2):(N,4*N,0)}
            MPI_Send(&world, 1, MPI_INT, 1, 0, fresh);
        }
        if (me == 1) {
            //@ MPI_Recv count=2*N received=8*N peers={(1,0):(N,0,4*N),(2,3):(N,0,4*N)}
            MPI_Recv(&in, 1, MPI_INT, 0, 0, fresh, MPI_STATUS_IGNORE);
            sum += in;
        }
        //@ MPI_Comm_free count=4*2*N
        MPI_Comm_free(&fresh);
    }
    printf("rank %d sum %d\n", world, sum);
    //@ total MPI_Comm_split count=4*2+4*2*N
    //@ total MPI_Comm_dup count=4
    //@ total MPI_Intercomm_create count=4
    MPI_Finalize();
    return 0;
}
