// Source probes: entering and leaving procedures, loops and blocks (DESIGN 3, 4; calling convention
// in site_table.h). A thread on its usual stack and a known path takes the fast path in
// probe_entries.cpp; all else goes to probes.cpp and probe_stacks.cpp.
//
// Each thread has a stack of open entries in its record. An entry identifies its frame by the
// address of the procedure's return address: frames below a probe's own frame are gone, however
// they were left. An entry's node is cached by the node open above it, the probe's row and the
// return address.
//
// Time runs only for the innermost open node and its ancestors, so the children of a node never
// take longer than the node, recursion and other stacks included.
//
// Overhead: the cost of a pair of probes is calibrated in two parts. The part between its two time
// stamps is subtracted from the duration, the whole from the surrounding node.
#ifndef DWELL_RUNTIME_PROBES_PROBES_H_
#define DWELL_RUNTIME_PROBES_PROBES_H_

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/calltree/nodes.h"
#include "runtime/calltree/stack_walks.h"
#include "runtime/contract/site_table.h"
#include "runtime/events/event_places.h"
#include "runtime/events/events.h"
#include "runtime/probes/probe_control.h"
#include "runtime/process/hooks.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kProbeStackEntries = 1024;
constexpr uint64_t kNoFrame = UINT64_MAX;  // above every frame

// For an entry that continues in another node than the one it began in (close_with): it counts in
// the first node, and minimum and maximum time are those of all its pieces.
struct MovedEntry {
    uint64_t ticks;    // of the earlier pieces, with the cost of the probe
    CellIndex origin;  // the node in which it counts
    uint32_t untimed;  // began as a recursion
};

// The MovedEntry of an entry, stored behind the stack, which ends with `limit`.
inline MovedEntry* moved_entry(const ProbeStack& stack, const ProbeEntry* entry) {
    return reinterpret_cast<MovedEntry*>(stack.limit + 1) + (entry - stack.base);
}

// The node in which an entry counts.
inline Node* counting_node(const ProbeStack& stack, const ProbeEntry* entry) {
    const bool moved = (entry->row & kRowMoved) != 0;
    return cell_at<Node>(moved ? moved_entry(stack, entry)->origin : entry->node);
}

inline uint32_t known_child_slot(uint64_t row, uint64_t return_address, CellIndex parent) {
    const uint64_t mixed =
        (row ^ return_address ^ (uint64_t{parent} * 0x6a09e667)) * 0x9e3779b97f4a7c15ull;
    static_assert(kKnownChildren == 1 << 10);
    return static_cast<uint32_t>(mixed >> 54);
}

inline uint8_t level_of(const SiteRow* row) {
    return __atomic_load_n(reinterpret_cast<const uint8_t*>(&row->level) + row->level,
                           __ATOMIC_RELAXED);
}

// True when `inner` is `outer` or lies in it, by the static table.
inline bool encloses(const SiteRow* outer, const SiteRow* inner) {
    for (;;) {
        if (inner == outer) return true;
        if (inner->enclosing >= 0) return false;
        inner += inner->enclosing;
    }
}

// The procedure that a row lies in, or itself.
inline const SiteRow* procedure_of(const SiteRow* row) {
    while (row->kind != SiteKind::kProcedure && row->enclosing < 0) row += row->enclosing;
    return row;
}

// True when `entry` is a loop that was left without a probe, because control is now at `row`, a
// site of the same frame. Does not detect loops of a procedure that was inlined around this one.
inline bool is_left_loop(const ProbeEntry& entry, const SiteRow* row) {
    if ((entry.row & kRowCalled) != 0) return false;
    const auto* loop = reinterpret_cast<const SiteRow*>(entry.row & kRowAddress);
    if (loop->kind != SiteKind::kLoop || encloses(loop, row)) return false;
    return encloses(procedure_of(loop), row);
}

// Counts an entry of a site that is only counted; its node has a second line. While the node is
// open this is recursion, which has no time of its own at any level, so no time is missing.
inline void count_untimed(Thread* thread, Node* node) {
    auto* part = cell_at<ProbePart>(node->part);
    node->count += 1;
    const bool is_recursion = node->site.open != 0;
    (is_recursion ? part->untimed : part->counted) += 1;
    if (is_recursion && writes_events(thread) && has_events(node))
        thread->record->events.recursions_counted += 1;
}

// Counts an entry of `row`, which is reduced, and estimates from it the entries missed in gaps.
inline void count_reduced(Thread* thread, Node* node, const SiteRow* row) {
    count_untimed(thread, node);
    auto* part = cell_at<ProbePart>(node->part);
    const uint64_t gap = __atomic_load_n(&g_gap, __ATOMIC_RELAXED);
    if (part->gap.number != gap >> 32) part->gap = {static_cast<uint32_t>(gap >> 32), 0};
    part->gap.entries += 1;
    const uint64_t more = static_cast<uint32_t>(gap);
    if (more == 0 || level_of(row) != kLevelTried) return;
    part->off_entries += more;
    const uint64_t step = (2 * uint64_t{part->gap.entries} - 1) * more * (more + 1);
    if (__builtin_add_overflow(part->off_squares, step, &part->off_squares)) {
        part->off_squares = UINT64_MAX;
    }
}

inline bool lies_on(const ProbeStack& stack, uint64_t frame) {
    return frame - stack.low < stack.bytes;
}

// A recursion back to an outer node stops the time of the nodes between at `now_virtual`; when it
// is left, they continue `lost` ticks later than the time it took. `back` is the recursion's entry
// on the stack that begins at `base`.
void stop_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual);
void resume_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual, uint64_t lost);

// The fast path of probes, blocks (blocks.h) and code built with -finstrument-functions
// (code_probes.cpp).

// True where the thread may record on the fast path: the clock is the time stamp counter, the
// thread is observed, nothing has changed since its last probe, and no statement is under way.
// Always inline in probes, because these may use fewer registers than other code.
__attribute__((always_inline)) inline bool is_usual(const Thread* thread) {
    return thread->probe_ticket == live_ticket() && thread->open == nullptr;
}

// Until end_change(), probes of signal handlers only count. False in such a handler and where there
// is no fast path; then there is nothing to end.
__attribute__((always_inline)) inline bool begin_change(Thread* thread) {
    if (thread == nullptr || thread->in_tool) [[unlikely]]
        return false;
    thread->in_tool.begin();
    asm volatile("" ::: "memory");
    if (is_usual(thread)) [[likely]]
        return true;
    thread->in_tool.end();
    return false;
}
__attribute__((always_inline)) inline void end_change(Thread* thread) {
    asm volatile("" ::: "memory");
    thread->in_tool.end();
}

// begin_change() on the stack of `frame`, if no entry lies at or below that frame and nobody has
// switched events on or off.
inline bool begin_settled(Thread* thread, uint64_t frame) {
    if (!begin_change(thread)) return false;
    if (lies_on(thread->on, frame) && thread->on.top->frame > frame && !has_event_order())
        [[likely]]
        return true;
    end_change(thread);
    return false;
}

// Opens an entry above the innermost one; its time begins when this returns.
__attribute__((always_inline)) inline ProbeEntry* push_entry(Thread* thread, CellIndex index,
                                                             uint64_t row, uint64_t frame,
                                                             uint32_t flags) {
    Node* const node = cell_at<Node>(index);
    ProbeEntry* const entry = thread->on.top + 1;
    entry->frame = frame;
    entry->row = row;
    const uint64_t both = index | uint64_t{flags} << 32;  // in one store
    static_assert(offsetof(ProbeEntry, flags) == offsetof(ProbeEntry, node) + sizeof(uint32_t));
    memcpy(reinterpret_cast<char*>(entry) + offsetof(ProbeEntry, node), &both, sizeof both);
    node->count += 1;
    node->site.open += 1;
    thread->on.top = entry;
    *thread->on.depth += 1;
    thread->record->probes += 1;
    entry->entry_virtual = virtual_ticks(thread, read_tsc());
    note_node(thread, node, index, EventKind::kEnter, entry->entry_virtual);
    return entry;
}

// Opens an entry for a node reached by `enter_kind`.
__attribute__((always_inline)) inline void push_by_kind(Thread* thread, CellIndex index,
                                                        EnterKind enter_kind, uint64_t row,
                                                        uint64_t frame) {
    const bool down = enter_kind == EnterKind::kChild || enter_kind == EnterKind::kChecked;
    const bool untimed = !down && cell_at<Node>(index)->site.open != 0;
    ProbeEntry* entry =
        push_entry(thread, index, row, frame, untimed ? uint32_t{kEntryUntimed} : 0);
    if (untimed && enter_kind == EnterKind::kRecursiveOuter) {
        stop_between(thread->on.base, entry, entry->entry_virtual);
    }
}

// Opens an entry without a node of its own, for something off, only counted, or begun while
// recording is off. Keeps beginnings and ends in step.
inline void push_without_node(Thread* thread, uint64_t row, uint64_t frame) {
    ProbeEntry* const entry = thread->on.top + 1;
    *entry = {frame, row | kRowWithoutNode, 0, thread->on.top->node, kEntryUntimed};
    thread->on.top = entry;
    *thread->on.depth += 1;
}
inline void pop_without_node(Thread* thread) {
    thread->on.top -= 1;
    *thread->on.depth -= 1;
}

// The child of the innermost entry for `key` and `return_address`, if it is cached and there is
// room for its entry.
inline const KnownChild* known_child(const Thread* thread, uint64_t key, uint64_t return_address) {
    const ProbeEntry* const top = thread->on.top;
    const KnownChild& known =
        thread->known_children[known_child_slot(key, return_address, top->node)];
    if (known.row != key || known.return_address != return_address || known.parent != top->node ||
        top == thread->on.limit) {
        return nullptr;
    }
    return &known;
}

// Closes the innermost entry, which is kEntryEndsSlowly.
DWELL_COLD void close_slowly(Thread* thread, uint64_t now);

// Closes the innermost entry of a block or of code, and calls end_change().
inline void pop_called(Thread* thread, uint64_t now) {
    ProbeEntry* const top = thread->on.top;
    Node* const node = cell_at<Node>(top->node);
    const uint64_t end = virtual_ticks(thread, now);
    if (top->flags != 0) [[unlikely]] {
        if ((top->flags & kEntryEndsSlowly) != 0) {
            close_slowly(thread, now);
            end_change(thread);
            return;
        }
        cell_at<ProbePart>(node->part)->untimed += 1;
        resume_between(thread->on.base, top, end, g_process.block_inner_ticks);
    } else {
        const uint64_t begin = top->entry_virtual + g_process.block_inner_ticks;
        const uint64_t ticks = end > begin ? end - begin : 0;
        add_time(node, ticks);
    }
    note_node(thread, node, top->node, EventKind::kLeave, end);
    node->site.open -= 1;
    thread->on.top -= 1;
    *thread->on.depth -= 1;
    thread->slow_overhead += g_process.block_cost_ticks;
    end_change(thread);
}

// The slow path, in probes.cpp and probe_stacks.cpp.

// Scope of a probe's slow work.
class SlowProbe : public SlowWork {
  public:
    using SlowWork::SlowWork;
    // Applies changes since the last probe; true when probes may record.
    bool notice();
};

// The calling thread, attached when needed, or null where code at `frame` may not open entries
// (probing_thread), may not record (recording_thread), or has no entries to end (entered_thread).
Thread* probing_thread(uint64_t frame);
Thread* recording_thread(uint64_t frame);
Thread* entered_thread(uint64_t frame);

// The thread is marked as inside dwell. A signal handler that interrupts a probe and is left by
// siglongjmp leaves that mark behind. If a probe at `frame` proves this, the thread records again
// from here on and true is returned; the lost probe counts as missed.
bool recover_after_jump(Thread* thread, uint64_t frame);  // probe_jumps.cpp

// Makes the stack of `frame` the current one. Another stack lies below the node that the thread's
// own stack had open where it was first resumed, and when that is closed, below the node where it
// is resumed then. False when there are too many stacks.
bool change_stack(Thread* thread, uint64_t frame, uint64_t now);

// Closes entries of frames below `frame`, which are gone.
void drop_gone(Thread* thread, uint64_t frame, uint64_t now);

bool ensure_part(Thread* thread, Node* node);

struct FoundNode {
    CellIndex node;  // 0: no room
    EnterKind enter_kind;
};

// Finds or creates the node for `site` under `parent`, for a procedure called from the statement
// `call`, with the second line that recursion needs. A procedure or block that is already on the
// path reuses its node (DESIGN 3: recursion collapses); so does everything when the record file is
// nearly full.
FoundNode find_node(Thread* thread, CellIndex parent, const Site& site, const Site* call);

// Opens an entry for the found node; its time begins at the real time `now`. No event is written.
void open_entry(Thread* thread, uint64_t row, uint64_t frame, const FoundNode& found, uint64_t now);

// After the slow work the time of the opened entry begins.
void begin_slow_entry(Thread* thread);

// Ends the entry `own`. Entries opened after it and still open continue below the entry around
// `own`: their time is split, and they count where they began. With `blocks_only` entries other
// than blocks are closed.
void close_with(Thread* thread, ProbeEntry* own, uint64_t now, bool blocks_only);

// Ends the innermost entry. An abandoned entry was left without a probe; its time ends when this is
// noticed.
void close_entry(Thread* thread, uint64_t now, bool abandoned);

// Removes the innermost entry, to be opened elsewhere: its node keeps the time so far, and the node
// it began in counts it. OpenMP constructs count where they end.
void suspend_entry(Thread* thread, uint64_t now);
// Reopens the suspended entry above the entry that is now the innermost.
void resume_entry(Thread* thread, const ProbeEntry* suspended, uint64_t now);

// Ends entries of sites that control has switched off, because their leave probes will not come.
// The switching thread calls this at once, others at their next probe. Entries on other stacks end
// when their frames are found gone.
void end_switched_off_entries(Thread* thread);

// The innermost open node as seen from `frame`, after entries of frames that are gone are closed.
// The thread's root when nothing is open.
CellIndex open_node(Thread* thread, uint64_t frame);

// Hooks for the beginning, end and reset of the thread.
void start_probes(Thread* thread);
// Ends open entries at `now`; `abandoned`: the program continued without ending them.
void end_probes(Thread* thread, uint64_t now, bool abandoned);
void reset_probes(Thread* thread, uint64_t now);

// open_node() for a statement's wrapper; see callpath.h.
inline CellIndex probe_frame_of(Thread* thread, const Frame* frame) {
    const uint64_t slot = frame->stack_pointer() - sizeof(uint64_t);
    if (thread->on.top->frame > slot && lies_on(thread->on, slot)) [[likely]]
        return thread->on.top->node;
    return open_node(thread, slot);
}

// Measures the cost of a pair of probes on `thread`, a scratch thread that is the calling thread
// while this runs.
void calibrate_probes(Thread* thread);

// Applies changes since the thread's last probe: true when probes may record.
bool notice_probes(Thread* thread);

// Asks the processor which vector registers to save. Before the first probe.
void find_vector_registers();

// Slow paths, called through dwell_slowly. The kind of `row` distinguishes procedures and loops;
// `slot` is the frame.
void enter_slowly(const SiteRow* row, const uint64_t* slot, uint64_t);
void leave_slowly(const SiteRow* row, const uint64_t* slot, uint64_t iterations);
void landed_slowly(const SiteRow* row, const uint64_t* slot, uint64_t);
void control_slowly(const SiteRow* row, const uint64_t* slot, uint64_t);

}  // namespace dwell

extern "C" {
// For xsave: mask of state parts that hold vector registers, and their size in bytes; 0 until the
// processor was asked, and without xsave.
extern uint32_t dwell_vector_mask __attribute__((visibility("hidden")));
extern uint32_t dwell_vector_bytes __attribute__((visibility("hidden")));
}

#endif  // DWELL_RUNTIME_PROBES_PROBES_H_
