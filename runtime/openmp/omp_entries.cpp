// Steps of the OpenMP adapter and entries of its constructs.
#include "runtime/openmp/omp_entries.h"

#include <errno.h>

#include "runtime/calls/callpath.h"
#include "runtime/measure/metrics.h"
#include "runtime/openmp/omp_calibration.h"

namespace dwell {

bool begin_slow_step(OmpStep* step, uint64_t frame, bool attaches) {
    Thread* thread = nullptr;
    if (attaches) {
        step->now = now_ticks();
        thread = probing_thread(frame);
        // The cost of attaching is already recorded.
        if (thread != nullptr && thread->attached_ticks >= step->now) step->now = now_ticks();
    } else if (g_live->on != 0) {
        thread = entered_thread(frame);
        step->now = now_ticks();
    }
    if (thread == nullptr) return false;
    step->thread = thread;
    step->slow = true;
    step->saved_errno = errno;
    thread->in_tool.begin();
    const uint64_t resets = thread->resets;
    const bool settled = settle(thread, frame, step->now);
    if (thread->resets != resets) step->now = now_ticks();  // earlier overhead was reset
    step->records = live_ticket() != 0;
    if (g_omp_uncalibrated.load(std::memory_order_relaxed)) calibrate_omp_now(thread);
    step->now = recording_now(step->now);
    if (settled) return true;
    thread->record->probes_dropped += 1;
    end_slow_step(step);
    return false;
}

void end_slow_step(OmpStep* step) {
    Thread* const thread = step->thread;
    // While recording is off, time belongs to nobody.
    if (live_ticket() != 0) thread->slow_overhead += now_ticks() - step->now;
    thread->in_tool.end();
    errno = step->saved_errno;
}

CellIndex make_omp_node(OmpStep* step, CellIndex parent, uint64_t row) {
    Thread* const thread = step->thread;
    const uint64_t start = now_ticks();
    const int saved_errno = errno;
    Site site = site_of_call(thread, row & kRowAddress);
    site.kind = SiteKind::kOpenMp;
    site.call = static_cast<uint16_t>((row & ~kRowOmp) >> kRowCallShift);
    FoundNode found{0, EnterKind::kRecursiveOuter};
    if (may_hold_itself(static_cast<OmpConstruct>(site.call)) && !is_over_budget()) {
        found.node = node_on_path(parent, site);
    }
    if (found.node == 0) found = find_node(thread, parent, site, nullptr);
    if (found.node == 0) {
        thread->record->probes_dropped += 1;
    } else {
        thread->known_children[known_child_slot(row, 0, parent)] = {
            row, 0, parent, found.node, 0, found.enter_kind};
    }
    errno = saved_errno;
    if (!step->slow) thread->slow_overhead += now_ticks() - start;
    return found.node;
}

uint32_t flags_of_entry(OmpStep* step, CellIndex index) {
    const Node* const node = cell_at<Node>(index);
    if ((node->site.flags & kNodeFolded) != 0) {
        return node->site.open != 0 ? uint32_t{kEntryUntimed} : 0;
    }
    if (!metrics_on() || !is_due(node)) return 0;
    const uint64_t start = now_ticks();
    const uint64_t virt = step->slow ? now_virtual(*step) : virtual_ticks(step->thread, start);
    const bool read = read_at_entry(step->thread, index, virt);
    if (!step->slow && read) step->thread->slow_overhead += now_ticks() - start;
    return read ? uint32_t{kEntryRead} : 0;
}

void rest_counted(OmpStep* step, uint64_t virt) {
    const uint64_t start = now_ticks();
    const bool read = read_at_rest(step->thread, virt);
    if (!step->slow && read) step->thread->slow_overhead += now_ticks() - start;
}

namespace {

DWELL_COLD void read_at_close(Thread* thread, uint64_t ticks, uint64_t end) {
    const uint64_t start = now_ticks();
    read_at_exit(thread, thread->on.top, ticks, true, end);
    thread->slow_overhead += now_ticks() - start;
}

// Time of an entry that is or holds a recursion; 0 where it belongs to another entry.
DWELL_COLD uint64_t record_otherwise(Thread* thread, const ProbeEntry* entry, uint64_t end) {
    Node* const node = cell_at<Node>(entry->node);
    resume_between(thread->on.base, thread->on.top, end, 0);
    const bool stopped = (entry->flags & (kEntryStopped | kEntryAway)) != 0;
    if ((entry->flags & kEntryUntimed) != 0 && !stopped) {
        cell_at<OmpPart>(node->part)->untimed += 1;
        return 0;
    }
    if (stopped) release_axis(thread);  // a cancelled region drops the task that stopped it
    const uint64_t took = stopped ? entry->entry_virtual : beyond(end, entry->entry_virtual);
    const uint64_t ticks = beyond(took, g_process.omp.inner);
    add_time(node, ticks);
    if ((entry->flags & kEntryHolds) != 0) add_to_copies(thread, entry->node, ticks);
    return ticks;
}

}  // namespace

void count_unopened(CellIndex node) {
    if (node == 0) return;
    cell_at<Node>(node)->count += 1;
    omp_part(node)->untimed += 1;
}

ProbeEntry* push_recursion(OmpStep* step, CellIndex index, uint64_t row) {
    Thread* const thread = step->thread;
    if (thread->on.top == thread->on.limit) {
        count_unopened(index);
        return nullptr;
    }
    const bool is_open = cell_at<Node>(index)->site.open != 0;
    const uint32_t flags = is_open ? uint32_t{kEntryUntimed} : 0;
    const uint64_t frame = thread->on.top->frame;
    ProbeEntry* const entry =
        step->slow ? push_entry_since(thread, index, row, frame, flags, now_virtual(*step))
                   : push_entry(thread, index, row, frame, flags);
    stop_between(thread->on.base, entry, entry->entry_virtual);
    return entry;
}

ProbeEntry* push_elsewhere(OmpStep* step, CellIndex index, uint64_t row) {
    const bool is_shared = (cell_at<Node>(index)->site.flags & kNodeFolded) != 0;
    return is_shared || !is_on_path(index, step->thread->on.top->node)
               ? push_omp(step, index, row)
               : push_recursion(step, index, row);
}

void add_to_copies(const Thread* thread, CellIndex node, uint64_t ticks) {
    const CellIndex root = thread->record->root;
    for (CellIndex at = cell_at<Node>(node)->parent; at != root; at = cell_at<Node>(at)->parent) {
        Node* const around = cell_at<Node>(at);
        if (around->site.kind != SiteKind::kCall) around->ticks += ticks;
    }
}

uint64_t close_omp(Thread* thread, uint64_t end) {
    ProbeEntry* const top = thread->on.top;
    if ((top->row & kRowWithoutNode) != 0) [[unlikely]] {
        pop_without_node(thread);
        return 0;
    }
    Node* const node = cell_at<Node>(top->node);
    node->site.open -= 1;
    uint64_t ticks = 0;
    if ((top->flags & ~kEntryRead) == 0) [[likely]] {
        const uint64_t begin = top->entry_virtual + g_process.omp.inner;
        ticks = end > begin ? end - begin : 0;
        add_time(node, ticks);
    } else {
        ticks = record_otherwise(thread, top, end);
    }
    if ((top->flags & kEntryRead) != 0) [[unlikely]]
        read_at_close(thread, ticks, end);
    if (has_end(thread, *top)) note_node(thread, node, top->node, EventKind::kLeave, end);
    thread->on.top -= 1;
    *thread->on.depth -= 1;
    thread->slow_overhead += g_process.omp.pair;
    return ticks;
}

bool close_construct(OmpStep* step, OmpConstruct construct) {
    Thread* const thread = step->thread;
    if (end_unopened(thread)) [[unlikely]]
        return true;
    if (top_is(thread, construct)) [[likely]] {
        close_omp(thread, now_virtual(*step));
        return true;
    }
    const OmpLevel* const level = omp_level(thread);
    ProbeEntry* const least = thread->on.base + (level != nullptr ? level->entry : 0);
    ProbeEntry* own = thread->on.top;
    while (own > least && !is_row_of(own->row, construct)) --own;
    if (own <= least) return false;
    close_with(thread, own, step->now, false);
    return true;
}

void close_open_worksharing(OmpStep* step) {
    Thread* const thread = step->thread;
    const ProbeEntry* const region = thread->on.base + omp_level(thread)->entry;
    for (ProbeEntry* entry = thread->on.top; entry > region; --entry) {
        if ((entry->row & kRowOmp) == 0) continue;
        if (!is_omp_worksharing(construct_of_row(entry->row))) continue;
        stamp(step);
        close_with(thread, entry, step->now, false);
    }
}

}  // namespace dwell
