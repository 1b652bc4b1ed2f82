// A thread that sleeps or runs in the kernel is not sampled. That time counts as samples of the
// node that was active through the whole interval, because samples before and after the sleep do
// not show where the thread was.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_ASLEEP_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_ASLEEP_H_

#include <vector>

#include "summarize/attribution/rank_samples.h"
#include "summarize/attribution/wait_paths.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

// The samples that ranks missed. The ranks of `profile` must be filled.
std::vector<RankSample> asleep_samples(const Merged& merged, const WaitPaths& paths,
                                       const Profile& profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_ASLEEP_H_
