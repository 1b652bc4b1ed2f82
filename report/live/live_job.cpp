// Finds and reads jobs; see live_job.h. A file may grow, be renamed or vanish while it is read: the
// record reader checks every index, and a mapped file stays as long as it is mapped.
#include "report/live/live_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "report/console/output.h"
#include "report/live/kernel_view.h"
#include "report/results/crash_recovery.h"
#include "runtime/contract/record_layout.h"
#include "summarize/model/script_name.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

// A process that cannot be seen from here runs as long as its file says so.
bool runs(const FileHeader& header, const std::string& path) {
    const bool known = header.version == kRecordLayoutVersion;
    if (known && !is_visible(header)) return header.state == FileState::kRunning;
    return owner_is_alive(path);
}

// What is known of the job in `directory` by its files.
UserJob job_in(const std::string& directory) {
    UserJob job;
    job.directory = directory;
    for (const std::string& file : record_files(directory)) {
        const std::string path = directory + "/" + file;
        const std::optional<FileHeader> header = read_header(path);
        if (!header) continue;
        job.runs = job.runs || runs(*header, path);
        if (job.ranks++ != 0) continue;
        const std::string command = text_in(header->command);
        job.program = shown_program(text_in(header->program), command);
        const size_t word = std::min(command.find(' '), command.size());
        job.command = fs::path(command.substr(0, word)).filename().string() + command.substr(word);
        job.world_size = header->world_size;
        job.start_unix_ns = header->start_unix_ns;
    }
    return job;
}

std::string list_text(const std::vector<UserJob>& jobs) {
    std::string text;
    for (const UserJob& job : jobs) text += " " + job.job + " (" + job.command + ")";
    return text;
}

}  // namespace

std::string job_directories() {
    const char* named = getenv("DWELL_RECORD_DIR");
    return named != nullptr && *named != '\0' ? named : "/dev/shm";
}

std::vector<UserJob> jobs_of_user(std::vector<std::string>* of_others) {
    const std::string prefix = "dwell-" + std::to_string(getuid()) + "-";
    std::vector<UserJob> jobs;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(job_directories(), error)) {
        const std::string name = entry.path().filename().string();
        struct stat about {};
        if (lstat(entry.path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
        if (name.starts_with(prefix) && about.st_uid == geteuid()) {
            jobs.push_back(job_in(entry.path().string()));
            jobs.back().job = name.substr(prefix.size());
        } else if (of_others != nullptr && about.st_uid != geteuid() &&
                   name.starts_with("dwell-")) {
            of_others->push_back(name);
        }
    }
    std::sort(jobs.begin(), jobs.end(),
              [](const UserJob& a, const UserJob& b) { return a.start_unix_ns > b.start_unix_ns; });
    return jobs;
}

tl::expected<std::string, std::string> find_job(const std::string& name, const char* command) {
    std::error_code error;
    if (!name.empty() && fs::is_directory(name, error)) return name;
    std::vector<std::string> of_others;
    std::vector<UserJob> jobs = jobs_of_user(&of_others);
    if (!name.empty()) {
        for (const UserJob& job : jobs) {
            if (job.job == name) return job.directory;
        }
    }
    std::erase_if(jobs, [](const UserJob& job) { return !job.runs; });
    if (!name.empty()) {
        for (const std::string& other : of_others) {
            if (!other.ends_with("-" + name)) continue;
            return tl::make_unexpected("the job " + name +
                                       " is another user's: only that user can look at it");
        }
        return tl::make_unexpected("no job " + name + " runs on this host" +
                                   (jobs.empty() ? "" : "; these do:" + list_text(jobs)));
    }
    if (jobs.size() == 1) return jobs.front().directory;
    if (jobs.empty()) {
        return tl::make_unexpected("no job of yours runs under dwell on this host" +
                                   (of_others.empty()
                                        ? std::string()
                                        : fmt::format("; other users have {}", of_others.size())));
    }
    return tl::make_unexpected(fmt::format("{} jobs run here:{}; name one of them: dwell {} JOB",
                                           jobs.size(), list_text(jobs), command));
}

std::string unread_text(const std::string& directory, size_t left_out) {
    if (left_out == 0) {
        const bool has_profile = access((directory + "/profile.json").c_str(), F_OK) == 0;
        if (has_profile)
            return "that job has ended; to see its report type: dwell report " + directory;
        std::vector<UserJob> jobs = jobs_of_user();
        std::erase_if(jobs, [](const UserJob& job) { return !job.runs; });
        return "there are no record files in " + directory +
               (jobs.empty() ? "" : "; these jobs run here:" + list_text(jobs));
    }
    for (const std::string& name : record_files(directory)) {
        const std::optional<FileHeader> header = read_header(directory + "/" + name);
        if (!header || header->version == kRecordLayoutVersion) continue;
        return fmt::format(
            "{} holds records of another version of dwell (layout {}, this one reads {}): use the "
            "dwell that runs the job",
            directory, header->version, kRecordLayoutVersion);
    }
    return "no record file in " + directory + " can be read by this version of dwell";
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
    return tl::make_unexpected(unread_text(directory, *left_out));
}

MappedRecords::MappedRecords(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    struct stat about {};
    const bool known = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                       about.st_size >= static_cast<off_t>(sizeof(FileHeader));
    void* memory =
        known ? mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_SHARED, file, 0)
              : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED) return;
    data_ = static_cast<const char*>(memory);
    bytes_ = static_cast<size_t>(about.st_size);
}
MappedRecords::MappedRecords(MappedRecords&& other) noexcept
    : data_(other.data_), bytes_(other.bytes_) {
    other.bytes_ = 0;
}
MappedRecords& MappedRecords::operator=(MappedRecords&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}
MappedRecords::~MappedRecords() {
    if (bytes_ != 0) munmap(const_cast<char*>(data_), bytes_);
}

namespace {

// Without having written an end that `dwell run` or the process itself had noted.
bool died_unseen(const FileHeader& header, const std::string& path) {
    return header.magic == kRecordMagic && header.version == kRecordLayoutVersion &&
           header.state == FileState::kRunning && header.death_ticks == 0 && is_visible(header) &&
           !owner_is_alive(path);
}

}  // namespace

tl::expected<Merged, std::string> read_places(const std::string& directory, size_t* left_out) {
    std::vector<MappedRecords> files;
    std::vector<bool> unseen;
    for (const std::string& name : record_files(directory)) {
        const std::string path = directory + "/" + name;
        files.emplace_back(path);
        unseen.push_back(files.back().bytes() != 0 && died_unseen(files.back().header(), path));
    }
    NewestTimes times;
    if (std::count(unseen.begin(), unseen.end(), true) != 0) {
        for (const MappedRecords& file : files) add_newest(file.data(), file.bytes(), &times);
    }
    Merged merged;
    *left_out = 0;
    for (size_t i = 0; i < files.size(); ++i) {
        const MappedRecords& file = files[i];
        const int64_t end_ns = unseen[i] ? newest_time(times, file.header()) : 0;
        if (file.bytes() == 0 || !add_places(&merged, file.data(), file.bytes(), end_ns)) {
            *left_out += 1;
        }
    }
    if (!merged.ranks.empty()) return merged;
    return tl::make_unexpected(unread_text(directory, *left_out));
}

}  // namespace dwell
