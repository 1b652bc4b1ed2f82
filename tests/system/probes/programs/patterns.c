// patterns WAY STEPS CALLS: in each step some work, and in those that WAY says CALLS or ten times
// as many calls of small(): STEPS * CALLS in all, or half of it; by recursion 511 for each 500.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long sum;
static volatile long one = 1;

static __attribute__((noinline)) void small(void) { sum += one; }
static __attribute__((noinline)) void middle(void) {
    for (int i = 0; i < 10; i++) small();
}
static __attribute__((noinline)) void large(void) {
    for (int i = 0; i < 10; i++) middle();
}
static __attribute__((noinline)) void tree(int depth) {
    sum += one;
    if (depth == 1) return;
    tree(depth - 1);
    tree(depth - 1);
    sum += one;
}
static __attribute__((noinline)) void calls(long number, const char* way) {
    if (strcmp(way, "nests") == 0)
        for (long i = 0; i < number / 100; i++) large();
    else if (strcmp(way, "recursion") == 0)
        for (long i = 0; i < number / 500; i++) tree(9);
    else
        for (long i = 0; i < number; i++) small();
}
static __attribute__((noinline)) void work(void) {
    for (int i = 0; i < 100000; i++) sum += one;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const char* way = argv[1];
    const long steps = atol(argv[2]);
    const long each = atol(argv[3]);
    for (long step = 0; step < steps; step++) {
        work();
        long number = each;
        if (strcmp(way, "bursts") == 0) number = step % 10 == 3 ? 10 * each : 0;
        if (strcmp(way, "first") == 0) number = step < steps / 2 ? each : 0;
        if (strcmp(way, "last") == 0) number = step < steps / 2 ? 0 : each;
        calls(number, way);
    }
    printf("%ld\n", sum);
    return 0;
}
