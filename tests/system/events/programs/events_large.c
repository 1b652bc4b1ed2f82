// A broadcast of 8 GiB among one rank: nothing moves.
#include <mpi.h>

int main(int argc, char** argv) {
    static long buffer[1];
    MPI_Init(&argc, &argv);
    MPI_Bcast(buffer, 1 << 30, MPI_LONG, 0, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
