/* Now the one and now the other rank computes and is late, and those who depend on it wait for that
 * one: nobody waits because anybody had to wait before. Of each operation and each rank that was
 * late, rank 0 writes into FILE how long the others waited for it, by stamps that all take around
 * it: from when they came until the late one did, or until they left.
 *
 * usage: mpirun -n 2|3 dwell run late_in_turn FILE */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kRounds = 30, kMostRanks = 3 };
static int rank, size, count;
static struct Stamp {
    double came, left;
} stamps[kRounds * kMostRanks], late_ones[kRounds * kMostRanks];

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Who computes sleeps, so that the others have the processors. */
static void come(int late) {
    const struct timespec time = {0, (3 + late) * 1000000L};
    if (rank == late) nanosleep(&time, NULL);
    stamps[count].came = now_s();
}
static void leave(void) { stamps[count++].left = now_s(); }

/* Each was late in turn. */
static void tell(FILE* file, const char* name) {
    for (int late = 0; late < size; late++) {
        double waited = 0, sum = 0;
        if (rank == late)
            for (int k = 0; k < count; k++) late_ones[k] = stamps[k];
        MPI_Bcast(late_ones, sizeof(late_ones), MPI_BYTE, late, MPI_COMM_WORLD);
        for (int k = late; k < count; k += size) {
            const struct Stamp own = stamps[k];
            const double until = late_ones[k].came < own.left ? late_ones[k].came : own.left;
            if (until > own.came) waited += until - own.came;
        }
        MPI_Reduce(&waited, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) fprintf(file, "%s %d %.9f\n", name, late, sum);
    }
    count = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void for_all(FILE* file) {
    int x = 0;
    for (int k = 0; k < kRounds * size; k++) {
        come(k % size), MPI_Bcast(&x, 1, MPI_INT, k % size, MPI_COMM_WORLD), leave(); /* @bcast */
    }
    tell(file, "bcast");
    for (int k = 0; k < kRounds * size; k++) {
        MPI_Request request;
        come(k % size);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE), leave(); /* @ibarrier */
    }
    tell(file, "ibarrier");
    for (int k = 0; k < kRounds * size; k++) {
        come(k % size);
        if (rank == k % size) {
            for (int to = 0; to < size; to++)
                if (to != rank) MPI_Send(&x, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&x, 1, MPI_INT, k % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @recv */
        }
        leave();
    }
    tell(file, "recv");
}

static void for_two(FILE* file) {
    int x = 0, sum = 0;
    MPI_Win window;
    MPI_Group world, other;
    const int partner = 1 - rank;
    for (int k = 0; k < kRounds * 2; k++) {
        come(k % 2);
        MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 1 - k % 2, MPI_COMM_WORLD), leave(); /* @reduce */
    }
    tell(file, "reduce");
    for (int k = 0; k < kRounds * 2; k++) {
        come(k % 2);
        if (k % 2 == 0) {
            MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD); /* @root_bcast */
        } else {
            MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* @root_reduce */
        }
        leave();
    }
    tell(file, "root");
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &partner, &other);
    MPI_Win_create(&sum, sizeof(sum), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int k = 0; k < kRounds * 2; k++) {
        come(k % 2);
        if (rank == k % 2) {
            MPI_Win_post(other, 0, window), leave();
            MPI_Win_wait(window);
        } else {
            MPI_Win_start(other, 0, window), MPI_Win_complete(window), leave(); /* @exposed */
        }
    }
    tell(file, "exposed");
    MPI_Win_free(&window);
    MPI_Group_free(&other);
    MPI_Group_free(&world);
}

int main(int argc, char** argv) {
    FILE* file = NULL;
    if (argc != 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) file = fopen(argv[1], "w");
    MPI_Barrier(MPI_COMM_WORLD);
    for_all(file);
    if (size == 2) for_two(file);
    if (rank == 0) fclose(file);
    MPI_Finalize();
    return 0;
}
