/* What event logs find hard: argv[1] says what, argv[2] how often.
 * forks: in each block "round" a child, which by turns ends or runs this program as "child".
 * threads: short threads, eight at a time, each with a marker "id" whose volume is its id.
 * comms: pairs of three ranks make communicators, send in each, and free them.
 * abort, kill: rank 1 ends so inside of two blocks, while rank 0 waits for it in two blocks.
 * clock: the time of day steps by an hour in each round, see clock_gettime(). */
#define _GNU_SOURCE
#include <dwell.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long steps;

/* The one that dwell and MPI call as well. */
int clock_gettime(clockid_t clock, struct timespec* now) {
    const int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += (steps % 2 == 0 ? -3600 : 3600) * steps;
    return code;
}

static void forks(const char* self, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        dwell_block_begin("round");
        dwell_mark("before", 1);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            int rank;
            dwell_block_begin("in child");
            dwell_mark("of child", 1);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            dwell_block_end("in child");
            if (round % 2 == 0) _exit(round);
            execl(self, self, "child", (char*)NULL);
            _exit(99);
        }
        int status = 0;
        waitpid(child, &status, 0);
        printf("child %d: %d\n", round, WEXITSTATUS(status));
        dwell_mark("after", 1);
        dwell_block_end("round");
    }
}

static int child(void) {
    dwell_block_begin("in new program");
    dwell_mark("of new program", 1);
    dwell_block_end("in new program");
    return 5;
}

static void* short_thread(void* nothing) {
    dwell_mark("id", (unsigned long)syscall(SYS_gettid));
    return nothing;
}

static void threads(int count) {
    enum { kAtOnce = 8 };
    pthread_t started[kAtOnce];
    for (int i = 0; i < count; i += kAtOnce) {
        for (int j = 0; j < kAtOnce; ++j) pthread_create(&started[j], NULL, short_thread, NULL);
        for (int j = 0; j < kAtOnce; ++j) pthread_join(started[j], NULL);
    }
}

static void message(int i, MPI_Comm comm) {
    int rank;
    char byte = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, i, comm);
    if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, i, comm, MPI_STATUS_IGNORE);
}

static void comms(int rank, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        MPI_Comm pair;
        MPI_Comm copy;
        MPI_Comm_split(MPI_COMM_WORLD, rank == i % 3 ? MPI_UNDEFINED : 0, -rank, &pair);
        if (pair == MPI_COMM_NULL) continue;
        message(2 * i, pair);
        MPI_Comm_dup(pair, &copy);
        MPI_Comm_free(&pair);
        message(2 * i + 1, copy);
        MPI_Comm_free(&copy);
    }
}

static void crash(int rank, int signal) {
    char byte = 0;
    dwell_block_begin("outer");
    dwell_block_begin("inner");
    if (rank == 0) {
        MPI_Send(&byte, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        raise(signal);
    }
}

static void stepping_clock(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        ++steps;
        dwell_block_begin("round");
        MPI_Barrier(MPI_COMM_SELF);
        dwell_block_end("round");
    }
}

int main(int argc, char** argv) {
    int rank;
    const int times = argc > 2 ? atoi(argv[2]) : 1;
    const char* what = argv[1];
    if (strcmp(what, "child") == 0) return child();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "forks") == 0) forks(argv[0], times);
    if (strcmp(what, "threads") == 0) threads(times);
    if (strcmp(what, "comms") == 0) comms(rank, times);
    if (strcmp(what, "abort") == 0) crash(rank, SIGABRT);
    if (strcmp(what, "kill") == 0) crash(rank, SIGKILL);
    if (strcmp(what, "clock") == 0) stepping_clock(times);
    MPI_Finalize();
    return 0;
}
