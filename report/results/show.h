// `dwell report`: shows a profile that was written before.
#ifndef DWELL_REPORT_RESULTS_SHOW_H_
#define DWELL_REPORT_RESULTS_SHOW_H_

#include "report/console/cli.h"

namespace dwell {

// Returns the exit code.
int report_command(const ReportOptions& options);

// Columns of the terminal that `file` is, within those of a report; 0: it is none.
int terminal_width(int file);

// True when the locale of the user shows UTF-8.
bool locale_is_utf8();

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_SHOW_H_
