/* Closes all descriptors but the standard ones, its own or not, and has its standard input under
 * their numbers: files_reused closefrom|loop|dup2 < FILE. A second thread, which counts too, ends
 * afterwards. Nothing reads, so the file's offset, which all its descriptors share, stays 0. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dwell.h"

enum { FIRST = 3, LAST = 60 };
static pthread_barrier_t closed;

static void blocks(const char* name) {
    for (int i = 0; i < 4; ++i) {
        dwell_block_begin(name);
        dwell_block_end(name);
    }
}

static void* in_thread(void* unused) {
    blocks("thread before");
    pthread_barrier_wait(&closed);
    pthread_barrier_wait(&closed);
    blocks("thread after");
    return unused;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    pthread_t thread;
    pthread_barrier_init(&closed, NULL, 2);
    blocks("before");
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0) return 3;
    pthread_barrier_wait(&closed);
    if (strcmp(argv[1], "closefrom") == 0) closefrom(FIRST);
    for (int number = FIRST; strcmp(argv[1], "loop") == 0 && number <= 1000; ++number)
        close(number);
    for (int number = FIRST; number <= LAST; ++number) {
        if (dup2(STDIN_FILENO, number) != number) return 4;
    }
    pthread_barrier_wait(&closed);
    blocks("after");
    pthread_join(thread, NULL);
    for (int number = FIRST; number <= LAST; ++number) {
        if (fcntl(number, F_GETFD) == -1) return 5;
    }
    if (lseek(STDIN_FILENO, 0, SEEK_CUR) != 0) return 6;
    puts("untouched");
    return 0;
}
