// What source probes make of OpenMP; the answers are explained in probed.c. Bodies of constructs
// are procedures of their own; which thread runs one, and so what encloses it, is not said here.
#include <stdio.h>

static double values[1000];

int main(void) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
    for (int i = 0; i < 1000; i++) {
        values[i] = i;
        sum += values[i];
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int t = 0; t < 4; t++) {
#pragma omp task depend(inout : values)
        for (int i = 0; i < 10; i++) {
            values[i] += t;
        }
    }
    printf("%g %g\n", sum, values[0]);
    return 0;
}
