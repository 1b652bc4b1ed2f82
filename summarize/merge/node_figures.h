// The figures of a node from its cells in a record file: for the reader of whole files and for
// views that read the same nodes again and again. All add to `totals`.
#ifndef DWELL_SUMMARIZE_MERGE_NODE_FIGURES_H_
#define DWELL_SUMMARIZE_MERGE_NODE_FIGURES_H_

#include <algorithm>

#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "runtime/contract/record_layout.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/tick_scale.h"

namespace dwell {

// A construct whose whole time is waiting for other threads.
inline bool only_waits(const Site& site) {
    return site.kind == SiteKind::kOpenMp && is_omp_meeting(site.call);
}

// Whether a call that does not end most likely waits for another rank.
inline bool may_wait_for_others(uint16_t number) {
    if (number >= kMpiCallCount) return false;
    const MpiCallInfo& call = kMpiCalls[number];
    switch (call.call_class) {
        case CallClass::kSend:
        case CallClass::kReceive:
        case CallClass::kSendReceive:
        case CallClass::kProbe:
        case CallClass::kWait:
        case CallClass::kRma:
            return true;
        default:
            return call.waits;
    }
}

// The latest known virtual time of the thread, apart from its open entries.
inline uint64_t last_virtual(const ThreadRecord& thread) {
    const uint64_t gone = thread.intrusion_ticks + thread.late_ticks + thread.paused_ticks;
    const uint64_t left = thread.last_ticks > gone ? thread.last_ticks - gone : 0;
    return thread.end_virtual != kNotReadable ? std::max(left, thread.end_virtual) : left;
}

// The spans of ThreadRecord::span_ticks, the last of them up to the virtual time `until`, and what
// OpenMP's own threads did that used the same record; 0 where only those did.
inline uint64_t lived_ticks(const ThreadRecord& thread, uint64_t until) {
    const bool lives = thread.life_start != 0 && thread.life_start < until;
    const uint64_t own = thread.span_ticks + (lives ? until - thread.life_start : 0);
    return own != 0 ? own + thread.serving_ticks : 0;
}

inline void add_shortest_and_longest(const Node& node, const TickScale& clock, Totals* totals) {
    if (node.min_ticks != UINT64_MAX) {
        totals->min_ns = std::min(totals->min_ns, clock.ns(node.min_ticks));
    }
    totals->max_ns = std::max(totals->max_ns, clock.ns(node.max_ticks));
}

// An interval, a call, a communication or I/O statement.
inline void add_timed_node(const Node& node, const TickScale& clock, Totals* totals) {
    totals->count += node.count;
    totals->time_ns += clock.ns(node.ticks);
    if (node.count == 0) return;
    add_shortest_and_longest(node, clock, totals);
    // A call that ended with an exception is counted, but has no duration.
    if (node.min_ticks == UINT64_MAX) totals->min_ns = 0;
}

// Beside add_timed_node().
inline void add_traffic_of_node(const Node& node, const CommPart& part, const TickScale& clock,
                                Totals* totals) {
    const uint64_t time_ns = clock.ns(node.ticks);
    const uint64_t sync_ns = std::min(clock.ns(part.sync_ticks), time_ns);
    totals->sync_ns += sync_ns;
    totals->blocked_ns += sync_ns + std::min(clock.ns(part.blocked_ticks), time_ns - sync_ns);
    totals->bytes_sent += part.bytes_sent;
    totals->bytes_received += part.bytes_received;
    totals->failed += part.failed;
    totals->folded_peers += part.folded_peers;
}

// Calls without analysis, or of a rank without it, have no known waiting time. `wait` may be null.
inline void add_waiting_of_node(const Node& node, const WaitPart* wait, uint32_t file_flags,
                                const TickScale& clock, Totals* totals) {
    const MpiCallInfo& call = kMpiCalls[node.site.call < kMpiCallCount ? node.site.call : 0];
    const bool follows = call.analysed && (file_flags & kFileWaits) != 0;
    if (!follows && (call.analysed || call.waits)) totals->unknown_waits += node.count;
    if (wait == nullptr) return;
    totals->late_sender_ns += clock.ns(wait->late_sender_ticks);
    totals->late_receiver_ns += clock.ns(wait->late_receiver_ticks);
    totals->passed_on_ns += clock.ns(wait->indirect_wait_ticks);
    if (follows) totals->unknown_waits += std::min<uint64_t>(wait->unknown, node.count);
    totals->guessed_waits += wait->guessed;
    totals->estimated_waits += wait->estimated;
}

inline void add_io_of_node(const IoPart& part, Totals* totals) {
    totals->bytes_received += part.bytes_read;
    totals->bytes_sent += part.bytes_written;
    totals->failed += part.failed;
}

// A procedure, loop, block or marker, apart from what is estimated for entries without time.
inline void add_probed_node(const Node& node, const ProbePart& probe, const TickScale& clock,
                            Totals* totals) {
    const uint64_t time_ns = clock.ns(node.ticks);
    const uint64_t untimed = std::min(probe.untimed + probe.counted, node.count);
    totals->count += node.count;
    totals->time_ns += time_ns;
    // A thread that works in a region has the path of the forking thread, with count 0.
    if (node.count != 0) totals->entered_ns += time_ns;
    if (node.site.kind == SiteKind::kLoop) totals->iterations += probe.iterations;
    totals->untimed += untimed;
    totals->abandoned += probe.abandoned;
    const bool named = node.site.kind == SiteKind::kBlock || node.site.kind == SiteKind::kMarker;
    if (named) totals->volume += probe.volume;
    if (node.count != untimed) add_shortest_and_longest(node, clock, totals);
}

// The time of entries without time, from the mean of the timed ones. `off_entries`: those while the
// probe was off. They may be recursive, and recursive entries share the time of one timed entry.
inline uint64_t estimated_ticks(const Node& node, const ProbePart& probe, uint64_t off_entries) {
    const uint64_t untimed = std::min(probe.untimed + probe.counted, node.count);
    const uint64_t timed = node.count - untimed;
    if (timed == 0) return 0;
    return scale(node.ticks, probe.counted, timed) +
           scale(node.ticks, off_entries, node.count - std::min(probe.counted, node.count));
}

// A call that completes several requests shares its time evenly among their partners, although it
// waited for one of them, or for the receiver of a send. That partner gets the time it was waited
// for, taken from what the other partners have beyond their own waiting.
struct PeerShares {
    uint64_t missing = 0;
    uint64_t spare = 0;

    void add(uint64_t time, uint64_t sync) {
        if (sync > time) {
            missing += sync - time;
        } else {
            spare += time - sync;
        }
    }
    // Of one of the partners that were added; of all those of one call statement.
    uint64_t settled_time(uint64_t time, uint64_t sync) const {
        if (missing == 0) return time;
        if (sync > time) return sync;
        const uint64_t own_spare = time - sync;
        const uint64_t taken = std::min(missing, spare);
        // Rounded up, so that the partners together never exceed the call.
        return time - std::min(own_spare, scale(own_spare, taken, spare) + 1);
    }
};

inline void add_openmp_node(const Node& node, const OmpPart& part, const TickScale& clock,
                            Totals* totals) {
    totals->count += node.count;
    totals->time_ns += clock.ns(node.ticks);
    totals->untimed += std::min(part.untimed, node.count);
    totals->abandoned += part.abandoned;
    const uint64_t wait_ns = clock.ns(std::min(part.wait_ticks, node.ticks));
    const bool idle = node.site.call == static_cast<uint16_t>(OmpConstruct::kIdle);
    (idle ? totals->omp_idle_ns : totals->omp_wait_ns) += wait_ns;
    totals->omp_start_ns += clock.ns(part.start_ticks);
    totals->omp_overhead_ns += clock.ns(std::min(part.overhead_ticks, node.ticks));
    totals->created += part.created;
    if (is_omp_target(node.site.call)) {
        totals->bytes_sent += part.to_device;
        totals->bytes_received += part.from_device;
    } else {
        totals->iterations += part.iterations;
        totals->chunks += part.chunks;
    }
    if (node.min_ticks != UINT64_MAX) add_shortest_and_longest(node, clock, totals);
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_NODE_FIGURES_H_
