// 600 steps of 300000 calls of tiny(), with some of seldom() and late(): see test_probes.py.
#include <stdio.h>

static volatile double one = 1;

static __attribute__((noinline)) double tiny(double x) { return x * 0.5 + one; }
static __attribute__((noinline)) double seldom(double x) {
    for (int i = 0; i < 40; i++) x = x * 0.5 + one;
    return x;
}
static __attribute__((noinline)) double late(double x) {
    for (int i = 0; i < 60; i++) x = x * 0.5 + one;
    return x;
}
static __attribute__((noinline)) double step(int number, double x) {
    if (number < 100)
        for (int i = 0; i < 300; i++) x = seldom(x);
    for (int i = 0; i < 300000; i++) x = tiny(x);
    if (number >= 100 && number % 5 == 0)
        for (int i = 0; i < 500; i++) x = seldom(x);
    if (number > 150)
        for (int i = 0; i < 200; i++) x = late(x);
    return x;
}

int main(void) {
    double x = 0;
    for (int number = 0; number < 600; number++) x = step(number, x);
    printf("%g\n", x);
    return 0;
}
