// The observed jobs of the user that run on this host.
#ifndef DWELL_REPORT_TOP_JOB_LIST_H_
#define DWELL_REPORT_TOP_JOB_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/live/live_job.h"
#include "report/top/top_text.h"

namespace dwell {

// By start, the newest first.
std::vector<UserJob> running_jobs();

std::vector<TopLine> job_lines(const std::vector<UserJob>& jobs, int64_t now_ns,
                               const TopPaper& paper);
// One line of JSON, with a newline.
std::string jobs_json(const std::vector<UserJob>& jobs);

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_JOB_LIST_H_
