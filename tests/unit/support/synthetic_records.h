// Builds record files in memory, cell by cell (runtime/contract/record_layout.h), so that tests
// know their content. One tick is one nanosecond unless the header is changed.
#ifndef DWELL_TESTS_UNIT_SYNTHETIC_RECORDS_H_
#define DWELL_TESTS_UNIT_SYNTHETIC_RECORDS_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/record_layout.h"
#include "tests/unit/support/call_numbers.h"

namespace dwell {

struct Figures {
    uint64_t count = 1;
    uint64_t ticks = 0;
    uint64_t min_ticks = 0;
    uint64_t max_ticks = 0;
};

class RecordFile {
  public:
    RecordFile(int rank, int world_size) : cells_(kHeaderCells) {
        FileHeader& head = header();
        head.magic = kRecordMagic;
        head.version = kRecordLayoutVersion;
        head.header_cells = kHeaderCells;
        head.state = FileState::kFinalized;
        head.pid = 1000 + rank;
        head.rank = rank;
        head.world_size = world_size;
        head.ticks_per_second = 1'000'000'000;
        snprintf(head.host, sizeof(head.host), "host%d", rank / 2);
        snprintf(head.job, sizeof(head.job), "job");
        snprintf(head.program, sizeof(head.program), "/bin/app");
        snprintf(head.command, sizeof(head.command), "app -x");
        update();
    }

    template <typename T>
    T& at(CellIndex cell) {
        return *reinterpret_cast<T*>(&cells_[cell]);
    }
    FileHeader& header() { return at<FileHeader>(0); }
    const void* data() const { return cells_.data(); }
    size_t bytes() const { return cells_.size() * sizeof(Cell); }

    // Its process ids mean something here.
    void run_here() { gethostname(header().host, sizeof header().host - 1); }
    CellIndex add_module(uint16_t number, const std::string& path, const std::string& build_id,
                         uint64_t base = 0) {
        const uint32_t path_cells = static_cast<uint32_t>(path.size() / kCellBytes + 1);
        const CellIndex cell = add_cells(1 + path_cells);
        ModuleRecord& module = at<ModuleRecord>(cell);
        module.next = header().first_module;
        module.number = number;
        module.build_id_bytes = static_cast<uint8_t>(build_id.size());
        module.path_cells = static_cast<uint8_t>(path_cells);
        module.base = base;
        memcpy(module.build_id, build_id.data(), build_id.size());
        memcpy(&cells_[cell + 1], path.c_str(), path.size() + 1);
        header().first_module = cell;
        return cell;
    }

    // Returns the thread's root.
    CellIndex add_thread(uint32_t number, Figures figures) {
        const CellIndex cell = add_cells(kThreadCells);
        const CellIndex root = add_cells(1);
        ThreadRecord& thread = at<ThreadRecord>(cell);
        thread.number = number;
        thread.next = header().first_thread;
        thread.root = root;
        thread.state = ThreadState::kComputing;
        thread.threads_served = 1;
        header().first_thread = cell;
        last_thread_ = cell;
        at<Node>(root).site.kind = SiteKind::kProgram;
        set_figures(root, figures);
        return root;
    }
    ThreadRecord& last_thread() { return at<ThreadRecord>(last_thread_); }

    CellIndex add_node(CellIndex parent, SiteKind kind, uint16_t module, uint64_t offset,
                       Figures figures) {
        const CellIndex cell = add_cells(1);
        Node& node = at<Node>(cell);
        node.site.kind = kind;
        node.site.module = module;
        node.site.offset = offset;
        node.parent = parent;
        CellIndex* link = &at<Node>(parent).first_child;
        while (*link != 0) link = &at<Node>(*link).next_sibling;
        *link = cell;
        set_figures(cell, figures);
        return cell;
    }
    CellIndex add_call(CellIndex parent, uint16_t module, uint64_t offset, Figures figures) {
        return add_node(parent, SiteKind::kCall, module, offset, figures);
    }
    CellIndex add_communication(CellIndex parent, uint16_t module, uint64_t offset,
                                const char* mpi_name, Figures figures) {
        const CellIndex cell = add_node(parent, SiteKind::kCommunication, module, offset, figures);
        const CellIndex comm = add_cells(1);
        const CellIndex histogram = add_cells(kHistogramCells);
        at<Node>(cell).site.call = call_number(mpi_name);
        at<Node>(cell).part = comm;
        at<CommPart>(comm).histogram = histogram;
        return cell;
    }
    // An I/O node; its files follow.
    CellIndex add_io(CellIndex parent, uint16_t module, uint64_t offset, IoCall call,
                     Figures figures, uint64_t read = 0, uint64_t written = 0) {
        const CellIndex cell = add_node(parent, SiteKind::kIo, module, offset, figures);
        const CellIndex part = add_cells(1);
        at<Node>(cell).site.call = static_cast<uint16_t>(call);
        at<Node>(cell).part = part;
        at<IoPart>(part).bytes_read = read;
        at<IoPart>(part).bytes_written = written;
        return cell;
    }
    void add_file(CellIndex node, const std::string& name, uint64_t count, uint64_t bytes) {
        const CellIndex text = add_text(name);
        const CellIndex cell = add_cells(1);
        IoPart& part = at<IoPart>(at<Node>(node).part);
        at<FileUse>(cell) = {text, part.first_file, count, 0, bytes, {}};
        part.first_file = cell;
        ++part.files;
    }
    CellIndex add_interval(CellIndex reached, CellIndex left, CellIndex meet, Figures figures) {
        const CellIndex cell = add_node(reached, SiteKind::kInterval, 0, left, figures);
        at<Node>(cell).part = meet;
        return cell;
    }
    // A node made by a probe; `row` is the offset of its SiteRow.
    CellIndex add_probe(CellIndex parent, SiteKind kind, uint16_t module, uint64_t row,
                        Figures figures) {
        const CellIndex cell = add_node(parent, kind, module, row, figures);
        const CellIndex part = add_cells(1);
        at<Node>(cell).part = part;
        return cell;
    }
    // By default with many short stretches.
    CellIndex add_off_site(SiteKind kind, uint16_t module, uint64_t row, double stretches = 1e6,
                           double squares = 1e6, double cut = 0) {
        const CellIndex cell = add_cells(1);
        OffSite& off = at<OffSite>(cell);
        off.site = {row, module, 0, kind, 0, 0};
        off.next = header().first_off_site;
        off.stretches = stretches;
        off.squares = squares;
        off.cut = cut;
        header().first_off_site = cell;
        return cell;
    }
    CellIndex add_text(const std::string& name) {
        const size_t bytes = offsetof(TextRecord, text) + name.size() + 1;
        const CellIndex text = add_cells(static_cast<uint32_t>(bytes / kCellBytes + 1));
        at<TextRecord>(text).next = header().first_text;
        at<TextRecord>(text).bytes = static_cast<uint32_t>(name.size());
        memcpy(reinterpret_cast<char*>(&at<TextRecord>(text)) + offsetof(TextRecord, text),
               name.c_str(), name.size() + 1);
        header().first_text = text;
        return text;
    }
    CellIndex add_named(CellIndex parent, SiteKind kind, const std::string& name, Figures figures) {
        const CellIndex text = add_text(name);
        const CellIndex cell = add_probe(parent, kind, 0, text, figures);
        at<Node>(cell).site.flags = kNodeNamed;
        return cell;
    }
    // A block that is a phase, numbered from `first` to `last`.
    CellIndex add_phase(CellIndex parent, const std::string& name, uint64_t first, uint64_t last,
                        Figures figures) {
        const CellIndex cell = add_named(parent, SiteKind::kBlock, name, figures);
        at<Node>(cell).site.flags |= kNodePhase;
        probe_part(cell).first_iteration = first;
        probe_part(cell).iteration = last;
        return cell;
    }
    // In a process's order: grids described later are first in the list.
    CellIndex add_grid(const std::string& name, const std::vector<int32_t>& sizes,
                       uint32_t periodic, const std::vector<int32_t>& coordinates) {
        const CellIndex text = add_text(name);
        const CellIndex cell = add_cells(1);
        GridRecord& grid = at<GridRecord>(cell);
        grid = {header().first_grid, text, static_cast<uint32_t>(sizes.size()), periodic, {}, {}};
        std::copy(sizes.begin(), sizes.end(), grid.size);
        std::copy(coordinates.begin(), coordinates.end(), grid.coordinate);
        header().first_grid = cell;
        return cell;
    }
    ProbePart& probe_part(CellIndex node) { return at<ProbePart>(at<Node>(node).part); }
    // Opens an entry of the last thread above its open ones.
    void open_probe(CellIndex node, uint64_t entry_virtual, uint32_t flags = 0) {
        constexpr uint32_t kEntries = 8;
        if (last_thread().probe_stack == 0) {
            const CellIndex stack = add_cells(kEntries * sizeof(ProbeEntry) / kCellBytes);
            last_thread().probe_stack = stack;
            last_thread().probe_stack_entries = kEntries;
        }
        ProbeEntry* entries = &at<ProbeEntry>(last_thread().probe_stack);
        entries[++last_thread().probe_depth] = {0, 0, entry_virtual, node, flags};
    }
    CommPart& part(CellIndex node) { return at<CommPart>(at<Node>(node).part); }
    WaitPart& wait(CellIndex node) {
        if (part(node).wait == 0) {
            const CellIndex made = add_cells(1);
            part(node).wait = made;
        }
        return at<WaitPart>(part(node).wait);
    }
    // The node waited for `peer`, which was in the computation with that path hash.
    void add_partner(CellIndex node, uint32_t peer, uint32_t path, Figures figures,
                     uint64_t passed_on = 0) {
        const CellIndex cell = add_cells(1);
        WaitPeerRecord& record = at<WaitPeerRecord>(cell);
        record.peer = peer;
        record.path = path;
        record.count = figures.count;
        record.ticks = figures.ticks;
        record.max_ticks = figures.max_ticks;
        record.indirect_wait_ticks = passed_on;
        record.next = wait(node).first_partner;
        wait(node).first_partner = cell;
        wait(node).partner_count++;
    }
    // For the last thread.
    void add_cause(uint32_t peer, uint32_t path, uint64_t count, uint64_t ticks, uint64_t direct) {
        const CellIndex cell = add_cells(1);
        RootCauseRecord& record = at<RootCauseRecord>(cell);
        record.peer = peer;
        record.path = path;
        record.count = count;
        record.ticks = ticks;
        record.direct_wait_ticks = direct;
        record.next = last_thread().first_cause;
        last_thread().first_cause = cell;
    }
    SizeHistogram& histogram(CellIndex node) { return at<SizeHistogram>(part(node).histogram); }

    CellIndex add_peer(CellIndex node, uint32_t peer, Figures figures, uint64_t bytes_sent = 0,
                       uint64_t bytes_received = 0) {
        const CellIndex cell = add_cells(1);
        TrafficPeerRecord& record = at<TrafficPeerRecord>(cell);
        record.peer = peer;
        record.count = figures.count;
        record.ticks = figures.ticks;
        record.min_ticks = figures.min_ticks;
        record.max_ticks = figures.max_ticks;
        record.bytes_sent = bytes_sent;
        record.bytes_received = bytes_received;
        record.next = part(node).first_peer;
        part(node).first_peer = cell;
        part(node).peer_count++;
        return cell;
    }

    // One name a line: counted metrics, and those that do not work.
    void set_metric_names(const std::string& names, const std::string& missing) {
        const CellIndex counted = add_text(names);
        const CellIndex not_counted = missing.empty() ? 0 : add_text(missing);
        header().metric_names = counted;
        header().metrics_missing = not_counted;
    }
    // For the last thread.
    void add_counts(CellIndex node, uint64_t entries, uint64_t ticks,
                    const std::vector<uint64_t>& values) {
        const CellIndex cell = add_cells(kMetricCells);
        MetricPart& part = at<MetricPart>(cell);
        part.node = node;
        part.entries = entries;
        part.ticks = ticks;
        std::copy(values.begin(), values.end(), part.values);
        part.next = last_thread().first_metric;
        last_thread().first_metric = cell;
    }
    // Of the last thread: bins from `first` on, so many of them used. The axis continues at `from`.
    AxisBin* add_axis(uint64_t first, uint32_t shift, uint32_t used, uint64_t from) {
        const CellIndex bins = add_cells(kAxisBins);
        TimeAxis& axis = last_thread().axis;
        axis.bins = bins;
        axis.first_bin = first;
        axis.bin_shift = shift;
        axis.last_bin = used - 1;
        axis.bin_end = (first + used) << shift;
        axis.from = from;
        return &at<AxisBin>(bins);
    }

    // Of a process that runs: the last thread is in that statement since `entry_ticks`.
    OpenCall& open_call(CellIndex node, uint64_t entry_ticks, uint64_t handle, int32_t peer,
                        int32_t tag) {
        header().state = FileState::kRunning;
        ThreadRecord& thread = last_thread();
        thread.state = ThreadState::kInCommunication;
        thread.open_depth = 1;
        thread.open = {node, 0, entry_ticks, handle, peer, tag, 0, 0, 0, {}};
        return thread.open;
    }
    CommRecord& add_comm(uint64_t handle, uint64_t id, int32_t rank, uint32_t members,
                         uint32_t entered = 0) {
        const CellIndex cell = add_cells(1);
        CommRecord& comm = at<CommRecord>(cell);
        comm = {handle,  id,      header().first_comm,
                rank,    members, static_cast<int32_t>(members),
                entered, 0,       0,
                {}};
        header().first_comm = cell;
        return comm;
    }
    // In a block of its own.
    RequestRecord& add_request(uint64_t handle, RequestKind kind, uint64_t comm, int32_t peer,
                               int32_t tag) {
        const CellIndex cell = add_cells(2);
        at<RequestBlock>(cell) = {header().first_requests, 1, {}};
        header().first_requests = cell;
        RequestRecord& record = at<RequestRecord>(cell + 1);
        record.handle = handle;
        record.kind = kind;
        record.active = 1;
        record.shown = shown_request(comm, peer, tag);
        return record;
    }

  private:
    struct alignas(kCellBytes) Cell {
        char bytes[kCellBytes];
    };

    CellIndex add_cells(uint32_t count) {
        const CellIndex first = static_cast<CellIndex>(cells_.size());
        cells_.resize(cells_.size() + count, Cell{});
        update();
        return first;
    }
    void update() {
        header().cells_used = static_cast<uint32_t>(cells_.size());
        header().cells_reserved = header().cells_used;
    }
    void set_figures(CellIndex cell, Figures figures) {
        at<Node>(cell).count = figures.count;
        at<Node>(cell).ticks = figures.ticks;
        at<Node>(cell).min_ticks = figures.min_ticks;
        at<Node>(cell).max_ticks = figures.max_ticks;
    }

    std::vector<Cell> cells_;
    CellIndex last_thread_ = 0;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_SYNTHETIC_RECORDS_H_
