// A program without MPI that computes for about half a second.
#include <stdio.h>
#include <time.h>

int main(void) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    volatile double x = 1;
    do {
        for (int i = 0; i < 10000; i++) x = x * 1.000001 + 1e-9;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
             0.5);
    puts("serial");
    return 3;
}
