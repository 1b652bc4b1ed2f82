// Notes in the record files of observed processes when they end, so that `dwell recover` knows how
// long they lived. The processes need not be children: around a launcher they are not.
#ifndef DWELL_REPORT_WATCH_DEATH_WATCH_H_
#define DWELL_REPORT_WATCH_DEATH_WATCH_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "report/watch/watch_thread.h"
#include "runtime/contract/record_layout.h"
#include "runtime/contract/status_page.h"

namespace dwell {

class DeathWatch {
  public:
    // Watches the jobs on `page`: all their processes on this host, or those of `own_rank`, unless
    // it is -1.
    DeathWatch(const StatusPage* page, int own_rank) : page_(page), own_rank_(own_rank) {}

    // As WatchThread::start(); stop() before the records are moved.
    void start();
    // `child` has just ended: it may have lived for less time than its record was looked for.
    void note_child(pid_t child);
    void stop() { thread_.stop(); }

  private:
    struct Watched {
        int process;         // a pidfd
        FileHeader* header;  // mapped
    };
    void watch(int stop);
    bool look_for_records();
    bool take(const std::string& path);
    bool wait(int stop, int wait_ms);

    const StatusPage* page_;
    int own_rank_;
    std::set<std::string> known_;
    std::vector<Watched> watched_;
    std::atomic<pid_t> child_{0};
    std::atomic<uint64_t> child_end_ticks_{0};
    WatchThread thread_;  // ends before the rest
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_DEATH_WATCH_H_
