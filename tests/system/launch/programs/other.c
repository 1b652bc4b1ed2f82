// The second program of an MPMD job with ring.c: takes part in the same calls from lines of its
// own.
#include <mpi.h>

//@ let N=10
int main(int argc, char** argv) {
    int rank, size, in = 0;
    double sum = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,  // @other_sendrecv
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += in;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @other_allreduce
    }
    MPI_Finalize();
    return 0;
}
