// How sites that cost too much even where they are only counted are sampled (probe_control.h), by
// itself, so that it is tested in a time of its own.
//
// The run is a row of gaps, from one look of control at the probes of timed sites to the next.
// What is off is counted in some of them, the trials: of every `share` gaps that begin at the same
// site one, chosen by chance when the first of them begins. No entry of what is off ends a gap or
// has a part in the choice, so each is seen with the probability 1 / share, whatever the program
// does, and counted `share` times the number that is expected is the true one.
#ifndef DWELL_RUNTIME_PROBES_PROBE_TRIALS_H_
#define DWELL_RUNTIME_PROBES_PROBE_TRIALS_H_

#include <stdint.h>

#include <algorithm>

namespace dwell {

class Trials {
  public:
    struct DroppedRun {
        bool trial;
        uint32_t share;
    };

    // Something is off from now on, as it took `cost` while `earned` was what it may.
    void begin(uint64_t seed, uint64_t cost, uint64_t earned) {
        random_ = seed | 1;
        cost_ = static_cast<double>(cost);
        earned_ = static_cast<double>(earned + 1);
        share_ = 2;
    }
    // Nothing is off any more. What goes on of strata is left as it is: whether they end now
    // depends on what their trials saw.
    void end() { share_ = 1; }
    bool are_on() const { return share_ > 1; }

    // The gap that begins at the site `kind`.
    DroppedRun next(uint64_t kind) {
        if (!are_on()) return {false, 1};
        Stratum& stratum = strata_[kind * 0x9e3779b97f4a7c15ull >> (64 - kStrataBits)];
        if (stratum.left == 0 || stratum.kind != kind) {
            random_ ^= random_ << 13;  // xorshift64
            random_ ^= random_ >> 7;
            random_ ^= random_ << 17;
            stratum = {kind, share_, share_, static_cast<uint32_t>((random_ >> 32) % share_)};
        }
        stratum.left -= 1;
        return {stratum.left == stratum.trial, stratum.share};
    }

    // A gap is over in which counting took `cost` and `earned` was what it may. The next strata
    // have as many trials as that allows, with `most` at once. True when all gaps may be counted.
    bool adapt(DroppedRun gap, uint64_t cost, uint64_t earned, int64_t credit, int64_t most) {
        earned_ += static_cast<double>(earned);
        cost_ += static_cast<double>(cost) * gap.share;
        const double debt = -static_cast<double>(credit) / static_cast<double>(most);
        const double share = cost_ / earned_ * std::max(1.0, debt);
        share_ = share < kLargestShare ? static_cast<uint32_t>(share) + 2 : kLargestShare;
        if (earned_ > 8.0 * static_cast<double>(most)) {  // what was long ago counts less
            earned_ /= 2;
            cost_ /= 2;
        }
        return share < 1 && credit > most / 4;
    }

  private:
    static constexpr uint32_t kLargestShare = 1024;
    static constexpr int kStrataBits = 6;
    struct Stratum {
        uint64_t kind = 0;
        uint32_t share = 0;
        uint32_t left = 0;   // gaps
        uint32_t trial = 0;  // where `left` is this
    };

    uint32_t share_ = 1;
    double cost_ = 0;    // that counting all would have had, about
    double earned_ = 1;  // meanwhile
    uint64_t random_ = 1;
    Stratum strata_[1 << kStrataBits];
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_PROBE_TRIALS_H_
