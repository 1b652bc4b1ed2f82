// Computes the figures of single ranks and threads; see rank_figures.h. Threads are processed one
// after the other, touching only the nodes each of them has, so the time is linear in the rows and
// the depth of the tree.
#include "summarize/profile/rank_figures.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "summarize/merge/figures.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

struct Figures {
    Totals totals;
    bool touched;
    bool present;  // otherwise other nodes may divide their time with it
};

class ThreadRows {
  public:
    ThreadRows(Profile* profile, const std::vector<SampledShares>& inside)
        : profile_(profile),
          inside_(inside),
          settler_(profile->nodes, inside),
          figures_(profile->nodes.size()),
          times_(profile->nodes.size()) {}

    void add_measured(uint32_t node, const Totals& totals) {
        add_present(node);
        add_statement(totals, &figures_[node].totals);
        times_[node].measured_ns += totals.time_ns;
        times_[node].waiting_ns += totals.omp_wait_ns + totals.omp_idle_ns;
    }
    void add_computation(uint32_t node, uint64_t time_ns) {
        add_present(node);
        times_[node].booked_ns += time_ns;
    }

    // Writes the rows of this thread and clears its data.
    void finish(uint32_t rank, uint32_t thread) {
        std::sort(touched_.begin(), touched_.end());
        settler_.settle(touched_, &times_);
        for (auto index = touched_.rbegin(); index != touched_.rend(); ++index) {
            Totals& totals = figures_[*index].totals;
            totals.time_ns = times_[*index].total_ns;
            if (*index == 0) break;
            const uint32_t parent = profile_->nodes[*index].parent;
            if (!is_io(profile_->nodes[*index])) add_traffic(totals, &figures_[parent].totals);
            add_count_of_calls(profile_->nodes[*index], totals, &figures_[parent].totals);
        }
        for (const uint32_t index : touched_) {
            if (figures_[index].present || times_[index].total_ns != 0) {
                profile_->rows.push_back(
                    {index, rank, thread, figures_[index].totals, times_[index].own_ns});
            }
            figures_[index] = Figures{};
            times_[index] = NodeTime{};
        }
        touched_.clear();
    }

    const Overcount& overcount() const { return settler_.overcount(); }

  private:
    void add_present(uint32_t node) {
        touch(node);
        for (uint32_t at = node; !figures_[at].present; at = profile_->nodes[at].parent) {
            figures_[at].present = true;
            if (at < inside_.size()) {
                inside_[at].for_each([this](uint32_t below, uint64_t) { touch(below); });
            }
            if (at == 0) break;
        }
    }
    void touch(uint32_t node) {
        for (uint32_t at = node; !figures_[at].touched; at = profile_->nodes[at].parent) {
            figures_[at].touched = true;
            figures_[at].totals.min_ns = UINT64_MAX;
            touched_.push_back(at);
            if (at == 0) break;
        }
    }
    void add_count_of_calls(const ProfileNode& node, const Totals& totals, Totals* parent) const {
        const bool called = profile_->nodes[node.parent].kind == SiteKind::kCall;
        if (called && is_probed(node) && node.kind == SiteKind::kProcedure) {
            parent->count += totals.count;
        }
    }

    Profile* profile_;
    const std::vector<SampledShares>& inside_;
    TimeSettler settler_;
    std::vector<Figures> figures_;
    std::vector<NodeTime> times_;
    std::vector<uint32_t> touched_;
};

// Sets node times to the sums of the rows.
void take_times_of_rows(Profile* profile) {
    for (ProfileNode& node : profile->nodes) node.totals.time_ns = node.computation_ns = 0;
    for (const ProfileRow& row : profile->rows) {
        profile->nodes[row.node].totals.time_ns += row.totals.time_ns;
        profile->nodes[row.node].computation_ns += row.computation_ns;
    }
}

Overcount add_rows(const Merged& merged, const ProfileTree& tree, Division* division,
                   Profile* profile) {
    std::vector<uint32_t> order(merged.rows.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&merged](uint32_t a, uint32_t b) {
        const MergedRow& x = merged.rows[a];
        const MergedRow& y = merged.rows[b];
        return std::tie(x.rank, x.thread) < std::tie(y.rank, y.thread);
    });
    profile->rows.reserve(merged.rows.size());
    ThreadDivision of_thread(division, profile->nodes);
    ThreadRows thread_rows(profile, division->inside);
    bool first = true;
    for (size_t i = 0; i < order.size(); ++i) {
        const MergedRow& row = merged.rows[order[i]];
        if (first) of_thread.begin(row.rank, row.thread);
        const uint32_t leaf = tree.leaf_of(row.node);
        if (leaf != kNoNode) {
            thread_rows.add_measured(leaf, tree.figures_of(row.node, row.totals));
        } else if (row.node < merged.nodes.size()) {
            const SampledShares& shares = division->of_interval[row.node];
            shares.split(row.totals.time_ns, [&](uint32_t node, uint64_t ns) {
                thread_rows.add_computation(node, ns);
            });
        }
        const MergedRow* const next = i + 1 < order.size() ? &merged.rows[order[i + 1]] : nullptr;
        first = next == nullptr || next->rank != row.rank || next->thread != row.thread;
        if (!first) continue;
        thread_rows.finish(row.rank, row.thread);
        of_thread.end();
    }
    return thread_rows.overcount();
}

void set_extremes(ProfileNode* node, uint32_t rank, uint64_t time_ns) {
    if (node->ranks == 0 || time_ns < node->rank_min_ns) {
        node->rank_min_ns = time_ns;
        node->rank_min = rank;
    }
    if (node->ranks == 0 || time_ns > node->rank_max_ns) {
        node->rank_max_ns = time_ns;
        node->rank_max = rank;
    }
    ++node->ranks;
}

// The rows are sorted by rank; the threads of a rank are summed.
void extremes_from_rows(Profile* profile) {
    struct Open {
        uint32_t rank = kNoNode;
        uint64_t time_ns = 0;
    };
    std::vector<Open> open(profile->nodes.size());
    for (ProfileNode& node : profile->nodes) {
        node.ranks = 0;
        node.rank_min_ns = node.rank_max_ns = 0;
        node.rank_min = node.rank_max = 0;
    }
    for (const ProfileRow& row : profile->rows) {
        Open& of_node = open[row.node];
        if (of_node.rank != kNoNode && of_node.rank != row.rank) {
            set_extremes(&profile->nodes[row.node], of_node.rank, of_node.time_ns);
            of_node.time_ns = 0;
        }
        of_node.rank = row.rank;
        of_node.time_ns += row.totals.time_ns;
    }
    for (size_t i = 0; i < open.size(); ++i) {
        if (open[i].rank != kNoNode) {
            set_extremes(&profile->nodes[i], open[i].rank, open[i].time_ns);
        }
    }
}

void bounds_from_children(Profile* profile) {
    for (size_t i = profile->nodes.size(); i-- > 1;) {
        const ProfileNode& node = profile->nodes[i];
        ProfileNode& parent = profile->nodes[node.parent];
        parent.ranks = std::max(parent.ranks, node.ranks);
        if (node.rank_max_ns > parent.rank_max_ns) {
            parent.rank_max_ns = node.rank_max_ns;
            parent.rank_max = node.rank_max;
        }
    }
}

}  // namespace

void add_statement(const Totals& from, Totals* to) {
    Totals cut = from;
    cut.blocked_ns = std::min(from.blocked_ns, from.time_ns);
    cut.sync_ns = std::min(from.sync_ns, cut.blocked_ns);
    cut.late_sender_ns = std::min(from.late_sender_ns, cut.sync_ns);
    cut.late_receiver_ns = std::min(from.late_receiver_ns, cut.sync_ns - cut.late_sender_ns);
    cut.passed_on_ns = std::min(from.passed_on_ns, cut.sync_ns);
    add_totals(to, cut);
}

void add_traffic(const Totals& node, Totals* parent) {
    for (const Figure& figure : kFigures) {
        if (figure.of_parents) add_figure(figure, node, parent);
    }
}

void add_rank_figures(const Merged& merged, const ProfileTree& tree, Division* division,
                      Profile* profile, Overcount* overcount) {
    if (merged.rows.empty()) {
        bounds_from_children(profile);
        return;
    }
    const Overcount of_rows = add_rows(merged, tree, division, profile);
    if (has_probes(*profile) || !division->samples.empty()) {
        take_times_of_rows(profile);
        *overcount = of_rows;
    }
    extremes_from_rows(profile);
}

}  // namespace dwell
