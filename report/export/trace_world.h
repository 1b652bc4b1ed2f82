// The processes and threads of a timeline as formats with definitions number them: processes by
// their rank in MPI_COMM_WORLD, all ranks of it, locations from 0 on, the main thread of a process
// first.
#ifndef DWELL_REPORT_EXPORT_TRACE_WORLD_H_
#define DWELL_REPORT_EXPORT_TRACE_WORLD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/events/timeline.h"

namespace dwell {

constexpr uint32_t kNotObserved = UINT32_MAX;

struct TraceProcess {
    uint32_t rank;
    uint32_t process;               // in the timeline; kNotObserved: in no log
    std::vector<uint32_t> threads;  // in the timeline, by location; kNotObserved: in no log
    uint32_t first_location;        // that of the main thread
};

class TraceWorld {
  public:
    explicit TraceWorld(const Timeline& timeline);

    const std::vector<TraceProcess>& processes() const { return processes_; }
    uint32_t locations() const { return locations_; }
    uint32_t process_of(uint32_t thread) const { return process_of_[thread]; }
    uint32_t location_of(uint32_t thread) const { return location_of_[thread]; }
    bool is_main(uint32_t thread) const { return is_main_[thread] != 0; }
    uint32_t rank_of(uint32_t thread) const { return processes_[process_of_[thread]].rank; }
    // The process with this rank; kNotObserved: there is none, or several worlds have one.
    uint32_t process_of_rank(uint32_t rank) const {
        return rank < by_rank_.size() ? by_rank_[rank] : kNotObserved;
    }
    const std::vector<std::string>& hosts() const { return hosts_; }
    uint32_t host_of(uint32_t process) const { return host_of_[process]; }

  private:
    void add(const Timeline& timeline, uint32_t rank, uint32_t process);

    std::vector<TraceProcess> processes_;
    std::vector<std::string> hosts_;
    std::vector<uint32_t> host_of_;  // by process
    std::vector<uint32_t> by_rank_;
    std::vector<uint32_t> process_of_;   // by thread
    std::vector<uint32_t> location_of_;  // by thread
    std::vector<char> is_main_;          // by thread
    uint32_t locations_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_TRACE_WORLD_H_
