// Stops making progress, or seems to: hung HOW PREFIX. Each rank leaves its process number, the
// time at its start and the time before it hangs (CLOCK_REALTIME, seconds) in PREFIX.<rank>.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void leave_word(const char* prefix, int rank, double born) {
    char name[4096], done[4096];
    snprintf(name, sizeof name, "%s.%d.new", prefix, rank);
    snprintf(done, sizeof done, "%s.%d", prefix, rank);
    FILE* file = fopen(name, "w");
    fprintf(file, "%d %.9f %.9f\n", (int)getpid(), born, now());
    fclose(file);
    rename(name, done);
}

static void compute_until(double end) {
    static volatile double sink;
    while (now() < end) {
        for (int i = 0; i < 1000; i++) sink += i;
    }
}

int main(int argc, char** argv) {
    const double born = now();
    const char* how = argc > 2 ? argv[1] : "";
    const char* prefix = argc > 2 ? argv[2] : "hung";
    int rank, value = 0, sum = 0, found = 0;
    MPI_Request request;
    if (strcmp(how, "ignore") == 0) signal(SIGTERM, SIG_IGN);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) MPI_Barrier(MPI_COMM_WORLD);  //@barrier
    if (strcmp(how, "late") == 0 && rank == 0) sleep(1);
    leave_word(prefix, rank, born);
    if (strcmp(how, "recv") == 0 || strcmp(how, "late") == 0 || strcmp(how, "ignore") == 0) {
        if (rank == 2 || strcmp(how, "ignore") == 0) {
            MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  //@recv
        }
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  //@allreduce
    }
    if (strcmp(how, "compute") == 0 && rank == 0) compute_until(now() + 5);
    if (strcmp(how, "long") == 0 && rank == 0) compute_until(now() + 600);
    if (strcmp(how, "polls") == 0 && rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
        for (const double end = now() + 5; now() < end && !found;) {
            MPI_Test(&request, &found, MPI_STATUS_IGNORE);  //@test
        }
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(how, "loop") == 0) {
        for (int going = 1; going;) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) going = access(prefix, F_OK) != 0;
            MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
            usleep(1000);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);  //@last
    MPI_Finalize();
    return 0;
}
