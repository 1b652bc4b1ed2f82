// The observed jobs of the user that run on this host.
#ifndef DWELL_REPORT_TOP_JOB_LIST_H_
#define DWELL_REPORT_TOP_JOB_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/top/top_text.h"

namespace dwell {

struct RunningJob {
    std::string directory;
    std::string job;
    std::string program;
    size_t ranks = 0;  // with records on this host
    int world_size = 0;
    int64_t start_unix_ns = 0;
};

// By start, the newest first.
std::vector<RunningJob> running_jobs();

std::vector<TopLine> job_lines(const std::vector<RunningJob>& jobs, int64_t now_ns,
                               const TopPaper& paper);
// One line of JSON, with a newline.
std::string jobs_json(const std::vector<RunningJob>& jobs);

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_JOB_LIST_H_
