// Replays the events of all processes, and shows the profile; see report_log.h.
#include "report/events/report_log.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "report/console/output.h"
#include "report/events/timeline_notes.h"
#include "report/results/show.h"
#include "runtime/process/event_settings.h"
#include "summarize/events/event_stream.h"
#include "summarize/events/log_set.h"
#include "summarize/events/replay.h"
#include "summarize/model/profile.h"

namespace dwell {
namespace {

// What the figures of a log lack, beside losses.
struct Lacks {
    uint64_t incomplete = 0;  // calls
    bool waits = false;
    bool times = false;  // events were off
    bool sites = false;
    bool resets = false;
    uint32_t kinds = 0;
};

std::string names_of_kinds(uint32_t kinds) {
    const bool is_all_of_mpi = (kinds & kMpiEvents) == kMpiEvents;
    const std::pair<uint32_t, const char*> names[] = {
        {event_bit(SiteKind::kCommunication),
         is_all_of_mpi ? "MPI calls" : "MPI calls other than collectives"},
        {is_all_of_mpi ? 0 : kCollectiveEvents, "collectives"},
        {kProcedureEvents, "procedures"},
        {event_bit(SiteKind::kLoop), "loops"},
        {kBlockEvents, "blocks"},
        {event_bit(SiteKind::kOpenMp), "OpenMP"},
        {event_bit(SiteKind::kIo), "I/O"}};
    std::string text;
    for (const auto& [kind, name] : names) {
        if ((kinds & kind) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
}

constexpr const char* kOfEvents =
    "this is computed from events: for whom a rank waited, and why, is not in them";

std::vector<std::string> what_figures_lack(const Profile& profile, const Lacks& lacks,
                                           const TimelineNotes& notes) {
    std::vector<std::string> lines;
    if (lacks.waits && profile.world_size > 1)
        lines.emplace_back("waiting is not in the log: it counts as transfer");
    if (lacks.times) {
        lines.emplace_back(
            "events were off for a time (--events-window, dwell events), which is shown as paused: "
            "counts and times are of the rest");
    }
    if (const std::string kinds = names_of_kinds(lacks.kinds); !kinds.empty()) {
        lines.push_back("the log has no " + kinds +
                        " (--events): their time is in what is around them");
    }
    if (lacks.resets) {
        lines.emplace_back(
            "MPI_Pcontrol(2) began the figures of the run anew: these are of the whole log");
    }
    if (lacks.sites) {
        lines.emplace_back(
            "sites that are off have no events (--events-sites): their time is in what is around "
            "them");
    }
    const std::vector<std::string> missing = what_is_missing(notes);
    lines.insert(lines.end(), missing.begin(), missing.end());
    if (notes.reduced_calls != 0) {
        lines.emplace_back(
            "of calls that are only counted bytes, shortest and longest times are missing");
    }
    if (notes.is_filtered) lines.emplace_back("the figures are of what the filter left");
    if (lacks.incomplete != 0) {
        lines.push_back(std::to_string(lacks.incomplete) +
                        " calls that the log holds in part have no time here");
    }
    return lines;
}

tl::expected<Profile, std::string> profile_of(const std::string& path, Lacks* lacks,
                                              TimelineNotes* notes) {
    auto logs = LogSet::open(find_logs(path));
    if (!logs) return tl::make_unexpected(logs.error());
    notes->unfinished_logs = logs->unfinished();
    notes->bytes_cut = logs->bytes_cut();
    notes->undescribed = logs->undescribed();
    Merged merged;
    for (SetProcess& process : logs->processes()) {
        note_process(process.records, notes);
        const FileHeader& header = process.records.header;
        lacks->waits = lacks->waits || (header.flags & kFileWaits) == 0;
        lacks->times = lacks->times || (header.events_in_part & kEventsInWindows) != 0;
        lacks->sites = lacks->sites || (header.events_in_part & kEventsOfSites) != 0;
        lacks->kinds |= header.events_left_out;
        link_cells(&process.records);
        Replay replay(&process.records);
        for (const SetThread& thread : process.threads) {
            EventStream stream(&thread);
            replay.add_thread(thread.number, &stream);
            add_losses(stream, replay.policy_of(thread.number), notes);
        }
        notes->without_place += replay.without_place();
        notes->unknown += replay.unknown();
        const SparseBytes& cells = process.records.cells;
        if (!replay.finish() || !add_record_file(&merged, cells.data(), cells.size()))
            return tl::make_unexpected(path + ": there is no memory for its profile");
        lacks->incomplete += replay.incomplete();
        lacks->times = lacks->times || replay.was_off();
        lacks->resets = lacks->resets || replay.was_reset();
        notes->lost_records.add(replay.lost());
    }
    if (lacks->times || lacks->incomplete != 0) merged.flags |= kMergedEventsMissing;
    return build_profile(merged);
}

}  // namespace

bool is_event_log(const std::string& path) {
    if (path.ends_with(kEventLogSuffix) || !job_of_log(path).empty()) return true;
    return std::filesystem::path(path).filename() == "events" && !find_logs(path).empty();
}

int report_log_command(const ReportOptions& options) {
    Lacks lacks;
    TimelineNotes notes;
    auto profile = profile_of(options.source, &lacks, &notes);
    if (!profile) {
        say(profile.error());
        return 1;
    }
    profile->notes.insert(profile->notes.begin(), kOfEvents);
    say(kOfEvents);
    const std::vector<std::string> lines = what_figures_lack(*profile, lacks, notes);
    for (const std::string& line : lines) say(line);
    if (!lines.empty()) profile->merged_flags |= kMergedEventsMissing;
    profile->notes.insert(profile->notes.begin() + 1, lines.begin(), lines.end());
    return show_profile(*profile, options);
}

}  // namespace dwell
