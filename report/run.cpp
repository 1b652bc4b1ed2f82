// The order of things: look at the program, make the status page, set the environment, run, and
// then from the page and the record files tell which of four ends it was: profile written by the
// library, records to keep, a program without MPI (serial profile), or a program that could not be
// observed.
#include "report/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "report/launch.h"
#include "report/output.h"
#include "report/process.h"
#include "report/rescue.h"
#include "report/serial.h"
#include "runtime/job_name.h"
#include "runtime/status_page.h"

namespace dwell {
namespace {

constexpr int kDefaultSampleHz = 100;
constexpr int kSamplerTickMs = 200;
constexpr long kLeftOverSeconds = 3600;

// The status page, and its file for as long as somebody may want to open it.
class OwnStatusPage {
  public:
    OwnStatusPage() {
        const char* temporary = getenv("TMPDIR");
        for (const char* folder : {"/dev/shm", temporary, "/tmp"}) {
            if (folder != nullptr && page_ == nullptr) create(folder);
        }
    }
    ~OwnStatusPage() { remove_file(); }
    OwnStatusPage(const OwnStatusPage&) = delete;
    OwnStatusPage& operator=(const OwnStatusPage&) = delete;

    // The page itself stays readable.
    void remove_file() {
        if (page_ != nullptr) unlink(path_.c_str());
    }
    StatusPage* page() const { return page_; }
    const std::string& path() const { return path_; }

  private:
    void create(const std::string& folder) {
        const std::string prefix = "dwell-" + std::to_string(getuid()) + "-status-";
        remove_left_over(folder, prefix);
        path_ = folder + "/" + prefix + std::to_string(getpid()) + "-XXXXXX";
        const int file = mkostemp(path_.data(), O_CLOEXEC);
        if (file < 0) return;
        void* bytes = MAP_FAILED;
        if (posix_fallocate(file, 0, sizeof(StatusPage)) == 0) {
            bytes = mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        }
        close(file);
        if (bytes == MAP_FAILED) {
            unlink(path_.c_str());
            return;
        }
        page_ = static_cast<StatusPage*>(bytes);
        page_->magic = kStatusMagic;
    }

    // Files whose `dwell run` was killed: by name its process is gone, and an hour has passed.
    static void remove_left_over(const std::string& folder, const std::string& prefix) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
            const std::string name = entry.path().filename().string();
            if (name.compare(0, prefix.size(), prefix) != 0) continue;
            const int pid = atoi(name.c_str() + prefix.size());
            struct stat about {};
            if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
            if (lstat(entry.path().c_str(), &about) != 0 || about.st_uid != geteuid()) continue;
            if (time(nullptr) - about.st_mtime > kLeftOverSeconds) unlink(entry.path().c_str());
        }
    }

    std::string path_;
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
    set_or_clear("DWELL_OUT", options.out);
    set_or_clear("DWELL_CALLPATH", options.callpath);
    set_or_clear("DWELL_SAMPLE", options.sample);
    set_or_clear("DWELL_PEERS", options.peers);
    set_or_clear("DWELL_MEMORY_MIB", options.memory_mib);
    set_or_clear("DWELL_ROW_LIMIT", options.row_limit);
    set_or_clear("DWELL_MERGE_TIMEOUT", options.merge_timeout);
    set_or_clear("DWELL_QUIET", options.quiet ? "1" : "");
    set_or_clear("DWELL_COMMAND", own_path());
    set_or_clear("DWELL_RUN_PID", std::to_string(getpid()));
    set_or_clear("DWELL_STATUS", status.page() == nullptr ? "" : status.path());
}

// Puts libdwell.so into LD_PRELOAD; a reason when that cannot work.
std::string set_preload() {
    const std::optional<std::string> library = find_library();
    if (!library) return "libdwell.so was not found beside " + own_path();
    if (library->find_first_of(" :") != std::string::npos) {
        return *library + " cannot be preloaded: its path holds a space or a colon";
    }
    const char* before = getenv("LD_PRELOAD");
    setenv("LD_PRELOAD", preload_value(*library, before == nullptr ? "" : before).c_str(), 1);
    // Kokkos opens the tool that its users name; two names are known to it.
    if (getenv("KOKKOS_PROFILE_LIBRARY") == nullptr) {
        setenv("KOKKOS_TOOLS_LIBS", library->c_str(), 0);
    }
    return {};
}

// One `dwell run` may stand inside another; the outer one learns what the inner one saw.
void tell_outer_page(StatusPage* outer, const StatusPage* inner) {
    if (outer == nullptr || inner == nullptr) return;
    const uint32_t jobs = std::min(status_read(&inner->jobs), kStatusJobs);
    for (uint32_t i = 0; i < jobs; ++i) {
        if (status_read(&inner->job[i].done) == 0) continue;
        status_mpi_started(outer, inner->job[i].name, int(status_read(&inner->world_size)));
    }
    if (status_read(&inner->message_done) != 0) status_message(outer, inner->message);
}

// Every job that the page knows.
void rescue_all(const StatusPage* page, const RunOptions& options, int wait_status) {
    Rescue rescue;
    rescue.own_rank = launcher_rank();
    rescue.out_directory = options.out;
    const std::string name = std::filesystem::path(options.command.front()).filename().string();
    rescue.what_happened =
        (rescue.own_rank < 0 ? name
                             : "rank " + std::to_string(rescue.own_rank) + " (" + name + ")") +
        " " + describe_end(wait_status);
    const uint32_t jobs = std::min(status_read(&page->jobs), kStatusJobs);
    for (uint32_t i = 0; i < jobs; ++i) {
        if (status_read(&page->job[i].done) == 0) continue;
        rescue.job = page->job[i].name;
        rescue_records(rescue);
    }
}

// One line when nothing was observed, and why.
void explain_silence(const StatusPage* page, const RunOptions& options, const Target& target,
                     const std::string& trouble, int wait_status) {
    const std::string& program = options.command.front();
    if (status_read(&page->message_done) != 0) return say(page->message);
    if (!trouble.empty()) return;  // said before the start
    if (target.launcher) {
        return say(program +
                   " started no MPI program that could be observed on this node (statically "
                   "linked, setuid, without MPI, or on another node)");
    }
    if (status_read(&page->child_loaded) == 0) {
        return say(program + " ran unobserved: libdwell.so gave no sign of life in it");
    }
    if (WIFSIGNALED(wait_status)) {
        return say(program + " " + describe_end(wait_status) + " before MPI_Init was done");
    }
    say(program + " called no MPI_Init: a program without MPI");
}

// Ranks on this node that should have been seen and were not. Only around a launcher is that known,
// and only when every rank runs here.
void explain_missing(const StatusPage* page, const Target& target) {
    const uint32_t seen = status_read(&page->mpi_processes);
    const uint32_t world = status_read(&page->world_size);
    if (!target.launcher || seen == 0 || seen >= world || status_read(&page->jobs) != 1) return;
    say(std::to_string(world - seen) + " of " + std::to_string(world) +
        " ranks gave no sign of life (on another node, statically linked, or setuid)");
}

int explain_start_error(const std::string& program, int error) {
    say(program + ": " + (error == ENOENT ? "not found" : strerror(error)));
    return error == ENOENT ? 127 : 126;
}

int sample_hz(const std::string& setting) {
    if (setting == "off") return 0;
    return setting.empty() ? kDefaultSampleHz : atoi(setting.c_str());
}

}  // namespace

int run_command(const RunOptions& given) {
    RunOptions options = given;
    if (!options.out.empty()) {
        std::error_code error;
        const auto absolute = std::filesystem::absolute(options.out, error);
        if (!error) options.out = absolute.lexically_normal().string();
    }
    const Target target = inspect_target(options.command.front());
    StatusPage* const outer = open_status_page();
    OwnStatusPage status;
    if (status.page() == nullptr)
        say("no room for a status page: what is not observed is not told");
    set_environment(options, status);
    std::string trouble = target.unobservable;
    if (trouble.empty()) trouble = set_preload();
    if (!trouble.empty()) say(trouble + ": its MPI calls are not observed");

    ProcessHooks hooks;
    SerialSampler sampler(sample_hz(options.sample));
    const bool may_be_serial = !target.launcher && launcher_rank() < 0;
    hooks.before_exec = [&](pid_t child) {
        if (status.page() != nullptr) status.page()->child_pid = child;
        if (may_be_serial) sampler.start(child);
    };
    if (may_be_serial) hooks.tick_ms = kSamplerTickMs;
    hooks.tick = [&] {
        const StatusPage* page = status.page();
        if (page != nullptr && status_read(&page->mpi_processes) != 0) sampler.stop();
        sampler.drain();
    };
    const ProcessEnd end = run_process(options.command, hooks);
    status.remove_file();  // a launcher in a hurry may kill us from here on
    if (end.start_error != 0) return explain_start_error(options.command.front(), end.start_error);

    const StatusPage* page = status.page();
    if (page != nullptr) {
        tell_outer_page(outer, page);
        rescue_all(page, options, end.wait_status);
        if (status_read(&page->mpi_processes) == 0)
            explain_silence(page, options, target, trouble, end.wait_status);
        explain_missing(page, target);
        const bool serial = status_read(&page->mpi_processes) == 0 && may_be_serial;
        if (serial && status_read(&page->message_done) == 0) {
            sampler.write_profile(options);
        }
    }
    end_like(end.wait_status);
}

}  // namespace dwell
