// Replays the events of all processes, and shows the profile; see report_log.h.
#include "report/events/report_log.h"

#include <filesystem>

#include "report/console/output.h"
#include "report/events/timeline_notes.h"
#include "report/results/show.h"
#include "summarize/events/event_stream.h"
#include "summarize/events/log_set.h"
#include "summarize/events/replay.h"
#include "summarize/model/profile.h"

namespace dwell {
namespace {

tl::expected<Profile, std::string> profile_of(const std::string& path, uint64_t* incomplete,
                                              TimelineNotes* notes, bool* has_waits) {
    auto logs = LogSet::open(find_logs(path));
    if (!logs) return tl::make_unexpected(logs.error());
    notes->unfinished_logs = logs->unfinished();
    notes->bytes_cut = logs->bytes_cut();
    notes->undescribed = logs->undescribed();
    Merged merged;
    for (SetProcess& process : logs->processes()) {
        notes->filter += process.records.filter;
        notes->is_filtered = notes->is_filtered || process.records.is_filtered;
        *has_waits = *has_waits && (process.records.header.flags & kFileWaits) != 0;
        link_cells(&process.records);
        Replay replay(&process.records);
        for (const SetThread& thread : process.threads) {
            EventStream stream(&thread);
            replay.add_thread(thread.number, &stream);
            notes->lost_words += stream.lost();
            notes->damaged_blocks += stream.damaged();
        }
        const SparseBytes& cells = process.records.cells;
        if (!replay.finish() || !add_record_file(&merged, cells.data(), cells.size()))
            return tl::make_unexpected(path + ": there is no memory for its profile");
        *incomplete += replay.incomplete();
        notes->lost_records += replay.lost();
    }
    return build_profile(merged);
}

}  // namespace

bool is_event_log(const std::string& path) {
    if (path.ends_with(kEventLogSuffix)) return true;
    return std::filesystem::path(path).filename() == "events" && !find_logs(path).empty();
}

int report_log_command(const ReportOptions& options) {
    uint64_t incomplete = 0;
    TimelineNotes notes;
    bool has_waits = true;
    const auto profile = profile_of(options.source, &incomplete, &notes, &has_waits);
    if (!profile) {
        say(profile.error());
        return 1;
    }
    say("this is computed from events: for whom a rank waited, and why, is not in them");
    if (!has_waits && profile->world_size > 1)
        say("waiting is not in the log: it counts as transfer");
    say_what_is_missing(notes);
    if (notes.is_filtered) say("the figures are of what the filter left");
    if (incomplete != 0)
        say(std::to_string(incomplete) + " calls that the log holds in part are left out");
    return show_profile(*profile, options);
}

}  // namespace dwell
