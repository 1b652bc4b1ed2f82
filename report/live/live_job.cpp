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

namespace dwell {
namespace {

namespace fs = std::filesystem;

// A process of another namespace of process ids cannot be seen: its file must do.
bool runs(const std::string& directory) {
    const std::vector<std::string> files = record_files(directory);
    return std::any_of(files.begin(), files.end(), [&](const std::string& name) {
        const std::optional<FileHeader> header = read_header(directory + "/" + name);
        if (!header) return false;
        const bool known = header->version == kRecordLayoutVersion;
        if (known && !is_own_pid_namespace(header->pid_namespace)) {
            return header->state == FileState::kRunning;
        }
        return owner_is_alive(directory + "/" + name);
    });
}

// Its command, without the path of the program.
std::string command_in(const std::string& directory) {
    for (const std::string& name : record_files(directory)) {
        if (const std::optional<FileHeader> header = read_header(directory + "/" + name)) {
            const std::string command(header->command,
                                      strnlen(header->command, sizeof header->command));
            const size_t words = std::min(command.find(' '), command.size());
            return fs::path(command.substr(0, words)).filename().string() + command.substr(words);
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
    size_t of_others = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(job_directories(), error)) {
        const std::string file = entry.path().filename().string();
        struct stat about {};
        if (lstat(entry.path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
        const bool own = file.starts_with(prefix) && about.st_uid == geteuid();
        if (!own) {
            const bool meant = name.empty() || file.ends_with("-" + name);
            if (file.starts_with("dwell-") && meant) of_others += 1;
            continue;
        }
        const std::string job = file.substr(prefix.size());
        if (name.empty() ? runs(entry.path().string()) : job == name) {
            found.push_back(entry.path().string());
        }
    }
    if (found.size() == 1) return found.front();
    if (found.empty() && !name.empty()) {
        return tl::make_unexpected(of_others != 0 ? "the job " + name +
                                                        " is another user's: only that user "
                                                        "can look at it"
                                                  : "no job " + name + " runs on this host");
    }
    if (found.empty()) {
        return tl::make_unexpected(
            "no job of yours runs under dwell on this host" +
            (of_others == 0 ? std::string() : fmt::format("; other users have {}", of_others)));
    }
    std::string text = std::to_string(found.size()) + " jobs run here:";
    for (const std::string& directory : found) {
        const std::string job = fs::path(directory).filename().string().substr(prefix.size());
        text += " " + job + " (" + command_in(directory) + ")";
    }
    return tl::make_unexpected(text + "; name one of them: dwell where JOB");
}

namespace {

// Of a job none of whose files could be read.
std::string unread_text(const std::string& directory, size_t left_out) {
    if (left_out == 0) return "there are no record files in " + directory;
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

}  // namespace

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
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
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
           header.state == FileState::kRunning && header.death_ticks == 0 &&
           is_own_pid_namespace(header.pid_namespace) && !owner_is_alive(path);
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
