// Procedures with a short way out that are called inside of others: GCC puts their beginning into
// these and splits the rest off. Which of their calls took the short way no probe sees. 120 calls
// of part, half of them short, and 6 of it as a whole; 177 of fib.
#include <stdio.h>

volatile int sink;

__attribute__((noinline)) int step(int* i) {
    sink = sink + 1;
    return ++*i;
}

int part(int n) {
    if (n < 3) return 0;
    int t = 0;
    for (int i = 0; i < n; i++) {
        t += sink;
        if (t < 0) {
            step(&t);
            step(&t);
            step(&t);
        }
    }
    return t + n;
}

__attribute__((noinline)) int one(int n) { return part(n) + 1; }
__attribute__((noinline)) int two(int n) { return part(n) + 2; }

static long fib(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int (*volatile whole)(int) = part;
    int s = 0;
    for (int k = 0; k < 10; k++) {
        for (int j = 0; j < 6; j++) s += one(j) + two(j);
    }
    for (int j = 0; j < 6; j++) s += whole(j);
    long f = 0;
#pragma omp parallel
#pragma omp single
    f = fib(10);
    printf("%d %ld\n", s, f);
    return 0;
}
