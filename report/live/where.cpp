// Reads a job from outside and prints where it is; see where.h.
#include "report/live/where.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "report/console/output.h"
#include "report/live/kernel_view.h"
#include "report/live/live_job.h"
#include "report/live/snapshot.h"
#include "report/live/thread_samples.h"
#include "report/live/traffic.h"
#include "report/results/show.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;

int fail(const std::string& text) {
    say(text);
    return 1;
}

void add_system_calls(Positions* positions) {
    size_t asked = 0;
    for (Position& position : positions->threads) {
        if (!is_asleep(position) || position.is_in_call || position.in_openmp ||
            ++asked > kMostSampled)
            continue;
        position.system_call = waiting_call(position.pid, position.tid);
    }
}

int print(const Positions& positions, int64_t now, const WhereOptions& options) {
    const std::string text =
        options.json ? where_json(positions, now) : where_text(positions, now, options);
    const Outcome written = write_all(1, text, "standard output");
    return written ? 0 : fail(written.error());
}

// Of all hosts, as each was when its snapshot was taken.
int show_snapshots(const std::string& profile, const WhereOptions& options) {
    const tl::expected<Snapshots, std::string> taken = read_snapshots(profile);
    if (!taken) return fail(taken.error());
    KnownLines lines;
    const int64_t now = unix_ns();
    Positions positions = positions_of(taken->merged, nullptr, &lines);
    for (Position& position : positions.threads) {
        position.moved = now - position.since_unix_ns < kSecond_ns;
    }
    positions.snapshot_age_ns = taken->age_ns;
    // Seen from the oldest snapshot, as the times of the threads are from theirs.
    positions.start_unix_ns += oldest_snapshot_ns(positions);
    const int code = print(positions, now, options);
    if (taken->left_out == 0) return code;
    say(std::to_string(taken->left_out) + " snapshots could not be read; left out");
    return 1;
}

}  // namespace

int where_command(const WhereOptions& given) {
    WhereOptions options = given;
    if (options.width == 0) options.width = terminal_width(1);
    if (options.width == 0) options.width = 80;
    const tl::expected<std::string, std::string> directory = find_job(options.job, "where");
    if (!directory) return fail(directory.error());
    if (has_snapshots(*directory)) return show_snapshots(*directory, options);
    size_t left_out = 0;
    KnownLines lines;
    Positions before;
    ThreadSamples samples;
    {
        const tl::expected<Merged, std::string> first = read_places(*directory, &left_out);
        if (!first) return fail(first.error());
        before = positions_of(*first, nullptr, &lines);
        samples.begin(before);
    }
    timespec second{1, 0};
    while (nanosleep(&second, &second) != 0 && errno == EINTR) {
    }
    const tl::expected<Merged, std::string> merged = read_places(*directory, &left_out);
    if (!merged) return fail("the job has ended meanwhile");
    const int64_t now = unix_ns();
    Positions positions = positions_of(*merged, &before, &lines);
    samples.end(lines.apart(), &positions);
    add_system_calls(&positions);
    add_findings(*directory, *merged, &positions);
    const int code = print(positions, now, options);
    if (code != 0) return code;
    if (left_out != 0) say(std::to_string(left_out) + " record files could not be read; left out");
    return left_out == 0 ? 0 : 1;
}

}  // namespace dwell
