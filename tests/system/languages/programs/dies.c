// Two ranks: 10 calls of step, 5 ms each, with a message; then rank 0 is killed inside of end,
// which outer called 60 ms after it was entered: outer, inner, outer again, 20 ms each. Rank 1
// waits.
#include <mpi.h>
#include <signal.h>

#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

PROCEDURE outer(int n, int rank);
int times = 10;

PROCEDURE step(int partner) {
    int in = 0, out = 1;
    spin_ms(5);
    MPI_Sendrecv(&out, 1, MPI_INT, partner, 0, &in, 1, MPI_INT, partner, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    keep();
}

PROCEDURE end(int rank) {
    keep();
    MPI_Barrier(MPI_COMM_WORLD);  // both are here
    if (rank == 0) raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

PROCEDURE inner(int n, int rank) {
    spin_ms(20);
    outer(n - 1, rank);
    keep();
}

PROCEDURE outer(int n, int rank) {
    spin_ms(20);
    if (n > 0) {
        inner(n - 1, rank);
    } else {
        end(rank);
    }
    keep();
}

int main(void) {
    begin_all();
    const int rank = world_rank();
    for (int i = 0; i < times; i++) step(1 - rank);
    outer(2, rank);
    end_all();
    return 0;
}
