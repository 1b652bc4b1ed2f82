// The record files of a job on this host, read from outside while the job runs or after it died.
#ifndef DWELL_REPORT_LIVE_LIVE_JOB_H_
#define DWELL_REPORT_LIVE_LIVE_JOB_H_

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "summarize/merge/merged.h"

namespace dwell {

// Where the record directories of jobs are.
std::string job_directories();

// The directory of the job that `name` means: a directory, the id of a job, or nothing where there
// is one job. The error is one line that says what there is.
tl::expected<std::string, std::string> find_job(const std::string& name);

// All record files in `directory`, or an error of one line. `left_out`: files that could not be
// read.
tl::expected<Merged, std::string> read_job(const std::string& directory, size_t* left_out);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_LIVE_JOB_H_
