// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, the one set last first
// (MPI-3.1 8.7.1), and what their delete functions do, as of PETSc, is the program's. An attribute
// of dwell's own, set right after MPI_Init, is deleted last, while MPI works still.
//
// The program sees nothing of it: its key is given back at once, and has a number that the program
// would not be given before it has hundreds of its own.
#ifndef DWELL_RUNTIME_LIFECYCLE_END_ATTRIBUTE_H_
#define DWELL_RUNTIME_LIFECYCLE_END_ATTRIBUTE_H_

#include <stdint.h>

namespace dwell {

// `at_end` will be called inside MPI_Finalize, when the program's own functions have been. False
// when it will not.
bool call_inside_finalize(void (*at_end)());

// A delete function of the program has returned an error inside MPI_Finalize, for the communicator
// with this handle: MPI deletes no further attribute of it, so the end is now.
void note_failed_deletion(uintptr_t comm);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_END_ATTRIBUTE_H_
