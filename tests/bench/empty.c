/* MPI_Init and MPI_Finalize and nothing else, with the time of each in milliseconds: what dwell
 * costs a process once.
 *
 * usage: mpirun -n 2 [dwell run] empty */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
    const double begin = now_ms();
    MPI_Init(&argc, &argv);
    const double ready = now_ms();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double last = now_ms();
    MPI_Finalize();
    if (rank == 0) printf("init_ms %.3f finalize_ms %.3f\n", ready - begin, now_ms() - last);
    return 0;
}
