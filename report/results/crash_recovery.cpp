// Moves records of dead processes to a safe place; see crash_recovery.h. Several `dwell run` of one
// job may do so at once. A file is copied to a temporary name, renamed, and only then removed at
// its origin, so doing it twice is harmless. The process that prints makes a marker before its
// first move: a dangling link that contains the name of the run. All processes use that name,
// because ranks may run different programs.
#include "report/results/crash_recovery.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

#include "report/console/output.h"
#include "report/console/process.h"
#include "runtime/contract/job_name.h"
#include "runtime/contract/record_layout.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "told";
constexpr std::string_view kProfilePrefix = "dwell-";
constexpr std::string_view kShelterSuffix = ".records";
constexpr const char* kBeforeSuffix = "-before";

// A launcher may end before its last process; `patience` limits the wait.
std::vector<RankFile> files_of_the_dead(const std::string& directory, bool patient) {
    for (int attempt = 0;; ++attempt) {
        const bool last = patient && attempt == 20;
        std::vector<RankFile> dead;
        const std::vector<RankFile> all = all_record_files(directory);
        for (const RankFile& file : all) {
            const std::string path = directory + "/" + file.name;
            const bool dead_now = last ? !owner_is_alive(path) : is_settled(path);
            if (dead_now) dead.push_back(file);
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

std::string program_of(const std::string& path) {
    const std::optional<FileHeader> header = read_header(path);
    if (!header) return "program";
    return fs::path(text_in(header->program)).filename().string();
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
    for (const RankFile& file : all_record_files(directory)) {
        const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
        if (header && text_in(header->job) != job) return true;
    }
    return false;
}

// On a shared file system, the host whose records came first has printed their place.
bool another_host_reported(const std::string& shelter, const std::string& job) {
    char own_host[sizeof(FileHeader::host)] = {};
    gethostname(own_host, sizeof own_host - 1);
    for (const std::string& name : record_files(shelter)) {
        const std::optional<FileHeader> header = read_header(shelter + "/" + name);
        if (header && text_in(header->job) == job && text_in(header->host) != own_host) {
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
    for (const RankFile& file : all_record_files(directory)) {
        if (own_rank >= 0 && file.rank != static_cast<unsigned long>(own_rank)) continue;
        const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
        if (header && header->pid == pid) return false;
        others = others || header;
    }
    return others;
}

// Whether the process of `file` became another program by exec, with records among `files`.
bool went_on(const std::string& directory, const RankFile& file,
             const std::vector<RankFile>& files) {
    if (file.pid != 0) return false;
    const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
    return header && std::any_of(files.begin(), files.end(), [&](const RankFile& other) {
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

// Turns this process into a silent `dwell recover`.
void become_recover(const std::string& records, const std::string& out) {
    std::vector<const char*> words{"dwell", "recover", "-q"};
    if (!out.empty()) words.insert(words.end(), {"-o", out.c_str()});
    words.insert(words.end(), {records.c_str(), nullptr});
    unsetenv("LD_PRELOAD");
    // The standard files are closed: nothing else may take their numbers.
    while (true) {
        const int nothing = open("/dev/null", O_RDWR);
        if (nothing < 0 || nothing > STDERR_FILENO) {
            if (nothing >= 0) close(nothing);
            break;
        }
    }
    execv("/proc/self/exe", const_cast<char* const*>(words.data()));
}

// False: the child still runs after that time.
bool await(pid_t child, int timeout_s) {
    const uint64_t until_ns = monotonic_ns() + static_cast<uint64_t>(timeout_s) * 1'000'000'000;
    while (child > 0 && waitpid(child, nullptr, WNOHANG) == 0) {
        if (monotonic_ns() >= until_ns) return false;
        const timespec pause{0, 10'000'000};
        nanosleep(&pause, nullptr);
    }
    return true;
}

// Where the profile goes that become_recover() makes; see finish.cpp.
std::string rescued_profile_directory(const Shelter& to) {
    if (!to.out_directory.empty()) return to.out_directory;
    const std::string named = profile_of_shelter(to.last);
    return named.empty() ? to.last : named;
}

bool is_of_same_job(const std::string& one, const std::string& other) {
    const std::optional<FileHeader> header = read_header(one);
    const std::optional<FileHeader> others = read_header(other);
    return header && others && strncmp(header->job, others->job, sizeof header->job) == 0;
}

// Moves `files`; false when one could not be moved. Both files of a process show that it called
// exec: the second one is moved last, also for other processes that move the same files, and then
// replaces the first.
bool move_all(const std::string& from, Shelter* to, const std::vector<RankFile>& files) {
    for (const RankFile& file : files) {
        const std::string origin = from + "/" + file.name;
        const bool before = went_on(from, file, files) && make_place_before(to);
        const std::string first = kFilePrefix + std::to_string(file.rank);
        const std::string& name =
            is_of_same_job(to->last + "/" + first, origin) ? file.name : first;
        const std::string& place = before ? to->before : to->last;
        const std::string spill = from + "/" + kSpillPrefix + file.name;
        if (access(spill.c_str(), F_OK) == 0)
            static_cast<void>(move_file(spill, place + "/" + kSpillPrefix + name));
        const Outcome moved = move_file(origin, place + "/" + name);
        if (moved || access(origin.c_str(), F_OK) != 0) continue;
        say(moved.error() + "; the record files stay in " + from +
            "; to see them type: dwell recover " + word_to_type(from));
        return false;
    }
    return true;
}

void move_watchdog_text(const std::string& from, const std::string& to) {
    const std::string file = watchdog_file(from);
    if (access(file.c_str(), F_OK) == 0) {
        static_cast<void>(move_file(file, to + "/" + fs::path(file).filename().string()));
    }
}

void sweep(const std::string& from, Shelter* to) {
    for (int attempt = 0; attempt < 100 && !all_record_files(from).empty(); ++attempt) {
        const timespec pause{0, 50'000'000};
        nanosleep(&pause, nullptr);
        move_all(from, to, files_of_the_dead(from, false));
    }
    move_watchdog_text(from, to->last);
    if (all_record_files(from).empty()) remove_interrupted_copies(to->last, true);
    remove_if_done(from);
}

// The launcher may kill the parents of ranks before they have moved their files, and processes may
// outlive the launcher. A process out of its reach moves the remaining files; returns its number,
// or 0.
pid_t start_sweeper(const std::string& from, Shelter to, const Recovery& rescue) {
    const pid_t sweeper = fork();
    if (sweeper != 0) return std::max(sweeper, 0);
    setsid();
    closefrom(0);
    sweep(from, &to);
    if (rescue.report) become_recover(to.last, rescue.out_directory);
    _exit(0);
}

}  // namespace

std::string place_of_earlier_records(const std::string& directory, const std::string& job) {
    const fs::path plain = (fs::path(directory) / "").lexically_normal().parent_path();
    const std::string run = profile_of_shelter(directory);
    const std::string beside =
        run.empty()
            ? plain.string() + kBeforeSuffix
            : (plain.parent_path() / (run + kBeforeSuffix)).string() + std::string(kShelterSuffix);
    for (const std::string& name : record_files(beside)) {
        const std::optional<FileHeader> header = read_header(beside + "/" + name);
        if (header && text_in(header->job) == job) return beside;
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
    const std::vector<RankFile> files = files_of_the_dead(directory, rescue.own_rank < 0);
    if (files.empty()) return false;
    const auto is_own = [&rescue](const RankFile& file) {
        return rescue.own_rank < 0 || file.rank == static_cast<unsigned long>(rescue.own_rank);
    };
    if (std::none_of(files.begin(), files.end(), is_own)) return false;
    const std::string from = directory;
    // Only initialisation was recorded, by an observed library or by MPI. Another parent may be
    // removing the same files: a file that vanished after it was read counts as empty, too.
    if (std::all_of(files.begin(), files.end(), [&from](const RankFile& file) {
            const std::string path = from + "/" + file.name;
            return holds_nothing(path) || access(path.c_str(), F_OK) != 0;
        })) {
        for (const RankFile& file : files) unlink((from + "/" + file.name).c_str());
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
    const auto last = std::find_if_not(files.begin(), files.end(), [&](const RankFile& file) {
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
    const bool reported = another_host_reported(to.last, rescue.job);
    // The launcher may also kill this process while it moves the files; without a launcher some
    // processes may still run.
    const bool others_left = all_record_files(from).size() > files.size();
    const bool reports = speaker && !reported && rescue.report;
    pid_t sweeper = 0;
    if (reports || (speaker && (rescue.own_rank >= 0 || others_left))) {
        sweeper = start_sweeper(from, to, reports ? rescue : Recovery{});
    }
    const bool moved = move_all(from, &to, files);
    move_watchdog_text(from, to.last);
    remove_interrupted_copies(to.last);
    if (moved && speaker && !reported) {
        say(advice + word_to_type(to.last));
        if (reports) {
            // Where a batch system, not a launcher, ends this process, it waits for that.
            say("its report comes to " + word_to_type(rescued_profile_directory(to)));
        }
        if (!to.before.empty()) {
            say(as_another + " before; to see what was counted until then type: dwell recover " +
                word_to_type(to.before));
        }
    }
    remove_if_done(from);
    if (reports) await(sweeper, rescue.end_timeout_s);
    return true;
}

SavedRecords save_records(const Recovery& rescue) {
    char from[4096];
    if (!record_directory(from, sizeof from, rescue.job.c_str())) return {};
    std::vector<RankFile> files = all_record_files(from);
    std::erase_if(files, [&](const RankFile& file) {
        return rescue.own_rank >= 0 && file.rank != static_cast<unsigned long>(rescue.own_rank);
    });
    if (files.empty()) return {};
    std::string run = run_name(program_of(std::string(from) + "/" + files.back().name), rescue.job);
    const bool speaker = first_to_speak(from, &run);
    const Shelter to{choose_record_shelter(rescue.out_directory, run, rescue.job),
                     rescue.out_directory, run, rescue.job, ""};
    if (to.last.empty()) return {};
    SavedRecords saved;
    for (const RankFile& file : files) saved.copies.push_back(to.last + "/" + file.name);
    saved.copier = fork();
    if (saved.copier < 0) say(std::string("the records were not copied: ") + strerror(errno));
    if (saved.copier != 0) return saved;
    setsid();
    for (const std::string& copy : saved.copies) {
        const std::string name = fs::path(copy).filename().string();
        const Outcome copied = copy_file(std::string(from) + "/" + name, copy, note_copy);
        if (!copied) say(copied.error());
    }
    if (!speaker) _exit(0);
    say(rescue.program +
        " goes on although it was told to end: what was counted so far is kept in " +
        word_to_type(to.last) + ", and its report comes to " +
        word_to_type(rescued_profile_directory(to)));
    if (fork() != 0) _exit(0);
    closefrom(0);
    const timespec for_others{1, 0};
    nanosleep(&for_others, nullptr);
    become_recover(to.last, to.out_directory);
    _exit(1);
}

void remove_copies(const SavedRecords& saved, int timeout_s) {
    if (!await(saved.copier, timeout_s)) kill(saved.copier, SIGKILL);
    for (const std::string& copy : saved.copies) {
        const std::optional<FileHeader> header = read_header(copy);
        if (!header || header->watcher != kWentOn) continue;
        unlink(copy.c_str());
        rmdir(fs::path(copy).parent_path().c_str());  // if nothing else is there
    }
}

}  // namespace dwell
