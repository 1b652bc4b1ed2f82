// What libomp tells of locks, critical and ordered sections and atomic operations (ompt.cpp). Each
// is waited for, got and left on one thread.
#ifndef DWELL_RUNTIME_OPENMP_OMPT_MUTEXES_H_
#define DWELL_RUNTIME_OPENMP_OMPT_MUTEXES_H_

#include <omp-tools.h>

namespace dwell {

// Asks to be told, by the runtime's `set`, on the thread that starts it. What cannot be told stays
// out of the records, and the header's flag kFileNoHolds says so.
void tell_of_mutexes(ompt_set_callback_t set);
// The calling thread ends: ends of critical sections may not be told any more.
void end_mutexes_of_thread(ompt_set_callback_t set);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMPT_MUTEXES_H_
