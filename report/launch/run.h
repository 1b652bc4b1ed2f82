// `dwell run`: starts a program with libdwell.so in it, stays its parent, ends as the program did,
// and reports what was not observed and why.
#ifndef DWELL_REPORT_LAUNCH_RUN_H_
#define DWELL_REPORT_LAUNCH_RUN_H_

#include "report/console/cli.h"

namespace dwell {

// Returns only when the program could not be started (126, 127); otherwise the process ends as the
// program did.
int run_command(const RunOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_RUN_H_
