// MPI_NO_OP reads alone: nothing is sent, and what would be given need not be anything; 2 ranks.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank, mine, got[3] = {-1, -1, -1};
    MPI_Win window;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = 42 + rank;
    const int other = 1 - rank;
    MPI_Win_create(&mine, sizeof(mine), sizeof(mine), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    //@ MPI_Get_accumulate count=2 sent=0 received=8 peers={(0,1):(1,0,4),(1,0):(1,0,4)}
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &got[0], 1, MPI_INT, other, 0, 1, MPI_INT,
                       MPI_NO_OP, window);
    //@ MPI_Rget_accumulate count=2 sent=0 received=8
    MPI_Rget_accumulate(NULL, 7, MPI_DATATYPE_NULL, &got[1], 1, MPI_INT, other, 0, 1, MPI_INT,
                        MPI_NO_OP, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    //@ MPI_Fetch_and_op count=2 sent=0 received=8
    MPI_Fetch_and_op(NULL, &got[2], MPI_INT, other, 0, MPI_NO_OP, window);
    MPI_Win_unlock_all(window);
    printf("%d got %d %d %d\n", rank, got[0], got[1], got[2]);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
