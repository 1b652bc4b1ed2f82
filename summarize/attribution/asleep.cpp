// Estimates the samples of sleeping ranks; see asleep.h.
#include "summarize/attribution/asleep.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

bool is_kind(const MergedNode& node, SiteKind kind) {
    return node.kind == static_cast<uint8_t>(kind);
}

uint64_t count_of(double samples) {
    return static_cast<uint64_t>(std::min(samples, static_cast<double>(kMostSamples)));
}

RankSample samples_in(uint32_t interval, uint32_t rank, uint32_t thread, uint64_t count) {
    return {rank, thread, interval, interval, kNoNode, count, false};
}

void add_between_calls(const Merged& merged, const WaitPaths& paths, const Profile& profile,
                       std::vector<RankSample>* all) {
    uint32_t hz = 0;
    for (const ProfileRank& rank : profile.ranks) hz = std::max(hz, rank.sample_hz);
    for (const MergedStall& stall : merged.stalls) {
        const uint32_t interval = paths.interval_of(stall.path);
        const uint64_t unsampled_ns = stall.asleep_ns + stall.kernel_ns;
        const uint64_t samples = count_of(static_cast<double>(unsampled_ns) * 1e-9 * hz);
        if (interval >= merged.nodes.size() || samples == 0) continue;
        all->push_back(samples_in(interval, stall.rank, 0, samples));
    }
}

// The number of samples of each interval.
std::vector<uint64_t> sample_counts(const Merged& merged) {
    std::vector<uint64_t> counts(merged.nodes.size(), 0);
    std::vector<uint32_t> in(merged.nodes.size(), 0);
    for (uint32_t i = 1; i < merged.nodes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        if (is_kind(node, SiteKind::kInterval)) in[i] = i;
        if (!is_kind(node, SiteKind::kInterval) && node.parent < i) in[i] = in[node.parent];
        if (is_kind(node, SiteKind::kSample)) counts[in[i]] += node.totals.count;
    }
    return counts;
}

// For a program without MPI that is sampled from outside: the whole run is one interval, and its
// samples cover all of its processor time.
void add_without_mpi(const Merged& merged, const Profile& profile, std::vector<RankSample>* all) {
    std::map<uint32_t, uint64_t> on_ns;  // by rank
    for (const ProfileRank& rank : profile.ranks) {
        const bool whole = (rank.flags & kFileSerial) != 0 && !is_probed_serial(rank);
        if (whole && rank.usage_ns != 0) on_ns[rank.rank] = processor_ns(rank);
    }
    if (on_ns.empty()) return;
    const std::vector<uint64_t> counts = sample_counts(merged);
    for (const MergedRow& row : merged.rows) {
        const auto on = on_ns.find(row.rank);
        if (on == on_ns.end() || row.node >= merged.nodes.size()) continue;
        if (!is_kind(merged.nodes[row.node], SiteKind::kInterval)) continue;
        if (on->second == 0 || row.totals.time_ns <= on->second) continue;
        const double asleep =
            static_cast<double>(row.totals.time_ns - on->second) / static_cast<double>(on->second);
        const uint64_t samples = count_of(asleep * static_cast<double>(counts[row.node]) + 0.5);
        if (samples != 0) all->push_back(samples_in(row.node, row.rank, row.thread, samples));
    }
}

}  // namespace

std::vector<RankSample> asleep_samples(const Merged& merged, const WaitPaths& paths,
                                       const Profile& profile) {
    std::vector<RankSample> all;
    add_between_calls(merged, paths, profile, &all);
    add_without_mpi(merged, profile, &all);
    return all;
}

}  // namespace dwell
