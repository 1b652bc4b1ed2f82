// Runs the end of observation inside MPI_Finalize. MPI_Finalize deletes the attributes of
// MPI_COMM_SELF first, in reverse order of setting (MPI-3.1 8.7.1), and the program's delete
// functions, as of PETSc, are part of the program. So an attribute of dwell's, set right after
// MPI_Init, is deleted last, while MPI still works.
//
// The program does not notice: the key is freed at once, and its number is one that the program
// would only get after hundreds of keys.
#ifndef DWELL_RUNTIME_LIFECYCLE_END_ATTRIBUTE_H_
#define DWELL_RUNTIME_LIFECYCLE_END_ATTRIBUTE_H_

#include <stdint.h>

namespace dwell {

// `at_end` will be called inside MPI_Finalize, after the program's own delete functions. False: it
// will not.
bool call_inside_finalize(void (*at_end)());

// A delete function of the program has returned an error inside MPI_Finalize for the communicator
// with this handle: MPI deletes no further attributes of it, so `at_end` is called now.
void note_failed_deletion(uintptr_t comm);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_END_ATTRIBUTE_H_
