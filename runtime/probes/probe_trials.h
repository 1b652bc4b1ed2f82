// Sampling of sites that cost too much even when only counted (probe_control.h); separate, so that
// tests can run it on a time of their own.
//
// The run is a sequence of gaps, each from one check of control at a probe of a timed site to the
// next. Sites that are off are counted in some gaps, the trials: of each `share` gaps that begin at
// the same site one is chosen at random when the first of them begins. Entries of sites that are
// off neither end a gap nor affect the choice, so each is seen with probability 1 / share, and
// counting it `share` times is an unbiased estimate.
#ifndef DWELL_RUNTIME_PROBES_PROBE_TRIALS_H_
#define DWELL_RUNTIME_PROBES_PROBE_TRIALS_H_

#include <stdint.h>

#include <algorithm>

namespace dwell {

class Trials {
  public:
    struct TrialGap {
        bool trial;
        uint32_t share;
    };

    // The first site goes off, because it cost `cost` while `earned` was permitted.
    void begin(uint64_t seed, uint64_t cost, uint64_t earned) {
        random_ = seed | 1;
        cost_ = static_cast<double>(cost);
        earned_ = static_cast<double>(earned + 1);
        share_ = 2;
    }
    // No site is off any more. Unfinished strata stay: ending them now would depend on what their
    // trials saw.
    void end() { share_ = 1; }
    bool are_on() const { return share_ > 1; }

    // Starts the next gap, which begins at the site `kind`.
    TrialGap next(uint64_t kind) {
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

    // A gap has ended in which counting cost `cost` while `earned` was permitted. Sets the share of
    // the next strata so that the cost stays permitted; `most` is the maximum credit. True when all
    // gaps may be counted.
    bool adapt(TrialGap gap, uint64_t cost, uint64_t earned, int64_t credit, int64_t most) {
        earned_ += static_cast<double>(earned);
        cost_ += static_cast<double>(cost) * gap.share;
        const double debt = -static_cast<double>(credit) / static_cast<double>(most);
        const double share = cost_ / earned_ * std::max(1.0, debt);
        share_ = share < kLargestShare ? static_cast<uint32_t>(share) + 2 : kLargestShare;
        if (earned_ > 8.0 * static_cast<double>(most)) {  // older gaps weigh less
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
        uint32_t left = 0;   // gaps left in the stratum
        uint32_t trial = 0;  // the trial is the gap at which `left` has this value
    };

    uint32_t share_ = 1;
    double cost_ = 0;    // estimated cost of counting all gaps
    double earned_ = 1;  // permitted in the same time
    uint64_t random_ = 1;
    Stratum strata_[1 << kStrataBits];
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_PROBE_TRIALS_H_
