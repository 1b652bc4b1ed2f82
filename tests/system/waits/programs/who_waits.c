// Who waits for whom: 2 ranks, N rounds. Rank 0 works WORK before its send (rank 1 waits for it, a
// late sender); then rank 1 works twice as long before it receives what rank 0 sends synchronously
// (a late receiver). Before all that rank 0 has much to do, once.
//
// Both ranks read one clock. Each writes to argv[1].RANK, for its own two waiting lines, the time
// that it waited: from its call to the moment at which the other one began its own.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { N = 100 };
static const double kWork_s = 0.002;
static int rank;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static void work(double seconds) {
    const double until = now() + seconds;
    while (now() < until) continue;
}

static double swap(double mine) {  // what the other one wrote down, outside the measured lines
    double other = 0;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, 1 - rank, 9, &other, 1, MPI_DOUBLE, 1 - rank, 9,  // @swap
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return other;
}

static double later(double mine, double other) { return other > mine ? other - mine : 0; }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) work(0.3);  // seen in the first swap, and never again
    swap(0);                   // @first
    double data = 0, late_sender = 0, late_receiver = 0;
    for (int i = 0; i < N; i++) {
        double begun;
        if (rank == 0) {
            work(kWork_s);
            begun = now();
            MPI_Send(&data, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);  // @send
        } else {
            begun = now();
            MPI_Recv(&data, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv
        }
        const double other = swap(begun);
        if (rank == 1) late_sender += later(begun, other);
        if (rank == 0) {
            begun = now();
            MPI_Ssend(&data, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);  // @ssend
        } else {
            work(2 * kWork_s);
            begun = now();
            MPI_Recv(&data, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @late_recv
        }
        const double receiver = swap(begun);
        if (rank == 0) late_receiver += later(begun, receiver);
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    FILE* file = fopen(name, "w");
    if (file != NULL) {
        fprintf(file, "%.9f\n", rank == 0 ? late_receiver : late_sender);
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
