// `dwell import`: traces of other tools become event logs.
#ifndef DWELL_REPORT_IMPORT_IMPORT_H_
#define DWELL_REPORT_IMPORT_IMPORT_H_

#include "report/console/cli.h"

namespace dwell {

// Returns the exit code. Of a trace with a damaged line nothing is written.
int import_command(const ImportOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_IMPORT_IMPORT_H_
