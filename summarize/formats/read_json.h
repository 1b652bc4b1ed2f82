// Reads what write_json.h writes.
#ifndef DWELL_SUMMARIZE_FORMATS_READ_JSON_H_
#define DWELL_SUMMARIZE_FORMATS_READ_JSON_H_

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "summarize/model/profile.h"

namespace dwell {

// Reads the text of a profile.json. Every type, range and index is checked, so the returned profile
// can be traversed without further checks: the nodes form one tree with node 0 as its root.
// Otherwise the error states in one line what is wrong and where.
tl::expected<Profile, std::string> read_profile_json(std::string_view text);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_READ_JSON_H_
