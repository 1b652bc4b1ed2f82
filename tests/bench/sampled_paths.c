/* What sampled call paths cost, interrupts and unwinding together: steps of the same work, eight
 * procedures deep, each followed by an MPI call, at which the samples so far are read. Prints the
 * mean of the best half of groups of steps in milliseconds, so that what else the machine did
 * matters little. A step is so short that the ring does not fill at 10 kHz.
 *
 * usage: mpirun -n 1 [dwell run [--sample HZ|off]] sampled_paths [GROUPS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMaxGroups = 1000, kSteps = 125, kDepth = 8 };
/* A chain of dependent operations of 8 cycles a step: about 0.4 ms. */
static const long kOperations = 140000;

static __attribute__((noinline)) double work(int depth, double x) {
    volatile double local[8] = {x};
    if (depth > 0) return work(depth - 1, local[0]) + local[1];
    for (long i = 0; i < kOperations; ++i) x = x * 0.999999 + 1e-6;
    return x;
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

int main(int argc, char** argv) {
    static double times[kMaxGroups];
    int groups = argc > 1 ? atoi(argv[1]) : 40;
    if (groups < 2) groups = 2;
    if (groups > kMaxGroups) groups = kMaxGroups;
    MPI_Init(&argc, &argv);
    double x = 1;
    for (int group = 0; group < groups; ++group) {
        const double start = MPI_Wtime();
        for (int step = 0; step < kSteps; ++step) {
            x = work(kDepth, x);
            MPI_Barrier(MPI_COMM_SELF);
        }
        times[group] = MPI_Wtime() - start;
    }
    MPI_Finalize();
    qsort(times, (size_t)groups, sizeof(times[0]), by_size);
    double sum = 0;
    for (int i = 0; i < groups / 2; ++i) sum += times[i];
    printf("group_ms: %.6f\n", 1e3 * sum / (groups / 2));
    return x == 0;
}
