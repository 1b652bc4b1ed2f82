// Assigns metric counts to the nodes of the profile and adds them up; see metric_counts.h.
#include "summarize/profile/metric_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// The counts of each node.
using Counts = std::map<uint32_t, ProfileCounts>;

class CountsBuilder {
  public:
    CountsBuilder(const Merged& merged, const ProfileTree& tree,
                  const std::vector<uint32_t>& interval_owner, Profile* profile)
        : merged_(merged), tree_(tree), interval_owner_(interval_owner), profile_(profile) {}

    void add_names() {
        ProfileMetrics& metrics = profile_->metrics;
        for (uint32_t i = 0; i < merged_.metrics.size(); ++i) {
            const MergedMetric& metric = merged_.metrics[i];
            std::string name = merged_.text.data() + metric.name;
            if (metric.missing != 0) metrics.missing.push_back(name);
            if (metric.ranks == 0) continue;
            metrics.names.push_back(std::move(name));
            used_.push_back(i);
        }
        metrics.unwatched_threads = merged_.metrics_unwatched;
        metrics.lost_threads = merged_.metrics_lost;
        metrics.lost_ns = merged_.metrics_lost_ns;
        metrics.no_room_threads = merged_.metrics_no_room;
        metrics.left_out = merged_.metrics_left_out;
        metrics.read_ns = merged_.metric_read_ns;
        metrics.least_ns = merged_.metric_least_ns;
    }

    void add_sums() {
        Counts counts;
        for (const MergedCounts& from : merged_.counts) add(from, &counts);
        finish(&counts, &profile_->metrics.nodes);
    }

    void add_rows() {
        std::vector<const MergedCounts*> order;
        for (const MergedCounts& row : merged_.count_rows) order.push_back(&row);
        std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
            return std::tie(a->rank, a->thread) < std::tie(b->rank, b->thread);
        });
        Counts counts;
        for (size_t i = 0; i < order.size(); ++i) {
            add(*order[i], &counts);
            const bool is_last = i + 1 == order.size() || order[i + 1]->rank != order[i]->rank ||
                                 order[i + 1]->thread != order[i]->thread;
            if (!is_last) continue;
            rank_ = order[i]->rank;
            thread_ = order[i]->thread;
            finish(&counts, &profile_->metrics.rows);
            counts.clear();
        }
    }

  private:
    uint32_t node_of(uint32_t merged) const {
        if (merged < interval_owner_.size() && interval_owner_[merged] != kNoNode) {
            return interval_owner_[merged];
        }
        const uint32_t leaf = tree_.leaf_of(merged);
        return leaf == kNoNode ? 0 : leaf;
    }
    ProfileCounts& at(uint32_t node, Counts* counts) const {
        ProfileCounts& of_node = (*counts)[node];
        of_node.node = node;
        of_node.own.resize(used_.size());
        of_node.inclusive.resize(used_.size());
        return of_node;
    }
    void add(const MergedCounts& from, Counts* counts) const {
        ProfileCounts& of_node = at(node_of(from.node), counts);
        of_node.entries += from.entries;
        of_node.time_ns += from.time_ns;
        for (size_t i = 0; i < used_.size(); ++i) of_node.own[i] += from.values[used_[i]];
    }
    // Parents precede their children.
    void finish(Counts* counts, std::vector<ProfileCounts>* out) const {
        const std::vector<ProfileNode>& nodes = profile_->nodes;
        for (auto last = counts->rbegin(); last != counts->rend(); ++last) {
            ProfileCounts& of_node = last->second;
            for (size_t i = 0; i < used_.size(); ++i) of_node.inclusive[i] += of_node.own[i];
            if (last->first == 0) continue;
            ProfileCounts& parent = at(nodes[last->first].parent, counts);
            for (size_t i = 0; i < used_.size(); ++i) parent.inclusive[i] += of_node.inclusive[i];
        }
        for (auto& [node, of_node] : *counts) {
            of_node.rank = rank_;
            of_node.thread = thread_;
            out->push_back(std::move(of_node));
        }
    }

    const Merged& merged_;
    const ProfileTree& tree_;
    const std::vector<uint32_t>& interval_owner_;
    Profile* profile_;
    std::vector<uint32_t> used_;  // metrics of `merged_` that were counted
    uint32_t rank_ = 0;
    uint32_t thread_ = 0;
};

}  // namespace

void add_metrics(const Merged& merged, const ProfileTree& tree,
                 const std::vector<uint32_t>& interval_owner, Profile* profile) {
    CountsBuilder builder(merged, tree, interval_owner, profile);
    builder.add_names();
    if (profile->metrics.names.empty()) return;
    builder.add_sums();
    builder.add_rows();
}

const ProfileCounts* counts_of(const ProfileMetrics& metrics, uint32_t node) {
    const auto found =
        std::lower_bound(metrics.nodes.begin(), metrics.nodes.end(), node,
                         [](const ProfileCounts& a, uint32_t wanted) { return a.node < wanted; });
    return found != metrics.nodes.end() && found->node == node ? &*found : nullptr;
}

std::string_view metric_unit(std::string_view name) {
    const bool is_clock = name.find("TASK-CLOCK") != std::string_view::npos ||
                          name.find("TASK_CLOCK") != std::string_view::npos ||
                          name.find("CPU-CLOCK") != std::string_view::npos ||
                          name.find("CPU_CLOCK") != std::string_view::npos;
    return is_clock ? "ns" : "";
}

std::string counted_entries(const Profile& profile, uint32_t index) {
    const ProfileNode& node = profile.nodes[index];
    if (index == 0 || !(is_probed(node) || is_communication(node))) return {};
    const ProfileCounts* counts = counts_of(profile.metrics, index);
    const uint64_t read = counts == nullptr ? 0 : counts->entries;
    const Totals& totals = node.totals;
    if (read >= totals.count || totals.count == 0) return {};
    const bool is_short = timed_entries(totals) == 0 ||
                          mean_entry_ns(totals) < static_cast<double>(profile.metrics.least_ns);
    return fmt::format("{} of {} read{}", read, totals.count,
                       is_short ? ", the rest too short" : "");
}

}  // namespace dwell
