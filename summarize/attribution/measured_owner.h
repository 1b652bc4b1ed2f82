// Where probes, and regions of OpenMP, say that an interval of computation went.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_MEASURED_OWNER_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_MEASURED_OWNER_H_

#include <cstdint>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// What may have run in an interval.
struct PossibleNodes {
    uint32_t outermost = 0;           // all of it ran below this node
    std::vector<uint32_t> passed_by;  // but for these, and what is below them
};

// Where a procedure, loop or block with probes, or a region, certainly took more than half of an
// interval, makes the innermost such one its owner. Certain: what all else that is `possible`
// computed in the whole run is less than half of the interval. `possible`: by interval. The times
// of all nodes are known.
void name_measured_owners(const std::vector<PossibleNodes>& possible, Profile* profile);

// The same of one rank: what it computed in each node, with all below, and in the interval.
// kNoNode: no node certainly took more than half.
uint32_t measured_owner(const Profile& profile, const PossibleNodes& possible,
                        const std::vector<uint64_t>& computation_ns, uint64_t interval_ns);
// What can have run in the interval, in the whole run.
uint64_t possible_computation(const Profile& profile, const PossibleNodes& possible,
                              const std::vector<uint64_t>& computation_ns);
// Whether its own time is computation.
bool computes(const ProfileNode& node);
// Of each node what `of_node` says it computed itself, with all below.
std::vector<uint64_t> computation_below(const Profile& profile, std::vector<uint64_t> of_node);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_MEASURED_OWNER_H_
