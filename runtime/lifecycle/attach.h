// Starts the observation of a process, by MPI_Init or by its first probe (end: lifecycle.cpp).
#ifndef DWELL_RUNTIME_LIFECYCLE_ATTACH_H_
#define DWELL_RUNTIME_LIFECYCLE_ATTACH_H_

#include "runtime/contract/status_page.h"

namespace dwell {

// The page that reports the state of the process to `dwell run`; null without `dwell run`. Valid
// from the library's start on.
StatusPage* status_page();

// Whether the process was ever observed; g_live shows whether it is now.
bool was_attached();

// Before the call of MPI_Init: starts the observation, or adds MPI to a process that is already
// observed. False: the program's MPI runs unobserved, and one line has said why. Any thread, but no
// signal handler; concurrent callers wait, at most a second.
bool observe_mpi();

// Sets the header's ticks per second from both clocks since the start, waiting until at least
// `base_ns` have passed. By one thread; signal-safe. Called with a short base at first, and again
// at the end of MPI_Init and of the run: kRateBase_ns gives some parts in 10^5.
constexpr uint64_t kRateBase_ns = 2'000'000;
void set_tick_rate(uint64_t base_ns);

// After a change of g_live->on, paused or epoch, by the thread that made it: every thread notices
// the change at its next probe or I/O call. Signal-safe.
void refresh_ticket();

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_ATTACH_H_
