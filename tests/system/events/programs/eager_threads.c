// Threads that come to their first block one after the other, some of them while dwell measures its
// own costs for the first of them.
#include <dwell.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { kThreads = 64, kApart_ns = 100000 };

static void* come(void* number) {
    const struct timespec wait = {0, (long)(intptr_t)number * kApart_ns};
    nanosleep(&wait, NULL);
    dwell_block_begin("first");
    dwell_block_end("first");
    return NULL;
}

int main(void) {
    pthread_t threads[kThreads];
    for (intptr_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, come, (void*)i);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    return 0;
}
