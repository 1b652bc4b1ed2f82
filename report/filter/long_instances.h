// dwell run --events-longer: of a thread's records only those of long instances of sites. An
// instance is held until it has ended, and left out with what is in it, or has lasted longer than
// the limit: then it is passed on at once.
#ifndef DWELL_REPORT_FILTER_LONG_INSTANCES_H_
#define DWELL_REPORT_FILTER_LONG_INSTANCES_H_

#include <cstdint>
#include <vector>

#include "report/filter/ring_records.h"

namespace dwell {

constexpr size_t kMostHeldRecords = size_t{1} << 17;

class LongInstances {
  public:
    // `of_some_sites`: only instances of sites that match count, and what is outside of them is
    // left out. Else each instance counts, and what is outside of all is passed on.
    LongInstances(uint64_t limit_ticks, bool of_some_sites)
        : limit_ticks_(limit_ticks), of_some_sites_(of_some_sites) {}

    void add(const RingRecord& record, bool matches, std::vector<RingRecord>* out);
    // The lengths of what is open will not be known: it is passed on.
    void pass_all(std::vector<RingRecord>* out);

    bool holds() const { return !held_.empty(); }
    uint64_t first_held() const { return held_.front().number; }  // its number
    uint64_t too_short() const { return too_short_; }             // instances
    uint64_t left_out() const { return left_out_; }               // records
    uint64_t untold() const { return untold_; }  // passed on since too much was held

  private:
    enum class Fate : uint8_t { kHeld, kPassed, kOutside, kInside };
    struct Open {
        uint32_t node;
        uint64_t begin;
        size_t at;  // while it is held: of its first record in held_
        Fate fate;
    };

    void pass_long(uint64_t now, std::vector<RingRecord>* out);
    void pass_until(size_t end, std::vector<RingRecord>* out);
    void put(const RingRecord& record, std::vector<RingRecord>* out);
    void put_moved(std::vector<RingRecord>* out);
    uint64_t end_unseen(uint64_t ended);
    void leave_out(const Open& open);
    void enter(const RingRecord& record, bool matches, std::vector<RingRecord>* out);
    void leave(const RingRecord& record, bool matches, std::vector<RingRecord>* out);
    void add_late(const RingRecord& record, std::vector<RingRecord>* out);

    uint64_t limit_ticks_;
    bool of_some_sites_;
    std::vector<Open> open_;
    std::vector<RingRecord> held_;
    size_t undecided_ = 0;           // entries of open_ with kHeld
    size_t passed_ = 0;              // with kPassed
    std::vector<RingRecord> moved_;  // a kMoved, for the next enter or leave
    uint32_t last_node_ = 0;         // left last
    bool last_was_passed_ = false;
    uint64_t too_short_ = 0;
    uint64_t left_out_ = 0;
    uint64_t untold_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_LONG_INSTANCES_H_
