// Two threads: in 100 regions both work 5 ms; in 100 more the first one 5 ms and the second one
// nothing. So the second thread waits 0.5 s, all of it in the second half. Between both the first
// thread works alone for 0.25 s, in which the second one is idle. Prints how long the first one
// worked in the second half, and alone: longer on a busy machine.
#include <omp.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double work(double seconds) {
    const double began = now();
    while (now() < began + seconds) continue;
    return now() - began;
}

// How long the first thread worked.
static double regions(int count, double second_s) {
    double worked = 0;
    for (int i = 0; i < count; ++i) {
#pragma omp parallel
        {
            if (omp_get_thread_num() == 0) {
                worked += work(0.005);
            } else {
                work(second_s);
            }
        }
    }
    return worked;
}

int main(void) {
    omp_set_num_threads(2);
    regions(100, 0.005);
    const double alone = work(0.25);
    printf("%.6f %.6f\n", regions(100, 0), alone);
    return 0;
}
