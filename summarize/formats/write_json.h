// Writes profile.json: the complete profile, for other tools and for `dwell report` (DESIGN 6). The
// format is documented in docs/profile-schema.md and docs/profile.schema.json.
#ifndef DWELL_SUMMARIZE_FORMATS_WRITE_JSON_H_
#define DWELL_SUMMARIZE_FORMATS_WRITE_JSON_H_

#include <string>

#include "summarize/model/profile.h"

namespace dwell {

constexpr int kProfileJsonVersion = 1;  // value of the key "dwell_profile"

// The text of profile.json. Bytes of names that are not UTF-8 become U+FFFD; read_profile_json
// restores all other data unchanged.
std::string write_profile_json(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_WRITE_JSON_H_
