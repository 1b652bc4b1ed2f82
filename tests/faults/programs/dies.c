// Dies in the way that argv[1] names; argv[2] is the beginning of a file name. Each rank r makes
// 50 + 10 r messages to itself and one barrier, writes the number of finished calls to
// argv[2].<r>, and waits for a second barrier's worth of files; then rank 1 (rank 0 when alone), or
// every rank, ends, its last calls being 777 unsuccessful polls. A right recovery shows every one
// of these calls. "init" instead: rank 0 is killed inside MPI_Init, where it waits for the others.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(const char* how) {
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "sigabrt")) abort();
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "term")) kill(getpid(), SIGTERM);
    if (!strcmp(how, "_exit")) _exit(5);
    if (!strcmp(how, "exit")) exit(5);
}

static void die_in_init(void) {
    if (atoi(getenv("OMPI_COMM_WORLD_RANK")) != 0) {
        sleep(20);
    } else if (fork() == 0) {
        usleep(500000);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
}

int main(int argc, char** argv) {
    int rank, size, in = 0, messages = 0;
    if (argc < 3) return 9;
    if (!strcmp(argv[1], "init")) die_in_init();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 50 + 10 * rank; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF,  // @message
                     MPI_STATUS_IGNORE);
        messages++;
    }
    MPI_Barrier(MPI_COMM_WORLD);  // @barrier
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[2], rank);
    FILE* file = fopen(name, "w");
    fprintf(file, "%d\n", messages);
    fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);  // @last
    const int all = argc > 3 && !strcmp(argv[3], "all");
    if (all || rank == (size > 1)) {
        for (int i = 0; i < 777; i++) {
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &in, MPI_STATUS_IGNORE);  // @poll
        }
        usleep(100000);  // the others leave the barrier
        end(argv[1]);
    }
    sleep(20);
    return 0;
}
