// Programs with one planted fault each: the rank argv[3] computes longer than the others, always in
// the procedure at the line @fault.
#include "planted.h"

enum { kSteps = 20, kTasks = 12 };

static NOINLINE void relax(void) {
    WORK(rank == slow ? 0.03 : 0.01);  // @fault halo
}

static NOINLINE void exchange_halo(void) {
    static double edge[2][100];
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(edge[0], 100, MPI_DOUBLE, up, 1, edge[1], 100, MPI_DOUBLE, down, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(edge[0], 100, MPI_DOUBLE, down, 2, edge[1], 100, MPI_DOUBLE, up, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static NOINLINE void halo(void) {
    for (int step = 0; step < kSteps; step++) {
        relax();
        exchange_halo();
    }
}

static NOINLINE void transform_lines(void) {
    WORK(rank == slow ? 0.035 : 0.012);  // @fault spectral
}

static NOINLINE void transpose(void) {
    static double lines[2][6400];
    MPI_Alltoall(lines[0], 6400 / ranks, MPI_DOUBLE, lines[1], 6400 / ranks, MPI_DOUBLE,
                 MPI_COMM_WORLD);
}

static NOINLINE void spectral(void) {
    for (int step = 0; step < kSteps; step++) {
        transform_lines();
        transpose();
    }
}

static NOINLINE void solve(double seconds) {
    WORK(seconds);  // @fault farm
}

// The slow rank, a worker, gets one task that is much longer, last.
static NOINLINE void hand_out(void) {
    int left = ranks - 1;
    for (int asked = 0; left > 0; asked++) {
        double task;
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        const int is_slow = status.MPI_SOURCE == slow;
        const int last = asked >= kTasks && (!is_slow || left == 1);
        task = !last ? 0.01 : is_slow ? 0.6 : 0;
        left -= last;
        MPI_Send(&task, 1, MPI_DOUBLE, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
}

static NOINLINE void work_off(void) {
    for (double task = 0;;) {
        MPI_Send(&task, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task == 0) return;
        solve(task);
        if (task > 0.5) return;
    }
}

static NOINLINE void farm(void) {
    if (rank == 0) {
        hand_out();
    } else {
        work_off();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static NOINLINE void write_state(void) {
    WORK(0.2);  // @fault checkpoint
}

static NOINLINE void sum_up(void) {
    double sum = rank, all;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static NOINLINE void checkpoint(void) {
    for (int step = 0; step < 4; step++) {
        if (rank == slow) write_state();
        sum_up();
    }
}

static NOINLINE void smooth(void) { WORK(0.03); }

static NOINLINE void repair(void) {
    WORK(0.02);  // @fault uneven
}

// The slow rank, too, is longer in smooth, but as long as all are.
static NOINLINE void uneven(void) {
    for (int step = 0; step < kSteps; step++) {
        smooth();
        if (rank == slow) repair();
        sum_up();
    }
}

static void run(const char* shape) {
    if (strcmp(shape, "halo") == 0) halo();
    if (strcmp(shape, "spectral") == 0) spectral();
    if (strcmp(shape, "farm") == 0) farm();
    if (strcmp(shape, "checkpoint") == 0) checkpoint();
    if (strcmp(shape, "uneven") == 0) uneven();
}

int main(int argc, char** argv) {
    if (!begin(&argc, argv)) return 2;
    run(argv[1]);
    end();
    return 0;
}
