// Two ranks: 10 calls of step, 5 ms each, and a message; then rank 0 is killed inside of stuck, 100
// ms after it was entered, while rank 1 waits for it.
#include <mpi.h>
#include <signal.h>

#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

int times = 10;

PROCEDURE step(int partner) {
    int in = 0, out = 1;
    spin_ms(5);
    MPI_Sendrecv(&out, 1, MPI_INT, partner, 0, &in, 1, MPI_INT, partner, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    keep();
}

PROCEDURE stuck(int rank) {
    spin_ms(100);
    if (rank == 0) raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    keep();
}

int main(void) {
    begin_all();
    const int rank = world_rank();
    for (int i = 0; i < times; i++) step(1 - rank);  // steps
    stuck(rank);
    end_all();
    return 0;
}
