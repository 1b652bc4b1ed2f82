// The first message after MPI_Init, to and fro; each rank writes how many seconds it took to
// argv[1].
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank = 0;
    char out = 'x', in = 0, path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double start = MPI_Wtime();
    MPI_Sendrecv(&out, 1, MPI_CHAR, 1 - rank, 0, &in, 1, MPI_CHAR, 1 - rank, 0,  // @first
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double took = MPI_Wtime() - start;
    snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
    FILE* told = fopen(path, "w");
    fprintf(told, "%.9f\n", took);
    fclose(told);
    MPI_Finalize();
    return 0;
}
