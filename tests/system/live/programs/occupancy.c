// Two ranks compute in `both` for 400 ms of processor time, at the same time; then rank 0 computes
// in `alone` for as long while the other one waits for it. argv[1]: so many times as long. Says
// when each was where (CLOCK_MONOTONIC, seconds): rank, procedure, begin, end.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double length = 0.4;

static double now(clockid_t clock) __attribute__((no_instrument_function));
static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void spin(double seconds) __attribute__((no_instrument_function));
static void spin(double seconds) {
    const double end = now(CLOCK_PROCESS_CPUTIME_ID) + seconds;
    while (now(CLOCK_PROCESS_CPUTIME_ID) < end) continue;
}

__attribute__((noinline)) void both(void) { spin(length); }

__attribute__((noinline)) void alone(void) { spin(length); }

int main(int argc, char** argv) {
    int rank;
    double times[4] = {0};
    MPI_Init(&argc, &argv);
    if (argc > 1) length *= atof(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = now(CLOCK_MONOTONIC);
    both();
    times[1] = now(CLOCK_MONOTONIC);
    MPI_Barrier(MPI_COMM_WORLD);
    times[2] = now(CLOCK_MONOTONIC);
    if (rank == 0) alone();
    times[3] = now(CLOCK_MONOTONIC);
    MPI_Barrier(MPI_COMM_WORLD);  // @waits
    MPI_Finalize();
    printf("%d both %.6f %.6f\n", rank, times[0], times[1]);
    if (rank == 0) printf("%d alone %.6f %.6f\n", rank, times[2], times[3]);
    return 0;
}
