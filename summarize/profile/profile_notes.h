// The notes of a profile: how far its figures can be trusted (DESIGN 5.7).
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

// One sentence for each kind of loss, guess or missing data; empty when there is none. `profile` is
// complete except for its notes. `modules_used` are the modules with a frame of some path.
std::vector<std::string> notes_of(const Profile& profile, const LineResolver& lines,
                                  const std::set<uint32_t>& modules_used,
                                  const Overcount& overcount);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_PROFILE_NOTES_H_
