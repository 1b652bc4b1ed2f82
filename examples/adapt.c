/* A program that divides its work by what dwell knows: dwell_query() says how long each rank has
 * computed, and the next steps give each rank work by its speed.
 *
 *   adapt [STEPS]      default 20
 *
 * 250 units of work for each rank, in all STEPS steps; a unit takes 40 microseconds on rank 0 and
 * 10 on the others, as on processors of different speed. With two ranks and equal parts a step
 * takes 10 ms, and rank 1 waits for 7.5 ms of them. After every fifth step each rank asks how long
 * the block "relax" has taken since it asked last, and its speed is its units in that time: 25
 * units a ms for rank 0, 100 for rank 1. So rank 0 gets 1/5 of 500 units and rank 1 gets 4/5,
 * "units: 100 400", a step takes 4 ms, and nobody waits. The times are virtual: dwell's own cost
 * moves no work.
 *
 * Without dwell nothing is known, and the parts stay equal: "units: 250 250". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "dwell.h"

enum { UNITS = 250, SLOW_US = 40, FAST_US = 10, ASK_EVERY = 5 };

static void relax(int units, int microseconds) {
    DWELL_SCOPE("relax");
    const double end = MPI_Wtime() + 1e-6 * units * microseconds;
    while (MPI_Wtime() < end) {
    }
}

/* Units a millisecond since the last call; 0: not known. */
static double speed_of(int units) {
    static uint64_t before_ns = 0;
    struct dwell_figures relaxed;
    if (!dwell_query("relax", &relaxed)) return 0;
    const uint64_t took_ns = relaxed.inclusive_ns - before_ns;
    before_ns = relaxed.inclusive_ns;
    return took_ns != 0 ? 1e6 * units / (double)took_ns : 0;
}

/* This rank's part of the work of all, by speed; its part so far where a speed is not known. */
static int part_by_speed(double speed, int rank, int ranks, int part) {
    double* speeds = malloc(sizeof(double) * (size_t)ranks);
    MPI_Allgather(&speed, 1, MPI_DOUBLE, speeds, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    double sum = 0;
    double below = 0;
    for (int i = 0; i < ranks; ++i) {
        if (speeds[i] <= 0) sum = -1;
        if (sum < 0) break;
        if (i < rank) below += speeds[i];
        sum += speeds[i];
    }
    if (sum > 0) {
        /* Rounded at the borders between ranks, so that the parts are all of the work. */
        const double all = (double)UNITS * ranks;
        part = (int)(all * (below + speed) / sum + 0.5) - (int)(all * below / sum + 0.5);
    }
    free(speeds);
    return part;
}

int main(int argc, char** argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 20;
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    int units = UNITS;
    int done = 0;
    for (int step = 1; step <= steps; ++step) {
        relax(units, rank == 0 ? SLOW_US : FAST_US);
        done += units;
        MPI_Barrier(MPI_COMM_WORLD);
        if (step % ASK_EVERY != 0) continue;
        units = part_by_speed(speed_of(done), rank, ranks, units);
        done = 0;
    }

    int* parts = malloc(sizeof(int) * (size_t)ranks);
    MPI_Gather(&units, 1, MPI_INT, parts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("units:");
        for (int i = 0; i < ranks; ++i) printf(" %d", parts[i]);
        printf("\n");
    }
    free(parts);
    MPI_Finalize();
    return 0;
}
