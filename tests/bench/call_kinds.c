// One rank that sends to itself: argv[2] rounds of the kind of call that argv[1] names, always the
// same, for callgrind.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    char out[8] = {0}, in[8];
    int value = 1, sum, flag;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < atoi(argv[2]); i++) {
        if (strcmp(argv[1], "message") == 0) {
            MPI_Send(out, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (strcmp(argv[1], "requests") == 0) {
            MPI_Irecv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else if (strcmp(argv[1], "allreduce") == 0) {
            MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        } else {
            MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
