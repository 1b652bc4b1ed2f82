// Starts the observation of a process: reads the options, makes a record file, attaches the calling
// thread and calibrates costs (DESIGN 3, 4). What is missing is reported in one line, and the
// program runs on (DESIGN 5, rule 2).
#include "runtime/lifecycle/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/calltree/python_frames.h"
#include "runtime/contract/settings.h"
#include "runtime/events/event_flush.h"
#include "runtime/io/io_wrappers.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/lifecycle/record_directory.h"
#include "runtime/lifecycle/services.h"
#include "runtime/measure/metrics.h"
#include "runtime/measure/usage.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"
#include "runtime/process/file_limit.h"
#include "runtime/process/injection.h"
#include "runtime/process/out_directory.h"
#include "runtime/process/time_axis.h"
#include "runtime/sampling/sampling.h"
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

namespace {

bool g_attached = false;  // a record file was made
pid_t g_own_pid = 0;
enum class Asked { kNot, kGood, kBad } g_options_read = Asked::kNot;

__attribute__((constructor)) void note_start() {
    if (g_own_pid != 0) return;  // called before by an instrumented library's constructor
    g_own_pid = getpid();
    list_services();
    g_process.use_tsc = has_invariant_tsc();
    // The first call of the clock takes some 10 us, which would lie between the two readings.
    static_cast<void>(monotonic_ns());
    g_process.start_ticks = now_ticks();
    g_process.start_mono_ns = monotonic_ns();
    g_process.start_unix_ns = unix_ns();
    find_standard_error();
    note_start_directory();
    begin_usage();
    find_io_functions();
    g_status_page = open_status_page();
    status_loaded(g_status_page);
    find_vector_registers();
}

bool options_are_good() {
    if (g_options_read == Asked::kNot) {
        if (g_status_page == nullptr && launcher_rank() <= 0) {  // else reported by `dwell run`
            for_each_misspelt(environ, [](const char* entry, int length, const char* meant) {
                warn("%.*s is no variable of dwell: %s is", length, entry, meant);
            });
        }
        const bool good = read_options(&g_process.options) &&
                          read_enabling_profile(g_process.options.enable) && read_event_places();
        g_options_read = good ? Asked::kGood : Asked::kBad;
        if (!good) status_said_why(g_status_page);
    }
    return g_options_read == Asked::kGood;
}

void not_observed(const char* why) {
    warn_of_job("the program runs unobserved: %s", why);
    status_said_why(g_status_page);
}

bool make_live_page() {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    if (madvise(page, 4096, MADV_WIPEONFORK) != 0) return false;
    g_live = static_cast<LivePage*>(page);
    return true;
}

// Joins the zero-terminated arguments in `text` by spaces. Dots replace the front of a long program
// path, so that its name remains, and the last arguments.
void join_arguments(const char* text, size_t bytes, char* out, size_t size) {
    constexpr char kDots[] = "...";
    constexpr size_t kDotBytes = sizeof(kDots) - 1;
    const size_t longest_path = size / 2;
    const size_t path = strnlen(text, bytes);
    size_t used = 0;
    if (path > longest_path) {
        memcpy(out, kDots, kDotBytes);
        used = kDotBytes;
        text += path - longest_path;
        bytes -= path - longest_path;
    }
    const size_t room = size - 1 - used;
    size_t taken = bytes;
    if (bytes > room) {
        taken = room - kDotBytes;
        while (taken > 0 && (text[taken] & 0xc0) == 0x80) --taken;  // inside a UTF-8 character
    }
    for (size_t i = 0; i < taken; ++i) out[used++] = text[i] == '\0' ? ' ' : text[i];
    if (taken < bytes) {
        memcpy(out + used, kDots, kDotBytes);
        used += kDotBytes;
    }
    out[used] = '\0';
}

void read_command_line(FileHeader* header) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length > 0) {
        path[length] = '\0';
        const size_t room = sizeof(header->program) - 1;
        const size_t have = static_cast<size_t>(length);
        memcpy(header->program, have > room ? path + have - room : path,
               (have > room ? room : have) + 1);
    }
    FILE* file = fopen("/proc/self/cmdline", "re");
    if (file == nullptr) return;
    char text[PATH_MAX + sizeof(header->command)];
    const size_t bytes = fread(text, 1, sizeof(text), file);
    fclose(file);
    if (bytes != 0) join_arguments(text, bytes - 1, header->command, sizeof(header->command));
}

}  // namespace

void set_tick_rate(uint64_t base_ns) {
    FileHeader* header = g_process.header;
    if (!g_process.use_tsc) {
        header->ticks_per_second = 1'000'000'000u;
        return;
    }
    uint64_t elapsed_ns = monotonic_ns() - g_process.start_mono_ns;
    while (elapsed_ns < base_ns) elapsed_ns = monotonic_ns() - g_process.start_mono_ns;
    const uint64_t ticks = now_ticks() - g_process.start_ticks;
    header->ticks_per_second =
        static_cast<uint64_t>(static_cast<double>(ticks) * 1e9 / static_cast<double>(elapsed_ns));
}

void refresh_ticket() {
    static uint64_t post_orders = 0;
    const bool on = g_live->on != 0 && g_live->paused == 0;
    __atomic_store_n(&g_live->ticket, on ? ++post_orders : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&g_live->io, on && g_process.options.io ? 1u : 0u, __ATOMIC_RELEASE);
}

namespace {

void fill_header(int rank) {
    FileHeader* header = g_process.header;
    header->header_cells = kHeaderCells;
    header->pid = getpid();
    struct stat names {};
    if (stat("/proc/self/ns/pid", &names) == 0) header->pid_namespace = names.st_ino;
    header->uid = getuid();
    header->rank = rank < 0 ? 0 : rank;
    // Known before MPI_Init, so that a process that execs another program leaves a readable file.
    header->world_size = launcher_size(rank);
    header->start_ticks = g_process.start_ticks;
    header->start_unix_ns = g_process.start_unix_ns;
    header->callpath_depth = g_process.options.callpath_depth;
    note_processors();
    choose_sampling();
    header->sample_hz = g_process.options.sample_hz;
    header->events_left_out = ~g_process.options.event_kinds;
    header->events_in_part = (*g_process.options.event_window != '\0' ? kEventsInWindows : 0u) |
                             (*g_process.options.event_sites != '\0' ? kEventsOfSites : 0u);
    header->call_cost_ticks = g_process.call_cost_ticks;
    if (profile_reduced_sites()) header->flags |= kFileSitesOff;
    if (g_process.options.io) header->flags |= kFileIo;
    gethostname(header->host, sizeof(header->host) - 1);
    const char* job = strrchr(g_process.record_dir, '/');
    // "/dwell-<uid>-<job>": the job name follows the second dash.
    job = job != nullptr ? strchr(job + 7, '-') : nullptr;
    if (job != nullptr) snprintf(header->job, sizeof(header->job), "%s", job + 1);
    read_command_line(header);
    set_tick_rate(1000);  // a process killed inside MPI_Init leaves a readable file
    header->state = FileState::kRunning;
    header->version = kRecordLayoutVersion;
    __atomic_store_n(&header->magic, kRecordMagic, __ATOMIC_RELEASE);
}

// Checks a record file that already exists at `path`: true where this process made it before exec,
// as another program. Those records are complete.
bool mark_replaced(const char* path) {
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    FileHeader header;
    const bool read = pread(file, &header, sizeof(header), 0) == sizeof(header);
    const bool own = read && header.magic == kRecordMagic &&
                     header.version == kRecordLayoutVersion && header.pid == getpid();
    if (own) {
        const NoSizeSignal held;
        header.flags |= kFileReplaced;
        const auto place = static_cast<off_t>(offsetof(FileHeader, flags));
        if (pwrite(file, &header.flags, sizeof(header.flags), place) < 0) errno = 0;
    }
    close(file);
    return own;
}

uint32_t file_mib() { return g_process.options.memory_mib + g_process.options.event_mib; }

// A rank's file from before exec exists: creates one with a further number. After several execs the
// records of the first and of the last program are kept.
bool create_second_file(char* path, size_t size) {
    mark_replaced(path);
    const size_t used = strlen(path);
    snprintf(path + used, size - used, ".%ld", static_cast<long>(getpid()));
    if (create_record_file(path, file_mib())) return true;
    if (errno != EEXIST || !mark_replaced(path)) return false;
    warn(
        "this process went on as another program once more: the records of the one before are "
        "dropped");
    return unlink(path) == 0 && create_record_file(path, file_mib());
}

// `dwell run` has made this check before the start.
void check_out_directory() {
    const char* out = g_process.options.out;
    if (g_status_page != nullptr || *out == '\0' || launcher_rank() > 0) return;
    const int error = directory_obstacle(out);
    if (error != 0) warn("no profile can be written to %s: %s", out, strerror(error));
}

// With a low limit of open files MPI may need all of them; libunwind keeps two open, the exchange
// between ranks one.
void observe_less() {
    g_process.options.sample_hz = 0;
    warn_of_job(
        "few files may be open at a time (ulimit -n): there are no call paths, samples and causes "
        "of waiting");
}

// One thread attaches the process. Others that arrive meanwhile wait for some milliseconds, except
// a signal handler that interrupted it, and not for ever, because the attaching thread may wait for
// the loader's lock held by another. A forked child does not wait for a thread of its parent.
constexpr uint64_t kLongestAttaching_ns = 1'000'000'000;
std::atomic<pid_t> g_attacher{0};
bool begin_attaching() {
    const auto own = static_cast<pid_t>(syscall(SYS_gettid));
    const uint64_t since = monotonic_ns();
    for (pid_t other = 0; !g_attacher.compare_exchange_strong(other, own); other = 0) {
        if (getpid() != g_own_pid) {
            g_attacher.store(own);
            return true;
        }
        if (other == own || monotonic_ns() - since > kLongestAttaching_ns) return false;
        sched_yield();
    }
    return true;
}
void end_attaching() { g_attacher.store(0); }

// Before MPI_Init, or at the first probe of a program that may have no MPI, which called at
// `since`. False: the program runs unobserved, and one line has said why.
bool attach_process(bool with_mpi, uint64_t since) {
    const OwnWork own;
    const uint64_t start = now_ticks();
    const char* why = nullptr;
    char text[kStatusMessageBytes];
    if (with_mpi && !load_mpi(&why)) {
        not_observed(why);
        return false;
    }
    if (!options_are_good()) return false;
    check_out_directory();
    const bool few_files = files_are_few();
    if (few_files) observe_less();
    const bool unwinder = !few_files && load_unwinder();
    if (!unwinder) g_process.options.callpath_depth = 1;
    find_python();
    if (!make_record_directory(g_process.record_dir, sizeof(g_process.record_dir), text,
                               sizeof(text))) {
        not_observed(text);
        return false;
    }
    const int rank = launcher_rank();
    char* path = g_process.record_path;
    snprintf(path, sizeof(g_process.record_path), "%s/rank.%d", g_process.record_dir,
             rank < 0 ? 0 : rank);
    if (!create_record_file(path, file_mib()) &&
        (errno != EEXIST || !create_second_file(path, sizeof(g_process.record_path)))) {
        // Not the file name, which contains the rank: all ranks report the same text.
        snprintf(text, sizeof(text), "cannot make a record file in %.150s: %s%s",
                 g_process.record_dir, strerror(errno), errno == EFBIG ? " (ulimit -f)" : "");
        not_observed(text);
        rmdir(g_process.record_dir);
        return false;
    }
    fill_header(rank);
    if (few_files) {
        g_process.header->flags |= kFileFewFiles;
    } else if (!unwinder) {
        g_process.header->flags |= kFileNoUnwinder;
    }
    if (!make_live_page()) {
        not_observed("the kernel lacks MADV_WIPEONFORK (Linux 4.14)");
        unlink(path);
        rmdir(g_process.record_dir);
        return false;
    }
    if (g_process.options.events && g_status_page == nullptr &&
        g_process.options.event_policy != EventPolicy::kOverwrite && !events_stay()) {
        warn_of_job("events are written by `dwell run`, without it there are none");
        g_process.options.events = false;
    }
    if (g_process.options.events) {
        name_spill_file();
        g_live->event_order = g_process.options.events_wait ? EventOrder::kOff : EventOrder::kOn;
        g_process.header->event_order = g_live->event_order;
    }
    g_process.with_mpi = with_mpi;
    // Preliminary: changed by MPI_Init.
    if (with_mpi) g_process.header->flags |= kFileInInit;
    if (!with_mpi && is_alone()) g_process.header->flags |= kFileSerial;
    if (with_mpi) choose_tests_first();
    if (g_process.options.inject[0] != '\0') {
        set_tick_rate(kRateBase_ns);
        set_injection(rank < 0 ? 0 : rank);
    }
    Thread* thread = attach_thread();
    if (thread == nullptr) {
        not_observed("no room for records in the record directory");
        unlink(path);
        rmdir(g_process.record_dir);
        return false;
    }
    // The first thread's computation begins with the process.
    thread->record->start_ticks = g_process.start_ticks;
    thread->last_ticks = g_process.start_ticks;
    thread->attached_ticks = start;
    if (with_mpi) thread->span_begin = 0;  // its time is that of its calls and intervals
    thread->in_tool.begin();
    hold_axis(thread);
    write_start_directory(thread);
    open_metrics(thread);
    // From here on other threads record, too.
    g_live->on = 1;
    refresh_ticket();
    {
        const OwnSamples samples(thread);
        const OwnCounts counts(thread);
        calibrate();
    }
    // Before a signal handler's statement is recorded. In MPI_Init it belongs to that call.
    if (!with_mpi) thread->slow_overhead = now_ticks() - since;
    release_axis(thread);
    thread->in_tool.end();
    __atomic_store_n(&g_attached, true, __ATOMIC_RELEASE);
    if (with_mpi) announce_observed();
    return true;
}

// MPI_Init in a process that was attached by probes. False: MPI stays unobserved.
bool add_mpi() {
    const char* why = nullptr;
    if (g_live->on == 0) return false;
    if (!load_mpi(&why)) {
        warn_of_job("MPI is not observed: %s", why);
        return false;
    }
    g_process.with_mpi = true;
    __atomic_fetch_and(&g_process.header->flags, ~uint32_t{kFileSerial}, __ATOMIC_RELAXED);
    choose_tests_first();
    announce_observed();
    if (t_thread == nullptr && attach_thread() != nullptr) {
        t_thread->slow_overhead = 0;  // the caller counts the time spent here
    }
    if (t_thread != nullptr) {
        start_sampling(t_thread);
        g_process.header->process_thread = t_thread->record->number;
        // As in attach_process(). Another thread's computation begins where it was attached.
        if (t_thread->record->number == 0) t_thread->record->life_start = t_thread->span_begin = 0;
    }
    return true;
}

}  // namespace

StatusPage* status_page() { return g_status_page; }

bool was_attached() { return g_attached; }

bool observe_mpi() {
    const CancellationDisabled cancellation;
    if (!begin_attaching()) {
        not_observed("another thread was about to begin with observing the process");
        return false;
    }
    const bool observed = g_attached ? add_mpi() : attach_process(true, now_ticks());
    end_attaching();
    return observed;
}

namespace {

void (*g_on_profiled)() = nullptr;
std::atomic<bool> g_tried{false};

}  // namespace

void notify_profiled() {
    g_tried.store(true);
    if (g_on_profiled != nullptr) g_on_profiled();
}

void on_profiled(void (*callback)()) {
    g_on_profiled = callback;
    if (g_tried.load()) callback();
}

bool probes_wanted() {
    note_start();
    if (g_attached) return g_live->on != 0;
    return g_own_pid == getpid() && options_are_good();
}

Thread* attach_for_probe() {
    // Costs are measured while other threads may record already: who comes meanwhile waits.
    if (g_live->on != 0 && __atomic_load_n(&g_attached, __ATOMIC_ACQUIRE))
        return live_ticket() != 0 ? attach_thread() : nullptr;
    if (!probes_wanted()) {
        notify_profiled();
        return nullptr;
    }
    const uint64_t before = now_ticks();
    const CancellationDisabled cancellation;
    if (!begin_attaching()) return nullptr;
    // Unless another thread was faster.
    const bool begins = !g_attached && probes_wanted();
    const bool attached = begins && attach_process(false, before);
    const uint64_t attached_at = now_ticks();
    notify_profiled();
    if (attached) {
        note_usage();
        status_probed(g_status_page, g_process.header->job);
    } else if (begins) {
        g_options_read = Asked::kBad;  // no second attempt
        switch_sites(false);
    }
    end_attaching();
    if (!attached) {
        Thread* const thread = live_ticket() != 0 ? attach_thread() : nullptr;
        if (thread == nullptr) return nullptr;
        // Waiting for the attaching thread is not part of its own time.
        const uint64_t waited = beyond(thread->last_ticks, before);
        thread->span_begin =
            earlier(thread->span_begin + waited, virtual_ticks(thread, now_ticks()));
        begin_axis(thread, axis_ticks_of(thread, thread->span_begin));
        return thread;
    }
    t_thread->slow_overhead += now_ticks() - attached_at;
    return t_thread;
}

}  // namespace dwell
