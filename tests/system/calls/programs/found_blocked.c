// Receives and waits that find their message against those that block; 2 ranks, N of each kind.
// "Found": rank 0 has sent all N messages (they are small, so they do not wait for the receiver)
// and says so with a last one before rank 1 spins PAUSE and receives the next. "Blocked": rank 1
// asks at once while rank 0 sleeps PAUSE before each send.
//
// A busy machine can spoil single cases, so rank 1 writes to argv[1], for each of the four kinds,
// how many are certain and how many seconds they took, blocked ones until the send: a found message
// is certain when its call took less than 0.1 ms, a blocked one when the call began 1 ms before the
// send (both ranks read one clock).
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { N = 100, SMALL = 8, LARGE = 128 };
static const double kPause_s = 0.01;

struct Kind {
    int certain;
    double seconds;
};
static struct Kind recv_found, wait_found, recv_blocked, wait_blocked;
static int rank;
static double data[LARGE];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(void) {
    const double until = now() + kPause_s;
    while (now() < until) continue;
}

static void rest(void) { nanosleep(&(struct timespec){0, (long)(kPause_s * 1e9)}, NULL); }

static void note_found(struct Kind* kind, double begin, double end) {
    kind->seconds += end - begin;
    kind->certain += end - begin < 1e-4;
}

static void note_blocked(struct Kind* kind, double begin, double end) {
    // data[0] is the time of the send: what follows it is transfer, and waiting for a processor.
    kind->seconds += data[0] > begin ? data[0] - begin : 0;
    kind->certain += begin < data[0] - 1e-3 && data[0] < end;
}

static void announce(int tag) {
    if (rank == 0) MPI_Send(NULL, 0, MPI_INT, 1, tag, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(NULL, 0, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void found(MPI_Request* request) {
    for (int i = 0; i < N && rank == 0; i++) {
        MPI_Send(data, SMALL, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Send(data, LARGE, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    }
    announce(3);
    for (int i = 0; i < N && rank == 1; i++) {
        spin();
        double begin = now();
        MPI_Recv(data, LARGE, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv_found
        note_found(&recv_found, begin, now());
        MPI_Irecv(data, LARGE, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, request);
        begin = now();
        MPI_Wait(request, MPI_STATUS_IGNORE);  // @wait_found
        note_found(&wait_found, begin, now());
    }
}

static void send_late(int tag) {
    rest();
    data[0] = now();
    MPI_Send(data, SMALL, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
}

static void blocked(MPI_Request* request) {
    const MPI_Comm world = MPI_COMM_WORLD;
    announce(4);
    for (int i = 0; i < N && rank == 0; i++) {
        send_late(5);
        send_late(6);
    }
    for (int i = 0; i < N && rank == 1; i++) {
        double begin = now();
        MPI_Recv(data, LARGE, MPI_DOUBLE, 0, 5, world, MPI_STATUS_IGNORE);  // @recv_blocked
        note_blocked(&recv_blocked, begin, now());
        MPI_Irecv(data, LARGE, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, request);
        begin = now();
        MPI_Wait(request, MPI_STATUS_IGNORE);  // @wait_blocked
        note_blocked(&wait_blocked, begin, now());
    }
}

// Requests of small sends are complete from the start: their waits need not wait.
static void sends(MPI_Request* request) {
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            MPI_Isend(data, SMALL, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, request);
            MPI_Wait(request, MPI_STATUS_IGNORE);  // @send_ready
        } else {
            MPI_Recv(data, LARGE, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    announce(8);
    // Synchronous ones wait for the receiver, who rests first.
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            MPI_Issend(data, SMALL, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD, request);
            MPI_Wait(request, MPI_STATUS_IGNORE);  // @send_blocked
        } else {
            rest();
            MPI_Recv(data, LARGE, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

int main(int argc, char** argv) {
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    found(&request);
    blocked(&request);
    sends(&request);
    if (rank == 1) {
        const struct Kind* kinds[] = {&recv_found, &wait_found, &recv_blocked, &wait_blocked};
        FILE* file = fopen(argv[1], "w");
        for (int k = 0; k < 4; k++)
            fprintf(file, "%d %.9f\n", kinds[k]->certain, kinds[k]->seconds);
        fclose(file);
        puts("done");
    }
    MPI_Finalize();
    return 0;
}
