// Two threads of OpenMP on each rank: both compute as long, all of them on one processor (`share`),
// or thread 1 of rank 0 alone does, for which thread 0 waits (`wait`). Prints for each rank how
// long its threads took, and how much of it they were on a processor, in seconds, added up.
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "one_processor.h"

enum { kRounds = 5 };

static double clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double took, on;

static void burn(double seconds) {
    const double begin = clock_s(CLOCK_MONOTONIC), begin_on = clock_s(CLOCK_THREAD_CPUTIME_ID);
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < begin_on + seconds) continue;
    const double own = clock_s(CLOCK_MONOTONIC) - begin;
    const double own_on = clock_s(CLOCK_THREAD_CPUTIME_ID) - begin_on;
#pragma omp atomic
    took += own;
#pragma omp atomic
    on += own_on;
}

static void compute(double first, double second) {
#pragma omp parallel num_threads(2)
    burn(omp_get_thread_num() == 0 ? first : second);
}

int main(int argc, char** argv) {
    const int shares = argc > 1 && strcmp(argv[1], "share") == 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (shares) use_one_processor();
    compute(0, 0);  // makes the thread
    took = on = 0;
    MPI_Barrier(MPI_COMM_WORLD);  // @start
    for (int round = 0; round < kRounds; round++) {
        if (shares) {
            compute(0.02, 0.02);
        } else if (rank == 0) {
            compute(0, 0.06);
        }
        MPI_Barrier(MPI_COMM_WORLD);  // @wait
    }
    fprintf(stderr, "truth %d %.6f %.6f\n", rank, took, on);
    MPI_Finalize();
    return 0;
}
