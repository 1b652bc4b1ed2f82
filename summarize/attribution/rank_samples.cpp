// Assigns samples to ranks and threads; see rank_samples.h.
#include "summarize/attribution/rank_samples.h"

#include <tuple>

#include "summarize/model/profile_walk.h"

namespace dwell {

uint32_t Division::divided_by(uint32_t node, uint32_t outermost,
                              const std::vector<ProfileNode>& nodes) const {
    while (node != outermost && (!is_probed(nodes[node]) || unmeasured[node])) {
        node = nodes[node].parent;
    }
    return node;
}

void ThreadDivision::begin(uint32_t rank, uint32_t thread) {
    std::map<uint32_t, SampledShares> of_interval;
    std::map<uint32_t, SampledShares> inside;
    const std::vector<RankSample>& samples = division_->samples;
    for (; next_ < samples.size(); ++next_) {
        const RankSample& sample = samples[next_];
        if (std::tie(rank, thread) < std::tie(sample.rank, sample.thread)) break;
        if (sample.rank != rank || sample.thread != thread) continue;
        const uint32_t around = division_->around[sample.interval];
        SampledShares& shares = around == kNoNode
                                    ? of_interval[sample.interval]
                                    : inside[division_->divided_by(sample.node, around, nodes_)];
        shares.add(sample.node, sample.count);
    }
    replace(&division_->of_interval, of_interval);
    replace(&division_->inside, inside);
}

void ThreadDivision::replace(std::vector<SampledShares>* shares,
                             const std::map<uint32_t, SampledShares>& own) {
    for (const auto& [index, of_thread] : own) {
        if (of_thread.count() < kTellingSamples) continue;
        SampledShares& of_all = (*shares)[index];
        replaced_.emplace_back(&of_all, std::move(of_all));
        of_all = of_thread;
    }
}

void ThreadDivision::end() {
    for (auto& [place, of_all] : replaced_) *place = std::move(of_all);
    replaced_.clear();
}

}  // namespace dwell
