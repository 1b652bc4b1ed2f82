/* Recursions, OpenMP and I/O whose events follow each other in every way that the statistics know:
 * a log of them gives the same counts and times. argv[1]: a file to write. Run without MPI. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LONG __attribute__((noinline))

LONG static double work(int steps) {
    double sum = 0;
    for (int i = 1; i < steps; ++i) sum += 1.0 / i;
    return sum;
}
LONG static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
LONG static int is_even(int n);
LONG static int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
LONG static int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }

// Tasks that wait for tasks of the same construct, which run meanwhile.
LONG static void split(int depth) {
    if (depth == 0) {
        work(3000);
        return;
    }
    for (int half = 0; half < 2; ++half) {
#pragma omp task
        split(depth - 1);
    }
#pragma omp taskwait
}

int main(int argc, char** argv) {
    double sum = 0;
    char bytes[100] = {0};
    const int file = open(argc > 1 ? argv[1] : "out", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int round = 0; round < 30; ++round) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
        {
#pragma omp for schedule(dynamic, 4)
            for (int i = 0; i < 60; ++i) sum += work(500 + i);
#pragma omp critical
            sum += 1;
#pragma omp barrier
#pragma omp single
            for (int task = 0; task < 5; ++task) {
#pragma omp task
                work(2000);
            }
#pragma omp single
            split(4);
#pragma omp single nowait
            work(1000);  // ends with the region's procedure
        }
        if (write(file, bytes, 10 + round) < 0) return 1;
    }
    return sum > 0 && fibonacci(10) == 55 && is_even(20) ? 0 : 1;
}
