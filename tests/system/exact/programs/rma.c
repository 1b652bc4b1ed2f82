// One-sided communication; 2 ranks, N rounds. Bytes and the target, in world ranks, are booked with
// the origin. The window's communicator has its ranks reversed: target 0 is world rank 1.
#include <mpi.h>
#include <stdio.h>

//@ let N=4
enum { N = 4 };

int main(int argc, char** argv) {
    int rank, *memory, in[2] = {0}, out[2] = {7, 8}, one = 1, old = 0, zero = 0;
    MPI_Comm reversed;
    MPI_Win window;
    MPI_Group all, other;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    //@ MPI_Win_allocate count=2
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, reversed, &memory, &window);
    for (int i = 0; i < 8; i++) memory[i] = 0;
    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, 1, &rank, &other);  // window rank `rank` is the other process
    const int target = rank;
    for (int i = 0; i < N; i++) {
        //@ MPI_Win_fence count=2*N sent=0 received=0
        MPI_Win_fence(0, window);
        //@ MPI_Put count=2*N sent=16*N received=0 peers={(0,1):(N,8*N,0),(1,0):(N,8*N,0)}
        MPI_Put(out, 2, MPI_INT, target, 0, 2, MPI_INT, window);
        //@ MPI_Get count=2*N sent=0 received=16*N peers={(0,1):(N,0,8*N),(1,0):(N,0,8*N)}
        MPI_Get(in, 2, MPI_INT, target, 4, 2, MPI_INT, window);
        //@ MPI_Accumulate count=2*N sent=8*N peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Accumulate(&one, 1, MPI_INT, target, 6, 1, MPI_INT, MPI_SUM, window);
        //@ MPI_Win_fence count=2*N
        MPI_Win_fence(0, window);
        //@ MPI_Win_lock count=2*N
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
        //@ MPI_Fetch_and_op count=2*N sent=8*N received=8*N
        //@ + peers={(0,1):(N,4*N,4*N),(1,0):(N,4*N,4*N)}
        MPI_Fetch_and_op(&one, &old, MPI_INT, target, 7, MPI_SUM, window);
        //@ MPI_Win_flush count=2*N
        MPI_Win_flush(target, window);
        //@ MPI_Compare_and_swap count=2*N
        MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, target, 5, window);
        //@ MPI_Rput count=2*N sent=8*N peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Rput(out, 1, MPI_INT, target, 3, 1, MPI_INT, window, &request);
        //@ MPI_Wait count=2*N sent=0
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        // To nobody: no bytes.
        //@ MPI_Put count=2*N sent=0 peers={}
        MPI_Put(out, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, window);
        //@ MPI_Win_unlock count=2*N
        MPI_Win_unlock(target, window);
        //@ MPI_Win_post count=2*N
        MPI_Win_post(other, 0, window);
        //@ MPI_Win_start count=2*N
        MPI_Win_start(other, 0, window);
        //@ MPI_Put count=2*N sent=16*N peers={(0,1):(N,8*N,0),(1,0):(N,8*N,0)}
        MPI_Put(out, 2, MPI_INT, target, 2, 2, MPI_INT, window);
        //@ MPI_Win_complete count=2*N
        MPI_Win_complete(window);
        //@ MPI_Win_wait count=2*N
        MPI_Win_wait(window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d %d %d %d\n", rank, memory[0], memory[2], memory[6]);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    //@ MPI_Win_free count=2
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
