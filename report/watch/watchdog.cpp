// Looks four times in the given time; see watchdog.h.
#include "report/watch/watchdog.h"

#include <unistd.h>

#include <algorithm>

#include "report/console/output.h"
#include "report/console/process.h"
#include "report/events/events_command.h"
#include "report/live/live_job.h"
#include "report/live/positions.h"
#include "report/live/traffic.h"
#include "report/live/where_text.h"
#include "report/results/record_files.h"
#include "report/results/show.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

constexpr int kMostPatience_ms = 5000;
constexpr uint64_t kSecond_ns = 1'000'000'000;

std::string hang_text(const std::string& directory, const Merged& merged, uint64_t still_ns) {
    WhereOptions options;
    options.width = std::max(terminal_width(STDERR_FILENO), 80);
    options.ascii = !locale_is_utf8();
    Positions positions = positions_without_progress(merged, static_cast<int64_t>(still_ns));
    add_findings(directory, merged, &positions);
    return where_text(positions, unix_ns(), options);
}

}  // namespace

void Watchdog::start() {
    if (seconds_ != 0) watch_.start(std::min(seconds_ * 1000 / 4, kMostPatience_ms));
}

void Watchdog::clean_up() {
    for (const auto& [directory, job] : jobs_) {
        if (!job.reported || !all_record_files(directory).empty()) continue;
        remove_watchdog_texts(directory);
        rmdir(directory.c_str());
    }
}

void Watchdog::look_at(const std::string& directory) {
    Job* job = &jobs_[directory];
    if (job->reported) return;
    size_t left_out = 0;
    const tl::expected<Merged, std::string> merged = read_job(directory, &left_out);
    if (!merged) return;
    const Progress now = progress_of(*merged, processor_ns);
    const uint64_t now_ns = monotonic_ns();
    const bool moves = now.empty() || has_progress(job->last, now, now_ns - job->looked_ns);
    job->last = now;
    job->looked_ns = now_ns;
    if (moves || job->moved_ns == 0) {
        job->moved_ns = now_ns;
        return;
    }
    const uint64_t still_ns = now_ns - job->moved_ns;
    if (still_ns < static_cast<uint64_t>(seconds_) * kSecond_ns) return;
    job->reported = true;
    dump_events(directory);
    const std::string text = hang_text(directory, *merged, still_ns);
    static_cast<void>(write_all(STDERR_FILENO, "dwell watchdog: " + text, "standard error"));
    // For the report that is written or recovered later.
    const Outcome kept = write_file(watchdog_file(directory), text, 0600);
    if (!kept) say(kept.error());
}

}  // namespace dwell
