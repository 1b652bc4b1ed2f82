// Relates the clocks of two hosts (DESIGN 4). Pure functions, for remote_clocks.cpp and tests.
//
// In a two-way exchange the asking side knows when it asked and when the answer came; the answer
// holds the other clock's time in between. The error is at most half the round trip, so the
// quickest of many exchanges is the best.
#ifndef DWELL_RUNTIME_HOSTS_CLOCK_RELATION_H_
#define DWELL_RUNTIME_HOSTS_CLOCK_RELATION_H_

#include <stdint.h>

namespace dwell {

struct ClockExchange {
    uint64_t asked;     // own clock
    uint64_t answered;  // the other clock, which is the reference
    uint64_t received;  // own clock
};

// The same moment on two clocks, with an error of at most `bound` ticks.
struct ClockPair {
    uint64_t own;
    uint64_t reference;
    uint64_t bound;
};

inline ClockPair pair_of(const ClockExchange& exchange) {
    const uint64_t trip = exchange.received - exchange.asked;
    return {exchange.asked + trip / 2, exchange.answered, trip - trip / 2};
}

class ClockEstimate {
  public:
    void add(const ClockExchange& exchange) {
        if (exchange.received < exchange.asked) return;
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

// Rates closer than this are taken for equal. Measured over some milliseconds, as at the start,
// they vary by 10^-4 on a busy machine; processors of one kind differ by some 10^-6.
constexpr double kEqualRates = 1e-3;

// Linear relation from one moment on, in both directions. Differences stay exact where the rates
// are equal.
struct ClockRelation {
    uint64_t own = 0;
    uint64_t reference = 0;
    double excess = 0;  // reference ticks for one own tick, less 1

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

// How good the first measurement was, by a second one; own ticks.
struct ClockReview {
    int64_t drift;   // by how much the own clock fell behind the predicted time
    uint64_t bound;  // upper bound of the error between the two measurements
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
