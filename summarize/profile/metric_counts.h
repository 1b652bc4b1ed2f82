// Metrics at every node of a profile: exclusive and inclusive counts.
#ifndef DWELL_SUMMARIZE_PROFILE_METRIC_COUNTS_H_
#define DWELL_SUMMARIZE_PROFILE_METRIC_COUNTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "summarize/attribution/profile_tree.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

// Fills Profile::metrics. `interval_owner` gives the owner of each merged interval node's
// computation, a node of the profile. Inclusive = own + the children's, for each metric.
void add_metrics(const Merged& merged, const ProfileTree& tree,
                 const std::vector<uint32_t>& interval_owner, Profile* profile);

// The counts of a node, or null.
const ProfileCounts* counts_of(const ProfileMetrics& metrics, uint32_t node);

// The unit of a metric: "ns", or empty for a plain number.
std::string_view metric_unit(std::string_view name);

// A text on why a node has no counts of its own, or how many of its entries have counts; empty when
// all have, or for nodes without entries.
std::string counted_entries(const Profile& profile, uint32_t node);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_METRIC_COUNTS_H_
