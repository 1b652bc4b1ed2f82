// One line for each; see timeline_notes.h.
#include "report/events/timeline_notes.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "report/filter/event_filters.h"

namespace dwell {
namespace {

std::string kinds_of(const LostRecords& lost) {
    return fmt::format(": {} enters and leaves, {} messages and collectives, {} others",
                       lost.of[static_cast<size_t>(EventLoss::kEntersAndLeaves)],
                       lost.of[static_cast<size_t>(EventLoss::kMessages)],
                       lost.of[static_cast<size_t>(EventLoss::kOther)]);
}

}  // namespace

void note_process(const LogProcess& process, TimelineNotes* notes) {
    notes->filter += process.filter;
    notes->is_filtered = notes->is_filtered || process.is_filtered;
    notes->threads_without += process.header.threads_without_events;
    notes->entries_counted += process.header.entries_counted;
    std::set<CellIndex> reduced;
    for (const LevelChange& change : process.levels) {
        if (change.count != 0) reduced.insert(change.node);
        notes->reduced_calls += change.count;
    }
    notes->reduced_places += reduced.size();
}

void add_losses(const EventStream& stream, EventPolicy policy, TimelineNotes* notes) {
    notes->damaged_blocks += stream.damaged();
    if (policy == EventPolicy::kOverwrite) {
        notes->overwritten_words += stream.lost() + stream.skipped();
    } else {
        notes->lost_words += stream.lost();
        notes->without_time += stream.skipped();
    }
}

std::vector<std::string> what_is_missing(const TimelineNotes& notes) {
    std::vector<std::string> lines;
    const auto told = [&lines](uint64_t count, const std::string& text) {
        if (count != 0) lines.push_back(fmt::format("{} {}", count, text));
    };
    told(notes.unfinished_logs, "of the logs were not closed: they may lack the end");
    told(notes.bytes_cut, "bytes of a log are damaged or cut off, and left out");
    told(notes.undescribed, "processes that a log does not describe are left out");
    told(notes.damaged_blocks, "blocks of a log are damaged and left out");
    told(notes.lost_records.all(),
         "records were lost in full rings" + kinds_of(notes.lost_records));
    told(notes.reduced_calls,
         fmt::format("calls of {} places with too many events are only counted (--events-rate)",
                     notes.reduced_places));
    told(notes.entries_counted,
         "entries of procedures, loops and blocks were only counted in the run: they were short "
         "(--probe-limit) or too deep");
    told(notes.threads_without, "threads had no room for a ring, and have no events");
    if (notes.is_filtered) lines.push_back(line_of_log(notes.filter, notes.unfinished_logs != 0));
    told(notes.lost_words, "words are missing in the logs");
    told(notes.overwritten_words,
         "words of older events were overwritten: the flight recorder keeps the newest");
    told(notes.without_time, "records without a time are left out: they are behind a gap");
    told(notes.without_place, "records of places that the log does not describe are left out");
    told(notes.unknown, "records of kinds that this version does not know are left out");
    told(notes.without_begin, "ends without a beginning are left out");
    told(notes.without_end,
         "calls without an end are closed where events, or something around them, ended");
    told(notes.lone_messages, "sends and receives have no other end in the logs");
    told(notes.guessed_messages,
         "messages are joined by order, size and time, which may be wrong: the logs lack some");
    if (notes.early_receives != 0) {
        lines.push_back(
            fmt::format("{} receives come before their sends, by up to {:.3f} us: times of waiting "
                        "are estimated",
                        notes.early_receives, static_cast<double>(notes.earliest_ns) / 1e3));
    }
    told(notes.begun_before, "calls began before the window: they begin with it");
    told(notes.ended_after, "calls end after the window: they end with it");
    told(notes.split_messages, "messages have only one end in what was chosen");
    if (notes.clock_bound_ns != 0) {
        lines.push_back(
            fmt::format("times of other hosts than the first are right to {:.3f} us, if their "
                        "clocks drift evenly",
                        static_cast<double>(notes.clock_bound_ns) / 1e3));
    }
    if (notes.clocks_unrelated)
        lines.emplace_back("the clocks of the hosts are not related to each other");
    return lines;
}

}  // namespace dwell
