// Rank 1 receives kBefore messages of rank 0 in a way that argv[2] names, where success or failure
// says nothing to who watches. Then it waits kLate times for rank 0, which sends kLate_us
// late; how many seconds that were, by the clock that both ranks have in common, goes to argv[1].
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kBefore = 100, kLate = 20, kLate_us = 5000, kTag = 5, kGoodTag = 6, kGood = 100 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static const char* mode;
static int is(const char* word) { return strcmp(mode, word) == 0; }

static void fail(const char* what) {
    fprintf(stderr, "%s: not as expected\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// One message of 8 bytes that is too long for its receive, and for requests one of kGood bytes.
static void send_too_long(int with_good) {
    char data[kGood] = "";
    MPI_Send(data, 8, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
    if (with_good) MPI_Send(data, kGood, MPI_CHAR, 1, kGoodTag, MPI_COMM_WORLD);
}

static void receive_too_long(int how) {
    char data[kGood], good[kGood] = "";
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Message message;
    int code = 0, flag = 0, indices[2], completed = 0, index = 0;
    if (how == 0) {
        code = MPI_Recv(data, 4, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (how == 1) {
        MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        code = MPI_Mrecv(data, 4, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    } else if (how == 2) {
        code = MPI_Sendrecv(good, 1, MPI_CHAR, 1, 7, data, 4, MPI_CHAR, 0, kTag, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE);
        MPI_Recv(good, 1, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (how < 6) {
        MPI_Irecv(data, 4, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, requests);
        if (how == 3) code = MPI_Wait(requests, MPI_STATUS_IGNORE);
        while (how == 4 && !flag && code == 0) code = MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
        if (how == 5) code = MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(data, 4, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, requests);
        MPI_Irecv(good, kGood, MPI_CHAR, 0, kGoodTag, MPI_COMM_WORLD, requests + 1);
        if (how == 6) code = MPI_Waitall(2, requests, statuses);  // @waitall
        while (how == 7 && !flag && code == 0) {
            code = MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);  // @testall
        }
        if (how == 8) code = MPI_Waitsome(2, requests, &completed, indices, MPI_STATUSES_IGNORE);
        while (how == 9 && !completed && code == 0) {
            code = MPI_Testsome(2, requests, &completed, indices, MPI_STATUSES_IGNORE);
        }
        if (requests[1] != MPI_REQUEST_NULL) MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
        if (code != MPI_ERR_IN_STATUS) fail("statuses");
        return;
    }
    if (code != MPI_ERR_TRUNCATE) fail("too long");
}

// A persistent send that MPI does not start as one beside it is no persistent request; then it
// does.
static void fail_to_start(void) {
    char data[8] = "";
    MPI_Request requests[2];
    MPI_Send_init(data, 8, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, requests);
    MPI_Isend(data, 8, MPI_CHAR, 1, kGoodTag, MPI_COMM_WORLD, requests + 1);
    if (MPI_Startall(2, requests) == MPI_SUCCESS) fail("MPI_Startall");
    MPI_Start(requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(requests);
}

static void before(int rank, int i) {
    char data[8] = "", other[8] = "";
    MPI_Request request;
    int flag = 0;
    if (is("too_long")) {
        const int how = i % 10;
        if (rank == 0) {
            send_too_long(how > 5);
        } else {
            receive_too_long(how);
        }
    } else if (is("freed") || is("freed_ahead")) {  // of both ranks, pending
        if (i == kBefore / 3 && rank == 0 && is("freed_ahead")) usleep(4 * kLate_us);
        MPI_Irecv(data, 8, MPI_CHAR, 1 - rank, kTag, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Send(other, 8, MPI_CHAR, 1 - rank, kTag, MPI_COMM_WORLD);
    } else if (rank == 0 && is("failed_start")) {
        fail_to_start();
    } else if (rank == 0) {
        MPI_Send(data, 8, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
    } else if (is("seen_and_freed")) {
        MPI_Irecv(data, 8, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, &request);
        while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else if (is("failed_start")) {
        MPI_Recv(data, 8, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, 8, MPI_CHAR, 0, kGoodTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("paused")) {
        if (i == 0) MPI_Pcontrol(0);
        MPI_Recv(data, 8, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i == kBefore - 1) MPI_Pcontrol(1);
    } else if (is("posted_paused")) {
        MPI_Pcontrol(0);
        MPI_Irecv(data, 8, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, &request);
        MPI_Pcontrol(1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        fail(mode);
    }
}

int main(int argc, char** argv) {
    int rank = 0;
    double waited = 0, sent = 0;
    if (argc < 3) return 2;
    mode = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < kBefore; i++) before(rank, i);
    for (int i = 0; i < kLate; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            usleep(kLate_us);
            sent = now();
            MPI_Send(&sent, 1, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD);
        } else {
            const double entered = now();
            MPI_Recv(&sent, 1, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @late
            if (sent > entered) waited += sent - entered;
        }
    }
    if (rank == 1) {
        FILE* told = fopen(argv[1], "w");
        if (told == NULL) return 1;
        fprintf(told, "%.9f\n", waited);
        fclose(told);
    }
    MPI_Finalize();
    return 0;
}
