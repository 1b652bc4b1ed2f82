// Collects messages of a host's ranks in a file; see job_lines.h. Each process holds a shared lock
// on the file while it runs, and the kernel releases the lock of a killed process: a process that
// gets the exclusive lock is the last.
#include "report/launch/job_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "report/console/output.h"
#include "runtime/contract/job_name.h"

namespace dwell {
namespace {

constexpr size_t kRanksNamed = 8;
constexpr rlim_t kMostBytes = 64 << 20;  // a longer file would exceed the limit and end this
                                         // process
constexpr int kLooks = 100;              // for processes of the job that have not started yet
constexpr int kLooksOfFailed = 10;
constexpr timespec kBetweenLooks{0, 20'000'000};

// A record is a mark, the rank, a tab, the text and a newline.
constexpr char kMarks[] = {'b', 's', 'p'};

std::string read_all(int file) {
    std::string bytes;
    char buffer[4096];
    for (off_t at = 0;;) {
        const ssize_t got = pread(file, buffer, sizeof buffer, at);
        if (got <= 0) return bytes;
        bytes.append(buffer, size_t(got));
        at += got;
    }
}

struct Line {
    std::string text;
    std::set<int> ranks;
};

struct Records {
    std::vector<Line> lines;  // in order of arrival, without printed ones
    std::set<int> begun;
    std::set<int> speakers;
};

Records records_in(const std::string& bytes) {
    Records records;
    std::istringstream stream(bytes);
    for (std::string record; std::getline(stream, record);) {
        const size_t tab = record.find('\t');
        if (tab == std::string::npos) continue;
        const int rank = atoi(record.c_str() + 1);
        const std::string text = record.substr(tab + 1);
        if (record[0] == kMarks[0]) {
            records.begun.insert(rank);
            continue;
        }
        const auto known = std::find_if(records.lines.begin(), records.lines.end(),
                                        [&text](const Line& line) { return line.text == text; });
        if (record[0] == kMarks[2]) {
            if (known != records.lines.end()) known->ranks.clear();
            continue;
        }
        records.speakers.insert(rank);
        if (known == records.lines.end()) {
            records.lines.push_back({text, {rank}});
        } else if (!known->ranks.empty()) {
            known->ranks.insert(rank);
        }
    }
    std::erase_if(records.lines, [](const Line& line) { return line.ranks.empty(); });
    return records;
}

bool is_at(const std::string& path, int file) {
    struct stat one {};
    struct stat other {};
    return fstat(file, &one) == 0 && stat(path.c_str(), &other) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

}  // namespace

std::string ranks_text(std::vector<int> ranks, size_t count) {
    std::sort(ranks.begin(), ranks.end());
    std::string text = std::to_string(count) + (count == 1 ? " rank: " : " ranks: ");
    for (size_t i = 0; i < std::min(ranks.size(), kRanksNamed); ++i) {
        text += (i != 0 ? ", " : "") + std::to_string(ranks[i]);
    }
    return text + (count > kRanksNamed ? " ..." : "");
}

JobLines::JobLines() : rank_(launcher_rank()) {
    char job[kJobNameBytes];
    char path[4096];
    job_name(job, sizeof job);
    if (rank_ < 0 || !record_directory(path, sizeof path, job)) return;
    path_ = std::string(path) + ".lines";
    if (!open_file()) {  // DWELL_RECORD_DIR is no place for files, of which there is a line to say
        path_ = "/dev/shm" + path_.substr(path_.rfind('/'));
        if (!open_file()) return;
    }
    write_record(Mark::kBegun, "", rank_);
}

bool JobLines::open_file() {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kMostBytes) return false;
    // The last process of an earlier round may be removing the file.
    for (int tries = 0; tries < kLooks; ++tries) {
        file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file_ < 0) return false;
        struct stat about {};
        const bool ours = fstat(file_, &about) == 0 && about.st_uid == geteuid();
        if (ours && flock(file_, LOCK_SH) == 0 && is_at(path_, file_)) return true;
        close(file_);
        file_ = -1;
        if (!ours) return false;
    }
    return false;
}

bool JobLines::write_record(Mark mark, const std::string& text, int rank) {
    std::string record = kMarks[static_cast<int>(mark)] + std::to_string(rank) + "\t" + text;
    std::replace(record.begin(), record.end(), '\n', ' ');
    record += "\n";
    return file_ >= 0 && write(file_, record.data(), record.size()) == ssize_t(record.size());
}

void JobLines::say(const std::string& text) {
    if (!write_record(Mark::kSaid, text, rank_)) dwell::say(text);
}

// The last of the started processes and, if the launcher gives their number, of all.
bool JobLines::is_last() {
    for (int look = 0; flock(file_, LOCK_EX | LOCK_NB) == 0; ++look) {
        const Records records = records_in(read_all(file_));
        if (records.lines.empty() || look == kLooks ||
            launcher_local_size() <= int(records.begun.size())) {
            return true;
        }
        flock(file_, LOCK_UN);
        nanosleep(&kBetweenLooks, nullptr);
    }
    return false;
}

// Waits a short time until all ranks of the host have left their lines, so that they are counted.
void JobLines::await_others() {
    for (int look = 0; look < kLooksOfFailed; ++look) {
        const Records records = records_in(read_all(file_));
        if (records.lines.empty() || launcher_local_size() <= int(records.speakers.size())) return;
        nanosleep(&kBetweenLooks, nullptr);
    }
}

void JobLines::print_new() {
    struct flock whole {};  // one process at a time; independent of the flock() of running
                            // processes
    whole.l_type = F_WRLCK;
    fcntl(file_, F_OFD_SETLKW, &whole);
    for (const Line& line : records_in(read_all(file_)).lines) {
        const std::vector<int> ranks(line.ranks.begin(), line.ranks.end());
        dwell::say(line.text + " (" + ranks_text(ranks, ranks.size()) + ")");
        write_record(Mark::kPrinted, line.text, rank_);
    }
    whole.l_type = F_UNLCK;
    fcntl(file_, F_OFD_SETLK, &whole);
}

JobLines::~JobLines() {
    if (file_ < 0) return;
    const bool failed = wait_status_ != 0;
    if (failed && !WIFSIGNALED(wait_status_)) await_others();
    // The launcher may kill the other processes now, and none of them would remove the file.
    const bool last = failed || is_last();
    if (last) print_new();
    if (last && is_at(path_, file_)) unlink(path_.c_str());
    close(file_);
}

}  // namespace dwell
