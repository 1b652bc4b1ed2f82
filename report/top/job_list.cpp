// Looks through the directories of jobs; see job_list.h.
#include "report/top/job_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/figures/text_style.h"
#include "report/live/live_job.h"

namespace dwell {
std::vector<UserJob> running_jobs() {
    std::vector<UserJob> jobs = jobs_of_user();
    std::erase_if(jobs, [](const UserJob& job) { return !job.runs; });
    return jobs;
}

std::vector<TopLine> job_lines(const std::vector<UserJob>& jobs, int64_t now_ns,
                               const TopPaper& paper) {
    std::vector<TopLine> lines;
    const auto fitted = [&](const std::string& text) {
        return display_width(text) <= paper.width ? text
                                                  : cut_middle(text, paper.width, paper.utf8);
    };
    lines.push_back({fitted(pad_right("job", 24) + pad_left("ranks", 11) +
                            pad_left("running for", 12) + "  program"),
                     TopStyle::kHead});
    for (const UserJob& job : jobs) {
        const auto since_ns = static_cast<double>(std::max<int64_t>(now_ns - job.start_unix_ns, 0));
        std::string text = pad_right(printable(job.job, paper.utf8), 24);
        text += pad_left(fmt::format("{}/{}", job.ranks, job.world_size), 11);
        text += pad_left(time_text(since_ns, paper.utf8), 12);
        text += "  " + printable(job.program, paper.utf8);
        lines.push_back({fitted(text), TopStyle::kPlain});
    }
    return lines;
}

std::string jobs_json(const std::vector<UserJob>& jobs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const UserJob& job : jobs) {
        list.push_back({{"job", job.job},
                        {"directory", job.directory},
                        {"program", job.program},
                        {"ranks", job.ranks},
                        {"world_size", job.world_size},
                        {"start_unix_ns", job.start_unix_ns}});
    }
    const nlohmann::ordered_json all = {{"dwell_top", 1}, {"jobs", std::move(list)}};
    return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace dwell
