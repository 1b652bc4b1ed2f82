// Shortens estimates that exceed the time they lie in; see clamp_estimates.h.
#include "summarize/profile/clamp_estimates.h"

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// What encloses nodes with estimates: the program or a node with probes, including the own time of
// nodes without probes in between.
struct Around {
    uint64_t own_ns = 0;
    uint64_t estimated_ns = 0;  // sum over the nodes directly inside

    void fit(Totals* totals) const {
        if (estimated_ns <= own_ns) return;
        totals->estimated_ns = static_cast<uint64_t>(
            static_cast<unsigned __int128>(totals->estimated_ns) * own_ns / estimated_ns);
    }
};

// Sums the uncounted entries of each site over all its paths. A sum with too few observed entries
// is not shown as a number; a path with few entries casts no doubt on the other paths.
class OffEntries {
  public:
    explicit OffEntries(const std::vector<ProfileNode>& nodes) {
        for (const ProfileNode& node : nodes) {
            if (node.totals.off_entries == 0 && node.totals.off_uncertain == 0) continue;
            Totals& sum = sites_[site_of(node)];
            sum.off_entries += node.totals.off_entries;
            sum.off_uncertain += node.totals.off_uncertain;
        }
    }

    void settle(const ProfileNode& node, Totals* totals) const {
        if (totals->off_entries == 0 && totals->off_uncertain == 0) return;
        const auto site = sites_.find(site_of(node));
        const bool known = site != sites_.end() && off_is_known(site->second);
        if (!known) totals->off_entries = 0;
        totals->off_error = totals->off_entries != 0 ? totals->off_uncertain : 0;
        totals->off_uncertain = known ? 0 : 1;
    }

  private:
    using Place = std::tuple<SiteKind, std::string_view, std::string_view, uint32_t>;
    static Place site_of(const ProfileNode& node) {
        return {node.kind, node.name, node.file, node.line};
    }
    std::map<Place, Totals> sites_;
};

}  // namespace

void clamp_estimates(Profile* profile) {
    std::vector<ProfileNode>& nodes = profile->nodes;
    std::vector<uint32_t> host(nodes.size(), 0);
    std::vector<Around> around(nodes.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        const bool inside = i != 0 && !is_probed(nodes[nodes[i].parent]);
        if (i != 0) host[i] = inside ? host[nodes[i].parent] : nodes[i].parent;
        if (is_statement(nodes[i])) continue;
        around[i == 0 || is_probed(nodes[i]) ? i : host[i]].own_ns += nodes[i].computation_ns;
        if (i != 0) around[host[i]].estimated_ns += nodes[i].totals.estimated_ns;
    }
    const OffEntries off(nodes);
    // Parents precede their children, so the estimate of a parent is settled before it limits its
    // children.
    for (uint32_t i = 1; i < nodes.size(); ++i) {
        around[host[i]].fit(&nodes[i].totals);
        off.settle(nodes[i], &nodes[i].totals);
        const Totals& totals = nodes[i].totals;
        if (totals.off_uncertain != 0) nodes[i].labels |= kLabelAtLeast;
        ProfileNode& caller = nodes[nodes[i].parent];
        const bool called = nodes[i].kind == SiteKind::kProcedure && caller.kind == SiteKind::kCall;
        if (called && (totals.off_uncertain != 0 || totals.off_entries != 0)) {
            caller.labels |= kLabelAtLeast;
        }
        around[i].own_ns += nodes[i].totals.estimated_ns;
    }
    for (ProfileRow& row : profile->rows) {
        if (row.node == 0) continue;
        around[host[row.node]].fit(&row.totals);
        off.settle(nodes[row.node], &row.totals);
    }
}

}  // namespace dwell
