// See rank_intervals.h.
#include "summarize/rank_intervals.h"

#include <algorithm>
#include <set>

#include "summarize/profile_walk.h"
#include "summarize/sampled_shares.h"

namespace dwell {
namespace {

struct OnRank {
    uint64_t count = 0;
    uint64_t time_ns = 0;
    SampledShares shares;
};
using Key = std::pair<uint32_t, uint32_t>;  // rank, interval

std::map<Key, OnRank> parts_of(const std::set<uint32_t>& ranks, const Merged& merged,
                               const std::vector<uint32_t>& numbers,
                               const std::vector<RankSample>& samples) {
    std::map<Key, OnRank> parts;
    for (const MergedRow& row : merged.rows) {
        if (ranks.count(row.rank) == 0 || row.node >= numbers.size()) continue;
        if (numbers[row.node] == kNoNode) continue;
        OnRank& part = parts[{row.rank, numbers[row.node]}];
        part.count += row.totals.count;
        part.time_ns += row.totals.time_ns;
    }
    for (const RankSample& sample : samples) {
        const auto part = parts.find({sample.rank, numbers[sample.interval]});
        if (part != parts.end()) part->second.shares.add(sample.node, sample.count);
    }
    return parts;
}

// By rank, what each node computed there, with all below.
std::map<uint32_t, std::vector<uint64_t>> computation_of(const std::set<uint32_t>& ranks,
                                                         const Profile& profile) {
    std::map<uint32_t, std::vector<uint64_t>> computed;
    if (!has_source_probes(profile) && !has_openmp(profile)) return computed;
    for (const ProfileRow& row : profile.rows) {
        if (ranks.count(row.rank) == 0) continue;
        std::vector<uint64_t>& of_node = computed[row.rank];
        of_node.resize(profile.nodes.size(), 0);
        if (computes(profile.nodes[row.node])) of_node[row.node] += row.computation_ns;
    }
    for (auto& [rank, of_node] : computed) {
        of_node = computation_below(profile, std::move(of_node));
    }
    return computed;
}

}  // namespace

void RankIntervals::divide(const Merged& merged, const std::vector<uint32_t>& numbers,
                           const std::vector<PossibleNodes>& possible,
                           const std::vector<RankSample>& samples, Profile* profile) {
    std::vector<ProfileInterval>& intervals = profile->intervals;
    std::set<uint32_t> ranks;
    for (const MergedBlame& cause : merged.causes) ranks.insert(cause.peer);
    const auto computed = computation_of(ranks, *profile);
    std::map<Key, uint32_t> of_owner;  // interval, owner
    for (const auto& [key, part] : parts_of(ranks, merged, numbers, samples)) {
        const auto [rank, number] = key;
        uint32_t owner = kNoNode;
        if (const auto of_rank = computed.find(rank); of_rank != computed.end()) {
            owner = measured_owner(*profile, possible[number], of_rank->second, part.time_ns);
        }
        if (owner == kNoNode && part.shares.count() >= kTellingSamples) {
            owner = part.shares.hottest(profile->nodes);
        }
        if (owner == kNoNode || owner == intervals[number].booked_on) continue;
        const auto [entry, is_new] =
            of_owner.try_emplace({number, owner}, static_cast<uint32_t>(intervals.size()));
        if (is_new) {
            ProfileInterval own;
            own.from = intervals[number].from;
            own.to = intervals[number].to;
            own.booked_on = owner;
            own.min_ns = intervals[number].min_ns;
            own.max_ns = intervals[number].max_ns;
            intervals.push_back(std::move(own));
        }
        ProfileInterval& whole = intervals[number];
        ProfileInterval& own = intervals[entry->second];
        const uint64_t count = std::min(whole.count, part.count);  // a damaged file may say more
        const uint64_t time_ns = std::min(whole.time_ns, part.time_ns);
        whole.count -= count;
        whole.time_ns -= time_ns;
        own.count += count;
        own.time_ns += time_ns;
        own_[{number, rank}] = entry->second;
    }
}

}  // namespace dwell
