/* A program that tells dwell what it does: phases, blocks, markers with volume and a grid of ranks.
 *
 *   phases [STEPS [MILLISECONDS]]      default 20 5
 *
 * Each rank: phase "setup" once; phase "step" STEPS times, in each the block "relax" for
 * MILLISECONDS, with a volume of CELLS = 1000, and the block "exchange" with one MPI_Sendrecv; in
 * every fifth step the marker "output" with a volume of 8 CELLS. So "relax" takes STEPS *
 * MILLISECONDS with STEPS entries and a volume of 1000 STEPS, "output" counts STEPS / 5 (rounded
 * up). With the defaults: 100 ms, 20 entries, 20000; 4 markers, 32000.
 *
 * Compile with the directory of dwell.h in the include path; nothing else is needed, and without
 * dwell the program runs as if nothing of this were there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "dwell.h"

enum { CELLS = 1000 };

static double g_cells[CELLS];

static void relax(double seconds) {
    DWELL_SCOPE("relax");
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
        for (int i = 1; i + 1 < CELLS; ++i) g_cells[i] = 0.5 * (g_cells[i - 1] + g_cells[i + 1]);
    }
    dwell_block_volume(CELLS);
}

static void exchange(MPI_Comm ring) {
    int below = 0;
    int above = 0;
    DWELL_BLOCK_BEGIN("exchange");
    MPI_Cart_shift(ring, 0, 1, &below, &above);
    MPI_Sendrecv(&g_cells[CELLS - 2], 1, MPI_DOUBLE, above, 0, &g_cells[0], 1, MPI_DOUBLE, below, 0,
                 ring, MPI_STATUS_IGNORE);
    DWELL_BLOCK_END("exchange");
}

int main(int argc, char** argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 20;
    const double milliseconds = argc > 2 ? atof(argv[2]) : 5.0;
    MPI_Init(&argc, &argv);

    dwell_phase_begin("setup", 0);
    int ranks = 0;
    int place = 0;
    const int periodic = 1;
    MPI_Comm ring;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
    MPI_Comm_rank(ring, &place);
    dwell_grid("ring", 1, &ranks, &periodic, &place);

    for (int step = 0; step < steps; ++step) {
        dwell_phase_next("step", (uint64_t)step);
        relax(milliseconds * 1e-3);
        exchange(ring);
        if (step % 5 == 0) DWELL_MARK("output", 8 * CELLS);
    }
    dwell_phase_end();

    if (place == 0) printf("%d steps\n", steps);
    MPI_Finalize();
    return 0;
}
