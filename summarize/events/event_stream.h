// The records of one thread in an event log, in the order in which they were written, with whole
// times.
#ifndef DWELL_SUMMARIZE_EVENTS_EVENT_STREAM_H_
#define DWELL_SUMMARIZE_EVENTS_EVENT_STREAM_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/contract/event_layout.h"
#include "summarize/events/log_set.h"

namespace dwell {

struct Event {
    uint64_t time;  // virtual ticks
    EventKind kind;
    uint32_t what;
    uint32_t more;  // further words
    std::array<uint64_t, kMostMore> values;
};
inline bool is_control(const Event& event, EventControl what) {
    return event.kind == EventKind::kControl && event.what == static_cast<uint32_t>(what);
}

// Records that found no room in a ring, by EventLoss.
struct LostRecords {
    std::array<uint64_t, kEventLosses> of{};

    void add(const uint64_t* lost, uint32_t kinds = kEventLosses);
    void add(const LostRecords& lost) { add(lost.of.data()); }
    uint64_t all() const;
};
inline const LostRecords& larger(const LostRecords& a, const LostRecords& b) {
    return a.all() < b.all() ? b : a;
}

// Of the n-th message that a rank sends to another one with a communicator and tag: the same at
// both ends.
uint64_t message_number(uint32_t from, uint32_t to, uint64_t comm_and_tag, uint64_t n);

// Whether its kind is one of this version.
bool is_known(const Event& event);
// Of a node, perhaps after it was left.
inline bool is_measured(EventKind kind) {
    return kind == EventKind::kMetric || kind == EventKind::kSample;
}
inline bool names_node(EventKind kind) {
    return kind == EventKind::kEnter || kind == EventKind::kLeave || kind == EventKind::kMark ||
           is_measured(kind);
}

// Reads the record at words[*at] but for its time, and moves *at behind it. False: it is a filler,
// or the rest of a record.
inline bool read_record(const std::vector<uint64_t>& words, size_t* at, Event* event) {
    const uint64_t word = words[(*at)++];
    event->kind = event_kind(word);
    event->what = what_of_event(word);
    event->more = 0;
    for (; *at != words.size() && event_kind(words[*at]) == EventKind::kMore; ++*at) {
        if (event->more != kMostMore) event->values[event->more++] = value_of_more(words[*at]);
    }
    return event->kind != EventKind::kFiller && event->kind != EventKind::kMore;
}

class EventStream {
  public:
    // Both the thread and its logs must live as long as this object.
    explicit EventStream(const SetThread* thread) : thread_(thread) {}

    // From the first record again.
    void rewind();
    // False at the end. Before the first time that is known, records are skipped.
    bool next(Event* event);

    uint64_t words() const { return words_read_; }  // of blocks, up to the one being read
    uint64_t lost() const { return lost_; }         // words missing between blocks
    uint64_t skipped() const { return skipped_; }   // words of records without a time
    uint32_t damaged() const { return damaged_; }   // blocks

  private:
    bool next_block();

    const SetThread* thread_;
    size_t block_ = 0;
    std::vector<uint64_t> words_;
    size_t at_ = 0;
    uint64_t next_word_ = 0;
    uint64_t words_read_ = 0;
    uint64_t base_ = 0;
    bool has_base_ = false;
    uint64_t lost_ = 0;
    uint64_t skipped_ = 0;
    uint32_t damaged_ = 0;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_EVENTS_EVENT_STREAM_H_
