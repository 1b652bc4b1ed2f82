// Enters and leaves a recorded call, and books computation, duration and peers in its records.
#include "runtime/calls/records.h"

#include <errno.h>
#include <sys/mman.h>

#include "runtime/calls/call_order.h"
#include "runtime/calls/polls.h"
#include "runtime/calls/user_code.h"
#include "runtime/contract/path_hash.h"
#include "runtime/exchange/timeline.h"
#include "runtime/measure/metrics.h"
#include "runtime/measure/processor_time.h"
#include "runtime/probes/probes.h"
#include "runtime/process/injection.h"
#include "runtime/process/time_axis.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

namespace {

// A statement called from inside another one (MPI's own calls, callbacks, other tools) belongs to
// the outer one, unless that was left without a return and its frame is gone.
bool is_nested(const Thread* thread, const Frame* frame) {
    const Call* open = thread->open;
    return open != nullptr &&
           reinterpret_cast<uintptr_t>(frame) < reinterpret_cast<uintptr_t>(open) &&
           open->proof == proof_of(open);
}

// The call is not recorded: deferred receives must be posted before it.
inline void post_deferred() {
    if (g_process.preserve_order) [[unlikely]]
        g_call_order->post_deferred();
}

// The uncommon cases of enter(): the thread if it may record, else null.
DWELL_COLD Thread* ready_thread(const Frame* frame, MpiCall number) {
    Thread* thread = t_thread;
    if (thread == nullptr) thread = attach_thread();
    if (thread == nullptr) {
        post_deferred();
        return nullptr;
    }
    if (thread->in_tool && !recover_after_jump(thread, reinterpret_cast<uint64_t>(frame)))
        return nullptr;
    thread->calls += 1;
    if (thread->user_depth != 0) drop_left_user_code(thread, reinterpret_cast<uint64_t>(frame));
    if (thread->open != nullptr) {
        if (is_nested(thread, frame)) return nullptr;
        record_abandoned(thread);
        leave_lost_call_windows(thread);
    }
    if (g_process.preserve_order) g_call_order->end_deferring(number);
    look_for_event_order();
    if (thread->epoch != g_live->epoch) apply_changes(thread);
    if (g_process.inject_ticks != 0) thread->slow_overhead += inject(thread);
    return thread;
}

// True for the interval that begins at the node `from`.
inline bool leaves(const Node* interval, CellIndex from) {
    return static_cast<CellIndex>(interval->site.offset) == from;
}

// Finds or creates the interval from the last call to `node`; 0 when there is no room.
DWELL_COLD CellIndex find_interval(Thread* thread, CellIndex node) {
    Node* reached = cell_at<Node>(node);
    CellIndex before = 0;
    for (CellIndex at = reached->first_child; at != 0;) {
        Node* interval = cell_at<Node>(at);
        if (leaves(interval, thread->last) && interval->site.kind == SiteKind::kInterval) {
            if (before != 0) {  // move to the front for the next look-up
                cell_at<Node>(before)->next_sibling = interval->next_sibling;
                interval->next_sibling = reached->first_child;
                reached->first_child = at;
            }
            return at;
        }
        before = at;
        at = interval->next_sibling;
    }
    Site site{};
    site.offset = uint64_t{path_of_interval(thread->last, node)} << 32 | thread->last;
    site.kind = SiteKind::kInterval;
    const CellIndex made = child_of(thread, node, site);
    if (made == 0) return 0;
    const CellIndex from =
        thread->last != 0 ? cell_at<Node>(thread->last)->parent : thread->record->root;
    cell_at<Node>(made)->part = common_ancestor(from, reached->parent);
    return made;
}

inline CellIndex interval_to(Thread* thread, CellIndex node) {
    // Most statements have one or two predecessors.
    const CellIndex first = cell_at<Node>(node)->first_child;
    if (first != 0) [[likely]] {
        const Node* interval = cell_at<Node>(first);
        if (leaves(interval, thread->last)) [[likely]]
            return first;
        const CellIndex second = interval->next_sibling;
        if (second != 0 && leaves(cell_at<Node>(second), thread->last)) return second;
    }
    const uint64_t start = now_ticks();
    const CellIndex found = find_interval(thread, node);
    thread->slow_overhead += now_ticks() - start;
    return found;
}

// Estimated durations do not change minimum and maximum, unless these are unset.
inline void add_duration(Node* node, uint64_t ticks, bool estimated) {
    node->count += 1;
    node->ticks += ticks;
    if (estimated && node->min_ticks != UINT64_MAX) return;
    add_limits(node, ticks);
}

// Processes pending samples and counters, of the computation before the call and of the call.
DWELL_COLD void drain_before(Call* call) {
    const CellIndex interval = interval_to(call->thread, call->index);
    drain_samples(call->thread, interval);
    read_before_call(call->thread, call->index, interval);
}
constexpr uint64_t kToldAhead_ticks = 1 << 14;  // real time is known to some microseconds

// The event of the call's end, and how far real time is ahead where that has changed.
[[gnu::noinline]] void note_end(Call* call) {
    Thread* const thread = call->thread;
    const ThreadRecord* const record = thread->record;
    const uint64_t ahead = record->intrusion_ticks + record->paused_ticks;
    const uint64_t end = call->end_ticks - ahead;
    EventRing* const ring = &thread->record->events;
    if (ahead - ring->real_ahead + kToldAhead_ticks > 2 * kToldAhead_ticks) {
        ring->real_ahead = ahead;
        write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kRealTime),
                    end, record->intrusion_ticks + ring->reset_ticks);
    }
    if (call->waited_ticks != 0) note_wait(thread, call->index, call->waited_ticks, end);
    write_event(thread, EventKind::kLeave, call->index, end);
}
DWELL_COLD void end_call_window(Call* call) {
    const ThreadRecord* const record = call->thread->record;
    const uint64_t ahead = record->intrusion_ticks + record->paused_ticks;
    if ((call->events & kCallWindow) != 0) leave_call_window(call->thread, call->end_ticks - ahead);
}
DWELL_COLD void adjust_span_and_user_time(Thread* thread) {
    if (thread->span_begin != 0) start_span(thread);
    // Time of user code inside the call counts as user ticks, not as overhead.
    thread->record->intrusion_ticks -= thread->user_ticks;
    thread->record->own_ticks -= thread->user_ticks;
    thread->user_ticks = 0;
}
DWELL_COLD void drain_after(Call* call) {
    drain_samples(call->thread, 0);
    const ThreadRecord* const record = call->thread->record;
    read_after_call(call->thread, call->index, call->ticks,
                    call->end_ticks - record->intrusion_ticks - record->paused_ticks);
    read_processor_time(call->thread);
}

}  // namespace

bool enter(Call* call, MpiCall number, const Frame* frame, EntryForm form) {
    call->next_definition = nullptr;
    if (g_live->on == 0 || g_live->paused != 0) {
        post_deferred();
        return false;
    }
    Thread* thread = calling_thread();
    if (thread == nullptr || thread->open != nullptr || thread->in_tool ||
        thread->epoch != g_live->epoch || has_event_order()) [[unlikely]] {
        thread = ready_thread(frame, number);
        if (thread == nullptr) return false;
    } else {
        thread->calls += 1;
    }
    CellIndex index;
    uint8_t events = 0;
    const CellIndex probe_frame = probe_frame_of(thread, frame);
    const PathEntry* known = find_cached_path(thread, frame, number, probe_frame);
    if (known != nullptr && !known->foreign) [[likely]] {
        index = known->node;
        call->path = known;
    } else {
        call->path = nullptr;
        const FoundPath found = find_path(thread, frame, number, probe_frame, form);
        if (found.foreign) {
            call->next_definition =
                foreign_definition(static_cast<uintptr_t>(frame->return_address - 1), form,
                                   static_cast<uint16_t>(number));
        }
        index = found.node;
        if (index == 0) {
            post_deferred();
            return false;
        }
        if (opens_windows(index) && enter_call_window(thread, index)) events = kCallWindow;
    }
    Node* node = cell_at<Node>(index);
    call->thread = thread;
    call->index = index;
    call->poll = nullptr;
    call->after_untimed = false;
    call->events = events;
    call->inner_overhead = 0;
    call->pre_overhead = 0;
    call->lost_ticks = 0;
    call->waited_ticks = 0;
    call->bytes_sent = 0;
    call->ahead = nullptr;
    call->node = node;
    call->part = cell_at<CommPart>(index + kPartCells);
    call->histogram = cell_at<SizeHistogram>(index + kHistogramOffsetCells);
    thread->record->open_depth = 1;
    open_call(call);
    if (has_samples(thread)) [[unlikely]]
        drain_before(call);
    thread->record->state = ThreadState::kInCommunication;
    return true;
}

void write_begin(Call* call) {
    call->events |= kCallNoted;
    const Thread* const thread = call->thread;
    write_event(call->thread, EventKind::kEnter, call->index,
                call->start_ticks - thread->record->intrusion_ticks - thread->record->paused_ticks -
                    overhead_before(call));
}

CellIndex interval_before(Thread* thread, CellIndex node) { return interval_to(thread, node); }

void leave(Call* call) {
    Thread* thread = call->thread;
    ThreadRecord* record = thread->record;
    const CellIndex interval = interval_to(thread, call->index);
    const uint64_t lost = lost_before(call);
    const bool untimed = call->poll != nullptr;
    if ((thread->span_begin | thread->user_ticks) != 0) [[unlikely]]
        adjust_span_and_user_time(thread);
    const bool noted = writes_events(thread) && has_events(call->index);
    if (noted) [[unlikely]]
        note_begin(call);
    // Time with nodes of its own (I/O, OpenMP idle time) also makes partners wait.
    const uint64_t apart = call->start_ticks - thread->last_ticks;
    const uint64_t since = time_before(call);
    const uint64_t before = lost < since ? lost : since;
    const uint64_t computed = since - before;
    thread->separate_ticks = 0;
    if (interval != 0) [[likely]] {
        add_duration(cell_at<Node>(interval), computed, untimed || call->after_untimed);
        const uint64_t work = computed + (apart - since);
        if (work >= g_least_part_ticks) {
            note_work(thread, interval, work, call->start_ticks,
                      call->start_ticks - record->intrusion_ticks - before);
        }
    } else {
        record->dropped += 1;
    }
    add_duration(call->node, call->ticks, untimed);
    // The part of the call that is not its virtual duration: overhead of dwell or, possibly
    // negative, of other ranks.
    const uint64_t elapsed = call->end_ticks - call->start_ticks;
    record->intrusion_ticks += before + elapsed - call->ticks;
    record->own_ticks += before + g_process.inner_cost_ticks + call->inner_overhead;
    add_call_to_axis(thread, call->end_ticks - record->intrusion_ticks, call->ticks,
                     call->waited_ticks, call->bytes_sent);
    thread->slow_overhead -= call->slow_overhead;
    if (noted) [[unlikely]]
        note_end(call);
    if (thread->events >= kCallInWindow) [[unlikely]]
        end_call_window(call);
    thread->last = call->index;
    thread->last_ticks = call->end_ticks;
    record->last_ticks = call->end_ticks;
    record->state = ThreadState::kComputing;
    record->open_depth = 0;
    close_call(call);
    if (g_process.preserve_order) [[unlikely]]
        g_call_order->publish_running(thread);
    if (has_samples(thread)) [[unlikely]]
        drain_after(call);
}

namespace {

// The peer's record, or 0. Programs tend to use partners in the same order in each iteration, and
// new records are appended: so the last one used and its successor are tried first.
CellIndex find_peer_record(const CommPart* part, uint32_t peer) {
    if (part->last_peer != 0) [[likely]] {
        const auto* last = cell_at<TrafficPeerRecord>(part->last_peer);
        if (last->peer == peer) [[likely]]
            return part->last_peer;
        if (last->next != 0 && cell_at<TrafficPeerRecord>(last->next)->peer == peer)
            return last->next;
    }
    for (CellIndex at = part->first_peer; at != 0; at = cell_at<TrafficPeerRecord>(at)->next) {
        if (cell_at<TrafficPeerRecord>(at)->peer == peer) return at;
    }
    return 0;
}

DWELL_COLD CellIndex add_peer_record(Call* call, uint32_t peer) {
    CommPart* part = call->part;
    if (part->peer_count >= g_process.options.peer_limit) return 0;
    const CellIndex made = take_cells(call->thread, 1);
    if (made == 0) return 0;
    auto* record = cell_at<TrafficPeerRecord>(made);
    record->peer = peer;
    record->min_ticks = UINT64_MAX;
    CellIndex* end = &part->first_peer;
    while (*end != 0) end = &cell_at<TrafficPeerRecord>(*end)->next;
    __atomic_store_n(end, made, __ATOMIC_RELEASE);
    part->peer_count += 1;
    return made;
}

CellIndex find_or_add_peer(Call* call, uint32_t peer) {
    const CellIndex found = find_peer_record(call->part, peer);
    return found != 0 ? found : add_peer_record(call, peer);
}

}  // namespace

void record_peer_wait(Call* call, uint32_t peer, uint64_t ticks) {
    const CellIndex found = find_or_add_peer(call, peer);
    if (found != 0) cell_at<TrafficPeerRecord>(found)->sync_ticks += ticks;
}

void record_peer(Call* call, uint32_t peer, uint64_t sent, uint64_t received, uint64_t ticks) {
    const CellIndex found = find_or_add_peer(call, peer);
    if (found == 0) [[unlikely]] {
        count_up(&call->part->folded_peers);
        return;
    }
    call->part->last_peer = found;
    auto* record = cell_at<TrafficPeerRecord>(found);
    record->count += 1;
    record->bytes_sent += sent;
    record->bytes_received += received;
    add_time(record, ticks);
}

void record_message(Call* call, uint32_t peer, uint64_t sent, uint64_t received, uint64_t ticks) {
    record_bytes(call, sent, received);
    call->histogram->messages[size_bucket(sent + received)] += 1;
    if (peer != kNoPeer) record_peer(call, peer, sent, received, ticks);
}

}  // namespace dwell
