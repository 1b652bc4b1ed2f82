// `dwell report`: shows an existing profile.
#ifndef DWELL_REPORT_RESULTS_SHOW_H_
#define DWELL_REPORT_RESULTS_SHOW_H_

#include "report/console/cli.h"
#include "summarize/model/profile.h"

namespace dwell {

// Files that `dwell run --tally` writes beside a profile: between both stands the host.
constexpr const char* kOccupancyPrefix = "ncpu.";
constexpr const char* kOccupancySuffix = ".tsv";

// Returns the exit code.
int report_command(const ReportOptions& options);
// The same for a profile that is in no file.
int show_profile(const Profile& profile, const ReportOptions& options);

// Columns of the terminal `file`, within the limits of a report; 0: not a terminal.
int terminal_width(int file);

// True when the user's locale displays UTF-8.
bool locale_is_utf8();

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_SHOW_H_
