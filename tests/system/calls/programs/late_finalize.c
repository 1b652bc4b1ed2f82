// Rank 1 comes to MPI_Finalize 4 seconds after the others; each rank has made 10 calls before.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank, flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @probe
    }
    if (rank == 1) sleep(4);
    printf("rank %d\n", rank);
    MPI_Finalize();
    return 0;
}
