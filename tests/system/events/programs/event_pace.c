// Steps of 10 ms, each with a call, a block and a marker; with a second argument first 200 blocks a
// millisecond for so many milliseconds.
#include <stdlib.h>
#include <time.h>

#include "dwell.h"

static void rest(long ns) {
    const struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void tick(long turns) {
    volatile long sum = 0;
    for (long i = 0; i < turns; ++i) sum = sum + i;
}

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

int main(int argc, char** argv) {
    const double until = now_ms() + (argc > 2 ? atof(argv[2]) : 0);
    while (now_ms() < until) {
        for (int i = 0; i < 200; ++i) {
            dwell_block_begin("quick");
            dwell_block_end("quick");
        }
        rest(1000000);
    }
    for (long left = argc > 1 ? atol(argv[1]) : 1; left > 0; --left) {
        tick(1000);
        dwell_block_begin("quick");
        dwell_block_end("quick");
        dwell_mark("step", (uint64_t)left);
        rest(10000000);
    }
    return 0;
}
