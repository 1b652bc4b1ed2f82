// The sentences that tell how far a profile can be trusted (DESIGN 5.7).
#ifndef DWELL_SUMMARIZE_PROFILE_PROFILE_NOTES_H_
#define DWELL_SUMMARIZE_PROFILE_PROFILE_NOTES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"
#include "summarize/profile/settle_times.h"
#include "summarize/symbols/lines.h"

namespace dwell {

// One sentence for each thing that was lost, guessed or is missing; empty when nothing was.
// `profile` is complete but for its notes. `modules_used` are those with a frame of some path.
std::vector<std::string> notes_of(const Profile& profile, const LineResolver& lines,
                                  const std::set<uint32_t>& modules_used,
                                  const Overcount& overcount);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_PROFILE_NOTES_H_
