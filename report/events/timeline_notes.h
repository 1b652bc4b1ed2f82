// What a timeline of events, or a profile computed of them, lacks.
#ifndef DWELL_REPORT_EVENTS_TIMELINE_NOTES_H_
#define DWELL_REPORT_EVENTS_TIMELINE_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "summarize/events/event_log.h"
#include "summarize/events/event_stream.h"

namespace dwell {

// What a timeline had to leave out or to add.
struct TimelineNotes {
    LostRecords lost_records{};
    uint64_t lost_words = 0;         // that the log lacks
    uint64_t overwritten_words = 0;  // by newer ones
    uint64_t without_begin = 0;      // ends left out
    uint64_t without_end = 0;      // ended where something around them ended, or at the last event
    uint64_t without_time = 0;     // records left out: behind a gap times begin with the next base
    uint64_t without_place = 0;    // records left out: the log does not describe their place
    uint64_t unknown = 0;          // records left out: of a kind that only other versions know
    uint64_t bytes_cut = 0;        // of logs
    uint64_t threads_without = 0;  // events, for lack of room
    uint64_t entries_counted = 0;  // FileHeader::entries_counted
    uint32_t undescribed = 0;      // processes left out
    uint32_t damaged_blocks = 0;
    uint32_t unfinished_logs = 0;
    uint64_t reduced_places = 0;  // that had no events for a time (--events-rate)
    uint64_t reduced_calls = 0;   // of these, meanwhile
    LogFilter filter{};           // what was left out before (--events-longer, --events-filter)
    bool is_filtered = false;
    bool clocks_unrelated = false;  // of hosts
    uint64_t clock_bound_ns = 0;    // the largest of a process; 0: there is one clock
    uint64_t lone_messages = 0;     // ends whose other one is not in the logs
    uint64_t guessed_messages = 0;  // whose ends belong together as it seems, beside lost ones
    uint64_t early_receives = 0;    // before their sends, by at most `earliest_ns`
    uint64_t earliest_ns = 0;
    // By what was chosen:
    uint64_t begun_before = 0;    // calls
    uint64_t ended_after = 0;     // the same
    uint64_t split_messages = 0;  // with one end
};

// What has no events by what the log says of a process.
void note_process(const LogProcess& process, TimelineNotes* notes);
// What of a thread's records is missing between those that the log has.
void add_losses(const EventStream& stream, EventPolicy policy, TimelineNotes* notes);
// Lines for the user.
std::vector<std::string> what_is_missing(const TimelineNotes& notes);

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_TIMELINE_NOTES_H_
