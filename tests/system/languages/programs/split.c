// A procedure with a short way out: GCC splits the rest off. The other end of what calls it is put
// into its callers, or not.
#include <stdlib.h>

static double field[1000];
static volatile int count;

static __attribute__((noinline)) void work(double* x, int n) {
    for (int i = 0; i < n; i++) x[i] = x[i] * 1.5 + count;
}

void exchange(double* x, int n, int dead) {
    if (!dead) {
        for (int k = 0; k < n; k++) {
            work(x, k);
            for (int j = 0; j < 3; j++) work(x, j);
        }
        for (int k = 0; k < n; k++) work(x, k);
        for (int k = 1; k < 12; k++) work(x + k, k * n % 50);
        work(x, 1);
        work(x + 1, 2);
        work(x + 2, 3);
        work(x + 3, 4);
        work(x + 4, 5);
    }
}

static __attribute__((noinline)) void residual(double* x, int dead) {
    work(x, 3);
    exchange(x, 10, dead);
    work(x, 1);
}
static __attribute__((noinline)) void smooth(double* x, int dead) {
    work(x, 4);
    exchange(x, 12, dead);
    work(x, 1);
}
static __attribute__((noinline)) void restriction(double* x, int dead) {
    work(x, 5);
    exchange(x, 11, dead);
    work(x, 1);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    void (*volatile whole)(double*, int, int) = exchange;
    const int rounds = atoi(argv[1]);
    for (int i = 0; i < rounds; i++) {
        residual(field, count);
        smooth(field, count);
        restriction(field, count);
        whole(field, 9, count);
    }
    return 0;
}
