// Who sleeps, or is in the kernel, is not sampled. That time counts as if it had been, at what
// lived through the interval: what was computed before or after does not tell where the thread was.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_ASLEEP_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_ASLEEP_H_

#include <vector>

#include "summarize/attribution/rank_samples.h"
#include "summarize/attribution/wait_paths.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

// The samples that ranks did not get. The profile has its ranks.
std::vector<RankSample> asleep_samples(const Merged& merged, const WaitPaths& paths,
                                       const Profile& profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_ASLEEP_H_
