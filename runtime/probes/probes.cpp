// The slow path of probes: new paths, recursion, frames left by a throw or a jump, changes of what
// is recorded; and opening and closing of entries, shared by all paths (DESIGN 3, 4). Stacks:
// probe_stacks.cpp.
#include "runtime/probes/probes.h"

#include <errno.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/calltree/modules.h"
#include "runtime/measure/metrics.h"
#include "runtime/probes/function_clones.h"
#include "runtime/probes/probe_control.h"
#include "runtime/process/injection.h"
#include "runtime/process/reset.h"

uint32_t dwell_vector_mask = 0;
uint32_t dwell_vector_bytes = 0;

namespace dwell {

namespace {

Thread* attach_now() {
    if (t_in_guard != 0) return nullptr;
    const int saved_errno = errno;
    Thread* thread = attach_for_probe();
    errno = saved_errno;
    return thread;
}

// False where probes at `frame` only count: in signal handlers that interrupt dwell, after vfork,
// and inside communication statements. Notices when one of these was left by a throw or a jump.
bool may_record(Thread* thread, uint64_t frame) {
    if (thread->vforked || t_in_guard != 0) return false;
    if (thread->in_tool && !recover_after_jump(thread, frame)) return false;
    if (thread->open == nullptr) return true;
    if (frame < reinterpret_cast<uint64_t>(thread->open) || !lies_on(thread->stacks[0], frame)) {
        return false;
    }
    record_abandoned(thread);
    leave_lost_call_windows(thread);
    return true;
}

bool is_stopped(const ProbeEntry& entry) {
    return (entry.flags & (kEntryStopped | kEntryAway)) != 0;
}
bool is_timed(const ProbeEntry& entry) {
    return (entry.flags & kEntryUntimed) == 0 || is_stopped(entry);
}
uint64_t time_so_far(const ProbeEntry& entry, uint64_t now_virtual) {
    if (is_stopped(entry)) return entry.entry_virtual;
    return now_virtual > entry.entry_virtual ? now_virtual - entry.entry_virtual : 0;
}

Site closed_site(CellIndex index) {
    Site site = cell_at<Node>(index)->site;
    site.open = 0;
    return site;
}

}  // namespace

void close_entry(Thread* thread, uint64_t now, bool abandoned) {
    const ProbeEntry& entry = *thread->on.top;
    if ((entry.row & kRowWithoutNode) != 0) {
        pop_without_node(thread);
        return;
    }
    Node* node = cell_at<Node>(entry.node);
    if (node->site.open != 0) node->site.open -= 1;
    const uint64_t end = virtual_ticks(thread, now);
    const bool called = (entry.row & kRowCalled) != 0;
    const bool is_construct = (entry.row & kRowOmp) != 0;
    const uint64_t inner = is_construct ? g_process.omp.inner
                           : called     ? g_process.block_inner_ticks
                                        : g_process.probe_inner_ticks;
    resume_between(thread->on.base, thread->on.top, end, is_construct ? 0 : inner);
    const uint64_t took = time_so_far(entry, end);
    const uint64_t ticks = took > inner ? took - inner : 0;
    if (is_timed(entry)) node->ticks += ticks;
    const bool moved = (entry.row & kRowMoved) != 0;
    const MovedEntry before = moved ? *moved_entry(thread->on, &entry) : MovedEntry{};
    Node* const origin = moved ? cell_at<Node>(before.origin) : node;
    if (moved ? before.untimed == 0 : is_timed(entry)) {
        add_limits(origin, before.ticks + ticks);
    } else if (origin->part != 0) {
        cell_at<ProbePart>(origin->part)->untimed += 1;
    }
    if (abandoned && ensure_part(thread, origin)) cell_at<ProbePart>(origin->part)->abandoned += 1;
    if ((entry.flags & kEntryRead) != 0) {
        read_at_exit(thread, &entry, is_timed(entry) ? ticks : 0, true, end);
    }
    if (has_end(thread, entry)) note_node(thread, entry.node, EventKind::kLeave, end);
    const bool in_window = (entry.flags & kEntryWindow) != 0;
    thread->on.top -= 1;
    *thread->on.depth -= 1;
    if (in_window) leave_event_window(thread, end);
}

void suspend_entry(Thread* thread, uint64_t now) {
    ProbeEntry& entry = *thread->on.top;
    if ((entry.row & kRowWithoutNode) != 0) {
        pop_without_node(thread);
        return;
    }
    Node* node = cell_at<Node>(entry.node);
    node->site.open -= 1;
    thread->record->probes -= 1;
    const uint64_t end = virtual_ticks(thread, now);
    resume_between(thread->on.base, thread->on.top, end, 0);
    const uint64_t took = is_timed(entry) ? time_so_far(entry, end) : 0;
    node->ticks += took;
    if ((entry.flags & kEntryRead) != 0) read_at_exit(thread, &entry, took, false, end);
    MovedEntry* const moved = moved_entry(thread->on, &entry);
    if ((entry.row & kRowOmp) != 0) {
        node->count -= 1;
    } else if ((entry.row & kRowMoved) != 0) {
        moved->ticks += took;
    } else {
        *moved = {took, entry.node, is_timed(entry) ? 0u : 1u};
        entry.row |= kRowMoved;
    }
    if (has_end(thread, entry)) note_move(thread, entry.node, EventKind::kLeave, end);
    thread->on.top -= 1;
    *thread->on.depth -= 1;
}

void resume_entry(Thread* thread, const ProbeEntry* suspended, uint64_t now) {
    // Copies, because both may be overwritten.
    const ProbeEntry entry = *suspended;
    const MovedEntry moved = *moved_entry(thread->on, suspended);
    const bool block = (entry.row & (kRowBlock | kRowOmp)) != 0;
    const uint64_t frame = block ? thread->on.top->frame : entry.frame;
    FoundNode found{0, EnterKind::kChild};
    if ((entry.row & kRowWithoutNode) == 0) {
        const Site site = closed_site(entry.node);
        const Site call = closed_site(cell_at<Node>(entry.node)->parent);
        found = find_node(thread, thread->on.top->node, site, &call);
        if (found.node != 0 && !ensure_part(thread, cell_at<Node>(found.node))) found.node = 0;
    }
    if (found.node == 0) {
        push_without_node(thread, entry.row & ~kRowMoved, frame);
        if ((entry.flags & kEntryWindow) != 0)
            leave_event_window(thread, virtual_ticks(thread, now));
        return;
    }
    open_entry(thread, entry.row, frame, found, now);
    thread->on.top->flags |= entry.flags & kEntryWindow;
    note_move(thread, found.node, EventKind::kEnter, thread->on.top->entry_virtual);
    if ((entry.row & kRowMoved) == 0) return;
    cell_at<Node>(found.node)->count -= 1;
    *moved_entry(thread->on, thread->on.top) = moved;
}

namespace {

// Closes loops of the same frame that do not enclose `row`, left by an exception that this
// procedure caught or by a jump, and an earlier iteration of `row` itself.
void drop_left_loops(Thread* thread, const SiteRow* row, uint64_t frame, uint64_t now) {
    while (thread->on.top->frame == frame) {
        if ((thread->on.top->row & kRowCalled) != 0) return;  // loops inside blocks stay
        const auto* top = reinterpret_cast<const SiteRow*>(thread->on.top->row & kRowAddress);
        if (top != row && encloses(top, row)) return;
        close_entry(thread, now, true);
    }
}

Site site_of_row(Thread* thread, const SiteRow* row) {
    const auto address = reinterpret_cast<uintptr_t>(row);
    const ModulePlace place = place_of_address(thread, address);
    Site site{};
    site.module = place.module;
    site.offset = place.offset;
    site.kind = row->kind;
    if (place.module == 0) site.flags = kNodeForeign;
    return site;
}

// The loop or procedure around a loop, if its probes are not off.
const SiteRow* watched_around(const SiteRow* loop) {
    const SiteRow* row = loop;
    do {
        if (row->kind == SiteKind::kProcedure || row->enclosing >= 0) return nullptr;
        row += row->enclosing;
    } while (row->level == 0 || level_of(row) == kLevelOff);
    return row;
}

// Whether a counted loop lies in a site that is only counted, too, and so is not open around it.
bool rests_with(const Thread* thread, const SiteRow* row, uint64_t frame) {
    return row->kind == SiteKind::kLoop && thread->on.top->frame != frame &&
           watched_around(row) != nullptr;
}

// The node for a probe, with the second line that a loop, a recursion or a counted site needs. The
// nodes of counted sites lie below those of the sites around them, as if these were open.
FoundNode find_node_of_row(Thread* thread, const SiteRow* row, const uint64_t* slot, bool counted) {
    Site call{};
    CellIndex parent = thread->on.top->node;
    if (row->kind == SiteKind::kProcedure) call = site_of_call(thread, *slot);
    if (counted && rests_with(thread, row, reinterpret_cast<uint64_t>(slot))) {
        parent = find_node_of_row(thread, watched_around(row), slot, true).node;
        if (parent == 0) return {0, EnterKind::kChild};
    }
    Site site = site_of_row(thread, row);
    join_clones(row, parent, &site);
    FoundNode found = find_node(thread, parent, site, &call);
    const bool lasting = counted || row->kind == SiteKind::kLoop;
    if (found.node != 0 && lasting && !ensure_part(thread, cell_at<Node>(found.node))) {
        found.node = 0;
    }
    if (found.node != 0 && chooses_places() && cell_at<Node>(found.node)->count == 0)
        choose_events(found.node, event_flags_of_row(row));
    return found;
}

// Caches the child of the innermost entry. For a counted loop in a site that is not open, the cache
// key includes the statement that called that site.
void remember_child(Thread* thread, const SiteRow* row, const uint64_t* slot, CellIndex node,
                    EnterKind enter_kind) {
    const auto key = reinterpret_cast<uint64_t>(row);
    const CellIndex parent = thread->on.top->node;
    auto remember = [&](uint64_t return_address, EnterKind by) {
        thread->known_children[known_child_slot(key, return_address, parent)] = {
            key, return_address, parent, node, 0, by};
    };
    const bool procedure = row->kind == SiteKind::kProcedure;
    const bool rests = enter_kind == EnterKind::kCounted &&
                       rests_with(thread, row, reinterpret_cast<uint64_t>(slot));
    if (procedure || rests) remember(*slot, enter_kind);
    if (!procedure) remember(0, rests ? EnterKind::kByCall : enter_kind);
}

// Charges a slow probe of an existing node to control, because fast probes are charged a constant
// for each countdown step.
void charge_control(Thread* thread, uint64_t start) {
    thread->probe_lost_ticks += cost_of_slow(now_ticks() - start);
}
void count_down(Thread* thread, const SiteRow* row, const uint64_t* slot, bool counted) {
    thread->probe_lost_ticks -= counted ? g_process.probe_count_ticks : g_process.probe_cost_ticks;
    uint32_t* countdown = counted ? &thread->count_countdown : &thread->probe_countdown;
    if (--*countdown == 0) control_slowly(row, slot, 0);
}

// A leave while the process is paused: the entry's time ended when the pause began; no overhead.
void leave_in_pause(Thread* thread, const SiteRow* row, uint64_t iterations) {
    thread->in_tool.begin();
    Node* node = counting_node(thread->on, thread->on.top);
    if (row->kind == SiteKind::kLoop) cell_at<ProbePart>(node->part)->iterations += iterations;
    close_entry(thread, g_live->pause_start, false);
    thread->in_tool.end();
}

}  // namespace

bool SlowProbe::notice() {
    if (thread_->probe_ticket == live_ticket()) return true;
    const uint64_t resets = thread_->resets;
    const bool good = notice_probes(thread_);
    if (thread_->resets != resets) start_ = now_ticks();  // earlier overhead was reset
    if (good && g_process.inject_ticks != 0) inject(thread_);
    return good;
}

Thread* probing_thread(uint64_t frame) {
    Thread* thread = t_thread;
    if (thread == nullptr) thread = attach_now();
    if (thread == nullptr || g_live->on == 0) return nullptr;
    if (may_record(thread, frame)) return thread;
    thread->record->probes_missed += 1;
    return nullptr;
}

Thread* recording_thread(uint64_t frame) {
    if (t_thread != nullptr && live_ticket() == 0) return nullptr;
    Thread* thread = probing_thread(frame);
    return live_ticket() != 0 ? thread : nullptr;
}

Thread* entered_thread(uint64_t frame) {
    Thread* thread = t_thread;
    if (thread == nullptr || thread->stacks[0].base == nullptr) return nullptr;
    return may_record(thread, frame) ? thread : nullptr;
}

bool ensure_part(Thread* thread, Node* node) {
    if (node->part != 0) return true;
    node->part = take_cells(thread, 1);
    return node->part != 0;
}

void drop_gone(Thread* thread, uint64_t frame, uint64_t now) {
    while (thread->on.top->frame < frame) close_entry(thread, now, true);
}

FoundNode find_node(Thread* thread, CellIndex parent, const Site& site, const Site* call) {
    if (is_over_budget()) {
        const CellIndex flat = child_of(thread, thread->record->root, site);
        if (flat == 0 || !ensure_part(thread, cell_at<Node>(flat))) return {0, EnterKind::kShared};
        cell_at<Node>(flat)->site.flags |= kNodeFolded;
        return {flat, EnterKind::kShared};
    }
    if (site.kind == SiteKind::kProcedure || site.kind == SiteKind::kBlock) {
        if (const CellIndex at = node_on_path(parent, site)) {
            if (!ensure_part(thread, cell_at<Node>(at))) return {0, EnterKind::kRecursiveSelf};
            return {at, at == parent ? EnterKind::kRecursiveSelf : EnterKind::kRecursiveOuter};
        }
    }
    if (site.kind == SiteKind::kProcedure) {
        parent = child_of(thread, parent, *call);
        if (parent == 0) return {0, EnterKind::kChild};
    }
    return {child_of(thread, parent, site), EnterKind::kChild};
}

void open_entry(Thread* thread, uint64_t row, uint64_t frame, const FoundNode& found,
                uint64_t now) {
    Node* node = cell_at<Node>(found.node);
    ProbeEntry* entry = thread->on.top + 1;
    const bool untimed = found.enter_kind != EnterKind::kChild && node->site.open != 0;
    const uint64_t virt = virtual_ticks(thread, now);
    const bool read =
        found.enter_kind == EnterKind::kChild && read_at_entry(thread, found.node, virt);
    *entry = {frame, row, virt, found.node,
              (untimed ? uint32_t{kEntryUntimed} : 0) | (read ? uint32_t{kEntryRead} : 0)};
    node->site.open += 1;
    node->count += 1;
    thread->on.top = entry;
    *thread->on.depth += 1;
    thread->record->probes += 1;
    if (found.enter_kind == EnterKind::kRecursiveOuter && untimed) {
        stop_between(thread->on.base, entry, entry->entry_virtual);
    }
}

void begin_slow_entry(Thread* thread) {
    ProbeEntry* const entry = thread->on.top;
    if (opens_windows(entry->node)) [[unlikely]] {
        const SlowWork work(thread);
        if (enter_event_window(thread, entry->node, virtual_ticks(thread, work.start())))
            entry->flags |= kEntryWindow;
        entry->flags &= ~uint32_t{kEntrySwitched};  // its enter comes now
    }
    // The time of those that it has stopped ended before.
    if ((entry->flags & kEntryHolds) == 0)
        entry->entry_virtual = virtual_ticks(thread, now_ticks());
    note_node(thread, entry->node, EventKind::kEnter, entry->entry_virtual);
}

void close_with(Thread* thread, ProbeEntry* own, uint64_t now, bool blocks_only) {
    ProbeEntry* const end = thread->on.top + 1;
    while (thread->on.top != own) {
        ProbeEntry* const entry = thread->on.top;
        if (blocks_only && (entry->row & kRowBlock) == 0) {
            // gcc emits no end of a `single` construct.
            close_entry(thread, now, (entry->row & kRowOmp) == 0);
            entry->row = 0;
        } else {
            suspend_entry(thread, now);
        }
    }
    close_entry(thread, now, false);
    for (const ProbeEntry* at = own + 1; at != end; ++at) {
        if (at->row != 0) resume_entry(thread, at, now);
    }
}

void close_slowly(Thread* thread, uint64_t now) {
    const int saved_errno = errno;
    close_entry(thread, now, false);
    thread->slow_overhead += now_ticks() - now;
    errno = saved_errno;
}

void find_vector_registers() {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned kOsXsave = 1u << 27;  // CPUID 1, ECX: the system uses xsave
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) return;
    unsigned enabled = 0;
    unsigned high = 0;
    asm("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    constexpr unsigned kVectors = 0xe7;  // x87, SSE, AVX and the three parts of AVX-512
    unsigned bytes = 512 + 64;           // legacy area and header (Intel SDM 1, 13.4)
    for (unsigned part = 2; part < 8; ++part) {
        if ((enabled & kVectors & (1u << part)) == 0) continue;
        if (__get_cpuid_count(0xd, part, &a, &b, &c, &d) == 0) return;
        if (a + b > bytes) bytes = a + b;
    }
    dwell_vector_mask = enabled & kVectors;
    dwell_vector_bytes = bytes;
#endif
}

bool notice_probes(Thread* thread) {
    // Before what it stands for is looked at: what changes meanwhile is noticed by the next probe.
    const uint64_t ticket = __atomic_load_n(&g_live->ticket, __ATOMIC_ACQUIRE);
    if (thread->epoch != g_live->epoch) apply_changes(thread);
    // Without a time stamp counter, or with an injected delay, every probe takes the slow path, and
    // nothing is cached.
    if (!g_process.use_tsc || g_process.inject_ticks != 0) return ticket != 0;
    thread->probe_ticket = ticket;
    if (ticket != 0) end_switched_off_entries(thread);
    memset(static_cast<void*>(thread->known_children), 0, sizeof(thread->known_children));
    return ticket != 0;
}

// Whether the innermost entry also stands for `row`, a part that the compiler split off.
static bool is_entered_part(const ProbeEntry& top, const SiteRow* row) {
    if ((top.row & (kRowCalled | kRowWithoutNode)) != 0 || (top.row & kRowAddress) == 0)
        return false;
    return is_part_of(row, reinterpret_cast<const SiteRow*>(top.row & kRowAddress));
}

void enter_slowly(const SiteRow* row, const uint64_t* slot, uint64_t) {
    const auto frame = reinterpret_cast<uint64_t>(slot);
    Thread* thread = recording_thread(frame);
    if (thread == nullptr) return;
    const bool procedure = row->kind == SiteKind::kProcedure;
    const uint8_t level = level_of(row);
    bool counted = level == kLevelCount || level == kLevelTried;
    {
        SlowProbe work(thread);
        if (!work.notice()) return;
        const uint64_t start = work.start();
        if (!change_stack(thread, frame, start)) {
            thread->record->probes_dropped += 1;
            return;
        }
        drop_gone(thread, procedure ? frame + 1 : frame, start);
        if (!procedure) drop_left_loops(thread, row, frame, start);
        const bool too_deep = thread->on.top == thread->on.limit;
        const auto key = reinterpret_cast<uint64_t>(row);
        if (!too_deep && procedure && is_entered_part(*thread->on.top, row)) {
            remember_child(thread, row, slot, thread->on.top->node, EnterKind::kForeign);
            push_without_node(thread, key, frame);
            return;
        }
        const FoundNode found = find_node_of_row(thread, row, slot, counted || too_deep);
        if (found.node == 0) {
            thread->record->probes_dropped += 1;
            return;
        }
        if (counted || !opens_windows(found.node)) {
            remember_child(thread, row, slot, found.node,
                           counted ? EnterKind::kCounted : cached_enter_kind(found.enter_kind));
        }
        counted = counted || too_deep;
        Node* node = cell_at<Node>(found.node);
        if (counted) {
            count_reduced(thread, node, row);
        } else {
            open_entry(thread, key, frame, found, start);
        }
        // Reading metrics is limited separately (metrics.h).
        const bool read = !counted && (thread->on.top->flags & kEntryRead) != 0;
        if (node->count > 1 && !read) charge_control(thread, start);
    }
    if (!counted) {
        begin_slow_entry(thread);
    } else {
        count_down(thread, row, slot, true);
    }
}

void leave_slowly(const SiteRow* row, const uint64_t* slot, uint64_t iterations) {
    const auto frame = reinterpret_cast<uint64_t>(slot);
    Thread* thread = entered_thread(frame);
    if (thread == nullptr) return;
    if (live_ticket() == 0) {
        if (g_live->paused != 0) leave_in_pause(thread, row, iterations);
        return;
    }
    {
        SlowProbe work(thread);
        if (!work.notice()) return;
        const uint64_t start = work.start();
        if (!change_stack(thread, frame, start)) return;
        drop_gone(thread, frame, start);
        const auto key = reinterpret_cast<uint64_t>(row);
        ProbeEntry* own = thread->on.top;
        while (own->frame == frame && (own->row & ~(kRowMoved | kRowWithoutNode)) != key) --own;
        if (own->frame != frame) return;  // off at its entry
        Node* node = counting_node(thread->on, own);
        if (row->kind == SiteKind::kLoop && node->part != 0) {
            cell_at<ProbePart>(node->part)->iterations += iterations;
        }
        const bool read = (own->flags & kEntryRead) != 0;
        close_with(thread, own, start, true);
        if (!read) charge_control(thread, start);
    }
    count_down(thread, row, slot, false);
}

void landed_slowly(const SiteRow* row, const uint64_t* slot, uint64_t) {
    const auto frame = reinterpret_cast<uint64_t>(slot);
    Thread* thread = entered_thread(frame);
    if (thread == nullptr || live_ticket() == 0) return;
    SlowProbe work(thread);
    if (!work.notice()) return;
    if (!change_stack(thread, frame, work.start())) return;
    drop_gone(thread, frame, work.start());
    while (thread->on.top->frame == frame && is_left_loop(*thread->on.top, row)) {
        close_entry(thread, work.start(), true);
    }
}

void end_switched_off_entries(Thread* thread) {
    for (ProbeEntry* entry = thread->on.top; entry != thread->on.base; --entry) {
        if ((entry->row & ~(kRowAddress | kRowMoved)) != 0) continue;
        const uint64_t when =
            switched_off_at(reinterpret_cast<const SiteRow*>(entry->row & kRowAddress));
        if (when != 0) close_with(thread, entry, when, false);
    }
}

}  // namespace dwell
