// A record file that is read again and again while its process writes it, or after it was removed.
// Nothing is written, and the process does not notice: the file is mapped for reading.
#ifndef DWELL_REPORT_TOP_WATCHED_FILE_H_
#define DWELL_REPORT_TOP_WATCHED_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/results/record_files.h"
#include "runtime/contract/record_layout.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/tick_scale.h"

namespace dwell {

// What a reading shows beside the figures.
struct Reading {
    bool has_new_paths = false;    // nodes that are not known yet
    bool has_new_samples = false;  // the same, of samples only
    bool was_reset = false;        // counts began anew since the last reading (MPI_Pcontrol(2))
    uint64_t paused_ns = 0;        // as in MergedRank
    std::map<uint32_t, int64_t> last_unix_ns;  // by number of a thread: its last time stamp
};

class WatchedFile {
  public:
    // Nothing where the file cannot be opened, or is no record file of this version.
    static std::optional<WatchedFile> open(const std::string& path);
    WatchedFile(WatchedFile&& other) noexcept;
    WatchedFile& operator=(WatchedFile&& other) noexcept;
    ~WatchedFile();

    FileHeader header() const;
    // Adds all of it to `merged`, and knows its nodes from then on.
    bool read_all(Merged* merged, int64_t end_unix_ns = 0);
    void tell_newest(NewestTimes* times) const { add_newest(bytes_, size_, times); }
    // Adds the present figures of the known nodes to `totals` (by node of `merged`), and where the
    // threads are to `merged`. `rest`: the node of `merged` for the time of threads outside of all
    // nodes, or kNoNode.
    Reading read(uint32_t rest, Merged* merged, std::vector<Totals>* totals);

  private:
    struct Thread {
        CellIndex cell;
        uint64_t start_ticks;  // changes with a reset
        uint64_t rest_ns;      // time outside of all nodes, the most that was seen
        uint64_t lived_ns = 0;
        uint32_t number = 0;
    };

    explicit WatchedFile(int file) : file_(file) {}
    bool map();
    void unmap();
    template <typename T>
    bool load(CellIndex cell, T* record) const;
    void find_threads();
    void read_threads(const FileHeader& head, Reading* reading);
    void read_nodes(std::vector<Totals>* totals, Reading* reading);
    uint64_t add_node(const Node& node, Totals* totals) const;

    int file_ = -1;
    const char* bytes_ = nullptr;
    size_t size_ = 0;
    uint32_t flags_ = 0;
    TickScale clock_;
    GrowArray<NodeCell> cells_;
    std::vector<Thread> threads_;
    std::vector<uint64_t> in_nodes_ns_;  // statements and intervals, by number of the thread
    uint64_t reset_ticks_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_WATCHED_FILE_H_
