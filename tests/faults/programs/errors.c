// Calls that fail with MPI_ERRORS_RETURN; 2 ranks. The error class must be MPI's own, the call is
// counted, as failed, and its arguments are not read: no bytes, no peer. errno stays as it was, and
// no signal's action differs from what MPI leaves.
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank, data[4] = {0}, in[4], class = -1, kept = 0;
    long handlers = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    //@ MPI_Send count=2 failed=2 sent=0 peers={}
    int result = MPI_Send(data, 1, MPI_INT, 55, 0, MPI_COMM_WORLD);
    MPI_Error_class(result, &class);
    printf("rank %d class %d\n", rank, class == MPI_ERR_RANK);
    //@ MPI_Send count=2 failed=2 sent=0 peers={}
    result = MPI_Send(data, -4, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Error_class(result, &class);
    printf("rank %d class %d\n", rank, class == MPI_ERR_COUNT);
    //@ MPI_Bcast count=2 failed=2 sent=0 received=0
    result = MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Error_class(result, &class);
    printf("rank %d class %d\n", rank, class == MPI_ERR_TYPE);
    // 16 bytes come where 4 are offered: the receive fails, the send does not.
    if (rank == 0) {
        //@ MPI_Send count=1 failed=0 sent=16
        MPI_Send(data, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        //@ MPI_Recv count=1 failed=1
        result = MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Error_class(result, &class);
        printf("truncated %d\n", class == MPI_ERR_TRUNCATE);
    }
    for (int i = 0; i < 100; i++) {
        errno = 1234;
        //@ MPI_Sendrecv count=200 failed=0
        MPI_Sendrecv(data, 1, MPI_INT, rank, 0, in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        kept += errno == 1234;
    }
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL) {
            handlers |= 1L << number;
        }
    }
    printf("rank %d errno %d handlers %lx\n", rank, kept, handlers);
    MPI_Finalize();
    return 0;
}
