// Writes one CSV row for each node (DESIGN 6), for scripts and spreadsheets. Columns are documented
// in docs/csv.md.
#ifndef DWELL_SUMMARIZE_FORMATS_WRITE_CSV_H_
#define DWELL_SUMMARIZE_FORMATS_WRITE_CSV_H_

#include <string>
#include <tl/expected.hpp>

#include "summarize/model/profile.h"

namespace dwell {

// Merged: one row for each node, with `*` as rank and thread.
std::string write_csv(const Profile& profile);

// One row for each node, rank and thread. An error when the job was over the row limit, so that the
// profile has no such rows.
tl::expected<std::string, std::string> write_csv_per_rank(const Profile& profile);

// The run over time: for each bin the sum over ranks (`*`), least and most of one (min, max), with
// `per_rank` each rank. An error when the profile has no such rows.
tl::expected<std::string, std::string> write_axis_csv(const Profile& profile, bool per_rank);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_WRITE_CSV_H_
