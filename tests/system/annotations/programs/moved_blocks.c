/* Blocks that end outside of the loop or procedure they began in, with probes or without.
 * Entries, and how long each is at least:
 *
 *   phase step:   5, 40 ms, the last one ended after the loop
 *   first:        1, 40 ms
 *   second:       1, 80 ms, of which half lies after the end of first
 *   recursive:    4, 40 ms
 */
#include <dwell.h>
#include <time.h>

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
/* What the probes of its calls take is no time of the block: a few milliseconds in all. */
static void spin(void) {
    const long long end = now_ns() + 50000000;
    while (now_ns() < end) {
    }
}

/* The end is a call in tail position. */
__attribute__((noinline)) static void recurse(int depth) {
    DWELL_BLOCK_BEGIN("recursive");
    spin();
    if (depth > 1) recurse(depth - 1);
    DWELL_BLOCK_END("recursive");
}

int main(void) {
    for (int i = 0; i < 5; ++i) {
        dwell_phase_next("step", (uint64_t)i);
        spin();
    }
    dwell_phase_end();
    DWELL_BLOCK_BEGIN("first");
    DWELL_BLOCK_BEGIN("second");
    spin();
    DWELL_BLOCK_END("first");
    spin();
    DWELL_BLOCK_END("second");
    recurse(4);
    return 0;
}
