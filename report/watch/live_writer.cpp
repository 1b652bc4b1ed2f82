// Merges the records of the host's ranks and writes them as a snapshot; see live_writer.h.
#include "report/watch/live_writer.h"

#include <unistd.h>

#include <filesystem>
#include <set>

#include "report/console/output.h"
#include "report/live/kernel_view.h"
#include "report/live/live_job.h"
#include "report/live/snapshot.h"
#include "report/results/crash_recovery.h"
#include "report/results/finish.h"
#include "report/watch/progress.h"
#include "runtime/process/clock.h"

namespace dwell {

namespace fs = std::filesystem;

void note_ends(Merged* merged, int64_t now_unix_ns) {
    const std::set<uint32_t> invisible = invisible_ranks(*merged);
    for (MergedOpen& open : merged->open) {
        if (open.has_ended || invisible.count(open.rank) != 0) continue;
        if (thread_state(open.pid, open.tid) != '\0') continue;
        open.has_ended = true;
        open.end_unix_ns = now_unix_ns;
    }
}

void LiveWriter::start() {
    if (seconds_ != 0) watch_.start(seconds_ * 1000);
}

std::string LiveWriter::file_for(const Merged& merged) {
    RankReader ranks(merged.ranks);
    MergedRank first{};
    if (!ranks.next(&first)) return {};
    const std::string place = expected_profile_directory(out_, first.program, merged.job);
    if (!out_.empty() && place != (fs::path(out_) / "").parent_path()) {
        say("--live writes to " + word_to_type(place) + ": " + out_ +
            " holds the profile of another run");
    }
    return snapshot_file(place, first.host);
}

void LiveWriter::write(const std::string& directory) {
    size_t left_out = 0;
    tl::expected<Merged, std::string> merged = read_job(directory, &left_out);
    if (!merged) return;
    const int64_t now_ns = unix_ns();
    note_ends(&*merged, now_ns);
    std::string& file = files_[directory];
    if (file.empty()) file = file_for(*merged);
    const Outcome written = write_snapshot(file, *merged, now_ns);
    if (written || failed_) return;
    failed_ = true;
    say("--live: " + written.error());
}

void LiveWriter::clean_up() {
    for (const auto& [directory, file] : files_) {
        const fs::path folder = fs::path(file).parent_path();
        const std::string name = fs::path(file).filename().string();
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
            const std::string other = entry.path().filename().string();
            // Also what an interrupted write has left.
            if (other == name || other.starts_with(name + ".")) unlink(entry.path().c_str());
        }
        rmdir(folder.c_str());  // if there are no snapshots of other hosts
        // The default directory is this run's own.
        if (out_.empty()) rmdir(folder.parent_path().c_str());
    }
}

}  // namespace dwell
