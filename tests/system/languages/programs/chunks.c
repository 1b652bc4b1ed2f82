// Loops of OpenMP whose chunks two threads take one after the other, with probes in what each of
// them executes: 24 iterations in chunks of 4, and 50 that are guided.
#include <stdio.h>

__attribute__((noinline)) static double work(int seed) {
    volatile double sum = 0;
    for (int k = 0; k < 500; k++) sum += k * seed;
    return sum;
}

int main(void) {
    double sum = 0;
    int times = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum, times)
    {
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < 24; i++) {
            sum += work(i);
            times++;
        }
#pragma omp for schedule(guided, 2)
        for (int i = 0; i < 50; i++) {
            sum += work(i);
            times++;
        }
    }
    fprintf(stderr, "%d\n", times);
    return sum > 0 && times == 74 ? 0 : 1;
}
