// Finds and describes record files; see record_files.h.
#include "report/results/record_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "report/console/output.h"
#include "report/console/process.h"
#include "runtime/process/clock.h"
#include "summarize/merge/merged.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWatchdogPrefix = "watchdog.";

}  // namespace

std::optional<FileHeader> read_header(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // it may be a pipe
    if (file < 0) return std::nullopt;
    FileHeader header;
    const bool whole = pread(file, &header, sizeof header, 0) == sizeof header;
    close(file);
    if (!whole) return std::nullopt;
    if (header.magic != kRecordMagic) return std::nullopt;
    return header;
}

bool owner_is_alive(const std::string& path) {
    const std::optional<FileHeader> header = read_header(path);
    return header && header->pid > 0 && process_is_alive(header->pid);
}

bool process_maps(pid_t pid, const std::string& path) {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0) return false;
    // "start-end rights offset device inode path" (proc(5)). Devices of some file systems have
    // other numbers there.
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::string word;
        ino_t inode = 0;
        if (words >> word >> word >> word >> word >> inode && inode == about.st_ino &&
            line.find(kFilePrefix) != std::string::npos) {
            return true;
        }
    }
    return false;
}

std::optional<RankFile> record_in_name(const std::string& name) {
    const size_t prefix = std::char_traits<char>::length(kFilePrefix);
    if (name.compare(0, prefix, kFilePrefix) != 0) return std::nullopt;
    const std::string numbers = name.substr(prefix);
    const std::string rank = numbers.substr(0, numbers.find('.'));
    const bool second = rank.size() != numbers.size();
    const std::string pid = second ? numbers.substr(rank.size() + 1) : "1";
    for (const std::string& digits : {rank, pid}) {
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
            return std::nullopt;
        }
    }
    return RankFile{std::strtoul(rank.c_str(), nullptr, 10),
                    second ? std::strtol(pid.c_str(), nullptr, 10) : 0, name};
}

// By rank, the first file of each before its second one.
std::vector<RankFile> all_record_files(const std::string& directory) {
    std::vector<RankFile> found;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        if (auto file = record_in_name(entry.path().filename().string())) {
            found.push_back(*std::move(file));
        }
    }
    std::sort(found.begin(), found.end(), [](const RankFile& one, const RankFile& other) {
        return std::tie(one.rank, one.pid) < std::tie(other.rank, other.pid);
    });
    return found;
}

// The owner has ended, and the `dwell run` that watches it has noted when.
bool is_settled(const std::string& path) {
    const std::optional<FileHeader> header = read_header(path);
    if (!header || header->pid <= 0) return true;
    const bool noted = header->death_ticks != 0 || header->watcher <= 0;
    return !process_is_alive(header->pid) && (noted || !process_is_alive(header->watcher));
}

std::vector<std::string> record_files(const std::string& directory) {
    std::vector<std::string> names;
    std::optional<unsigned long> rank;
    for (RankFile& file : all_record_files(directory)) {
        if (rank == file.rank) {
            names.back() = std::move(file.name);
        } else {
            names.push_back(std::move(file.name));
        }
        rank = file.rank;
    }
    return names;
}

bool holds_earlier_records(const std::string& directory) {
    return record_files(directory).size() < all_record_files(directory).size();
}

void add_newest(const void* file, size_t bytes, NewestTimes* times) {
    NewestTime newest;
    if (!newest_time_in(file, bytes, &newest)) return;
    int64_t& of_host = (*times)[newest.host];
    of_host = std::max(of_host, std::min(newest.unix_ns, unix_ns()));  // a damaged one may be later
}

int64_t newest_time(const NewestTimes& times, const FileHeader& header) {
    const auto newest = times.find(text_in(header.host));
    return newest != times.end() ? newest->second : 0;
}

// As in the observed processes (runtime/process/state.h).
uint64_t ticks_now() {
    static const bool kUseTsc = has_invariant_tsc();
    return kUseTsc ? read_tsc() : monotonic_ns();
}

Outcome note_copy(int file) {
    FileHeader header;
    bool noted = pread(file, &header, sizeof header, 0) == sizeof header;
    if (noted && header.death_ticks == 0) {
        header.watcher = kWentOn;
        if (header.state == FileState::kRunning) header.death_ticks = ticks_now();
        noted = pwrite(file, &header, sizeof header, 0) == sizeof header;
    }
    if (noted) return {};
    return tl::make_unexpected(std::string("copy of a record not changed: ") + strerror(errno));
}

void remove_interrupted_copies(const std::string& directory, bool all_moved) {
    constexpr size_t kRandom = 7;  // ".XXXXXX"
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename().string();
        if (name.size() <= kRandom || name[name.size() - kRandom] != '.') continue;
        if (record_in_name(name)) continue;
        const std::string of = name.substr(0, name.size() - kRandom);
        const bool ours = record_in_name(of) || of == "merged" || of == "profile.json" ||
                          of == "report.txt" || of == "stats.picl" ||
                          of.starts_with(kWatchdogPrefix) || of.starts_with(kSpillPrefix);
        if (all_moved && record_in_name(of) && fs::exists(directory + "/" + of, error)) {
            unlink(entry.path().c_str());
        } else if (ours) {
            remove_interrupted(entry.path().string());
        }
    }
}

std::string watchdog_file(const std::string& directory) {
    char host[sizeof(FileHeader::host)] = {};
    gethostname(host, sizeof host - 1);
    return directory + "/" + kWatchdogPrefix + host;
}

std::string watchdog_text_in(const std::string& directory) {
    std::set<std::string> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        if (entry.path().filename().string().starts_with(kWatchdogPrefix)) {
            files.insert(entry.path().string());
        }
    }
    std::string text;
    for (const std::string& file : files) {
        if (const auto bytes = read_whole_file(file)) text += (text.empty() ? "" : "\n") + *bytes;
    }
    return text;
}

void remove_watchdog_texts(const std::string& directory) {
    unlink(watchdog_file(directory).c_str());
}

}  // namespace dwell
