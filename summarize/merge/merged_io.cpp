// Converts merged records to bytes and back: for the message between ranks and the file that the
// `dwell` command reads. The layout is in merged.h. All input is checked before it is used.
#include <string.h>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/merged_axis.h"

namespace dwell {
namespace {

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

template <typename T>
size_t bytes_of(const GrowArray<T>& array) {
    return padded(array.size() * sizeof(T));
}

template <typename T>
bool write(const GrowArray<T>& array, GrowArray<char>* out) {
    const char* bytes = reinterpret_cast<const char*>(array.data());
    return out->append(bytes, array.size() * sizeof(T)) && out->resize(padded(out->size()));
}

class Input {
  public:
    Input(const void* bytes, size_t size) : at_(static_cast<const char*>(bytes)), left_(size) {}

    template <typename T>
    bool read(uint64_t count, GrowArray<T>* out) {
        if (count > left_ / sizeof(T)) return false;
        const size_t bytes = static_cast<size_t>(count) * sizeof(T);
        if (padded(bytes) > left_) return false;
        if (!out->append(reinterpret_cast<const T*>(at_), static_cast<size_t>(count))) return false;
        at_ += padded(bytes);
        left_ -= padded(bytes);
        return true;
    }
    bool at_end() const { return left_ == 0; }

  private:
    const char* at_;
    size_t left_;
};

class Validator {
  public:
    explicit Validator(const Merged& merged) : merged_(merged) {}
    bool valid() const {
        return text() && modules() && nodes() && named() && phases() && grids() && metrics() &&
               axis();
    }

  private:
    bool is_text(uint32_t offset) const { return offset < merged_.text.size(); }
    bool is_node(uint64_t node) const { return node < merged_.nodes.size(); }
    static bool is_kind(uint8_t kind) {
        return kind > static_cast<uint8_t>(SiteKind::kNone) &&
               kind <= static_cast<uint8_t>(SiteKind::kSample);
    }

    // The last byte is zero, so every offset leads to a terminated string.
    bool text() const {
        const GrowArray<char>& text = merged_.text;
        return text.empty() || (text[0] == '\0' && text[text.size() - 1] == '\0');
    }
    bool modules() const {
        for (const MergedModule& module : merged_.modules) {
            if (!is_text(module.path) || module.build_id_bytes > sizeof(module.build_id))
                return false;
        }
        return true;
    }
    bool nodes() const {
        for (size_t i = 0; i < merged_.nodes.size(); i++) {
            if (!node(i, merged_.nodes[i])) return false;
        }
        return true;
    }
    bool node(size_t index, const MergedNode& node) const {
        const bool is_program = node.kind == static_cast<uint8_t>(SiteKind::kProgram);
        const bool is_interval = node.kind == static_cast<uint8_t>(SiteKind::kInterval);
        if (!is_kind(node.kind) || is_program != (index == 0)) return false;
        if (index == 0 ? node.parent != kNoNode : node.parent >= index) return false;
        if (node.module != kNoNode && node.module >= merged_.modules.size()) return false;
        if (node.meet != kNoNode && !is_node(node.meet)) return false;
        if (node.histogram != kNoHistogram && node.histogram >= merged_.histograms.size()) {
            return false;
        }
        if (is_interval && node.offset != kNoNode && !is_node(node.offset)) return false;
        if (is_named(node) && node.offset >= merged_.text.size()) return false;
        if (node.file != 0 && !is_text(node.file)) return false;
        const bool is_io = node.kind == static_cast<uint8_t>(SiteKind::kIo);
        const bool is_path = node.kind == static_cast<uint8_t>(SiteKind::kCall) ||
                             node.kind == static_cast<uint8_t>(SiteKind::kSample);
        return is_path || node.call == 0 || node.call < (is_io ? kIoCallCount : kMpiCallCount);
    }
    bool named() const {
        for (const MergedRow& row : merged_.rows) {
            if (!is_node(row.node)) return false;
        }
        for (const MergedSamples& row : merged_.sample_rows) {
            if (!is_node(row.node)) return false;
        }
        for (const MergedThread& thread : merged_.threads) {
            if (!is_text(thread.name)) return false;
        }
        for (const MergedPeer& peer : merged_.peers) {
            if (!is_node(peer.node)) return false;
        }
        for (const MergedDistance& distance : merged_.distances) {
            if (!is_node(distance.node)) return false;
        }
        for (const MergedCause& partner : merged_.partners) {
            if (!is_node(partner.group)) return false;
        }
        for (const MergedStall& stall : merged_.stalls) {
            if (stall.io_node != kNoNode && !is_node(stall.io_node)) return false;
        }
        return true;
    }

    bool phases() const {
        for (const MergedPhase& phase : merged_.phases) {
            if (!is_node(phase.node)) return false;
        }
        return true;
    }
    bool grids() const {
        if (merged_.grids.size() > kGridLimit) return false;
        for (const MergedGrid& grid : merged_.grids) {
            if (!is_text(grid.name) || grid.dimensions < 1 || grid.dimensions > kGridDimensions) {
                return false;
            }
        }
        for (const MergedPlace& place : merged_.places) {
            if (place.grid >= merged_.grids.size()) return false;
        }
        return true;
    }

    bool metrics() const {
        if (merged_.metrics.size() > kMetricNames) return false;
        for (const MergedMetric& metric : merged_.metrics) {
            if (!is_text(metric.name)) return false;
        }
        for (const GrowArray<MergedCounts>* list : {&merged_.counts, &merged_.count_rows}) {
            for (const MergedCounts& counts : *list) {
                if (!is_node(counts.node)) return false;
            }
        }
        return true;
    }

    bool axis() const {
        if (merged_.axis.size() > kAxisBins || merged_.axis_shift >= kAxisShiftLimit) return false;
        for (size_t i = 0; i < merged_.axis.size(); i++) {
            const MergedAxisBin& bin = merged_.axis[i];
            if (i != 0 && merged_.axis[i - 1].bin >= bin.bin) return false;
            if (bin.ranks == 0 || (bin.phase != kNoNode && !is_node(bin.phase))) return false;
        }
        for (const MergedAxisRow& row : merged_.axis_rows) {
            if (row.phase != kNoNode && !is_node(row.phase)) return false;
        }
        return true;
    }

    const Merged& merged_;
};

bool read_header(const void* bytes, size_t size, MergedHeader* header) {
    if (size < sizeof(*header)) return false;
    memcpy(header, bytes, sizeof(*header));
    if (header->magic != kMergedMagic || header->version != kMergedVersion) return false;
    return memchr(header->job, '\0', sizeof(header->job)) != nullptr;
}

}  // namespace

bool serialize_head(const Merged& merged, GrowArray<char>* out) {
    MergedHeader header{};
    header.magic = kMergedMagic;
    header.version = kMergedVersion;
    header.flags = merged.flags;
    header.world_size = merged.world_size;
    header.row_limit = merged.row_limit;
    header.nodes = static_cast<uint32_t>(merged.nodes.size());
    header.histograms = static_cast<uint32_t>(merged.histograms.size());
    header.modules = static_cast<uint32_t>(merged.modules.size());
    header.ranks = merged.ranks.size();
    header.rows = merged.rows.size();
    header.sample_rows = merged.sample_rows.size();
    header.threads = merged.threads.size();
    header.peers = merged.peers.size();
    header.distances = merged.distances.size();
    header.phases = static_cast<uint32_t>(merged.phases.size());
    header.grids = static_cast<uint32_t>(merged.grids.size());
    header.places = merged.places.size();
    header.partners = merged.partners.size();
    header.causes = merged.causes.size();
    header.stalls = merged.stalls.size();
    header.metrics = static_cast<uint32_t>(merged.metrics.size());
    header.counts = merged.counts.size();
    header.count_rows = merged.count_rows.size();
    header.axis = merged.axis.size();
    header.axis_rows = merged.axis_rows.size();
    header.axis_shift = merged.axis_shift;
    header.axis_missing = merged.axis_missing;
    header.metrics_unwatched = merged.metrics_unwatched;
    header.metrics_left_out = merged.metrics_left_out;
    header.metrics_lost = merged.metrics_lost;
    header.metrics_lost_ns = merged.metrics_lost_ns;
    header.metrics_no_room = merged.metrics_no_room;
    header.threads_unsampled = merged.threads_unsampled;
    header.spawned_unseen = merged.spawned_unseen;
    header.metric_read_ns = merged.metric_read_ns;
    header.metric_least_ns = merged.metric_least_ns;
    header.text_bytes = merged.text.size();
    header.last_rank_bytes = merged.ranks.last().size();
    header.rank_bytes = merged.ranks.bytes();
    memcpy(header.job, merged.job, sizeof(header.job));

    out->clear();
    const size_t total =
        sizeof(header) + bytes_of(merged.nodes) + bytes_of(merged.histograms) +
        bytes_of(merged.modules) + bytes_of(merged.rows) + bytes_of(merged.sample_rows) +
        bytes_of(merged.threads) + bytes_of(merged.peers) + bytes_of(merged.distances) +
        bytes_of(merged.phases) + bytes_of(merged.grids) + bytes_of(merged.places) +
        bytes_of(merged.partners) + bytes_of(merged.causes) + bytes_of(merged.stalls) +
        bytes_of(merged.metrics) + bytes_of(merged.counts) + bytes_of(merged.count_rows) +
        bytes_of(merged.axis) + bytes_of(merged.axis_rows) + bytes_of(merged.text) +
        bytes_of(merged.ranks.last());
    if (!out->reserve(total)) return false;
    return out->append(reinterpret_cast<const char*>(&header), sizeof(header)) &&
           write(merged.nodes, out) && write(merged.histograms, out) &&
           write(merged.modules, out) && write(merged.rows, out) &&
           write(merged.sample_rows, out) && write(merged.threads, out) &&
           write(merged.peers, out) && write(merged.distances, out) && write(merged.phases, out) &&
           write(merged.grids, out) && write(merged.places, out) && write(merged.partners, out) &&
           write(merged.causes, out) && write(merged.stalls, out) && write(merged.metrics, out) &&
           write(merged.counts, out) && write(merged.count_rows, out) && write(merged.axis, out) &&
           write(merged.axis_rows, out) && write(merged.text, out) &&
           write(merged.ranks.last(), out);
}

bool serialize(const Merged& merged, GrowArray<char>* out) {
    return serialize_head(merged, out) && out->reserve(out->size() + merged.ranks.bytes()) &&
           merged.ranks.each_piece(
               [out](const char* bytes, size_t size) { return out->append(bytes, size); });
}

bool deserialize(const void* bytes, size_t size, Merged* out) {
    MergedHeader header;
    if (!read_header(bytes, size, &header) || header.rank_bytes > size) return false;
    const size_t head = size - header.rank_bytes;
    GrowArray<char> ranks;
    Merged merged;
    if (!ranks.append(static_cast<const char*>(bytes) + head, header.rank_bytes)) return false;
    if (!deserialize(bytes, head, &ranks, &merged) || !merged.ranks.is_readable()) return false;
    *out = static_cast<Merged&&>(merged);
    return true;
}

bool deserialize(const void* head, size_t size, GrowArray<char>* ranks, Merged* out) {
    static_assert(sizeof(MergedHeader) % 8 == 0);
    MergedHeader header;
    if (!read_header(head, size, &header) || header.rank_bytes != ranks->size()) return false;

    Merged merged;
    merged.flags = header.flags;
    merged.world_size = header.world_size;
    merged.row_limit = header.row_limit;
    memcpy(merged.job, header.job, sizeof(merged.job));
    merged.axis_shift = header.axis_shift;
    merged.axis_missing = header.axis_missing;
    merged.metrics_unwatched = header.metrics_unwatched;
    merged.metrics_left_out = header.metrics_left_out;
    merged.metrics_lost = header.metrics_lost;
    merged.metrics_lost_ns = header.metrics_lost_ns;
    merged.metrics_no_room = header.metrics_no_room;
    merged.threads_unsampled = header.threads_unsampled;
    merged.spawned_unseen = header.spawned_unseen;
    merged.metric_read_ns = header.metric_read_ns;
    merged.metric_least_ns = header.metric_least_ns;
    GrowArray<char> last_rank;
    Input input(static_cast<const char*>(head) + sizeof(header), size - sizeof(header));
    const bool read =
        input.read(header.nodes, &merged.nodes) &&
        input.read(header.histograms, &merged.histograms) &&
        input.read(header.modules, &merged.modules) && input.read(header.rows, &merged.rows) &&
        input.read(header.sample_rows, &merged.sample_rows) &&
        input.read(header.threads, &merged.threads) && input.read(header.peers, &merged.peers) &&
        input.read(header.distances, &merged.distances) &&
        input.read(header.phases, &merged.phases) && input.read(header.grids, &merged.grids) &&
        input.read(header.places, &merged.places) &&
        input.read(header.partners, &merged.partners) &&
        input.read(header.causes, &merged.causes) && input.read(header.stalls, &merged.stalls) &&
        input.read(header.metrics, &merged.metrics) && input.read(header.counts, &merged.counts) &&
        input.read(header.count_rows, &merged.count_rows) &&
        input.read(header.axis, &merged.axis) && input.read(header.axis_rows, &merged.axis_rows) &&
        input.read(header.text_bytes, &merged.text) &&
        input.read(header.last_rank_bytes, &last_rank) && input.at_end();
    if (!read || !Validator(merged).valid()) return false;
    if (!merged.ranks.adopt(header.ranks, ranks, &last_rank)) return false;
    *out = static_cast<Merged&&>(merged);
    return true;
}

}  // namespace dwell
