// Reads the header of a record file, its threads and their trees of nodes into merged records.
#include "summarize/merge/record_reader.h"

#include <string.h>

#include <algorithm>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "runtime/contract/path_hash.h"
#include "summarize/merge/node_figures.h"
#include "summarize/merge/saturating.h"

namespace dwell {
namespace {

// A name in the header, which may be truncated.
template <size_t kBytes>
const char* terminated(char (&name)[kBytes]) {
    name[kBytes - 1] = '\0';
    return name;
}

}  // namespace

bool RecordReader::read(int64_t end_unix_ns) {
    if (!read_header()) return false;
    find_end(end_unix_ns);
    return text_.load() && read_modules() && read_off_sites() && read_threads() &&
           read_intervals() && settle_peers() && read_stalls() && read_grids() && read_metrics() &&
           read_axes() && read_process() && add_rank();
}

constexpr uint64_t kHighestRate = 1'000'000'000'000;  // ticks a second of any machine

bool RecordReader::read_header() {
    if (bytes_ < sizeof(header_)) return false;
    memcpy(&header_, file_, sizeof(header_));
    if (header_.magic != kRecordMagic || header_.version != kRecordLayoutVersion) return false;
    const uint64_t rate = header_.ticks_per_second;
    if (header_.header_cells != kHeaderCells || rate == 0 || rate > kHighestRate) return false;
    const int64_t world_size = header_.world_size;
    if (world_size < 1 || world_size > int64_t{1} << kPeerRankBits) return false;
    if (header_.rank < 0 || header_.rank >= world_size) return false;
    clock_ = TickScale(header_.ticks_per_second);
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
        doubt(record.number == 0 || is_lost(record.next));
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
    module.host = static_cast<uint32_t>(
        hash_path_bytes(header_.host, strnlen(header_.host, sizeof header_.host)));
    module.bytes = record.size;
    module.inode = record.inode;
    module.modified_ns = record.modified_ns;
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
        doubt(thread.root == 0 || is_lost(thread.root) || is_lost(thread.next));
        open_node_ = thread.open_depth != 0 ? thread.open.node : 0;
        add_thread_figures(thread);
        if (!add_thread(thread) || !thread_cells_.push(cell)) return false;
        if (!read_causes(thread)) return false;
        begin_rows();
        steps_.clear();
        if (!read_tree(thread.root) || !walk(thread.number, false)) return false;
        if (!add_open_call(cell, thread) || !add_open_probes(thread) || !add_place(cell, thread)) {
            return false;
        }
        // The last span of the process's thread is the process's, up to its end.
        const bool of_process = thread.number == header_.process_thread && is_whole_process();
        const uint64_t lived_ns = ns(of_process ? thread.span_ticks + thread.serving_ticks
                                                : lived_ticks(thread, end_virtual(thread)));
        const ThreadSpan span{thread.number,      intervals_.size(), thread.first_metric,
                              thread.first_stall, lived_ns,          time_of_rows(false)};
        if (!threads_.push(span)) return false;
    }
    return true;
}

bool RecordReader::add_thread(const ThreadRecord& thread) {
    MergedThread merged{};
    merged.rank = rank_;
    merged.thread = thread.number;
    merged.served = static_cast<uint32_t>(std::min<uint64_t>(thread.threads_served, UINT32_MAX));
    merged.name = text_.intern(thread.name, strnlen(thread.name, sizeof(thread.name)));
    return merged.name != kNoText && out_->threads.push(merged);
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
    figures_.order_remote += thread.order_remote;
    figures_.order_posted += thread.order_posted;
    figures_.order_unknown += thread.order_unknown;
    figures_.queued_ns += ns(thread.queued_ticks);
    figures_.queued_call_ns += ns(thread.queued_call_ticks);
    figures_.stalls_dropped += thread.stalls_dropped;
    figures_.threads_served += thread.threads_served;
    figures_.probes += thread.probes;
    figures_.probes_missed += thread.probes_missed;
    figures_.probes_dropped += thread.probes_dropped;
    figures_.threads_cut += thread.end_virtual == kNotReadable ? 1 : 0;
    last_ticks_ = std::max(last_ticks_, thread.last_ticks);
    if (thread.number == header_.process_thread) {
        has_main_ = thread.tid == header_.pid;
        figures_.intrusion_ns = ns(thread.intrusion_ticks + thread.late_ticks);
        figures_.own_ns = ns(thread.own_ticks + thread.late_ticks);
        figures_.injected_ns = ns(thread.injected_ticks);
        figures_.paused_ns = ns(thread.paused_ticks);
    }
}

bool RecordReader::read_tree(CellIndex root) {
    Node node;
    if (!load(root, &node)) return true;
    doubt(node.site.kind != SiteKind::kProgram);
    if (node.site.kind != SiteKind::kProgram) return true;
    return steps_.push(Step{root, kNoNode});
}

// Reads the nodes on steps_ and all nodes below them, parents first. Intervals refer to nodes that
// may not be read yet, so they are put aside unless `intervals_too`.
bool RecordReader::walk(uint32_t thread, bool intervals_too) {
    while (!steps_.empty()) {
        const Step step = steps_[steps_.size() - 1];
        steps_.resize(steps_.size() - 1);
        Node node;
        doubt(is_lost(step.cell));
        if (!load(step.cell, &node) || cells_taken_[step.cell] != kCellFree) continue;
        cells_taken_[step.cell] = kCellTaken;
        // The root has no siblings.
        if (step.parent != kNoNode && !steps_.push(Step{node.next_sibling, step.parent}))
            return false;
        const bool is_root = node.site.kind == SiteKind::kProgram;
        if (is_root != (step.parent == kNoNode) || node.site.kind == SiteKind::kNone ||
            node.site.kind > SiteKind::kSample) {
            doubt(true);
            continue;
        }
        doubt_node(step.cell, node);
        if (node.site.kind == SiteKind::kInterval && !intervals_too) {
            if (!intervals_.push({step.cell, step.parent, node.next_sibling})) return false;
            continue;
        }
        // The opened path was not a file.
        if (node.site.kind == SiteKind::kIo && node.count == 0) {
            if (!note_cell(step.cell, node, kNoNode, thread)) return false;
            continue;
        }
        uint32_t merged = kNoNode;
        if (!read_node(step, node, thread, &merged)) return false;
        if (!steps_.push(Step{node.first_child, merged})) return false;
    }
    return true;
}

bool RecordReader::note_cell(CellIndex cell, const Node& node, uint32_t merged, uint32_t thread) {
    const bool is_noted = notes_samples_ && node.site.kind == SiteKind::kSample;
    if (in_interval_ && !is_noted) return true;
    return node_cells_.push({cell, merged, thread, node.first_child, node.next_sibling});
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
    if (!totals_of(step.cell, node, *merged, &totals)) return false;
    add_to_node(*merged, totals);
    if (!note_cell(step.cell, node, *merged, thread)) return false;
    const bool phase = is_named(place) && (place.flags & kNodePhase) != 0;
    if (phase && !add_phase(node.part, *merged)) return false;
    if (node.site.kind != SiteKind::kSample) return add_row(*merged, thread, totals);
    // After a reset there are none.
    return totals.count == 0 || out_->sample_rows.push({*merged, rank_, thread, 0, totals.count});
}

void RecordReader::add_to_node(uint32_t merged, const Totals& totals) {
    MergedNode* node = &out_->nodes[merged];
    add_totals(&node->totals, totals);
    node->ranks = 1;
    node->rank_min = node->rank_max = rank_;
    node->rank_min_ns = node->rank_max_ns = node->totals.time_ns;
}

void RecordReader::set_site(const Node& node, MergedNode* place) const {
    place->kind = static_cast<uint8_t>(node.site.kind);
    place->module = kNoModule;
    place->meet = kNoNode;
    if (node.site.kind == SiteKind::kProgram) return;
    place->flags =
        node.site.flags & static_cast<uint8_t>(~(kNodeRead | kNodeNoEvents | kNodeWindow));
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
    const bool of_sample = node.site.kind == SiteKind::kSample || node.site.kind == SiteKind::kCall;
    if (of_sample) place->call = node.site.call;
}

// Only for statements, whose entries do not overlap.
void RecordReader::doubt_node(CellIndex cell, const Node& node) {
    const SiteKind kind = node.site.kind;
    if (kind != SiteKind::kCommunication && kind != SiteKind::kIo) return;
    doubt(node.part == 0);
    if (cell == open_node_) return;
    const bool shortest_known = node.min_ticks != UINT64_MAX;
    doubt(node.max_ticks > node.ticks || (node.count == 0 && node.ticks != 0));
    doubt(node.count != 0 && shortest_known && node.min_ticks > node.max_ticks);
    CommPart part;
    if (kind != SiteKind::kCommunication || !load(node.part, &part)) return;
    doubt(part.histogram == 0 || part.failed > node.count || part.sync_ticks > node.ticks);
    doubt(part.blocked_ticks > node.ticks);
}

// Calls that complete requests may have found none.
void RecordReader::doubt_histogram(const SizeHistogram& histogram, const MergedNode& node,
                                   const Totals& totals) {
    const CallClass call = kMpiCalls[node.call].call_class;
    uint64_t events = 0;
    uint64_t time_ns = 0;
    for (int slot = 0; slot < kEventSlots; slot++) {
        events = std::max(events, histogram.event_count[slot]);
        time_ns = std::max(time_ns, totals.event_ns[slot]);
    }
    doubt(time_ns > totals.time_ns);
    if (call == CallClass::kWait || call == CallClass::kTest) return;
    doubt(events == 0 && totals.count > totals.failed);
}

// A damaged name becomes empty. Returns false without memory.
bool RecordReader::read_name(CellIndex cell, uint64_t* text) {
    *text = 0;
    TextRecord record;
    if (!load(cell, &record)) return true;
    doubt(record.bytes == 0);
    const size_t start = static_cast<size_t>(cell) * kCellBytes + offsetof(TextRecord, text);
    const size_t most = static_cast<size_t>(cells_) * kCellBytes - start;
    uint32_t offset = 0;
    if (!intern(file_ + start, std::min<size_t>(record.bytes, most), &offset)) return false;
    *text = offset;
    return true;
}

// Sum of the times of the nodes of a list; call statements have no time of their own. A damaged
// list may be circular, so at most `left` nodes are read.
uint64_t RecordReader::listed_ticks(CellIndex first, bool of_call, uint32_t* left) const {
    uint64_t ticks = 0;
    Node node;
    for (CellIndex next = first; *left != 0 && load(next, &node); next = node.next_sibling) {
        *left -= 1;
        const SiteKind kind = node.site.kind;
        if (is_measured_kind(static_cast<uint8_t>(kind))) {
            ticks += node.ticks;
        } else if (kind == SiteKind::kCall && !of_call) {
            ticks += listed_ticks(node.first_child, true, left);
        }
    }
    return ticks;
}

// The time of children within the entry of a node that is still open, without its earlier entries.
uint64_t RecordReader::inside_ticks(CellIndex open) const {
    Node node;
    if (!load(open, &node)) return 0;
    uint32_t left = cells_;
    const uint64_t inside = listed_ticks(node.first_child, false, &left);
    return inside > node.ticks ? inside - node.ticks : 0;
}

// Closes the probes that were open when the file was last written. An open entry lasts until the
// end of the thread's observation, where known; else until the thread's last communication, until
// its innermost open entry, or as long as the time known inside it.
bool RecordReader::add_open_probes(const ThreadRecord& thread) {
    const uint64_t entries = std::min(thread.probe_depth, thread.probe_stack_entries);
    const uint64_t cells = (entries + 1) * sizeof(ProbeEntry) / kCellBytes + 1;
    if (entries == 0 || !in_file(thread.probe_stack, static_cast<uint32_t>(cells))) return true;
    const char* const stack = file_ + static_cast<size_t>(thread.probe_stack) * kCellBytes;
    const uint64_t gone = thread.intrusion_ticks + thread.late_ticks + thread.paused_ticks;
    uint64_t now = end_virtual(thread);
    for (uint64_t i = entries; i > 0; i--) {
        ProbeEntry entry;
        memcpy(&entry, stack + i * sizeof(ProbeEntry), sizeof(entry));
        if (i == entries && entry.flags == 0) {
            now = std::max(now, entry.entry_virtual + inside_ticks(entry.node));
        }
        // The field of a stopped entry holds the duration up to the stop.
        const bool stopped = (entry.flags & (kEntryStopped | kEntryAway)) != 0;
        if (!stopped) now = std::max(now, entry.entry_virtual);
        const uint32_t merged = node_at(entry.node);
        Node opened{};
        if (merged == kNoNode || !load(entry.node, &opened)) continue;
        const SiteKind kind = opened.site.kind;
        if (!is_measured_kind(static_cast<uint8_t>(kind))) continue;
        if ((entry.flags & kEntryUntimed) != 0 && !stopped) continue;
        Totals totals = empty_totals();
        totals.time_ns = ns(stopped ? entry.entry_virtual : now - entry.entry_virtual);
        if (only_waits(opened.site)) totals.omp_wait_ns = totals.time_ns;
        if (known_nodes_) {
            if (!open_entries_.push({merged, totals.time_ns, totals.omp_wait_ns})) return false;
        } else if (!add_unfinished(merged, thread.number, totals)) {
            return false;
        }
    }
    last_ticks_ = std::max(last_ticks_, now + gone);
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
            node.next_sibling = step.next_sibling;
            uint32_t merged = kNoNode;
            if (!read_node(step, node, thread.number, &merged)) return false;
            steps_.clear();
            if (!steps_.push(Step{node.first_child, merged})) return false;
            in_interval_ = true;
            if (!walk(thread.number, true)) return false;
            in_interval_ = false;
        }
        if (!add_rest_of_life(thread)) return false;
    }
    return true;
}

// Sum over the newest rows: of communication and I/O, or of intervals.
uint64_t RecordReader::time_of_rows(bool of_intervals) const {
    uint64_t time_ns = 0;
    for (size_t i = first_row_; i < out_->rows.size(); i++) {
        const auto kind = static_cast<SiteKind>(out_->nodes[out_->rows[i].node].kind);
        const bool statement = kind == SiteKind::kCommunication || kind == SiteKind::kIo;
        if (of_intervals ? kind == SiteKind::kInterval : statement)
            time_ns += out_->rows[i].totals.time_ns;
    }
    return time_ns;
}

uint64_t RecordReader::real_ns() const {
    // Where the end of a process is unknown, the observation of calls ends with the last finished
    // one.
    const bool to_its_end = header_.state == FileState::kFinalized || figures_.probes != 0;
    const uint64_t last = to_its_end && header_.end_ticks != 0 ? header_.end_ticks : last_ticks_;
    const uint64_t end = end_ticks_ != 0 ? end_ticks_ : last;
    const uint64_t begin = std::max(header_.start_ticks, header_.reset_ticks);
    return end > begin ? ns(end - begin) : 0;
}

// Time of a process without MPI that ended normally, where only probes and statements measure time
// and the rest is the program's own; and of a process that ended in the middle, where the rest is
// the computation since its last statement. 0 for other processes.
uint64_t RecordReader::process_ns() const {
    if (!is_whole_process()) return 0;
    const uint64_t other_ns = figures_.intrusion_ns + figures_.paused_ns;
    return real_ns() - std::min(other_ns, real_ns());
}

// The time of an application thread outside of statements and of the intervals between them is
// computation of the program itself.
bool RecordReader::add_rest_of_life(const ThreadSpan& thread) {
    uint64_t lived_ns = thread.lived_ns;
    if (thread.number == header_.process_thread && process_ns() != 0) {
        // Other threads may have used that record before, or else one of them replaces the first
        // thread.
        lived_ns = process_ns() + (has_main_ ? lived_ns : 0);
    }
    const uint64_t known_ns = thread.statements_ns + time_of_rows(true);
    if (lived_ns <= known_ns) return true;
    if (out_->nodes.empty()) return true;  // damaged: no thread has a tree
    MergedNode place{};
    place.kind = static_cast<uint8_t>(SiteKind::kInterval);
    place.module = kNoModule;
    place.offset = kNoNode;
    const uint32_t merged = node_table_.find_or_add(place);
    if (merged == kNoNode) return false;
    Totals totals = empty_totals();
    totals.count = 1;
    totals.time_ns = totals.min_ns = totals.max_ns = lived_ns - known_ns;
    add_to_node(merged, totals);
    return add_row(merged, thread.number, totals);
}

bool RecordReader::add_rank() {
    TextRecord directory;
    doubt(load(header_.start_directory, &directory) && directory.bytes == 0);
    MergedRank rank = figures_;
    rank.rank = rank_;
    rank.pid = header_.pid;
    rank.state = static_cast<uint32_t>(header_.state);
    if (rank.state < static_cast<uint32_t>(FileState::kRunning) ||
        rank.state > static_cast<uint32_t>(FileState::kExited)) {
        rank.state = static_cast<uint32_t>(FileState::kRunning);
    }
    rank.flags = header_.flags | end_flag_ | (damaged_ ? uint32_t{kFileDamaged} : 0);
    rank.exit_code = header_.exit_code;
    rank.sample_hz = header_.sample_hz;
    rank.files_unnamed = header_.files_unnamed;
    rank.io_unobserved = header_.io_unobserved;
    rank.process_thread = header_.process_thread;
    rank.callpath_depth = header_.callpath_depth;
    rank.processors = header_.processors;
    rank.first_processor = header_.first_processor;
    const uint64_t begin = std::max(header_.start_ticks, header_.reset_ticks);
    rank.start_unix_ns = later_by(header_.start_unix_ns, ns(begin - header_.start_ticks));
    rank.real_ns = real_ns();
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

bool add_record_file(Merged* into, const void* file, size_t bytes, int64_t end_unix_ns,
                     GrowArray<NodeCell>* cells) {
    Merged one;
    RecordReader reader(file, bytes, &one);
    if (!reader.read(end_unix_ns)) return false;
    if (cells == nullptr) return join(into, static_cast<Merged&&>(one));
    cells->swap(reader.node_cells());
    return join(into, static_cast<Merged&&>(one), cells);
}

bool add_record_file_with_samples(Merged* into, const void* file, size_t bytes,
                                  GrowArray<NodeCell>* cells) {
    Merged one;
    RecordReader reader(file, bytes, &one);
    reader.note_samples();
    if (!reader.read(0)) return false;
    cells->swap(reader.node_cells());
    return join(into, static_cast<Merged&&>(one), cells);
}

}  // namespace dwell
