#include "summarize/sampled_shares.h"

namespace dwell {

uint32_t SampledShares::hottest(const std::vector<ProfileNode>& nodes) const {
    std::map<uint32_t, uint64_t> inclusive;
    uint64_t all = 0;
    for (const auto& [node, samples] : samples_) {
        all += samples;
        for (uint32_t at = node; at != 0; at = nodes[at].parent) inclusive[at] += samples;
    }
    // A child has a larger number than its parent, and no two siblings have more than half.
    uint32_t hottest = 0;
    uint32_t own = 0;
    for (const auto& [node, samples] : inclusive) {
        if (2 * samples <= all || nodes[node].kind == SiteKind::kCall) continue;
        hottest = node;
        if ((nodes[node].labels & kLabelSystem) == 0) own = node;
    }
    return own != 0 ? own : hottest;
}

// A parent has a smaller number than its children.
uint32_t SampledShares::common(uint32_t other, const std::vector<ProfileNode>& nodes) const {
    for (const auto& [node, samples] : samples_) {
        for (uint32_t at = node; at != other;) {
            if (at > other) {
                at = nodes[at].parent;
            } else {
                other = nodes[other].parent;
            }
        }
    }
    return other;
}

}  // namespace dwell
