/* Files of a thread that meets neither MPI, nor OpenMP, nor a probe: io_threads FILE. Comments as
 * in io_forms.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dwell.h"

enum { kCalls = 500, kLate = 3 };
static int file;
static int pipe_ends[2];
static int wrong = 0;
static pthread_key_t key;
static char block[4096];

/* The key is younger than dwell's: the thread's end has begun for dwell. */
static void at_end(void* value) {
    (void)value;
    for (int i = 0; i < kLate; ++i) wrong |= pwrite(file, block, 1, 0) != 1;
}

static void* works(void* unused) {
    /* What borrows the thread's memory is no thread of the program. */
    const pid_t child = vfork();
    if (child == 0) _exit(pwrite(file, block, 7, 0) == 7 ? 0 : 1);
    int status = 1;
    wrong |= waitpid(child, &status, 0) != child || status != 0;
    errno = ENOTTY;
    for (int i = 0; i < kCalls; ++i) {
        wrong |=
            pwrite(file, block, sizeof(block), 0) != sizeof(block); /* io: pwrite 500 0 2048000 */
    }
    wrong |= errno != ENOTTY;
    pthread_setspecific(key, &key);
    return unused;
}

static void* talks(void* unused) {
    wrong |= write(pipe_ends[1], block, 1) != 1;
    return unused;
}

static void run(void* (*what)(void*)) {
    pthread_t thread;
    wrong |= pthread_create(&thread, NULL, what, NULL) != 0 || pthread_join(thread, NULL) != 0;
}

int main(int argc, char** argv) {
    if (argc < 2 || pipe(pipe_ends) != 0) return 2;
    dwell_block_begin("first");
    dwell_block_end("first");
    wrong |= pthread_key_create(&key, at_end) != 0;
    file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600); /* io: open 1 0 0 */
    run(talks);
    run(works);
    wrong |= pread(file, block, 10, 0) != 10; /* io: pread 1 10 0 */
    close(file);                              /* io: close 1 0 0 */
    return wrong;
}
