// Owners of intervals by measurement: where probes and OpenMP regions prove which node did most of
// the computation.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_MEASURED_OWNER_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_MEASURED_OWNER_H_

#include <cstdint>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// The nodes that may have run in an interval.
struct PossibleNodes {
    uint32_t outermost = 0;           // all of it ran in or below this node
    std::vector<uint32_t> passed_by;  // except for these nodes and their descendants
};

// Makes the innermost measured procedure, loop, block or region that certainly took more than half
// of an interval its owner. Certain means: all other `possible` nodes together computed less than
// half of the interval in the whole run. `possible`: by interval. The times of all nodes must be
// final.
void name_measured_owners(const std::vector<PossibleNodes>& possible, Profile* profile);

// The same for one rank, from its computation at and below each node, and in the interval. kNoNode:
// no node certainly took more than half.
uint32_t measured_owner(const Profile& profile, const PossibleNodes& possible,
                        const std::vector<uint64_t>& computation_ns, uint64_t interval_ns);
// Computation of all nodes that may have run in the interval, over the whole run.
uint64_t possible_computation(const Profile& profile, const PossibleNodes& possible,
                              const std::vector<uint64_t>& computation_ns);
// Whether the node's own time is computation.
bool computes(const ProfileNode& node);
// Sums `of_node` (own computation by node) over each subtree.
std::vector<uint64_t> computation_below(const Profile& profile, std::vector<uint64_t> of_node);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_MEASURED_OWNER_H_
