// Three threads, each of which is in a block twice a turn, at the same time as the others.
#include <pthread.h>

#include "dwell.h"

static pthread_barrier_t all;

static void* work(void* unused) {
    for (int turn = 0; turn < 200; ++turn) {
        for (int i = 0; i < 2; ++i) {
            dwell_block_begin("leaf");
            volatile int sum = 0;
            for (int k = 0; k < 200; ++k) sum = sum + k;
            dwell_block_end("leaf");
            pthread_barrier_wait(&all);
        }
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&all, 0, 3);
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    return 0;
}
