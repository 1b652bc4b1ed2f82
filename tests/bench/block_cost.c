/* What a block, a marker and a procedure built with -finstrument-functions cost on a path that is
 * known, less the same loop with an empty procedure. The fastest of many chunks stands for the
 * cost.
 *
 * usage: mpirun -n 1 [dwell run] block_cost [CHUNKS]
 *
 * Costs are printed in nanoseconds, beside a pair of time stamp reads. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include "dwell.h"

enum { kCalls = 1000 };

#define PLAIN __attribute__((noinline, no_instrument_function))

static PLAIN double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static PLAIN void empty(void) { __asm__ volatile(""); }
static PLAIN void stamps(void) {
    __rdtsc();
    __rdtsc();
}
static PLAIN void block(void) {
    DWELL_BLOCK_BEGIN("block");
    DWELL_BLOCK_END("block");
}
static PLAIN void block_by_name(void) {
    dwell_block_begin("block by name");
    dwell_block_end("block by name");
}
static PLAIN void marker(void) { DWELL_MARK("marker", 1); }
__attribute__((noinline)) static void instrumented(void) { __asm__ volatile(""); }

static PLAIN double cost_ns(void (*work)(void), int chunks) {
    double best = 1e9;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const double begin = now_ns();
        for (int i = 0; i < kCalls; ++i) work();
        const double taken = (now_ns() - begin) / kCalls;
        if (taken < best) best = taken;
    }
    return best;
}

PLAIN int main(int argc, char** argv) {
    const int chunks = argc > 1 ? atoi(argv[1]) : 3000;
    MPI_Init(&argc, &argv);
    const double nothing = cost_ns(empty, chunks);
    printf("pair of time stamp reads: %.2f ns\n", cost_ns(stamps, chunks) - nothing);
    printf("block: %.2f\n", cost_ns(block, chunks) - nothing);
    printf("block by name: %.2f\n", cost_ns(block_by_name, chunks) - nothing);
    printf("marker: %.2f\n", cost_ns(marker, chunks) - nothing);
    printf("-finstrument-functions: %.2f\n", cost_ns(instrumented, chunks) - nothing);
    MPI_Finalize();
    return 0;
}
