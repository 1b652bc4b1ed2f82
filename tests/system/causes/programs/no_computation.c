// What makes others wait is no computation: rank 0 writes a checkpoint (`write FILE`), sleeps
// (`sleep`), sleeps after all ranks have computed alike (`both`) or where rank 1 alone waits for it
// each time (`pair`), or all ranks compute on one processor (`share`): 4 ranks. Prints for each
// rank how long that took, and how much of it the thread was on a processor, in seconds.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "one_processor.h"

enum { kRounds = 5 };
static int rank;

static double clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double now(void) { return clock_s(CLOCK_MONOTONIC); }

static void sleep_until(double until) {
    const struct timespec t = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}

__attribute__((noinline)) static void checkpoint(int file) {
    static char block[1 << 20];
    const double until = now() + 0.08;
    while (now() < until) {
        if (pwrite(file, block, sizeof block, 0) < 0) perror("pwrite");  // @write
    }
}

__attribute__((noinline)) static void doze(void) {
    sleep_until(now() + 0.08);  // @sleep
}

__attribute__((noinline)) static void relax(void) {
    const double until = now() + 0.04;
    while (now() < until) continue;  // @compute
}

__attribute__((noinline)) static void burn(void) {
    const double until = clock_s(CLOCK_THREAD_CPUTIME_ID) + 0.02;
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < until) continue;
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    double took = 0, on = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int writes = strcmp(what, "write") == 0;
    const int pairs = strcmp(what, "pair") == 0;
    const int shares = strcmp(what, "share") == 0;
    const int file = writes && rank == 0 ? open(argv[2], O_CREAT | O_WRONLY, 0600) : -1;
    if (shares) use_one_processor();
    MPI_Comm met = MPI_COMM_WORLD;
    if (pairs) MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &met);
    MPI_Barrier(MPI_COMM_WORLD);  // @start
    for (int round = 0; round < kRounds; round++) {
        if (strcmp(what, "both") == 0) relax();
        const double begin = now(), begin_on = clock_s(CLOCK_THREAD_CPUTIME_ID);
        if (shares) {
            burn();
        } else if (rank == 0 && writes) {
            checkpoint(file);
        } else if (rank == 0) {
            doze();
        }
        took += now() - begin;
        on += clock_s(CLOCK_THREAD_CPUTIME_ID) - begin_on;
        if (!pairs || rank < 2) MPI_Barrier(met);  // @wait
    }
    MPI_Barrier(MPI_COMM_WORLD);  // @last
    fprintf(stderr, "truth %d %.6f %.6f\n", rank, took, on);
    MPI_Finalize();
    return 0;
}
