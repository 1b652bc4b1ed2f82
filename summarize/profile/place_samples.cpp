// The steps of build_profile() that attribute computation: samples, sleep and intervals get the
// node of the profile that they count for.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "summarize/attribution/asleep.h"
#include "summarize/model/profile_walk.h"
#include "summarize/profile/profile_builder.h"

namespace dwell {

uint32_t ProfileBuilder::interval_of(uint32_t sample) const {
    uint32_t at = sample;
    while (at != 0 && !is_kind(merged_.nodes[at], SiteKind::kInterval)) {
        const uint32_t parent = merged_.nodes[at].parent;
        at = parent < at ? parent : 0;  // a greater index means damage
    }
    return at;
}

void ProfileBuilder::place_samples() {
    division_.of_interval.resize(merged_.nodes.size());
    division_.around.assign(merged_.nodes.size(), kNoNode);
    sampled_in_.assign(merged_.nodes.size(), kNoNode);
    without_path_.resize(merged_.nodes.size());
    owner_without_path_.assign(merged_.nodes.size(), 0);
    is_uncertain_.assign(merged_.nodes.size(), false);
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        if (!is_kind(merged_.nodes[i], SiteKind::kSample) || paths_.is_apart(i)) continue;
        const uint32_t interval = interval_of(i);
        const uint64_t samples = merged_.nodes[i].totals.count;
        if (interval == 0) continue;
        const SampledCallers callers = paths_.callers_of(i);
        if (callers == SampledCallers::kNone) {
            without_path_[interval].push_back({paths_.sampled_procedures(i), samples});
            continue;
        }
        const uint32_t in = tree_.add(i);
        sampled_in_[i] = in;
        division_.of_interval[interval].add(in, samples);
        if (callers == SampledCallers::kAll) continue;
        uint32_t outermost = in;
        while (outermost != 0 && profile_.nodes[outermost].parent != 0) {
            outermost = profile_.nodes[outermost].parent;
        }
        if (outermost != 0) profile_.nodes[outermost].labels |= kLabelCallersUnknown;
    }
}

// Finds probed nodes whose samples show more than twice the time that was measured, because most of
// their entries were only counted: that time is part of the own time of a node around them.
void ProfileBuilder::find_unmeasured() {
    const std::vector<ProfileNode>& nodes = profile_.nodes;
    std::vector<uint64_t> sampled_ns(nodes.size(), 0);
    std::vector<uint64_t> samples(nodes.size(), 0);
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const SampledShares& shares = division_.of_interval[i];
        if (shares.empty()) continue;
        shares.split(merged_.nodes[i].totals.time_ns,
                     [&](uint32_t node, uint64_t ns) { sampled_ns[node] += ns; });
        shares.for_each([&](uint32_t node, uint64_t count) { samples[node] += count; });
    }
    division_.unmeasured.assign(nodes.size(), false);
    // Children follow their parents.
    for (size_t i = nodes.size(); i-- > 1;) {
        sampled_ns[nodes[i].parent] += sampled_ns[i];
        samples[nodes[i].parent] += samples[i];
        const Totals& totals = nodes[i].totals;
        const bool partly =
            totals.untimed != 0 || totals.off_entries != 0 || totals.off_uncertain != 0;
        division_.unmeasured[i] = is_probed(nodes[i]) && partly && samples[i] >= kTellingSamples &&
                                  sampled_ns[i] > 2 * totals.time_ns;
    }
}

void ProfileBuilder::place_sleep() {
    asleep_in_.assign(merged_.nodes.size(), 0);
    asleep_ = asleep_samples(merged_, wait_paths_, profile_);
    for (const RankSample& sample : asleep_) asleep_in_[sample.interval] += sample.count;
}

void ProfileBuilder::add_intervals() {
    interval_owner_.assign(merged_.nodes.size(), kNoNode);
    interval_number_.assign(merged_.nodes.size(), kNoNode);
    booked_ns_.assign(profile_.nodes.size(), 0);
    IntervalOwners owners(merged_, &paths_, &lines_, tree_, profile_);
    std::map<std::array<uint32_t, 4>, uint32_t> numbers;
    const bool measured = has_probes(profile_);
    division_.inside.resize(profile_.nodes.size());
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        if (!is_kind(merged, SiteKind::kInterval)) continue;
        // Without MPI the whole run is one interval, directly in the program.
        const uint32_t to = merged.parent == 0 ? 0 : tree_.leaf_of(merged.parent);
        if (to == kNoNode) continue;
        const uint32_t left =
            merged.offset < merged_.nodes.size() ? static_cast<uint32_t>(merged.offset) : kNoNode;
        const uint32_t from = tree_.leaf_of(left);
        SampledShares& shares = division_.of_interval[i];
        const bool by_samples = !shares.empty();
        const uint64_t asleep = asleep_in_[i];
        IntervalOwner owner;
        uint32_t owned = 0;  // time of intervals without samples
        if (!by_samples || measured || asleep != 0 || !without_path_[i].empty()) {
            owner = owners.owner_of(left, merged.parent, merged.meet, without_path_[i]);
            uint64_t samples = by_samples ? asleep : 1;
            for (const SampledCode& code : without_path_[i]) samples += code.samples;
            owner_without_path_[i] = owned = owner.node;
            is_uncertain_[i] = owner.or_after;
            shares.add(owner.node, samples);
        }
        if (by_samples && 2 * asleep <= shares.count()) owner = {};
        owner.node = shares.hottest(profile_.nodes);
        interval_owner_[i] = owner.node;
        const auto [entry, is_new] =
            numbers.try_emplace({from, to, owner.node, owner.or_after ? 1u : 0u},
                                static_cast<uint32_t>(profile_.intervals.size()));
        interval_number_[i] = entry->second;
        if (is_new) {
            ProfileInterval interval;
            interval.from = from;
            interval.to = to;
            interval.booked_on = owner.node;
            interval.or_after = owner.or_after;
            interval.min_ns = UINT64_MAX;
            profile_.intervals.push_back(std::move(interval));
            possible_.emplace_back();
        }
        ProfileInterval& interval = profile_.intervals[entry->second];
        interval.count += merged.totals.count;
        interval.time_ns += merged.totals.time_ns;
        interval.min_ns = std::min(interval.min_ns, merged.totals.min_ns);
        interval.max_ns = std::max(interval.max_ns, merged.totals.max_ns);
        if (measured && by_samples) divide_inside(i, owned);
        shares.split(merged.totals.time_ns,
                     [this](uint32_t node, uint64_t ns) { booked_ns_[node] += ns; });
        PossibleNodes& possible = possible_[entry->second];
        if (is_new) possible = {owner.outermost, owner.passed_by};
        if (!is_new && possible.outermost != owner.outermost) possible.outermost = 0;
        if (!is_new && possible.passed_by != owner.passed_by) possible.passed_by.clear();
    }
}

// The measured part of an interval is known; the rest is divided by its samples. So the whole
// interval is attributed to the innermost measured node around it, `owner` or an outer one; that
// node and the nodes measured below it then divide their own time.
void ProfileBuilder::divide_inside(uint32_t interval, uint32_t owner) {
    SampledShares& shares = division_.of_interval[interval];
    const uint32_t around = shares.common(owner, profile_.nodes);
    shares.split(merged_.nodes[interval].totals.time_ns, [&](uint32_t node, uint64_t ns) {
        division_.inside[division_.divided_by(node, around, profile_.nodes)].add(node, ns);
    });
    shares = SampledShares();
    shares.add(around, 1);
    division_.around[interval] = around;
}

void ProfileBuilder::place_samples_of_ranks() {
    for (const MergedSamples& row : merged_.sample_rows) {
        if (row.node >= merged_.nodes.size()) continue;  // damaged
        if (!is_kind(merged_.nodes[row.node], SiteKind::kSample)) continue;
        const uint32_t interval = interval_of(row.node);
        if (paths_.is_apart(row.node) || interval_number_[interval] == kNoNode) continue;
        division_.samples.push_back({row.rank, row.thread, row.node, interval,
                                     node_of(row.node, interval), row.count, false});
    }
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads;  // by rank and interval
    for (const RankSample& sample : division_.samples) {
        threads.try_emplace({sample.rank, sample.interval}, sample.thread);
    }
    for (RankSample sample : asleep_) {
        if (interval_number_[sample.interval] == kNoNode) continue;
        const auto thread = threads.find({sample.rank, sample.interval});
        if (thread != threads.end()) sample.thread = thread->second;
        sample.node = owner_without_path_[sample.interval];
        sample.or_after = is_uncertain_[sample.interval];
        division_.samples.push_back(sample);
    }
    std::stable_sort(division_.samples.begin(), division_.samples.end(),
                     [](const RankSample& a, const RankSample& b) {
                         return std::tie(a.rank, a.thread) < std::tie(b.rank, b.thread);
                     });
}

// The node of the profile that a sample counts for.
uint32_t ProfileBuilder::node_of(uint32_t sample, uint32_t interval) const {
    const uint32_t in = sampled_in_[sample];
    return in != kNoNode ? in : owner_without_path_[interval];
}

namespace {

// Gives the lines of an interval of `late` ranks back to the interval of all as far as the other
// ranks have samples in them, too: what is left are the lines that made these ranks late. Nothing
// is given back where too little would be left.
template <typename Lines>
void keep_surplus(size_t late, size_t ranks, Lines* own, Lines* whole) {
    if (late >= ranks) return;
    Lines surplus;
    uint64_t left = 0;
    for (const auto& [line, samples] : *own) {
        const auto others = whole->find(line);
        const uint64_t mean = others == whole->end() ? 0 : others->second * late / (ranks - late);
        if (samples <= mean) continue;
        surplus[line] = samples - mean;
        left += samples - mean;
    }
    if (left < kTellingSamples) return;
    for (const auto& [line, samples] : *own) {
        const auto kept = surplus.find(line);
        const uint64_t back = samples - (kept == surplus.end() ? 0 : kept->second);
        if (back != 0) (*whole)[line] += back;
    }
    *own = std::move(surplus);
}

}  // namespace

void ProfileBuilder::add_samples() {
    using Line = std::tuple<uint32_t, std::string, std::string, int, bool>;
    std::vector<std::map<Line, uint64_t>> lines(profile_.intervals.size());
    std::map<uint32_t, std::map<uint32_t, uint64_t>> of_ranks;  // by sample: own interval of each
                                                                // rank
    std::map<uint32_t, std::set<uint32_t>> ranks;               // by own interval
    for (const RankSample& sample : division_.samples) {
        const uint32_t number = interval_number_[sample.interval];
        const uint32_t own = rank_intervals_.on_rank(number, sample.rank);
        if (own == number) continue;
        ranks[own].insert(sample.rank);
        const uint32_t owner = profile_.intervals[own].booked_on;
        if (is_around(profile_.nodes, owner, sample.node))
            of_ranks[sample.sample][own] += sample.count;
    }
    std::map<uint32_t, uint32_t> whole_of;  // by own interval
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        if (!is_kind(merged, SiteKind::kSample) || paths_.is_apart(i)) continue;
        const uint32_t interval = interval_of(i);
        const uint32_t number = interval_number_[interval];
        if (number == kNoNode) continue;
        const uint32_t node = node_of(i, interval);
        profile_.nodes[node].samples += merged.totals.count;
        SampledLine at = paths_.sampled_line(i);
        const Line line{node, std::move(at.function), std::move(at.file), at.line, at.system};
        uint64_t left = merged.totals.count;
        if (const auto own = of_ranks.find(i); own != of_ranks.end()) {
            for (const auto& [of_rank, samples] : own->second) {
                const uint64_t moved = std::min(left, samples);
                lines[of_rank][line] += moved;
                whole_of[of_rank] = number;
                left -= moved;
            }
        }
        if (left != 0) lines[number][line] += left;
    }
    for (const auto& [own, whole] : whole_of) {
        if (rank_intervals_.is_by_surplus(own)) {
            keep_surplus(ranks[own].size(), profile_.ranks.size(), &lines[own], &lines[whole]);
        }
    }
    for (size_t number = 0; number < lines.size(); ++number) {
        std::vector<SampledLine>& sorted = profile_.intervals[number].lines;
        for (const auto& [line, samples] : lines[number]) {
            const auto& [node, function, file, number_of_line, system] = line;
            sorted.push_back({function, file, number_of_line, samples, node, system});
        }
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.samples > b.samples; });
    }
}

}  // namespace dwell
