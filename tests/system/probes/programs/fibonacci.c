// The call-heavy program: fib(n) takes 2 fib(n + 1) - 1 calls, counted with fib(1) = fib(2) = 1.
// Says its result on stdout, on stderr the processor time that it took.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 20;
    const clock_t start = clock();
    const long result = fib(n);
    const double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%ld\n", result);
    fprintf(stderr, "took %.6f\n", took);
    return 0;
}
