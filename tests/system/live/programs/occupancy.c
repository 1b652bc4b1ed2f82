// Two ranks compute in `both` for 400 ms at the same time; then rank 0 computes in `alone` for
// 400 ms while the other one waits for it. argv[1]: so many times as long.
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double times = 1;

static double now(void) __attribute__((no_instrument_function));
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void spin(double seconds) __attribute__((no_instrument_function));
static void spin(double seconds) {
    const double end = now() + seconds;
    while (now() < end) continue;
}

__attribute__((noinline)) void both(void) { spin(0.4 * times); }

__attribute__((noinline)) void alone(void) { spin(0.4 * times); }

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    if (argc > 1) times = atof(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    both();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) alone();
    MPI_Barrier(MPI_COMM_WORLD);  // @waits
    MPI_Finalize();
    return 0;
}
