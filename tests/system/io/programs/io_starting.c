/* A signal handler that writes, 10,000 times a second, also while the program's first OpenMP
 * construct has the process observed. Ends with 0 when nothing was lost. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int g_log;
static int g_written = 0; /* by any thread, as each may get the signal */

static void note(int number) {
    (void)number;
    if (write(g_log, "s", 1) == 1)
        __atomic_fetch_add(&g_written, 1, __ATOMIC_RELAXED); /* @handler */
}

int main(int argc, char** argv) {
    char path[4096];
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}};
    struct itimerval never = {{0, 0}, {0, 0}};
    struct stat about;
    int sum = 0;
    snprintf(path, sizeof(path), "%s/starting", argc > 1 ? argv[1] : ".");
    g_log = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 100; ++i) {
#pragma omp parallel num_threads(2) reduction(+ : sum) /* @region */
        sum += 1;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return sum == 200 && fstat(g_log, &about) == 0 && about.st_size == g_written ? 0 : 1;
}
