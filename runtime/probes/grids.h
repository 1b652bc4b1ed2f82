// Grids of processes, as the program describes them (dwell.h) or MPI_Cart_create makes them.
#ifndef DWELL_RUNTIME_PROBES_GRIDS_H_
#define DWELL_RUNTIME_PROBES_GRIDS_H_

#include <mpi.h>

#include "runtime/probes/blocks.h"

namespace dwell {

// Records a grid and this process's place in it; one of the same name is replaced. `periodic` may
// be null; `flags` is 0 or kGridByMpi. False when that is no grid.
bool describe_grid(GivenName name, uint32_t flags, int dimensions, const int* sizes,
                   const int* periodic, const int* coordinates);

// After an MPI_Cart_create: asks the communicator, which is local to the process. Those of half of
// the ranks or fewer are left out: such grids may be many of one shape, so that a place in them
// says little of the rank.
void meet_grid(MPI_Comm comm);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_GRIDS_H_
