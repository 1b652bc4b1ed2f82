// Changes its directory, and ends there.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    const int failed = argc > 1 ? chdir(argv[1]) : 1;
    printf("%d\n", failed);
    MPI_Finalize();
    return 0;
}
