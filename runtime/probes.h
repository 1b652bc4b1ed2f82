// Source probes: entering and leaving procedures, loops and blocks (DESIGN 3, 4; the convention is
// in site_table.h). The fast way, in probe_entries.cpp, is taken by a thread on its usual stack
// along a path that it knows; all else comes to probes.cpp.
//
// Each thread has a stack of open entries, in its record. An entry names its frame by the address
// of the procedure's return address: frames below the one that a probe stands in are gone, however
// they were left. The node of an entry is found from the node open above it, the probe's row and
// the return address, in a table that remembers.
//
// Time runs for the innermost open node and all that it lies under, and for no other: so a node's
// children together never take longer than it does, recursion and other stacks included.
//
// Intrusion: what a pair of probes costs is calibrated, in two parts. The part between its two time
// stamps is taken from the duration, all of it from what lies around.
#ifndef DWELL_RUNTIME_PROBES_H_
#define DWELL_RUNTIME_PROBES_H_

#include "runtime/callpath.h"
#include "runtime/site_table.h"
#include "runtime/state.h"

namespace dwell {

constexpr uint32_t kProbeStackEntries = 1024;

// Virtual ticks at the real time `now`.
inline uint64_t virtual_ticks(const Thread* thread, uint64_t now) {
    const ThreadRecord* record = thread->record;
    return now - record->intrusion_ticks - record->paused_ticks - thread->slow_ticks;
}

inline uint32_t known_child_slot(uint64_t row, uint64_t return_address, CellIndex parent) {
    const uint64_t mixed =
        (row ^ (return_address << 7) ^ (uint64_t{parent} << 33)) * 0x9e3779b97f4a7c15ull;
    return static_cast<uint32_t>(mixed >> 53) & (kKnownChildren - 1);
}

inline uint8_t level_of(const SiteRow* row) {
    return __atomic_load_n(reinterpret_cast<const uint8_t*>(&row->level) + row->level,
                           __ATOMIC_RELAXED);
}

inline uint64_t live_ticket() { return __atomic_load_n(&g_live->ticket, __ATOMIC_RELAXED); }

// An entry of a site that only counts; its node has its second line. While the node is open that is
// recursion: the entry is without time of its own, as at every level, and none is missing.
inline void count_untimed(Node* node) {
    auto* part = cell_at<ProbePart>(node->part);
    node->count += 1;
    (node->site.open != 0 ? part->untimed : part->counted) += 1;
}

inline bool lies_on(const ProbeStack& stack, uint64_t frame) {
    return frame - stack.low < stack.bytes;
}

// A recursion that goes back over nodes between stops their times at `now_virtual`, and when it is
// left they run on, `lost` ticks later than the time it took. `back` is its entry, on the stack
// that begins at `base`.
void stop_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual);
void resume_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual, uint64_t lost);

// The innermost open node of the thread as seen from a frame at `frame`: entries of frames that are
// gone are dropped first. The thread's root when nothing is open.
CellIndex open_node(Thread* thread, uint64_t frame);

// The thread begins, ends or is reset.
void start_probes(Thread* thread);
// What is open ends `now`; it is counted as abandoned where the program went on without it.
void end_probes(Thread* thread, uint64_t now, bool abandoned);
void reset_probes(Thread* thread, uint64_t now);

// The same for a statement's wrapper; see callpath.h.
inline CellIndex anchor_of(Thread* thread, const Frame* frame) {
    const uint64_t slot = frame->stack_pointer() - sizeof(uint64_t);
    if (thread->on.top->frame > slot && lies_on(thread->on, slot)) [[likely]]
        return thread->on.top->node;
    return open_node(thread, slot);
}

// Measures what a pair of probes costs, on `thread`, which has records of no one and is the calling
// one while this runs.
void calibrate_probes(Thread* thread);

// What happened since the thread's last probe is taken notice of: true when probes may record.
bool notice_probes(Thread* thread);

// Asks the processor which vector registers there are to keep. Before the first probe.
void find_vector_registers();

// What the fast way leaves to do, called through dwell_slowly. The kind of `row` tells procedures
// from loops; `slot` is the frame.
void enter_slowly(const SiteRow* row, const uint64_t* slot, uint64_t);
void leave_slowly(const SiteRow* row, const uint64_t* slot, uint64_t iterations);
void landed_slowly(const SiteRow* row, const uint64_t* slot, uint64_t);
void control_slowly(const SiteRow* row, const uint64_t* slot, uint64_t);

}  // namespace dwell

extern "C" {
// For xsave: which parts of a thread's state hold vector registers, and the bytes they take; 0
// until the library has asked the processor, and where there is no xsave.
extern uint32_t dwell_vector_mask __attribute__((visibility("hidden")));
extern uint32_t dwell_vector_bytes __attribute__((visibility("hidden")));
}

#endif  // DWELL_RUNTIME_PROBES_H_
