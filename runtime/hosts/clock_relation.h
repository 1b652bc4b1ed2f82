// The clocks of two hosts: how the ticks of one are told in those of the other (DESIGN 4). Pure
// functions, for tests and for remote_clocks.cpp.
//
// Of a two-way exchange the asker knows when it asked and when the answer came; the answer says
// what the other clock showed between. Whatever the ways took, the two moments lie no further apart
// than half the round trip: so the quickest of many exchanges tells most.
#ifndef DWELL_RUNTIME_HOSTS_CLOCK_RELATION_H_
#define DWELL_RUNTIME_HOSTS_CLOCK_RELATION_H_

#include <stdint.h>

namespace dwell {

struct ClockExchange {
    uint64_t asked;          // of the own clock
    uint64_t sent_stamp;     // of the other one, which is the reference
    uint64_t matched_stamp;  // of the own clock
};

// Two moments that are the same, but for `bound` ticks.
struct ClockPair {
    uint64_t own;
    uint64_t reference;
    uint64_t bound;
};

inline ClockPair pair_of(const ClockExchange& exchange) {
    const uint64_t trip = exchange.matched_stamp - exchange.asked;
    return {exchange.asked + trip / 2, exchange.sent_stamp, trip - trip / 2};
}

class ClockEstimate {
  public:
    void add(const ClockExchange& exchange) {
        if (exchange.matched_stamp < exchange.asked) return;
        const ClockPair pair = pair_of(exchange);
        if (known_ && pair.bound >= best_.bound) return;
        best_ = pair;
        known_ = true;
    }
    bool known() const { return known_; }
    const ClockPair& best() const { return best_; }

  private:
    ClockPair best_{};
    bool known_ = false;
};

// Rates that differ by less are taken for equal: measured over some milliseconds, as they are at
// the start, they differ by 10^-4 from one time to the next on a busy machine, and processors of
// one kind by some 10^-6.
constexpr double kEqualRates = 1e-3;

// From one moment onwards, and back. Differences stay whole numbers where the rates are equal.
struct ClockRelation {
    uint64_t own = 0;
    uint64_t reference = 0;
    double excess = 0;  // ticks of the reference for one of its own, less 1

    uint64_t to_reference(uint64_t ticks) const {
        const auto since = static_cast<int64_t>(ticks - own);
        return reference + static_cast<uint64_t>(since + scaled(since, excess));
    }
    uint64_t to_own(uint64_t ticks) const {
        const auto since = static_cast<int64_t>(ticks - reference);
        return own + static_cast<uint64_t>(since - scaled(since, excess / (1 + excess)));
    }

  private:
    static int64_t scaled(int64_t ticks, double by) {
        return by == 0 ? 0 : static_cast<int64_t>(static_cast<double>(ticks) * by);
    }
};

inline ClockRelation relation_at(const ClockPair& pair, uint64_t own_rate,
                                 uint64_t reference_rate) {
    const double excess = static_cast<double>(reference_rate) / static_cast<double>(own_rate) - 1;
    const bool equal = excess < kEqualRates && excess > -kEqualRates;
    return {pair.own, pair.reference, equal ? 0 : excess};
}

// What a second measurement says of the first, in own ticks.
struct ClockReview {
    int64_t drift;   // by how much the own clock fell behind what the relation foretold
    uint64_t bound;  // no time between the two measurements was told more wrongly
};
inline ClockReview review(const ClockRelation& relation, const ClockPair& start,
                          const ClockPair& end) {
    const auto drift = static_cast<int64_t>(relation.to_own(end.reference) - end.own);
    const auto apart = static_cast<uint64_t>(drift < 0 ? -drift : drift);
    const uint64_t least = start.bound > end.bound ? start.bound : end.bound;
    return {drift, apart + least};
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_CLOCK_RELATION_H_
