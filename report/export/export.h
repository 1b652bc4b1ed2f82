// `dwell export`: writes event logs in the format of another tool.
#ifndef DWELL_REPORT_EXPORT_EXPORT_H_
#define DWELL_REPORT_EXPORT_EXPORT_H_

#include "report/console/cli.h"

namespace dwell {

// Returns the exit code.
int export_command(const ExportOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_EXPORT_H_
