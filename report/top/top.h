// `dwell top`: a running job as it goes on.
#ifndef DWELL_REPORT_TOP_TOP_H_
#define DWELL_REPORT_TOP_TOP_H_

#include "report/console/cli.h"

namespace dwell {

// Returns the exit code: 3 where an alarm is raised (with --once).
int top_command(const TopOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_TOP_H_
