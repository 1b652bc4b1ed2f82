// Runs `dwell top`: one table, lines of JSON, or a terminal; see top.h.
#include "report/top/top.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "report/console/output.h"
#include "report/console/process.h"
#include "report/live/live_job.h"
#include "report/results/show.h"
#include "report/top/job_list.h"
#include "report/top/live_view.h"
#include "report/top/top_json.h"
#include "report/top/top_screen.h"
#include "report/top/top_state.h"
#include "report/top/top_text.h"
#include "runtime/process/clock.h"

namespace dwell {
namespace {

constexpr int kAlarmCode = 3;
constexpr int kIdle_ms = 60'000;  // without news the terminal waits for keys only

int64_t monotonic() { return static_cast<int64_t>(monotonic_ns()); }

int fail(const std::string& text) {
    say(text);
    return 1;
}

// Readers that have seen enough close the pipe: that is no error.
enum class Written { kAll, kClosed, kFailed };
Written print(const std::string& text) {
    const Outcome written = write_all(STDOUT_FILENO, text, "standard output");
    if (written) return Written::kAll;
    if (written.error().find(strerror(EPIPE)) != std::string::npos) return Written::kClosed;
    say(written.error());
    return Written::kFailed;
}

std::string text_of(const std::vector<TopLine>& lines) {
    std::string text;
    for (const TopLine& line : lines) text += line.text + "\n";
    return text;
}

class Command {
  public:
    Command(const TopOptions& options, std::vector<TopAlarm> alarms)
        : options_(options), alarms_(std::move(alarms)) {
        choice_.lines = options.lines;
        choice_.rates = options.rates;
        choice_.sort = column_of_word(options.sort).value_or(TopColumn::kTime);
        choice_.filter = options.filter;
        choice_.depth = options.depth;
        choice_.folds_small = !options.json;
        rank_ = options.rank < 0 ? kAllRanks : static_cast<uint32_t>(options.rank);
        paper_.utf8 = locale_is_utf8() && !options.ascii;
        paper_.width = options.width != 0 ? options.width : terminal_width(STDOUT_FILENO);
        if (paper_.width == 0) paper_.width = 80;
        interval_ns_ = static_cast<int64_t>(options.interval_s * 1e9);
    }

    int run() {
        const bool on_terminal = !options_.once && !options_.json && can_draw();
        if (options_.job.empty()) {
            const std::vector<UserJob> jobs = running_jobs();
            if (jobs.size() > 1 && !on_terminal) return print_jobs(jobs);
            if (jobs.size() > 1) return on_screen("");
        }
        const tl::expected<std::string, std::string> directory = find_job(options_.job, "top");
        if (!directory) return fail(directory.error());
        if (on_terminal) return on_screen(*directory);
        std::string trouble;
        return open(*directory, &trouble) ? print_readings() : fail(trouble);
    }

  private:
    // Says why where it prints one table instead.
    static bool can_draw() {
        if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) return false;
        const char* const term = getenv("TERM");
        if (term != nullptr && *term != '\0' && strcmp(term, "dumb") != 0) return true;
        say(std::string("TERM is ") + (term == nullptr || *term == '\0' ? "not set" : term) +
            ": nothing can be drawn; one table, as with --once");
        return false;
    }

    bool open(const std::string& directory, std::string* trouble) {
        tl::expected<LiveView, std::string> view = LiveView::open(directory);
        if (!view) {
            *trouble = view.error();
            return false;
        }
        view_ = std::make_unique<LiveView>(std::move(*view));
        model_ = std::make_unique<TopModel>();
        state_ = std::make_unique<TopState>(choice_, alarms_);
        state_->show_rank(rank_);
        return true;
    }

    const LiveSnapshot& read(uint32_t rank, bool with_ranks) {
        const LiveSnapshot& snapshot = view_->read(rank, with_ranks);
        model_->take(snapshot);
        return snapshot;
    }

    int print_jobs(const std::vector<UserJob>& jobs) const {
        const std::string text = options_.json ? jobs_json(jobs)
                                               : text_of(job_lines(jobs, unix_ns(), paper_)) +
                                                     "To see one of them type: dwell top JOB\n";
        return print(text) == Written::kFailed ? 1 : 0;
    }

    std::string table_text(const LiveSnapshot& snapshot) const {
        const TopTable table = model_->table(choice_);
        std::string text = text_of(head_lines(snapshot, table, choice_, alarms_, paper_)) + "\n" +
                           text_of(table_lines(table, choice_, alarms_, paper_));
        if (options_.per_rank) text += "\n" + text_of(rank_lines(snapshot, paper_));
        const std::vector<TopLine> waits = wait_lines(snapshot, paper_);
        if (!waits.empty()) text += "\nIn calls now:\n" + text_of(waits);
        return text;
    }

    int print_readings() {
        const bool once = options_.once || !options_.json;
        int64_t next_ns = monotonic();
        for (bool first = true;; first = false) {
            const LiveSnapshot& snapshot = read(rank_, options_.per_rank);
            if (!has_rank(snapshot)) {
                return fail("rank " + std::to_string(rank_) + " has no records here");
            }
            const bool waits_for_rates = once && first && choice_.rates && !snapshot.is_final;
            if (!waits_for_rates) {
                const Written written = print(
                    options_.json ? top_json(snapshot, *model_, choice_, alarms_, options_.per_rank)
                                  : table_text(snapshot));
                if (written == Written::kFailed) return 1;
                if (written == Written::kClosed) return 0;
                if (once && any_raised()) return kAlarmCode;
                if (once || snapshot.is_final) return snapshot.left_out == 0 ? 0 : 1;
            }
            next_ns = std::max(next_ns + interval_ns_, monotonic());
            const timespec until{next_ns / 1'000'000'000, next_ns % 1'000'000'000};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        }
    }

    bool has_rank(const LiveSnapshot& snapshot) const {
        return rank_ == kAllRanks ||
               std::any_of(snapshot.ranks.begin(), snapshot.ranks.end(),
                           [this](const LiveRank& known) { return known.rank == rank_; });
    }

    bool any_raised() const {
        const TopTable table = model_->table(choice_);
        return std::any_of(alarms_.begin(), alarms_.end(), [&](const TopAlarm& alarm) {
            return is_raised(alarm, table.job, table.whole_ns);
        });
    }

    // `directory` is empty: first the list of jobs.
    int on_screen(const std::string& directory) {
        std::string job = directory;
        std::string trouble;
        if (!job.empty() && !open(job, &trouble)) return fail(trouble);
        TopScreen screen;
        if (!screen.is_open()) {
            say(std::string("the terminal ") + getenv("TERM") +
                " is not known here: one table, as with --once");
            return job.empty() ? print_jobs(running_jobs()) : print_readings();
        }
        while (true) {
            if (job.empty() && !choose_job(&screen)) return 0;
            if (watch(&screen) == TopWish::kEnd) return 0;
            job.clear();
        }
    }

    TopPaper paper_of(const TopScreen& screen) const {
        return {options_.width != 0 ? std::min(options_.width, screen.width()) : screen.width(),
                paper_.utf8};
    }

    // Milliseconds until the next reading.
    int wait_ms(int64_t read_ns) const {
        const int64_t left_ns = read_ns + interval_ns_ - monotonic();
        return static_cast<int>(std::clamp<int64_t>(left_ns / 1'000'000, 0, 3'600'000));
    }

    TopWish watch(TopScreen* screen) {
        while (true) {
            const int64_t read_ns = monotonic();
            const LiveSnapshot& snapshot = read(state_->rank(), state_->shows_ranks());
            for (bool again = false; !again;) {
                int selected = -1;
                const std::vector<TopLine> lines = state_->picture(
                    snapshot, *model_, screen->height(), paper_of(*screen), &selected);
                screen->draw(lines, selected);
                const int key = screen->key(snapshot.is_final ? kIdle_ms : wait_ms(read_ns));
                if (key == TopScreen::kGone) return TopWish::kEnd;
                if (key == TopScreen::kResized) continue;
                const TopWish wish = key < 0 ? TopWish::kNothing : state_->press(key, snapshot);
                if (wish == TopWish::kEnd || wish == TopWish::kJobs) return wish;
                again = wish == TopWish::kReading || (wait_ms(read_ns) == 0 && !snapshot.is_final);
            }
        }
    }

    // Opens the job that the user chooses, or goes on with the one before; false: ends.
    bool choose_job(TopScreen* screen) {
        size_t chosen = 0;
        std::string trouble;
        while (true) {
            const std::vector<UserJob> jobs = running_jobs();
            if (chosen >= jobs.size()) chosen = jobs.empty() ? 0 : jobs.size() - 1;
            std::vector<TopLine> lines = job_lines(jobs, unix_ns(), paper_of(*screen));
            if (jobs.empty()) lines.push_back({"no job of yours runs here"});
            if (!trouble.empty()) lines.push_back({trouble, TopStyle::kAlarm});
            const char* const back = view_ != nullptr ? ", escape goes back" : "";
            lines.push_back({std::string("enter shows a job, q ends") + back, TopStyle::kDim});
            screen->draw(lines, jobs.empty() ? -1 : static_cast<int>(chosen) + 1);
            const int key = screen->key(static_cast<int>(interval_ns_ / 1'000'000));
            if (key == 'q' || key == TopScreen::kGone) return false;
            if (key == kKeyEscape && view_ != nullptr) return true;
            if (key == kKeyUp && chosen > 0) --chosen;
            if (key == kKeyDown) ++chosen;
            if (key != kKeyEnter || jobs.empty()) continue;
            if (open(jobs[chosen].directory, &trouble)) return true;
        }
    }

    const TopOptions& options_;
    std::vector<TopAlarm> alarms_;
    TopChoice choice_;
    TopPaper paper_;
    uint32_t rank_ = kAllRanks;
    int64_t interval_ns_ = 0;
    std::unique_ptr<LiveView> view_;
    std::unique_ptr<TopModel> model_;
    std::unique_ptr<TopState> state_;
};

}  // namespace

int top_command(const TopOptions& options) {
    std::vector<TopAlarm> alarms;
    for (const std::string& text : options.alarms) {
        const std::optional<TopAlarm> alarm = parse_alarm(text);
        if (!alarm) {
            say("--alarm: '" + text +
                "' should be a part of the time, < or >, and a percentage, such as 'wait>30%'");
            return 2;
        }
        alarms.push_back(*alarm);
    }
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();  // one file for each rank
    return Command(options, std::move(alarms)).run();
}

}  // namespace dwell
