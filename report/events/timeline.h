// The events of several logs as one sequence in time: what exporters write. Calls of each thread
// are nested, whatever the logs lack.
#ifndef DWELL_REPORT_EVENTS_TIMELINE_H_
#define DWELL_REPORT_EVENTS_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "report/events/timeline_notes.h"
#include "report/filter/event_place.h"
#include "runtime/process/event_settings.h"
#include "summarize/events/event_stream.h"
#include "summarize/events/log_set.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/tick_scale.h"

namespace dwell {

class MessageMatches;

struct TimelineProcess {
    uint32_t rank;
    int32_t pid;
    std::string host;
    std::string program;
    uint64_t clock_bound_ns;    // how far its times may be wrong against those of the first host
    uint32_t main_thread;       // number of the one that called MPI_Init, or began the program
    uint64_t ticks_per_second;  // of its clock
    // Of the values of its kMetric events: index in Timeline::metrics().
    std::vector<uint32_t> metrics{};
};
struct TimelineThread {
    uint32_t process;  // index
    uint32_t number;   // in its process
    int32_t tid;
    std::string name;
    EventPolicy policy = EventPolicy::kDrop;
};
using TimelinePlace = EventPlace;  // by index
// A communicator. Of members that are not observed the rank in MPI_COMM_WORLD is not known.
struct TimelineComm {
    uint32_t id;  // comm_of_message()
    bool is_world;
    std::vector<uint32_t> members;  // rank in MPI_COMM_WORLD, or kEventNobody, by rank in it
};

enum class TimelineKind : uint8_t { kBegin, kEnd, kMark, kOther };
// kOther: `event` as in the log, which belongs to what its thread is in. Counts of metrics come
// before the enter or leave at which they were read.
struct TimelineEvent {
    TimelineKind kind;
    uint64_t ns;  // since the first process began
    uint32_t thread;
    uint32_t place;  // of kBegin, kEnd, kMark, and of samples
    bool is_split;   // a message whose other end is not among the events
    Event event;
};

// A part of the logs. Calls that are open where a window begins or ends begin or end there.
struct TimelineChoice {
    EventWindow window{};         // in seconds since the first process began; not timed: all
    std::string ranks{};          // as is_rank_in()
    uint32_t kinds = kAllEvents;  // as EventKindWord::kinds; messages go with their calls
};

class Timeline {
  public:
    // Is called every few thousand events with the part of the logs that was read, and the events
    // since the last rewind(). Pass 0 finds out which messages have both ends.
    using Watcher = std::function<void(uint32_t pass, double part, uint64_t events)>;

    // `paths`: logs, of any host. An error of one line.
    static tl::expected<Timeline, std::string> open(const std::vector<std::string>& paths,
                                                    const TimelineChoice& choice = {},
                                                    const NewestWords* newest = nullptr,
                                                    Watcher watcher = nullptr);
    ~Timeline();
    Timeline(Timeline&& other) noexcept;
    Timeline& operator=(Timeline&&) = delete;
    Timeline(const Timeline&) = delete;

    const std::vector<TimelineProcess>& processes() const { return processes_; }
    const std::vector<TimelineThread>& threads() const { return threads_; }
    const TimelinePlace& place(uint32_t place);
    size_t places() const { return places_.size(); }
    // Also of processes that are in no log: the ranks of MPI_COMM_WORLD.
    uint32_t world_size() const { return world_size_; }
    const std::vector<TimelineComm>& comms() const { return comms_; }
    // Names of the metrics of all processes.
    const std::vector<std::string>& metrics() const { return metrics_; }
    // CLOCK_REALTIME at the start of the first process.
    int64_t start_unix_ns() const;

    // False at the end, or where only processes that are held have events left.
    bool next(TimelineEvent* event);
    // The records that follow in a thread, the next one first, whether next() will show them or
    // not; null: there are no more. Valid until the next call of any of these.
    const Event* following(uint32_t thread, size_t number);
    // next() gave all events of the thread.
    bool is_over(uint32_t thread) const;
    // Words that the log lacks before the thread's next record.
    uint64_t lost_words(uint32_t thread) const;
    // next() passes over the events of a process until it is released: for formats in which others
    // come first, whatever the clocks say.
    void hold(uint32_t process);
    void release(uint32_t process);
    // That next() gave since the last rewind().
    uint64_t events() const { return events_; }
    // From the first event again, for formats that begin with what is counted.
    void rewind();
    const TimelineNotes& notes();

  private:
    struct Names;
    struct Source;
    Timeline();
    bool add_process(SetProcess* process, const FileHeader& reviewed);
    void describe(TimelineThread* thread, const LogProcess& process);
    void add_comms(const LogProcess& process);
    bool is_stale(const Source& source, uint32_t node) const;
    bool is_around(uint32_t outer, uint32_t node) const;
    size_t ended_unseen(Source* source) const;
    void match_messages();
    bool is_matched(const Event& record) const;
    bool is_logged(uint32_t rank) const;
    bool has_other_end(const Source& source, const Event& record);
    void note_message(const Source& source);
    void note_missing(Source* source);
    void find_window(const EventWindow& window);
    void enter_window(Source* source);
    void add_metrics(const LogProcess& process, TimelineProcess* described);
    static bool pull(Source* source);
    static bool read(Source* source);
    void advance(Source* source);
    void end_source(Source* source);
    bool is_kept(const Source& source, const Event& event);
    uint64_t ns_of(const Source& source, uint64_t ticks) const;
    static bool is_later(const Source* a, const Source* b);
    uint32_t node_of(const Source& source, CellIndex cell) const;
    uint32_t place_of(uint32_t node);
    bool is_chosen(uint32_t rank) const;
    bool is_wanted(uint32_t node) const;
    bool is_wanted(const Source& source, const Event& record) const;
    bool take(Source* source, TimelineEvent* event);
    bool take_end(Source* source, TimelineEvent* event);
    static bool is_finished(const Source& source);
    void tell_progress();

    TimelineChoice choice_;
    std::unique_ptr<LogSet> logs_;
    std::vector<TimelineProcess> processes_;
    std::vector<TimelineThread> threads_;
    std::vector<TimelinePlace> places_;
    std::vector<TimelineComm> comms_;
    std::vector<std::string> metrics_;
    uint32_t world_size_ = 1;
    std::vector<std::unique_ptr<Source>> sources_;         // by thread
    std::vector<std::unique_ptr<Source>> sample_sources_;  // of threads that may have samples
    std::vector<Source*> heap_;
    std::vector<std::vector<Source*>> held_;  // by process
    std::vector<char> is_held_;               // by process
    std::unique_ptr<Names> names_;
    std::unique_ptr<MessageMatches> matches_;
    bool is_matching_ = false;      // the pass that notes messages
    std::vector<bool> is_reduced_;  // by merged node: without events for a time (--events-rate)
    std::vector<uint32_t> hosts_;   // by rank, where there may be messages; 0: in no log
    TimelineNotes notes_;
    uint64_t from_ticks_ = 0;  // window
    uint64_t to_ticks_ = UINT64_MAX;
    int64_t start_unix_ns_ = 0;  // at start_ticks_
    uint64_t start_ticks_ = 0;
    uint64_t beginning_ = UINT64_MAX;  // ticks at the start of the first process
    Watcher watcher_;
    uint32_t pass_ = 0;
    uint64_t events_ = 0;  // of this pass
    uint64_t split_ = 0;   // messages, the same
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_TIMELINE_H_
