// One of ten patterns in which ranks wait for each other, by name: 4 ranks. A rank computes until a
// deadline of its own clock, and sleeps meanwhile, so that ranks may share processors. Prints by
// how much all computations together ended late, in seconds. What each computation causes is
// computed in test_causes.py.
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int rank, data;
static double late;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(int ms) {
    const double until = now() + 1e-3 * ms;
    const struct timespec t = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
    late += now() - until;
}

#define SEND(to) MPI_Send(&data, 1, MPI_INT, to, 1, MPI_COMM_WORLD)
#define RECV(from) MPI_Recv(&data, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

// Each rank passes on what it got.
static void chain(void) {
    if (rank > 0) RECV(rank - 1);
    compute(rank == 0 ? 200 : 20);
    if (rank < 3) SEND(rank + 1);  // @chain
}

// Who has the token computes.
static void ring(void) {
    for (int lap = 0; lap < 2; lap++) {
        if (rank > 0 || lap > 0) RECV((rank + 3) % 4);
        compute(rank == 1 ? 60 : 10);
        SEND((rank + 1) % 4);  // @ring
    }
    if (rank == 0) RECV(3);
}

static void pipeline(void) {
    for (int item = 0; item < 6; item++) {
        if (rank > 0) RECV(rank - 1);  // @last_stage
        compute(rank == 0 ? 30 : 10);
        if (rank < 3) SEND(rank + 1);  // @stage
    }
}

// Rank 0 gives one more task to the first that asks, and none to the others; prints who got it.
static void farm(void) {
    if (rank == 0) {
        for (int asked = 0; asked < 4; asked++) {
            MPI_Status status;
            MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            data = asked == 0 ? 150 : 0;
            if (asked == 0) fprintf(stderr, "extra %d\n", status.MPI_SOURCE);
            SEND(status.MPI_SOURCE);
        }
        return;
    }
    for (int task = 18 + 2 * rank; task != 0; task = data) {
        compute(task);
        SEND(0);  // @farm
        RECV(0);
    }
}

// All but rank 0 wait in the barrier while rank 1 computes, which gets an answer at once.
static void reply(void) {
    if (rank == 1) {
        compute(200);
        SEND(0);  // @reply
        RECV(0);
    } else if (rank == 0) {
        RECV(1);
        SEND(1);
    }
}

// Ranks 2 and 1 are slow by turns.
static void halo(void) {
    for (int round = 0; round < 4; round++) {
        MPI_Request requests[4];
        int halo_data[4], count = 0;
        compute(rank == 2 - round % 2 ? 60 : 20);
        for (int to = rank - 1; to <= rank + 1; to += 2) {
            if (to < 0 || to > 3) continue;
            MPI_Isend(&data, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[count++]);  // @halo
        }
        for (int from = rank - 1; from <= rank + 1; from += 2) {
            if (from < 0 || from > 3) continue;
            MPI_Irecv(&halo_data[count], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[count]);
            count++;
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
}

static void nested(void) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    for (int round = 0; round < 2; round++) {
        compute(rank == 1 ? 60 : 20);
        MPI_Barrier(half);  // @inner
        compute(rank == 2 ? 40 : 20);
        MPI_Barrier(MPI_COMM_WORLD);  // @outer
    }
    MPI_Comm_free(&half);
}

// Rank 1 does too much before a message that makes nobody wait; after it all do alike, be it less
// or more than that.
static void halves(int mine, int first, int second) {
    compute(rank == 1 ? mine : first);
    SEND((rank + 1) % 4);  // @first_half
    compute(second);
    MPI_Barrier(MPI_COMM_WORLD);
    RECV((rank + 3) % 4);
}

static void collective(void) {
    compute(rank == 1 ? 120 : 40);
    MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // @allreduce
    compute(rank == 2 ? 60 : 20);
    if (rank == 2) SEND(3);  // @after
    if (rank == 3) RECV(2);
}

static void in_turn(void) {
    compute(rank == 1 ? 60 : 20);
    if (rank == 1) SEND(0);  // @turn_1
    if (rank == 0) RECV(1);
    compute(rank == 2 ? 100 : 20);
    if (rank == 2) SEND(0);  // @turn_2
    if (rank == 0) RECV(2);
}

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);  // @start
    if (strcmp(name, "chain") == 0) chain();
    if (strcmp(name, "ring") == 0) ring();
    if (strcmp(name, "pipeline") == 0) pipeline();
    if (strcmp(name, "farm") == 0) farm();
    if (strcmp(name, "reply") == 0) reply();
    if (strcmp(name, "halo") == 0) halo();
    if (strcmp(name, "nested") == 0) nested();
    if (strcmp(name, "halves") == 0) halves(200, 50, 50);
    if (strcmp(name, "small_half") == 0) halves(100, 50, 200);
    if (strcmp(name, "collective") == 0) collective();
    if (strcmp(name, "in_turn") == 0) in_turn();
    MPI_Barrier(MPI_COMM_WORLD);  // @end
    double sum = 0;
    MPI_Reduce(&late, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) fprintf(stderr, "late %.6f\n", sum);
    MPI_Finalize();
    return 0;
}
