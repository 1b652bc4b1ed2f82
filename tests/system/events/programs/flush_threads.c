// Four threads at once, each of which enters the block "part" BLOCKS times.
#include <dwell.h>
#include <pthread.h>
#include <stdlib.h>

static int blocks;
static pthread_barrier_t all_there;

static void* work(void* unused) {
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < blocks; ++i) {
        dwell_block_begin("part");
        dwell_block_end("part");
    }
    return unused;
}

int main(int argc, char** argv) {
    pthread_t threads[4];
    blocks = argc > 1 ? atoi(argv[1]) : 0;
    pthread_barrier_init(&all_there, NULL, 4);
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    return 0;
}
