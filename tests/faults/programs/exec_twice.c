/* Becomes itself once more as many times as argv[1] says, each time after a parallel region, so
   that it leaves records behind; then it uses MPI. Rank 0 ends half a second after rank 1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const int left = argc > 1 ? atoi(argv[1]) : 0;
    int threads = 0, rank;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += 1;
    if (left > 0) {
        char count[12];
        snprintf(count, sizeof(count), "%d", left - 1);
        execl(argv[0], argv[0], count, (char*)NULL);
        return 9;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    const struct timespec rest = {0, 500000000};
    if (rank == 0) nanosleep(&rest, NULL);
    return threads == 0;
}
