// Where in the program a construct stands of which the OpenMP runtime tells, for ompt.cpp: what it
// gives is the address to which its function returns. That lies in the runtime's own code where the
// program called the function in place of a return (compilers do so where it is the last thing that
// the code of a region or task does), as for constructs of the runtime's own.
#ifndef DWELL_RUNTIME_OPENMP_OMPT_PLACES_H_
#define DWELL_RUNTIME_OPENMP_OMPT_PLACES_H_

#include <omp-tools.h>
#include <stdint.h>

#include "runtime/calls/callpath.h"

namespace dwell {

// Before the others of this file are called, when the runtime starts; find_own_code() alone for
// is_in_tool().
void find_places(ompt_function_lookup_t lookup);
void find_own_code();

inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
bool is_in_runtime(uint64_t at);
bool is_in_tool(uint64_t at);
// No place of the program's.
inline bool is_nowhere(uint64_t at) { return at == 0 || is_in_runtime(at); }
// `at`, or where that is none of the program's the place of the task or region whose code it is.
uint64_t address_in_code(uint64_t at);

// Where the program called the function of the runtime's that called another one, which was told as
// called from `at`: __kmpc_cancel_barrier() calls the barrier. 0 where that is not found.
uint64_t caller_around_runtime(uint64_t at);

// `codeptr`, or where that is null what is found on the stack: the place from which the code of a
// region or task called the runtime, else 0. For events that always have a place: the end of a
// critical section takes that of what libomp's thread 0 begins at the same time (14 to 19,
// kmp_csupport.cpp, __kmpc_end_critical loads it from there). Slow for null.
uint64_t told_place(const void* codeptr);

// Where the code begins that the runtime called for the task that this thread executes; 0 where it
// has left that code, or not come to it.
uint64_t code_frame();
// What is kept with that task; null where that is not known.
ompt_data_t* current_task();

// The frame of the runtime's function that the program called, on the stack of the caller of this.
// Runtimes that have no frame pointer there, or give another address, are found out by what it
// holds (omp_fork).
const Frame* caller_of(const ompt_frame_t* frame);

// As address_of_code() (gomp.h), of a region that was forked with the return address `at` in place
// of a return by a function that the C library called, as at the end of the process or in qsort():
// what is on the path lies in the library, and is no place of the program's. 0 for others, and
// where the code is not known. `caller` as from caller_of().
uint64_t code_in_c_library(uint64_t at, const Frame* caller);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMPT_PLACES_H_
