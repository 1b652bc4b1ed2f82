// Source probes: entering and leaving procedures, loops and blocks (DESIGN 3, 4; the convention is
// in site_table.h). The fast way, in probe_entries.cpp, is taken by a thread on its usual stack
// along a path that it knows; all else comes to probes.cpp and probe_stacks.cpp.
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
#ifndef DWELL_RUNTIME_PROBES_PROBES_H_
#define DWELL_RUNTIME_PROBES_PROBES_H_

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/calltree/nodes.h"
#include "runtime/calltree/stack_walks.h"
#include "runtime/contract/site_table.h"
#include "runtime/probes/probe_control.h"
#include "runtime/process/hooks.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kProbeStackEntries = 1024;
constexpr uint64_t kNoFrame = UINT64_MAX;  // above every frame

// What ProbeEntry::row holds: the address of a SiteRow, or one of these marks with the address of a
// BlockName or of code.
constexpr uint64_t kRowBlock = uint64_t{1} << 63;     // `frame` is that of the entry it began in
constexpr uint64_t kRowCode = uint64_t{1} << 62;      // with 10 bits that tell its call statement
constexpr uint64_t kRowUnbooked = uint64_t{1} << 61;  // its node is that of the entry below
constexpr uint64_t kRowPaired = uint64_t{1} << 60;    // a block whose end does not name it
constexpr uint64_t kRowOmp = uint64_t{1} << 59;       // with an OmpConstruct; frames as of a block
constexpr uint64_t kRowMoved = uint64_t{1} << 58;     // it began elsewhere: MovedEntry
constexpr uint64_t kRowCalled = kRowBlock | kRowCode | kRowOmp;  // no row of a table
constexpr int kRowCallShift = 48;
constexpr uint64_t kRowAddress = (uint64_t{1} << kRowCallShift) - 1;

// Of an entry that goes on in another node than the one it began in (close_with): it counts there,
// and its shortest and longest time are those of all its pieces.
struct MovedEntry {
    uint64_t ticks;    // of the pieces before, with what the probe costs
    CellIndex origin;  // where it counts
    uint32_t untimed;  // it began as a recursion
};

// Where that of an entry stands: behind the stack, which ends with `limit`.
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

// True when `entry` is of a loop that control left when it came to a place in `row`, a site of the
// same frame. Loops of another procedure, which was inlined around this one, are not told.
inline bool is_left_loop(const ProbeEntry& entry, const SiteRow* row) {
    if ((entry.row & kRowCalled) != 0) return false;
    const auto* loop = reinterpret_cast<const SiteRow*>(entry.row & kRowAddress);
    if (loop->kind != SiteKind::kLoop || encloses(loop, row)) return false;
    return encloses(procedure_of(loop), row);
}

// An entry of a site that only counts; its node has its second line. While the node is open that is
// recursion: the entry is without time of its own, as at every level, and none is missing.
inline void count_untimed(Node* node) {
    auto* part = cell_at<ProbePart>(node->part);
    node->count += 1;
    (node->site.open != 0 ? part->untimed : part->counted) += 1;
}

// The same for an entry of `row`, which is reduced; control knows from it how many were missed.
inline void count_reduced(Node* node, const SiteRow* row) {
    count_untimed(node);
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

// A recursion that goes back over nodes between stops their times at `now_virtual`, and when it is
// left they run on, `lost` ticks later than the time it took. `back` is its entry, on the stack
// that begins at `base`.
void stop_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual);
void resume_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual, uint64_t lost);

// The fast way of probes, blocks (blocks.h) and code built with -finstrument-functions
// (code_probes.cpp).

// True where the thread may record on the fast way: the clock is the time stamp counter, the thread
// is observed, nothing happened since its last probe, and no statement is under way. What probes
// use of this is inline always: other registers are free there than elsewhere.
__attribute__((always_inline)) inline bool is_usual(const Thread* thread) {
    return thread->probe_ticket == live_ticket() && thread->open == nullptr;
}

// From here to end_change() the probes of a signal handler only count. False: this is one of those,
// or there is no fast way; then nothing is to be ended.
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

// The same on the stack that `frame` lies on, when no entry is of a frame at or below it, which is
// gone.
inline bool begin_settled(Thread* thread, uint64_t frame) {
    if (!begin_change(thread)) return false;
    if (lies_on(thread->on, frame) && thread->on.top->frame > frame) [[likely]]
        return true;
    end_change(thread);
    return false;
}

// Opens an entry on top of the innermost one; its time begins at the end of this.
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
    return entry;
}

// The same for a node that `way` leads to.
__attribute__((always_inline)) inline void push_on_way(Thread* thread, CellIndex index,
                                                       EnterKind way, uint64_t row,
                                                       uint64_t frame) {
    const bool down = way == EnterKind::kChild || way == EnterKind::kChecked;
    const bool untimed = !down && cell_at<Node>(index)->site.open != 0;
    ProbeEntry* entry =
        push_entry(thread, index, row, frame, untimed ? uint32_t{kEntryUntimed} : 0);
    if (untimed && way == EnterKind::kRecursiveOuter) {
        stop_between(thread->on.base, entry, entry->entry_virtual);
    }
}

// Opens an entry that stands for no node of its own: something that is off, only counted, or begun
// while recording is off. It keeps beginnings and ends in step.
inline void push_unbooked(Thread* thread, uint64_t row, uint64_t frame) {
    ProbeEntry* const entry = thread->on.top + 1;
    *entry = {frame, row | kRowUnbooked, 0, thread->on.top->node, kEntryUntimed};
    thread->on.top = entry;
    *thread->on.depth += 1;
}
inline void pop_unbooked(Thread* thread) {
    thread->on.top -= 1;
    *thread->on.depth -= 1;
}

// The child of the innermost entry that `key` and `return_address` lead to, when it is known and
// there is room for its entry.
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

// Closes the innermost entry, at which metrics were read, and reads them; the time is booked.
DWELL_COLD void close_read(Thread* thread, uint64_t now);

// Closes the innermost entry of a block or of code, and ends the change.
inline void pop_called(Thread* thread, uint64_t now) {
    ProbeEntry* const top = thread->on.top;
    Node* const node = cell_at<Node>(top->node);
    const uint64_t end = virtual_ticks(thread, now);
    if (top->flags != 0) [[unlikely]] {
        if ((top->flags & kEntryRead) != 0) {
            close_read(thread, now);
            end_change(thread);
            return;
        }
        cell_at<ProbePart>(node->part)->untimed += 1;
        resume_between(thread->on.base, top, end, g_process.block_inner_ticks);
    } else {
        const uint64_t begin = top->entry_virtual + g_process.block_inner_ticks;
        const uint64_t ticks = end > begin ? end - begin : 0;
        node->ticks += ticks;
        if (ticks < node->min_ticks) node->min_ticks = ticks;
        if (ticks > node->max_ticks) node->max_ticks = ticks;
    }
    node->site.open -= 1;
    thread->on.top -= 1;
    *thread->on.depth -= 1;
    thread->slow_overhead += g_process.block_cost_ticks;
    end_change(thread);
}

// Their slow way, in probes.cpp and probe_stacks.cpp.

// Slow work of a probe: nothing else of dwell runs meanwhile, errno stays, the time is intrusion.
class SlowProbe {
  public:
    explicit SlowProbe(Thread* thread) : thread_(thread), start_(now_ticks()), errno_(errno) {
        thread_->in_tool.begin();
    }
    ~SlowProbe() {
        // While recording is off no time is anyone's.
        if (live_ticket() != 0) thread_->slow_overhead += now_ticks() - start_;
        thread_->in_tool.end();
        errno = errno_;
    }
    SlowProbe(const SlowProbe&) = delete;
    SlowProbe& operator=(const SlowProbe&) = delete;

    uint64_t start() const { return start_; }
    // True when probes may record, after whatever happened since the last one.
    bool notice();

  private:
    Thread* thread_;
    uint64_t start_;
    int errno_;
};

// The calling thread, attached when needed, when what stands at `frame` may open entries; also
// record; when it has entries that may be ended. Or else null.
Thread* probing_thread(uint64_t frame);
Thread* recording_thread(uint64_t frame);
Thread* entered_thread(uint64_t frame);

// The thread is marked as at work. A signal handler that interrupts a probe and is left by
// siglongjmp ends that work without a trace. Where what arrives at `frame` proves it, the thread
// records again from here on, and true is returned; the probe that was lost counts as missed.
bool goes_on_after_jump(Thread* thread, uint64_t frame);  // probe_jumps.cpp

// Makes `frame`'s stack the one that the thread is on. What runs on another stack hangs under the
// node that the thread's own stack had open where it was first resumed, and when that is over under
// the one where it is resumed then. False when there are too many.
bool change_stack(Thread* thread, uint64_t frame, uint64_t now);

// Entries of frames that lie below `frame` are gone.
void drop_gone(Thread* thread, uint64_t frame, uint64_t now);

bool ensure_part(Thread* thread, Node* node);

struct FoundNode {
    CellIndex node;  // 0: no room
    EnterKind way;
};

// The node for `site` under `parent`, for a procedure called from the statement `call`, with the
// second line that recursion needs. A procedure or block that is on the path already stands for
// itself (DESIGN 3: recursion folds), and so does everything when the record file is nearly full.
FoundNode find_node(Thread* thread, CellIndex parent, const Site& site, const Site* call);

// Opens an entry for it; its time begins at the real time `now`.
void open_entry(Thread* thread, uint64_t row, uint64_t frame, const FoundNode& found, uint64_t now);

// Ends the entry `own`. What was opened after it and is still open goes on in what lies around it:
// time is split there, and an entry counts where it began. With `blocks_only` the rest is gone.
void close_with(Thread* thread, ProbeEntry* own, uint64_t now, bool blocks_only);

// Ends the innermost entry. An abandoned one was left without a probe; its time ends when that is
// noticed.
void close_entry(Thread* thread, uint64_t now, bool abandoned);

// Takes the innermost entry away, to be opened elsewhere: its node keeps the time so far, and the
// one it began in counts it. OpenMP's constructs count where they end.
void suspend_entry(Thread* thread, uint64_t now);
// Opens what was suspended as entry `suspended` below the one that is the innermost now.
void resume_entry(Thread* thread, const ProbeEntry* suspended, uint64_t now);

// Entries of sites that control has switched off end when that was: their leave will not come. The
// thread that switched does so at once, others at their next probe. Not on stacks that the thread
// is not on: what is open there ends when its frame is found gone.
void end_entries_of_off(Thread* thread);

// The innermost open node of the thread as seen from a frame at `frame`: entries of frames that are
// gone are dropped first. The thread's root when nothing is open.
CellIndex open_node(Thread* thread, uint64_t frame);

// The thread begins, ends or is reset.
void start_probes(Thread* thread);
// What is open ends `now`; it is counted as abandoned where the program went on without it.
void end_probes(Thread* thread, uint64_t now, bool abandoned);
void reset_probes(Thread* thread, uint64_t now);

// open_node() for a statement's wrapper; see callpath.h.
inline CellIndex probe_frame_of(Thread* thread, const Frame* frame) {
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

#endif  // DWELL_RUNTIME_PROBES_PROBES_H_
