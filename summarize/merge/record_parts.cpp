// Reads the parts of a record file that hang on nodes and threads beside counts and times:
// partners, sizes, waiting, files, phases, metrics; and the process grids.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/merged_counts.h"
#include "summarize/merge/node_figures.h"
#include "summarize/merge/record_reader.h"

namespace dwell {
namespace {

constexpr uint64_t kLeastStall = 10;  // computations that lost less than a tenth are not reported

uint64_t hash_of_peer(uint32_t node, uint32_t peer) { return mix_hash(node, peer); }

// Square root, rounded up. libdwell.so merges too, and must not depend on the mathematics library.
uint64_t root_of(Wide square) {
    Wide below = 0;  // the greatest number whose square is smaller
    for (Wide bit = Wide{1} << 62; bit != 0; bit >>= 1) {
        if ((below + bit) * (below + bit) < square) below += bit;
    }
    return square != 0 ? static_cast<uint64_t>(below + 1) : 0;
}

// Standard error of the number of entries, from the trials. UINT64_MAX: the sum of squares does not
// fit.
uint64_t standard_error_of(const ProbePart& probe) {
    return probe.off_squares != UINT64_MAX ? root_of(probe.off_squares) : probe.off_entries;
}

bool is_before(const Site& a, const Site& b) {
    return std::tie(a.offset, a.module, a.kind) < std::tie(b.offset, b.module, b.kind);
}

// Whether an entry is observed depends on the stretch of time it falls into. For `entries` in
// stretches of equal length the standard error is the root of their number; where one stretch is
// much longer, all entries are uncertain.
uint64_t error_of_stretches(const OffSite& off, uint64_t entries) {
    const double share = off.squares / (off.stretches * off.stretches);
    if (!(share >= 0 && share < 1)) return entries;
    return scale(entries, root_of(static_cast<uint64_t>(share * 1e6)), 1000);
}

// After counting was broken off in a gap no estimate holds: as many entries may be missing as the
// site has in the same time elsewhere.
uint64_t entries_in_cuts(const OffSite& off, uint64_t entries) {
    const double rest = off.stretches - off.cut;
    if (off.cut == 0) return 0;
    if (!(off.cut > 0 && off.cut < rest)) return entries;
    return scale(entries, static_cast<uint64_t>(off.cut / rest * 1e6), 1'000'000);
}

}  // namespace

bool RecordReader::read_off_sites() {
    OffSite record;
    for (CellIndex cell = header_.first_off_site; take(cell, &record); cell = record.next) {
        doubt(record.site.kind != SiteKind::kProcedure && record.site.kind != SiteKind::kLoop);
        doubt(is_lost(record.next));
        if (!off_sites_.push(record)) return false;
    }
    std::sort(off_sites_.begin(), off_sites_.end(),
              [](const OffSite& a, const OffSite& b) { return is_before(a.site, b.site); });
    return true;
}

uint64_t RecordReader::uncertain_entries(const Site& site, const ProbePart& probe) const {
    const OffSite* off = std::lower_bound(
        off_sites_.begin(), off_sites_.end(), site,
        [](const OffSite& known, const Site& wanted) { return is_before(known.site, wanted); });
    const bool was_off = off != off_sites_.end() && !is_before(site, off->site);
    const uint64_t entries = probe.off_entries;
    if (was_off && entries == 0) return 1;  // trials without any entry give no error either
    const Wide of_trials = standard_error_of(probe);
    const Wide of_stretches = was_off ? error_of_stretches(*off, entries) : 0;
    const uint64_t of_cuts = was_off ? entries_in_cuts(*off, entries) : 0;
    return root_of(of_trials * of_trials + of_stretches * of_stretches) + of_cuts;
}

bool RecordReader::totals_of(CellIndex cell, const Node& node, uint32_t merged, Totals* totals) {
    if (node.site.kind == SiteKind::kOpenMp) {
        OmpPart part{};
        if (node.part != 0 && !load(node.part, &part)) part = OmpPart{};
        add_openmp_node(node, part, clock_, totals);
        return true;
    }
    if (is_probe_kind(static_cast<uint8_t>(node.site.kind))) {
        ProbePart probe{};
        if (node.part != 0 && !load(node.part, &probe)) probe = ProbePart{};
        add_probed_node(node, probe, clock_, totals);
        if (node.site.kind == SiteKind::kProcedure || node.site.kind == SiteKind::kLoop) {
            totals->off_entries = probe.off_entries;
            totals->off_uncertain = uncertain_entries(node.site, probe);
        }
        const uint64_t off = off_is_known(*totals) ? totals->off_entries : 0;
        totals->estimated_ns = ns(estimated_ticks(node, probe, off));
        return true;
    }
    add_timed_node(node, clock_, totals);
    if (node.site.kind == SiteKind::kIo) return read_io(node.part, merged, totals);
    CommPart part;
    if (node.site.kind != SiteKind::kCommunication || !load(node.part, &part)) return true;
    add_traffic_of_node(node, part, clock_, totals);
    return read_wait(node, part.wait, merged, totals) &&
           add_histogram(part.histogram, merged, cell == open_node_, totals) &&
           read_peers(part, merged);
}

bool RecordReader::read_io(CellIndex cell, uint32_t merged, Totals* totals) {
    IoPart part;
    if (!load(cell, &part)) return true;
    add_io_of_node(part, totals);
    FileUse use;
    FileUse most{};
    uint32_t files = 0;
    for (CellIndex at = part.first_file; take(at, &use); at = use.next) {
        ++files;
        doubt(use.name == 0 && use.count == 0 && header_.reset_ticks == 0);
        const bool more = use.bytes > most.bytes ||
                          (use.bytes == most.bytes && use.count > most.count) || most.name == 0;
        if (more) most = use;
    }
    uint64_t name = 0;
    doubt(files < part.files);
    if (files == 0) return true;
    if (!read_name(most.name, &name)) return false;
    const bool others = files > 1 || part.elsewhere != 0;
    if (name != 0) {
        add_file(&out_->nodes[merged], static_cast<uint32_t>(name), most.bytes, others);
    }
    return true;
}

bool RecordReader::read_wait(const Node& node, CellIndex cell, uint32_t merged, Totals* totals) {
    WaitPart part;
    const bool waited = cell != 0 && take(cell, &part);
    add_waiting_of_node(node, waited ? &part : nullptr, header_.flags, clock_, totals);
    if (!waited) return true;
    WaitPeerRecord record;
    uint32_t count = 0;
    for (CellIndex at = part.first_partner; take(at, &record); at = record.next) {
        ++count;
        doubt(record.peer == kNoPeer || is_empty(record));
        if (record.peer == kNoPeer) continue;
        const MergedCause partner{merged,
                                  record.peer,
                                  record.path,
                                  0,
                                  record.count,
                                  ns(record.ticks),
                                  ns(record.max_ticks),
                                  ns(record.indirect_wait_ticks),
                                  0};
        if (!partners_.add(partner)) return false;
    }
    doubt(count < part.partner_count);
    if (part.rest_count == 0) return true;
    const uint64_t rest_ns = ns(part.rest_ticks);
    return partners_.add({merged, kNoPeer, 0, 0, part.rest_count, rest_ns, 0, 0, rest_ns});
}

bool RecordReader::read_causes(const ThreadRecord& thread) {
    RootCauseRecord record;
    for (CellIndex at = thread.first_cause; take(at, &record); at = record.next) {
        doubt(is_empty(record));
        const uint64_t time_ns = ns(record.ticks);
        const uint64_t direct_ns = std::min(time_ns, ns(record.direct_wait_ticks));
        const MergedCause cause{record.path, record.peer,         0, 0, record.count, time_ns,
                                0,           time_ns - direct_ns, 0};
        if (!causes_.add(cause)) return false;
    }
    const uint64_t rest_ns = ns(thread.rest_cause_ticks);
    return rest_ns == 0 ||
           causes_.add({0, kNoPeer, 0, 0, thread.rest_cause_count, rest_ns, 0, 0, rest_ns});
}

bool RecordReader::read_stalls() {
    for (const ThreadSpan& thread : threads_) {
        StallRecord record;
        Node interval;
        for (CellIndex at = thread.first_stall; take(at, &record); at = record.next) {
            if (record.count == 0 || !load(record.interval, &interval)) continue;
            const uint32_t io_node = record.io_node != 0 ? node_at(record.io_node) : kNoNode;
            const MergedStall stall{static_cast<uint32_t>(interval.site.offset >> 32),
                                    rank_,
                                    io_node,
                                    0,
                                    record.count,
                                    ns(record.ticks),
                                    ns(record.io_ticks),
                                    ns(record.asleep_ticks),
                                    ns(record.queued_ticks),
                                    ns(record.kernel_ticks),
                                    ns(record.team_asleep_ticks)};
            if (kLeastStall * stalled_ns(stall) < stall.time_ns) continue;
            if (!out_->stalls.push(stall)) return false;
        }
    }
    return true;
}

// A rank's threads are joined: the rank reached the greatest number of its threads.
bool RecordReader::add_phase(CellIndex part, uint32_t merged) {
    ProbePart probe;
    if (!load(part, &probe) || (probe.first_iteration == 0 && probe.iteration == 0)) return true;
    if (!phase_table_.load(1)) return false;
    MergedPhase* phase = phase_table_.find(merged);
    if (phase == nullptr) {
        phase_table_.add({merged, rank_, probe.first_iteration, probe.iteration, probe.iteration});
        return true;
    }
    phase->first = std::min(phase->first, probe.first_iteration);
    phase->last = phase->last_behind = std::max(phase->last, probe.iteration);
    return true;
}

// The file's list begins with the newest description.
bool RecordReader::read_grids() {
    GrowArray<CellIndex> cells;
    GridRecord record;
    for (CellIndex cell = header_.first_grid; take(cell, &record); cell = record.next) {
        if (!cells.push(cell)) return false;
    }
    for (size_t i = cells.size(); i-- > 0;) {
        if (load(cells[i], &record) && !read_grid(record)) return false;
    }
    return true;
}

// Skips a record that is damaged or only partly written. Returns false without memory.
bool RecordReader::read_grid(const GridRecord& record) {
    doubt(record.dimensions < 1 || record.dimensions > kGridDimensions);
    if (record.dimensions < 1 || record.dimensions > kGridDimensions) return true;
    MergedGrid grid{};
    MergedPlace place{};
    grid.dimensions = record.dimensions;
    grid.periodic = record.periodic & (((1u << record.dimensions) - 1) | kGridByMpi);
    grid.ranks = 1;
    place.rank = rank_;
    for (uint32_t i = 0; i < record.dimensions; i++) {
        grid.size[i] = record.size[i];
        place.coordinate[i] = record.coordinate[i];
        if (place.coordinate[i] < 0 || place.coordinate[i] >= grid.size[i]) return true;
    }
    if (out_->grids.size() == kGridLimit) {
        out_->flags |= kMergedGridsDropped;
        return true;
    }
    uint64_t name = 0;
    if (!read_name(record.name, &name)) return false;
    grid.name = static_cast<uint32_t>(name);
    if (find_grid(*out_, grid) != kNoGrid) return true;  // two with one name: the file is damaged
    place.grid = static_cast<uint32_t>(out_->grids.size());
    return out_->grids.push(grid) && out_->places.push(place);
}

bool RecordReader::add_histogram(CellIndex cell, uint32_t merged, bool open, Totals* totals) {
    SizeHistogram histogram;
    if (!load(cell, &histogram)) return true;
    totals->untimed = histogram.untimed;
    for (int slot = 0; slot < kEventSlots; slot++) {
        totals->event_count[slot] = histogram.event_count[slot];
        totals->event_ns[slot] = ns(histogram.event_ticks[slot]);
    }
    if (!open) doubt_histogram(histogram, out_->nodes[merged], *totals);
    uint32_t* index = &out_->nodes[merged].histogram;
    if (*index == kNoHistogram) {
        if (!out_->histograms.push(MergedHistogram{})) return false;
        *index = static_cast<uint32_t>(out_->histograms.size() - 1);
    }
    MergedHistogram* into = &out_->histograms[*index];
    for (int bucket = 0; bucket < kSizeBuckets; bucket++) {
        into->messages[bucket] += histogram.messages[bucket];
    }
    return true;
}

bool RecordReader::read_peers(const CommPart& part, uint32_t merged) {
    TrafficPeerRecord record;
    uint32_t count = 0;
    for (CellIndex cell = part.first_peer; take(cell, &record); cell = record.next) {
        ++count;
        doubt(record.count == 0 && record.min_ticks == 0);  // a fresh one has no minimum
        if (!add_peer(record, merged)) return false;
    }
    doubt(count < part.peer_count);
    return true;
}

// A rank's threads are joined by partner.
bool RecordReader::add_peer(const TrafficPeerRecord& record, uint32_t merged) {
    GrowArray<MergedPeer>& peers = out_->peers;
    const uint64_t hash = hash_of_peer(merged, record.peer);
    uint32_t index = peer_index_.find(
        hash, [&](uint32_t i) { return peers[i].node == merged && peers[i].peer == record.peer; });
    if (index == HashIndex::kAbsent) {
        MergedPeer peer{};
        peer.node = merged;
        peer.rank = rank_;
        peer.peer = record.peer;
        peer.min_ns = UINT64_MAX;
        if (!peer_index_.reserve(peers.size() + 1) || !peers.push(peer)) return false;
        index = static_cast<uint32_t>(peers.size() - 1);
        peer_index_.insert(hash, index);
    }
    MergedPeer* peer = &peers[index];
    peer->count += record.count;
    peer->time_ns += ns(record.ticks);
    peer->sync_ns += ns(record.sync_ticks);
    peer->bytes_sent += record.bytes_sent;
    peer->bytes_received += record.bytes_received;
    if (record.count != 0) {
        peer->min_ns = std::min(peer->min_ns, ns(record.min_ticks));
        peer->max_ns = std::max(peer->max_ns, ns(record.max_ticks));
    }
    return true;
}

// See PeerShares.
bool RecordReader::settle_peers() {
    GrowArray<MergedPeer>& peers = out_->peers;
    GrowArray<PeerShares> shares;
    if (!shares.resize(out_->nodes.size())) return false;
    for (PeerShares& of_node : shares) of_node = {};
    for (const MergedPeer& peer : peers) shares[peer.node].add(peer.time_ns, peer.sync_ns);
    for (MergedPeer& peer : peers) {
        const PeerShares& of_node = shares[peer.node];
        if (of_node.missing == 0) continue;
        const bool was_short = peer.sync_ns > peer.time_ns;
        peer.time_ns = of_node.settled_time(peer.time_ns, peer.sync_ns);
        if (was_short) continue;
        peer.max_ns = std::min(peer.max_ns, peer.time_ns);
        peer.min_ns = std::min(peer.min_ns, peer.max_ns);
    }
    return true;
}

bool RecordReader::read_metrics() {
    uint64_t names = 0;
    uint64_t missing = 0;
    if (!read_name(header_.metric_names, &names) || !read_name(header_.metrics_missing, &missing) ||
        !add_metric_names(out_, &text_, static_cast<uint32_t>(names), false) ||
        !add_metric_names(out_, &text_, static_cast<uint32_t>(missing), true)) {
        return false;
    }
    out_->metrics_unwatched = header_.metrics_unwatched;
    out_->metrics_lost = header_.metrics_lost;
    out_->metrics_no_room = header_.metrics_no_room;
    out_->threads_unsampled = header_.threads_unsampled;
    out_->spawned_unseen = header_.spawned_unseen;
    if (header_.metrics_lost != 0 && header_.metrics_lost_ticks > header_.start_ticks) {
        out_->metrics_lost_ns = ns(header_.metrics_lost_ticks - header_.start_ticks);
    }
    out_->metric_read_ns = ns(header_.metric_ticks);
    out_->metric_least_ns = ns(header_.metric_least_ticks);
    CountTable sums(&out_->counts);
    for (const ThreadSpan& thread : threads_) {
        MetricPart part;
        for (CellIndex at = thread.first_metric; take(at, &part); at = part.next) {
            doubt(part.node == 0);
            out_->metrics_left_out += part.left_out;
            MergedCounts counts{node_at(part.node), 0, 0, 0, part.entries, ns(part.ticks), {}};
            if (counts.node == kNoNode) continue;
            std::copy(std::begin(part.values), std::end(part.values), counts.values);
            if (!sums.add(counts)) return false;
            counts.rank = rank_;
            counts.thread = thread.number;
            if (!out_->count_rows.push(counts)) return false;
        }
    }
    return true;
}

}  // namespace dwell
