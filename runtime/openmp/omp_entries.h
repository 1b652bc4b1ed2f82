// Entries of OpenMP's constructs on the stack of open nodes, for omp_adapter.cpp and omp_tasks.cpp:
// a step of the adapter prepares the thread, works on its entries and ends (DESIGN 5.3).
#ifndef DWELL_RUNTIME_OPENMP_OMP_ENTRIES_H_
#define DWELL_RUNTIME_OPENMP_OMP_ENTRIES_H_

#include "runtime/measure/metrics.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/openmp/omp_team.h"
#include "runtime/probes/blocks.h"

namespace dwell {

inline OmpPart* omp_part(CellIndex node) { return cell_at<OmpPart>(cell_at<Node>(node)->part); }
// The thread waited in a region, with the work that it has there.
inline void add_omp_wait(Thread* thread, CellIndex node, uint64_t ticks) {
    omp_part(node)->wait_ticks += ticks;
    thread->omp.waited_ticks += ticks;
}

// Between begin_step() and end_step() the thread's entries may be changed; probes of signal
// handlers only count meanwhile.
struct OmpStep {
    Thread* thread;
    uint64_t now;  // real ticks: when the step began; known where that was asked for, or slow
    bool slow;     // its whole time is intrusion, or else that of a pair of blocks is
    bool records;  // entries that are opened have nodes
    int saved_errno;
};

// Where the return address of the function stands that calls this.
#define DWELL_OMP_FRAME() \
    (reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + sizeof(uint64_t))

// `attaches`: a thread that was never seen is from now on. `stamps`: the time is asked for, which
// what only opens an entry does later.
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

// For a step that did not ask for the time at once.
inline void stamp(OmpStep* step) {
    if (!step->slow) step->now = read_tsc();
}

inline uint64_t now_virtual(const OmpStep& step) { return virtual_ticks(step.thread, step.now); }

// The node for `row` under `parent`; 0 when there is no room. A new one is slow.
DWELL_COLD CellIndex make_omp_node(OmpStep* step, CellIndex parent, uint64_t row);
inline CellIndex omp_node(OmpStep* step, CellIndex parent, uint64_t row) {
    const KnownChild& known = step->thread->known_children[known_child_slot(row, 0, parent)];
    if (known.row == row && known.return_address == 0 && known.parent == parent) [[likely]]
        return known.node;
    return make_omp_node(step, parent, row);
}

// As push_entry(), of which the time is known.
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
    return entry;
}

// ProbeEntryFlags for an entry of a node that all paths share, which may be open already, or that
// metrics may be read at: they are, then.
DWELL_COLD uint32_t flags_of_entry(OmpStep* step, CellIndex node);

// The step's thread begins to wait for work, at the virtual time `virt`: metrics may be read.
DWELL_COLD void rest_counted(OmpStep* step, uint64_t virt);
inline void rest(OmpStep* step, uint64_t virt) {
    if (metrics_on()) [[unlikely]]
        rest_counted(step, virt);
}

// What finds no room for an entry is counted without time.
DWELL_COLD void count_unopened(CellIndex node);

// Opens an entry for `node`; one that only keeps step when that is 0; null when there is no room.
// Its time begins at the virtual time `since`; 0: at the end of this, or when a slow step began.
inline ProbeEntry* push_omp(OmpStep* step, CellIndex node, uint64_t row, uint64_t since = 0) {
    Thread* const thread = step->thread;
    if (thread->on.top == thread->on.limit) [[unlikely]] {
        count_unopened(node);
        return nullptr;
    }
    const uint64_t host = thread->on.top->frame;
    if (node == 0) [[unlikely]] {
        push_unbooked(thread, row, host);
        return thread->on.top;
    }
    const bool otherwise = (cell_at<Node>(node)->site.flags & (kNodeFolded | kNodeRead)) != 0;
    const uint32_t flags = otherwise ? flags_of_entry(step, node) : 0;
    ProbeEntry* const entry = since != 0 ? push_entry_since(thread, node, row, host, flags, since)
                                         : push_entry(thread, node, row, host, flags);
    if (step->slow) [[unlikely]]
        entry->entry_virtual = now_virtual(*step);
    return entry;
}

// True for a node that `from` is, or lies under.
bool is_on_path(CellIndex node, CellIndex from);
// As push_omp() for a node that the innermost entry lies under: time goes back to it. What lies
// between is not timed meanwhile, and the node itself only where it is not open already.
DWELL_COLD ProbeEntry* push_recursion(OmpStep* step, CellIndex node, uint64_t row);
// The same where it may as well be one that all paths share.
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

// What was copied around a region takes as long as the region on this thread: no child is longer
// than its parent.
void add_to_copies(const Thread* thread, CellIndex node, uint64_t ticks);

// Closes the innermost entry, whose time ends at the virtual time `end`: how long it was, without
// the tasks executed meanwhile.
uint64_t close_omp(Thread* thread, uint64_t end);

// True where what ends next found no room for an entry. That lies in all entries there are, so when
// one of them is gone it is gone, too.
inline bool has_unopened(const Thread* thread) {
    return thread->omp.unopened != 0 && thread->on.top == thread->on.limit;
}
// The same when it ends: nothing is to be closed.
inline bool ends_unopened(Thread* thread) {
    if (thread->omp.unopened == 0) [[likely]]
        return false;
    const bool ends = has_unopened(thread);
    thread->omp.unopened = ends ? thread->omp.unopened - 1 : 0;
    return ends;
}

// The same when it is of that construct; entries that were opened since and not closed, as those of
// a user's block, go on in what lies around it. False when there is no such entry.
bool close_construct(OmpStep* step, OmpConstruct construct);

inline bool top_is(const Thread* thread, OmpConstruct construct) {
    return is_row_of(thread->on.top->row, construct);
}
inline bool is_booked(const ProbeEntry* entry) { return (entry->row & kRowUnbooked) == 0; }

// For a thread that does nothing until OpenMP has work for it; false: the observation ended
// meanwhile, and the thread's entries are closed.
inline void park(Thread* thread) {
    thread->omp.has_parked = true;
    thread->omp.parked.store(1, std::memory_order_release);
}
inline bool wake(Thread* thread) {
    if (!thread->omp.has_parked) return true;
    thread->omp.has_parked = false;
    return thread->omp.parked.exchange(0, std::memory_order_acquire) != 0;
}

// Dwell's own part of an event takes so long, unless the step's whole time is intrusion.
inline void lose(const OmpStep& step, uint64_t ticks) {
    if (!step.slow) step.thread->slow_overhead += ticks;
}

// Real ticks without the process's pauses, as the thread has seen them: the same for all of a team,
// also for who came after a pause or was in a call in it, and has less of it in its record.
inline uint64_t unpaused(const Thread* thread, uint64_t now) { return now - thread->paused_ticks; }
inline uint64_t real_of_unpaused(const Thread* thread, uint64_t unpaused_ticks) {
    return unpaused_ticks + thread->paused_ticks;
}

// When the thread goes on, at the virtual time `virt`, for others that will see it: a slow step
// delays it for them.
inline DualTime goes_on_at(const OmpStep& step, uint64_t virt) {
    const Thread* const thread = step.thread;
    if (step.slow) [[unlikely]]
        return {unpaused(thread, now_ticks()), virt};
    const ThreadRecord* const record = thread->record;
    const uint64_t real =
        virt + record->intrusion_ticks + record->paused_ticks + thread->slow_overhead;
    return {unpaused(thread, real), virt};
}

// The level that the thread is at; null when it is in no region, or too deep.
inline OmpLevel* omp_level(Thread* thread) {
    const uint32_t depth = thread->omp.depth;
    return depth != 0 && depth <= kOmpLevels ? &thread->omp.levels[depth - 1] : nullptr;
}

// The one whose threads meet at a barrier that is told now. Teams that reduce meet at one that is
// told in the region of each; no other may stand there (OpenMP 5.2, 10.2).
inline OmpLevel* collective_level(Thread* thread) {
    OmpLevel* const level = omp_level(thread);
    if (level == nullptr || level->team != nullptr || thread->omp.depth < 2) return level;
    const OmpTeam* const around = level[-1].team;
    const bool of_league = around != nullptr && around->construct == OmpConstruct::kTeams;
    return of_league ? level - 1 : level;
}

// Ends the worksharing constructs of the innermost region that are open: of one that was cancelled
// the runtime need not tell the end. For where none can be under way.
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
