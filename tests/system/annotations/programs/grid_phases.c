/* Phases with known times on a 2 x 2 grid, the second dimension periodic; 4 ranks, or 5.
 *
 *   grid_phases [same|mixed|twice|mpi]
 *
 * Rank r < 4 is at (r / 2, r % 2). A fifth rank is in no grid. Each rank: phase "setup" once,
 * without a number, 10 ms; phase "step" 10 times, numbered 5 to 14: ranks at (1,*) spin 8 ms, the
 * others 2 ms, then all meet in MPI_Barrier. So the ranks at (1,*) have 80 ms at least in steps,
 * and those at (0,*), when they are given a processor in time, as much, 60 ms of it blocked. Rank 0
 * has phase "output", too, twice, of 5 ms, numbered 100 and 200. With "mixed" rank 3 describes the
 * grid as 4 x 1, at (3,0); with "twice" rank 3 says that it is at (0,0). Of 4 ranks each is in a
 * grid "line", too, not periodic. With "mpi" nothing is described; MPI_Cart_create makes a 2 x 2
 * grid of the first four ranks, in the same order, and before that one for each half of the ranks,
 * which says nothing of their places. */
#include <mpi.h>
#include <string.h>

#include "dwell.h"

enum { FIRST = 5, STEPS = 10 };

static void spin(double seconds) {
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
    }
}

static void describe(int rank, int ranks, const char* how) {
    const int sizes[2] = {2, 2};
    const int periodic[2] = {0, 1};
    const int place[2] = {rank / 2, rank % 2};
    const int column[2] = {4, 1};
    const int at_end[2] = {3, 0};
    const int origin[2] = {0, 0};
    if (strcmp(how, "mpi") == 0) {
        MPI_Comm cart;
        if (ranks == 4) {
            MPI_Comm half;
            MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
            MPI_Cart_create(half, 1, sizes, periodic, 0, &cart);
            MPI_Comm_free(&cart);
            MPI_Comm_free(&half);
        }
        MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periodic, 0, &cart);
        if (cart != MPI_COMM_NULL) MPI_Comm_free(&cart);
        return;
    }
    if (rank == 3 && strcmp(how, "mixed") == 0) {
        dwell_grid("cart", 2, column, NULL, at_end);
    } else if (rank == 3 && strcmp(how, "twice") == 0) {
        dwell_grid("cart", 2, sizes, periodic, origin);
    } else if (rank < 4) {
        dwell_grid("cart", 2, sizes, periodic, place);
    }
    if (ranks == 4) dwell_grid("line", 1, &ranks, NULL, &rank);
}

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    dwell_phase_begin("setup", 0);
    describe(rank, ranks, argc > 1 ? argv[1] : "same");
    spin(0.010);
    for (int step = 0; step < STEPS; ++step) {
        dwell_phase_next("step", (uint64_t)(FIRST + step));
        spin(rank / 2 == 1 ? 0.008 : 0.002);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    dwell_phase_end();
    for (uint64_t output = 1; rank == 0 && output <= 2; ++output) {
        dwell_phase_begin("output", 100 * output);
        spin(0.005);
        dwell_phase_end();
    }
    MPI_Finalize();
    return 0;
}
