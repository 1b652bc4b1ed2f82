// A receive of rank 0's MPI_Waitall fails, as its message is too long, in a process with threads;
// errors are returned. Its messages have been sent when it begins, and come in while it waits: had
// a look at the requests taken them in before, the MPI_Waitall of Open MPI 4 would never return.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank = 0, level = 0;
    char data[200] = "";
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            usleep(100000);
            MPI_Send(data, 30, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
            MPI_Send(data, 40, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(data, 10, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(data + 100, 100, MPI_CHAR, 1, 8, MPI_COMM_WORLD, &requests[1]);
            usleep(300000);
            const int code = MPI_Waitall(2, requests, statuses);  // @waitall
            printf("in status %d, too long %d, null %d\n", code == MPI_ERR_IN_STATUS,
                   statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE, requests[0] == MPI_REQUEST_NULL);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 4;
}
