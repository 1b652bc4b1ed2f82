/* How much time interruptions take: each rank reads the time stamp counter without a pause and adds
 * up the gaps between readings. The sampling interrupt is such a gap, so are the clock ticks of the
 * system, which are there without sampling too; gaps of more than 50 microseconds are other
 * processes and are counted apart. Prints both as shares of the time, means of all ranks.
 *
 * usage: mpirun -n 2 [dwell run [--sample HZ|off]] interruptions [MILLISECONDS] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

static const double kLeastUs = 0.3; /* a reading takes some 0.02 */
static const double kMostUs = 50;

static double ticks_of_microsecond(void) {
    const double start = MPI_Wtime();
    const uint64_t first = __rdtsc();
    while (MPI_Wtime() - start < 0.05) {
    }
    return (double)(__rdtsc() - first) / (MPI_Wtime() - start) * 1e-6;
}

int main(int argc, char** argv) {
    const double ms = argc > 1 ? atof(argv[1]) : 2000;
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double microsecond = ticks_of_microsecond();
    const uint64_t least = (uint64_t)(kLeastUs * microsecond);
    const uint64_t most = (uint64_t)(kMostUs * microsecond);
    const uint64_t whole = (uint64_t)(ms * 1e3 * microsecond);
    uint64_t interrupted = 0, preempted = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t start = __rdtsc();
    uint64_t last = start;
    while (last - start < whole) {
        const uint64_t now = __rdtsc();
        const uint64_t gap = now - last;
        if (gap > least) *(gap > most ? &preempted : &interrupted) += gap;
        last = now;
    }
    /* Of the time that this rank had: that of other processes is not its own. */
    const double lived = (double)(last - start);
    double own[2] = {100.0 * (double)interrupted / (lived - (double)preempted),
                     100.0 * (double)preempted / lived};
    double all[2];
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("interrupted_percent %.6f\npreempted_percent %.3f\n", all[0] / size, all[1] / size);
    }
    MPI_Finalize();
    return 0;
}
