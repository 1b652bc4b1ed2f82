// A library whose call sites must be one row for all ranks, wherever it is loaded.
#include <mpi.h>

void lib_send(int to) {
    int in, out = 1;
    MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, to, 0, MPI_COMM_WORLD,  // @lib
                 MPI_STATUS_IGNORE);
}
