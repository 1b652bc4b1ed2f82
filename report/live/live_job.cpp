// Finds and reads jobs; see live_job.h. A file may grow, be renamed or vanish while it is read: it
// is copied as it is, and the record reader checks every index.
#include "report/live/live_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "report/console/output.h"
#include "report/results/crash_recovery.h"
#include "runtime/contract/record_layout.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

bool runs(const std::string& directory) {
    const std::vector<std::string> files = record_files(directory);
    return std::any_of(files.begin(), files.end(), [&](const std::string& name) {
        return owner_is_alive(directory + "/" + name);
    });
}

std::string program_in(const std::string& directory) {
    for (const std::string& name : record_files(directory)) {
        if (const std::optional<FileHeader> header = read_header(directory + "/" + name)) {
            const std::string path(header->program,
                                   strnlen(header->program, sizeof header->program));
            return fs::path(path).filename().string();
        }
    }
    return "?";
}

}  // namespace

std::string job_directories() {
    const char* named = getenv("DWELL_RECORD_DIR");
    return named != nullptr && *named != '\0' ? named : "/dev/shm";
}

tl::expected<std::string, std::string> find_job(const std::string& name) {
    if (!name.empty() && fs::is_directory(name)) return name;
    const std::string prefix = "dwell-" + std::to_string(getuid()) + "-";
    std::vector<std::string> found;
    bool of_others = false;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(job_directories(), error)) {
        const std::string file = entry.path().filename().string();
        struct stat about {};
        if (lstat(entry.path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
        const bool own = file.starts_with(prefix) && about.st_uid == geteuid();
        if (!own) {
            of_others = of_others || (file.starts_with("dwell-") && file.ends_with("-" + name));
            continue;
        }
        const std::string job = file.substr(prefix.size());
        if (name.empty() ? runs(entry.path().string()) : job == name) {
            found.push_back(entry.path().string());
        }
    }
    if (found.size() == 1) return found.front();
    if (found.empty() && !name.empty()) {
        return tl::make_unexpected(of_others ? "the job " + name + " is another user's"
                                             : "no job " + name + " runs on this host");
    }
    if (found.empty()) return tl::make_unexpected("no job of yours runs under dwell on this host");
    std::string text = std::to_string(found.size()) + " jobs run here:";
    for (const std::string& directory : found) {
        const std::string job = fs::path(directory).filename().string().substr(prefix.size());
        text += " " + job + " (" + program_in(directory) + ")";
    }
    return tl::make_unexpected(text + "; name one of them: dwell where JOB");
}

tl::expected<Merged, std::string> read_job(const std::string& directory, size_t* left_out) {
    Merged merged;
    *left_out = 0;
    for (const std::string& name : record_files(directory)) {
        const tl::expected<std::string, std::string> bytes =
            read_whole_file(directory + "/" + name);
        if (!bytes || !add_record_file(&merged, bytes->data(), bytes->size())) *left_out += 1;
    }
    if (!merged.ranks.empty()) return merged;
    return tl::make_unexpected(*left_out == 0 ? "there are no record files in " + directory
                                              : "no record file in " + directory +
                                                    " can be read by this version of dwell");
}

}  // namespace dwell
