// Where every rank of a job was that ended without MPI_Finalize, in one sentence for the report.
#ifndef DWELL_REPORT_LIVE_ENDING_H_
#define DWELL_REPORT_LIVE_ENDING_H_

#include <string>

#include "summarize/merge/merged.h"

namespace dwell {

// Empty where all ranks reached their end, or nothing is known of those that did not.
std::string ending_of(const std::string& directory, const Merged& merged);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_ENDING_H_
