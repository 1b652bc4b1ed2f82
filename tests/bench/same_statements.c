/* A program whose statements do not depend on how long it runs: its records and outputs must not
 * grow with N. Every message is one that its rank sends to itself, so that no call has to wait.
 *
 * usage: mpirun -n 2 dwell run --sample off same_statements N      (N calls of each rank) */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    const long calls = argc > 1 ? atol(argv[1]) : 10000;
    char out[64] = {0}, in[64];
    double one = 1, sum;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    for (long done = 0; done < calls; done += 10) {
        for (int i = 0; i < 2; ++i) {
            MPI_Send(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF);
            MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        }
        MPI_Sendrecv(out, 64, MPI_BYTE, 0, 2, in, 64, MPI_BYTE, 0, 2, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Irecv(in, 16, MPI_BYTE, 0, 3, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(out, 16, MPI_BYTE, 0, 3, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        MPI_Barrier(MPI_COMM_SELF);
    }
    MPI_Finalize();
    return 0;
}
