// Runs `dwell run` in order: inspects the program, makes the status page, sets the environment and
// runs the program. Then page and record files show how it ended: profile written by the library,
// records to keep, a program without MPI (serial profile), or a program that could not be observed.
#include "report/launch/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "report/console/metric_names.h"
#include "report/console/output.h"
#include "report/console/process.h"
#include "report/launch/below.h"
#include "report/launch/job_lines.h"
#include "report/launch/launch.h"
#include "report/launch/omp_exchange.h"
#include "report/launch/serial.h"
#include "report/results/crash_recovery.h"
#include "report/results/show.h"
#include "report/sampling/sample_drain.h"
#include "report/watch/death_watch.h"
#include "report/watch/event_watch.h"
#include "report/watch/live_writer.h"
#include "report/watch/occupancy.h"
#include "report/watch/watchdog.h"
#include "runtime/contract/job_name.h"
#include "runtime/contract/settings.h"
#include "runtime/contract/status_page.h"
#include "runtime/process/clock.h"
#include "runtime/process/out_directory.h"

namespace dwell {
namespace {

constexpr int kDefaultSampleHz = 100;
constexpr int kFirstTickMs = 10;
constexpr int kLastTickMs = 10'000;
constexpr const char* kExchangeOmp = "ompt";

// The status page; other processes open it through the descriptor of this process.
class OwnStatusPage {
  public:
    OwnStatusPage() {
        // Above the standard descriptors, which may be closed now and be reused later.
        const int made = memfd_create("dwell-status", MFD_CLOEXEC);
        file_ = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (made >= 0) close(made);
        if (file_ < 0 || posix_fallocate(file_, 0, sizeof(StatusPage)) != 0) return;
        void* bytes =
            mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (bytes == MAP_FAILED) return;
        page_ = static_cast<StatusPage*>(bytes);
        page_->within_launcher = launcher_rank() >= 0 ? 1 : 0;
        page_->magic = kStatusMagic;
    }
    ~OwnStatusPage() {
        if (file_ >= 0) close(file_);
    }
    OwnStatusPage(const OwnStatusPage&) = delete;
    OwnStatusPage& operator=(const OwnStatusPage&) = delete;

    StatusPage* page() const { return page_; }
    std::string path() const {
        return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
    }

  private:
    int file_ = -1;
    StatusPage* page_ = nullptr;
};

void set_or_clear(const char* variable, const std::string& value) {
    if (value.empty()) {
        unsetenv(variable);
    } else {
        setenv(variable, value.c_str(), 1);
    }
}

void set_environment(const RunOptions& options, const OwnStatusPage& status) {
    for (size_t i = 0; i < std::size(kSettings); ++i) {
        set_or_clear(kSettings[i].variable, options.*kSettingTexts[i]);
    }
    for (const RunFlag& flag : kRunFlags) {
        set_or_clear(flag.variable, options.*flag.flag ? "1" : "");
    }
    set_or_clear("DWELL_OUT", options.out);
    set_or_clear("DWELL_ENABLE", options.enable);
    set_or_clear("DWELL_COMMAND", own_path());
    set_or_clear("DWELL_RUN_PID", std::to_string(getpid()));
    set_or_clear("DWELL_STATUS", status.page() == nullptr ? "" : status.path());
}

// Puts libdwell.so into LD_PRELOAD, and libomp if it replaces libgomp. Returns a reason if that
// cannot work.
std::string set_preload(const std::string& libomp) {
    const std::optional<std::string> library = find_library();
    if (!library) return "libdwell.so was not found beside " + own_path();
    if (library->find_first_of(" :") != std::string::npos) {
        return *library + " cannot be preloaded: its path holds a space or a colon";
    }
    const char* before = getenv("LD_PRELOAD");
    std::string entries = before == nullptr ? "" : before;
    if (!libomp.empty()) entries = preload_value(libomp, entries);
    setenv("LD_PRELOAD", preload_value(*library, entries).c_str(), 1);
    // Kokkos opens the tool that one of two variables names.
    if (getenv("KOKKOS_PROFILE_LIBRARY") == nullptr) {
        setenv("KOKKOS_TOOLS_LIBS", library->c_str(), 0);
    }
    return {};
}

void write_occupancy(const std::string& out, Occupancy* sampled) {
    const std::string place = sampled->place(out);
    std::error_code error;
    std::filesystem::create_directories(place, error);
    const std::string path = place + "/" + kOccupancyPrefix + sampled->host() + kOccupancySuffix;
    const Outcome written = write_file(path, sampled->tables(), 0644);
    if (!written) say(written.error());
}

// False: neither this `dwell run` has samples, nor may another one have them.
bool write_occupancies(const std::string& out, const std::map<std::string, Watcher>& watchers,
                       std::map<std::string, Occupancy>* occupancy) {
    bool sampled = false;
    for (const auto& [directory, watcher] : watchers) {
        Occupancy& of_job = (*occupancy)[directory];
        if (watcher == Watcher::kThis && of_job.samples() == 0) continue;
        if (watcher == Watcher::kThis) write_occupancy(out, &of_job);
        sampled = true;
    }
    return sampled;
}

// One `dwell run` may run inside another; the outer one gets the observations of the inner one.
void update_outer_page(StatusPage* outer, const StatusPage* inner) {
    if (outer == nullptr || inner == nullptr) return;
    const uint32_t jobs = std::min(status_read(&inner->jobs), kStatusJobs);
    for (uint32_t i = 0; i < jobs; ++i) {
        if (status_read(&inner->job[i].done) == 0) continue;
        status_mpi_entered(outer, inner->job[i].name);
        if (status_read(&inner->mpi_processes) == 0) continue;
        status_mpi_started(outer, inner->job[i].name, int(status_read(&inner->world_size)),
                           int(status_read(&inner->observed)));
    }
    if (status_read(&inner->said_why) != 0) status_said_why(outer);
    status_omp_unseen(outer, status_read(&inner->omp_unseen));
}

int end_timeout_s(const RunOptions& options) {
    const int seconds = atoi(options.end_timeout.c_str());
    return seconds != 0 ? seconds : Recovery{}.end_timeout_s;
}

void for_each_job(const StatusPage* page, const RunOptions& options, const std::string& end,
                  const std::function<void(const Recovery&)>& use) {
    Recovery rescue;
    rescue.own_rank = launcher_rank();
    rescue.out_directory = options.out;
    const std::string name = std::filesystem::path(options.command.front()).filename().string();
    rescue.program =
        rescue.own_rank < 0 ? name : "rank " + std::to_string(rescue.own_rank) + " (" + name + ")";
    rescue.what_happened = rescue.program + " " + end;
    rescue.pid = page->child_pid;
    rescue.end_timeout_s = end_timeout_s(options);
    const uint32_t jobs = std::min(status_read(&page->jobs), kStatusJobs);
    for (uint32_t i = 0; i < jobs; ++i) {
        if (status_read(&page->job[i].done) == 0) continue;
        rescue.job = page->job[i].name;
        use(rescue);
    }
}

// For every job on the page; true when records were kept. `report`: with their profile.
bool recover_all(const StatusPage* page, const RunOptions& options, int wait_status, bool report) {
    bool kept = false;
    for_each_job(page, options, describe_end(wait_status), [&](Recovery rescue) {
        rescue.report = report;
        kept = recover_records(rescue) || kept;
    });
    return kept;
}

// After SIGTERM a batch system or launcher kills the job some time later: 30 s with Slurm's
// defaults. A program that is still there after a part of that has its records saved before.
class TermRescue {
  public:
    TermRescue(const StatusPage* page, const RunOptions& options)
        : page_(page), options_(options) {}
    void note_term() {
        if (term_ns_ == 0) term_ns_ = monotonic_ns();
    }
    bool term_seen() const { return term_ns_ != 0; }
    // Milliseconds until the next call; 0: as without a signal.
    int tick() {
        constexpr uint64_t kPatience_ns = 10'000'000'000;
        if (term_ns_ == 0 || is_done_ || page_ == nullptr) return 0;
        const uint64_t since_ns = monotonic_ns() - term_ns_;
        if (since_ns < kPatience_ns)
            return static_cast<int>((kPatience_ns - since_ns) / 1'000'000) + 1;
        is_done_ = true;
        for_each_job(page_, options_, "",
                     [this](const Recovery& rescue) { saved_.push_back(save_records(rescue)); });
        return 0;
    }
    // The program has ended well: its profile has everything.
    void remove_copies() const {
        for (const SavedRecords& saved : saved_)
            dwell::remove_copies(saved, end_timeout_s(options_));
    }

  private:
    const StatusPage* page_;
    const RunOptions& options_;
    uint64_t term_ns_ = 0;
    bool is_done_ = false;
    std::vector<SavedRecords> saved_;
};

// Observed by its MPI calls or by the probes of an instrumented program.
bool is_observed(const StatusPage* page) {
    return status_read(&page->mpi_processes) != 0 || status_read(&page->probed) != 0;
}

// Why nothing was observed; empty where the reason was printed already.
std::string reason_of_silence(const StatusPage* page, const RunOptions& options,
                              const Target& target, const Below& below, int wait_status) {
    const std::string& program = options.command.front();
    // The process printed the reason itself.
    if (status_read(&page->said_why) != 0) return {};
    if (const uint32_t entered = status_read(&page->mpi_entered); entered != 0) {
        if (target.launcher) {
            return "MPI_Init failed, or was not done, in " + std::to_string(entered) +
                   (entered == 1 ? " process of " : " processes of ") + program +
                   ": nothing was observed";
        }
        if (WIFSIGNALED(wait_status)) {
            return program + " " + describe_end(wait_status) + " before MPI_Init was done";
        }
        return program + ": MPI_Init failed, nothing was observed";
    }
    if (status_read(&page->mpi_passed_by) != 0) {
        return program + " used MPI (" + page->mpi_library +
               "), but its calls passed dwell by: it looks them up where dwell's are not found "
               "(dlopen with RTLD_DEEPBIND, or a library that stands in between); link with MPI, "
               "or have dwell's library first in LD_PRELOAD";
    }
    const std::string loaded =
        status_read(&page->child_loaded) != 0 && status_read(&page->child_ended) == 0
            ? page->child_name
            : "";
    const std::string found = below.explain(options.command, loaded);
    if (!found.empty()) return found;
    if (target.launcher) {
        return program +
               " started no MPI program that could be observed on this node (statically "
               "linked, setuid, without MPI, or on another node)";
    }
    if (status_read(&page->child_loaded) == 0) {
        return program + " ran unobserved: libdwell.so gave no sign of life in it";
    }
    if (WIFSIGNALED(wait_status)) {
        return program + " " + describe_end(wait_status) + " before it called MPI_Init";
    }
    if (status_read(&page->mpi_unused) != 0) {
        return program + " called no MPI_Init, though it is linked with MPI";
    }
    const bool asked = options.io == "on" || (!options.metrics.empty() && options.metrics != "off");
    return program + " called no MPI_Init: a program without MPI" +
           (asked ? "; --io and --metrics tell of programs with MPI, OpenMP or probes (dwell-gcc) "
                    "alone"
                  : "");
}

// Prints the messages that processes left on the page, each once.
void say_notes(StatusPage* page, StatusPage* outer, JobLines* lines) {
    for (uint32_t i = 0; i < std::min(status_read(&page->notes), kStatusNotes); ++i) {
        const StatusPage::Note& note = page->note[i];
        const std::vector<int> ranks(note.ranks, note.ranks + std::min(note.count, kStatusRanks));
        const std::string text = text_in(note.text);
        if (outer != nullptr) {
            for (const int rank : ranks) status_note(outer, text.c_str(), rank);
        } else if (launcher_rank() >= 0 || ranks.front() < 0) {
            lines->say(text);
        } else {
            say(text + " (" + ranks_text(ranks, note.count) + ")");
        }
    }
    if (const uint32_t more = status_read(&page->notes_left_out); more != 0) {
        lines->say("processes had " + std::to_string(more) + (more == 1 ? " line" : " lines") +
                   " more to say, for which there is no room");
    }
}

// Two ranks that started at the same time may both have entered a job.
bool is_one_job(const StatusPage* page) {
    const uint32_t jobs = status_read(&page->jobs);
    for (uint32_t i = 1; i < std::min(jobs, kStatusJobs); ++i) {
        if (strcmp(page->job[i].name, page->job[0].name) != 0) return false;
    }
    return jobs != 0 && jobs <= kStatusJobs;
}

// Ranks that should have been observed and were not, which only a `dwell run` around a launcher
// knows, and observed ranks whose records are out of reach.
void explain_missing(const StatusPage* page, const Target& target, bool records_kept) {
    const uint32_t here = status_read(&page->mpi_processes);
    const uint32_t observed = std::max(here, status_read(&page->observed));
    const uint32_t world = status_read(&page->world_size);
    if (!target.launcher || here == 0 || !is_one_job(page)) return;
    const uint32_t explained = observed + status_read(&page->said_why);
    if (explained < world) {
        say(std::to_string(world - explained) + " of " + std::to_string(world) +
            " ranks gave no sign of life: statically linked, setuid, or on another host, which "
            "only `mpirun ... dwell run PROGRAM` reaches");
    }
    char directory[4096];
    if (records_kept && here < observed &&
        record_directory(directory, sizeof directory, page->job[0].name)) {
        say("the records of the other " + std::to_string(observed - here) +
            " observed ranks are on their own hosts, in " + directory);
    }
}

int explain_start_error(const RunOptions& options, int error, JobLines* lines) {
    const std::string& program = options.command.front();
    WantedEvents ignored;
    const bool is_word = !options.events.empty() && read_wanted_events(program.c_str(), &ignored);
    lines->say(program + ": " + (error == ENOENT ? "not found" : strerror(error)) +
               (error == ENOENT && is_word ? "; write --events=" + program : ""));
    return error == ENOENT ? 127 : 126;
}

int sample_hz(const std::string& setting) {
    if (setting == "off") return 0;
    return setting.empty() ? kDefaultSampleHz : atoi(setting.c_str());
}

// Returns false, after one line of explanation, when the records or the profile cannot be stored.
bool places_are_good(const RunOptions& options, const Target& target, JobLines* lines) {
    const char* records = getenv("DWELL_RECORD_DIR");
    if (records != nullptr && *records != '\0') {
        if (const int obstacle = standing_directory_obstacle(records); obstacle != 0) {
            lines->say("no records can be written to DWELL_RECORD_DIR=" + std::string(records) +
                       ": " + strerror(obstacle));
            return false;
        }
    }
    const bool named = !options.out.empty();
    const int obstacle = directory_obstacle(named ? options.out.c_str() : ".");
    if (obstacle == 0) return true;
    // Rank 0 writes the profile; its directory may be missing on other hosts.
    if (launcher_rank() > 0 && (!named || launcher_spans_hosts())) return true;
    std::error_code error;
    const std::string place = named ? options.out : std::filesystem::current_path(error).string();
    const std::string line = "no profile can be written to " + place + ": " + strerror(obstacle);
    // Without a place the library keeps its records of MPI elsewhere and reports where; samples of
    // a program without MPI would be lost.
    if (!named && (target.launcher || launcher_rank() == 0 || target.mpi)) {
        lines->say(line +
                   "; the records will be kept elsewhere, -o DIR names a place for the profile");
        return true;
    }
    lines->say(line + (named ? "" : "; -o DIR names another place"));
    return false;
}

// What happens to a program that cannot load libdwell.so.
std::string how_unobserved(const Target& target, bool may_be_serial, int hz) {
    if (!may_be_serial) return "it is not observed";
    if (hz == 0 || !target.sampled) return "the program is not observed, only timed from outside";
    return "no MPI or OpenMP calls are observed, the program is only sampled from outside";
}

// The value of DWELL_WIDTH: empty without a terminal. Launchers redirect the standard error of
// ranks, but ranks on the launcher's host keep its terminal.
std::string width_setting() {
    int width = terminal_width(STDERR_FILENO);
    if (width == 0 && launcher_rank() >= 0) {
        const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
        width = terminal_width(terminal);
        if (terminal >= 0) close(terminal);
    }
    return width == 0 ? "" : std::to_string(width);
}

// The program may change its directory before the paths are used.
RunOptions with_whole_paths(const RunOptions& given) {
    RunOptions options = given;
    std::error_code error;
    for (std::string* path :
         {&options.out, &options.enable, &options.events_sites, &options.events_filter}) {
        if (path->empty()) continue;
        const auto absolute = std::filesystem::absolute(*path, error);
        if (!error) *path = absolute.string();
    }
    options.out = std::filesystem::path(options.out).lexically_normal().string();
    return options;
}

bool writes_events(const RunOptions& options) {
    return !options.events.empty() && options.events != "off";
}

tl::expected<std::unique_ptr<EventFilters>, std::string> start_filters(const RunOptions& options) {
    if (!writes_events(options)) return nullptr;
    EventTrigger trigger;
    read_event_trigger(options.events_longer.c_str(), &trigger);
    auto filters = EventFilters::start(trigger, options.events_filter);
    if (!filters) return tl::make_unexpected("--events-filter: " + filters.error());
    return filters;
}

// Kinds of events that only another option makes.
void tell_of_missing_events(const RunOptions& options, JobLines* lines) {
    WantedEvents wanted;
    read_wanted_events(options.events.c_str(), &wanted);
    if (!wanted.on || !wanted.names_kinds) return;
    if ((wanted.kinds & event_bit(SiteKind::kIo)) != 0 && options.io != "on")
        lines->say("there will be no events of I/O: these need --io on");
    if ((wanted.kinds & kMetricEvents) != 0 &&
        (options.metrics.empty() || options.metrics == "off"))
        lines->say("there will be no events of metrics: these need --metrics");
}

// Returns false after one line of explanation.
bool may_start(const RunOptions& options, const Target& target, JobLines* lines) {
    if (!places_are_good(options, target, lines)) return false;
    const std::string unknown = unknown_metric(options.metrics);
    if (!unknown.empty()) {
        lines->say(unknown);
        return false;
    }
    if (options.omp == kExchangeOmp && target.launcher) {
        lines->say("--omp ompt looks at the program itself: " + options.command.front() +
                   " ... dwell run --omp ompt PROGRAM");
        return false;
    }
    return true;
}

}  // namespace

int run_command(const RunOptions& given) {
    RunOptions options = with_whole_paths(given);
    auto lines = std::make_unique<JobLines>();
    if (options.width.empty()) options.width = width_setting();
    if (launcher_rank() <= 0) {
        for_each_misspelt(environ, [](const char* entry, int length, const char* meant) {
            say(std::string(entry, static_cast<size_t>(length)) +
                " is no variable of dwell: " + meant + " is");
        });
    }
    const Target target = inspect_target(options.command.front());
    if (!may_start(options, target, lines.get())) return 2;
    auto started = start_filters(options);
    if (!started) {
        lines->say(started.error());
        return 2;
    }
    std::unique_ptr<EventFilters> filters = std::move(*started);
    tell_of_missing_events(options, lines.get());
    StatusPage* const outer = open_status_page();
    OwnStatusPage status;
    if (status.page() == nullptr) {
        lines->say("no room for a status page: what is not observed is not told");
    }
    std::string trouble = target.unobservable;
    OmpExchange exchange;
    if (options.omp == kExchangeOmp) {
        // A missing program is reported when its start fails.
        if (trouble.empty() && !target.path.empty()) exchange = plan_omp_exchange(target.path);
        if (!exchange.obstacle.empty()) {
            lines->say("the OpenMP runtime is not exchanged: " + exchange.obstacle);
        }
        if (exchange.library.empty()) options.omp = "on";
    }
    set_environment(options, status);
    if (trouble.empty()) trouble = set_preload(exchange.library);
    const int hz = sample_hz(options.sample);
    const bool may_be_serial = !target.launcher && is_alone();
    if (!trouble.empty()) lines->say(trouble + ": " + how_unobserved(target, may_be_serial, hz));

    const pid_t parent = getppid();
    ProcessHooks hooks;
    SampleDrain drain;
    DeathWatch deaths(status.page(), launcher_rank());
    Watchdog watchdog(status.page(), launcher_rank(), atoi(options.watchdog.c_str()));
    LiveWriter live(status.page(), launcher_rank(), atoi(options.live.c_str()), options.out);
    EventWindow window;
    if (!options.events_window.empty()) read_event_window(options.events_window.c_str(), &window);
    EventRates rates;
    read_event_rates(options.events_rate.c_str(), &rates);
    EventWatch events(status.page(), launcher_rank(), options.out, window, options.events_window,
                      rates, options.events_full != "flush" && !window.is_timed,
                      std::move(filters));
    std::map<std::string, Occupancy> occupancy;  // by directory of a job
    bool others_sampled = false;
    const auto sample = [&](const std::string& directory, bool taken_over) {
        if (taken_over) occupancy.erase(directory);
        others_sampled = others_sampled || taken_over;
        occupancy[directory].look(directory, monotonic_ns());
    };
    JobWatch tally(status.page(), launcher_rank(), sample);
    SerialSampler sampler(hz, options.callpath != "1");
    hooks.before_exec = [&](pid_t child) {
        if (status.page() != nullptr) status.page()->child_pid = child;
        if (may_be_serial) sampler.start(child);
        drain.start();
        deaths.start();
        watchdog.start();
        live.start();
        if (options.tally) tally.start(1000 / kOccupancyHz);
        if (writes_events(options)) events.start();
    };
    Below below;
    int tick_ms = kFirstTickMs;
    TermRescue term_rescue(status.page(), options);
    hooks.signalled = [&](int number) {
        if (number == SIGTERM) term_rescue.note_term();
    };
    hooks.tick = [&] {
        if (const int more_ms = term_rescue.tick(); more_ms != 0) return more_ms;
        const StatusPage* page = status.page();
        const bool observed = page != nullptr && (is_observed(page) || page->mpi_entered != 0);
        if (page != nullptr && is_observed(page)) sampler.stop();
        sampler.drain();
        if (observed && !may_be_serial) return 0;
        if (page != nullptr && !observed && page->child_pid != 0) below.look(page->child_pid);
        tick_ms = std::min(2 * tick_ms, may_be_serial ? sampler.drain_ms() : kLastTickMs);
        return tick_ms;
    };
    hooks.ended = [&](pid_t child) {
        deaths.note_child(child);
        below.look_at_end(child);
    };
    const ProcessEnd end = run_process(options.command, hooks);
    drain.stop();
    deaths.stop();
    watchdog.stop();
    live.stop();
    live.clean_up();
    tally.stop();
    const std::vector<std::string> of_events = events.stop();
    if (end.start_error != 0) {
        return explain_start_error(options, end.start_error, lines.get());
    }
    lines->note_end(end.wait_status);
    // Of the whole host, whoever took them.
    for (const std::string& line : of_events) say(line);
    const bool sampled =
        options.tally && write_occupancies(options.out, tally.last_watchers(), &occupancy);
    if (options.tally && !sampled && !others_sampled) {
        lines->say("--tally: nothing was sampled: no observed rank ran for 20 ms on this host");
    }

    StatusPage* page = status.page();
    if (page != nullptr) {
        update_outer_page(outer, page);
        say_notes(page, outer, lines.get());
        // A launcher that has gone ended the job, and nobody reads a message.
        const bool report = term_rescue.term_seen() || getppid() != parent;
        const bool kept = recover_all(page, options, end.wait_status, report);
        if (!kept) term_rescue.remove_copies();
        if (!is_observed(page) && trouble.empty()) {
            const std::string why =
                reason_of_silence(page, options, target, below, end.wait_status);
            if (!why.empty()) lines->say(why);
        }
        explain_missing(page, target, kept);
        const bool serial = !is_observed(page) && may_be_serial;
        const bool refused =
            status_read(&page->said_why) != 0 || status_read(&page->mpi_entered) != 0;
        if (serial && !options.events.empty())
            lines->say("there are no events: these need MPI, OpenMP or probes");
        if (serial && !refused) {
            sampler.note_used(end.used);
            sampler.write_profile(options, status_read(&page->omp_unseen));
        }
    }
    watchdog.clean_up();
    lines.reset();
    end_like(end.wait_status);
}

}  // namespace dwell
