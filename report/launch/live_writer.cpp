// Merges the records of the host's ranks and writes them as a snapshot; see live_writer.h.
#include "report/launch/live_writer.h"

#include <unistd.h>

#include <filesystem>

#include "report/console/output.h"
#include "report/live/kernel_view.h"
#include "report/live/live_job.h"
#include "report/live/snapshot.h"
#include "report/results/finish.h"
#include "runtime/process/clock.h"

namespace dwell {

void LiveWriter::start() {
    if (seconds_ != 0) watch_.start(seconds_ * 1000);
}

void LiveWriter::write(const std::string& directory) {
    size_t left_out = 0;
    tl::expected<Merged, std::string> merged = read_job(directory, &left_out);
    if (!merged) return;
    const int64_t now_ns = unix_ns();
    for (MergedOpen& open : merged->open) {
        if (open.has_ended || thread_state(open.pid, open.tid) != '\0') continue;
        open.has_ended = true;
        open.end_unix_ns = now_ns;
    }
    std::string& file = files_[directory];
    RankReader ranks(merged->ranks);
    MergedRank first{};
    if (file.empty() && ranks.next(&first)) {
        file =
            snapshot_file(expected_profile_directory(out_, first.program, merged->job), first.host);
    }
    const Outcome written = write_snapshot(file, *merged, now_ns);
    if (written || failed_) return;
    failed_ = true;
    say("--live: " + written.error());
}

void LiveWriter::clean_up() {
    for (const auto& [directory, file] : files_) {
        unlink(file.c_str());
        std::error_code error;  // the folder may hold snapshots of other hosts
        std::filesystem::remove(std::filesystem::path(file).parent_path(), error);
    }
}

}  // namespace dwell
