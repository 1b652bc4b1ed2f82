// Joins two merged trees by path (DESIGN 2). A join first does everything that allocates (maps, new
// nodes, room), which can be undone; then it adds the figures, which cannot fail.
#include <string.h>

#include <algorithm>

#include "summarize/merge/merged.h"
#include "summarize/merge/merged_axis.h"
#include "summarize/merge/merged_counts.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/merge/merged_waits.h"

namespace dwell {
namespace {

// The array lengths to return to when a join cannot be completed.
struct Sizes {
    explicit Sizes(const Merged& merged)
        : nodes(merged.nodes.size()), modules(merged.modules.size()), text(merged.text.size()) {}
    void restore(Merged* merged) const {
        merged->nodes.resize(nodes);
        merged->modules.resize(modules);
        merged->text.resize(text);
    }
    size_t nodes;
    size_t modules;
    size_t text;
};

bool under_interval(uint8_t kind) {
    return kind == static_cast<uint8_t>(SiteKind::kInterval) ||
           kind == static_cast<uint8_t>(SiteKind::kSample);
}

void add_rank_extremes(MergedNode* into, const MergedNode& from) {
    if (from.ranks == 0) return;
    const bool first = into->ranks == 0;
    if (first || from.rank_min_ns < into->rank_min_ns ||
        (from.rank_min_ns == into->rank_min_ns && from.rank_min < into->rank_min)) {
        into->rank_min_ns = from.rank_min_ns;
        into->rank_min = from.rank_min;
    }
    if (first || from.rank_max_ns > into->rank_max_ns ||
        (from.rank_max_ns == into->rank_max_ns && from.rank_max < into->rank_max)) {
        into->rank_max_ns = from.rank_max_ns;
        into->rank_max = from.rank_max;
    }
    into->ranks += from.ranks;
}

// Gives memory back if most of what `before` entries needed is no longer used and a smaller copy
// can be allocated.
template <typename T>
void shrink(GrowArray<T>* array, size_t before) {
    if (before <= 3 * array->size()) return;
    GrowArray<T> smaller;
    if (smaller.append(array->data(), array->size())) array->swap(smaller);
}

class Join {
  public:
    Join(Merged* into, Merged* from)
        : into_(into),
          from_(*from),
          distances_(into),
          phases_(into),
          partners_(&into->partners),
          causes_(&into->causes),
          counts_(&into->counts) {}

    bool prepare();
    void commit();
    void renumber(GrowArray<NodeCell>* cells) const {
        for (NodeCell& cell : *cells) cell.node = map_node(cell.node);
    }

  private:
    bool passes_limit(uint64_t records, uint64_t limit) const;
    bool map_text();
    bool map_modules();
    bool map_nodes();
    bool map_to_itself();
    bool map_places() { return map_text() && map_modules() && map_nodes(); }
    uint32_t map_node(uint32_t node) const;
    bool add_node(NodeTable* table, uint32_t node);
    bool reserve();

    void add_nodes();
    template <typename Row>
    void join_rows(bool drops, GrowArray<Row>* into, GrowArray<Row>* from);
    void add_threads();
    void add_peers();
    void fold_peers(size_t begin, size_t end);
    void add_phases();
    void add_grids();
    void add_places();
    void add_waits();
    void add_open();
    void add_counts();

    Merged* into_;
    Merged& from_;
    DistanceTable distances_;
    PhaseTable phases_;
    CauseTable partners_;
    CauseTable causes_;
    CountTable counts_;
    AxisJoin axis_;
    bool folds_ = false;
    bool drops_samples_ = false;
    bool drops_places_ = false;
    bool first_ = false;  // `into` is empty: `from` is moved, not copied
    uint32_t world_size_ = 0;
    GrowArray<uint32_t> text_map_;
    GrowArray<uint32_t> module_map_;
    GrowArray<uint32_t> node_map_;
    GrowArray<MergedPeer> kept_peers_;
    uint32_t grid_map_[kGridLimit];
};

bool Join::prepare() {
    world_size_ = std::max(into_->world_size, from_.world_size);
    const uint64_t row_limit = into_->row_limit;
    folds_ = ((into_->flags | from_.flags) & kMergedRowsDropped) != 0 ||
             passes_limit(into_->rows.size() + from_.rows.size(), row_limit) ||
             passes_limit(into_->peers.size() + from_.peers.size(), row_limit * kPeersPerRow);
    drops_samples_ = folds_ || ((into_->flags | from_.flags) & kMergedSamplesDropped) != 0 ||
                     passes_limit(into_->sample_rows.size() + from_.sample_rows.size(),
                                  row_limit * kSampleRowsPerRow);
    drops_places_ = ((into_->flags | from_.flags) & kMergedPlacesDropped) != 0 ||
                    passes_limit(into_->places.size() + from_.places.size(), row_limit);
    first_ = into_->nodes.empty() && into_->modules.empty();
    // Taking the ranks allocates too; it comes last, as it cannot be undone.
    return (first_ ? map_to_itself() : map_places()) && reserve() &&
           into_->ranks.take(&from_.ranks);
}

bool Join::passes_limit(uint64_t records, uint64_t limit) const {
    const uint64_t ranks = uint64_t{into_->ranks.size()} + from_.ranks.size();
    const uint64_t expected = into_->expected_ranks;
    if (records > limit) return true;
    return ranks >= kRepresentativeRanks && expected > ranks &&
           records * expected / ranks > limit * kSurelyPast;
}

// Maps every byte of the text of `from`, so that an offset inside a string stays valid.
bool Join::map_text() {
    TextTable table(into_);
    if (!table.load() || !text_map_.resize(from_.text.size())) return false;
    for (size_t at = 0; at < from_.text.size();) {
        const char* string = from_.text.data() + at;
        const size_t length = strnlen(string, from_.text.size() - at);
        const uint32_t mapped = table.intern(string, length);
        if (mapped == kNoText) return false;
        for (size_t i = 0; i <= length && at + i < from_.text.size(); i++) {
            text_map_[at + i] = mapped + static_cast<uint32_t>(i);
        }
        at += length + 1;
    }
    return true;
}

bool Join::map_modules() {
    ModuleTable table(into_);
    if (!table.load() || !module_map_.resize(from_.modules.size())) return false;
    for (size_t i = 0; i < from_.modules.size(); i++) {
        MergedModule module = from_.modules[i];
        module.path = text_map_[module.path];
        module_map_[i] = table.find_or_add(module);
        if (module_map_[i] == kNoModule) return false;
    }
    return true;
}

uint32_t Join::map_node(uint32_t node) const {
    return node < node_map_.size() ? node_map_[node] : kNoNode;
}

bool Join::add_node(NodeTable* table, uint32_t node) {
    if (node == 0 && !into_->nodes.empty()) {  // a job has one program, whatever its name in `from`
        node_map_[node] = 0;
        return true;
    }
    MergedNode place = from_.nodes[node];
    place.parent = map_node(place.parent);
    if (place.module < module_map_.size()) place.module = module_map_[place.module];
    place.meet = map_node(place.meet);
    if (place.kind == static_cast<uint8_t>(SiteKind::kInterval)) {
        place.offset = map_node(static_cast<uint32_t>(place.offset));
    } else if (is_named(place)) {
        place.offset = text_map_[place.offset];
    }
    node_map_[node] = table->find_or_add(place);
    return node_map_[node] != kNoNode;
}

// Intervals refer to nodes anywhere in the tree, so intervals and the nodes below them come last.
bool Join::map_nodes() {
    NodeTable table(into_);
    if (!node_map_.resize(from_.nodes.size())) return false;
    const uint32_t nodes = static_cast<uint32_t>(from_.nodes.size());
    for (uint32_t& mapped : node_map_) mapped = kNoNode;
    for (uint32_t i = 0; i < nodes; i++) {
        const MergedNode& node = from_.nodes[i];
        const bool later =
            under_interval(node.kind) || (i != 0 && map_node(node.parent) == kNoNode);
        if (!later && !add_node(&table, i)) return false;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (node_map_[i] == kNoNode && !add_node(&table, i)) return false;
    }
    return true;
}

bool Join::map_to_itself() {
    if (!node_map_.resize(from_.nodes.size())) return false;
    for (uint32_t i = 0; i < node_map_.size(); i++) node_map_[i] = i;
    return true;
}

bool Join::reserve() {
    size_t histograms = into_->histograms.size();
    for (const MergedNode& node : from_.nodes) histograms += node.histogram != kNoHistogram;
    const size_t peers = into_->peers.size() + from_.peers.size();
    size_t distances = from_.distances.size();
    if (folds_ && (into_->flags & kMergedRowsDropped) == 0) distances += into_->peers.size();
    if (folds_ && (from_.flags & kMergedRowsDropped) == 0) distances += from_.peers.size();
    return (first_ || into_->histograms.reserve(histograms)) &&
           (folds_ || first_ || into_->rows.reserve(into_->rows.size() + from_.rows.size())) &&
           (drops_samples_ || first_ ||
            into_->sample_rows.reserve(into_->sample_rows.size() + from_.sample_rows.size())) &&
           (folds_ || into_->threads.reserve(into_->threads.size() + from_.threads.size())) &&
           into_->peers.reserve(peers) && (!folds_ || kept_peers_.reserve(peers)) &&
           distances_.load(distances) && phases_.load(from_.phases.size()) &&
           into_->grids.reserve(into_->grids.size() + from_.grids.size()) &&
           (drops_places_ || into_->places.reserve(into_->places.size() + from_.places.size())) &&
           partners_.load(from_.partners.size()) && causes_.load(from_.causes.size()) &&
           into_->stalls.reserve(into_->stalls.size() + from_.stalls.size()) &&
           into_->open.reserve(into_->open.size() + from_.open.size()) &&
           into_->open_comms.reserve(into_->open_comms.size() + from_.open_comms.size()) &&
           axis_.prepare(into_, from_,
                         folds_ || ((into_->flags | from_.flags) & kMergedAxisDropped) != 0) &&
           into_->open_locks.reserve(into_->open_locks.size() + from_.open_locks.size()) &&
           into_->open_requests.reserve(into_->open_requests.size() + from_.open_requests.size()) &&
           into_->processes.reserve(into_->processes.size() + from_.processes.size()) &&
           into_->metrics.reserve(kMetricNames) && counts_.load(from_.counts.size()) &&
           (folds_ ||
            into_->count_rows.reserve(into_->count_rows.size() + from_.count_rows.size()));
}

void Join::commit() {
    into_->world_size = world_size_;
    if (into_->job[0] == '\0') memcpy(into_->job, from_.job, sizeof(into_->job));
    add_nodes();
    join_rows(folds_, &into_->rows, &from_.rows);
    join_rows(drops_samples_, &into_->sample_rows, &from_.sample_rows);
    add_threads();
    add_peers();
    add_phases();
    add_grids();
    add_places();
    add_waits();
    add_open();
    add_counts();
    axis_.commit(node_map_, into_, &from_);
    into_->flags |= from_.flags;
    if (axis_.drops_rows() && !folds_) into_->flags |= kMergedAxisDropped;
    if (folds_) into_->flags |= kMergedRowsDropped;
    if (drops_samples_ && !folds_) into_->flags |= kMergedSamplesDropped;
    if (drops_places_) into_->flags |= kMergedPlacesDropped;
    into_->flags &= ~static_cast<uint32_t>(kMergedPartial);
    if (into_->ranks.size() < into_->world_size) into_->flags |= kMergedPartial;
}

void Join::add_nodes() {
    if (first_) {
        into_->nodes.swap(from_.nodes);
        into_->histograms.swap(from_.histograms);
        into_->modules.swap(from_.modules);
        into_->text.swap(from_.text);
        return;
    }
    for (size_t i = 0; i < from_.nodes.size(); i++) {
        const MergedNode& node = from_.nodes[i];
        MergedNode* into = &into_->nodes[node_map_[i]];
        add_rank_extremes(into, node);
        add_totals(&into->totals, node.totals);
        if (node.file != 0) {
            add_file(into, text_map_[node.file], node.file_bytes, node.other_files != 0);
        }
        if (node.histogram == kNoHistogram) continue;
        if (into->histogram == kNoHistogram) {
            into->histogram = static_cast<uint32_t>(into_->histograms.size());
            into_->histograms.push(MergedHistogram{});
        }
        for (int bucket = 0; bucket < kSizeBuckets; bucket++) {
            into_->histograms[into->histogram].messages[bucket] +=
                from_.histograms[node.histogram].messages[bucket];
        }
    }
}

template <typename Row>
void Join::join_rows(bool drops, GrowArray<Row>* into, GrowArray<Row>* from) {
    if (drops) {
        GrowArray<Row>().swap(*into);
        return;
    }
    if (first_) return into->swap(*from);
    for (const Row& source : *from) {
        Row row = source;
        row.node = node_map_[row.node];
        into->push(row);
    }
}

void Join::add_threads() {
    if (folds_) {
        GrowArray<MergedThread>().swap(into_->threads);
        return;
    }
    for (const MergedThread& source : from_.threads) {
        MergedThread thread = source;
        if (!first_) thread.name = text_map_[thread.name];
        into_->threads.push(thread);
    }
}

void Join::add_peers() {
    const size_t own = into_->peers.size();
    const size_t own_distances = into_->distances.size();
    for (const MergedPeer& source : from_.peers) {
        MergedPeer peer = source;
        peer.node = node_map_[peer.node];
        into_->peers.push(peer);
    }
    for (const MergedDistance& source : from_.distances) {
        MergedDistance distance = source;
        distance.node = node_map_[distance.node];
        distances_.add(distance);
    }
    if (!folds_) return;
    // A side whose rows were dropped has already added its peers to its distances.
    if ((into_->flags & kMergedRowsDropped) == 0) fold_peers(0, own);
    if ((from_.flags & kMergedRowsDropped) == 0) fold_peers(own, into_->peers.size());
    const size_t all = into_->peers.size();
    const size_t all_distances = into_->distances.size();
    keep_heaviest_peers(into_, own, &kept_peers_);
    if (all_distances != own_distances) keep_heaviest_distances(into_);
    shrink(&into_->peers, all);
    shrink(&into_->distances, all_distances);
}

void Join::add_phases() {
    if (first_) return into_->phases.swap(from_.phases);
    for (const MergedPhase& source : from_.phases) {
        MergedPhase phase = source;
        phase.node = node_map_[phase.node];
        MergedPhase* known = phases_.find(phase.node);
        if (known == nullptr) {
            phases_.add(phase);
            continue;
        }
        known->first = std::min(known->first, phase.first);
        known->last = std::max(known->last, phase.last);
        const bool behind =
            phase.last_behind < known->last_behind ||
            (phase.last_behind == known->last_behind && phase.rank_behind < known->rank_behind);
        if (!behind) continue;
        known->last_behind = phase.last_behind;
        known->rank_behind = phase.rank_behind;
    }
}

void Join::add_grids() {
    for (size_t i = 0; i < from_.grids.size(); i++) {
        MergedGrid grid = from_.grids[i];
        if (!first_) grid.name = text_map_[grid.name];
        grid_map_[i] = find_grid(*into_, grid);
        if (grid_map_[i] != kNoGrid) {
            into_->grids[grid_map_[i]].ranks += grid.ranks;
        } else if (into_->grids.size() < kGridLimit) {
            grid_map_[i] = static_cast<uint32_t>(into_->grids.size());
            into_->grids.push(grid);
        } else {
            into_->flags |= kMergedGridsDropped;
        }
    }
}

void Join::add_places() {
    if (drops_places_) {
        GrowArray<MergedPlace>().swap(into_->places);
        return;
    }
    for (const MergedPlace& source : from_.places) {
        MergedPlace place = source;
        place.grid = grid_map_[place.grid];
        if (place.grid != kNoGrid) into_->places.push(place);
    }
}

void Join::fold_peers(size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) distances_.add_peer(into_->peers[i]);
}

void Join::add_waits() {
    for (const MergedCause& source : from_.partners) {
        MergedCause partner = source;
        partner.group = node_map_[partner.group];
        partners_.add(partner);
    }
    for (const MergedCause& cause : from_.causes) causes_.add(cause);
    for (MergedStall stall : from_.stalls) {
        if (stall.io_node != kNoNode) stall.io_node = node_map_[stall.io_node];
        into_->stalls.push(stall);
    }
    keep_heaviest_stalls(&into_->stalls, kRanksPerCause);
    keep_heaviest_causes(&into_->partners, kPartnersPerNode);
    keep_heaviest_causes(&into_->causes, kRanksPerCause);
}

void Join::add_open() {
    for (MergedOpen open : from_.open) {
        open.node = map_node(open.node);
        open.statement = map_node(open.statement);
        into_->open.push(open);
    }
    for (MergedLock lock : from_.open_locks) {
        lock.node = map_node(lock.node);
        if (!first_ && lock.module != kNoModule) lock.module = module_map_[lock.module];
        into_->open_locks.push(lock);
    }
    for (const MergedComm& comm : from_.open_comms) into_->open_comms.push(comm);
    for (const MergedRequest& request : from_.open_requests) into_->open_requests.push(request);
    for (const MergedProcess& process : from_.processes) into_->processes.push(process);
}

void Join::add_counts() {
    for (MergedMetric& metric : from_.metrics) {
        if (!first_) metric.name = text_map_[metric.name];
    }
    const MetricMap map = join_metrics(from_.metrics, into_);
    const auto mapped = [&](const MergedCounts& source) {
        MergedCounts counts = mapped_counts(source, map);
        counts.node = node_map_[counts.node];
        return counts;
    };
    for (const MergedCounts& source : from_.counts) counts_.add(mapped(source));
    if (folds_) {
        GrowArray<MergedCounts>().swap(into_->count_rows);
    } else {
        for (const MergedCounts& row : from_.count_rows) into_->count_rows.push(mapped(row));
    }
    into_->metrics_unwatched += from_.metrics_unwatched;
    into_->metrics_lost += from_.metrics_lost;
    const uint64_t lost_ns = from_.metrics_lost_ns;
    if (lost_ns != 0 && (into_->metrics_lost_ns == 0 || lost_ns < into_->metrics_lost_ns)) {
        into_->metrics_lost_ns = lost_ns;
    }
    into_->metrics_no_room += from_.metrics_no_room;
    into_->threads_unsampled += from_.threads_unsampled;
    into_->spawned_unseen += from_.spawned_unseen;
    into_->metrics_left_out += from_.metrics_left_out;
    into_->metric_read_ns = std::max(into_->metric_read_ns, from_.metric_read_ns);
    into_->metric_least_ns = std::max(into_->metric_least_ns, from_.metric_least_ns);
}

}  // namespace

void add_file(MergedNode* into, uint32_t file, uint64_t bytes, bool others) {
    const bool first = into->file == 0;
    const bool same = into->file == file;
    if (same) {
        into->file_bytes += bytes;
    } else if (first || bytes > into->file_bytes) {
        into->file = file;
        into->file_bytes = bytes;
    }
    if (others || (!first && !same)) into->other_files = 1;
}

bool join(Merged* into, Merged&& from) {
    GrowArray<NodeCell> none;
    return join(into, static_cast<Merged&&>(from), &none);
}

bool join(Merged* into, Merged&& from, GrowArray<NodeCell>* cells) {
    const Sizes before(*into);
    Join step(into, &from);
    if (!step.prepare()) {
        before.restore(into);
        return false;
    }
    step.commit();
    step.renumber(cells);
    return true;
}

}  // namespace dwell
