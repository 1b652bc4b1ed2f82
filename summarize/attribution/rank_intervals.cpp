// Divides intervals by rank; see rank_intervals.h.
#include "summarize/attribution/rank_intervals.h"

#include <algorithm>
#include <set>

#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

struct Part {
    uint64_t count = 0;
    uint64_t time_ns = 0;
    SampledShares shares;
    uint32_t uncertain = kNoNode;  // the owner, if it may have returned meanwhile
};
using Key = std::pair<uint32_t, uint32_t>;  // rank, interval

class OwnersOnRanks {
  public:
    OwnersOnRanks(const Merged& merged, const std::vector<uint32_t>& numbers,
                  const std::vector<PossibleNodes>& possible, const Profile& profile)
        : merged_(merged),
          numbers_(numbers),
          possible_(possible),
          profile_(profile),
          others_(profile.ranks.size() - 1),
          of_all_(profile.intervals.size()),
          ranks_with_(profile.intervals.size()) {}

    void add_causes(const WaitPaths& paths);
    void add_parts(const std::vector<RankSample>& samples);
    void add_computation();
    // Call when everything is added.
    void add_counterparts();

    const std::map<Key, Part>& parts() const { return parts_; }
    // kNoNode: unknown.
    struct Owner {
        uint32_t node = kNoNode;
        bool by_surplus = false;  // it explains the waiting by what the rank computed beyond others
    };
    Owner owner_of(const Key& key, const Part& part) const;

  private:
    uint64_t beyond_mean(uint64_t own, uint64_t of_all) const {
        const uint64_t mean = of_all > own ? (of_all - own) / others_ : 0;
        return own > mean ? own - mean : 0;
    }
    bool is_had_by_all(uint32_t number) const { return ranks_with_[number] > others_; }
    SampledShares elsewhere(const std::set<uint32_t>& had) const;
    SampledShares with_counterparts(const Key& key, const Part& part) const;
    // Samples may show a procedure below the measured owner.
    uint32_t inner_of(uint32_t owner, uint32_t sampled) const {
        const bool inner = sampled != kNoNode && is_around(profile_.nodes, owner, sampled);
        return inner ? sampled : owner;
    }
    uint32_t owner_beyond(const Key& key, const Part& part) const;
    uint32_t owner_of_most(const Key& key, const Part& part) const;

    const Merged& merged_;
    const std::vector<uint32_t>& numbers_;
    const std::vector<PossibleNodes>& possible_;
    const Profile& profile_;
    const uint64_t others_;  // number of other ranks, for each rank
    std::set<uint32_t> late_;
    std::map<Key, uint64_t> waited_ns_;  // waiting of all other ranks
    std::map<Key, Part> parts_;          // of ranks that others waited for
    std::vector<Part> of_all_;           // by interval
    std::vector<uint64_t> ranks_with_;   // by interval
    // Other ranks' computation in intervals that a late rank does not have. Its counterpart are the
    // late rank's intervals that some ranks do not have, which together have as many samples.
    struct Counterparts {
        SampledShares shares;
        uint64_t own = 0;
    };
    std::map<uint32_t, Counterparts> counterparts_;  // by late rank
    // By late rank: computation at and below each node, beyond the mean of the other ranks.
    std::map<uint32_t, std::vector<uint64_t>> computed_;
    std::map<uint32_t, std::vector<uint64_t>> beyond_;
};

void OwnersOnRanks::add_causes(const WaitPaths& paths) {
    for (const MergedCause& cause : merged_.causes) {
        late_.insert(cause.peer);
        const uint32_t interval = paths.interval_of(cause.group);
        if (interval >= numbers_.size()) continue;
        waited_ns_[{cause.peer, numbers_[interval]}] += cause.time_ns;
    }
}

void OwnersOnRanks::add_parts(const std::vector<RankSample>& samples) {
    std::set<Key> had;
    for (const MergedRow& row : merged_.rows) {
        if (row.node >= numbers_.size() || numbers_[row.node] == kNoNode) continue;
        of_all_[numbers_[row.node]].time_ns += row.totals.time_ns;
        const bool is_first = had.insert({row.rank, numbers_[row.node]}).second;
        if (is_first) ++ranks_with_[numbers_[row.node]];
        if (late_.count(row.rank) == 0) continue;
        Part& part = parts_[{row.rank, numbers_[row.node]}];
        part.count += row.totals.count;
        part.time_ns += row.totals.time_ns;
    }
    for (const RankSample& sample : samples) {
        const uint32_t number = numbers_[sample.interval];
        of_all_[number].shares.add(sample.node, sample.count);
        const auto part = parts_.find({sample.rank, number});
        if (part == parts_.end()) continue;
        part->second.shares.add(sample.node, sample.count);
        if (sample.or_after) part->second.uncertain = sample.node;
    }
}

SampledShares OwnersOnRanks::elsewhere(const std::set<uint32_t>& had) const {
    SampledShares shares;
    for (uint32_t number = 0; number < of_all_.size(); ++number) {
        if (had.count(number) == 0) shares.add(of_all_[number].shares);
    }
    return shares;
}

void OwnersOnRanks::add_counterparts() {
    std::map<uint32_t, std::set<uint32_t>> had;
    std::map<uint32_t, SampledShares> own;
    for (const auto& [key, part] : parts_) {
        had[key.first].insert(key.second);
        if (!is_had_by_all(key.second)) own[key.first].add(part.shares);
    }
    std::map<std::set<uint32_t>, SampledShares> of_others;  // most ranks have the same intervals
    for (const auto& [rank, of_rank] : own) {
        const auto [others, is_new] = of_others.try_emplace(had[rank]);
        if (is_new) others->second = elsewhere(had[rank]);
        counterparts_[rank] = {others->second.within(of_rank, profile_.nodes), of_rank.count()};
    }
}

// Ranks that do the same work between different calls (one sends what the other receives) have
// their samples in different intervals.
SampledShares OwnersOnRanks::with_counterparts(const Key& key, const Part& part) const {
    SampledShares all = of_all_[key.second].shares;
    const auto known = counterparts_.find(key.first);
    if (is_had_by_all(key.second) || known == counterparts_.end()) return all;
    all.add(known->second.shares.scaled(part.shares.count(), known->second.own));
    return all;
}

void OwnersOnRanks::add_computation() {
    if (!has_source_probes(profile_) && !has_openmp(profile_)) return;
    std::vector<uint64_t> all_computed(profile_.nodes.size(), 0);
    for (const ProfileRow& row : profile_.rows) {
        if (!computes(profile_.nodes[row.node])) continue;
        all_computed[row.node] += row.computation_ns;
        if (late_.count(row.rank) == 0) continue;
        std::vector<uint64_t>& of_node = computed_[row.rank];
        of_node.resize(profile_.nodes.size(), 0);
        of_node[row.node] += row.computation_ns;
    }
    all_computed = computation_below(profile_, std::move(all_computed));
    for (auto& [rank, of_node] : computed_) {
        of_node = computation_below(profile_, std::move(of_node));
        if (others_ == 0) continue;
        std::vector<uint64_t>& beyond = beyond_[rank] = of_node;
        for (size_t i = 0; i < beyond.size(); ++i) {
            beyond[i] = beyond_mean(beyond[i], all_computed[i]);
        }
    }
}

OwnersOnRanks::Owner OwnersOnRanks::owner_of(const Key& key, const Part& part) const {
    const uint32_t owner = owner_beyond(key, part);
    if (owner != kNoNode) return {owner, true};
    return {owner_of_most(key, part), false};
}

uint32_t OwnersOnRanks::owner_beyond(const Key& key, const Part& part) const {
    const auto [rank, number] = key;
    const auto waited = waited_ns_.find(key);
    if (waited == waited_ns_.end() || others_ == 0) return kNoNode;
    const uint64_t least_ns = waited->second / others_ / 2;
    const uint64_t beyond_ns = beyond_mean(part.time_ns, of_all_[number].time_ns);
    if (beyond_ns < least_ns) return kNoNode;
    uint32_t owner = kNoNode;
    if (const auto of_rank = beyond_.find(rank); of_rank != beyond_.end()) {
        const uint64_t measured_ns =
            possible_computation(profile_, possible_[number], of_rank->second);
        const uint64_t most_ns = std::min(beyond_ns, measured_ns);
        if (most_ns >= least_ns) {
            owner = measured_owner(profile_, possible_[number], of_rank->second, most_ns);
        }
    }
    const SampledShares all = with_counterparts(key, part);
    const uint32_t sampled = part.shares.hottest_beyond(all, others_, profile_.nodes);
    if (owner != kNoNode) return inner_of(owner, sampled);
    const uint64_t own = part.shares.count();
    if (!is_had_by_all(number) && own != 0) {
        const uint64_t each_ns = part.time_ns / own;
        if (each_ns * beyond_mean(own, all.count()) < least_ns) return kNoNode;
    }
    return sampled;
}

uint32_t OwnersOnRanks::owner_of_most(const Key& key, const Part& part) const {
    const auto [rank, number] = key;
    uint32_t owner = kNoNode;
    if (const auto of_rank = computed_.find(rank); of_rank != computed_.end()) {
        owner = measured_owner(profile_, possible_[number], of_rank->second, part.time_ns);
    }
    if (part.shares.count() < kTellingSamples) return owner;
    const uint32_t sampled = part.shares.hottest(profile_.nodes);
    return owner != kNoNode ? inner_of(owner, sampled) : sampled;
}

}  // namespace

void RankIntervals::divide(const Merged& merged, const WaitPaths& paths,
                           const std::vector<uint32_t>& numbers,
                           const std::vector<PossibleNodes>& possible,
                           const std::vector<RankSample>& samples, Profile* profile) {
    if (profile->ranks.empty()) return;
    std::vector<ProfileInterval>& intervals = profile->intervals;
    OwnersOnRanks owners(merged, numbers, possible, *profile);
    owners.add_causes(paths);
    owners.add_parts(samples);
    owners.add_computation();
    owners.add_counterparts();
    std::map<Key, uint32_t> of_owner;  // interval, owner
    for (const auto& [key, part] : owners.parts()) {
        const auto [rank, number] = key;
        const auto [owner, by_surplus] = owners.owner_of(key, part);
        if (owner == kNoNode) continue;
        // With the same owner its lines may still be others.
        if (owner == intervals[number].booked_on && !by_surplus) continue;
        const auto [entry, is_new] =
            of_owner.try_emplace({number, owner}, static_cast<uint32_t>(intervals.size()));
        if (is_new) {
            ProfileInterval own;
            own.from = intervals[number].from;
            own.to = intervals[number].to;
            own.booked_on = owner;
            own.or_after = owner == part.uncertain;
            own.min_ns = intervals[number].min_ns;
            own.max_ns = intervals[number].max_ns;
            intervals.push_back(std::move(own));
        }
        ProfileInterval& whole = intervals[number];
        ProfileInterval& own = intervals[entry->second];
        const uint64_t count = std::min(whole.count, part.count);  // a damaged file may have more
        const uint64_t time_ns = std::min(whole.time_ns, part.time_ns);
        whole.count -= count;
        whole.time_ns -= time_ns;
        own.count += count;
        own.time_ns += time_ns;
        own_[{number, rank}] = entry->second;
        if (by_surplus) by_surplus_.insert(entry->second);
    }
}

}  // namespace dwell
