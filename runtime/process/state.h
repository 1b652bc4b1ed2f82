// The state of the observed process and of its threads.
//
// Order of events: the library's constructor only takes the time. MPI_Init, the first probe or a
// serial start by `dwell run` attaches: the record file is made and `g_live->on` set. A thread
// attaches at its first recorded call. MPI_Finalize, MPI_Abort or exit detaches: `on` is cleared,
// and wrappers pass calls straight on. A forked child finds `on` cleared, because the kernel wipes
// that page (MADV_WIPEONFORK).
//
// Thread state is trivially destructible and lives in its own memory; only its pointer is in
// thread-local storage. When a thread ends, a pthread key passes its state and its records on to
// the next new thread; calls after that (destructors of other keys) attach again.
#ifndef DWELL_RUNTIME_PROCESS_STATE_H_
#define DWELL_RUNTIME_PROCESS_STATE_H_

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "runtime/contract/record_layout.h"
#include "runtime/contract/status_page.h"
#include "runtime/process/clock.h"
#include "runtime/process/thread_parts.h"

#define DWELL_EXPORT __attribute__((visibility("default")))
#define DWELL_COLD __attribute__((cold, noinline))
#define DWELL_BODY [[gnu::always_inline]] inline
// For variables read by every call: side by side they share pages and cache lines.
#define DWELL_CALL_DATA __attribute__((section("dwell_call_data")))

namespace dwell {

// In the order of the words in settings.h. Between which ranks time stamps are exchanged (DESIGN
// 4):
enum class WaitMode : uint8_t { kFull, kNode, kOff };
enum class OmpMode : uint8_t { kOn, kExchanged, kOff };  // kExchanged: libomp in place of libgomp

struct Options {
    uint32_t callpath_depth = 0;  // 0 = whole path
    uint32_t sample_hz = 100;     // 0 = off
    bool sample_is_asked_for = false;
    uint32_t peer_limit = 256;
    uint32_t memory_mib = 64;
    uint32_t row_limit = 0;  // 0 = default of the merge
    uint32_t end_timeout_s = 60;
    uint32_t probe_limit = 10;  // accepted overhead of probes, in tenths of a percent; 0: any
    WaitMode wait = WaitMode::kNode;
    bool quiet = false;
    bool preserve_order = false;
    OmpMode omp = OmpMode::kOn;
    bool io = false;           // I/O statements are recorded
    bool events = false;       // full events are written
    bool events_wait = false;  // not from the beginning on
    uint32_t event_words = 0;  // of a thread's ring
    uint32_t event_mib = 0;    // of all rings, beside memory_mib
    uint32_t event_kinds = 0;  // EventKindWord::kinds
    EventPolicy event_policy = EventPolicy::kDrop;
    char metrics[1024] = {};       // names as requested; empty: none
    char enable[4096] = {};        // enabling profile for this run
    char event_ranks[256] = {};    // those with events; empty: all
    char event_sites[4096] = {};   // profile that says which sites have events
    char event_window[1024] = {};  // value of --events-window
    char out[4096] = {};           // empty: a name made from program and job
    char inject[1024] = {};        // see injection.h
};

// On a page of its own that the kernel wipes in a forked child.
struct LivePage {
    uint32_t on;            // the process is observed
    uint32_t paused;        // MPI_Pcontrol(0)
    uint64_t epoch;         // incremented at every change that threads must notice
    uint64_t resets;        // MPI_Pcontrol(2)
    uint64_t unloads;       // dlclose
    uint64_t paused_ticks;  // all pauses that have ended
    uint64_t pause_start;
    uint64_t resumed_ticks;  // when the last pause ended
    uint64_t ticket;  // compared by probes: changes after every event, 0 while probes are off
    uint32_t io;      // I/O statements are recorded now
    EventOrder event_order;   // FileHeader::event_order as the process has noticed it
    uint32_t open_windows;    // entries that --events-window chose and that are open
    uint64_t window_entries;  // entries of its place so far
};

enum ThreadEvents : uint32_t {
    kWritesEvents = 1,
    kCallInWindow = 2,  // added for each call under way that --events-window chose
};

constexpr uint64_t kNoTicket = UINT64_MAX;  // of a thread whose probes must take the slow path
constexpr uint64_t kNoEpoch = UINT64_MAX;   // of a thread whose calls must take the slow path

// Fields that calls, polls and probes use come first: a computation evicts all of them from the
// caches, and each cache line fetched again costs as much as the rest of a call.
struct alignas(64) Thread {
    ThreadRecord* record;
    Call* open;                 // outermost communication statement under way, or null
    CellIndex last;             // last communication node, 0 at the start
    ToolSection in_tool;        // calls made inside dwell are passed on unrecorded
    uint64_t last_ticks;        // real ticks at the end of that call
    uint64_t slow_overhead;     // ticks of slow work since then, not computation
    uint64_t epoch;             // LivePage::epoch as last seen
    uint32_t untimed_left;      // further polls allowed without time stamps (polls.h)
    uint32_t untimed_polls;     // bit k: calls of poll number k since last_ticks have no time yet
    const uint64_t* ring_head;  // not ring_seen when samples or metrics are pending; not null

    uint64_t ring_seen;
    ProbeStack on;    // the stack of the last probe
    uint32_t calls;   // calls other than untimed polls: each may change requests
    uint32_t events;  // ThreadEvents

    ProbeEntry no_probes;      // stack base of a thread without probes so far
    Poll* last_poll;           // not null while untimed_left is not 0
    Poll* polls;               // kPolls of them, null until there is one
    uint64_t probe_ticket;     // LivePage::ticket as the last probe saw it
    uint32_t probe_countdown;  // probes until their cost is checked again
    uint32_t probe_window;     // initial value of probe_countdown
    uint32_t count_countdown;  // likewise for entries that are only counted
    uint32_t next_poll;        // the poll to be replaced next

    // Time since last_ticks that has nodes of its own and is no computation: I/O statements, and
    // idle time between two OpenMP regions. Less older overhead that was refunded, so it may be
    // negative.
    uint64_t separate_ticks;
    // Virtual time at which the thread's span began, where the thread is not known to belong to the
    // program; 0: it is known, or there is no span (start_span).
    uint64_t span_begin;
    uint64_t user_ticks;  // of the call under way, in functions of the program (user_code.h)
    DelayState delay;
    // A run of consecutive calls in which MPI makes no progress: the number of the last call, and
    // the real ticks at which the run began (late_receivers.h).
    uint32_t no_progress_call;
    uint64_t no_progress_ticks;
    uint64_t probe_lost_ticks;  // overhead of probes since the last check, beside the countdowns'
    uint64_t control_ticks;     // real ticks of the last check
    int64_t probe_credit;       // ticks of overhead that probes may still cause
    uint32_t count_window;      // initial value of count_countdown
    uint32_t gap_window;        // pairs of probes in the current window
    uint64_t gap_ticks;         // real ticks when it began
    uint64_t resets;            // fields of LivePage as last seen, likewise the next two
    uint64_t unloads;
    uint64_t paused_ticks;
    CellIndex chunk_next;
    CellIndex chunk_end;
    SampleRing* ring;        // null when not sampling
    SampleSpill* spill;      // null when no other process reads the ring
    bool python_is_sampled;  // that process reads Python frames as well
    uint64_t drained_ns;     // processor time of the thread at the last reading
    uint64_t lost_by_time;   // part of samples_lost that the kernel has not reported
    uint64_t attached_ticks;
    uint64_t remember_ticks;  // total ticks spent recording stack slots
    uint32_t on_number;       // index of `on` in `stacks`
    // Likewise probe_countdown and the fields after it, for code built with -finstrument-functions
    // (control_code).
    uint32_t code_countdown;
    uint32_t code_window;
    uint32_t code_counted;  // entries of the window without time
    uint64_t code_looked_ticks;
    uint64_t code_retry_ticks;  // real ticks at which counted-only entries are timed again
    uint32_t code_rests;        // how often they were timed again
    uint32_t user_depth;        // nesting of user code called back by MPI
    UserCode user_code[kUserDepth];
    OmpThread omp;
    KnownFile known_files[kKnownFiles];
    IoStatement* io;    // current I/O statement, or null (io_records.h)
    bool vforked;       // this is a vfork child, which uses its parent's memory
    size_t ring_bytes;  // a power of two
    uint64_t own_samples[kLargestRing / kRingStep / 64];  // bit k: sample k taken inside dwell
    ThreadMetrics* metrics;                               // null: no metrics (metrics.h)
    void* scratch;
    size_t scratch_bytes;
    Thread* next;  // all threads
    Thread* next_free;
    TypeEntry types[kTypeEntries];
    RankEntry ranks[kRankEntries];
    PathEntry paths[kPathSets * kPathWays];
    uint32_t next_way;           // way of a full set to be replaced
    CachedPath* known;           // table of the second look-up
    uint32_t known_slots;        // size of `known`: 0, or a power of two
    uint32_t known_count;        // paths in `known`
    ReturnAddressCheck* blocks;  // memory for PathEntry::block
    uint32_t blocks_left;        // slots left in `blocks`
    ProbeStack stacks[kProbeStacks];
    uint32_t depth_elsewhere;  // open entries on all stacks but the thread's own
    KnownChild known_children[kKnownChildren];
    FrameHint frame_hints[kFrameHints];
    CauseSlot causes[kCauseSets][kCauseWays];
    ProcessorTime processor;
    TeamStalls team_stalls[kOmpTeams];  // one for each of omp.teams
};

// Calibrated cost of handling OpenMP events (omp_calibration.cpp). For libgomp programs the cost
// includes the functions called in place of libgomp's. `inner` parts lie between the time stamps.
struct OmpCosts {
    uint64_t pair;            // begin and end of a construct
    uint64_t inner;           // part of `pair` between its time stamps
    uint64_t acquired;        // acquisition of a critical section or the like
    uint64_t lock_requested;  // request for a lock, acquired or not; beside `lock`
    uint64_t lock;            // acquisition of a lock
    uint64_t lock_inner;      // part of `lock` between the time stamps
    uint64_t chunk;           // chunk of a loop
    uint64_t created;         // creation of a task
    uint64_t task;            // execution of a task, beside `pair`
    uint64_t task_inner;      // part of `task` between the time stamps
    uint64_t region;  // region on the forking thread, beside `pair` for it and its last barrier
    uint64_t region_inner;  // part of `region` between the time stamps
};

struct IoCosts {
    uint64_t inner;  // between the time stamps
    uint64_t outer;  // outside of the time stamps
};

// Fields read by every call come first, on one cache line.
struct alignas(64) Process {
    char* cells = nullptr;           // the mapped record file
    Thread* usual_thread = nullptr;  // the thread that attached first; see calling_thread()
    uint64_t call_cost_ticks = 0;    // outside a call's time stamps: subtracted from computation
    uint64_t inner_cost_ticks = 0;   // between them: subtracted from the call
    uint64_t fence_cost_ticks = 0;   // cost of an idle full fence and its time stamp
    bool use_tsc = false;
    bool concurrent = true;       // several threads may be inside MPI at a time
    bool threaded_mpi = true;     // the level is above MPI_THREAD_SINGLE
    bool preserve_order = false;  // execution control (order.h)
    std::atomic<uint64_t> comm_epoch{1};
    std::atomic<uint64_t> type_epoch{1};
    std::atomic<uint64_t> window_epoch{1};
    uint64_t probe_cost_ticks = 0;             // cost of a pair of probes
    uint64_t probe_inner_ticks = 0;            // part of it between their time stamps
    uint64_t probe_count_ticks = 0;            // cost of an entry that is only counted
    uint64_t poll_cost_ticks = 0;              // cost of an untimed poll
    uint64_t poll_inner_ticks = UINT64_MAX;    // cost between the time stamps of a timed poll
    uint64_t untimed_cost_ticks = 0;           // cost of recording any number of untimed polls
    uint64_t poll_spacing_ticks = UINT64_MAX;  // polls further apart than this are timed
    uint64_t block_cost_ticks = 0;             // likewise for a block's beginning and end
    uint64_t block_inner_ticks = 0;
    uint64_t mark_cost_ticks = 0;   // cost of a marker
    uint64_t event_cost_ticks = 0;  // cost of a record of a full event
    OmpCosts omp{};
    OmpCosts gomp_more{};                      // additional cost in libgomp programs
    IoCosts io{};                              // cost of an I/O statement
    uint64_t inject_ticks = 0;                 // delay of every probe, for tests (injection.h)
    uint64_t metric_least_ticks = UINT64_MAX;  // least duration of nodes that are read (metrics.h)
    FileHeader* header = nullptr;
    bool with_mpi = false;  // MPI_Init was called: intervals between MPI calls are sampled
    Options options;
    uint64_t start_ticks = 0;
    int64_t start_unix_ns = 0;
    uint64_t start_mono_ns = 0;
    char record_dir[256] = {};
    char record_path[320] = {};
    std::atomic<uint32_t> lock{0};  // slow paths only: arena growth, modules, list of threads
    std::atomic<Thread*> threads{nullptr};
    Thread* free_threads = nullptr;
    std::atomic<uint32_t> thread_count{0};
    std::atomic<uint32_t> ring_cells{0};  // of all rings of events
};

// Hidden visibility: reached without the global offset table.
extern Process g_process __attribute__((visibility("hidden")));
// The rank in MPI_COMM_WORLD.
inline uint32_t own_rank() { return static_cast<uint32_t>(g_process.header->rank); }
inline bool metrics_on() { return g_process.metric_least_ticks != UINT64_MAX; }
extern LivePage* g_live __attribute__((visibility("hidden")));  // never null
extern constinit thread_local Thread* t_thread __attribute__((tls_model("initial-exec")));
// Not 0 while a probe in a signal handler must not start the same work again.
extern constinit thread_local uint32_t t_in_guard __attribute__((tls_model("initial-exec")));

// Slow work uses system calls that are cancellation points. Cancellation is disabled meanwhile, so
// that the program's calls do not become cancellation points. Any thread; with glibc also in signal
// handlers.
class CancellationDisabled {
  public:
    CancellationDisabled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~CancellationDisabled() { pthread_setcancelstate(before_, nullptr); }
    CancellationDisabled(const CancellationDisabled&) = delete;
    CancellationDisabled& operator=(const CancellationDisabled&) = delete;

  private:
    int before_ = 0;
};

class ReentryGuard {
  public:
    ReentryGuard() { t_in_guard = t_in_guard + 1; }
    ~ReentryGuard() { t_in_guard = t_in_guard - 1; }
    ReentryGuard(const ReentryGuard&) = delete;
    ReentryGuard& operator=(const ReentryGuard&) = delete;

  private:
    CancellationDisabled cancellation_;
};

// The calling thread's state, or null. A thread-local variable takes two dependent loads; when
// these miss the caches, loads through `usual_thread` already proceed: 40 ns less for a call after
// a walk through 8 MiB.
inline Thread* calling_thread() {
    Thread* usual = g_process.usual_thread;
    if (usual == t_thread) [[likely]] {
        asm volatile("" : "+r"(usual));  // keeps the compiler from using t_thread instead
        return usual;
    }
    return t_thread;
}

// The epoch that a thread stores once it has noticed a change.
inline uint64_t seen_epoch() {
    return g_process.inject_ticks == 0 && !g_process.preserve_order ? g_live->epoch : kNoEpoch;
}

inline uint64_t live_ticket() { return __atomic_load_n(&g_live->ticket, __ATOMIC_RELAXED); }

// Virtual ticks at the real time `now`.
inline uint64_t virtual_ticks(const Thread* thread, uint64_t now) {
    const ThreadRecord* record = thread->record;
    return now - record->intrusion_ticks - record->paused_ticks - thread->slow_overhead;
}

inline uint64_t now_ticks() { return g_process.use_tsc ? read_tsc() : monotonic_ns(); }
// The time stamp after all earlier loads are complete.
inline uint64_t settled_ticks() {
    finish_loads();
    return now_ticks();
}

// During its lifetime no signal handler of the program runs on the thread; a handler might leave by
// longjmp. Signals for errors in the code itself are not blocked. Costs two system calls.
class SignalsBlocked {
  public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    uint64_t before_;  // the kernel's mask
};

// Scope of slow work of dwell on a thread (null: of none): its time is overhead, errno stays.
class ToolWork {
  public:
    explicit ToolWork(Thread* thread) : thread_(thread), start_(now_ticks()), errno_(errno) {}
    ~ToolWork() {
        errno = errno_;
        if (thread_ != nullptr) thread_->slow_overhead += now_ticks() - start_;
    }
    ToolWork(const ToolWork&) = delete;
    ToolWork& operator=(const ToolWork&) = delete;

    uint64_t start() const { return start_; }

  protected:
    Thread* thread_;
    uint64_t start_;

  private:
    int errno_;
};

// The same for work that calls functions with wrappers: those calls are passed on.
class SlowWork : public ToolWork {
  public:
    explicit SlowWork(Thread* thread) : ToolWork(thread) {
        if (thread_ == nullptr) return;
        was_in_tool_ = thread_->in_tool;
        thread_->in_tool.begin();
    }
    ~SlowWork() {
        if (thread_ != nullptr) thread_->in_tool = was_in_tool_;
        if (live_ticket() == 0) start_ = now_ticks();  // while recording is off, time is nobody's
    }

  private:
    ToolSection was_in_tool_;
};

// The process-wide lock for slow work; its holder never blocks.
class StateLock {
  public:
    StateLock() {
        while (g_process.lock.exchange(1, std::memory_order_acquire) != 0) wait();
    }
    ~StateLock() { g_process.lock.store(0, std::memory_order_release); }
    StateLock(const StateLock&) = delete;
    StateLock& operator=(const StateLock&) = delete;

  private:
    static void wait();
    SignalsBlocked held_;
    ReentryGuard guarded_;  // set before the lock is taken, cleared after its release
};

template <typename T>
T* cell_at(CellIndex index) {
    return reinterpret_cast<T*>(g_process.cells + static_cast<size_t>(index) * kCellBytes);
}
inline CellIndex index_of(const void* cell) {
    return static_cast<CellIndex>((static_cast<const char*>(cell) - g_process.cells) / kCellBytes);
}

// Of the durations of a node or a TrafficPeerRecord.
template <typename Timed>
DWELL_BODY void add_limits(Timed* timed, uint64_t ticks) {
    if (ticks < timed->min_ticks) timed->min_ticks = ticks;
    if (ticks > timed->max_ticks) timed->max_ticks = ticks;
}
template <typename Timed>
DWELL_BODY void add_time(Timed* timed, uint64_t ticks) {
    timed->ticks += ticks;
    add_limits(timed, ticks);
}

// Makes a cell the first of a list in the record file, without a lock. `next`: its link.
inline void link_first(CellIndex* first, CellIndex* next, CellIndex cell) {
    *next = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(first, next, cell, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

// arena.cpp
// `count` zeroed cells for `thread`; 0 when the cap is reached or the device is full (the file is
// marked so). Slow at chunk borders: StateLock and a system call.
CellIndex take_cells(Thread* thread, uint32_t count);
// A cell that belongs to no thread; costs a system call. StateLock must be held.
CellIndex take_shared_cell();
bool create_record_file(const char* path, uint32_t memory_mib);  // sets errno on failure
void close_record_file();

// threads.cpp
// The calling thread's state, created when needed; null: cannot be observed.
Thread* attach_thread();
// Like attach_thread(), at an I/O statement, which may be in a signal handler of the thread:
// allocates nothing and takes no lock that the interrupted code may hold. Null once the thread's
// end has begun.
Thread* attach_for_io();
// Begins the time span of a thread that the program created: the whole span is observed.
void start_span(Thread* thread);
// Ends the calling thread's span, at `now` or when recording stopped, whichever is earlier.
void end_span(Thread* thread, uint64_t now);
// The observation ended at `now`. With `record_open` open entries of other threads end then; these
// threads may still be running, so they are only read.
void detach_threads(uint64_t now, bool record_open);
// At least `bytes` of memory that belongs to the thread until its next use; null: no memory.
void* scratch_of(Thread* thread, size_t bytes);

// options.cpp
// Remembers which file standard error is. Called once, at the start.
void find_standard_error();
// True while descriptor 2 still refers to that file and not to one of the program's.
// Async-signal-safe.
bool is_standard_error();
bool read_options(Options* options);  // false, after a line on stderr, when a value is bad
// Writes one line on stderr that begins with "dwell: "; at most kMaxWarnings lines a process.
void warn(const char* format, ...) __attribute__((format(printf, 1, 2), cold));
// The same for a warning that other ranks may give as well: `dwell run` prints it once with the
// number of ranks; without `dwell run` the first rank of the host prints it.
void warn_of_job(const char* format, ...) __attribute__((format(printf, 1, 2), cold));
// Shared with `dwell run`; null without it.
extern StatusPage* g_status_page __attribute__((visibility("hidden")));

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_STATE_H_
