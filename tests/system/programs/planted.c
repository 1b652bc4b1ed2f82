// Programs with one planted fault each: the rank argv[3] computes longer than the others, always in
// the procedure at the line @fault. argv[1]: the shape; argv[2]: "spin" computes for a time of the
// thread's processor, as samples only see what runs; "sleep" until a moment, which a busy machine
// changes least. Each rank prints by its own clock how long it was at the line in all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kSteps = 20, kTasks = 12 };

static int rank, ranks, slow, spins;
static double at_fault;

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Where it stands, so that no other procedure is there.
#define WORK(seconds)                                                                             \
    do {                                                                                          \
        const double began_ = seconds_of(CLOCK_MONOTONIC), moment_ = began_ + (seconds);          \
        const struct timespec at_ = {(time_t)moment_, (long)((moment_ - (time_t)moment_) * 1e9)}; \
        while (!spins && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at_, NULL) != 0) {      \
        }                                                                                         \
        const double until_ = seconds_of(CLOCK_THREAD_CPUTIME_ID) + (seconds);                    \
        while (spins && seconds_of(CLOCK_THREAD_CPUTIME_ID) < until_) {                           \
            for (int i_ = 1; i_ < 5000; i_++) field += 1.0 / i_;                                  \
        }                                                                                         \
        at_fault += seconds_of(CLOCK_MONOTONIC) - began_;                                         \
    } while (0)

static volatile double field;

#define NOINLINE __attribute__((noinline))

static NOINLINE void relax(void) {
    WORK(rank == slow ? 0.03 : 0.01);  // @fault halo
}

static NOINLINE void exchange_halo(void) {
    static double edge[2][100];
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(edge[0], 100, MPI_DOUBLE, up, 1, edge[1], 100, MPI_DOUBLE, down, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(edge[0], 100, MPI_DOUBLE, down, 2, edge[1], 100, MPI_DOUBLE, up, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static NOINLINE void halo(void) {
    for (int step = 0; step < kSteps; step++) {
        relax();
        exchange_halo();
    }
}

static NOINLINE void transform_lines(void) {
    WORK(rank == slow ? 0.035 : 0.012);  // @fault spectral
}

static NOINLINE void transpose(void) {
    static double lines[2][6400];
    MPI_Alltoall(lines[0], 6400 / ranks, MPI_DOUBLE, lines[1], 6400 / ranks, MPI_DOUBLE,
                 MPI_COMM_WORLD);
}

static NOINLINE void spectral(void) {
    for (int step = 0; step < kSteps; step++) {
        transform_lines();
        transpose();
    }
}

static NOINLINE void solve(double seconds) {
    WORK(seconds);  // @fault farm
}

// The slow rank, a worker, gets one task that is much longer, last.
static NOINLINE void hand_out(void) {
    int left = ranks - 1;
    for (int asked = 0; left > 0; asked++) {
        double task;
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        const int is_slow = status.MPI_SOURCE == slow;
        const int last = asked >= kTasks && (!is_slow || left == 1);
        task = !last ? 0.01 : is_slow ? 0.6 : 0;
        left -= last;
        MPI_Send(&task, 1, MPI_DOUBLE, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
}

static NOINLINE void work_off(void) {
    for (double task = 0;;) {
        MPI_Send(&task, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task == 0) return;
        solve(task);
        if (task > 0.5) return;
    }
}

static NOINLINE void farm(void) {
    if (rank == 0) {
        hand_out();
    } else {
        work_off();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static NOINLINE void write_state(void) {
    WORK(0.2);  // @fault checkpoint
}

static NOINLINE void sum_up(void) {
    double sum = rank, all;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static NOINLINE void checkpoint(void) {
    for (int step = 0; step < 4; step++) {
        if (rank == slow) write_state();
        sum_up();
    }
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    spins = strcmp(argv[2], "spin") == 0;
    slow = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(argv[1], "halo") == 0) halo();
    if (strcmp(argv[1], "spectral") == 0) spectral();
    if (strcmp(argv[1], "farm") == 0) farm();
    if (strcmp(argv[1], "checkpoint") == 0) checkpoint();
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d was there for %.6f s\n", rank, at_fault);
    MPI_Finalize();
    return 0;
}
