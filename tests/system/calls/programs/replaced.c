// Another file takes the place of the program while it runs: replaced [NEW OWN].
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);  // @before
    if (argc > 2 && rename(argv[1], argv[2]) != 0) perror(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);  // @after
    MPI_Finalize();
    return 0;
}
