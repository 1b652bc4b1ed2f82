// From one record file to merged records. The file may be of a process that runs on or was killed,
// or damaged: it is copied cell by cell, every index is checked, and no cell is taken twice, so
// that neither a wild link nor a circle does more than end a list. Layout: runtime/record_layout.h.
#include <stddef.h>
#include <string.h>

#include <algorithm>
#include <iterator>

#include "runtime/io_calls.h"
#include "runtime/mpi_calls.h"
#include "runtime/omp_constructs.h"
#include "runtime/record_layout.h"
#include "summarize/merged.h"
#include "summarize/merged_counts.h"
#include "summarize/merged_tables.h"
#include "summarize/merged_waits.h"

namespace dwell {
namespace {

// What a cell has been taken for; smaller values are the merged index of its node.
constexpr uint32_t kCellFree = 0xffffffffu;
constexpr uint32_t kCellTaken = 0xfffffffeu;

__extension__ typedef unsigned __int128 Wide;

// value * factor / divisor, at most UINT64_MAX.
uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor) {
    if (divisor == 0) return 0;
    const Wide result = static_cast<Wide>(value) * factor / divisor;
    return result > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(result);
}

// A name in the header, which may be cut off.
template <size_t kBytes>
const char* terminated(char (&name)[kBytes]) {
    name[kBytes - 1] = '\0';
    return name;
}

uint64_t hash_of_peer(uint32_t node, uint32_t peer) { return mix_hash(node, peer); }

class RecordReader {
  public:
    RecordReader(const void* file, size_t bytes, Merged* out)
        : file_(static_cast<const char*>(file)),
          bytes_(bytes),
          out_(out),
          text_(out),
          module_table_(out),
          node_table_(out),
          phase_table_(out),
          partners_(&out->partners),
          causes_(&out->causes) {}

    bool read();

  private:
    struct Step {  // a node still to be read, and where it belongs
        CellIndex cell;
        uint32_t parent;
    };
    struct ThreadSpan {  // the thread's intervals in intervals_
        uint32_t number;
        size_t intervals_end;
        CellIndex first_metric;
    };

    bool read_header();
    bool read_modules();
    bool read_module(CellIndex cell, const ModuleRecord& record);
    bool read_threads();
    void add_thread_figures(const ThreadRecord& thread);
    bool read_tree(CellIndex root);
    bool walk(uint32_t thread, bool intervals_too);
    bool read_node(Step step, const Node& node, uint32_t thread, uint32_t* merged);
    bool read_name(CellIndex cell, uint64_t* text);
    bool add_open_probes(const ThreadRecord& thread);
    bool read_intervals();
    void set_site(const Node& node, MergedNode* place) const;
    bool totals_of(const Node& node, uint32_t merged, Totals* totals);
    void omp_totals_of(const Node& node, Totals* totals) const;
    bool add_phase(CellIndex part, uint32_t merged);
    bool read_grids();
    bool read_grid(const GridRecord& record);
    bool add_histogram(CellIndex cell, uint32_t merged, Totals* totals);
    bool read_peers(CellIndex first, uint32_t merged);
    bool add_peer(const PeerRecord& record, uint32_t merged);
    bool read_wait(CellIndex cell, uint32_t merged, Totals* totals);
    bool read_causes(const ThreadRecord& thread);
    bool read_io(CellIndex cell, uint32_t merged, Totals* totals);
    bool add_row(uint32_t merged, uint32_t thread, const Totals& totals);
    void begin_rows();
    bool read_metrics();
    bool add_rank();

    bool intern(const char* bytes, size_t most, uint32_t* offset) {
        *offset = text_.intern(bytes, strnlen(bytes, most));
        return *offset != kNoText;
    }
    uint64_t ns(uint64_t ticks) const {
        return scale(ticks, 1'000'000'000, header_.ticks_per_second);
    }
    bool in_file(CellIndex cell, uint32_t cells) const {
        return cell >= header_.header_cells && cells <= cells_ && cell <= cells_ - cells;
    }
    template <typename T>
    bool load(CellIndex cell, T* record) const {
        if (!in_file(cell, (sizeof(T) + kCellBytes - 1) / kCellBytes)) return false;
        memcpy(record, file_ + static_cast<size_t>(cell) * kCellBytes, sizeof(T));
        return true;
    }
    // The same, for the first use of the cell only.
    template <typename T>
    bool take(CellIndex cell, T* record) {
        if (!load(cell, record) || cells_taken_[cell] != kCellFree) return false;
        cells_taken_[cell] = kCellTaken;
        return true;
    }
    uint32_t node_at(CellIndex cell) const {
        return cell < cells_ && cells_taken_[cell] < kCellTaken ? cells_taken_[cell] : kNoNode;
    }

    const char* file_;
    size_t bytes_;
    uint32_t cells_ = 0;
    FileHeader header_{};
    uint32_t rank_ = 0;
    Merged* out_;
    TextTable text_;
    ModuleTable module_table_;
    NodeTable node_table_;
    PhaseTable phase_table_;
    BlameTable partners_;
    BlameTable causes_;
    HashIndex peer_index_;
    GrowArray<uint32_t> cells_taken_;
    GrowArray<uint32_t> modules_;  // merged index by ModuleRecord::number
    GrowArray<uint32_t> rows_;     // row of the current thread by merged node
    size_t first_row_ = 0;         // of the current thread
    GrowArray<Step> steps_;
    GrowArray<Step> intervals_;
    GrowArray<ThreadSpan> threads_;
    MergedRank figures_{};
    uint32_t first_thread_ = UINT32_MAX;
    uint64_t last_ticks_ = 0;
};

bool RecordReader::read() {
    return read_header() && text_.load() && read_modules() && read_threads() && read_intervals() &&
           read_grids() && read_metrics() && add_rank();
}

bool RecordReader::read_header() {
    if (bytes_ < sizeof(header_)) return false;
    memcpy(&header_, file_, sizeof(header_));
    if (header_.magic != kRecordMagic || header_.version != kRecordLayoutVersion) return false;
    if (header_.header_cells != kHeaderCells || header_.ticks_per_second == 0) return false;
    const int64_t world_size = header_.world_size;
    if (world_size < 1 || world_size > int64_t{1} << kPeerRankBits) return false;
    if (header_.rank < 0 || header_.rank >= world_size) return false;
    cells_ = static_cast<uint32_t>(std::min<uint64_t>(header_.cells_used, bytes_ / kCellBytes));
    rank_ = static_cast<uint32_t>(std::max(header_.rank, 0));
    out_->world_size = static_cast<uint32_t>(std::max(header_.world_size, 1));
    memcpy(out_->job, header_.job, sizeof(out_->job));
    out_->job[sizeof(out_->job) - 1] = '\0';
    if (!cells_taken_.resize(cells_)) return false;
    for (uint32_t& taken : cells_taken_) taken = kCellFree;
    return true;
}

bool RecordReader::read_modules() {
    ModuleRecord record;
    for (CellIndex cell = header_.first_module; take(cell, &record); cell = record.next) {
        if (in_file(cell, 1 + record.path_cells) && !read_module(cell, record)) return false;
    }
    return true;
}

bool RecordReader::read_module(CellIndex cell, const ModuleRecord& record) {
    MergedModule module{};
    const char* path = file_ + (static_cast<size_t>(cell) + 1) * kCellBytes;
    if (!intern(path, record.path_cells * size_t{kCellBytes}, &module.path)) return false;
    if (record.build_id_bytes <= sizeof(module.build_id)) {
        module.build_id_bytes = record.build_id_bytes;
        memcpy(module.build_id, record.build_id, record.build_id_bytes);
    }
    const uint32_t merged = module_table_.find_or_add(module);
    if (merged == kNoModule) return false;
    const size_t known = modules_.size();
    if (record.number >= known) {
        if (!modules_.resize(record.number + size_t{1})) return false;
        for (size_t i = known; i < modules_.size(); i++) modules_[i] = kNoModule;
    }
    modules_[record.number] = merged;
    return true;
}

bool RecordReader::read_threads() {
    ThreadRecord thread;
    for (CellIndex cell = header_.first_thread; take(cell, &thread); cell = thread.next) {
        add_thread_figures(thread);
        if (!read_causes(thread)) return false;
        begin_rows();
        steps_.clear();
        if (!read_tree(thread.root) || !walk(thread.number, false)) return false;
        if (!add_open_probes(thread)) return false;
        if (!threads_.push(ThreadSpan{thread.number, intervals_.size(), thread.first_metric}))
            return false;
    }
    return true;
}

void RecordReader::add_thread_figures(const ThreadRecord& thread) {
    figures_.threads++;
    figures_.samples += thread.samples;
    figures_.samples_in_calls += thread.samples_in_calls;
    figures_.samples_lost += thread.samples_lost;
    figures_.folded_paths += thread.folded_paths;
    figures_.dropped += thread.dropped;
    figures_.guessed += thread.guessed;
    figures_.clock_errors += thread.clock_errors;
    figures_.order_kept += thread.order_kept;
    figures_.order_far += thread.order_far;
    figures_.order_posted += thread.order_posted;
    figures_.order_unknown += thread.order_unknown;
    figures_.threads_served += thread.threads_served;
    figures_.probes += thread.probes;
    figures_.probes_missed += thread.probes_missed;
    figures_.probes_dropped += thread.probes_dropped;
    last_ticks_ = std::max(last_ticks_, thread.last_ticks);
    if (thread.number < first_thread_) {
        first_thread_ = thread.number;
        figures_.intrusion_ns = ns(thread.intrusion_ticks);
        figures_.own_ns = ns(thread.own_ticks);
        figures_.injected_ns = ns(thread.injected_ticks);
        figures_.paused_ns = ns(thread.paused_ticks);
    }
}

bool RecordReader::read_tree(CellIndex root) {
    Node node;
    if (!load(root, &node) || node.site.kind != SiteKind::kProgram) return true;
    return steps_.push(Step{root, kNoNode});
}

// Reads the nodes on steps_ and all below them, parents first. Intervals name nodes that may not be
// read yet, so they are put aside unless `intervals_too`.
bool RecordReader::walk(uint32_t thread, bool intervals_too) {
    while (!steps_.empty()) {
        const Step step = steps_[steps_.size() - 1];
        steps_.resize(steps_.size() - 1);
        Node node;
        if (!load(step.cell, &node) || cells_taken_[step.cell] != kCellFree) continue;
        cells_taken_[step.cell] = kCellTaken;
        // The root has no siblings.
        if (step.parent != kNoNode && !steps_.push(Step{node.next_sibling, step.parent}))
            return false;
        const bool is_root = node.site.kind == SiteKind::kProgram;
        if (is_root != (step.parent == kNoNode) || node.site.kind == SiteKind::kNone ||
            node.site.kind > SiteKind::kSample) {
            continue;
        }
        if (node.site.kind == SiteKind::kInterval && !intervals_too) {
            if (!intervals_.push(step)) return false;
            continue;
        }
        // What was opened there was no file.
        if (node.site.kind == SiteKind::kIo && node.count == 0) continue;
        uint32_t merged = kNoNode;
        if (!read_node(step, node, thread, &merged)) return false;
        if (!steps_.push(Step{node.first_child, merged})) return false;
    }
    return true;
}

bool RecordReader::read_node(Step step, const Node& node, uint32_t thread, uint32_t* merged) {
    MergedNode place{};
    place.parent = step.parent;
    set_site(node, &place);
    if (is_named(place) && !read_name(static_cast<CellIndex>(node.site.offset), &place.offset)) {
        return false;
    }
    *merged = node_table_.find_or_add(place);
    if (*merged == kNoNode) return false;
    cells_taken_[step.cell] = *merged;

    Totals totals = empty_totals();
    if (!totals_of(node, *merged, &totals)) return false;
    MergedNode* added = &out_->nodes[*merged];
    add_totals(&added->totals, totals);
    added->ranks = 1;
    added->rank_min = added->rank_max = rank_;
    added->rank_min_ns = added->rank_max_ns = added->totals.time_ns;
    const bool phase = is_named(place) && (place.flags & kNodePhase) != 0;
    if (phase && !add_phase(node.part, *merged)) return false;
    return node.site.kind == SiteKind::kSample || add_row(*merged, thread, totals);
}

void RecordReader::set_site(const Node& node, MergedNode* place) const {
    place->kind = static_cast<uint8_t>(node.site.kind);
    place->module = kNoModule;
    place->meet = kNoNode;
    if (node.site.kind == SiteKind::kProgram) return;
    place->flags = node.site.flags & static_cast<uint8_t>(~kNodeRead);
    if (node.site.kind == SiteKind::kInterval) {
        place->offset = node_at(static_cast<CellIndex>(node.site.offset));
        const uint32_t meet = node_at(node.part);
        place->meet = meet == kNoNode ? 0 : meet;
        return;
    }
    place->offset = node.site.offset;
    if (node.site.module < modules_.size()) place->module = modules_[node.site.module];
    if (node.site.kind == SiteKind::kCommunication && node.site.call < kMpiCallCount) {
        place->call = node.site.call;
    }
    const bool openmp = node.site.kind == SiteKind::kOpenMp;
    if (openmp && node.site.call < kOmpConstructs) place->call = node.site.call;
    if (node.site.kind == SiteKind::kIo && node.site.call < kIoCallCount) {
        place->call = node.site.call;
    }
}

// A name that is damaged is empty. False when memory ran out.
bool RecordReader::read_name(CellIndex cell, uint64_t* text) {
    *text = 0;
    TextRecord record;
    if (!load(cell, &record)) return true;
    const size_t start = static_cast<size_t>(cell) * kCellBytes + offsetof(TextRecord, text);
    const size_t most = static_cast<size_t>(cells_) * kCellBytes - start;
    uint32_t offset = 0;
    if (!intern(file_ + start, std::min<size_t>(record.bytes, most), &offset)) return false;
    *text = offset;
    return true;
}

// Procedures and loops that were open when the file was last written: so far they took the time
// from their entry to the thread's last communication, or to the entry of the last of them.
bool RecordReader::add_open_probes(const ThreadRecord& thread) {
    const uint64_t entries = std::min(thread.probe_depth, thread.probe_stack_entries);
    const uint64_t cells = (entries + 1) * sizeof(ProbeEntry) / kCellBytes + 1;
    if (entries == 0 || !in_file(thread.probe_stack, static_cast<uint32_t>(cells))) return true;
    const char* const stack = file_ + static_cast<size_t>(thread.probe_stack) * kCellBytes;
    const uint64_t gone = thread.intrusion_ticks + thread.paused_ticks;
    uint64_t now = thread.last_ticks > gone ? thread.last_ticks - gone : 0;
    for (uint64_t i = entries; i > 0; i--) {
        ProbeEntry entry;
        memcpy(&entry, stack + i * sizeof(ProbeEntry), sizeof(entry));
        // A stopped one holds a duration, what it took until then.
        const bool stopped = (entry.flags & (kEntryStopped | kEntryAway)) != 0;
        if (!stopped) now = std::max(now, entry.entry_virtual);
        const uint32_t merged = node_at(entry.node);
        if (merged == kNoNode || !is_measured_kind(out_->nodes[merged].kind)) continue;
        if ((entry.flags & kEntryUntimed) != 0 && !stopped) continue;
        Totals totals = empty_totals();
        totals.time_ns = ns(stopped ? entry.entry_virtual : now - entry.entry_virtual);
        MergedNode* node = &out_->nodes[merged];
        add_totals(&node->totals, totals);
        node->rank_min_ns = node->rank_max_ns = node->totals.time_ns;
        if (!add_row(merged, thread.number, totals)) return false;
    }
    last_ticks_ = std::max(last_ticks_, now + gone);
    return true;
}

bool RecordReader::totals_of(const Node& node, uint32_t merged, Totals* totals) {
    totals->count = node.count;
    totals->time_ns = ns(node.ticks);
    if (node.site.kind == SiteKind::kOpenMp) {
        omp_totals_of(node, totals);
        return true;
    }
    if (is_probe_kind(static_cast<uint8_t>(node.site.kind))) {
        ProbePart probe{};
        if (node.part != 0 && !load(node.part, &probe)) probe = ProbePart{};
        if (node.site.kind == SiteKind::kLoop) totals->iterations = probe.iterations;
        totals->untimed = std::min(probe.untimed + probe.counted, node.count);
        totals->abandoned = probe.abandoned;
        totals->off_entries = probe.off_entries;
        const uint64_t timed = node.count - totals->untimed;
        if (timed != 0) {
            // Entries while it was off may be recursive: those share the time of one that is timed.
            totals->estimated_ns =
                ns(scale(node.ticks, probe.counted, timed) +
                   scale(node.ticks, probe.off_entries, node.count - probe.counted));
        }
        totals->volume = probe.volume;
        if (node.count == totals->untimed) return true;
        if (node.min_ticks != UINT64_MAX) totals->min_ns = ns(node.min_ticks);
        totals->max_ns = ns(node.max_ticks);
        return true;
    }
    if (node.count != 0) {
        // A call that was left by a throw counts, but has no duration.
        totals->min_ns = node.min_ticks != UINT64_MAX ? ns(node.min_ticks) : 0;
        totals->max_ns = ns(node.max_ticks);
    }
    if (node.site.kind == SiteKind::kIo) return read_io(node.part, merged, totals);
    CommPart part;
    if (node.site.kind != SiteKind::kCommunication || !load(node.part, &part)) return true;
    totals->sync_ns = ns(part.sync_ticks);
    totals->blocked_ns = totals->sync_ns + ns(part.blocked_ticks);
    totals->bytes_sent = part.bytes_sent;
    totals->bytes_received = part.bytes_received;
    totals->failed = part.failed;
    totals->folded_peers = part.folded_peers;
    return read_wait(part.wait, merged, totals) && add_histogram(part.histogram, merged, totals) &&
           read_peers(part.first_peer, merged);
}

void RecordReader::omp_totals_of(const Node& node, Totals* totals) const {
    OmpPart part{};
    if (node.part != 0 && !load(node.part, &part)) part = OmpPart{};
    totals->untimed = std::min(part.untimed, node.count);
    totals->abandoned = part.abandoned;
    const uint64_t wait_ns = ns(std::min(part.wait_ticks, node.ticks));
    const bool idle = node.site.call == static_cast<uint16_t>(OmpConstruct::kIdle);
    (idle ? totals->omp_idle_ns : totals->omp_wait_ns) = wait_ns;
    totals->omp_start_ns = ns(part.start_ticks);
    totals->omp_overhead_ns = ns(std::min(part.overhead_ticks, node.ticks));
    totals->iterations = part.iterations;
    totals->created = part.created;
    totals->chunks = part.chunks;
    if (node.min_ticks == UINT64_MAX) return;
    totals->min_ns = ns(node.min_ticks);
    totals->max_ns = ns(node.max_ticks);
}

bool RecordReader::read_io(CellIndex cell, uint32_t merged, Totals* totals) {
    IoPart part;
    if (!load(cell, &part)) return true;
    totals->bytes_received = part.bytes_read;
    totals->bytes_sent = part.bytes_written;
    totals->failed = part.failed;
    FileUse use;
    FileUse most{};
    uint32_t files = 0;
    for (CellIndex at = part.first_file; take(at, &use); at = use.next) {
        ++files;
        const bool more = use.bytes > most.bytes ||
                          (use.bytes == most.bytes && use.count > most.count) || most.name == 0;
        if (more) most = use;
    }
    uint64_t name = 0;
    if (files == 0) return true;
    if (!read_name(most.name, &name)) return false;
    const bool others = files > 1 || part.elsewhere != 0;
    if (name != 0) {
        add_file(&out_->nodes[merged], static_cast<uint32_t>(name), most.bytes, others);
    }
    return true;
}

// Calls that the analysis does not follow, or that of a rank without it, are not known at all.
bool RecordReader::read_wait(CellIndex cell, uint32_t merged, Totals* totals) {
    const MpiCallInfo& call = kMpiCalls[out_->nodes[merged].call];
    const bool follows = call.analysed && (header_.flags & kFileWaits) != 0;
    if (!follows && (call.analysed || call.waits)) totals->unknown_waits = totals->count;
    WaitPart part;
    if (cell == 0 || !take(cell, &part)) return true;
    totals->late_sender_ns = ns(part.late_sender_ticks);
    totals->late_receiver_ns = ns(part.late_receiver_ticks);
    totals->passed_on_ns = ns(part.passed_on_ticks);
    if (follows) totals->unknown_waits = std::min<uint64_t>(part.unknown, totals->count);
    totals->guessed_waits = part.guessed;
    totals->estimated_waits = part.estimated;
    PartnerRecord record;
    for (CellIndex at = part.first_partner; take(at, &record); at = record.next) {
        if (record.peer == kNoPeer) continue;  // damaged
        const MergedBlame partner{merged,
                                  record.peer,
                                  record.path,
                                  0,
                                  record.count,
                                  ns(record.ticks),
                                  ns(record.max_ticks),
                                  ns(record.passed_on_ticks),
                                  0};
        if (!partners_.add(partner)) return false;
    }
    if (part.rest_count == 0) return true;
    const uint64_t rest_ns = ns(part.rest_ticks);
    return partners_.add({merged, kNoPeer, 0, 0, part.rest_count, rest_ns, 0, 0, rest_ns});
}

bool RecordReader::read_causes(const ThreadRecord& thread) {
    CauseRecord record;
    for (CellIndex at = thread.first_cause; take(at, &record); at = record.next) {
        const uint64_t time_ns = ns(record.ticks);
        const uint64_t direct_ns = std::min(time_ns, ns(record.direct_ticks));
        const MergedBlame cause{record.path, record.peer,         0, 0, record.count, time_ns,
                                0,           time_ns - direct_ns, 0};
        if (!causes_.add(cause)) return false;
    }
    const uint64_t rest_ns = ns(thread.rest_cause_ticks);
    return rest_ns == 0 ||
           causes_.add({0, kNoPeer, 0, 0, thread.rest_cause_count, rest_ns, 0, 0, rest_ns});
}

// The threads of a rank are one: what the furthest of them reached is what the rank reached.
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

// The file's list begins with what was described last.
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

// One that is damaged, or written just now, is left out. False when memory ran out.
bool RecordReader::read_grid(const GridRecord& record) {
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
    if (find_grid(*out_, grid) != kNoGrid) return true;  // two of one name: the file is damaged
    place.grid = static_cast<uint32_t>(out_->grids.size());
    return out_->grids.push(grid) && out_->places.push(place);
}

bool RecordReader::add_histogram(CellIndex cell, uint32_t merged, Totals* totals) {
    SizeHistogram histogram;
    if (!load(cell, &histogram)) return true;
    totals->untimed = histogram.untimed;
    for (int slot = 0; slot < kEventSlots; slot++) {
        totals->event_count[slot] = histogram.event_count[slot];
        totals->event_ns[slot] = ns(histogram.event_ticks[slot]);
    }
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

bool RecordReader::read_peers(CellIndex first, uint32_t merged) {
    PeerRecord record;
    for (CellIndex cell = first; take(cell, &record); cell = record.next) {
        if (!add_peer(record, merged)) return false;
    }
    return true;
}

// The threads of a rank are one towards a partner.
bool RecordReader::add_peer(const PeerRecord& record, uint32_t merged) {
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

void RecordReader::begin_rows() {
    for (size_t i = first_row_; i < out_->rows.size(); i++) rows_[out_->rows[i].node] = kNoNode;
    first_row_ = out_->rows.size();
}

bool RecordReader::add_row(uint32_t merged, uint32_t thread, const Totals& totals) {
    const size_t known = rows_.size();
    if (merged >= known) {
        if (!rows_.resize(merged + size_t{1})) return false;
        for (size_t i = known; i < rows_.size(); i++) rows_[i] = kNoNode;
    }
    if (rows_[merged] != kNoNode) {
        add_totals(&out_->rows[rows_[merged]].totals, totals);
        return true;
    }
    MergedRow row{};
    row.node = merged;
    row.rank = rank_;
    row.thread = thread;
    row.totals = totals;
    rows_[merged] = static_cast<uint32_t>(out_->rows.size());
    return out_->rows.push(row);
}

bool RecordReader::read_intervals() {
    size_t next = 0;
    for (const ThreadSpan& thread : threads_) {
        begin_rows();
        for (; next < thread.intervals_end; next++) {
            // Its siblings have been walked.
            const Step step = intervals_[next];
            Node node;
            if (!load(step.cell, &node)) continue;
            uint32_t merged = kNoNode;
            if (!read_node(step, node, thread.number, &merged)) return false;
            steps_.clear();
            if (!steps_.push(Step{node.first_child, merged})) return false;
            if (!walk(thread.number, true)) return false;
        }
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
    out_->metric_read_ns = ns(header_.metric_ticks);
    out_->metric_least_ns = ns(header_.metric_least_ticks);
    CountTable sums(&out_->counts);
    for (const ThreadSpan& thread : threads_) {
        MetricPart part;
        for (CellIndex at = thread.first_metric; take(at, &part); at = part.next) {
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

bool RecordReader::add_rank() {
    MergedRank rank = figures_;
    rank.rank = rank_;
    rank.pid = header_.pid;
    rank.state = static_cast<uint32_t>(header_.state);
    if (rank.state < static_cast<uint32_t>(FileState::kRunning) ||
        rank.state > static_cast<uint32_t>(FileState::kExited)) {
        rank.state = static_cast<uint32_t>(FileState::kRunning);
    }
    rank.flags = header_.flags;
    rank.exit_code = header_.exit_code;
    rank.sample_hz = header_.sample_hz;
    rank.callpath_depth = header_.callpath_depth;
    // Without MPI_Finalize the observation ends with the last finished call: what came after it, up
    // to the end of the process, belongs to no statement.
    const bool finalized = header_.state == FileState::kFinalized && header_.end_ticks != 0;
    const uint64_t end = finalized ? header_.end_ticks : last_ticks_;
    const uint64_t begin = std::max(header_.start_ticks, header_.reset_ticks);
    rank.start_unix_ns =
        header_.start_unix_ns + static_cast<int64_t>(ns(begin - header_.start_ticks));
    rank.real_ns = end > begin ? ns(end - begin) : 0;
    rank.call_cost_ns_q8 =
        scale(header_.call_cost_ticks, 256'000'000'000, header_.ticks_per_second);
    rank.record_bytes = std::min<uint64_t>(bytes_, uint64_t{header_.cells_reserved} * kCellBytes);
    const auto signed_ns = [this](int64_t ticks) {
        const uint64_t apart = ticks < 0 ? 0 - static_cast<uint64_t>(ticks) : ticks;
        const auto size = static_cast<int64_t>(std::min<uint64_t>(ns(apart), INT64_MAX));
        return ticks < 0 ? -size : size;
    };
    rank.clock_offset_ns = signed_ns(header_.clock_offset_ticks);
    rank.clock_drift_ns = signed_ns(header_.clock_drift_ticks);
    rank.clock_bound_ns = ns(header_.clock_bound_ticks);
    if (header_.usage_ticks > begin) rank.usage_ns = ns(header_.usage_ticks - begin);
    if (rank.usage_ns != 0) rank.usage = header_.usage;
    rank.host = terminated(header_.host);
    rank.program = terminated(header_.program);
    rank.command = terminated(header_.command);
    return out_->ranks.add(rank);
}

}  // namespace

bool add_record_file(Merged* into, const void* file, size_t bytes) {
    Merged one;
    return RecordReader(file, bytes, &one).read() && join(into, static_cast<Merged&&>(one));
}

}  // namespace dwell
