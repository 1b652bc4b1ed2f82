// Writes full events into the thread's ring (event_layout.h). While no events are written, that is
// one load and one branch.
#ifndef DWELL_RUNTIME_EVENTS_EVENTS_H_
#define DWELL_RUNTIME_EVENTS_EVENTS_H_

#include "runtime/contract/event_layout.h"
#include "runtime/process/event_settings.h"
#include "runtime/process/state.h"

namespace dwell {

// Of a record: how many words it has, and its kind.
constexpr uint64_t event_form(uint64_t words, EventKind kind) {
    return words << kEventKindBits | static_cast<uint64_t>(kind);
}
// Makes room for a record at `virt`; false: it is lost, and was counted, or belongs to an entry
// whose enter was. General registers only, and few of them (see probe_entries.cpp).
bool make_event_room(Thread* thread, uint64_t virt, uint64_t form, uint64_t what)
    __attribute__((visibility("hidden")));

// From now on, until the next record is written, enters and leaves are not in the log.
void begin_unseen(Thread* thread) __attribute__((visibility("hidden")));

inline bool writes_events(const Thread* thread) { return (thread->events & kWritesEvents) != 0; }

inline void stop_writing(Thread* thread) {
    EventRing* const ring = &thread->record->events;
    thread->events &= ~uint32_t{kWritesEvents};
    ring->rests_at = ring->next;
    __atomic_store_n(&ring->next, 0, __ATOMIC_RELEASE);
}

// Writes a record at the virtual time `virt` (virtual_ticks()); its cost becomes overhead. `what`
// fits into its bits.
template <typename... More>
__attribute__((always_inline)) inline void write_fitting(Thread* thread, EventKind kind,
                                                         uint64_t what, uint64_t virt,
                                                         More... more) {
    constexpr uint64_t kWords = 1 + sizeof...(More);
    EventRing* const ring = &thread->record->events;
    const uint64_t room = ring->next + kWords * sizeof(uint64_t);
    if (room > ring->limit || (virt - ring->base) >> kEventTimeBits != 0) [[unlikely]] {
        if (!make_event_room(thread, virt, event_form(kWords, kind), what)) return;
    }
    auto* at = reinterpret_cast<uint64_t*>(ring->next);
    // No bit is in two of these.
    *at = ((virt - ring->base) << kEventTimeShift) + (what << kEventKindBits) +
          static_cast<uint64_t>(kind);
    [[maybe_unused]] uint32_t number = 0;
    ((at[++number] = event_more(more)), ...);
    __atomic_store_n(&ring->next, reinterpret_cast<uint64_t>(at + kWords), __ATOMIC_RELEASE);
    thread->slow_overhead += g_process.event_cost_ticks;
}

template <typename... More>
__attribute__((always_inline)) inline void write_event(Thread* thread, EventKind kind,
                                                       uint32_t what, uint64_t virt, More... more) {
    write_fitting(thread, kind, what & kEventWhatMask, virt, more...);
}

inline bool has_events(const Node* node) { return (node->site.flags & kNodeNoEvents) == 0; }
inline bool has_events(CellIndex node) { return has_events(cell_at<Node>(node)); }
// Whether the enter of an open entry was written; not to be asked while is_unseen.
inline bool is_in_log(const ProbeEntry& entry) { return (entry.flags & kEntrySwitched) == 0; }
// Whether its leave is to be written or, where records are being lost, to be counted.
inline bool has_end(const Thread* thread, const ProbeEntry& entry) {
    return (entry.flags & kEntryLost) == 0 &&
           (is_in_log(entry) || thread->record->events.is_unseen != 0);
}

// Writes an enter or leave of a node, whose index comes with it.
__attribute__((always_inline)) inline void note_node(Thread* thread, const Node* node,
                                                     CellIndex index, EventKind kind,
                                                     uint64_t virt) {
    if (!writes_events(thread)) [[likely]]
        return;
    // A node whose index does not fit has no events.
    if (has_events(node)) write_fitting(thread, kind, index, virt);
}
inline void note_node(Thread* thread, CellIndex node, EventKind kind, uint64_t virt) {
    note_node(thread, cell_at<Node>(node), node, kind, virt);
}

// The same for an entry that goes on below another node.
inline void note_move(Thread* thread, CellIndex node, EventKind kind, uint64_t virt) {
    if (!writes_events(thread) || !has_events(node)) return;
    write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kMoved), virt);
    write_event(thread, kind, node, virt);
}

// Of the time of a node that ends, `ticks` were waiting.
inline void note_wait(Thread* thread, CellIndex node, uint64_t ticks, uint64_t virt) {
    if (has_events(node))
        write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kWaited), virt,
                    uint64_t{node}, ticks);
}

// `number` metrics were read at `virt`, whose counts belong to `node`. The time of the reading,
// which is overhead, has the cost of the record in it.
DWELL_COLD void write_counts(Thread* thread, CellIndex node, uint64_t virt, const uint64_t* counts,
                             uint32_t number);
inline void note_counts(Thread* thread, CellIndex node, uint64_t virt, const uint64_t* counts,
                        uint32_t number) {
    if (writes_events(thread) && (g_process.options.event_kinds & kMetricEvents) != 0)
        write_counts(thread, node, virt, counts, number);
}

// A sample was taken at `virt`, before records that are written already. `node` 0: it has none.
void note_sample(Thread* thread, CellIndex node, uint64_t virt, uint32_t weight);

// An OpenMP lock was acquired or released.
DWELL_COLD void write_lock(Thread* thread, EventControl what, uint64_t address);
inline void note_lock(Thread* thread, EventControl what, uint64_t address) {
    if (writes_events(thread)) [[unlikely]]
        write_lock(thread, what, address);
}

// The process has a new communicator.
void write_comm(Thread* thread, const CommRecord& comm);

// Somebody has switched events on or off since the process noticed it last.
inline bool has_event_order() {
    return g_live->event_order != EventOrder::kNone &&
           g_process.header->event_order != g_live->event_order;
}
// Has all threads follow, each at its next call or probe.
DWELL_COLD void notice_event_order();
inline void look_for_event_order() {
    if (has_event_order()) notice_event_order();
}
DWELL_COLD void tell_threads();
// By the program.
void order_events(bool on);

// Hooks for the beginning and end of a thread.
void start_events(Thread* thread, bool may_allocate);
void follow_event_order(Thread* thread);
void reset_events(Thread* thread, uint64_t since);
// The calling thread begins or ends to write, at the virtual time `virt`, as is wanted now.
void follow_events(Thread* thread, uint64_t virt);
void end_events(Thread* thread, uint64_t now);

// Measures what a record costs, on a scratch thread.
void calibrate_events(Thread* thread, Node* node);
// At the end of the observation: waits until the reader has all, for as long as it reads.
void await_event_reader();

}  // namespace dwell

#endif  // DWELL_RUNTIME_EVENTS_EVENTS_H_
