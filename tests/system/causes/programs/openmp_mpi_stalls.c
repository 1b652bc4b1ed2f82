// Two threads of OpenMP on each rank: both compute as long, all of them on one processor (`share`),
// or thread 1 of rank 0 alone does, for which thread 0 waits at the end of the region (`wait`); or
// it sleeps (`sleep`), also before a barrier in the region (`barrier`), or in a region of its own
// (`nested`), or writes (`write`, file). Prints for each rank how long its threads computed or
// slept, and how much of it they were on a processor, in seconds, added up.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void rest(double seconds) {
    const double begin = clock_s(CLOCK_MONOTONIC);
    const struct timespec length = {0, (long)(1e9 * seconds)};
    nanosleep(&length, NULL);
    const double own = clock_s(CLOCK_MONOTONIC) - begin;
#pragma omp atomic
    took += own;
}

static int file = -1;

static void save(double seconds) {
    static char block[1 << 18];
    const double begin = clock_s(CLOCK_MONOTONIC);
    ssize_t written = 0;
    while (clock_s(CLOCK_MONOTONIC) < begin + seconds) {
        written += pwrite(file, block, sizeof block, 0);  // @save
    }
    const double own = written > 0 ? clock_s(CLOCK_MONOTONIC) - begin : 0;
#pragma omp atomic
    took += own;
}

// Thread 1 is idle before the region, and polls or sleeps as the runtime has it.
static void sleep_in_region(int with_barrier, int nested) {
    burn(0.02);
#pragma omp parallel num_threads(2)
    {
        const int second = omp_get_thread_num() == 1;
        if (second && nested) {
#pragma omp parallel num_threads(2)
            if (omp_get_thread_num() == 1) rest(0.06);
        } else if (second && file >= 0) {
            save(0.06);
        } else if (second) {
            rest(0.06);
        }
        if (with_barrier) {
#pragma omp barrier
            burn(0.005);
        }
    }
}

static void compute(double first, double second) {
#pragma omp parallel num_threads(2)
    burn(omp_get_thread_num() == 0 ? first : second);
}

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    const int shares = strcmp(what, "share") == 0;
    const int waits = strcmp(what, "wait") == 0;
    const int with_barrier = strcmp(what, "barrier") == 0;
    const int nested = strcmp(what, "nested") == 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "write") == 0) file = open(argv[2], O_CREAT | O_WRONLY, 0600);
    if (shares) use_one_processor();
    omp_set_max_active_levels(2);
    compute(0, 0);  // makes the thread
    took = on = 0;
    MPI_Barrier(MPI_COMM_WORLD);  // @start
    for (int round = 0; round < kRounds; round++) {
        if (shares) {
            compute(0.02, 0.02);
        } else if (rank == 0 && waits) {
            compute(0, 0.06);
        } else if (rank == 0) {
            sleep_in_region(with_barrier, nested);
        }
        MPI_Barrier(MPI_COMM_WORLD);  // @wait
    }
    fprintf(stderr, "truth %d %.6f %.6f\n", rank, took, on);
    MPI_Finalize();
    return 0;
}
