// Functions that the C library calls at the end and that end in a region: compilers call the
// runtime in place of their return at -O2, and no frame of the program's is left on the path. 2
// threads: each region has a count of 2.
#include <omp.h>
#include <stdlib.h>

static volatile int sink[2];

static void first(void) {
#pragma omp parallel num_threads(2)  // @first
    sink[omp_get_thread_num()] = 1;
}

static void second(void) {
#pragma omp parallel num_threads(2)  // @second
    sink[omp_get_thread_num()] = 2;
}

static __attribute__((destructor)) void last(void) {
#pragma omp parallel num_threads(2)  // @last
    sink[omp_get_thread_num()] = 3;
}

int main(void) {
    atexit(first);
    atexit(second);
#pragma omp parallel num_threads(2)  // @main
    sink[omp_get_thread_num()] = 0;
    return 0;
}
