// Four regions of three threads; each thread enters one critical section in each region.
#include <stdio.h>

enum { kRegions = 4 };

static int sum;

static void add_one(void) {
#pragma omp critical
    sum += 1;
}

int main(void) {
    for (int i = 0; i < kRegions; ++i) {
#pragma omp parallel num_threads(3)  // @parallel
        {
            add_one();
#pragma omp barrier
        }
    }
    printf("%d\n", sum);
    return 0;
}
