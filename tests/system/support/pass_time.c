#include "pass_time.h"

#include <stdio.h>
#include <time.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static double started, asked;
static volatile double x = 1;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void begin_all(void) {
#ifdef WITH_MPI
    MPI_Init(NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    started = now();
}

int world_rank(void) {
    int rank = 0;
#ifdef WITH_MPI
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    return rank;
}

void spin_ms(int ms) {
    const double end = now() + 1e-3 * ms;
    asked += 1e-3 * ms;
    while (now() < end) {
        for (int i = 0; i < 500; i++) x = x * 1.000001 + 1e-9;
    }
}

void end_all(void) {
    fprintf(stderr, "late %.6f spun %.6f\n", now() - started - asked, asked);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
}

void keep(void) { __asm__ volatile("" ::: "memory"); }
