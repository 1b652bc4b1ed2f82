// Moves records of dead processes to a safe place; see crash_recovery.h. Several `dwell run` of one
// job may do so at once. A file is copied to a temporary name, renamed, and only then removed at
// its origin, so doing it twice is harmless. The process that prints makes a marker before its
// first move: a dangling link that contains the name of the run. All processes use that name,
// because ranks may run different programs.
#include "report/results/crash_recovery.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <tuple>

#include "report/console/output.h"
#include "report/console/process.h"
#include "runtime/contract/job_name.h"
#include "runtime/contract/record_layout.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "told";
constexpr const char* kFilePrefix = "rank.";
constexpr std::string_view kProfilePrefix = "dwell-";
constexpr std::string_view kShelterSuffix = ".records";
constexpr const char* kBeforeSuffix = "-before";

// A zombie counts as dead, as it writes nothing more.
bool is_alive(pid_t pid) {
    const char state = process_state(pid);
    return state != '\0' && state != 'Z' && state != 'X';
}

}  // namespace

std::optional<FileHeader> read_header(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    FileHeader header;
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
    if (header.magic != kRecordMagic) return std::nullopt;
    return header;
}

bool owner_is_alive(const std::string& path) {
    const std::optional<FileHeader> header = read_header(path);
    return header && header->pid > 0 && is_alive(header->pid);
}

namespace {

struct RecordFile {
    unsigned long rank;
    long pid;  // nonzero: second file of the rank, "rank.<n>.<pid>"
    std::string name;
};

std::optional<RecordFile> record_in_name(const std::string& name) {
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
    return RecordFile{std::strtoul(rank.c_str(), nullptr, 10),
                      second ? std::strtol(pid.c_str(), nullptr, 10) : 0, name};
}

// By rank, the first file of each before its second one.
std::vector<RecordFile> all_record_files(const std::string& directory) {
    std::vector<RecordFile> found;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        if (auto file = record_in_name(entry.path().filename().string())) {
            found.push_back(*std::move(file));
        }
    }
    std::sort(found.begin(), found.end(), [](const RecordFile& one, const RecordFile& other) {
        return std::tie(one.rank, one.pid) < std::tie(other.rank, other.pid);
    });
    return found;
}

// A launcher may end before its last process; `patience` limits the wait.
std::vector<RecordFile> files_of_the_dead(const std::string& directory, bool patient) {
    for (int attempt = 0;; ++attempt) {
        std::vector<RecordFile> dead;
        const std::vector<RecordFile> all = all_record_files(directory);
        for (const RecordFile& file : all) {
            if (!owner_is_alive(directory + "/" + file.name)) dead.push_back(file);
        }
        if (dead.size() == all.size() || !patient || attempt == 20) return dead;
        const timespec pause{0, 50'000'000};
        nanosleep(&pause, nullptr);
    }
}

// In a shared directory like /tmp, another user may have taken the name.
bool is_own_and_writable(const std::string& directory) {
    struct stat about {};
    return lstat(directory.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
           about.st_uid == geteuid() && access(directory.c_str(), W_OK | X_OK) == 0;
}

std::string text_of(const char* text, size_t size) {
    return std::string(text, strnlen(text, size));
}

std::string program_of(const std::string& path) {
    const std::optional<FileHeader> header = read_header(path);
    if (!header) return "program";
    return fs::path(text_of(header->program, sizeof header->program)).filename().string();
}

// Sets `run` to the name that the first process chose.
bool first_to_speak(const std::string& directory, std::string* run) {
    const std::string marker = directory + "/" + kMarker;
    if (symlink(run->c_str(), marker.c_str()) == 0) return true;
    const bool first = errno != EEXIST && errno != ENOENT;
    std::error_code error;
    const std::string given = fs::read_symlink(marker, error).string();
    if (!error) *run = given;
    return first;
}

bool keeps_others(const std::string& directory, const std::string& job) {
    for (const RecordFile& file : all_record_files(directory)) {
        const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
        if (header && text_of(header->job, sizeof header->job) != job) return true;
    }
    return false;
}

// On a shared file system, the host whose records came first has printed their place.
bool another_host_told(const std::string& shelter, const std::string& job) {
    char own_host[sizeof(FileHeader::host)] = {};
    gethostname(own_host, sizeof own_host - 1);
    for (const std::string& name : record_files(shelter)) {
        const std::optional<FileHeader> header = read_header(shelter + "/" + name);
        if (header && text_of(header->job, sizeof header->job) == job &&
            text_of(header->host, sizeof header->host) != own_host) {
            return true;
        }
    }
    return false;
}

void remove_if_done(const std::string& directory) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        if (entry.path().filename() != kMarker) return;
    }
    unlink((directory + "/" + kMarker).c_str());
    rmdir(directory.c_str());
}

// Whether the records, of one rank or (-1) of all, belong to processes that became other programs
// by exec, and whose later programs left no records. Other ranks may still run, with records in the
// directory.
bool all_replaced(const std::string& directory, int own_rank) {
    std::error_code error;
    const std::string own = kFilePrefix + std::to_string(own_rank);
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename().string();
        const bool counts = own_rank < 0 ? name.starts_with(kFilePrefix)
                                         : name == own || name.starts_with(own + ".");
        if (!counts) continue;
        const std::optional<FileHeader> header = read_header(entry.path().string());
        if (!header || (header->flags & kFileReplaced) == 0) return false;
    }
    return true;
}

// Whether the records, of one rank or (-1) of all, belong to other processes than `pid`, as far as
// is known: to children. The end of `pid` means nothing for them.
bool all_of_others(const std::string& directory, int own_rank, pid_t pid) {
    bool others = false;
    for (const RecordFile& file : all_record_files(directory)) {
        if (own_rank >= 0 && file.rank != static_cast<unsigned long>(own_rank)) continue;
        const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
        if (header && header->pid == pid) return false;
        others = others || header;
    }
    return others;
}

// Whether the process of `file` became another program by exec, with records among `files`.
bool went_on(const std::string& directory, const RecordFile& file,
             const std::vector<RecordFile>& files) {
    if (file.pid != 0) return false;
    const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
    return header && std::any_of(files.begin(), files.end(), [&](const RecordFile& other) {
               return other.rank == file.rank && other.pid == header->pid;
           });
}

template <typename T>
bool read_at(std::ifstream& file, CellIndex cell, T* record) {
    file.seekg(static_cast<std::streamoff>(cell) * kCellBytes);
    return static_cast<bool>(file.read(reinterpret_cast<char*>(record), sizeof *record));
}

// Whether the process ended in MPI_Init, or became another program without a call, region or
// sample: no thread has a node below the program itself.
bool holds_nothing(const std::string& path) {
    const std::optional<FileHeader> header = read_header(path);
    if (!header || header->version != kRecordLayoutVersion) return false;
    if ((header->flags & kFileInInit) != 0) return true;
    if ((header->flags & kFileReplaced) == 0) return false;
    std::ifstream file(path, std::ios::binary);
    ThreadRecord thread;
    uint32_t left = header->cells_used;  // bounds the walk: in a damaged file the list of threads
                                         // may be circular
    for (CellIndex cell = header->first_thread; cell != 0; cell = thread.next) {
        Node root;
        if (left-- == 0 || !read_at(file, cell, &thread) || !read_at(file, thread.root, &root) ||
            root.first_child != 0 || thread.samples != 0) {
            return false;
        }
    }
    return true;
}

// The places for the records of a run; `before`, created when needed: for records of processes from
// before an exec.
struct Shelter {
    std::string last;
    std::string out_directory;
    std::string run;
    std::string job;
    std::string before;
};

// `wanted`; if it contains records of another job than `job`, the first of `wanted`.2, .3 and so on
// that does not.
std::string place_beside_others(const std::string& wanted, const std::string& job) {
    const fs::path plain = (fs::path(wanted) / "").parent_path();
    std::string place = wanted;
    for (int number = 2; keeps_others(place, job); ++number) {
        place = plain.string() + "." + std::to_string(number);
    }
    return place;
}

bool make_place_before(Shelter* to) {
    std::string out = to->out_directory;
    while (out.size() > 1 && out.back() == '/') out.pop_back();
    if (!out.empty()) out += kBeforeSuffix;
    if (to->before.empty())
        to->before = choose_record_shelter(out, to->run + kBeforeSuffix, to->job);
    return !to->before.empty();
}

bool is_of_same_job(const std::string& one, const std::string& other) {
    const std::optional<FileHeader> header = read_header(one);
    const std::optional<FileHeader> others = read_header(other);
    return header && others && strncmp(header->job, others->job, sizeof header->job) == 0;
}

// Moves `files`; false when one could not be moved. Both files of a process show that it called
// exec: the second one is moved last, also for other processes that move the same files, and then
// replaces the first.
bool move_all(const std::string& from, Shelter* to, const std::vector<RecordFile>& files) {
    for (const RecordFile& file : files) {
        const std::string origin = from + "/" + file.name;
        const bool before = went_on(from, file, files) && make_place_before(to);
        const std::string first = kFilePrefix + std::to_string(file.rank);
        const std::string& name =
            is_of_same_job(to->last + "/" + first, origin) ? file.name : first;
        const Outcome moved = move_file(origin, (before ? to->before : to->last) + "/" + name);
        if (moved || access(origin.c_str(), F_OK) != 0) continue;
        say(moved.error() + "; the record files stay in " + from +
            "; to see them type: dwell recover " + word_to_type(from));
        return false;
    }
    return true;
}

// The launcher may kill the parents of ranks before they have moved their files, and processes may
// outlive the launcher. A process out of its reach moves the remaining files.
void start_sweeper(const std::string& from, Shelter to) {
    if (fork() != 0) return;
    setsid();
    closefrom(0);
    for (int attempt = 0; attempt < 100 && !all_record_files(from).empty(); ++attempt) {
        const timespec pause{0, 50'000'000};
        nanosleep(&pause, nullptr);
        move_all(from, &to, files_of_the_dead(from, false));
    }
    remove_if_done(from);
    _exit(0);
}

}  // namespace

std::vector<std::string> record_files(const std::string& directory) {
    std::vector<std::string> names;
    std::optional<unsigned long> rank;
    for (RecordFile& file : all_record_files(directory)) {
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

std::string place_of_earlier_records(const std::string& directory, const std::string& job) {
    const fs::path plain = (fs::path(directory) / "").lexically_normal().parent_path();
    const std::string run = profile_of_shelter(directory);
    const std::string beside =
        run.empty()
            ? plain.string() + kBeforeSuffix
            : (plain.parent_path() / (run + kBeforeSuffix)).string() + std::string(kShelterSuffix);
    for (const std::string& name : record_files(beside)) {
        const std::optional<FileHeader> header = read_header(beside + "/" + name);
        if (header && text_of(header->job, sizeof header->job) == job) return beside;
    }
    return {};
}

std::string shell_word(const std::string& text) {
    const bool plain = text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789._/+,@%=:-") == std::string::npos;
    if (plain && !text.empty()) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::string word_to_type(const std::string& text) {
    if (visible(text) == text) return shell_word(text);
    std::string word = "$'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') word += '\\';
        word += c;
    }
    return word + "'";
}

std::string run_name(const std::string& program, const std::string& job) {
    char plain[kJobNameBytes];
    copy_job_name(plain, sizeof plain, fs::path(program).filename().c_str());
    return std::string(*plain == '\0' ? "program" : plain) + "-" + job;
}

std::string profile_of_shelter(const std::string& directory) {
    const std::string name = (fs::path(directory) / "").parent_path().filename().string();
    const size_t fixed = kProfilePrefix.size() + kShelterSuffix.size();
    if (name.size() <= fixed || name.compare(0, kProfilePrefix.size(), kProfilePrefix) != 0) {
        return {};
    }
    const size_t end = name.size() - kShelterSuffix.size();
    return name.compare(end, std::string::npos, kShelterSuffix) == 0 ? name.substr(0, end) : "";
}

std::string choose_record_shelter(const std::string& out_directory, const std::string& run,
                                  const std::string& job) {
    const std::string name = std::string(kProfilePrefix) + run + std::string(kShelterSuffix);
    const char* temporary = getenv("TMPDIR");
    std::vector<std::string> candidates;
    if (!out_directory.empty()) candidates.push_back(out_directory);
    candidates.push_back(name);
    if (temporary != nullptr && *temporary != '\0') {
        candidates.push_back(std::string(temporary) + "/" + name);
    }
    candidates.push_back("/tmp/" + name);
    for (const std::string& candidate : candidates) {
        const std::string place = place_beside_others(candidate, job);
        if (!make_directories(place) || !is_own_and_writable(place)) continue;
        std::error_code error;
        const fs::path absolute = fs::absolute(place, error);
        return error ? place : absolute.lexically_normal().string();
    }
    return {};
}

bool recover_records(const Recovery& rescue) {
    char directory[4096];
    if (!record_directory(directory, sizeof directory, rescue.job.c_str())) return false;
    const std::vector<RecordFile> files = files_of_the_dead(directory, rescue.own_rank < 0);
    if (files.empty()) return false;
    const auto is_own = [&rescue](const RecordFile& file) {
        return rescue.own_rank < 0 || file.rank == static_cast<unsigned long>(rescue.own_rank);
    };
    if (std::none_of(files.begin(), files.end(), is_own)) return false;
    const std::string from = directory;
    // Only initialisation was recorded, by an observed library or by MPI. Another parent may be
    // removing the same files: a file that vanished after it was read counts as empty, too.
    if (std::all_of(files.begin(), files.end(), [&from](const RecordFile& file) {
            const std::string path = from + "/" + file.name;
            return holds_nothing(path) || access(path.c_str(), F_OK) != 0;
        })) {
        for (const RecordFile& file : files) unlink((from + "/" + file.name).c_str());
        remove_if_done(from);
        return false;
    }
    const bool others = all_of_others(from, rescue.own_rank, rescue.pid);
    const std::string as_another =
        (others ? "a process that " + rescue.program + " started" : rescue.program) +
        " went on as another program (exec)";
    const std::string advice = all_replaced(from, rescue.own_rank)
                                   ? as_another +
                                         ", whose profile is apart; "
                                         "to see what was counted before type: dwell recover "
                                   : rescue.what_happened +
                                         (others ? ", and a process that it started ended" : "") +
                                         " before its profile was written; to see what was "
                                         "counted type: dwell recover ";
    const auto last = std::find_if_not(files.begin(), files.end(), [&](const RecordFile& file) {
        return went_on(from, file, files);
    });
    std::string run = run_name(program_of(from + "/" + last->name), rescue.job);
    const bool speaker = first_to_speak(from, &run);
    Shelter to{choose_record_shelter(rescue.out_directory, run, rescue.job), rescue.out_directory,
               run, rescue.job, ""};
    if (to.last.empty()) {
        if (speaker) say(advice + word_to_type(from));
        return true;
    }
    const bool told = another_host_told(to.last, rescue.job);
    // The launcher may also kill this process while it moves the files; without a launcher some
    // processes may still run.
    const bool others_left = all_record_files(from).size() > files.size();
    if (speaker && (rescue.own_rank >= 0 || others_left)) start_sweeper(from, to);
    const bool moved = move_all(from, &to, files);
    if (moved && speaker && !told) {
        say(advice + word_to_type(to.last));
        if (!to.before.empty()) {
            say(as_another + " before; to see what was counted until then type: dwell recover " +
                word_to_type(to.before));
        }
    }
    remove_if_done(from);
    return true;
}

}  // namespace dwell
