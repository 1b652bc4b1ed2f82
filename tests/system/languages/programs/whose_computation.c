/* Two ranks: rank 1 computes 40 ms where the other one does not, ROUNDS times, and rank 0 waits for
   it. Where the time goes is plain from the source: below the procedure that is named like the
   shape, and never in what only communicates. The argument is the shape. */
#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 10 };
static int rank;
static double values[4];

/* Until a deadline, so that a busy machine does not change the answer. It has no probes. */
__attribute__((noinline, no_instrument_function)) static void pass(long ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += rank == 1 ? ns : 0;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

__attribute__((noinline)) void compute(void) {
    for (int i = 0; i < 4; ++i) pass(10000000);
}
__attribute__((noinline)) void prepare(void) {
    for (int i = 0; i < 6; ++i) pass(10000000);
}

void sum_up(void) { MPI_Allreduce(values, values + 1, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

/* compute, exchange, in turn. */
void exchange(void) {
    MPI_Sendrecv(values, 1, MPI_DOUBLE, 1 - rank, 0, values + 1, 1, MPI_DOUBLE, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum_up();
    values[2] += values[1];
}
__attribute__((noinline)) void halo(void) {
    for (int i = 0; i < ROUNDS; ++i) {
        compute();
        exchange();
    }
}

/* The computation is between its two calls. */
__attribute__((noinline)) void inside(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    compute();
    MPI_Barrier(MPI_COMM_WORLD);
    values[2] += values[1];
}
__attribute__((noinline)) void around_inside(void) {
    for (int i = 0; i < ROUNDS; ++i) inside();
}

/* What only communicates has a loop of its own: from the code alone it may be either. */
__attribute__((noinline)) void exchange_often(int times) {
    for (int i = 0; i < times; ++i) MPI_Barrier(MPI_COMM_WORLD);
    values[2] += values[1];
}
__attribute__((noinline)) void often(void) {
    for (int i = 0; i < ROUNDS; ++i) {
        compute();
        exchange_often(3);
    }
}

/* Recursion. */
__attribute__((noinline)) void descend(int depth) {
    if (depth > 1) descend(depth - 1);
    compute();
    MPI_Barrier(MPI_COMM_WORLD);
    values[2] += values[1];
}
__attribute__((noinline)) void recursion(void) { descend(ROUNDS); }

/* Calls in place of a return. */
__attribute__((noinline)) int exchange_last(void) {
    MPI_Bcast(values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return MPI_Barrier(MPI_COMM_WORLD);
}
__attribute__((noinline)) void tail(void) {
    for (int i = 0; i < ROUNDS; ++i) {
        compute();
        exchange_last();
    }
    values[2] += values[1];
}

__attribute__((noinline)) int exchange_late(void) {
    MPI_Bcast(values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    compute();
    return MPI_Barrier(MPI_COMM_WORLD);
}
__attribute__((noinline)) void late(void) {
    for (int i = 0; i < ROUNDS; ++i) exchange_late();
    values[2] += values[1];
}

/* One of several calls, by a jump table. */
__attribute__((noinline)) void exchange_one(int which) {
    switch (which) {
        case 0:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case 1:
            MPI_Allreduce(values, values + 1, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            break;
        case 2:
            MPI_Allreduce(values, values + 1, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
            break;
        case 3:
            MPI_Allreduce(values, values + 1, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            break;
        case 4:
            MPI_Allgather(values, 1, MPI_DOUBLE, values + 1, 1, MPI_DOUBLE, MPI_COMM_WORLD);
            break;
        case 5:
            MPI_Barrier(MPI_COMM_WORLD);
            values[3] += 1;
            break;
        default:
            values[3] += 2;
    }
    values[2] += values[1];
}
__attribute__((noinline)) void choice(void) {
    for (int i = 0; i < ROUNDS; ++i) {
        compute();
        exchange_one(i % 6);
    }
}

/* Two computations in turn, each with communication of its own behind it. */
__attribute__((noinline)) void settle(void) {
    for (int i = 0; i < 4; ++i) pass(10000000);
}
__attribute__((noinline)) void exchange_more(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    values[2] += values[1];
}
__attribute__((noinline)) void phases(void) {
    for (int i = 0; i < ROUNDS; ++i) {
        prepare();
        exchange();
        settle();
        exchange_more();
    }
}

int main(int argc, char** argv) {
    const char* const shape = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(shape, "halo") == 0) halo();
    if (strcmp(shape, "inside") == 0) around_inside();
    if (strcmp(shape, "often") == 0) often();
    if (strcmp(shape, "recursion") == 0) recursion();
    if (strcmp(shape, "tail") == 0) tail();
    if (strcmp(shape, "late") == 0) late();
    if (strcmp(shape, "choice") == 0) choice();
    if (strcmp(shape, "phases") == 0) phases();
    MPI_Finalize();
    return 0;
}
