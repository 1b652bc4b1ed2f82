// Limits estimates of probes. Time that a probe did not measure lies in the own time of the
// enclosing node, so the estimates inside one node are shortened, all in the same proportion, until
// they fit. Numbers of entries with too few observations are removed.
#ifndef DWELL_SUMMARIZE_PROFILE_CLAMP_ESTIMATES_H_
#define DWELL_SUMMARIZE_PROFILE_CLAMP_ESTIMATES_H_

#include "summarize/model/profile.h"

namespace dwell {

// Call when the times of all nodes are final and the rows of single ranks exist.
void clamp_estimates(Profile* profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_CLAMP_ESTIMATES_H_
