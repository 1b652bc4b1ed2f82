// What stands between the rings and the log where not all events are to be written: the trigger
// (--events-longer), then the user's filter (--events-filter).
//
// A block of a filtered log says which words of the ring it stands for, not how many words it has:
// so numbers of words go on as in the ring, what was left out is no gap, and lost words are one.
#ifndef DWELL_REPORT_FILTER_EVENT_FILTERS_H_
#define DWELL_REPORT_FILTER_EVENT_FILTERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/filter/event_place.h"
#include "report/filter/filter_process.h"
#include "report/filter/long_instances.h"
#include "runtime/process/event_settings.h"
#include "summarize/events/event_log.h"

namespace dwell {

// What a filtered log lacks, or holds changed, in one line.
std::string line_of_log(const LogFilter& totals, bool is_unfinished);

// Words for the log; they stand for `ring_words` words of the ring.
struct FilteredBlock {
    uint64_t first_word;
    uint64_t ring_words;
    std::vector<uint64_t> words;
};
struct Filtered {
    std::vector<FilteredBlock> blocks;
    std::string runs;             // cells of marks that the filter made
    std::vector<CellIndex> made;  // of these, the nodes
};

// A thread's record and ring in the record file.
struct RingOwner {
    uint32_t number;
    CellIndex root;
    CellIndex ring;
    uint32_t ring_words;
};

class EventFilters;

// Of one process.
class RankFilter {
  public:
    RankFilter(EventFilters* filters, uint32_t process, const FileHeader& header);
    // It is known from MPI_Init on.
    void set_rank(int32_t rank) { of_.rank = static_cast<uint32_t>(rank < 0 ? 0 : rank); }

    // What is to be written of words that were taken from a ring. `records`: the record file.
    // `base`: as for RingReader::read().
    Filtered take(std::string_view records, const RingOwner& owner, uint64_t first_word,
                  uint64_t base, const std::vector<uint64_t>& words);
    // The rest, of all threads, when no words follow.
    std::vector<std::pair<RingOwner, Filtered>> end();
    LogFilter totals() const;

  private:
    struct Thread {
        Thread(uint64_t limit_ticks, bool of_some_sites) : trigger(limit_ticks, of_some_sites) {}
        RingOwner owner{};
        RingReader reader{};
        LongInstances trigger;
        uint64_t written = 0;  // words of the ring that blocks stand for
    };
    Thread* thread(const RingOwner& owner);
    void name_places(std::string_view records, std::vector<RingRecord>* read);
    void number_messages(std::vector<RingRecord>* read);
    void finish(Thread* thread, std::vector<RingRecord>* records, Filtered* into);
    void make_marks(const RingOwner& owner, std::vector<RingRecord>* records, Filtered* into);
    CellIndex mark_of(const RingOwner& owner, uint32_t mark, Filtered* into);

    EventFilters& filters_;
    FilteredThread of_{};
    std::map<uint32_t, Thread> threads_;
    EventPlaces::Known places_;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> messages_;  // of each channel, so far
    bool lacks_messages_ = false;                                 // so their numbers are not known
    std::map<uint32_t, CellIndex> marks_;
    bool goes_on_for_another_ = false;  // that took the beginning of the rings
    CellIndex next_cell_ = 0;  // marks have cells of a ring: nothing else in the log has them
    CellIndex end_cell_ = 0;
    FilterCounts counts_;
};

// Of all processes of this host.
class EventFilters {
  public:
    // An error of one line. Null where nothing is to be filtered. `filter`: --events-filter.
    static tl::expected<std::unique_ptr<EventFilters>, std::string> start(
        const EventTrigger& trigger, const std::string& filter);

    // At the end: what went wrong with the filter, or nothing.
    std::string finish();
    // What to say at the end.
    std::vector<std::string> lines_of(const LogFilter& totals) const;

  private:
    friend class RankFilter;
    bool needs_places() const { return process_ != nullptr || !pattern_.empty(); }
    bool matches(uint32_t place);

    uint64_t limit_ns_ = 0;
    std::string pattern_;
    std::unique_ptr<FilterProcess> process_;
    EventPlaces places_;
    std::vector<char> matches_;  // by place
    uint64_t first_ticks_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_EVENT_FILTERS_H_
