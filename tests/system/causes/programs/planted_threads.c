// As planted.c, with two threads of OpenMP on each rank. particles: a serial procedure between two
// regions is slow while the other thread is idle; threads: one thread has more work than the other;
// regions: all threads of the slow rank have, so that those of the others are idle.
// Its clock runs from one exchange to the next: others wait for all of that, and there for the
// thread that takes longest.
#include <omp.h>

#include "planted.h"

enum { kSteps = 20 };

static double pushed[2];

static NOINLINE void push_particles(void) {
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int thread = 0; thread < 2; thread++) {
        for (int i = 1; i < 20000; i++) pushed[thread] += 1.0 / i;
    }
}

static NOINLINE void sort_particles(void) {
    COMPUTE(rank == slow ? 0.03 : 0.005);  // @fault particles
}

static NOINLINE void exchange_particles(void) {
    static double leaving[2][100];
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(leaving[0], 100, MPI_DOUBLE, up, 1, leaving[1], 100, MPI_DOUBLE, down, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static NOINLINE void particles(void) {
    for (int step = 0; step < kSteps; step++) {
        AT_FAULT(push_particles(); sort_particles());
        exchange_particles();
    }
}

static NOINLINE void deposit_charge(void) {
#pragma omp parallel num_threads(2)  // @fault threads
    {
        if (omp_get_thread_num() == 1) COMPUTE(rank == slow ? 0.03 : 0.002);
    }
}

static NOINLINE void threads(void) {
    for (int step = 0; step < kSteps; step++) {
        AT_FAULT(deposit_charge());
        exchange_particles();
    }
}

static NOINLINE void solve_fields(void) {
#pragma omp parallel num_threads(2)  // @fault regions
    COMPUTE(rank == slow ? 0.03 : 0.01);
}

static NOINLINE void regions(void) {
    for (int step = 0; step < kSteps; step++) {
        AT_FAULT(solve_fields());
        exchange_particles();
    }
}

int main(int argc, char** argv) {
    if (!begin(&argc, argv)) return 2;
    if (strcmp(argv[1], "particles") == 0) particles();
    if (strcmp(argv[1], "threads") == 0) threads();
    if (strcmp(argv[1], "regions") == 0) regions();
    end();
    return 0;
}
