/* A program with probes and without MPI that computes for 0.3 s in a procedure and then ends as
 * told.
 *
 * usage: leaves return|_exit|kill */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNWATCHED __attribute__((no_instrument_function))

UNWATCHED static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}
void compute(void) {
    const double begin = now_s();
    while (now_s() - begin < 0.01) continue;
}
int main(int argc, char** argv) {
    for (int i = 0; i < 30; i++) compute();
    if (argc > 1 && strcmp(argv[1], "_exit") == 0) _exit(3);
    if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    return 3;
}
