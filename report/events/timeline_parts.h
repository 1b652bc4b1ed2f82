// The parts of a timeline, for its own files.
#ifndef DWELL_REPORT_EVENTS_TIMELINE_PARTS_H_
#define DWELL_REPORT_EVENTS_TIMELINE_PARTS_H_

#include <deque>
#include <optional>
#include <vector>

#include "report/events/host_clock.h"
#include "report/events/timeline.h"
#include "summarize/attribution/call_paths.h"
#include "summarize/symbols/lines.h"

namespace dwell {

constexpr uint32_t kNoPlace = UINT32_MAX;

// The merged nodes of all processes, and their names.
struct Timeline::Names {
    Merged merged;
    std::optional<LineResolver> resolver;
    std::optional<CallPaths> paths;
    std::vector<uint32_t> places;              // by merged node
    std::vector<std::vector<uint32_t>> nodes;  // by process: merged node by cell

    TimelinePlace make(uint32_t node);
    void place_sample(const MergedNode& sample, const std::vector<Step>& path,
                      TimelinePlace* place);
};

struct Timeline::Source {
    struct Open {
        uint32_t node;   // merged
        uint32_t place;  // kNoPlace: not shown
    };
    explicit Source(const SetThread* of) : stream(of) {}
    EventStream stream;
    uint64_t words = 0;  // in all
    uint32_t thread = 0;
    uint32_t process = 0;
    TickScale scale;
    HostClock clock;
    Event event{};
    std::deque<Event> ahead{};  // records behind `event` that following() has read
    uint64_t ticks = 0;         // of `event`, by the clock of the first process
    uint64_t ns = 0;
    std::vector<Open> open{};
    uint32_t begins_due = 0;   // innermost ones, to be begun where the window begins
    uint32_t ends_due = 0;     // innermost ones to be ended before `event`
    size_t unseen_due = 0;     // innermost ones that ended while nothing was written
    uint64_t lost_before = 0;  // words, before the window
    uint64_t missed = 0;       // words, when note_missing() looked last
    uint64_t tid = 0;          // of the thread whose records these are
    bool has_ended = false;    // that thread, and its record is another one's
    bool is_off = false;       // since the last record, by order or window
    LostRecords lost{};        // as the process counted them
    LostRecords lost_told{};   // of these, in the log so far
    bool at_end = false;
    bool has_gap_due = false;  // at the end, of records that were lost behind the last one
    bool is_cut = false;       // by the window's end
    bool has_metrics = false;
    bool of_samples = false;  // these are logged later than they were taken, so they come apart
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_TIMELINE_PARTS_H_
