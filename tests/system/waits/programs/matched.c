/* Matched probes, 20 times each; argv[1].RANK gets the rank's time stamps, before what waits or is
   waited for.
   Rank 1 finds three messages of rank 0, each 2 ms after the one before, then receives them from
   the last to the first. Of two large ones that it has found it receives the second 3 ms late, and
   the first, by a request, 3 ms after that: rank 0 waits for each. Of what it finds then it has too
   little room for the first message, and rank 0 is 2 ms late with the next one. At last two
   messages that rank 1 sends itself, and one of nobody. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kTimes = 20, kLarge = 1 << 14 };
static double data[2][kLarge];
static FILE* told;

static void stamp(const char* name) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(told, "%s %lld\n", name, now.tv_sec * 1000000000LL + now.tv_nsec);
}

static void rest_ms(int ms) {
    const struct timespec time = {0, ms * 1000000L};
    nanosleep(&time, NULL);
}

static void expect(int right) {
    if (!right) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void send_after_rest(double value, const char* name) {
    rest_ms(2);
    stamp(name);
    MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
}

static void several(int rank) {
    MPI_Message found[3];
    MPI_Status status;
    if (rank == 0) {
        const char* const names[] = {"first", "second", "third"};
        for (int k = 0; k < 3; ++k) send_after_rest(k, names[k]);
        return;
    }
    stamp("first");
    MPI_Mprobe(0, 1, MPI_COMM_WORLD, &found[0], MPI_STATUS_IGNORE);  // @first
    stamp("second");
    MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &found[1], &status);  // @second
    stamp("third");
    MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found[2], &status);  // @third
    for (int k = 2; k >= 0; --k) {
        MPI_Mrecv(data, 1, MPI_DOUBLE, &found[k], &status);  // @received
        expect(data[0][0] == k && status.MPI_SOURCE == 0 && found[k] == MPI_MESSAGE_NULL);
    }
}

static void large(int rank) {
    MPI_Request requests[2];
    MPI_Message found[2];
    if (rank == 0) {
        for (int k = 0; k < 2; ++k) {
            MPI_Isend(data[k], kLarge, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &requests[k]);
        }
        stamp("late_second");
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);  // @late_second
        stamp("late_first");
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);  // @late_first
        return;
    }
    for (int k = 0; k < 2; ++k) {
        MPI_Mprobe(0, 2, MPI_COMM_WORLD, &found[k], MPI_STATUS_IGNORE);
    }
    rest_ms(3);
    stamp("late_second");
    MPI_Mrecv(data[1], kLarge, MPI_DOUBLE, &found[1], MPI_STATUS_IGNORE);
    rest_ms(3);
    stamp("late_first");
    MPI_Imrecv(data[0], kLarge, MPI_DOUBLE, &found[0], &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void too_long(int rank) {
    MPI_Message found;
    MPI_Status status;
    int flag = 0;
    if (rank == 0) {
        MPI_Send(data, 4, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
        send_after_rest(7, "after");
        return;
    }
    while (!flag) MPI_Improbe(0, 3, MPI_COMM_WORLD, &flag, &found, &status);
    expect(MPI_Mrecv(data, 1, MPI_DOUBLE, &found, &status) != MPI_SUCCESS);
    stamp("after");
    MPI_Recv(data, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &status);  // @after
    expect(data[0][0] == 7);
}

static void own(int rank) {
    MPI_Message found[2];
    MPI_Status status;
    if (rank == 0) return;
    for (int k = 0; k < 2; ++k) MPI_Send(&rank, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    for (int k = 0; k < 2; ++k) MPI_Mprobe(1, 4, MPI_COMM_WORLD, &found[k], &status);
    for (int k = 0; k < 2; ++k) MPI_Mrecv(&rank, 1, MPI_INT, &found[k], &status);
    expect(rank == 1);
    MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &found[0], &status);
    expect(found[0] == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&rank, 1, MPI_INT, &found[0], &status);
    expect(status.MPI_SOURCE == MPI_PROC_NULL);
}

int main(int argc, char** argv) {
    int rank;
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
    told = fopen(path, "w");
    expect(told != NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    void (*const parts[])(int) = {several, large, too_long, own};
    for (int i = 0; i < 4 * kTimes; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        parts[i / kTimes](rank);
    }
    fclose(told);
    MPI_Finalize();
    return 0;
}
