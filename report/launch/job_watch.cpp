// One thread, which sleeps between two looks; see job_watch.h.
#include "report/launch/job_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "report/console/process.h"
#include "report/results/record_files.h"
#include "runtime/contract/job_name.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

constexpr uint64_t kAnswerHolds_ns = 1'000'000'000;
constexpr uint64_t kYesHolds_ns = 100'000'000;  // the record of a lower rank may come later

// `dwell run` stops with its program, and cannot watch then.
bool has_lowest_rank(const std::string& directory, int own_rank) {
    for (const RankFile& file : all_record_files(directory)) {
        if (own_rank < 0 || file.rank == static_cast<unsigned long>(own_rank)) return true;
        const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
        const bool watched = header && header->watcher > 0;
        if (watched && process_state(header->watcher) != 'T') return false;
    }
    return false;
}

}  // namespace

void JobWatch::start(int wait_ms) {
    if (page_ == nullptr) return;
    stop_ = eventfd(0, EFD_CLOEXEC);
    if (stop_ < 0) return;
    try {
        // All signals are blocked here, and the new thread inherits that.
        thread_ = std::thread([this, wait_ms] { watch(wait_ms); });
    } catch (const std::system_error&) {
        stop();
    }
}

void JobWatch::stop() {
    if (thread_.joinable() && eventfd_write(stop_, 1) == 0) thread_.join();
    if (stop_ >= 0) close(stop_);
    stop_ = -1;
}

void JobWatch::watch(int wait_ms) {
    pollfd stopped{stop_, POLLIN, 0};
    while (poll(&stopped, 1, wait_ms) == 0) {
        const uint32_t jobs = std::min(status_read(&page_->jobs), kStatusJobs);
        for (uint32_t i = 0; i < jobs; ++i) {
            char directory[4096];
            if (status_read(&page_->job[i].done) != 0 &&
                record_directory(directory, sizeof directory, page_->job[i].name) &&
                is_lowest(directory)) {
                look_(directory);
            }
        }
    }
}

bool JobWatch::is_lowest(const std::string& directory) {
    Answer& answer = answers_[directory];
    const uint64_t now_ns = monotonic_ns();
    const uint64_t holds_ns = answer.is_lowest ? kYesHolds_ns : kAnswerHolds_ns;
    if (answer.known_ns == 0 || now_ns - answer.known_ns > holds_ns) {
        answer = {has_lowest_rank(directory, own_rank_), now_ns};
    }
    return answer.is_lowest;
}

}  // namespace dwell
