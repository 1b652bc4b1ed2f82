// DWELL_INJECT_NS: a delay that tests add to every probe, to check that the overhead is removed
// (DESIGN 4). The delay is measured and counted as slow overhead. The fast paths of probes and
// wrappers do not check for it; while it is on, every probe and call takes the slow path.
#ifndef DWELL_RUNTIME_PROCESS_INJECTION_H_
#define DWELL_RUNTIME_PROCESS_INJECTION_H_

#include "runtime/process/state.h"

namespace dwell {

// The delay that `text` sets for a rank: "NS" for all ranks, "RANK:NS,..." for those listed. False
// when the text has neither form.
bool injection_for(const char* text, int rank, uint32_t* ns);

// The highest rank listed in a valid `text`; -1: none is listed.
int highest_injected(const char* text);

// Sets the delay of this process, once its rank and header->ticks_per_second are known. Threads
// attached earlier see it at the next change of g_live->epoch and ticket; true when that change is
// needed.
bool set_injection(int rank);

// Called where a delay begins and ends: during a delay the thread does nothing that execution
// control must wait for (order.h). Null: no order is kept.
extern void (*g_on_delay)(bool begins) __attribute__((visibility("hidden")));

// Delays the thread and returns the ticks, for the caller to count as overhead.
DWELL_COLD uint64_t inject(Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_INJECTION_H_
