// See measured_owner.h.
#include "summarize/measured_owner.h"

#include <algorithm>

#include "runtime/omp_constructs.h"
#include "summarize/profile_walk.h"

namespace dwell {
namespace {

// By probes, or a region of OpenMP.
bool is_measured(const ProfileNode& node) {
    if (is_openmp(node)) return is_omp_region(node.call);
    return is_probed(node) && node.kind != SiteKind::kMarker;
}

bool computes(const ProfileNode& node) {
    return !is_statement(node) &&
           !(is_openmp(node) && node.call == static_cast<uint16_t>(OmpConstruct::kIdle));
}

}  // namespace

void name_measured_owners(const std::vector<PossibleNodes>& possible, Profile* profile) {
    const std::vector<ProfileNode>& nodes = profile->nodes;
    if (!has_source_probes(*profile) && !has_openmp(*profile)) return;
    // Children stand behind their parents.
    std::vector<uint64_t> computation_ns(nodes.size(), 0);
    for (size_t i = nodes.size(); i-- > 0;) {
        if (computes(nodes[i])) computation_ns[i] += nodes[i].computation_ns;
        if (i != 0) computation_ns[nodes[i].parent] += computation_ns[i];
    }
    const auto is_around = [&nodes](uint32_t node, uint32_t at) {
        while (at != kNoNode && at != node) at = nodes[at].parent;
        return at == node;
    };
    for (size_t i = 0; i < profile->intervals.size(); ++i) {
        ProfileInterval& interval = profile->intervals[i];
        const auto possible_ns = [&](uint32_t node) {
            uint64_t ns = computation_ns[node];
            for (const uint32_t other : possible[i].passed_by) {
                if (is_around(node, other)) ns -= computation_ns[other];
            }
            return ns;
        };
        const uint64_t all_ns = possible_ns(possible[i].outermost);
        const auto holds_most = [&](uint32_t node) {
            return 2 * (all_ns - possible_ns(node)) < interval.time_ns;
        };
        uint32_t owner = kNoNode;
        for (uint32_t at = possible[i].outermost; at != kNoNode && holds_most(at);) {
            if (is_measured(nodes[at])) owner = at;
            const std::vector<uint32_t>& parts = nodes[at].children;
            const auto next = std::find_if(parts.begin(), parts.end(), holds_most);
            at = next == parts.end() ? kNoNode : *next;
        }
        // What is around the owner that the paths tell says nothing new.
        if (owner == kNoNode ||
            (owner != interval.booked_on && is_around(owner, interval.booked_on))) {
            continue;
        }
        interval.booked_on = owner;
        interval.or_after = false;
    }
}

}  // namespace dwell
