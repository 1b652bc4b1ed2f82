// Looks through the directories of jobs; see job_list.h.
#include "report/top/job_list.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/figures/text_style.h"
#include "report/live/live_job.h"
#include "report/results/crash_recovery.h"
#include "summarize/model/script_name.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

std::string text_of(const char* text, size_t size) {
    return std::string(text, strnlen(text, size));
}

}  // namespace

std::vector<RunningJob> running_jobs() {
    const std::string prefix = "dwell-" + std::to_string(getuid()) + "-";
    std::vector<RunningJob> jobs;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(job_directories(), error)) {
        const std::string name = entry.path().filename().string();
        struct stat about {};
        const bool is_own = name.starts_with(prefix) && lstat(entry.path().c_str(), &about) == 0 &&
                            S_ISDIR(about.st_mode) && about.st_uid == geteuid();
        if (!is_own) continue;
        RunningJob job;
        job.directory = entry.path().string();
        job.job = name.substr(prefix.size());
        bool runs = false;
        for (const std::string& file : record_files(job.directory)) {
            const std::optional<FileHeader> header = read_header(job.directory + "/" + file);
            if (!header) continue;
            runs = runs || owner_is_alive(job.directory + "/" + file);
            if (job.ranks++ != 0) continue;
            job.program = shown_program(text_of(header->program, sizeof header->program),
                                        text_of(header->command, sizeof header->command));
            job.world_size = header->world_size;
            job.start_unix_ns = header->start_unix_ns;
        }
        if (runs) jobs.push_back(std::move(job));
    }
    std::sort(jobs.begin(), jobs.end(), [](const RunningJob& a, const RunningJob& b) {
        return a.start_unix_ns > b.start_unix_ns;
    });
    return jobs;
}

std::vector<TopLine> job_lines(const std::vector<RunningJob>& jobs, int64_t now_ns,
                               const TopPaper& paper) {
    std::vector<TopLine> lines;
    const auto fitted = [&](const std::string& text) {
        return display_width(text) <= paper.width ? text
                                                  : cut_middle(text, paper.width, paper.utf8);
    };
    lines.push_back(
        {fitted(pad_right("job", 24) + pad_left("ranks", 11) + pad_left("since", 10) + "  program"),
         TopStyle::kHead});
    for (const RunningJob& job : jobs) {
        const auto since_ns = static_cast<double>(std::max<int64_t>(now_ns - job.start_unix_ns, 0));
        std::string text = pad_right(printable(job.job, paper.utf8), 24);
        text += pad_left(fmt::format("{}/{}", job.ranks, job.world_size), 11);
        text += pad_left(time_text(since_ns, paper.utf8), 10);
        text += "  " + printable(job.program, paper.utf8);
        lines.push_back({fitted(text), TopStyle::kPlain});
    }
    return lines;
}

std::string jobs_json(const std::vector<RunningJob>& jobs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const RunningJob& job : jobs) {
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
