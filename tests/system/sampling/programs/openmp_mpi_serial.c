// Threads of a team that is idle while one of them sorts: by processor time, so that a busy machine
// changes nothing. With the argument "mpi" there is an MPI call after each step, else none at all.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static __attribute__((noinline)) double push(double seconds) {
    double sum = 0;
    for (const double until = processor_time() + seconds; processor_time() < until;) {
        for (int i = 1; i < 5000; i++) sum += 1.0 / i;
    }
    return sum;
}

static __attribute__((noinline)) double sort(double seconds) {
    double sum = 0;
    for (const double until = processor_time() + seconds; processor_time() < until;) {
        for (int i = 1; i < 5000; i++) sum += 1.0 / i;
    }
    return sum;
}

static __attribute__((noinline)) double step(void) {
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += push(0.03);
    return sum + sort(0.05);
}

int main(int argc, char** argv) {
    const int with_mpi = argc > 1 && strcmp(argv[1], "mpi") == 0;
    if (with_mpi) MPI_Init(&argc, &argv);
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        sum += step();
        if (with_mpi) MPI_Barrier(MPI_COMM_WORLD);
    }
    if (with_mpi) MPI_Finalize();
    if (sum > 0) puts("done");
    return 0;
}
