// One thread of `dwell run` sleeps until the kernel reports the end of a process (pidfd_open), and
// looks for new record files now and then; see death_watch.h.
#include "report/watch/death_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "report/console/process.h"
#include "report/results/crash_recovery.h"
#include "runtime/contract/job_name.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

constexpr int kLeastWait_ms = 10;
constexpr int kMostWait_ms = 1000;
constexpr uint64_t kPartOfAge = 20;  // a new file is found within this part of the time so far

FileHeader* map_header(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return nullptr;
    struct stat about {};
    void* bytes = MAP_FAILED;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        about.st_size >= static_cast<off_t>(sizeof(FileHeader))) {
        bytes = mmap(nullptr, sizeof(FileHeader), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    return bytes != MAP_FAILED ? static_cast<FileHeader*>(bytes) : nullptr;
}

// Waking up to look whether a job has begun must not disturb it: less and less often.
int wait_after(uint64_t since_ns) {
    const uint64_t part_ms = (monotonic_ns() - since_ns) / kPartOfAge / 1'000'000;
    return static_cast<int>(std::clamp<uint64_t>(part_ms, kLeastWait_ms, kMostWait_ms));
}

}  // namespace

void DeathWatch::start() {
    raise_file_limit();  // one descriptor for each process of the host
    if (page_ != nullptr) thread_.start([this](int stop) { watch(stop); });
}

void DeathWatch::note_child(pid_t child) {
    child_end_ticks_ = ticks_now();
    child_ = child;
}

void DeathWatch::watch(int stop) {
    uint64_t since_ns = monotonic_ns();
    uint64_t processes = 0;
    bool all_found = false;
    for (bool goes_on = true; goes_on;) {
        goes_on = wait(stop, all_found ? kMostWait_ms : wait_after(since_ns));
        // The page tells without a system call whether processes were added.
        const uint64_t now = uint64_t{status_read(&page_->mpi_entered)} +
                             status_read(&page_->mpi_processes) + status_read(&page_->probed);
        if (now != processes) since_ns = monotonic_ns();
        if (now != processes || !all_found || !goes_on) all_found = look_for_records();
        processes = now;
    }
    for (const Watched& watched : watched_) {
        // Nobody will see its end.
        watched.header->watcher = 0;
        munmap(watched.header, sizeof(FileHeader));
        close(watched.process);
    }
    watched_.clear();
}

// Sleeps at most `wait_ms`; false when the program has ended.
bool DeathWatch::wait(int stop, int wait_ms) {
    std::vector<pollfd> events{{stop, POLLIN, 0}};
    for (const Watched& watched : watched_) events.push_back({watched.process, POLLIN, 0});
    if (poll(events.data(), events.size(), wait_ms) < 0) return true;
    const uint64_t now = ticks_now();
    for (size_t i = watched_.size(); i-- > 0;) {
        if (events[i + 1].revents == 0) continue;
        __atomic_store_n(&watched_[i].header->death_ticks, now, __ATOMIC_RELEASE);
        munmap(watched_[i].header, sizeof(FileHeader));
        close(watched_[i].process);
        watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return events[0].revents == 0;
}

// False while some process has not finished its header.
bool DeathWatch::look_for_records() {
    bool whole = true;
    const uint32_t jobs = std::min(status_read(&page_->jobs), kStatusJobs);
    for (uint32_t i = 0; i < jobs; ++i) {
        char directory[4096];
        if (status_read(&page_->job[i].done) == 0 ||
            !record_directory(directory, sizeof directory, page_->job[i].name)) {
            whole = false;
            continue;
        }
        for (const std::string& name : record_files(directory)) {
            const std::string own = "rank." + std::to_string(own_rank_);
            if (own_rank_ >= 0 && name != own && !name.starts_with(own + ".")) continue;
            const std::string path = std::string(directory) + "/" + name;
            if (known_.count(path) != 0) continue;
            if (take(path)) {
                known_.insert(path);
            } else {
                whole = false;
            }
        }
    }
    return whole && jobs != 0;
}

// False: to be tried again.
bool DeathWatch::take(const std::string& path) {
    FileHeader* const header = map_header(path);
    if (header == nullptr) return access(path.c_str(), F_OK) != 0;
    if (__atomic_load_n(&header->magic, __ATOMIC_ACQUIRE) != kRecordMagic) {
        munmap(header, sizeof(FileHeader));
        return false;
    }
    const bool known = header->version == kRecordLayoutVersion && header->death_ticks == 0;
    // A number may belong to another process: of another namespace, or after the end of this one.
    const bool lives = known && process_maps(header->pid, path);
    const int process = lives ? static_cast<int>(syscall(SYS_pidfd_open, header->pid, 0)) : -1;
    const bool no_file_left = lives && process < 0 && (errno == EMFILE || errno == ENFILE);
    if (process >= 0) {
        header->watcher = getpid();
        watched_.push_back({process, header});
        return true;
    }
    if (known && header->pid == child_) header->death_ticks = child_end_ticks_;
    munmap(header, sizeof(FileHeader));
    return !no_file_left;
}

}  // namespace dwell
