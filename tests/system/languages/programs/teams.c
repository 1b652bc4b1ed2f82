// A parallel region of two threads, each with a tree of its own: thread t calls share 2 + t times.
#include <omp.h>
#include <stdio.h>

#include "pass_time.h"

__attribute__((noinline)) void share(void) {
    spin_ms(5);
    keep();
}

__attribute__((noinline)) void alone(void) {
    spin_ms(5);
    keep();
}

int main(void) {
    alone();
#pragma omp parallel num_threads(2)
    {
        const int times = 2 + omp_get_thread_num();
        for (int i = 0; i < times; i++) {  // region's loop
            share();
        }
        keep();
    }
    alone();
    puts("done");
    return 0;
}
