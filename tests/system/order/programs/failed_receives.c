/* Rank 0 posts receives of any source that are too short for their messages, completes each in
 * another way, and then one that is long enough. Prints how often an error or a handle was wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kWays = 8 };

static int complete(int way, MPI_Request* request) {
    MPI_Status status;
    int index, count, flag = 0, error = MPI_SUCCESS;
    while (!flag && error == MPI_SUCCESS) {
        flag = 1;
        switch (way) {
            case 0:
                error = MPI_Wait(request, &status);
                break;
            case 1:
                error = MPI_Waitall(1, request, &status);
                break;
            case 2:
                error = MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
                break;
            case 3:
                error = MPI_Waitsome(1, request, &count, &index, &status);
                break;
            case 4:
                error = MPI_Test(request, &flag, &status);
                break;
            case 5:
                error = MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
                break;
            case 6:
                error = MPI_Testany(1, request, &index, &flag, &status);
                break;
            default:
                error = MPI_Testsome(1, request, &count, &index, &status);
                flag = count != 0;
        }
    }
    return error;
}

int main(int argc, char** argv) {
    const struct timespec gap = {0, 5000000};
    int rank, got[2], sent[2] = {1, 2}, wrong = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int way = 0; way < kWays; way++) {
        if (rank == 1) {
            nanosleep(&gap, NULL);
            MPI_Send(sent, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Send(sent, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Irecv(got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
            MPI_Barrier(MPI_COMM_SELF); /* the message is left to MPI */
            wrong += complete(way, &request) == MPI_SUCCESS || request != MPI_REQUEST_NULL;
            MPI_Irecv(got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
            wrong += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        }
    }
    if (rank == 0) printf("%d wrong\n", wrong);
    MPI_Finalize();
    return 0;
}
