// One thread collects, another one raises its priority; see event_watch.h.
#include "report/watch/event_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "report/console/output.h"

namespace dwell {
namespace {

constexpr int kLook_ms = 20;
constexpr int kBusyLook_us = 1000;
constexpr int kHurry_ms = 10;
constexpr int kHurries = 100;  // looks at normal priority, then idle again

void set_idle(pid_t thread, bool idle) {
    const sched_param none{};
    sched_setscheduler(thread, idle ? SCHED_IDLE : SCHED_OTHER, &none);
}

std::string why_none(const std::string& window) {
    if (window.empty())
        return "events: none, because nothing took place that --events and its options choose";
    if (window == "off")
        return "events: none, because nobody switched them on (dwell events JOB on, "
               "dwell_events_on())";
    return "events: none, because --events-window " + window + " did not begin";
}

}  // namespace

void EventWatch::start() {
    watch_.start(kLook_ms);
    hurrying_.start([this](int stop) { hurry(stop); });
}

void EventWatch::look(const std::string& directory) {
    if (worker_.load() == 0) {
        worker_.store(static_cast<pid_t>(syscall(SYS_gettid)));
        if (is_idle_) set_idle(0, true);
    }
    for (bool busy = true; busy;) {
        {
            const std::lock_guard lock(mutex_);
            busy = collector_.look(directory);
        }
        looks_.fetch_add(1);
        if (busy) usleep(kBusyLook_us);
    }
    timespec used{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
        used_ns_ = static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 +
                   static_cast<uint64_t>(used.tv_nsec);
}

void EventWatch::hurry(int stop) {
    pollfd stopped{stop, POLLIN, 0};
    int hurries = 0;
    uint64_t looks = 0;
    while (poll(&stopped, 1, kHurry_ms) == 0) {
        const pid_t worker = worker_.load();
        if (worker == 0 || !is_idle_) continue;
        // While the worker holds the lock, it may be waiting for a processor.
        const uint64_t now = looks_.load();
        bool behind = now == looks;
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock())
            behind = collector_.is_behind();
        looks = now;
        if (behind && hurries == 0) set_idle(worker, false);
        if (behind) {
            hurries = kHurries;
        } else if (hurries != 0 && --hurries == 0) {
            set_idle(worker, true);
        }
    }
}

std::vector<std::string> EventWatch::stop() {
    hurrying_.stop();
    if (const pid_t worker = worker_.load(); worker != 0) set_idle(worker, false);
    watch_.stop();
    std::vector<std::string> lines;
    for (const CollectedEvents& events : collector_.finish()) {
        if (!events.log.empty() && events.words != 0) {
            lines.push_back(fmt::format(
                "events: {} ({:.1f} MB, {:.2f} s of a processor beside the ranks)", events.log,
                static_cast<double>(events.bytes) * 1e-6, static_cast<double>(used_ns_) * 1e-9));
        }
        if (!events.are_there && events.error.empty() && events.threads_without == 0)
            lines.push_back(why_none(window_text_));
        if (filters_ && events.filter) {
            for (std::string& line : filters_->lines_of(*events.filter))
                lines.push_back("events: " + line);
        }
        const std::vector<std::string> losses = losses_of(events);
        lines.insert(lines.end(), losses.begin(), losses.end());
    }
    if (const std::string fault = filters_ ? filters_->finish() : ""; !fault.empty())
        lines.push_back("events: " + fault);
    return lines;
}

}  // namespace dwell
