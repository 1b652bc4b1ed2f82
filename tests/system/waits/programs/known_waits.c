/* Ranks that wait for each other by set times. Each takes its own time stamp before every call, so
 * that who waited how long follows from arithmetic, however busy the machine is: the rank that is
 * early waits until the late one's stamp.
 *
 * usage: mpirun -n 2 dwell run known_waits FILE      writes FILE.RANK: the case, and the stamp in
 * ns
 *
 * In each case `early` makes the call at the marker while `late` computes kLate_ms before its own.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kTimes = 100, kLate_us = 3000, kKept = 1280, kLarge = 200000 };
static FILE* told;
static int rank, size;
static char out[kLarge], in[kLarge], other[kLarge];

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
static void spin_us(int us) {
    const long long end = now_ns() + us * 1000LL;
    while (now_ns() < end) continue;
}
static void stamp(const char* name) { fprintf(told, "%s %lld\n", name, now_ns()); }

/* Both are here. */
static void meet(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    spin_us(20);
}
static void be_late(const char* name) {
    spin_us(kLate_us);
    stamp(name);
}
static void send(int bytes) { MPI_Send(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD); }
static void receive(int bytes) {
    MPI_Recv(in, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void one_round(void) {
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Comm world = MPI_COMM_WORLD;
    const int first = rank == 0;

    meet(); /* a small message */
    if (first)
        be_late("recv"), send(8);
    else
        stamp("recv"), MPI_Recv(in, 8, MPI_BYTE, 0, 3, world, &status); /* @recv */
    meet(); /* a large one, which must meet its receiver */
    if (first)
        be_late("recv_large"), send(kLarge);
    else
        stamp("recv_large"), MPI_Recv(in, kLarge, MPI_BYTE, 0, 3, world, &status); /* @recv_large */
    meet();
    if (first)
        be_late("recv_any"), send(8);
    else
        stamp("recv_any"),
            MPI_Recv(in, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status); /* @recv_any */
    meet(); /* the receiver is late */
    if (!first)
        be_late("ssend"), receive(8);
    else
        stamp("ssend"), MPI_Ssend(out, 8, MPI_BYTE, 1, 3, world); /* @ssend */
    meet(); /* one that MPI may leave where it is until the receiver takes it */
    if (!first)
        be_late("send_kept"), receive(kKept);
    else {
        stamp("send_kept");
        MPI_Send(out, kKept, MPI_BYTE, 1, 3, world); /* @send_kept */
        stamp("send_kept_left");
    }
    meet();
    if (!first) {
        be_late("wait_kept"), receive(kKept);
    } else {
        MPI_Isend(out, kKept, MPI_BYTE, 1, 3, world, requests);
        stamp("wait_kept");
        MPI_Wait(requests, MPI_STATUS_IGNORE); /* @wait_kept */
        stamp("wait_kept_left");
    }
    meet();
    if (!first)
        be_late("send_large"), receive(kLarge);
    else
        stamp("send_large"), MPI_Send(out, kLarge, MPI_BYTE, 1, 3, world); /* @send_large */
    meet(); /* requests: the wait begins when it is called */
    if (first) {
        be_late("wait_recv"), send(8);
    } else {
        MPI_Irecv(in, 8, MPI_BYTE, 0, 3, world, requests);
        spin_us(500);
        stamp("wait_recv");
        MPI_Wait(requests, &status); /* @wait_recv */
    }
    meet();
    if (!first) {
        be_late("wait_issend"), receive(8);
    } else {
        MPI_Issend(out, 8, MPI_BYTE, 1, 3, world, requests);
        stamp("wait_issend");
        MPI_Wait(requests, MPI_STATUS_IGNORE); /* @wait_issend */
    }
    meet(); /* the later of two */
    if (first) {
        send(8);
        be_late("waitall"), send(8);
    } else {
        MPI_Irecv(in, 8, MPI_BYTE, 0, 3, world, requests);
        MPI_Irecv(other, 8, MPI_BYTE, 0, 3, world, requests + 1);
        stamp("waitall");
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* @waitall */
    }
    meet(); /* both send and receive: the early one waits */
    if (first) {
        be_late("sendrecv");
        MPI_Sendrecv(out, 8, MPI_BYTE, 1, 3, in, 8, MPI_BYTE, 1, 3, world, &status);
    } else {
        stamp("sendrecv");
        MPI_Sendrecv(out, 8, MPI_BYTE, 0, 3, in, 8, MPI_BYTE, 0, 3, world, &status); /* @sendrecv */
    }
    meet(); /* nobody waits: the message has long been there */
    if (first) {
        stamp("found"), send(8);
    } else {
        be_late("found");
        MPI_Recv(in, 8, MPI_BYTE, 0, 3, world, &status); /* @found */
    }
    meet(); /* not either: a small message waits for nobody */
    if (first)
        stamp("unawaited"), MPI_Send(out, 8, MPI_BYTE, 1, 3, world); /* @unawaited */
    else
        be_late("unawaited"), receive(8);
}

static void persistent(void) {
    MPI_Request request;
    if (rank == 0)
        MPI_Send_init(out, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(in, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request);
    for (int i = 0; i < kTimes; ++i) {
        meet();
        if (rank == 0) {
            be_late("wait_persistent");
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Start(&request);
            stamp("wait_persistent");
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* @wait_persistent */
        }
    }
    MPI_Request_free(&request);
}

int main(int argc, char** argv) {
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
    told = fopen(path, "w");
    if (told == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < kTimes; ++i) one_round();
    persistent();
    fclose(told);
    MPI_Finalize();
    return 0;
}
