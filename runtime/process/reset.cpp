// Pauses and resets of the counts (MPI_Pcontrol): each thread applies them to its own records.
#include "runtime/process/reset.h"

#include "runtime/process/hooks.h"
#include "runtime/process/time_axis.h"

namespace dwell {

namespace {

void reset_nodes(CellIndex index);

void reset_node(Node* node) {
    node->count = node->ticks = node->max_ticks = 0;
    node->min_ticks = UINT64_MAX;
    if (node->site.kind == SiteKind::kIo) {
        auto* part = cell_at<IoPart>(node->part);
        part->bytes_read = part->bytes_written = part->failed = part->elsewhere = 0;
        for (CellIndex at = part->first_file; at != 0;) {
            auto* use = cell_at<FileUse>(at);
            at = use->next;
            *use = FileUse{use->name, use->next, 0, 0, 0, {}};
        }
        return;
    }
    if (node->site.kind != SiteKind::kCommunication) {
        if (node->site.kind != SiteKind::kInterval && node->part != 0) {
            auto* part = cell_at<ProbePart>(node->part);
            ProbePart cleared{};
            // An open phase counts as begun now, under its current number.
            const bool begun = (node->site.flags & kNodePhase) != 0 && node->site.open != 0;
            if (begun) cleared.first_iteration = cleared.iteration = part->iteration;
            *part = cleared;
        }
        return;
    }
    auto* part = cell_at<CommPart>(node->part);
    *cell_at<SizeHistogram>(part->histogram) = SizeHistogram{};
    for (CellIndex at = part->first_peer; at != 0;) {
        auto* peer = cell_at<TrafficPeerRecord>(at);
        at = peer->next;
        *peer = TrafficPeerRecord{peer->peer, peer->next, 0, 0, 0, 0, 0, UINT64_MAX, 0};
    }
    part->sync_ticks = part->bytes_sent = part->bytes_received = 0;
    part->blocked_ticks = part->failed = part->folded_peers = 0;
    if (part->wait == 0) return;
    auto* wait = cell_at<WaitPart>(part->wait);
    for (CellIndex at = wait->first_partner; at != 0;) {
        auto* partner = cell_at<WaitPeerRecord>(at);
        at = partner->next;
        *partner = WaitPeerRecord{partner->peer, partner->path, partner->next, 0, 0, 0, 0, 0, 0, 0};
    }
    *wait = WaitPart{0, 0, 0, 0, 0, 0, 0, 0, wait->first_partner, 0, wait->partner_count};
}

// Resets `index`, its siblings after it, and all nodes below these.
void reset_nodes(CellIndex index) {
    for (CellIndex at = index; at != 0; at = cell_at<Node>(at)->next_sibling) {
        reset_node(cell_at<Node>(at));
        reset_nodes(cell_at<Node>(at)->first_child);
    }
}

// MPI_Pcontrol(2): discards everything counted before `since`; the nodes stay.
void reset_thread(Thread* thread, uint64_t since) {
    const uint64_t begun = now_ticks();
    reset_nodes(thread->record->root);
    ThreadRecord* record = thread->record;
    record->start_ticks = record->last_ticks = since;
    record->span_ticks = record->serving_ticks = 0;
    if (thread->span_begin != 0) thread->span_begin = since;
    if (record->life_start != 0) record->life_start = since;
    record->events.reset_ticks += record->intrusion_ticks + thread->slow_overhead;
    record->intrusion_ticks = record->own_ticks = record->paused_ticks = 0;
    record->rest_cause_ticks = record->rest_cause_count = record->injected_ticks = 0;
    for (CellIndex at = record->first_cause; at != 0;) {
        auto* cause = cell_at<RootCauseRecord>(at);
        at = cause->next;
        *cause = RootCauseRecord{cause->peer, cause->path, cause->next, 0, 0, 0, 0, 0, 0, 0};
    }
    for (CellIndex at = record->first_stall; at != 0;) {
        auto* stall = cell_at<StallRecord>(at);
        at = stall->next;
        *stall = StallRecord{stall->interval, stall->next, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}};
    }
    record->queued_ticks = record->queued_call_ticks = 0;
    record->stalls_dropped = 0;
    thread->delay = DelayState{};
    record->samples = record->samples_in_calls = record->samples_lost = 0;
    record->folded_paths = record->dropped = record->guessed = record->clock_errors = 0;
    record->order_kept = record->order_remote = record->order_posted = record->order_unknown = 0;
    record->probes = record->probes_missed = record->probes_dropped = 0;
    thread->last = 0;
    thread->last_ticks = since;
    thread->slow_overhead = thread->separate_ticks = 0;
    call_services(&ThreadService::reset, thread, since);
    reset_axis(thread, since);
    thread->slow_overhead = now_ticks() - begun;
}

}  // namespace

void apply_changes(Thread* thread) {
    thread->epoch = thread->user_depth == 0 ? seen_epoch() : kNoEpoch;
    // A call under way is counted up to its end.
    const uint64_t paused = paused_since(thread, thread->last_ticks);
    const uint64_t since = later(thread->last_ticks, g_process.header->reset_ticks);
    const uint64_t paused_there = paused_since(thread, since);
    thread->paused_ticks = g_live->paused_ticks;
    if (paused != 0) leave_out(thread, axis_ticks(thread, g_live->resumed_ticks - paused), paused);
    thread->record->paused_ticks += paused;
    thread->last_ticks += paused;  // a pause is no computation
    if (thread->unloads != g_live->unloads) {
        thread->unloads = g_live->unloads;
        call_services(&ThreadService::forget_modules, thread);
    }
    if (thread->resets != g_live->resets) {
        thread->resets = g_live->resets;
        reset_thread(thread, since);
        thread->record->paused_ticks = paused_there;
        if (paused_there != 0) leave_out(thread, since, paused_there);
        thread->last_ticks += paused_there;
    }
    call_services(&ThreadService::changed, thread);
}

void record_abandoned(Thread* thread) {
    Node* node = cell_at<Node>(thread->record->open.node);
    node->count += 1;
    cell_at<CommPart>(node->part)->failed += 1;
    thread->record->open_depth = 0;
    thread->open = nullptr;
    thread->user_ticks = 0;
}

}  // namespace dwell
