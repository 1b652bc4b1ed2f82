// `dwell report LOG`: a profile computed from the events of logs.
#ifndef DWELL_REPORT_EVENTS_REPORT_LOG_H_
#define DWELL_REPORT_EVENTS_REPORT_LOG_H_

#include <string>

#include "report/console/cli.h"

namespace dwell {

bool is_event_log(const std::string& path);
// Returns the exit code.
int report_log_command(const ReportOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_REPORT_LOG_H_
