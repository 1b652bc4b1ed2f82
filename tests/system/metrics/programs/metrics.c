/* What can be counted without hardware counters, in known places:
 *   metrics [jump|pause|reset|fork|kill]
 * Rank r touches pages of memory for the first time, each a page fault, and sleeps:
 *   block touch:          (r + 1) * 3000 pages
 *   block sleep:          150 sleeps; its own switches, as getrusage tells, go to stdout
 *   between two barriers: 2000 pages, in the procedure `apart`
 *   block nested:         begun three deep, 100 pages in each: 300
 *   block thread:         1000 pages, of a second thread
 *   block short:          20000 times nothing, too short to be read
 * With "jump" block left is left by longjmp after 700 pages, 10 times. With "pause" 5000 pages are
 * touched while recording is off. With "reset" all of it is done twice, and forgotten between. With
 * "fork" a child touches 4000 pages. With "kill" all ranks are killed in block open, in which they
 * have touched 500 pages, behind a barrier. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dwell.h"

static jmp_buf landing;

__attribute__((noinline)) static void touch(long pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* memory = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (size_t)pages * page, MADV_NOHUGEPAGE) != 0) {
        exit(3);
    }
    for (long i = 0; i < pages; ++i) memory[(size_t)i * page] = 1;
    munmap(memory, (size_t)pages * page);
}

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void sleep_often(int rank) {
    const struct timespec pause = {0, 200000};
    dwell_block_begin("sleep");
    const long before = switches();
    for (int i = 0; i < 150; ++i) nanosleep(&pause, NULL);
    const long after = switches();
    dwell_block_end("sleep");
    fprintf(stderr, "told: rank %d switches %ld\n", rank, after - before);
}

__attribute__((noinline)) static void apart(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* @first */
    touch(2000);
    MPI_Barrier(MPI_COMM_WORLD); /* @second */
}

static void nested(int depth) {
    dwell_block_begin("nested");
    touch(100);
    if (depth > 1) nested(depth - 1);
    dwell_block_end("nested");
}

static void* in_thread(void* unused) {
    dwell_block_begin("thread");
    touch(1000);
    dwell_block_end("thread");
    return unused;
}

__attribute__((noinline)) static void leave(void) {
    dwell_block_begin("left");
    touch(700);
    longjmp(landing, 1);
}

static void all(int rank) {
    dwell_block_begin("touch");
    touch((rank + 1) * 3000L);
    dwell_block_end("touch");
    sleep_often(rank);
    apart();
    nested(3);
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 20000; ++i) {
        dwell_block_begin("short");
        dwell_block_end("short");
    }
}

__attribute__((noinline)) static void jump_out(void) {
    if (setjmp(landing) == 0) leave();
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    all(rank);
    for (int i = 0; strcmp(mode, "jump") == 0 && i < 10; ++i) jump_out();
    if (strcmp(mode, "pause") == 0) {
        MPI_Pcontrol(0);
        dwell_block_begin("paused");
        touch(5000);
        dwell_block_end("paused");
        MPI_Pcontrol(1);
    }
    if (strcmp(mode, "reset") == 0) {
        MPI_Pcontrol(2);
        all(rank);
    }
    if (strcmp(mode, "fork") == 0) {
        dwell_block_begin("child");
        const pid_t child = fork();
        if (child == 0) {
            touch(4000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        dwell_block_end("child");
    }
    if (strcmp(mode, "kill") == 0) {
        dwell_block_begin("open");
        touch(500);
        MPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    MPI_Finalize();
    return 0;
}
