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

namespace dwell {

// How a cell is used; smaller values are the merged index of its node.
constexpr uint32_t kCellFree = 0xffffffffu;
constexpr uint32_t kCellTaken = 0xfffffffeu;

__extension__ typedef unsigned __int128 Wide;

// value * factor / divisor, at most UINT64_MAX.
inline uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor) {
    if (divisor == 0) return 0;
    const Wide result = static_cast<Wide>(value) * factor / divisor;
    return result > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(result);
}

// The latest known virtual time of the thread, apart from its open entries.
uint64_t last_virtual(const ThreadRecord& thread);

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
    bool tell_newest(NewestTime* newest);

  private:
    struct Step {  // a node still to be read, and its merged parent
        CellIndex cell;
        uint32_t parent;
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
    bool read_node(Step step, const Node& node, uint32_t thread, uint32_t* merged);
    void add_to_node(uint32_t merged, const Totals& totals);
    bool read_name(CellIndex cell, uint64_t* text);
    uint64_t listed_ticks(CellIndex first, bool of_call, uint32_t* left) const;
    uint64_t inside_ticks(CellIndex open) const;
    bool add_open_probes(const ThreadRecord& thread);
    bool read_comms();
    bool add_place(const ThreadRecord& thread);
    uint32_t innermost_probe(const ThreadRecord& thread) const;
    // Of a process that did not close its records (record_end.cpp).
    void find_end(int64_t end_unix_ns);
    bool innermost_entry(const ThreadRecord& thread, ProbeEntry* entry) const;
    uint64_t newest_ticks() const;
    bool lasts_to_end(const ThreadRecord& thread) const;
    uint64_t end_virtual(const ThreadRecord& thread) const;
    bool is_in_call(const ThreadRecord& thread) const;
    bool add_open_call(const ThreadRecord& thread);
    bool add_unfinished(uint32_t merged, uint32_t thread, Totals totals);
    int64_t unix_ns(uint64_t ticks) const;
    bool read_intervals();
    uint64_t time_of_rows(bool of_intervals) const;
    bool add_rest_of_life(const ThreadSpan& thread);
    uint64_t real_ns() const;
    uint64_t process_ns() const;
    void set_site(const Node& node, MergedNode* place) const;
    bool totals_of(CellIndex cell, const Node& node, uint32_t merged, Totals* totals);
    void omp_totals_of(const Node& node, Totals* totals) const;
    bool add_phase(CellIndex part, uint32_t merged);
    bool read_grids();
    bool read_grid(const GridRecord& record);
    bool add_histogram(CellIndex cell, uint32_t merged, bool open, Totals* totals);
    bool read_peers(const CommPart& part, uint32_t merged);
    bool add_peer(const TrafficPeerRecord& record, uint32_t merged);
    bool settle_peers();
    bool read_wait(CellIndex cell, uint32_t merged, Totals* totals);
    bool read_causes(const ThreadRecord& thread);
    bool read_stalls();
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
    GrowArray<ThreadSpan> threads_;
    MergedRank figures_{};
    bool has_main_ = false;  // the process's thread is the program's first thread
    uint64_t last_ticks_ = 0;
    uint64_t end_ticks_ = 0;   // when the process ended without MPI_Finalize; 0: it did not, or
                               // unknown
    uint32_t end_flag_ = 0;    // how that is known: kFileEndSeen, kFileEndGuessed
    CellIndex open_node_ = 0;  // of the current thread: its record may be incomplete
    bool damaged_ = false;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_RECORD_READER_H_
