// How a process comes to be observed, by MPI_Init or by its first probe, and what the rest of its
// life needs of that (lifecycle.cpp).
#ifndef DWELL_RUNTIME_LIFECYCLE_ATTACH_H_
#define DWELL_RUNTIME_LIFECYCLE_ATTACH_H_

#include "runtime/contract/status_page.h"

namespace dwell {

// The page on which `dwell run` is told how the process fares; null without `dwell run`. The same
// from the library's start on, for everybody.
StatusPage* status_page();

// Whether the process was ever observed: g_live tells whether it is.
bool was_attached();

// MPI_Init, before the call: makes the process observed, or a process that is observed already one
// with MPI. False: the program's MPI runs unobserved, and one line has said why. Any thread, but no
// signal handler; others that come meanwhile wait, for a second at most.
bool observe_mpi();

// Takes the header's ticks per second from the two clocks since the start, of which at least
// `base_ns` have passed when it returns. By one thread; signal-safe. Done early in short, and again
// at the end of MPI_Init and of the run: a base of kRateBase_ns gives some parts in 10^5.
constexpr uint64_t kRateBase_ns = 2'000'000;
void set_tick_rate(uint64_t base_ns);

// After a change of g_live->on, paused or epoch, by the thread that made it: every thread's next
// probe or I/O call notices it. Signal-safe.
void refresh_ticket();

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_ATTACH_H_
