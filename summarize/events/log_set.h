// The event logs of a job as one: of several hosts, or where one `dwell run` went on with a host's
// log that another one had begun.
#ifndef DWELL_SUMMARIZE_EVENTS_LOG_SET_H_
#define DWELL_SUMMARIZE_EVENTS_LOG_SET_H_

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "summarize/events/event_log.h"

namespace dwell {

struct SetBlock {
    EventLog* log;
    LogBlock block;
};
struct SetThread {
    uint32_t number;
    std::vector<SetBlock> blocks;  // by first word
};
struct SetProcess {
    LogProcess records;  // its own blocks are in `threads`
    std::vector<SetThread> threads;
};

// The logs that `place` means: those of a directory, or of a profile in it, or a log with those
// that continue it.
std::vector<std::string> find_logs(const std::string& place);

// What is read of logs of which only the end is wanted.
struct NewestWords {
    std::vector<uint32_t> ranks;
    uint64_t words = 0;  // of each thread, at least
};

class LogSet {
  public:
    // An error of one line.
    static tl::expected<LogSet, std::string> open(const std::vector<std::string>& paths);

    // Drops the rest.
    void keep(const NewestWords& newest);
    std::vector<SetProcess>& processes() { return processes_; }  // by rank
    uint64_t bytes_cut() const { return bytes_cut_; }            // of all logs
    uint32_t undescribed() const { return undescribed_; }  // processes left out: without a header
    uint32_t unfinished() const { return unfinished_; }    // logs that were not closed

  private:
    bool add(EventLog* log);

    std::vector<std::unique_ptr<EventLog>> logs_;
    std::vector<SetProcess> processes_;
    uint64_t bytes_cut_ = 0;
    uint32_t undescribed_ = 0;
    uint32_t unfinished_ = 0;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_EVENTS_LOG_SET_H_
