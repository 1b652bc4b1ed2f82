// `dwell run --watchdog SECONDS`: says once where every rank of the host is when none has made
// progress for so long. Reads the mapped records only; the job is not touched.
#ifndef DWELL_REPORT_WATCH_WATCHDOG_H_
#define DWELL_REPORT_WATCH_WATCHDOG_H_

#include <cstdint>
#include <map>
#include <string>

#include "report/watch/job_watch.h"
#include "report/watch/progress.h"
#include "runtime/contract/status_page.h"

namespace dwell {

class Watchdog {
  public:
    Watchdog(const StatusPage* page, int own_rank, int seconds)
        : seconds_(seconds), watch_(page, own_rank, [this](const std::string& directory, bool) {
              look_at(directory);
          }) {}

    // Does nothing with 0 seconds. As JobWatch::start().
    void start();
    void stop() { watch_.stop(); }
    // Removes the texts of jobs whose records are gone: they are in their reports. Call last.
    void clean_up();

  private:
    struct Job {
        Progress last;
        uint64_t looked_ns = 0;
        uint64_t moved_ns = 0;
        bool reported = false;
    };
    void look_at(const std::string& directory);

    int seconds_;
    std::map<std::string, Job> jobs_;  // by directory
    JobWatch watch_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_WATCHDOG_H_
