// What a filter decides about the records of a thread, such that calls stay nested: who drops an
// enter drops its leave, and of a call of MPI or I/O what it did.
#ifndef DWELL_REPORT_FILTER_FILTER_RECORDS_H_
#define DWELL_REPORT_FILTER_FILTER_RECORDS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "report/filter/ring_records.h"

namespace dwell {

struct FilterCounts {
    uint64_t dropped = 0;
    uint64_t changed = 0;
    uint64_t added = 0;
    uint64_t refused = 0;  // that found no room
};

class FilterNesting {
  public:
    // What becomes of a record; `around`: the place that its thread is in. May change the record,
    // and append others, which come behind it.
    struct Verdict {
        bool drops = false;
        bool changed = false;
    };
    using Decide =
        std::function<Verdict(RingRecord* record, uint32_t around, std::vector<RingRecord>* added)>;
    using IsCall = std::function<bool(uint32_t place)>;

    void filter(const RingRecord* records, size_t count, const Decide& decide,
                const IsCall& is_call, std::vector<RingRecord>* out, FilterCounts* counts);

  private:
    struct Open {
        uint32_t node;
        uint32_t place;
        bool is_dropped;
        bool is_call;
    };
    bool is_left_out(const Event& event);
    uint64_t end_unseen(uint64_t ended);

    std::vector<Open> open_;
    std::vector<RingRecord> moved_;  // a kMoved, for the next enter or leave
    uint32_t last_node_ = 0;         // left last
    bool last_was_dropped_ = false;
    std::vector<RingRecord> added_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_FILTER_RECORDS_H_
