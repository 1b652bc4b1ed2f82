// Polls until something has come, in every form, and counts its own calls; 2 ranks. Rank 0 sends 8
// bytes for each of R rounds of a form, some time after rank 1 has begun to ask for them. Rank 1
// prints for each form: its name, the calls, those that found nothing, and what it received. With
// the argument "compute" it computes for 5 microseconds between two polls.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { R = 20, MANY = 20, PAUSE_US = 2000 };

static int rank, computes;
static long calls, unsuccessful, bytes;
static long in[MANY], out = 7;

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int polled(int found) {
    calls += 1;
    unsuccessful += !found;
    if (computes)
        for (const double until = now_us() + 5; now_us() < until;) continue;
    return found;
}

// What rank 0 does in a round: `messages` of 8 bytes, late.
static void serve(int tag, int messages) {
    usleep(PAUSE_US);
    for (int i = 0; i < messages; i++) MPI_Send(&out, 1, MPI_LONG, 1, tag, MPI_COMM_WORLD);
}

static void post(int tag, int count, MPI_Request* requests) {
    for (int i = 0; i < count; i++) {
        MPI_Irecv(&in[i], 1, MPI_LONG, 0, tag, MPI_COMM_WORLD, &requests[i]);
    }
}

static void end_form(const char* name) {
    if (rank == 1) printf("%s %ld %ld %ld\n", name, calls, unsuccessful, bytes);
    calls = unsuccessful = bytes = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void tests(void) {
    MPI_Request requests[MANY];
    MPI_Status status;
    int flag, index, found, indices[3];
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(1, 1);
            continue;
        }
        post(1, 1, requests);
        do MPI_Test(&requests[0], &flag, i % 2 ? &status : MPI_STATUS_IGNORE);  // @test
        while (!polled(flag));
        bytes += 8;
    }
    end_form("test");
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(2, 3);
            continue;
        }
        post(2, 3, requests);
        for (int left = 3; left > 0; left--) {
            do MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE);  // @testany
            while (!polled(flag));
            bytes += 8;
        }
    }
    end_form("testany");
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(3, 3);
            continue;
        }
        post(3, 3, requests);
        do MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);  // @testall
        while (!polled(flag));
        bytes += 24;
    }
    end_form("testall");
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(4, 3);
            continue;
        }
        post(4, 3, requests);
        for (int left = 3; left > 0; left -= found) {
            do MPI_Testsome(3, requests, &found, indices, MPI_STATUSES_IGNORE);  // @testsome
            while (!polled(found));
            bytes += 8 * found;
        }
    }
    end_form("testsome");
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(5, MANY);
            continue;
        }
        post(5, MANY, requests);
        do MPI_Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE);  // @many
        while (!polled(flag));
        bytes += 8 * MANY;
    }
    end_form("many");
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(6, 1);
            continue;
        }
        post(6, 1, requests);
        do MPI_Request_get_status(requests[0], &flag, &status);  // @get_status
        while (!polled(flag));
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    end_form("get_status");
}

// The mirror image: rank 1 asks whether its synchronous send has been received.
static void send_tests(void) {
    MPI_Request request;
    int flag;
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            usleep(PAUSE_US);
            MPI_Recv(in, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Issend(&out, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, &request);
        do MPI_Test(&request, &flag, MPI_STATUS_IGNORE);  // @send
        while (!polled(flag));
    }
    end_form("send");
}

// A persistent receive: the same handle each time.
static void persistent_tests(void) {
    MPI_Request request;
    int flag;
    if (rank == 1) MPI_Recv_init(in, 1, MPI_LONG, 0, 8, MPI_COMM_WORLD, &request);
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(8, 1);
            continue;
        }
        MPI_Start(&request);
        do MPI_Test(&request, &flag, MPI_STATUS_IGNORE);  // @persistent
        while (!polled(flag));
        bytes += 8;
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);  // an inactive one: complete, without event
    }
    if (rank == 1) MPI_Request_free(&request);
    end_form("persistent");
}

static void probes(void) {
    MPI_Message message;
    MPI_Status status;
    int flag;
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(9, 1);
            continue;
        }
        do MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // @iprobe
        while (!polled(flag));
        MPI_Recv(in, 1, MPI_LONG, 0, 9, MPI_COMM_WORLD, &status);
    }
    end_form("iprobe");
    for (int i = 0; i < R; i++) {
        if (rank == 0) {
            serve(10, 1);
            continue;
        }
        do MPI_Improbe(0, 10, MPI_COMM_WORLD, &flag, &message, &status);  // @improbe
        while (!polled(flag));
        MPI_Mrecv(in, 1, MPI_LONG, &message, MPI_STATUS_IGNORE);
    }
    end_form("improbe");
    // Two statements by turns.
    for (int i = 0; i < R; i++) {
        MPI_Request request;
        if (rank == 0) {
            serve(11, 1);
            continue;
        }
        post(11, 1, &request);
        do {
            MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, &status);  // @turns_iprobe
            MPI_Test(&request, &flag, &status);                 // @turns_test
        } while (!polled(flag));
        bytes += 8;
    }
    end_form("turns_test");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    computes = argc > 1 && !strcmp(argv[1], "compute");
    tests();
    send_tests();
    persistent_tests();
    probes();
    MPI_Finalize();
    return 0;
}
