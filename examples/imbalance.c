/* Unequal work before a barrier.
 *
 *   imbalance [ROUNDS [MILLISECONDS]]      default 10 20
 *
 * Rank r computes (r + 1) * MILLISECONDS, then all meet at MPI_Barrier, ROUNDS times. A round lasts
 * as long as its slowest rank, P * MILLISECONDS, so rank r waits (P - r - 1) * MILLISECONDS in each
 * barrier. Four ranks with the defaults and a processor each: computation 200, 400, 600, 800 ms,
 * waiting 600, 400, 200, 0 ms, 800 ms in all; load balance (mean over maximum) 500 / 800 = 0.625.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void compute_for(double seconds) {
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rounds = argc > 1 ? atoi(argv[1]) : 10;
    const double milliseconds = argc > 2 ? atof(argv[2]) : 20.0;
    for (int round = 0; round < rounds; ++round) {
        compute_for((rank + 1) * milliseconds * 1e-3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%d rounds\n", rounds);
    MPI_Finalize();
    return 0;
}
