// Each of three threads acquires two locks, the second one in a critical section.
#include <omp.h>
#include <stdio.h>

static omp_lock_t first;
static omp_lock_t second;
static int sum;

static void add_one(void) {
    omp_set_lock(&first);
    sum += 1;
    omp_unset_lock(&first);
#pragma omp critical
    {
        omp_set_lock(&second);
        sum += 1;
        omp_unset_lock(&second);
    }
}

int main(void) {
    omp_init_lock(&first);
    omp_init_lock(&second);
#pragma omp parallel num_threads(3)
    add_one();
    printf("%d\n", sum);
    return 0;
}
