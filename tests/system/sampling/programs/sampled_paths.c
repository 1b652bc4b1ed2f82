// Computation in procedures that make no MPI call, and that are called beside one that does: three
// parts in relax, one in flux, by the processor time of the thread, so that a busy machine changes
// nothing. argv[1]: "loop" (rank 1 three times as long as the others), "long" (at one go) or "wide"
// (in a loop of run, whose frame is larger than what is sampled of a stack: where run itself was
// called from can only be known where it makes MPI calls, too); "serial": as "long", without MPI;
// "short": 0.1 s.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static __attribute__((noinline)) double relax(double seconds) {
    double sum = 0;
    for (const double until = processor_time() + seconds; processor_time() < until;) {
        for (int i = 1; i < 5000; i++) sum += 1.0 / i;  // @relax
    }
    return sum;
}

static __attribute__((noinline)) double flux(double seconds) {
    double sum = 0;
    for (const double until = processor_time() + seconds; processor_time() < until;) {
        for (int i = 1; i < 5000; i++) sum += 1.0 / i;  // @flux
    }
    return sum;
}

static __attribute__((noinline)) double compute(double seconds) {
    const double sum = relax(0.75 * seconds);
    return sum + flux(0.25 * seconds);
}

static __attribute__((noinline)) void exchange(void) {
    MPI_Barrier(MPI_COMM_WORLD);  // @first
    MPI_Barrier(MPI_COMM_WORLD);  // @second
}

static __attribute__((noinline)) double loop(double seconds) {
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        sum += compute(seconds);
        exchange();
    }
    return sum;
}

static __attribute__((noinline)) double run(const char* how, int rank) {
    volatile double field[10000];
    if (strcmp(how, "long") == 0) field[0] = compute(2.0);
    if (strcmp(how, "short") == 0) field[0] = compute(0.1);
    if (strcmp(how, "loop") == 0) field[0] = loop(rank == 1 ? 0.09 : 0.03);
    if (strcmp(how, "wide") != 0) return field[0];
    for (int i = 0; i < 20; i++) {
        field[i] = compute(0.06);
        exchange();
    }
    return field[0];
}

int main(int argc, char** argv) {
    int rank;
    if (strcmp(argv[1], "serial") == 0) return run("long", 0) == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double sum = run(argv[1], rank);
    MPI_Barrier(MPI_COMM_WORLD);  // @end
    if (sum > 0) puts("done");
    MPI_Finalize();
    return 0;
}
