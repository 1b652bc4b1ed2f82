// Barriers of a region that may be cancelled: clang calls another function for them, which calls
// the barrier from inside of libomp. 2 threads, 5 times.
#include <omp.h>
#include <stdlib.h>

static volatile int sink[2];

int main(int argc, char** argv) {
    (void)argv;
    for (int k = 0; k < 5; k++) {
#pragma omp parallel num_threads(2)  // @region
        {
            sink[omp_get_thread_num()] = 1;
#pragma omp barrier  // @first
            sink[omp_get_thread_num()] = 2;
#pragma omp barrier  // @second
#pragma omp cancel parallel if (argc > 99)
            sink[omp_get_thread_num()] = 3;
        }
    }
    return 0;
}
