// Messages between two ranks, of which dwell may not see the same clock. Each prints what it found
// itself; CLOCK_REALTIME is the same on both where two hosts are made on one machine.
//   remote_messages late REPETITIONS MICROSECONDS   rank 0 is late with each message by so much
//   remote_messages probe REPETITIONS MICROSECONDS  the same, and rank 1 waits in a probe
//   remote_messages receiver REPETITIONS MICROSECONDS   rank 1 is late with each receive by so much
//   remote_messages pingpong ROUNDS                 the median round trip
//   remote_messages stream MESSAGES                 one way, many tags, received in another order
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void spin_ns(int64_t ns) {
    int64_t end = now_ns() + ns;
    while (now_ns() < end) {
    }
}

// The receiver says when it is there; then the sender computes, and sends when it began to send.
static void late(int rank, int repetitions, int64_t late_ns, int probes) {
    int64_t waited = 0, called = 0;
    for (int i = 0; i < repetitions; ++i) {
        int64_t begun = 0;
        if (rank == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @go
            spin_ns(late_ns);
            begun = now_ns();
            MPI_Send(&begun, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);  // @late
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            int64_t entered = now_ns();
            if (probes) {
                MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @probe
                called += now_ns() - entered;
                MPI_Recv(&begun, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @probed
            } else {
                MPI_Recv(&begun, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @wait
                called += now_ns() - entered;
            }
            waited += begun > entered ? begun - entered : 0;
        }
    }
    if (rank == 1) printf("waited_ns %lld\n", (long long)waited);
    if (rank == 1) printf("called_ns %lld\n", (long long)called);
}

// The sender must meet the receiver, which says afterwards when it was there.
static void send_synchronous(void* bytes, int count) {
    MPI_Ssend(bytes, count, MPI_BYTE, 1, 2, MPI_COMM_WORLD);  // @ssend
}
static void send_large(void* bytes, int count) {
    MPI_Send(bytes, count, MPI_BYTE, 1, 2, MPI_COMM_WORLD);  // @large
}
static void send_request(void* bytes, int count) {
    MPI_Request request;
    MPI_Issend(bytes, count, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);  // @issend
}
static void receiver(int rank, int repetitions, int64_t late_ns) {
    enum { kLarge = 1 << 18 };
    static char bytes[kLarge];
    void (*const sends[])(void*, int) = {send_synchronous, send_large, send_request};
    const char* const names[] = {"ssend_ns", "large_ns", "issend_ns"};
    for (int k = 0; k < 3; ++k) {
        const int count = k == 1 ? kLarge : 8;
        int64_t waited = 0;
        for (int i = 0; i < repetitions; ++i) {
            int64_t came = 0;
            if (rank == 1) {
                MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
                spin_ns(late_ns);
                came = now_ns();
                MPI_Recv(bytes, count, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(&came, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
                continue;
            }
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            int64_t entered = now_ns();
            sends[k](bytes, count);
            MPI_Recv(&came, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            waited += came > entered ? came - entered : 0;
        }
        if (rank == 0) printf("%s %lld\n", names[k], (long long)waited);
    }
}

static int by_value(const void* a, const void* b) {
    int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
    return (x > y) - (x < y);
}

static void pingpong(int rank, int rounds) {
    int64_t* trips = malloc((size_t)rounds * sizeof(int64_t));
    for (int i = 0; i < rounds; ++i) {
        int64_t begun = now_ns();
        int value = i;
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        }
        if (value != i) MPI_Abort(MPI_COMM_WORLD, 1);
        trips[i] = now_ns() - begun;
    }
    qsort(trips, (size_t)rounds, sizeof(int64_t), by_value);
    if (rank == 0) printf("round_trip_ns %lld\n", (long long)trips[rounds / 2]);
    free(trips);
}

// Groups of 50 messages, of which the tags 0 to 49 are received from the last to the first; every
// other one by a receive that was posted before.
enum { kGroup = 50 };
static void stream(int rank, int messages) {
    int64_t sum = 0;
    for (int first = 0; first + kGroup <= messages; first += kGroup) {
        int got[kGroup];
        MPI_Request requests[kGroup];
        for (int k = 0; k < kGroup; ++k) requests[k] = MPI_REQUEST_NULL;
        if (rank == 0) {
            for (int k = 0; k < kGroup; ++k) {
                int value = first + k;
                MPI_Send(&value, 1, MPI_INT, 1, k % 40, MPI_COMM_WORLD);
            }
            continue;
        }
        for (int k = kGroup - 1; k >= 0; --k) {
            if (k % 2) MPI_Irecv(&got[k], 1, MPI_INT, 0, k % 40, MPI_COMM_WORLD, &requests[k]);
        }
        for (int k = kGroup - 1; k >= 0; --k) {
            if (k % 2 == 0)
                MPI_Recv(&got[k], 1, MPI_INT, 0, k % 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Waitall(kGroup, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < kGroup; ++k) sum += got[k] * (int64_t)(k % 40 + 1);
    }
    if (rank == 1) printf("sum %lld\n", (long long)sum);
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    int count = atoi(argv[2]);
    const int64_t late_ns = argc > 3 ? atoi(argv[3]) * 1000LL : 0;
    if (rank < 2 && strcmp(argv[1], "late") == 0) late(rank, count, late_ns, 0);
    if (rank < 2 && strcmp(argv[1], "probe") == 0) late(rank, count, late_ns, 1);
    if (rank < 2 && strcmp(argv[1], "receiver") == 0) receiver(rank, count, late_ns);
    if (rank < 2 && strcmp(argv[1], "pingpong") == 0) pingpong(rank, count);
    if (rank < 2 && strcmp(argv[1], "stream") == 0) stream(rank, count);
    MPI_Finalize();
    return 0;
}
