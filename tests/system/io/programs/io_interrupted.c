/* I/O that is left, interrupted or cancelled: io_interrupted FOLDER.
 * A signal handler that writes while the program writes; a jump out of a read that blocks; a thread
 * cancelled in one. Comments as in io_forms.c, but "least" where a handler's writes may come while
 * dwell is at work, and only pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "io_interrupted.c:%d: %s: %s\n", __LINE__, #condition, \
                    strerror(errno));                                              \
            exit(9);                                                               \
        }                                                                          \
    } while (0)

enum { kWrites = 20000, kBlock = 4096 };
static int log_file;
static volatile sig_atomic_t signals;
static char block[kBlock];

static void on_timer(int number) {
    (void)number;
    const int saved = errno;
    if (write(log_file, "x", 1) == 1) ++signals; /* @handler */
    errno = saved;
}

static void writes_in_handler(const char* path) {
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {0};
    action.sa_handler = on_timer;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < kWrites; ++i) {
        errno = 0;
        const ssize_t put = pwrite(file, block, kBlock, 0); /* io: pwrite 20000 0 81920000 */
        CHECK(put == kBlock);
        CHECK(errno == 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(close(file) == 0);
    CHECK(lseek(log_file, 0, SEEK_END) == signals && signals > 0);
}

/* The slave end of a terminal of its own: a device, whose read blocks. */
static int open_blocking(int* master) {
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(*master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0);
    const int slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
    CHECK(slave >= 0);
    return slave;
}

static sigjmp_buf back;
static void on_alarm(int number) {
    (void)number;
    siglongjmp(back, 1);
}

static void jump_out(int slave, int file) {
    struct sigaction action = {0};
    const struct itimerval soon = {{0, 0}, {0, 50000}};
    action.sa_handler = on_alarm;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    if (sigsetjmp(back, 1) == 0) {
        setitimer(ITIMER_REAL, &soon, NULL);
        const ssize_t got = read(slave, block, 1);
        CHECK(got == -2); /* never gets here */
    }
    CHECK(write(file, block, 10) == 10); /* io: write 1 0 10 */
}

static int cleaned;
static int after_file;
static void clean_up(void* argument) {
    (void)argument;
    ++cleaned;
    CHECK(write(after_file, block, 10) == 10); /* io: write 1 0 10 */
}
static void* blocked_thread(void* slave) {
    MPI_Barrier(MPI_COMM_SELF);
    pthread_cleanup_push(clean_up, NULL);
    const ssize_t got = read(*(int*)slave, block, 1);
    CHECK(got == -2);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int argc, char** argv) {
    int provided, master;
    char path[4096];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    snprintf(path, sizeof(path), "%s/log", argv[1]);
    log_file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(log_file >= 0);
    snprintf(path, sizeof(path), "%s/data", argv[1]);
    writes_in_handler(path);
    after_file = open(path, O_WRONLY | O_TRUNC);
    int slave = open_blocking(&master);
    jump_out(slave, after_file);
    pthread_t thread;
    void* result = NULL;
    CHECK(pthread_create(&thread, NULL, blocked_thread, &slave) == 0);
    usleep(100000);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED && cleaned == 1);
    CHECK(write(after_file, block, 10) == 10); /* io: write 1 0 10 */
    MPI_Finalize();
    puts("done");
    return 0;
}
