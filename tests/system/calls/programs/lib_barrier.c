// A library that is loaded under many names.
#include <mpi.h>

void lib_barrier(void) {
    MPI_Barrier(MPI_COMM_SELF);  // @barrier
}
