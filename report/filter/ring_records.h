// Records of a ring, one by one, and words again: what stands between rings and the log when events
// are filtered.
#ifndef DWELL_REPORT_FILTER_RING_RECORDS_H_
#define DWELL_REPORT_FILTER_RING_RECORDS_H_

#include <cstdint>
#include <vector>

#include "runtime/contract/event_layout.h"
#include "summarize/events/event_stream.h"

namespace dwell {

constexpr uint32_t kNoEventPlace = UINT32_MAX;

struct RingRecord {
    uint64_t number;  // of its first word since the thread began
    Event event;
    uint32_t place;     // where names_node()
    uint32_t mark = 0;  // one that a filter added: number of its name, from 1 on
};

// The node whose instance a record belongs to that may come after its end; 0: it does not.
inline uint64_t late_node(const Event& event) {
    if (is_measured(event.kind)) return event.what;
    return is_control(event, EventControl::kWaited) && event.more != 0 ? event.values[0] : 0;
}
// Not for users, but for who reads the log: never left out.
bool is_of_the_log(const Event& event);
// Behind such a record it is not known how long what is open has lasted, or what is open.
bool ends_instances(const Event& event);

class RingReader {
  public:
    // Appends the records of words, but for those before the first time that is known. `base`: the
    // time from which those of the words count where words are missing before; 0: not known.
    void read(uint64_t first_word, uint64_t base, const std::vector<uint64_t>& words,
              std::vector<RingRecord>* records);
    uint64_t next_word() const { return next_word_; }

  private:
    uint64_t next_word_ = 0;
    uint64_t base_ = 0;
    bool has_base_ = false;
};

// Words of records, with a time of their own at the beginning.
std::vector<uint64_t> words_of(const std::vector<RingRecord>& records);

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_RING_RECORDS_H_
