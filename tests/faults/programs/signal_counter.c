// Counts the signals that come and says on SIGUSR2 which, how often, and with which value, one line
// each; "stops" as argv[2] leaves the signals that stop a process alone, "parent" sends SIGUSR1 to
// the parent first. Writes its process number to argv[1] when it is ready; ends after 20 seconds
// with 9.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int count[65], value[65];
static void take(int number, siginfo_t* about, void* context) {
    (void)context;
    count[number]++;
    if (about->si_code == SI_QUEUE) value[number] += about->si_value.sival_int;
}

int main(int argc, char** argv) {
    const int stops = argc > 2 && !strcmp(argv[2], "stops");
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = take;
    sigfillset(&action.sa_mask);
    for (int i = 1; i < 65; i++) {
        if (stops && (i == SIGTSTP || i == SIGTTIN || i == SIGTTOU)) continue;
        sigaction(i, &action, NULL);
    }
    if (argc > 2 && !strcmp(argv[2], "parent")) {
        kill(getppid(), SIGUSR1);
        return 3;
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.new", argv[1]);
    FILE* file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    rename(name, argv[1]);
    for (int i = 0; i < 4000 && !count[SIGUSR2]; i++) usleep(5000);
    for (int i = 1; i < 65; i++) {
        if (count[i] && !stops) printf("%d: %d, %d\n", i, count[i], value[i]);
    }
    return count[SIGUSR2] ? 5 : 9;
}
