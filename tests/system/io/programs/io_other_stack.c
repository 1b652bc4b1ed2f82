/* A signal handler with a stack of its own, whose write lets a read that it interrupts go on. In
 * all two reads and two writes of a device: all are recorded, or not recorded and counted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "dwell.h"

static int master;
static int wrong = 0;

static void put_line(int number) {
    (void)number;
    wrong |= write(master, "x\n", 2) != 2; /* @write */
}

/* Below the handler's stack: what that does is not inside of what stands here. */
__attribute__((noinline)) static void read_lines(void) {
    const struct itimerval soon = {{0, 0}, {0, 50000}};
    char line[8];
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    put_line(0);
    wrong |= slave < 0 || read(slave, line, sizeof(line)) != 2; /* @first */
    setitimer(ITIMER_REAL, &soon, NULL);
    wrong |= read(slave, line, sizeof(line)) != 2; /* @interrupted */
}

int main(void) {
    char stack[64 * 1024];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {0};
    dwell_block_begin("first");
    dwell_block_end("first");
    action.sa_handler = put_line;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    if (sigaltstack(&other, NULL) != 0 || sigaction(SIGALRM, &action, NULL) != 0) return 2;
    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return 2;
    read_lines();
    return wrong;
}
