// `dwell run --events`: takes the events of the ranks of this host out of their rings and appends
// them to a log. The ranks store and look, no more; all else is done here.
#ifndef DWELL_REPORT_EVENTS_EVENT_COLLECTOR_H_
#define DWELL_REPORT_EVENTS_EVENT_COLLECTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/events/event_spill.h"
#include "report/events/shared_records.h"
#include "report/filter/event_filters.h"
#include "runtime/process/event_settings.h"
#include "summarize/events/event_log.h"

namespace dwell {

// What became of a job's events.
struct CollectedEvents {
    std::string log;  // its file; empty: there is none
    uint64_t bytes = 0;
    uint64_t words = 0;
    uint64_t lost = 0;       // records that found no room in a ring
    uint64_t bytes_cut = 0;  // of spill files, behind their last whole block
    uint64_t unwritten = 0;  // words taken, but not written
    uint64_t threads_without = 0;
    bool are_there = false;           // taken by this process or by another one
    bool begins_later = false;        // than the events: another one took those before
    std::optional<LogFilter> filter;  // of all ranks
    std::string error;
};
// Lines to say: what the log lacks.
std::vector<std::string> losses_of(const CollectedEvents& events);

class EventCollector {
  public:
    // `out`: the directory of the profile, as the user gave it. `filters`: null if there are none.
    // `is_first`: no other `dwell run` of this host is to collect instead.
    EventCollector(std::string out, const EventWindow& window, const EventRates& rates,
                   EventFilters* filters = nullptr, bool is_first = true)
        : out_(std::move(out)),
          window_(window),
          rates_(rates),
          filters_(filters),
          is_first_(is_first) {}

    // Takes what the rings of a job hold, apart from small amounts that can wait. True where a ring
    // fills so fast that the next look should come soon.
    bool look(const std::string& directory);
    // Takes everything and closes the logs.
    std::vector<CollectedEvents> finish();
    // Whether a ring is at least half full.
    bool is_behind() const;

  private:
    struct Taken {
        uint64_t looked_ns = 0;     // when the thread's events were taken last
        uint64_t next_word = 0;     // behind those that were passed on
        bool is_described = false;  // in the log
    };
    // Words that were taken out of a ring.
    struct Portion {
        CellIndex thread;
        uint64_t first_word;
        uint64_t base;  // time from which theirs count until the first kBase; 0: not known
        std::vector<uint64_t> words;
    };
    struct Place {
        EventLevel level = EventLevel::kEvents;
        uint64_t events = 0;  // since the last look at rates
        uint64_t looked = 0;  // count of the node at the last look
        uint64_t count = 0;   // and when the log was told last
        uint64_t ticks = 0;
    };
    struct Rank {
        Rank(std::string file, std::string spilled, SharedRecords of, uint32_t in_log)
            : name(std::move(file)),
              spill_path(spilled),
              spill(std::move(spilled)),
              records(std::move(of)),
              number(in_log) {}
        std::string name;
        std::string spill_path;
        SpillReader spill;
        SharedRecords records;
        uint32_t number;
        std::vector<bool> known;              // cells that are in the log
        std::set<uint16_t> modules;           // by ModuleRecord::number, likewise
        std::set<uint32_t> comms;             // by the communicator of messages, likewise
        std::map<uint32_t, CommRecord> made;  // communicators that events told of
        std::map<CellIndex, Taken> threads;
        std::string new_threads;                      // cells to be written
        std::unordered_map<CellIndex, Place> places;  // with a limit for their events
        std::unique_ptr<RankFilter> filter;
        uint64_t limited_ns = 0;
        uint32_t dumps = 0;
        bool has_flushed = false;
        bool has_ended = false;
    };
    struct Job {
        std::vector<Rank> ranks;
        std::optional<EventLogWriter> log;
        std::string program;
        std::string name;
        bool has_failed = false;
        uint64_t first_ns = 0;
        uint64_t start_ticks = UINT64_MAX;  // of the first process
        uint64_t listed_ns = 0;
        CollectedEvents collected;
    };

    void find_ranks(const std::string& directory, Job* job);
    void open_log(Job* job, const FileHeader& header);
    void take_all(Job* job, Rank* rank, bool everything);
    uint64_t read_spill(Job* job, Rank* rank, std::vector<Portion>* portions);
    void take(Rank* rank, CellIndex cell, bool everything, std::vector<Portion>* portions);
    // work(cell, thread)
    template <typename Work>
    static void for_each_thread(Rank* rank, const Work& work) {
        CellIndex cell = load_shared(&rank->records.header().first_thread);
        for (uint32_t left = 1u << 20; cell != 0 && left != 0; --left) {
            const auto* thread = rank->records.at<ThreadRecord>(cell);
            if (thread == nullptr) break;
            const CellIndex next = load_shared(&thread->next);
            work(cell, *thread);
            cell = next;
        }
    }
    void pass_on(Job* job, Rank* rank, Portion* portion);
    RankFilter* filter_of(Rank* rank);
    void filter(Job* job, Rank* rank, const ThreadRecord& thread, const Portion& portion);
    bool has_to_wait(const Job& job, uint64_t now_ns) const;
    bool is_of_another(Rank* rank) const;
    void append_filtered(Job* job, Rank* rank, const RingOwner& owner, const Filtered& filtered);
    void append(Job* job, Rank* rank, uint32_t thread, uint64_t first_word, uint64_t ring_words,
                const std::vector<uint64_t>& words);
    void note_words(Rank* rank, const std::vector<uint64_t>& words);
    static bool is_new(Rank* rank, CellIndex cell);
    static void describe_text(Rank* rank, CellIndex text, std::string* runs);
    void describe(Rank* rank, CellIndex node, std::string* runs);
    static void note_comm(Rank* rank, const uint64_t* words);
    void describe_comm(Rank* rank, uint32_t comm, std::string* runs);
    void describe_module(Rank* rank, uint16_t number, std::string* runs);
    static uint64_t entries_counted(Rank* rank);
    void close_rank(Job* job, Rank* rank);
    void move_to_profiles();
    void keep_window(uint64_t start_ticks, Rank* rank) const;
    void keep_rates(Job* job, Rank* rank, bool at_end);

    std::string out_;
    EventWindow window_;
    EventRates rates_;
    EventFilters* filters_;
    bool is_first_;
    std::map<std::string, Job> jobs_;  // by directory
    bool is_busy_ = false;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_EVENT_COLLECTOR_H_
