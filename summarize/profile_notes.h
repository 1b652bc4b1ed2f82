// The sentences that tell how far a profile can be trusted (DESIGN 5.7).
#ifndef DWELL_SUMMARIZE_PROFILE_NOTES_H_
#define DWELL_SUMMARIZE_PROFILE_NOTES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "summarize/lines.h"
#include "summarize/merged.h"
#include "summarize/profile.h"
#include "summarize/settle_times.h"

namespace dwell {

// "rank 3", "ranks 0, 2 and 5", "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 92 more". Not of no ranks.
std::string rank_list(const std::vector<uint32_t>& ranks);

// One sentence for each thing that was lost, guessed or is missing; empty when nothing was.
// `profile` is complete but for its notes. `modules_used` are those with a frame of some path.
std::vector<std::string> notes_of(const Profile& profile, const LineResolver& lines,
                                  const std::set<uint32_t>& modules_used, const Overruns& overruns);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_NOTES_H_
