// Callbacks of libomp for locks, critical and ordered sections and atomic operations (ompt.cpp).
// Each is requested, acquired and released on one thread.
#ifndef DWELL_RUNTIME_OPENMP_OMPT_MUTEXES_H_
#define DWELL_RUNTIME_OPENMP_OMPT_MUTEXES_H_

#include <omp-tools.h>

namespace dwell {

// Registers the callbacks by the runtime's `set`, on the thread that starts it. Events that are not
// available are not recorded, and kFileNoHolds marks that.
void register_mutex_callbacks(ompt_set_callback_t set);
// The calling thread ends: releases of critical sections may not be reported any more.
void end_mutexes_of_thread(ompt_set_callback_t set);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMPT_MUTEXES_H_
