// How many ranks of a job were in each procedure and each communication line at once: sampled from
// outside, by reading the mapped records. AIMS's tally calls it NCPU and routine concurrency.
#ifndef DWELL_REPORT_WATCH_OCCUPANCY_H_
#define DWELL_REPORT_WATCH_OCCUPANCY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/live/live_job.h"
#include "summarize/merge/merged.h"

namespace dwell {

constexpr int kOccupancyHz = 100;

class Occupancy {
  public:
    // Samples the job whose records are in `directory`; the time since the look before counts for
    // it.
    void look(const std::string& directory, uint64_t now_ns);
    uint64_t samples() const { return samples_; }
    // The directory for the profile of the job that was sampled; `out` as the user gave it.
    std::string place(const std::string& out) const;
    std::string host() const { return host_; }
    // The tables with tabs between the fields, times in seconds.
    std::string tables();

  private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    // Where a rank is: a procedure in which it computes, or a communication line.
    struct Place {
        uint32_t routine = kUnknown;
        uint32_t line = kUnknown;
    };
    struct File {
        std::string name;
        MappedRecords records;
        std::unordered_map<CellIndex, Place> places;
    };
    // What stands in one row of a table.
    struct Row {
        uint32_t node;                     // of merged_, for its name
        std::vector<uint64_t> at_once_ns;  // by number of ranks, less one
        std::vector<double> ncpu_ns;       // by number of busy ranks, less one
    };
    using Rows = std::vector<Row>;
    using Keys = std::map<std::pair<uint32_t, uint64_t>, uint32_t>;  // module, offset: the row

    void find_files(const std::string& directory);
    bool find_place(File* file, Place* place);
    Place place_of(uint32_t node);
    uint32_t row_of(uint32_t node, Keys* keys, Rows* rows);

    std::deque<File> files_;
    Merged merged_;  // nodes of the places that were seen
    Keys routine_keys_;
    Keys line_keys_;
    Rows routines_;
    Rows lines_;
    std::vector<uint64_t> unnamed_ns_;  // ranks at once that computed where no probe tells
    std::vector<double> unnamed_ncpu_ns_;
    uint64_t samples_ = 0;
    uint64_t looked_ns_ = 0;
    uint64_t first_ns_ = 0;  // look
    uint64_t listed_ns_ = 0;
    std::string host_;
    std::string program_;
    std::string job_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_OCCUPANCY_H_
