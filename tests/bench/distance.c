/* How far two processors are from each other: two threads, each on its own processor, hand one
 * cache line to and fro. Prints the time of one way, the median of many chunks, in nanoseconds.
 * Every message, barrier and team of threads takes some such ways, with dwell and without.
 *
 * usage: distance */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kChunks = 101, kRounds = 500 };

/* Alone in its line and in that beside it, which some processors fetch along. */
static struct { _Alignas(128) atomic_uint turn; } line;

static double now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* The n-th processor that this process may use, or -1. */
static int processor(int n) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed) && n-- == 0) return cpu;
    }
    return -1;
}

static int stay_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void hand_over(unsigned own, unsigned rounds) {
    for (unsigned i = 0; i < rounds; ++i) {
        while (atomic_load_explicit(&line.turn, memory_order_acquire) != own) {
        }
        atomic_store_explicit(&line.turn, 1 - own, memory_order_release);
    }
}

static void* other(void* cpu) {
    if (stay_on(*(int*)cpu) != 0) exit(1);
    hand_over(1, kChunks * kRounds);
    return NULL;
}

static int ascending(const void* a, const void* b) {
    const double left = *(const double*)a, right = *(const double*)b;
    return (left > right) - (left < right);
}

int main(void) {
    int second = processor(1);
    if (second < 0 || stay_on(processor(0)) != 0) {
        fprintf(stderr, "distance: needs two processors\n");
        return 1;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, other, &second) != 0) return 1;
    double way_ns[kChunks];
    for (int i = 0; i < kChunks; ++i) {
        const double start = now_ns();
        hand_over(0, kRounds);
        way_ns[i] = (now_ns() - start) / (2.0 * kRounds);
    }
    pthread_join(thread, NULL);
    qsort(way_ns, kChunks, sizeof way_ns[0], ascending);
    printf("way_ns %.1f\n", way_ns[kChunks / 2]);
    return 0;
}
