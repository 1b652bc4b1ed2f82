/* What one wrapped call costs: the MPI function as the program calls it (through dwell) against the
 * MPI library's own, in alternating chunks of one run. The best one percent of the chunks of each
 * side stand for the cost, so that other load on the machine matters little.
 *
 * usage: mpirun -n 2 dwell run [--callpath N] call_cost [CHUNKS]     (or without dwell: difference
 * 0)
 *
 * Costs are printed in nanoseconds and in pairs of time stamp reads. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "../system/requests/programs/library_own.h"

enum { kCalls = 100, kMaxChunks = 100000, kPending = 16 };

typedef struct {
    __typeof__(&MPI_Send) send;
    __typeof__(&MPI_Recv) recv;
    __typeof__(&MPI_Sendrecv) sendrecv;
    __typeof__(&MPI_Isend) isend;
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Wait) wait;
    __typeof__(&MPI_Iprobe) iprobe;
    __typeof__(&MPI_Test) test;
    __typeof__(&MPI_Testany) testany;
    __typeof__(&MPI_Allreduce) allreduce;
} Api;

static int g_rank;
static MPI_Request g_pending[kPending]; /* receives of what nobody sends */
static char g_out[64], g_in[64];
static volatile char g_walk[4 << 20];

#define NOINLINE __attribute__((noinline))

/* Each body does kCalls rounds and returns the ticks of the measured call alone. */
static NOINLINE uint64_t body_send_recv(const Api* api) {
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->send(g_out, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD);
        api->recv(g_in, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return __rdtsc() - start;
}
/* The same with a walk through more memory than the second-level cache holds before each call: what
 * a program pays that computes between its calls. */
static NOINLINE uint64_t body_cold_send_recv(const Api* api) {
    uint64_t ticks = 0;
    for (int i = 0; i < kCalls; ++i) {
        for (size_t at = 0; at < sizeof(g_walk); at += 64) g_walk[at] += 1;
        const uint64_t start = __rdtsc();
        api->send(g_out, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD);
        api->recv(g_in, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ticks += __rdtsc() - start;
    }
    return ticks;
}
static NOINLINE uint64_t body_sendrecv(const Api* api) {
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->sendrecv(g_out, 8, MPI_BYTE, g_rank, 1, g_in, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
    }
    return __rdtsc() - start;
}
static NOINLINE uint64_t body_wait(const Api* api) {
    MPI_Request request = MPI_REQUEST_NULL;
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) api->wait(&request, MPI_STATUS_IGNORE);
    return __rdtsc() - start;
}
/* What of a round of Irecv, Isend and two Waits the clock stands around. */
typedef enum { kIrecv, kIsend, kWaitSend, kWaitReceive } Step;
static inline __attribute__((always_inline)) uint64_t requests_round(const Api* api, Step timed) {
    MPI_Request sends[kCalls], receives[kCalls];
    uint64_t stamps[kWaitReceive + 2];
    stamps[kIrecv] = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->irecv(g_in, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD, &receives[i]);
    }
    stamps[kIsend] = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->isend(g_out, 8, MPI_BYTE, g_rank, 1, MPI_COMM_WORLD, &sends[i]);
    }
    stamps[kWaitSend] = __rdtsc();
    for (int i = 0; i < kCalls; ++i) api->wait(&sends[i], MPI_STATUS_IGNORE);
    stamps[kWaitReceive] = __rdtsc();
    for (int i = 0; i < kCalls; ++i) api->wait(&receives[i], MPI_STATUS_IGNORE);
    stamps[kWaitReceive + 1] = __rdtsc();
    return stamps[timed + 1] - stamps[timed];
}
static NOINLINE uint64_t body_irecv(const Api* api) { return requests_round(api, kIrecv); }
static NOINLINE uint64_t body_isend(const Api* api) { return requests_round(api, kIsend); }
static NOINLINE uint64_t body_wait_send(const Api* api) { return requests_round(api, kWaitSend); }
static NOINLINE uint64_t body_wait_receive(const Api* api) {
    return requests_round(api, kWaitReceive);
}
static NOINLINE uint64_t body_iprobe(const Api* api) {
    int flag;
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    return __rdtsc() - start;
}
static NOINLINE uint64_t body_test(const Api* api) {
    int flag;
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) api->test(&g_pending[0], &flag, MPI_STATUS_IGNORE);
    return __rdtsc() - start;
}
static NOINLINE uint64_t body_testany(const Api* api) {
    int index, flag;
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->testany(kPending, g_pending, &index, &flag, MPI_STATUS_IGNORE);
    }
    return __rdtsc() - start;
}
static NOINLINE uint64_t body_allreduce_self(const Api* api) {
    double in = 1, out;
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        api->allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    }
    return __rdtsc() - start;
}

typedef uint64_t (*Body)(const Api*);

/* Nine frames between the loop and the body: call paths of more than ten. */
#define LEVEL(n, below)                                            \
    static NOINLINE uint64_t level##n(Body body, const Api* api) { \
        const uint64_t ticks = below;                              \
        __asm__ volatile("" ::: "memory"); /* no tail call */      \
        return ticks;                                              \
    }
LEVEL(1, body(api))
LEVEL(2, level1(body, api))
LEVEL(3, level2(body, api))
LEVEL(4, level3(body, api))
LEVEL(5, level4(body, api))
LEVEL(6, level5(body, api))
LEVEL(7, level6(body, api))
LEVEL(8, level7(body, api))

static int by_size(const void* a, const void* b) {
    const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return (x > y) - (x < y);
}

static double best_percent(uint64_t* ticks, int chunks) {
    qsort(ticks, (size_t)chunks, sizeof(*ticks), by_size);
    const int kept = chunks / 100 > 0 ? chunks / 100 : 1;
    double sum = 0;
    for (int i = 0; i < kept; ++i) sum += (double)ticks[i];
    return sum / kept;
}

static uint64_t g_with[kMaxChunks], g_without[kMaxChunks];

static void measure(const char* name, Body body, int calls, const Api* with, const Api* without,
                    int chunks, double ns_per_tick, double pair_ns) {
    for (int i = 0; i < chunks; ++i) {
        g_with[i] = level8(body, with);
        g_without[i] = level8(body, without);
    }
    const double a = best_percent(g_with, chunks) * ns_per_tick / (kCalls * calls);
    const double b = best_percent(g_without, chunks) * ns_per_tick / (kCalls * calls);
    if (g_rank == 0) {
        printf("%-38s %9.1f %9.1f %9.1f %8.2f\n", name, b, a, a - b, (a - b) / pair_ns);
    }
}

static double tick_ns(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t start = __rdtsc();
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + (b.tv_nsec - a.tv_nsec) < 20000000L);
    const uint64_t ticks = __rdtsc() - start;
    return (double)((b.tv_sec - a.tv_sec) * 1000000000L + (b.tv_nsec - a.tv_nsec)) / (double)ticks;
}

static double stamp_pair_ns(double ns_per_tick) {
    uint64_t best = UINT64_MAX, sum = 0;
    for (int round = 0; round < 200; ++round) {
        const uint64_t start = __rdtsc();
        for (int i = 0; i < 1000; ++i) sum += __rdtsc();
        const uint64_t ticks = __rdtsc() - start;
        if (ticks < best) best = ticks;
    }
    __asm__ volatile("" ::"r"(sum));
    return 2 * (double)best * ns_per_tick / 1000;
}

int main(int argc, char** argv) {
    int chunks = argc > 1 ? atoi(argv[1]) : 3000;
    if (chunks < 1) chunks = 1;
    if (chunks > kMaxChunks) chunks = kMaxChunks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    void* library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) {
        fprintf(stderr, "call_cost: libmpi.so.40 is not loaded\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const Api with = {MPI_Send, MPI_Recv,   MPI_Sendrecv, MPI_Isend,   MPI_Irecv,
                      MPI_Wait, MPI_Iprobe, MPI_Test,     MPI_Testany, MPI_Allreduce};
    const Api without = {own(library, "PMPI_Send"),     own(library, "PMPI_Recv"),
                         own(library, "PMPI_Sendrecv"), own(library, "PMPI_Isend"),
                         own(library, "PMPI_Irecv"),    own(library, "PMPI_Wait"),
                         own(library, "PMPI_Iprobe"),   own(library, "PMPI_Test"),
                         own(library, "PMPI_Testany"),  own(library, "PMPI_Allreduce")};
    const double ns = tick_ns();
    const double pair = stamp_pair_ns(ns);
    if (g_rank == 0) {
        printf("pair of time stamp reads: %.1f ns; %d chunks of %d calls, best 1 %% of each\n\n",
               pair, chunks, kCalls);
        printf("%-38s %9s %9s %9s %8s\n", "call", "plain ns", "dwell ns", "added ns", "pairs");
    }
    measure("Send + Recv (each)", body_send_recv, 2, &with, &without, chunks, ns, pair);
    measure("Sendrecv", body_sendrecv, 1, &with, &without, chunks, ns, pair);
    measure("Wait (null request)", body_wait, 1, &with, &without, chunks, ns, pair);
    for (int i = 0; i < kPending; ++i) {
        MPI_Irecv(g_in, 8, MPI_BYTE, 0, 8, MPI_COMM_SELF, &g_pending[i]);
    }
    measure("Iprobe, unsuccessful, repeated", body_iprobe, 1, &with, &without, chunks, ns, pair);
    measure("Test, unsuccessful, repeated", body_test, 1, &with, &without, chunks, ns, pair);
    measure("Testany of 16, unsuccessful, repeated", body_testany, 1, &with, &without, chunks, ns,
            pair);
    for (int i = 0; i < kPending; ++i) {
        MPI_Cancel(&g_pending[i]);
        MPI_Wait(&g_pending[i], MPI_STATUS_IGNORE);
    }
    measure("Allreduce (self)", body_allreduce_self, 1, &with, &without, chunks, ns, pair);
    measure("Isend", body_isend, 1, &with, &without, chunks, ns, pair);
    measure("Irecv", body_irecv, 1, &with, &without, chunks, ns, pair);
    measure("Wait (for a send)", body_wait_send, 1, &with, &without, chunks, ns, pair);
    measure("Wait (for a receive)", body_wait_receive, 1, &with, &without, chunks, ns, pair);
    const int few = chunks / 100 > 3 ? chunks / 100 : 3; /* a walk takes far longer than a call */
    measure("Send + Recv (each), cold caches", body_cold_send_recv, 2, &with, &without, few, ns,
            pair);
    MPI_Finalize();
    return 0;
}
