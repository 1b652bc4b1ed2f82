/* Computation with next to no communication: what sampling costs. Each chunk is the same work; the
 * mean of the best half of the chunks is printed in milliseconds, so that what else the machine did
 * matters little. A chunk should last several sampling periods.
 *
 * usage: mpirun -n 2 [dwell run [--sample HZ|off]] compute [CHUNKS] [MILLISECONDS OF A CHUNK] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMaxChunks = 10000 };
/* A chain of dependent operations of 8 cycles a step: no memory, so no neighbour disturbs. */
static const long kStepsForMillisecond = 350000;

static double work(long steps, double x) {
    for (long i = 0; i < steps; ++i) x = x * 0.999999 + 1e-6;
    return x;
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

int main(int argc, char** argv) {
    static double times[kMaxChunks];
    int chunks = argc > 1 ? atoi(argv[1]) : 40;
    const long ms = argc > 2 ? atol(argv[2]) : 50;
    if (chunks < 2) chunks = 2;
    if (chunks > kMaxChunks) chunks = kMaxChunks;
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double x = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < chunks; ++i) {
        const double start = MPI_Wtime();
        x = work(ms * kStepsForMillisecond, x);
        times[i] = MPI_Wtime() - start;
    }
    qsort(times, (size_t)chunks, sizeof(*times), by_size);
    double mean = 0, all = 0;
    for (int i = 0; i < chunks / 2; ++i) mean += times[i] / (chunks / 2);
    double own[2] = {mean, x};
    MPI_Allreduce(own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("chunk_ms %.6f %g\n", all / size * 1e3, x > 2 ? x : 0);
    MPI_Finalize();
    return 0;
}
