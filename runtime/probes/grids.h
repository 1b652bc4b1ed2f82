// Grids of processes, described by the program (dwell.h) or made by MPI_Cart_create.
#ifndef DWELL_RUNTIME_PROBES_GRIDS_H_
#define DWELL_RUNTIME_PROBES_GRIDS_H_

#include <mpi.h>

#include "runtime/probes/blocks.h"

namespace dwell {

// Records a grid and this process's coordinates; replaces a grid of the same name. `periodic` may
// be null; `flags` is 0 or kGridByMpi. False for invalid sizes or coordinates.
bool describe_grid(GivenName name, uint32_t flags, int dimensions, const int* sizes,
                   const int* periodic, const int* coordinates);

// After an MPI_Cart_create: asks the communicator, a local operation. Grids of half of the ranks or
// fewer are left out: there may be many of one shape, and coordinates then say little of a rank.
void record_cart_grid(MPI_Comm comm);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_GRIDS_H_
