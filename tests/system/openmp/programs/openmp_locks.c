// Locks that are got and tries that fail, on 2 threads. 10 times: 100 tries in vain, then a region
// in which each thread holds a lock for 2 ms and tries another one once in vain: 20 times got, and
// who comes second waits 2 ms. Then 5 tries that succeed, and a nest lock that is got 3 times, by
// its holder, the last time by a try; the other thread tries it in vain.
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void sleep_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

int main(void) {
    int failed = 0, got = 0;
    omp_lock_t taken, free_one, shared;
    omp_nest_lock_t nest;
    omp_init_lock(&taken);
    omp_init_lock(&free_one);
    omp_init_lock(&shared);
    omp_init_nest_lock(&nest);
    omp_set_num_threads(2);
    omp_set_lock(&taken);  // @taken
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < 100; i++) failed += !omp_test_lock(&taken);  // @in_vain
#pragma omp parallel reduction(+ : failed)                               // @region
        {
            failed += !omp_test_lock(&taken);  // @in_vain_inside
            omp_set_lock(&shared);             // @shared
            sleep_ms(2);
            omp_unset_lock(&shared);
        }
    }
    for (int i = 0; i < 5; i++) {
        got += omp_test_lock(&free_one);  // @tried
        omp_unset_lock(&free_one);
    }
    omp_set_nest_lock(&nest);               // @nest
    omp_set_nest_lock(&nest);               // @again
    got += omp_test_nest_lock(&nest);       // @tried_again
#pragma omp parallel reduction(+ : failed)  // @last
    if (omp_get_thread_num() == 1) failed += omp_test_nest_lock(&nest) == 0;
    for (int i = 0; i < 3; i++) omp_unset_nest_lock(&nest);
    omp_unset_lock(&taken);
    printf("%d %d\n", failed, got);
    return 0;
}
