// Regions and barriers; loops: omp_loops.cpp, tasks: omp_tasks.cpp.
//
// The virtual clock of a team: a thread that begins to execute a region takes over the forking
// thread's overhead and drops its own; at a barrier the collective rule of DESIGN 4 holds. So
// overhead of one thread that the others wait for is removed from all.
//
// The OpenMP runtime reports that a thread left the last barrier of a region only when there is new
// work, or at the thread's end. Its region ended when the last thread arrived; from then on the
// thread is idle and parked: the thread that ends the observation may close its entries.
#include "runtime/openmp/omp_adapter.h"

#include <errno.h>

#include "runtime/calls/records.h"
#include "runtime/measure/processor_time.h"
#include "runtime/openmp/omp_calibration.h"
#include "runtime/openmp/omp_entries.h"
#include "runtime/probes/probe_control.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

bool g_omp_reports_chunks = false;

namespace {

// Sets the thread's virtual time at the real time `now` to `virt`. Overhead taken over counts as
// slow work, as far as the time since the last call allows, so that it is no computation; the next
// call would give back more than that. A reduction is taken first from slow work, then from older
// overhead: then more virtual than real time has passed since that call.
void set_virtual(Thread* thread, uint64_t now, uint64_t virt) {
    const uint64_t before = virtual_ticks(thread, now);
    if (before >= virt) {
        const uint64_t more = before - virt;
        const uint64_t since = beyond(now, thread->last_ticks);
        const uint64_t slow = earlier(more, beyond(since, thread->slow_overhead));
        thread->slow_overhead += slow;
        thread->record->intrusion_ticks += more - slow;
        return;
    }
    uint64_t less = virt - before;
    const uint64_t of_slow = earlier(less, thread->slow_overhead);
    thread->slow_overhead -= of_slow;
    const uint64_t of_older = earlier(less - of_slow, thread->record->intrusion_ticks);
    thread->record->intrusion_ticks -= of_older;
    thread->separate_ticks -= of_older;
}

// Copies the parallel region's node, with its ancestors, into the tree of a thread that did not
// fork it.
CellIndex copy_node(Thread* thread, CellIndex from) {
    const Node* const node = cell_at<Node>(from);
    if (node->parent == 0) return thread->record->root;
    const CellIndex parent = copy_node(thread, node->parent);
    if (parent == 0) return 0;
    Site site = node->site;
    site.open = 0;
    return child_of(thread, parent, site);
}

DWELL_COLD CellIndex make_copy(OmpStep* step, const OmpTeam* team, uint64_t row) {
    Thread* const thread = step->thread;
    const uint64_t start = now_ticks();
    const int saved_errno = errno;
    const CellIndex root = thread->record->root;
    CellIndex node = 0;
    if (!is_over_budget()) {
        node = copy_node(thread, team->node);
    } else {
        Site site = cell_at<Node>(team->node)->site;
        site.open = 0;
        site.flags |= kNodeFolded;
        node = child_of(thread, root, site);
    }
    if (node == 0) {
        thread->record->probes_dropped += 1;
    } else {
        thread->known_children[known_child_slot(row, 0, root)] = {row,  0, root,
                                                                  node, 0, EnterKind::kChild};
    }
    begin_processor_time(thread);
    errno = saved_errno;
    if (!step->slow) thread->slow_overhead += now_ticks() - start;
    return node;
}

CellIndex copied_region(OmpStep* step, const OmpTeam* team) {
    // Unique key: neither a construct with this number nor such an address exists.
    const uint64_t row = kRowOmp | uint64_t{kOmpConstructs} << kRowCallShift | team->node;
    Thread* const thread = step->thread;
    const CellIndex root = thread->record->root;
    const KnownChild& known = thread->known_children[known_child_slot(row, 0, root)];
    if (known.row == row && known.parent == root) [[likely]]
        return known.node;
    return make_copy(step, team, row);
}

// The node of a region, along the call path where known. A region already on the path reuses its
// node (DESIGN 3: recursion collapses).
CellIndex forked_node(OmpStep* step, uint64_t row, OmpConstruct construct, const Frame* frame,
                      bool of_code) {
    Thread* const thread = step->thread;
    const CellIndex probe_frame = thread->on.top->node;
    if (frame == nullptr || (!of_code && frame->return_address != (row & kRowAddress))) {
        return omp_node(step, probe_frame, row);
    }
    const auto number =
        static_cast<MpiCall>(of_code ? kOmpPath : kOmpCall + static_cast<uint16_t>(construct));
    CellIndex node = 0;
    const PathEntry* known = find_cached_path(thread, frame, number, probe_frame);
    if (known != nullptr) [[likely]] {
        node = known->node;
    } else {
        const uint64_t slow_before = thread->slow_overhead;
        start_serial_sampling(thread);
        node = find_path(thread, frame, number, probe_frame, kMpiForm).node;
        thread->in_tool.begin();
        if (step->slow) thread->slow_overhead = slow_before;  // already part of the step's overhead
    }
    return of_code && node != 0 ? omp_node(step, node, row) : node;
}

// No entry is open while a thread is idle; the end of idle time is known when the next region
// begins. `in_log`: the region before is in the event log.
void begin_idle(Thread* thread, uint64_t virt, bool in_log) {
    if (thread->on.top != thread->on.base) return;  // the thread has open entries of its own
    thread->omp.is_idle = true;
    thread->omp.idle_since = virt;
    thread->omp.idle_in_log = in_log;
}

// Ends idle time and returns its length.
uint64_t end_idle(Thread* thread, uint64_t virt) {
    OmpThread& omp = thread->omp;
    if (!omp.is_idle) return 0;
    omp.is_idle = false;
    if (omp.idle == 0) [[unlikely]] {
        OmpStep step{thread, 0, false, true, 0};
        omp.idle = omp_node(&step, thread->record->root, omp_row(OmpConstruct::kIdle, 0));
        if (omp.idle == 0) return 0;
    }
    const uint64_t ticks = beyond(virt, omp.idle_since);
    Node* const node = cell_at<Node>(omp.idle);
    node->count += 1;
    add_time(node, ticks);
    thread->record->serving_ticks += ticks;
    omp_part(omp.idle)->wait_ticks += ticks;
    add_to_axis(thread, axis_ticks_of(thread, virt), ticks, &AxisSums::omp_idle_ticks);
    if (omp.idle_in_log) {
        note_node(thread, omp.idle, EventKind::kEnter, virt - ticks);
        note_node(thread, omp.idle, EventKind::kLeave, virt);
    }
    thread->separate_ticks += ticks;
    return ticks;
}

// Closes the innermost entry, a region that the thread did not fork and has left.
void close_region(Thread* thread, OmpLevel* level, uint64_t virt) {
    const CellIndex region = thread->on.top->node;
    const bool recorded = has_node(thread->on.top);
    const bool in_log = writes_events(thread) && is_in_log(*thread->on.top);
    const uint64_t ticks = close_omp(thread, virt);
    thread->record->serving_ticks += ticks;
    if (recorded) add_to_copies(thread, region, ticks);
    thread->record->axis.from += g_process.omp.inner;  // no part of the region
    level->entry = 0;
    begin_idle(thread, virt, in_log);
}

// Ends a region whose last barrier the thread has reached before: everything in it ended when the
// last thread of the team arrived.
void finish_region(Thread* thread, OmpLevel* level) {
    const bool at_last = level->at_last;
    level->at_last = false;
    if (!at_last || level->entry == 0) return;
    level->team->arrivals[kLastBarrier].fetch();  // also written below
    fetch_other_team(level->team);
    const DualTime last = level->team->arrivals[kLastBarrier].latest();
    const uint64_t met = later(level->came_real, last.real);
    const uint64_t virt = later(level->came_virtual, last.virt);
    set_virtual(thread, real_of_unpaused(thread, met), virt);
    while (thread->on.top > thread->on.base + level->entry) {
        const ProbeEntry entry = *thread->on.top;
        const uint64_t ticks = close_omp(thread, virt);
        if (is_row_of(entry.row, OmpConstruct::kImplicitBarrier) && has_node(&entry))
            add_wait_ticks(thread, entry.node, ticks, virt);
    }
    close_region(thread, level, virt);
}

// The forking thread begins to execute its region. Without a team it may also be the first thread
// of a team in a league.
void begin_as_first(OmpStep* step, OmpLevel* level) {
    Thread* const thread = step->thread;
    const ProbeEntry* const top = thread->on.top;
    if (!is_region_row(top->row)) return;
    level->entry = static_cast<uint32_t>(top - thread->on.base);
    if (level->team == nullptr || !has_node(top)) return;
    omp_part(top->node)->overhead_ticks += beyond(now_virtual(*step), top->entry_virtual);
}

DWELL_COLD void read_before_region(OmpStep* step) {
    const uint64_t slow_before = step->thread->slow_overhead;
    read_processor_time(step->thread);
    if (step->slow)
        step->thread->slow_overhead = slow_before;  // already part of the step's overhead
}

void begin_as_other(OmpStep* step, OmpLevel* level, const OmpTeam* team) {
    Thread* const thread = step->thread;
    const uint64_t since = unpaused(thread, step->now) - team->fork.real;
    const uint64_t separate = thread->separate_ticks;
    set_virtual(thread, step->now, team->fork.virt + since);
    // Overhead of the thread that used this record before is not refunded to a new one.
    if (!thread->omp.is_idle) thread->separate_ticks = separate;
    if (step->slow) put_back_metrics(thread, now_virtual(*step));
    const uint64_t virt = now_virtual(*step);
    const uint64_t idle = end_idle(thread, virt);
    if (thread->span_begin != 0) begin_axis(thread, axis_ticks_of(thread, virt));
    thread->span_begin = 0;  // the thread belongs to the runtime, not to the program
    // The runtime decides whether an idle thread sleeps or polls.
    if (idle >= g_long_part_ticks) [[unlikely]]
        read_before_region(step);
    const CellIndex node = step->records ? copied_region(step, team) : 0;
    const uint64_t row = omp_row(team->construct, team->address);
    const ProbeEntry* const entry = push_omp(step, node, row, virt);
    if (entry != nullptr) level->entry = static_cast<uint32_t>(entry - thread->on.base);
}

// A thread other than the first leaves its region; when this is reported late, the region ended
// before.
void end_as_other(OmpStep* step, OmpLevel* level) {
    Thread* const thread = step->thread;
    finish_region(thread, level);
    if (level->entry != 0 && thread->on.top >= thread->on.base + level->entry) {
        stamp(step);
        const uint64_t end = now_virtual(*step);
        while (thread->on.top > thread->on.base + level->entry) close_omp(thread, end);
        close_region(thread, level, end);
        compute_until(thread, axis_ticks_of(thread, end));
    }
    if (level->team != nullptr) level->team->leave();
}

bool is_target_row(uint64_t row) {
    return (row & kRowOmp) != 0 && is_omp_target(construct_of_row(row));
}

}  // namespace

bool may_observe_omp() { return probes_wanted() && g_process.options.omp != OmpMode::kOff; }

bool start_omp() {
    if (!may_observe_omp()) return false;
    if (g_live->on == 0 && attach_for_probe() == nullptr) return false;
    begin_omp_calibration();
    return true;
}

namespace {

DWELL_BODY OmpTeam* fork_region(OmpStep step, uint64_t address, const Frame* frame, uint64_t call,
                                OmpConstruct construct, bool of_code) {
    Thread* const thread = step.thread;
    const uint64_t row = omp_row(construct, address);
    const CellIndex node = step.records ? forked_node(&step, row, construct, frame, of_code) : 0;
    const bool may_recurse = thread->omp.depth != 0 && node != 0;
    if (thread->span_begin != 0) [[unlikely]]
        start_span(thread);
    const ProbeEntry* const entry =
        may_recurse ? push_elsewhere(&step, node, row) : push_omp(&step, node, row);
    if (entry == nullptr) thread->omp.unopened += 1;
    const bool recorded = entry != nullptr && node != 0;
    if (node != 0) omp_part(node)->created += 1;
    OmpTeam* team = recorded ? take_team(thread) : nullptr;
    if (team != nullptr) {
        team->address = address;
        team->construct = construct;
        team->call = call;
        team->node = node;
        team->fork = resumes_at(step, entry->entry_virtual);
    }
    end_step(&step);
    return team;
}

}  // namespace

OmpTeam* omp_fork(uint64_t address, const Frame* frame, OmpConstruct construct) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return nullptr;
    return fork_region(step, address, frame, address, construct, false);
}

OmpTeam* omp_fork_code(uint64_t address, const Frame* frame, uint64_t call) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return nullptr;
    return fork_region(step, address, frame, call, OmpConstruct::kParallel, true);
}

void omp_join(OmpTeam* team, OmpConstruct construct) {
    OmpStep step;
    if (begin_step(&step, DWELL_OMP_FRAME(), false)) {
        Thread* const thread = step.thread;
        const ProbeEntry* const top = thread->on.top;
        const bool forked = top_is(thread, construct) && has_node(top);
        if (team == nullptr && forked) team = forked_team(thread, top->node);
        // A region with a team has an entry.
        if (team != nullptr && forked) {
            const uint64_t met = team->end_real();
            const uint64_t now = unpaused(thread, step.now);
            if (met != 0) omp_part(top->node)->overhead_ticks += beyond(now, met);
        }
        close_construct(&step, construct);
        lose(step, g_process.omp.region);
        fetch_next_team(thread);
        end_step(&step);
    }
    if (team != nullptr) team->join();
}

bool omp_in_target() {
    const Thread* const thread = t_thread;
    return thread != nullptr && thread->on.top != nullptr && is_target_row(thread->on.top->row);
}

void omp_moved(uint64_t to_device, uint64_t from_device) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false, false)) return;
    const ProbeEntry* const top = step.thread->on.top;
    if (is_target_row(top->row) && has_node(top)) {
        OmpPart* const part = omp_part(top->node);
        part->to_device += to_device;
        part->from_device += from_device;
    }
    end_step(&step);
}

uint64_t omp_taskloop_address() {
    const Thread* const thread = t_thread;
    if (thread == nullptr || thread->on.top == nullptr) return 0;
    const bool found =
        top_is(thread, OmpConstruct::kTaskloop) || top_is(thread, OmpConstruct::kTaskgroup);
    return found ? thread->on.top->row & kRowAddress : 0;
}

uint64_t omp_region_address() {
    const OmpLevel* const level = t_thread != nullptr ? omp_level(t_thread) : nullptr;
    return level != nullptr && level->team != nullptr ? level->team->address : 0;
}

bool omp_in_region() {
    const OmpLevel* const level = t_thread != nullptr ? omp_level(t_thread) : nullptr;
    const OmpTeam* const team = level != nullptr ? level->team : nullptr;
    return team != nullptr && team->construct != OmpConstruct::kTeams;
}

uint64_t omp_region_call() {
    const OmpLevel* const level = t_thread != nullptr ? omp_level(t_thread) : nullptr;
    return level != nullptr && level->team != nullptr ? level->team->call : 0;
}

uint64_t omp_worksharing_address() {
    const OmpLevel* const level = t_thread != nullptr ? omp_level(t_thread) : nullptr;
    return level != nullptr ? level->worksharing : 0;
}

void omp_pass(uint64_t address) {
    OmpLevel* const level = t_thread != nullptr ? omp_level(t_thread) : nullptr;
    if (level != nullptr) level->worksharing = address;
}

void omp_implicit_begin(OmpTeam* team, uint32_t index, uint32_t size) {
    if (team != nullptr && index == 0) team->size = size;
    OmpStep step;
    const bool counts = team != nullptr && index != 0;
    if (!begin_step(&step, DWELL_OMP_FRAME(), team != nullptr)) {
        if (counts) team->leave();
        return;
    }
    OmpThread& omp = step.thread->omp;
    if (wake(step.thread)) {
        const uint32_t depth = omp.depth++;
        if (depth < kOmpLevels) {
            OmpLevel* const level = &omp.levels[depth];
            *level = OmpLevel{};
            level->team = team;
            level->index = index;
            level->size = size;
            if (index == 0) {
                begin_as_first(&step, level);
            } else if (team != nullptr) {
                begin_as_other(&step, level, team);
            }
        } else if (counts) {
            team->leave();
        }
    }
    end_step(&step);
}

void omp_implicit_end() {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false, false)) return;
    OmpThread& omp = step.thread->omp;
    bool idle = false;
    if (wake(step.thread) && omp.depth != 0) {
        OmpLevel* const level = omp_level(step.thread);
        idle = level != nullptr && level->index != 0 && omp.depth == 1;
        if (level != nullptr && level->index != 0) end_as_other(&step, level);
        if (level != nullptr && level->index == 0) {
            close_unfinished(&step);
            lose(step, g_process.omp.region_inner);
        }
        omp.depth -= 1;
    }
    Thread* const thread = step.thread;
    end_step(&step);
    if (idle) park(thread);
}

void omp_leave_region() {
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    if (t_thread != nullptr) t_thread->omp.is_leaving = true;
}

void omp_record_pending_ends() {
    if (t_thread == nullptr || !t_thread->omp.is_leaving) return;
    t_thread->omp.is_leaving = false;
    omp_barrier_end();
    omp_implicit_end();
}

void omp_thread_end() {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return;
    if (wake(step.thread)) end_idle(step.thread, now_virtual(step));
    step.thread->omp.depth = 0;
    end_step(&step);
}

void omp_begin(OmpConstruct construct, uint64_t address) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return;
    if (is_omp_worksharing(static_cast<uint16_t>(construct))) begin_worksharing(&step, address);
    open_omp(&step, omp_row(construct, address));
    end_step(&step);
}

void omp_end(OmpConstruct construct) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return;
    close_construct(&step, construct);
    end_step(&step);
}

void omp_barrier_begin(OmpConstruct construct, uint64_t address, bool at_end) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return;
    Thread* const thread = step.thread;
    if (OmpLevel* const inner = omp_level(thread); inner != nullptr) {
        close_unfinished(&step);
        inner->worksharing = 0;
    }
    OmpLevel* const level = collective_level(thread);
    OmpTeam* const team = level != nullptr ? level->team : nullptr;
    const bool last = team != nullptr && at_end;
    const uint32_t slot = last ? kLastBarrier : team != nullptr ? level->passed & 1 : 0;
    if (team != nullptr) team->arrivals[slot].fetch();
    const ProbeEntry* const entry =
        open_omp(&step, omp_row(construct, last ? team->address : address));
    uint64_t before = 0;
    const bool reported = team != nullptr && entry != nullptr && has_node(entry);
    if (reported) {
        level->slot = slot;
        level->passed += last ? 0 : 1;
        const DualTime came = resumes_at(step, entry->entry_virtual);
        level->came_real = came.real;
        level->came_virtual = came.virt;
        level->at_last = last;
        before = team->arrivals[slot].arrive(came);
    }
    const bool rests = reported && last && level->index != 0;
    if (rests) {
        rest(&step, entry->entry_virtual);
        const uint64_t took = entry->entry_virtual - team->fork.virt;
        if (took >= g_long_part_ticks) [[unlikely]] {
            // Others may have waited for all of this time at an earlier barrier.
            const bool is_first = before < team->fork.real;
            const uint64_t late = level->passed != 0 ? took
                                  : is_first         ? 0
                                                     : beyond(level->came_real, before);
            const uint64_t cost =
                note_long_region(thread, team->stalls, team->fork.real, took, late);
            if (!step.slow) thread->slow_overhead += cost;
        }
    }
    end_step(&step);
    if (rests) park(thread);
}

void omp_barrier_end() {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false, false)) return;
    Thread* const thread = step.thread;
    OmpLevel* const level = collective_level(thread);
    if (thread->omp.has_parked) {
        if (wake(thread) && level != nullptr) finish_region(thread, level);
        end_step(&step);
        return;
    }
    if (end_unopened(thread)) [[unlikely]] {
        end_step(&step);
        return;
    }
    stamp(&step);
    const ProbeEntry* const top = thread->on.top;
    const bool implicit = top_is(thread, OmpConstruct::kImplicitBarrier);
    if (!implicit && !top_is(thread, OmpConstruct::kBarrier)) {
        if (!close_construct(&step, OmpConstruct::kImplicitBarrier)) {
            close_construct(&step, OmpConstruct::kBarrier);
        }
    } else if (level == nullptr || level->team == nullptr || !has_node(top)) {
        close_omp(thread, now_virtual(step));
    } else {
        const CellIndex node = top->node;
        const DualTime came{level->came_real, level->came_virtual};
        const Ending ending = collective_ending(came, unpaused(thread, step.now),
                                                level->team->arrivals[level->slot].latest());
        set_virtual(thread, step.now, ending.virt);
        const uint64_t ticks = close_omp(thread, ending.virt);
        // With tasks, all threads wait until these are done.
        const bool for_tasks = level->team->has_tasks.load(std::memory_order_relaxed);
        add_omp_wait(thread, node, for_tasks ? ticks : earlier(ticks, ending.sync), ending.virt);
        level->at_last = false;
    }
    end_step(&step);
}

void omp_barrier_withdrawn() {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false, false)) return;
    Thread* const thread = step.thread;
    const ProbeEntry* const top = thread->on.top;
    if (!end_unopened(thread) && top_is(thread, OmpConstruct::kImplicitBarrier)) {
        const CellIndex node = has_node(top) ? top->node : 0;
        close_omp(thread, 0);
        OmpLevel* const level = collective_level(thread);
        if (node != 0) cell_at<Node>(node)->count -= 1;
        if (node != 0 && level != nullptr && level->team != nullptr) level->passed -= 1;
    }
    end_step(&step);
}

void omp_wait_end(OmpConstruct construct) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return;
    Thread* const thread = step.thread;
    const ProbeEntry* const top = thread->on.top;
    if (!has_unopened(thread) && top_is(thread, construct) && has_node(top)) {
        const CellIndex node = top->node;
        const uint64_t end = now_virtual(step);
        add_omp_wait(thread, node, close_omp(thread, end), end);
    } else {
        close_construct(&step, construct);
    }
    end_step(&step);
}

void omp_acquired(OmpConstruct construct, bool held) {
    if (!held) {
        omp_wait_end(construct);
        return;
    }
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return;
    const ProbeEntry* const top = step.thread->on.top;
    const bool is_open = !has_unopened(step.thread) && top_is(step.thread, construct);
    if (is_open && has_node(top) && (top->flags & kEntryUntimed) == 0) {
        const uint64_t since = top->entry_virtual + g_process.omp.inner;
        const uint64_t now = now_virtual(step);
        add_omp_wait(step.thread, top->node, beyond(now, since), now);
    }
    lose(step, g_process.omp.acquired);
    end_step(&step);
}

namespace {

// Closes the open entries of a parked thread; false: it is not parked.
bool close_parked(Thread* thread) {
    if (thread->omp.parked.exchange(0, std::memory_order_acquire) == 0) return false;
    if (thread->epoch != g_live->epoch) apply_changes(thread);
    OmpLevel* const level = omp_level(thread);
    if (level != nullptr) finish_region(thread, level);
    return true;
}

}  // namespace

void end_omp_of(Thread* thread, uint64_t now) {
    if (close_parked(thread)) end_idle(thread, virtual_ticks(thread, now));
}

void start_omp_of(Thread* thread) {
    OmpThread* const omp = &thread->omp;
    omp->depth = omp->unopened = 0;
    omp->has_parked = omp->is_leaving = false;
    omp->requested_row = 0;
    thread->record->wanted.what = 0;
    for (HeldLock& held : thread->record->held) held.what = 0;
}

void reset_omp_of(Thread* thread, uint64_t since) {
    thread->omp.idle_since = since;
    thread->omp.requested_row = 0;
}

void end_omp(uint64_t now) {
    const Thread* const own = t_thread;
    for (Thread* thread = g_process.threads.load(); thread != nullptr; thread = thread->next) {
        if (!close_parked(thread) || !thread->omp.is_idle) continue;
        // As at a fork: overhead of the thread that it waited for delayed nobody.
        if (own != nullptr) set_virtual(thread, now, virtual_ticks(own, now));
        end_idle(thread, virtual_ticks(thread, now));
    }
}

}  // namespace dwell
