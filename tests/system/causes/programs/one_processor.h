// A thread, and those that it makes, on one of the processors that it may use. Define _GNU_SOURCE.
#include <sched.h>

static void use_one_processor(void) {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
}
