// Finds procedures by their share of samples; see sampled_shares.h.
#include "summarize/attribution/sampled_shares.h"

namespace dwell {

std::map<uint32_t, uint64_t> SampledShares::inclusive(const std::vector<ProfileNode>& nodes) const {
    std::map<uint32_t, uint64_t> inclusive;
    for (const auto& [node, samples] : samples_) {
        for (uint32_t at = node; at != 0; at = nodes[at].parent) inclusive[at] += samples;
    }
    return inclusive;
}

SampledShares SampledShares::within(const SampledShares& other,
                                    const std::vector<ProfileNode>& nodes) const {
    SampledShares shares;
    const std::map<uint32_t, uint64_t> around = other.inclusive(nodes);
    for (const auto& [node, samples] : samples_) {
        if (around.count(node) != 0) shares.add(node, samples);
    }
    return shares;
}

SampledShares SampledShares::scaled(uint64_t part, uint64_t whole) const {
    SampledShares shares;
    if (whole == 0) return shares;
    const double factor = static_cast<double>(part) / static_cast<double>(whole);
    for (const auto& [node, samples] : samples_) {
        shares.add(node, static_cast<uint64_t>(static_cast<double>(samples) * factor + 0.5));
    }
    return shares;
}

uint32_t SampledShares::hottest(const std::vector<ProfileNode>& nodes) const {
    const uint64_t all = count();
    // A child has a greater number than its parent, and of siblings at most one has more than half.
    uint32_t hottest = 0;
    uint32_t own = 0;
    for (const auto& [node, samples] : inclusive(nodes)) {
        if (2 * samples <= all || nodes[node].kind == SiteKind::kCall) continue;
        hottest = node;
        if ((nodes[node].labels & kLabelSystem) == 0) own = node;
    }
    return own != 0 ? own : hottest;
}

uint32_t SampledShares::hottest_beyond(const SampledShares& of_all, size_t others,
                                       const std::vector<ProfileNode>& nodes) const {
    const std::map<uint32_t, uint64_t> all = of_all.inclusive(nodes);
    const auto beyond_mean = [others](uint64_t own, uint64_t of_all_ranks) {
        return static_cast<double>(own) -
               static_cast<double>(of_all_ranks - own) / static_cast<double>(others);
    };
    const double whole = beyond_mean(count(), of_all.count());
    constexpr uint64_t kTelling = kTellingSamples / 2;  // a smaller sum allows no better choice
    if (whole < static_cast<double>(kTelling)) return kNoNode;
    // Some shares may be below the mean, so several siblings may have more than half.
    const std::map<uint32_t, uint64_t> own = inclusive(nodes);
    uint32_t found = kNoNode;
    for (uint32_t at = 0, next = 0; next != kNoNode; at = next) {
        if (at != 0 && nodes[at].kind != SiteKind::kCall &&
            (nodes[at].labels & kLabelSystem) == 0) {
            found = at;
        }
        next = kNoNode;
        double most = whole / 2;
        for (const auto& [node, samples] : own) {
            if (nodes[node].parent != at) continue;
            const double beyond = beyond_mean(samples, all.at(node));
            if (beyond <= most) continue;
            most = beyond;
            next = node;
        }
    }
    return found;
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
