// Writes its process number to argv[1] and waits; on SIGTERM, SIGINT, SIGUSR1 or SIGHUP it says
// which one and exits with 40 + its number, after 20 seconds with 9.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static void take(int number) { got = number; }

int main(int argc, char** argv) {
    const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
    for (int i = 0; i < 4; i++) signal(numbers[i], take);
    FILE* file = fopen(argv[argc - 1], "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    for (int i = 0; i < 2000 && !got; i++) usleep(10000);
    printf("signal %d\n", (int)got);
    return got ? 40 + got : 9;
}
