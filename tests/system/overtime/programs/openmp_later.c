// Two threads: in 100 regions both work 5 ms; in 100 more the first one 5 ms and the second one
// nothing. So the second thread waits 0.5 s, all of it in the second half. Between both the first
// thread works alone for 0.25 s, in which the second one is idle.
#include <omp.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double seconds) {
    const double until = now() + seconds;
    while (now() < until) continue;
}

static void regions(int count, double second_s) {
    for (int i = 0; i < count; ++i) {
#pragma omp parallel
        {
            work(omp_get_thread_num() == 0 ? 0.005 : second_s);
        }
    }
}

int main(void) {
    omp_set_num_threads(2);
    regions(100, 0.005);
    work(0.25);
    regions(100, 0);
    return 0;
}
