// What probes did not time lies in the own time of what is around it, so its estimates can never be
// longer than that: those that are become shorter, all in the same proportion. Numbers of entries
// that too few were seen for are left out.
#ifndef DWELL_SUMMARIZE_PROFILE_CLAMP_ESTIMATES_H_
#define DWELL_SUMMARIZE_PROFILE_CLAMP_ESTIMATES_H_

#include "summarize/model/profile.h"

namespace dwell {

// After the times of all nodes are settled, and with the rows of single ranks.
void clamp_estimates(Profile* profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_CLAMP_ESTIMATES_H_
