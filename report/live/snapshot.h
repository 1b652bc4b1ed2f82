// What a `dwell run` on each host writes of a running job beside its profile, with --live, so that
// `dwell top` and `dwell where` see the ranks of all hosts: OUT/live/HOST.snapshot.
#ifndef DWELL_REPORT_LIVE_SNAPSHOT_H_
#define DWELL_REPORT_LIVE_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <string>
#include <tl/expected.hpp>

#include "report/console/output.h"
#include "summarize/merge/merged.h"

namespace dwell {

// The file of this host's ranks in `profile`, the directory of a profile.
std::string snapshot_file(const std::string& profile, const std::string& host);
// Of the processes that have ended, `merged` says so. Replaces the file as a whole.
Outcome write_snapshot(const std::string& path, const Merged& merged, int64_t taken_unix_ns);

struct Snapshots {
    Merged merged;                          // of all hosts; times as seen from when each was taken
    std::map<std::string, int64_t> age_ns;  // by host
    int64_t newest_unix_ns = 0;             // when the newest was taken
    size_t left_out = 0;                    // files that could not be read
};
// Whether `profile` has snapshots.
bool has_snapshots(const std::string& profile);
// Changes when a snapshot does.
std::string snapshots_stamp(const std::string& profile);
tl::expected<Snapshots, std::string> read_snapshots(const std::string& profile);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_SNAPSHOT_H_
