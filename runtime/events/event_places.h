// Which places have events (--events-sites), and windows that are entries of a place
// (--events-window phase:, block: and entry:). What was chosen is found once for each site and kept
// in the flags of its nodes: nodes without kNodeWindow never come here.
#ifndef DWELL_RUNTIME_EVENTS_EVENT_PLACES_H_
#define DWELL_RUNTIME_EVENTS_EVENT_PLACES_H_

#include "runtime/contract/enabling_profile.h"
#include "runtime/process/state.h"

namespace dwell {

// Reads what the options name. False after a line on stderr.
bool read_event_places();

// Whether places are chosen at all, and whether their names are needed, demangled.
bool chooses_places();
bool chooses_places_by_name();

// The NodeFlags by which the nodes of a site are marked. Thread-safe; no allocation.
uint8_t event_flags_of(const SiteFacts& site, bool is_phase);

// Marks a node of the calling thread.
inline void choose_events(CellIndex node, uint8_t flags) {
    if (flags != 0) __atomic_fetch_or(&cell_at<Node>(node)->site.flags, flags, __ATOMIC_RELAXED);
}
inline bool opens_windows(CellIndex node) {
    return (cell_at<Node>(node)->site.flags & kNodeWindow) != 0;
}

// Whether the process's threads are to write events now.
bool wants_events();

// An entry of a node that opens windows begins. True: the calling thread writes events from the
// virtual time `virt` on, others follow, and leave_event_window() is due when the entry has ended.
// In the scope of SlowWork.
bool enter_event_window(Thread* thread, CellIndex node, uint64_t virt);
void leave_event_window(Thread* thread, uint64_t virt);

// The same for a call.
bool enter_call_window(Thread* thread, CellIndex node);
void leave_call_window(Thread* thread, uint64_t virt);
// Calls under way were left by a throw or a longjmp.
inline void leave_lost_call_windows(Thread* thread) {
    while (thread->events >= kCallInWindow)
        leave_call_window(thread, virtual_ticks(thread, now_ticks()));
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_EVENTS_EVENT_PLACES_H_
