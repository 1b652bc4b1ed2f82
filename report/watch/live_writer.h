// `dwell run --live SECONDS`: writes what the ranks of this host do into OUT/live, again and again.
// Reads the mapped records only, so that it also works when the job hangs.
#ifndef DWELL_REPORT_WATCH_LIVE_WRITER_H_
#define DWELL_REPORT_WATCH_LIVE_WRITER_H_

#include <map>
#include <string>

#include "report/watch/job_watch.h"
#include "runtime/contract/status_page.h"
#include "summarize/merge/merged.h"

namespace dwell {

// Marks threads that are gone as ended now, where their end was not noted.
void note_ends(Merged* merged, int64_t now_unix_ns);

class LiveWriter {
  public:
    // `out`: the directory of the profile, as the user gave it.
    LiveWriter(const StatusPage* page, int own_rank, int seconds, std::string out)
        : seconds_(seconds),
          out_(std::move(out)),
          watch_(page, own_rank, [this](const std::string& directory, bool) { write(directory); }) {
    }

    // Does nothing with 0 seconds. As JobWatch::start().
    void start();
    void stop() { watch_.stop(); }
    // Removes the snapshots: the profile, or the records that are kept, hold more.
    void clean_up();

  private:
    void write(const std::string& directory);
    std::string file_for(const Merged& merged);

    int seconds_;
    std::string out_;
    std::map<std::string, std::string> files_;  // by directory of records
    bool failed_ = false;                       // and that was said
    JobWatch watch_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_LIVE_WRITER_H_
