// How the computation of an interval is divided among procedures: as its samples were.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_SAMPLED_SHARES_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_SAMPLED_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// Fewer samples than these are chance, not shares.
constexpr uint64_t kTellingSamples = 10;
constexpr uint64_t kMostSamples = uint64_t{1} << 40;  // of one node: a damaged file may say more

class SampledShares {
  public:
    bool empty() const { return samples_.empty(); }
    void add(uint32_t node, uint64_t samples) {
        if (samples == 0) return;  // as behind a reset
        uint64_t& all = samples_[node];
        all += std::min(samples, kMostSamples - all);
    }

    void add(const SampledShares& other) {
        for (const auto& [node, samples] : other.samples_) add(node, samples);
    }

    uint64_t count() const {
        uint64_t all = 0;
        for (const auto& [node, samples] : samples_) all += samples;
        return all;
    }

    // Calls take(node, part) for each procedure; the parts add up to `total`.
    template <typename Take>
    void split(uint64_t total, Take take) const {
        const unsigned __int128 all = count();
        unsigned __int128 counted = 0;
        uint64_t given = 0;
        for (const auto& [node, samples] : samples_) {
            counted += samples;
            const auto until = static_cast<uint64_t>(total * counted / all);
            take(node, until - given);
            given = until;
        }
    }

    // The innermost node that all samples were taken in or below, and `other`.
    uint32_t common(uint32_t other, const std::vector<ProfileNode>& nodes) const;

    // Calls take(node, samples) for each.
    template <typename Take>
    void for_each(Take take) const {
        for (const auto& [node, samples] : samples_) take(node, samples);
    }

    // Those at nodes where, or below which, `other` has some too.
    SampledShares within(const SampledShares& other, const std::vector<ProfileNode>& nodes) const;
    // Times part / whole, rounded.
    SampledShares scaled(uint64_t part, uint64_t whole) const;

    // The innermost procedure in which, or below which, more than half of the samples were taken.
    // One of the system, such as exp(), counts for the procedure that called it.
    uint32_t hottest(const std::vector<ProfileNode>& nodes) const;
    // The same of what these are more than the mean of the others, all but these in `of_all`.
    // kNoNode: no procedure has more than half of that, or it is too little to tell.
    uint32_t hottest_beyond(const SampledShares& of_all, size_t others,
                            const std::vector<ProfileNode>& nodes) const;

  private:
    std::map<uint32_t, uint64_t> inclusive(const std::vector<ProfileNode>& nodes) const;

    std::map<uint32_t, uint64_t> samples_;  // by node of the profile
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_SAMPLED_SHARES_H_
