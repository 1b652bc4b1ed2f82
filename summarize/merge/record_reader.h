// Reads one record file (layout: runtime/contract/record_layout.h) into merged records. The file
// may belong to a running or killed process, or be damaged. So it is copied cell by cell, every
// index is checked, and no cell is used twice: a wrong link or a circle can only end a list.
#ifndef DWELL_SUMMARIZE_MERGE_RECORD_READER_H_
#define DWELL_SUMMARIZE_MERGE_RECORD_READER_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/merge/merged_waits.h"
#include "summarize/merge/tick_scale.h"

namespace dwell {

// How a cell is used; smaller values are the merged index of its node.
constexpr uint32_t kCellFree = 0xffffffffu;
constexpr uint32_t kCellTaken = 0xfffffffeu;

// A field of a file that may change meanwhile; later loads are of a later moment.
template <typename T>
T load_whole(const T* field) {
    return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}

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

    // `end_unix_ns`: as for add_record_file().
    bool read(int64_t end_unix_ns);
    // Only where its threads are: the statements and procedures that are open, without figures. The
    // file may change meanwhile.
    bool read_places(int64_t end_unix_ns);
    // The same with open entries, for nodes that a read() before has found.
    bool read_known_places(const GrowArray<NodeCell>& cells);
    bool tell_newest(NewestTime* newest);
    GrowArray<NodeCell>& node_cells() { return node_cells_; }
    void note_samples() { notes_samples_ = true; }  // in node_cells()
    const GrowArray<OpenEntry>& open_entries() const { return open_entries_; }

  private:
    struct Step {  // a node still to be read, and its merged parent
        CellIndex cell;
        uint32_t parent;
        CellIndex next_sibling = 0;  // of an interval that was put aside
    };
    struct ThreadSpan {  // the thread's intervals in intervals_
        uint32_t number;
        size_t intervals_end;
        CellIndex first_metric;
        CellIndex first_stall;
        uint64_t lived_ns;  // of all threads of the program together
        uint64_t statements_ns;
    };

    bool read_header();
    bool read_modules();
    bool read_module(CellIndex cell, const ModuleRecord& record);
    bool read_threads();
    bool add_thread(const ThreadRecord& thread);
    void add_thread_figures(const ThreadRecord& thread);
    bool read_off_sites();
    uint64_t uncertain_entries(const Site& site, const ProbePart& probe) const;
    bool read_tree(CellIndex root);
    bool walk(uint32_t thread, bool intervals_too);
    bool note_cell(CellIndex cell, const Node& node, uint32_t merged, uint32_t thread);
    bool read_node(Step step, const Node& node, uint32_t thread, uint32_t* merged);
    void add_to_node(uint32_t merged, const Totals& totals);
    bool read_name(CellIndex cell, uint64_t* text);
    uint64_t listed_ticks(CellIndex first, bool of_call, uint32_t* left) const;
    uint64_t inside_ticks(CellIndex open) const;
    bool add_open_probes(const ThreadRecord& thread);
    // record_places.cpp
    bool add_place(CellIndex cell, const ThreadRecord& thread);
    bool read_call(CellIndex cell, OpenCall* call, uint64_t* last_ticks) const;
    bool innermost_probe(CellIndex cell, ProbeEntry* found) const;
    bool add_locks(const ThreadRecord& thread);
    bool read_process();
    bool read_comms();
    bool read_requests(uint32_t* active);
    bool read_request(CellIndex cell, RequestRecord* record) const;
    bool place_of(CellIndex cell, uint32_t* merged);
    void find_code(uint64_t address, uint32_t* module, uint64_t* offset) const;
    // Of a process that did not close its records (record_end.cpp).
    void find_end(int64_t end_unix_ns);
    uint64_t newest_ticks() const;
    bool lasts_to_end(const ThreadRecord& thread) const;
    uint64_t end_virtual(const ThreadRecord& thread) const;
    bool open_call(CellIndex cell, const ThreadRecord& thread, OpenCall* call) const;
    bool add_open_call(CellIndex cell, const ThreadRecord& thread);
    bool add_unfinished(uint32_t merged, uint32_t thread, Totals totals);
    int64_t unix_ns(uint64_t ticks) const;
    bool read_intervals();
    uint64_t time_of_rows(bool of_intervals) const;
    bool add_rest_of_life(const ThreadSpan& thread);
    uint64_t real_ns() const;
    // The process's thread lived as long as the process, whose end is known.
    bool is_whole_process() const {
        const bool serial = (header_.flags & kFileSerial) != 0;
        return end_ticks_ != 0 || (serial && header_.state == FileState::kFinalized);
    }
    uint64_t process_ns() const;
    void set_site(const Node& node, MergedNode* place) const;
    bool totals_of(CellIndex cell, const Node& node, uint32_t merged, Totals* totals);
    bool add_phase(CellIndex part, uint32_t merged);
    bool read_grids();
    bool read_grid(const GridRecord& record);
    bool add_histogram(CellIndex cell, uint32_t merged, bool open, Totals* totals);
    bool read_peers(const CommPart& part, uint32_t merged);
    bool add_peer(const TrafficPeerRecord& record, uint32_t merged);
    bool settle_peers();
    bool read_wait(const Node& node, CellIndex cell, uint32_t merged, Totals* totals);
    bool read_causes(const ThreadRecord& thread);
    bool read_stalls();
    bool read_io(CellIndex cell, uint32_t merged, Totals* totals);
    bool add_row(uint32_t merged, uint32_t thread, const Totals& totals);
    void begin_rows();
    bool read_metrics();
    bool read_axes();
    bool read_axis(CellIndex cell);
    bool add_bins(const TimeAxis& axis, const AxisBin* bins);
    bool add_to_bin(uint64_t bin, uint32_t shift, const AxisBin& figures);
    bool add_end_of_axis(CellIndex cell, const ThreadRecord& thread);
    uint64_t end_of_axis(const ThreadRecord& thread, bool in_call) const;
    bool spread(uint64_t from, uint64_t until, uint64_t AxisBin::*figure, bool waits);
    bool add_rank();

    bool intern(const char* bytes, size_t most, uint32_t* offset) {
        *offset = text_.intern(bytes, strnlen(bytes, most));
        return *offset != kNoText;
    }
    uint64_t ns(uint64_t ticks) const { return clock_.ns(ticks); }
    bool in_file(CellIndex cell, uint32_t cells) const {
        return cell >= header_.header_cells && cells <= cells_ && cell <= cells_ - cells;
    }
    template <typename T>
    bool load(CellIndex cell, T* record) const {
        if (!in_file(cell, (sizeof(T) + kCellBytes - 1) / kCellBytes)) return false;
        memcpy(record, file_ + static_cast<size_t>(cell) * kCellBytes, sizeof(T));
        return true;
    }
    // A cell that is known to be in the file.
    template <typename T>
    const T* in_place(CellIndex cell) const {
        return reinterpret_cast<const T*>(file_ + static_cast<size_t>(cell) * kCellBytes);
    }
    // Reads a cell that was not used before.
    template <typename T>
    bool take(CellIndex cell, T* record) {
        if (!load(cell, record) || cells_taken_[cell] != kCellFree) return false;
        cells_taken_[cell] = kCellTaken;
        return true;
    }
    // Cells are filled before they are linked, so a linked cell is never incomplete; but a running
    // process may link cells allocated after the header was read.
    bool is_lost(CellIndex cell) const {
        const bool later = cell >= cells_ && cell < bytes_ / kCellBytes;
        return cell != 0 && !later && (!in_file(cell, 1) || cells_taken_[cell] != kCellFree);
    }
    void doubt(bool cannot_be) { damaged_ = damaged_ || cannot_be; }
    // For lists of partners and causes: an entry in use has a count, a cleared one has none.
    template <typename T>
    bool is_empty(const T& record) const {
        return header_.reset_ticks == 0 && record.count == 0 && record.ticks == 0 &&
               record.path == 0 && record.peer == 0;
    }
    void doubt_node(CellIndex cell, const Node& node);
    void doubt_histogram(const SizeHistogram& histogram, const MergedNode& node,
                         const Totals& totals);

    uint32_t node_at(CellIndex cell) const {
        return cell < cells_ && cells_taken_[cell] < kCellTaken ? cells_taken_[cell] : kNoNode;
    }

    const char* file_;
    size_t bytes_;
    uint32_t cells_ = 0;
    FileHeader header_{};
    TickScale clock_;
    uint32_t rank_ = 0;
    Merged* out_;
    TextTable text_;
    ModuleTable module_table_;
    NodeTable node_table_;
    PhaseTable phase_table_;
    CauseTable partners_;
    CauseTable causes_;
    HashIndex peer_index_;
    GrowArray<uint32_t> cells_taken_;
    GrowArray<uint32_t> modules_;   // merged index by ModuleRecord::number
    GrowArray<uint32_t> rows_;      // row of the current thread by merged node
    size_t first_row_ = 0;          // of the current thread
    GrowArray<OffSite> off_sites_;  // sorted
    GrowArray<Step> steps_;
    GrowArray<Step> intervals_;
    GrowArray<NodeCell> node_cells_;
    GrowArray<OpenEntry> open_entries_;
    GrowArray<ThreadSpan> threads_;
    MergedRank figures_{};
    bool has_main_ = false;  // the process's thread is the program's first thread
    GrowArray<CellIndex> thread_cells_;
    uint64_t newest_ticks_ = 0;  // in the whole record
    CellIndex open_phase_ = 0;   // of the current thread
    uint64_t last_ticks_ = 0;
    uint64_t end_ticks_ = 0;   // when the process ended without MPI_Finalize; 0: it did not, or
                               // unknown
    uint32_t end_flag_ = 0;    // how that is known: kFileEndSeen, kFileEndGuessed
    CellIndex open_node_ = 0;  // of the current thread: its record may be incomplete
    bool only_places_ = false;
    bool damaged_ = false;
    bool known_nodes_ = false;  // they are not read: see read_known_places()
    bool in_interval_ = false;  // the nodes now read are below an interval
    bool notes_samples_ = false;
};

// As add_record_file(), for event logs, which tell of samples one by one: `cells` gets the cells of
// samples, too, but not those of their paths.
bool add_record_file_with_samples(Merged* into, const void* file, size_t bytes,
                                  GrowArray<NodeCell>* cells);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_RECORD_READER_H_
