// See bound_estimates.h.
#include "summarize/bound_estimates.h"

#include <vector>

#include "summarize/profile_walk.h"

namespace dwell {
namespace {

// What lies around nodes with estimates: the program itself or a node with probes, with the own
// time of what has none between it and them.
struct Around {
    uint64_t own_ns = 0;
    uint64_t estimated_ns = 0;  // of all that lies in it directly

    uint64_t fitting(uint64_t amount) const {
        if (estimated_ns <= own_ns) return amount;
        return static_cast<uint64_t>(static_cast<unsigned __int128>(amount) * own_ns /
                                     estimated_ns);
    }
    void fit(Totals* totals) const {
        totals->estimated_ns = fitting(totals->estimated_ns);
        totals->off_entries = fitting(totals->off_entries);
    }
};

}  // namespace

void bound_estimates(Profile* profile) {
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
    // Parents stand before their children: what is estimated for them is room for those.
    for (uint32_t i = 1; i < nodes.size(); ++i) {
        around[host[i]].fit(&nodes[i].totals);
        around[i].own_ns += nodes[i].totals.estimated_ns;
    }
    for (ProfileRow& row : profile->rows) {
        if (row.node != 0) around[host[row.node]].fit(&row.totals);
    }
}

}  // namespace dwell
