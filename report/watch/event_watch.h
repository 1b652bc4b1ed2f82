// `dwell run --events`: collects events while the program runs. The work is done at idle priority,
// so that it takes no processor from ranks; ranks that spin leave none, so when a ring is half full
// it goes on at normal priority. It always has that where ranks need it in time: for the lock of
// the rings (--events-full flush), and to begin and end a window of time.
#ifndef DWELL_REPORT_WATCH_EVENT_WATCH_H_
#define DWELL_REPORT_WATCH_EVENT_WATCH_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "report/events/event_collector.h"
#include "report/watch/job_watch.h"
#include "report/watch/watch_thread.h"
#include "runtime/contract/status_page.h"

namespace dwell {

class EventWatch {
  public:
    EventWatch(const StatusPage* page, int own_rank, const std::string& out,
               const EventWindow& window, std::string window_text, const EventRates& rates,
               bool is_idle, std::unique_ptr<EventFilters> filters)
        : filters_(std::move(filters)),
          collector_(out, window, rates, filters_.get(), own_rank <= 0),
          window_text_(std::move(window_text)),
          is_idle_(is_idle),
          watch_(page, own_rank, [this](const std::string& directory, bool) { look(directory); }) {}

    // As JobWatch::start().
    void start();
    // Takes the rest and closes the logs. Returns lines to say.
    std::vector<std::string> stop();

  private:
    void look(const std::string& directory);
    void hurry(int stop);

    std::unique_ptr<EventFilters> filters_;
    EventCollector collector_;
    std::string window_text_;
    bool is_idle_;  // works at idle priority
    std::mutex mutex_;
    std::atomic<pid_t> worker_{0};
    std::atomic<uint64_t> looks_{0};
    uint64_t used_ns_ = 0;  // processor time
    JobWatch watch_;
    WatchThread hurrying_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_EVENT_WATCH_H_
