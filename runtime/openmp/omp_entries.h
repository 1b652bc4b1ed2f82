// Entries of OpenMP constructs on the stack of open nodes, for omp_adapter.cpp and omp_tasks.cpp.
// Each step of the adapter prepares the thread, works on its entries and ends (DESIGN 5.3).
#ifndef DWELL_RUNTIME_OPENMP_OMP_ENTRIES_H_
#define DWELL_RUNTIME_OPENMP_OMP_ENTRIES_H_

#include "runtime/measure/metrics.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/openmp/omp_team.h"
#include "runtime/probes/blocks.h"
#include "runtime/process/time_axis.h"

namespace dwell {

inline OmpPart* omp_part(CellIndex node) { return cell_at<OmpPart>(cell_at<Node>(node)->part); }
// Adds waiting of the thread up to the virtual time `end`.
inline void add_wait_ticks(Thread* thread, CellIndex node, uint64_t ticks, uint64_t end) {
    omp_part(node)->wait_ticks += ticks;
    add_to_axis(thread, axis_ticks_of(thread, end), ticks, &AxisSums::omp_wait_ticks);
    if (writes_events(thread)) [[unlikely]]
        note_wait(thread, node, ticks, end);
}
// The same in a region.
inline void add_omp_wait(Thread* thread, CellIndex node, uint64_t ticks, uint64_t end) {
    add_wait_ticks(thread, node, ticks, end);
    thread->omp.waited_ticks += ticks;
}

// Between begin_step() and end_step() the thread's entries may be changed; probes of signal
// handlers only count.
struct OmpStep {
    Thread* thread;
    uint64_t now;  // real ticks at the step's beginning; set where requested, or slow
    bool slow;     // the step's whole time is overhead; else that of a pair of blocks
    bool records;  // opened entries have nodes
    int saved_errno;
};

// Stack address of the return address of the calling function.
#define DWELL_OMP_FRAME() \
    (reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + sizeof(uint64_t))

// `attaches`: attaches a new thread. `stamps`: takes the time; a step that only opens an entry does
// so later.
bool begin_slow_step(OmpStep* step, uint64_t frame, bool attaches);
void end_slow_step(OmpStep* step);

__attribute__((always_inline)) inline bool begin_step(OmpStep* step, uint64_t frame, bool attaches,
                                                      bool stamps = true) {
    if (stamps) step->now = read_tsc();
    step->thread = t_thread;
    if (begin_settled(step->thread, frame)) [[likely]] {
        step->slow = false;
        step->records = true;
        return true;
    }
    return begin_slow_step(step, frame, attaches);
}
__attribute__((always_inline)) inline void end_step(OmpStep* step) {
    if (step->slow) [[unlikely]] {
        end_slow_step(step);
    } else {
        end_change(step->thread);
    }
}

// Takes the time in a step that did not do so at its beginning.
inline void stamp(OmpStep* step) {
    if (!step->slow) step->now = read_tsc();
}

inline uint64_t now_virtual(const OmpStep& step) { return virtual_ticks(step.thread, step.now); }

// The node for `row` under `parent`; 0 when there is no room. Slow for a new node.
DWELL_COLD CellIndex make_omp_node(OmpStep* step, CellIndex parent, uint64_t row);
inline CellIndex omp_node(OmpStep* step, CellIndex parent, uint64_t row) {
    const KnownChild& known = step->thread->known_children[known_child_slot(row, 0, parent)];
    if (known.row == row && known.return_address == 0 && known.parent == parent) [[likely]]
        return known.node;
    return make_omp_node(step, parent, row);
}

// As push_entry(), with a known time of beginning.
inline ProbeEntry* push_entry_since(Thread* thread, CellIndex index, uint64_t row, uint64_t frame,
                                    uint32_t flags, uint64_t since) {
    Node* const node = cell_at<Node>(index);
    ProbeEntry* const entry = thread->on.top + 1;
    *entry = {frame, row, since, index, flags};
    node->count += 1;
    node->site.open += 1;
    thread->on.top = entry;
    *thread->on.depth += 1;
    thread->record->probes += 1;
    note_node(thread, index, EventKind::kEnter, since);
    return entry;
}

// ProbeEntryFlags for an entry of a node that may be shared or already open, or at which metrics
// may be read; reads them.
DWELL_COLD uint32_t flags_of_entry(OmpStep* step, CellIndex node);

// The thread starts to wait for work at the virtual time `virt`: metrics may be read.
DWELL_COLD void rest_counted(OmpStep* step, uint64_t virt);
inline void rest(OmpStep* step, uint64_t virt) {
    if (metrics_on()) [[unlikely]]
        rest_counted(step, virt);
}

// Counts, without time, a construct for which there is no entry.
DWELL_COLD void count_unopened(CellIndex node);

// Opens an entry for `node`, or one without a node when that is 0; null when there is no room. Its
// time begins at the virtual time `since`; 0: when this returns, or when a slow step began.
inline ProbeEntry* push_omp(OmpStep* step, CellIndex node, uint64_t row, uint64_t since = 0) {
    Thread* const thread = step->thread;
    if (thread->on.top == thread->on.limit) [[unlikely]] {
        count_unopened(node);
        return nullptr;
    }
    const uint64_t frame = thread->on.top->frame;
    if (node == 0) [[unlikely]] {
        push_without_node(thread, row, frame);
        return thread->on.top;
    }
    const bool otherwise = (cell_at<Node>(node)->site.flags & (kNodeFolded | kNodeRead)) != 0;
    const uint32_t flags = otherwise ? flags_of_entry(step, node) : 0;
    if (step->slow) [[unlikely]]
        since = now_virtual(*step);
    return since != 0 ? push_entry_since(thread, node, row, frame, flags, since)
                      : push_entry(thread, node, row, frame, flags);
}

// As push_omp() for an ancestor of the innermost entry's node (recursion): time returns to that
// node, if it is not open already, and stops for the nodes between.
DWELL_COLD ProbeEntry* push_recursion(OmpStep* step, CellIndex node, uint64_t row);
// Likewise for a node that may be shared by all paths.
DWELL_COLD ProbeEntry* push_elsewhere(OmpStep* step, CellIndex node, uint64_t row);

inline ProbeEntry* open_omp(OmpStep* step, uint64_t row) {
    const CellIndex parent = step->thread->on.top->node;
    const CellIndex node = step->records ? omp_node(step, parent, row) : 0;
    const bool is_child = node == 0 || cell_at<Node>(node)->parent == parent;
    ProbeEntry* const entry =
        is_child ? push_omp(step, node, row) : push_elsewhere(step, node, row);
    if (entry == nullptr) [[unlikely]]
        step->thread->omp.unopened += 1;
    return entry;
}

// Copies of nodes around a region get the region's time on this thread, so that no child is longer
// than its parent.
void add_to_copies(const Thread* thread, CellIndex node, uint64_t ticks);

// Closes the innermost entry, which ends at the virtual time `end`; returns its duration without
// the tasks executed in it.
uint64_t close_omp(Thread* thread, uint64_t end);

// True where the construct that ends next has no entry because there was no room. It lies within
// all entries, so it is gone when one of them is.
inline bool has_unopened(const Thread* thread) {
    return thread->omp.unopened != 0 && thread->on.top == thread->on.limit;
}
// Likewise at its end: there is nothing to close.
inline bool end_unopened(Thread* thread) {
    if (thread->omp.unopened == 0) [[likely]]
        return false;
    const bool ends = has_unopened(thread);
    thread->omp.unopened = ends ? thread->omp.unopened - 1 : 0;
    return ends;
}

// Closes the innermost entry of that construct. Entries opened after it and not closed, as of a
// user's block, continue in the node around. False when there is no such entry.
bool close_construct(OmpStep* step, OmpConstruct construct);

inline bool top_is(const Thread* thread, OmpConstruct construct) {
    return is_row_of(thread->on.top->row, construct);
}
inline bool has_node(const ProbeEntry* entry) { return (entry->row & kRowWithoutNode) == 0; }

// Marks a thread as idle until OpenMP has work for it; false: the observation ended and the
// thread's entries are closed.
inline void park(Thread* thread) {
    thread->omp.has_parked = true;
    thread->omp.parked.store(1, std::memory_order_release);
}
inline bool wake(Thread* thread) {
    if (!thread->omp.has_parked) return true;
    thread->omp.has_parked = false;
    return thread->omp.parked.exchange(0, std::memory_order_acquire) != 0;
}

// Adds the cost of an event to the overhead, unless the step's whole time is overhead.
inline void lose(const OmpStep& step, uint64_t ticks) {
    if (!step.slow) step.thread->slow_overhead += ticks;
}

// Real ticks without pauses as seen by the thread: comparable within a team, also for threads that
// came after a pause or were in a call during it and have less of it in their records.
inline uint64_t unpaused(const Thread* thread, uint64_t now) { return now - thread->paused_ticks; }
inline uint64_t real_of_unpaused(const Thread* thread, uint64_t unpaused_ticks) {
    return unpaused_ticks + thread->paused_ticks;
}

// When the thread continues, at the virtual time `virt`, as published to others: a slow step delays
// it for them.
inline DualTime resumes_at(const OmpStep& step, uint64_t virt) {
    const Thread* const thread = step.thread;
    if (step.slow) [[unlikely]]
        return {unpaused(thread, now_ticks()), virt};
    const ThreadRecord* const record = thread->record;
    const uint64_t real =
        virt + record->intrusion_ticks + record->paused_ticks + thread->slow_overhead;
    return {unpaused(thread, real), virt};
}

// The thread's current region; null when it is in none, or nested too deeply.
inline OmpLevel* omp_level(Thread* thread) {
    const uint32_t depth = thread->omp.depth;
    return depth != 0 && depth <= kOmpLevels ? &thread->omp.levels[depth - 1] : nullptr;
}

// The region whose threads take part in the barrier reported now. The barrier of a reduction over
// teams is reported in each team's region; no other may stand there (OpenMP 5.2, 10.2).
inline OmpLevel* collective_level(Thread* thread) {
    OmpLevel* const level = omp_level(thread);
    if (level == nullptr || level->team != nullptr || thread->omp.depth < 2) return level;
    const OmpTeam* const around = level[-1].team;
    const bool of_league = around != nullptr && around->construct == OmpConstruct::kTeams;
    return of_league ? level - 1 : level;
}

// Closes open worksharing constructs of the innermost region, where none can be under way: the
// runtime need not report the end of a cancelled one.
DWELL_COLD void close_open_worksharing(OmpStep* step);
inline void close_unfinished(OmpStep* step) {
    const Thread* const thread = step->thread;
    const OmpLevel* const level = omp_level(step->thread);
    if (level == nullptr || level->entry == 0) return;
    if (thread->on.top > thread->on.base + level->entry) [[unlikely]]
        close_open_worksharing(step);
}
inline void begin_worksharing(OmpStep* step, uint64_t address) {
    OmpLevel* const level = omp_level(step->thread);
    if (level == nullptr) return;
    close_unfinished(step);
    level->worksharing = address;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_ENTRIES_H_
