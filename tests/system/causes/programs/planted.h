// What the programs with a planted fault share. argv[1]: the shape; argv[2]: "spin" computes for a
// time of the thread's processor, as samples only see what runs; "sleep" until a moment, which a
// busy machine changes least; argv[3]: the slow rank. Each rank prints by its own clock how long it
// was at the fault in all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks, slow, spins;
static double at_fault;

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Where it stands, so that no other procedure is there.
#define COMPUTE(seconds)                                                                          \
    do {                                                                                          \
        const double began_ = seconds_of(CLOCK_MONOTONIC), moment_ = began_ + (seconds);          \
        const struct timespec at_ = {(time_t)moment_, (long)((moment_ - (time_t)moment_) * 1e9)}; \
        while (!spins && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at_, NULL) != 0) {      \
        }                                                                                         \
        const double until_ = seconds_of(CLOCK_THREAD_CPUTIME_ID) + (seconds);                    \
        while (spins && seconds_of(CLOCK_THREAD_CPUTIME_ID) < until_) {                           \
            for (int i_ = 1; i_ < 5000; i_++) field += 1.0 / i_;                                  \
        }                                                                                         \
    } while (0)

#define AT_FAULT(code)                                    \
    do {                                                  \
        const double came_ = seconds_of(CLOCK_MONOTONIC); \
        code;                                             \
        at_fault += seconds_of(CLOCK_MONOTONIC) - came_;  \
    } while (0)

#define WORK(seconds) AT_FAULT(COMPUTE(seconds))

static volatile double field;

#define NOINLINE __attribute__((noinline))

static int begin(int* argc, char** argv) {
    if (*argc != 4) return 0;
    spins = strcmp(argv[2], "spin") == 0;
    slow = atoi(argv[3]);
    MPI_Init(argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    return 1;
}

static void end(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d was there for %.6f s\n", rank, at_fault);
    MPI_Finalize();
}
