// Divides the computation of an interval among procedures in proportion to its samples.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_SAMPLED_SHARES_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_SAMPLED_SHARES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// With fewer samples the shares are chance.
constexpr uint64_t kTellingSamples = 10;
constexpr uint64_t kMostSamples = uint64_t{1} << 40;  // of one node: a damaged file may have more

class SampledShares {
  public:
    bool empty() const { return samples_.empty(); }
    void add(uint32_t node, uint64_t samples) {
        if (samples == 0) return;  // as after a reset
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

    // The innermost node that contains all samples and `other`.
    uint32_t common(uint32_t other, const std::vector<ProfileNode>& nodes) const;

    // Calls take(node, samples) for each node.
    template <typename Take>
    void for_each(Take take) const {
        for (const auto& [node, samples] : samples_) take(node, samples);
    }

    // The samples at nodes where `other` has samples at or below the node.
    SampledShares within(const SampledShares& other, const std::vector<ProfileNode>& nodes) const;
    // All shares multiplied by part / whole, rounded.
    SampledShares scaled(uint64_t part, uint64_t whole) const;

    // The innermost procedure with more than half of the samples in or below it. A system
    // procedure, such as exp(), counts for its caller.
    uint32_t hottest(const std::vector<ProfileNode>& nodes) const;
    // The same for the excess over the mean of the `others` other ranks (`of_all` minus these
    // samples). kNoNode: no procedure has more than half of the excess, or it is too small.
    uint32_t hottest_beyond(const SampledShares& of_all, size_t others,
                            const std::vector<ProfileNode>& nodes) const;

  private:
    std::map<uint32_t, uint64_t> inclusive(const std::vector<ProfileNode>& nodes) const;

    std::map<uint32_t, uint64_t> samples_;  // by node of the profile
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_SAMPLED_SHARES_H_
