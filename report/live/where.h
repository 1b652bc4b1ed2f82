// `dwell where`: where is every rank of a running or dead job.
#ifndef DWELL_REPORT_LIVE_WHERE_H_
#define DWELL_REPORT_LIVE_WHERE_H_

#include "report/live/where_text.h"

namespace dwell {

// Reads the job twice, a second apart, and prints one screen. Returns the exit code.
int where_command(const WhereOptions& given);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_WHERE_H_
