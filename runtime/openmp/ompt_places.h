// The place in the program of an OpenMP construct, for ompt.cpp. The runtime reports the return
// address of its own function. That lies in the runtime where the program made a tail call, as
// compilers do at the end of a region's or task's code, and for constructs of the runtime itself.
#ifndef DWELL_RUNTIME_OPENMP_OMPT_PLACES_H_
#define DWELL_RUNTIME_OPENMP_OMPT_PLACES_H_

#include <omp-tools.h>
#include <stdint.h>

#include "runtime/calls/callpath.h"

namespace dwell {

// Must be called before the other functions, when the runtime starts; for is_in_tool()
// find_own_code() suffices.
void find_places(ompt_function_lookup_t lookup);
void find_own_code();

inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
bool is_in_runtime(uint64_t at);
bool is_in_tool(uint64_t at);
// True for an address that is not in the program.
inline bool is_nowhere(uint64_t at) { return at == 0 || is_in_runtime(at); }
// `at`, or where that is not in the program the address of the task's or region's code.
uint64_t address_in_code(uint64_t at);

// Where the program called the runtime's function that called the one reported at `at`:
// __kmpc_cancel_barrier() calls the barrier. 0 where that is not found.
uint64_t caller_around_runtime(uint64_t at);

// `codeptr`, or if that is null the address, found on the stack, from which a region's or task's
// code called the runtime, else 0. For events that always have an address: libomp's end of a
// critical section reads that of what its thread 0 begins at the same time, and clears it (14 to
// 19, kmp_csupport.cpp, __kmpc_end_critical). Slow for null.
uint64_t reported_place(const void* codeptr);

// Stack address at which the code of the current task begins; 0 where the thread has left that code
// or not reached it.
uint64_t code_frame();
// The data stored with the current task; null where unknown.
ompt_data_t* current_task();

// The frame of the runtime's function that the program called, on the caller's stack. omp_fork()
// checks its content, because some runtimes have no frame pointer there, or report another address.
const Frame* caller_of(const ompt_frame_t* frame);

// As address_of_code() (gomp.h), for a region that was forked by a tail call (return address `at`)
// of a function that the C library called, as at the end of the process or in qsort(): the path
// leads into the library, which is no place of the program. 0 for other regions, and where the code
// is unknown. `caller` as from caller_of().
uint64_t code_in_c_library(uint64_t at, const Frame* caller);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMPT_PLACES_H_
