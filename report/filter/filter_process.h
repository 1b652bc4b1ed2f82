// dwell run --events-filter: the functions of the user's file (dwell_events.h) in a process of
// their own, so that no fault of theirs ends `dwell run`, whose end is that of the rank.
#ifndef DWELL_REPORT_FILTER_FILTER_PROCESS_H_
#define DWELL_REPORT_FILTER_FILTER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "report/filter/event_place.h"
#include "report/filter/filter_records.h"

namespace dwell {

struct FilteredThread {
    uint32_t process;  // a number of its own
    uint32_t rank;
    uint32_t thread;
    uint64_t ticks_per_second;
    uint64_t first_ticks;  // when the first process of the host was seen
};

class FilterProcess {
  public:
    // `setting`: FILE.so, or FILE.so:ARGUMENTS. Before this process has threads. An error of one
    // line.
    static tl::expected<std::unique_ptr<FilterProcess>, std::string> start(
        const std::string& setting);
    ~FilterProcess();
    FilterProcess(const FilterProcess&) = delete;
    FilterProcess& operator=(const FilterProcess&) = delete;

    // Replaces the records by what the filter makes of them. Once it has failed they stay as they
    // are. `places`: all that are known.
    void filter(const FilteredThread& of, const std::vector<EventPlace>& places,
                std::vector<RingRecord>* records, FilterCounts* counts);
    // Names of marks, by RingRecord::mark - 1.
    const std::vector<std::string>& names() const { return names_; }
    void finish();

    const std::string& file() const { return file_; }
    // "was ended by signal 11 (Segmentation fault)"; empty: it works.
    const std::string& failure() const { return failure_; }

  private:
    struct Shared;
    FilterProcess() = default;
    bool filter_part(const FilteredThread& of, const RingRecord* records, size_t count,
                     std::vector<RingRecord>* out, FilterCounts* counts);
    bool send(const void* bytes, size_t count);
    bool receive(void* bytes, size_t count);
    void fail(const char* what);
    void note_end();

    std::string file_;
    pid_t pid_ = -1;
    int socket_ = -1;
    Shared* shared_ = nullptr;
    size_t places_sent_ = 0;
    std::vector<std::string> names_;
    std::string failure_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_FILTER_PROCESS_H_
