// DWELL_INJECT_NS: a delay that tests add to every probe, to see that intrusion is removed (DESIGN
// 4). It is measured, not assumed, and booked as intrusion like any slow work. Probes and wrappers
// do not look for it on their fast way: while it is on, none of them may go that way.
#ifndef DWELL_RUNTIME_PROCESS_INJECTION_H_
#define DWELL_RUNTIME_PROCESS_INJECTION_H_

#include "runtime/process/state.h"

namespace dwell {

// What `text` asks for on a rank: "NS" on all, "RANK:NS,..." on those named. False when it is
// neither.
bool injection_for(const char* text, int rank, uint32_t* ns);

// The highest rank that it names, of a text that is right; -1: it names none.
int highest_injected(const char* text);

// Sets the delay of this process, once its rank is known; header->ticks_per_second must be. Threads
// attached before take notice with the next change of g_live->epoch and ticket. True when that is
// needed.
bool set_injection(int rank);

// Called where a delay begins and ends: meanwhile the thread does nothing that others wait for in
// order (order.h). Null: no order is kept.
extern void (*g_on_delay)(bool begins) __attribute__((visibility("hidden")));

// Delays the thread and returns by how much, for the caller to book.
DWELL_COLD uint64_t inject(Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_INJECTION_H_
