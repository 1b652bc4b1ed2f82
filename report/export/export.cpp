// Finds the logs, exports them, and says what the export lacks; see export.h.
#include "report/export/export.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "report/console/output.h"
#include "report/events/timeline.h"
#include "report/export/exporters.h"
#include "report/filter/event_filters.h"
#include "summarize/events/log_set.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

struct Format {
    const char* word;
    const char* suffix;
    Outcome (*write)(Timeline*, ExportJob*);
    uint32_t passes = 1;  // over the timeline
};
constexpr Format kFormats[] = {
    {"perfetto", ".perfetto-trace", export_perfetto},
    {"chrome", ".json", export_chrome},
    {"picl", ".picl", export_picl, 2},
    {"sddf", ".sddf", export_sddf, 2},
    {"sddf-binary", ".sddf", export_sddf_binary, 2},
    {"midi", ".mid", export_midi},
    {"epilog", ".elg", export_epilog, 2},
    {"otf2", ".otf2", export_otf2},
};

// One line on a terminal, which is written anew about ten times a second.
class ProgressLine {
  public:
    // `passes`: of the export itself.
    explicit ProgressLine(uint32_t passes) : passes_(passes) {}

    void take_away() {
        if (is_there_) put("\r\x1b[K");
        is_there_ = false;
    }
    void show(uint32_t pass, double part, uint64_t events) {
        const auto now = std::chrono::steady_clock::now();
        if (pass == 0 && !has_pass_0_) {
            has_pass_0_ = true;
            passes_ += 1;
        }
        const uint32_t passes_done = std::min(pass - (has_pass_0_ ? 0 : 1), passes_ - 1);
        if (passes_done != passes_done_) {
            passes_done_ = passes_done;
            pass_began_ = looked_;
        }
        looked_ = now;
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(100);
        const double whole = (passes_done + part) / passes_;
        const std::chrono::duration<double> took = now - pass_began_;
        std::string rate;
        if (took.count() > 0)
            rate = fmt::format(", {:.2f} million events/s",
                               static_cast<double>(events) / 1e6 / took.count());
        put(fmt::format("\rdwell: {} %{}\x1b[K", std::min(static_cast<int>(100 * whole), 99),
                        rate));
        is_there_ = true;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static void put(const std::string& text) {
        if (write(STDERR_FILENO, text.data(), text.size()) < 0) {
            // Without stderr there is nobody to see it.
        }
    }
    uint32_t passes_;
    uint32_t passes_done_ = 0;
    bool has_pass_0_ = false;
    Clock::time_point pass_began_ = Clock::now();
    Clock::time_point looked_ = pass_began_;
    Clock::time_point next_ = pass_began_ + std::chrono::seconds(1);
    bool is_there_ = false;
};

TimelineChoice choice_of(const ExportOptions& options) {
    TimelineChoice choice;
    if (!options.window.empty()) read_event_window(options.window.c_str(), &choice.window);
    choice.ranks = options.ranks;
    if (!options.kinds.empty()) choice.kinds = event_kinds_of(options.kinds);
    return choice;
}

}  // namespace

int export_command(const ExportOptions& options) {
    const auto* const format =
        std::find_if(std::begin(kFormats), std::end(kFormats),
                     [&](const Format& known) { return options.format == known.word; });
    const std::vector<std::string> logs = find_logs(options.source);
    if (logs.empty()) {
        say(options.source + ": there are no event logs (dwell run --events writes them)");
        return 1;
    }
    ProgressLine progress(format->passes);
    Timeline::Watcher watcher;
    if (!options.quiet && isatty(STDERR_FILENO) != 0) {
        watcher = [&](uint32_t pass, double part, uint64_t events) {
            progress.show(pass, part, events);
        };
    }
    auto timeline = Timeline::open(logs, choice_of(options), nullptr, watcher);
    if (!timeline) {
        progress.take_away();
        say(timeline.error());
        return 1;
    }
    ExportJob job{
        .path = options.out, .mapping = options.mapping, .limit_bytes = options.limit_mib << 20};
    if (job.path.empty()) job.path = fs::path(logs.front()).stem().string() + format->suffix;
    if (!options.byte_order.empty()) job.is_big_endian = options.byte_order == "big";
    if (std::error_code none; !job_of_log(fs::canonical(job.path, none).string()).empty()) {
        progress.take_away();
        say(job.path + ": this is an event log; name another file with -o");
        return 1;
    }
    const Outcome written = format->write(&*timeline, &job);
    progress.take_away();
    if (!written) {
        say(written.error());
        return 1;
    }
    if (timeline->events() == 0) say("the logs have no such events: " + job.path + " has none");
    for (const std::string& line : what_is_missing(timeline->notes())) say(line);
    for (const std::string& line : job.left_out) say(line);
    if (!options.quiet) say("wrote " + job.path);
    return 0;
}

}  // namespace dwell
