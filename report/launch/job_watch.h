// Looks at the jobs of a `dwell run` again and again, from a thread of its own. Of several `dwell
// run` on a host that of the lowest rank does it.
#ifndef DWELL_REPORT_LAUNCH_JOB_WATCH_H_
#define DWELL_REPORT_LAUNCH_JOB_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "runtime/contract/status_page.h"

namespace dwell {

class JobWatch {
  public:
    // Gets the directory of a job's records.
    using Look = std::function<void(const std::string& directory)>;
    // `own_rank`: -1 around a launcher.
    JobWatch(const StatusPage* page, int own_rank, Look look)
        : page_(page), own_rank_(own_rank), look_(std::move(look)) {}
    ~JobWatch() { stop(); }
    JobWatch(const JobWatch&) = delete;
    JobWatch& operator=(const JobWatch&) = delete;

    // Call when no more processes will be forked.
    void start(int wait_ms);
    void stop();

  private:
    void watch(int wait_ms);
    bool is_lowest(const std::string& directory);

    const StatusPage* page_;
    int own_rank_;
    Look look_;
    int stop_ = -1;  // an eventfd
    std::thread thread_;
    struct Answer {
        bool is_lowest = false;
        uint64_t known_ns = 0;
    };
    std::map<std::string, Answer> answers_;  // by directory
};

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_JOB_WATCH_H_
