// Looks at the jobs of a `dwell run` again and again, from a thread of its own. Of several `dwell
// run` on a host that of the lowest rank does it.
#ifndef DWELL_REPORT_WATCH_JOB_WATCH_H_
#define DWELL_REPORT_WATCH_JOB_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "report/watch/watch_thread.h"
#include "runtime/contract/status_page.h"

namespace dwell {

enum class Watcher { kNobody, kThis, kAnother };
// Which `dwell run` watches the job with its records in `directory`, as seen by that of `own_rank`
// (-1: around a launcher): that of the lowest rank, unless it is stopped or gone. kNobody: there
// are no records.
Watcher watcher_of(const std::string& directory, int own_rank);

class JobWatch {
  public:
    // Gets the directory of a job's records. `taken_over`: another one watched it until now.
    using Look = std::function<void(const std::string& directory, bool taken_over)>;
    // `own_rank`: -1 around a launcher.
    JobWatch(const StatusPage* page, int own_rank, Look look)
        : page_(page), own_rank_(own_rank), look_(std::move(look)) {}

    // As WatchThread::start().
    void start(int wait_ms);
    void stop() { thread_.stop(); }
    // After stop(), by directory: who watched last.
    const std::map<std::string, Watcher>& last_watchers() const { return last_; }

  private:
    void watch(int stop, int wait_ms);
    void look_at(const std::string& directory);

    const StatusPage* page_;
    int own_rank_;
    Look look_;
    struct Answer {
        Watcher watcher = Watcher::kNobody;
        uint64_t known_ns = 0;
    };
    std::map<std::string, Answer> answers_;  // by directory
    std::map<std::string, Watcher> last_;    // the same, but for kNobody
    WatchThread thread_;                     // ends before the rest
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_JOB_WATCH_H_
