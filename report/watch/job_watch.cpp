// One thread, which sleeps between two looks; see job_watch.h.
#include "report/watch/job_watch.h"

#include <poll.h>

#include <algorithm>
#include <optional>

#include "report/console/process.h"
#include "report/results/record_files.h"
#include "runtime/contract/job_name.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

constexpr uint64_t kAnswerHolds_ns = 1'000'000'000;
constexpr uint64_t kYesHolds_ns = 100'000'000;  // the record of a lower rank may come later

}  // namespace

Watcher watcher_of(const std::string& directory, int own_rank) {
    for (const RankFile& file : all_record_files(directory)) {
        if (own_rank < 0 || file.rank == static_cast<unsigned long>(own_rank)) {
            return Watcher::kThis;
        }
        const std::optional<FileHeader> header = read_header(directory + "/" + file.name);
        if (!header || header->watcher <= 0 || !process_is_alive(header->watcher)) continue;
        // `dwell run` stops with its program, and cannot watch then.
        if (process_state(header->watcher) != 'T') return Watcher::kAnother;
    }
    return Watcher::kNobody;
}

void JobWatch::start(int wait_ms) {
    if (page_ != nullptr) thread_.start([this, wait_ms](int stop) { watch(stop, wait_ms); });
}

void JobWatch::watch(int stop, int wait_ms) {
    pollfd stopped{stop, POLLIN, 0};
    while (poll(&stopped, 1, wait_ms) == 0) {
        const uint32_t jobs = std::min(status_read(&page_->jobs), kStatusJobs);
        for (uint32_t i = 0; i < jobs; ++i) {
            char directory[4096];
            if (status_read(&page_->job[i].done) != 0 &&
                record_directory(directory, sizeof directory, page_->job[i].name)) {
                look_at(directory);
            }
        }
    }
}

void JobWatch::look_at(const std::string& directory) {
    Answer& answer = answers_[directory];
    const uint64_t now_ns = monotonic_ns();
    const bool was_this = answer.watcher == Watcher::kThis;
    // A job that has no records yet will have some soon, and may be short.
    const bool is_new = answer.watcher == Watcher::kNobody && last_.count(directory) == 0;
    const uint64_t holds_ns = is_new ? 0 : was_this ? kYesHolds_ns : kAnswerHolds_ns;
    if (answer.known_ns == 0 || now_ns - answer.known_ns > holds_ns) {
        answer = {watcher_of(directory, own_rank_), now_ns};
    }
    if (answer.watcher == Watcher::kNobody) return;
    Watcher& last = last_[directory];
    const bool taken_over = last == Watcher::kAnother && answer.watcher == Watcher::kThis;
    last = answer.watcher;
    if (last == Watcher::kThis) look_(directory, taken_over);
}

}  // namespace dwell
