// One CSV row for each node (DESIGN 6), so that scripts and spreadsheets need no knowledge of the
// JSON. Columns are documented in docs/csv.md.
#ifndef DWELL_SUMMARIZE_FORMATS_WRITE_CSV_H_
#define DWELL_SUMMARIZE_FORMATS_WRITE_CSV_H_

#include <string>
#include <tl/expected.hpp>

#include "summarize/model/profile.h"

namespace dwell {

// Merged: one row for each node, with `*` as rank and thread.
std::string write_csv(const Profile& profile);

// One row for each node, rank and thread. An error when the profile has no such rows because the
// job was over the row limit.
tl::expected<std::string, std::string> write_csv_per_rank(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_WRITE_CSV_H_
