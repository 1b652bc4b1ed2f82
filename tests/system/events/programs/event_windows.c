// Windows of known size. Each of 10 steps on 2 ranks:
//   phase "step": a message of 8 bytes with the step as its tag from rank 0 to rank 1, block "sum"
//   with an allreduce; behind it a barrier outside of the phase.
#include <mpi.h>

#include "dwell.h"

int main(int argc, char** argv) {
    int rank;
    double mine = 1, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 10; ++step) {
        dwell_phase_begin("step", step);
        if (rank == 0) MPI_Send(&mine, 1, MPI_DOUBLE, 1, step, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&mine, 1, MPI_DOUBLE, 0, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        dwell_block_begin("sum");
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        dwell_block_end("sum");
        dwell_phase_end();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
