// Receives and waits that find their message against those that block; 2 ranks, N of each kind.
// "Found": rank 0 has sent all N messages (they are small, so they do not wait for the receiver) and
// says so with a last one before rank 1 spins PAUSE and receives the next. "Blocked": rank 1 asks at
// once while rank 0 sleeps PAUSE before each send.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { N = 100 };
static const double kPause_s = 0.01;

static int rank, data[256], ready;

static void spin(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double until = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + kPause_s;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < until);
}

static void rest(void) { nanosleep(&(struct timespec){0, (long)(kPause_s * 1e9)}, NULL); }

static void announce(int tag) {
    if (rank == 0) MPI_Send(NULL, 0, MPI_INT, 1, tag, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&ready, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void found(MPI_Request* request) {
    for (int i = 0; i < N && rank == 0; i++) {
        MPI_Send(data, 16, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(data, 256, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    announce(3);
    for (int i = 0; i < N && rank == 1; i++) {
        spin();
        MPI_Recv(data, 256, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv_found
        MPI_Irecv(data, 256, MPI_INT, 0, 2, MPI_COMM_WORLD, request);
        MPI_Wait(request, MPI_STATUS_IGNORE);  // @wait_found
    }
}

static void blocked(MPI_Request* request) {
    announce(4);
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            rest();
            MPI_Send(data, 16, MPI_INT, 1, 5, MPI_COMM_WORLD);
            rest();
            MPI_Send(data, 16, MPI_INT, 1, 6, MPI_COMM_WORLD);
        } else {
            MPI_Recv(data, 256, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv_blocked
            MPI_Irecv(data, 256, MPI_INT, 0, 6, MPI_COMM_WORLD, request);
            MPI_Wait(request, MPI_STATUS_IGNORE);  // @wait_blocked
        }
    }
}

// Requests of small sends are complete from the start: their waits need not wait.
static void sends(MPI_Request* request) {
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            MPI_Isend(data, 16, MPI_INT, 1, 7, MPI_COMM_WORLD, request);
            MPI_Wait(request, MPI_STATUS_IGNORE);  // @send_ready
        } else {
            MPI_Recv(data, 256, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    announce(8);
    // Synchronous ones wait for the receiver, who rests first.
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            MPI_Issend(data, 16, MPI_INT, 1, 9, MPI_COMM_WORLD, request);
            MPI_Wait(request, MPI_STATUS_IGNORE);  // @send_blocked
        } else {
            rest();
            MPI_Recv(data, 256, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    if (rank == 0) puts("done");
    MPI_Finalize();
    return 0;
}
