// `dwell run --watchdog SECONDS`: says once where every rank of the host is when none has made
// progress for so long. Reads the mapped records only; the job is not touched.
#ifndef DWELL_REPORT_LAUNCH_WATCHDOG_H_
#define DWELL_REPORT_LAUNCH_WATCHDOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "report/live/progress.h"
#include "runtime/contract/status_page.h"

namespace dwell {

class Watchdog {
  public:
    // `own_rank`: -1 around a launcher. Of several `dwell run` on a host that of the lowest rank
    // watches.
    Watchdog(const StatusPage* page, int own_rank, int seconds)
        : page_(page), own_rank_(own_rank), seconds_(seconds) {}
    ~Watchdog() { stop(); }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Does nothing with 0 seconds. Call when no more processes will be forked.
    void start();
    void stop();
    // Removes what was said of jobs whose records are gone: it is in their reports. Call last.
    void clean_up();

  private:
    struct Job {
        Progress last;
        uint64_t looked_ns = 0;
        uint64_t moved_ns = 0;
        bool told = false;
    };
    void watch();
    void look_at(const std::string& directory, Job* job);
    bool is_lowest(const std::string& directory) const;

    const StatusPage* page_;
    int own_rank_;
    int seconds_;
    int stop_ = -1;  // an eventfd
    std::thread thread_;
    std::map<std::string, Job> jobs_;  // by directory
};

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_WATCHDOG_H_
