// The state of the observed process and of its threads: what the wrappers work on.
//
// Order of things. The constructor of the library only notes the time. MPI_Init (or a serial start
// by `dwell run`) attaches: the record file is made and `g_live->on` set. A thread attaches at its
// first communication. MPI_Finalize, MPI_Abort or exit detaches: `on` is cleared, and every wrapper
// passes its call straight on. After a fork the child finds `on` cleared, because the page that
// holds it is wiped by the kernel (MADV_WIPEONFORK), whatever made the child.
//
// Thread state is trivially destructible and lives in memory of its own; only its pointer is in
// thread-local storage. When a thread ends, a pthread key gives its state and its records to the
// next new thread; calls after that (destructors of other keys) attach once more.
#ifndef DWELL_RUNTIME_PROCESS_STATE_H_
#define DWELL_RUNTIME_PROCESS_STATE_H_

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
// For variables that calls read: side by side they share pages and cache lines.
#define DWELL_CALL_DATA __attribute__((section("dwell_call_data")))

namespace dwell {

// How far partners tell each other their times (DESIGN 4).
enum class WaitMode : uint8_t { kOff, kNode, kFull };
enum class OmpMode : uint8_t { kOff, kOn, kExchanged };  // libomp in the place of libgomp

struct Options {
    uint32_t callpath_depth = 0;  // 0 = whole path
    uint32_t sample_hz = 100;     // 0 = off
    bool sample_is_asked_for = false;
    uint32_t peer_limit = 256;
    uint32_t memory_mib = 64;
    uint32_t row_limit = 0;  // 0 = default of the merge
    uint32_t end_timeout_s = 60;
    uint32_t probe_limit =
        10;  // intrusion by probes that is accepted, in tenths of a percent; 0: any
    WaitMode wait = WaitMode::kNode;
    bool quiet = false;
    bool preserve_order = false;
    OmpMode omp = OmpMode::kOn;
    bool io = false;          // I/O statements are recorded
    char metrics[1024] = {};  // as asked for; empty: none
    char enable[4096] = {};   // enabling profile for this run
    char out[4096] = {};      // empty: a name made from program and job
    char inject[1024] = {};   // see injection.h
};

// On a page of its own that the kernel wipes in a forked child.
struct LivePage {
    uint32_t on;            // the process is observed
    uint32_t paused;        // MPI_Pcontrol(0)
    uint64_t epoch;         // counts everything that a thread must take notice of
    uint64_t resets;        // MPI_Pcontrol(2)
    uint64_t unloads;       // dlclose
    uint64_t paused_ticks;  // all pauses that have ended
    uint64_t pause_start;
    uint64_t resumed_ticks;  // when the last pause ended
    uint64_t ticket;  // what probes compare: another one after every event, 0 while they are off
    uint32_t io;      // I/O statements are recorded now
};

constexpr uint64_t kNoTicket = UINT64_MAX;  // of a thread whose probes must not go the fast way
constexpr uint64_t kNoEpoch = UINT64_MAX;   // of one whose calls must not

// What calls, polls and probes use comes first: while a program computes all of it leaves the
// caches, and each line that is fetched again costs as much as the rest of a call.
struct alignas(64) Thread {
    ThreadRecord* record;
    Call* open;                 // outermost communication statement under way, or null
    CellIndex last;             // communication node left last, 0 at the start
    ToolSection in_tool;        // calls made meanwhile only pass
    uint64_t last_ticks;        // real ticks when it was left
    uint64_t slow_overhead;     // slow work since then: not computation
    uint64_t epoch;             // of the live page, as last seen
    uint32_t untimed_left;      // polls that may still go without time stamps; see polls.h
    uint32_t untimed_polls;     // bit k: calls of poll number k since last_ticks have no time yet
    const uint64_t* ring_head;  // differs from ring_seen when there is something to do; never null

    uint64_t ring_seen;
    ProbeStack on;       // the stack that the last probe stood on
    uint32_t calls;      // that were not untimed polls: requests may have changed in each
    uint32_t next_poll;  // the one to be replaced next

    ProbeEntry no_probes;      // the base of a thread that met no probe yet
    Poll* last_poll;           // never null while untimed_left is not 0
    Poll* polls;               // kPolls of them, null until there is one
    uint64_t probe_ticket;     // of the live page, as the last probe saw it
    uint32_t probe_countdown;  // until control looks at the costs again
    uint32_t probe_window;     // what it was when control looked last
    uint32_t count_countdown;  // the same for entries that only count

    // Since last_ticks, of what has nodes of its own: not computation. I/O statements, and idle
    // time between two regions of OpenMP. Less what the thread got back of older intrusion, by
    // which it may be less than nothing.
    uint64_t booked_ticks;
    // When the life of a thread that is not known to be the program's own began, in virtual ticks;
    // 0: it is known, or it has no life (start_span).
    uint64_t span_begin;
    uint64_t user_ticks;  // of the call under way, in functions of the program (user_code.h)
    DelayState delay;
    // Of the calls before in which MPI makes no progress, one after the other: the number of the
    // last one, and the real ticks since when the thread has been in no other (late_receivers.h).
    uint32_t no_progress_call;
    uint64_t no_progress_ticks;
    uint64_t probe_lost_ticks;  // by probes since control looked last, beside its countdowns'
    uint64_t control_ticks;     // real ticks when it did
    int64_t probe_credit;       // ticks that its probes may take
    uint32_t count_window;      // what count_countdown started from
    uint32_t gap_window;        // pairs of the window that goes on
    uint64_t gap_ticks;         // real ticks when it began
    uint64_t resets;            // of the live page, as last seen; likewise the next two
    uint64_t unloads;
    uint64_t paused_ticks;
    CellIndex chunk_next;
    CellIndex chunk_end;
    SampleRing* ring;        // null when not sampling
    SampleSpill* spill;      // null when nobody else reads the ring
    bool python_is_sampled;  // who does so reads its Python frames as well
    uint64_t drained_ns;     // processor time of the thread when it was read last
    uint64_t lost_by_time;   // of samples_lost: what the kernel has not reported so far
    uint64_t attached_ticks;
    uint64_t remember_ticks;  // taken by noting stack slots, so far
    uint32_t on_number;       // of the stack it is on in `stacks`
    // probe_countdown and what follows it, for code built with -finstrument-functions
    // (control_code).
    uint32_t code_countdown;
    uint32_t code_window;
    uint32_t code_counted;  // of the window, entries without time
    uint64_t code_looked_ticks;
    uint64_t code_retry_ticks;  // real ticks when what is only counted is timed again
    uint32_t code_rests;        // times that it was
    uint32_t user_depth;        // of user code that MPI has called back, in a call under way
    UserCode user_code[kUserDepth];
    OmpThread omp;
    KnownFile known_files[kKnownFiles];
    IoStatement* io;    // under way, or null; see io_records.h
    bool vforked;       // this is the child that borrows its parent's memory
    size_t ring_bytes;  // a power of two
    uint64_t own_samples[kLargestRing / kRingStep / 64];  // a bit for each record taken in dwell
    ThreadMetrics* metrics;                               // null: none are read; see metrics.h
    void* scratch;
    size_t scratch_bytes;
    Thread* next;  // all threads
    Thread* next_free;
    TypeEntry types[kTypeEntries];
    RankEntry ranks[kRankEntries];
    PathEntry paths[kPathSets * kPathWays];
    uint32_t next_way;  // of a full set, to be taken
    CachedPath* known;  // return_address_checks of them, which known_count paths were put into
    uint32_t return_address_checks;  // 0, or a power of two
    uint32_t known_count;
    ReturnAddressCheck* blocks;  // memory for PathEntry::block, of which so many slots are left
    uint32_t blocks_left;
    ProbeStack stacks[kProbeStacks];
    uint32_t depth_elsewhere;  // entries open on all but its own
    KnownChild known_children[kKnownChildren];
    FrameHint frame_hints[kFrameHints];
    CauseSlot causes[kCauseSets][kCauseWays];
    ProcessorTime processor;
    TeamStalls team_stalls[kOmpTeams];  // of omp.teams
};

// What dwell's part of OpenMP's events takes (omp_calibration.cpp). Of libgomp's programs it is
// that of the functions that are called in libgomp's place, too.
struct OmpCosts {
    uint64_t
        pair;  // a construct's beginning and end, and what of it lies between their time stamps
    uint64_t inner;
    uint64_t got;           // of a critical section and the like
    uint64_t lock_wanted;   // a lock, be it got or not; beside that one
    uint64_t lock;          // that is got, and what of it
    uint64_t lock_inner;    // lies between the time stamps
    uint64_t chunk;         // of a loop
    uint64_t created;       // a task
    uint64_t task;          // one that is executed, beside the pair, and what of it
    uint64_t task_inner;    // lies between the time stamps
    uint64_t region;        // beside its own pair and that of its last barrier, on the thread that
    uint64_t region_inner;  // forks it, and what of it lies between the time stamps
};

struct IoCosts {
    uint64_t inner;  // between the time stamps, and
    uint64_t outer;  // outside of them
};

// What every call reads comes first, on one cache line.
struct alignas(64) Process {
    char* cells = nullptr;           // the mapped record file
    Thread* usual_thread = nullptr;  // the one that attached first; see calling_thread()
    uint64_t call_cost_ticks = 0;   // outside the two time stamps of a call: taken from computation
    uint64_t inner_cost_ticks = 0;  // between them: taken from the call
    uint64_t fence_cost_ticks = 0;  // of a full fence that waits for nothing, and its time stamp
    bool use_tsc = false;
    bool concurrent = true;       // several threads may be inside MPI at a time
    bool threaded_mpi = true;     // the level is above MPI_THREAD_SINGLE
    bool preserve_order = false;  // see order.h
    std::atomic<uint64_t> comm_epoch{1};
    std::atomic<uint64_t> type_epoch{1};
    std::atomic<uint64_t> window_epoch{1};
    uint64_t probe_cost_ticks = 0;             // of a pair of probes, and what of it lies
    uint64_t probe_inner_ticks = 0;            // between their time stamps
    uint64_t probe_count_ticks = 0;            // of an entry that is only counted
    uint64_t poll_cost_ticks = 0;              // of an untimed poll
    uint64_t poll_inner_ticks = UINT64_MAX;    // between the time stamps of a timed one
    uint64_t untimed_cost_ticks = 0;           // of booking untimed polls, however many
    uint64_t poll_spacing_ticks = UINT64_MAX;  // polls that lie further apart are timed
    uint64_t block_cost_ticks = 0;             // the same of a block's beginning and end
    uint64_t block_inner_ticks = 0;
    uint64_t mark_cost_ticks = 0;  // of a marker
    OmpCosts omp{};
    OmpCosts gomp_more{};                      // of libgomp's programs, beside that
    IoCosts io{};                              // of an I/O statement; in calls of less than
    IoCosts io_of_short{};                     // io_short_ticks between the time stamps the
    uint64_t io_short_ticks = 0;               // processor does part of that meanwhile
    uint64_t inject_ticks = 0;                 // delay of every probe, for tests (injection.h)
    uint64_t metric_least_ticks = UINT64_MAX;  // nodes that last as long are read; see metrics.h
    FileHeader* header = nullptr;
    bool with_mpi = false;  // MPI_Init was called: intervals between its calls are sampled
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
};

// Reached without the global offset table.
extern Process g_process __attribute__((visibility("hidden")));
// In MPI_COMM_WORLD.
inline uint32_t own_rank() { return static_cast<uint32_t>(g_process.header->rank); }
inline bool metrics_on() { return g_process.metric_least_ticks != UINT64_MAX; }
extern LivePage* g_live __attribute__((visibility("hidden")));  // never null
extern constinit thread_local Thread* t_thread __attribute__((tls_model("initial-exec")));
// Not 0 while the thread does what a probe in a signal handler must not begin as well.
extern constinit thread_local uint32_t t_in_guard __attribute__((tls_model("initial-exec")));

// Slow work takes system calls that are cancellation points: the program's threads are not
// cancelled there, so that its own calls do not become such points. Any thread; also in signal
// handlers, with glibc.
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

// The calling thread's state, or null. The way to a thread-local variable takes two loads, one
// after the other; when they miss the caches, what follows is loaded meanwhile for the usual
// thread: 40 ns less for a call after a walk through 8 MiB.
inline Thread* calling_thread() {
    Thread* usual = g_process.usual_thread;
    if (usual == t_thread) [[likely]] {
        asm volatile("" : "+r"(usual));  // or else the compiler takes the equal value
        return usual;
    }
    return t_thread;
}

// The epoch that a thread has seen once it has taken notice.
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
inline uint64_t settled_ticks() {
    finish_loads();
    return now_ticks();
}

// While one lives no signal handler of the program runs on the thread, which might leave by a jump.
// Signals that tell of an error in the code itself are let through. Two system calls.
class SignalsBlocked {
  public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    uint64_t before_;  // the kernel's mask
};

// Held for slow work only, by a thread that never blocks while it has it.
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
    ReentryGuard guarded_;  // set before the lock is taken, and until it is free again
};

template <typename T>
T* cell_at(CellIndex index) {
    return reinterpret_cast<T*>(g_process.cells + static_cast<size_t>(index) * kCellBytes);
}
inline CellIndex index_of(const void* cell) {
    return static_cast<CellIndex>((static_cast<const char*>(cell) - g_process.cells) / kCellBytes);
}

// arena.cpp
// `count` zeroed cells that belong to `thread`, or 0 when the cap or the device is full (the file
// is marked so). Slow at chunk borders: takes StateLock and a system call.
CellIndex take_cells(Thread* thread, uint32_t count);
// One that belongs to no thread, each time with a system call. With StateLock held.
CellIndex take_shared_cell();
bool create_record_file(const char* path, uint32_t memory_mib);  // errno tells why not
void close_record_file();

// threads.cpp
Thread* attach_thread();  // the calling thread's state, made when needed; null: cannot be observed
// The same at an I/O statement, which may be in a signal handler of the thread: nothing is
// allocated, and no lock taken that the code it interrupted may hold. Not once the thread's end has
// begun.
Thread* attach_for_io();
// The thread of `born` is one that the program made: its whole life is observed.
void start_span(Thread* thread);
// Of the calling thread. A life that goes on while nothing is recorded ended when that began.
void end_span(Thread* thread, uint64_t now);
// The observation ended `now`. With `books` what other threads have open ends with it: they may run
// on, and are only looked at.
void detach_threads(uint64_t now, bool books);
// At least `bytes` of memory of the thread's own, until its next use; null when there is none.
void* scratch_of(Thread* thread, size_t bytes);

// options.cpp
// Once, at the beginning: which file standard error is.
void find_standard_error();
// The number still stands for that file, not for one of the program's data. Async-signal-safe.
bool is_standard_error();
bool read_options(Options* options);  // false, after a line on stderr, when a value is bad
// One line on stderr, "dwell: " in front; never more than kMaxWarnings for a process.
void warn(const char* format, ...) __attribute__((format(printf, 1, 2), cold));
// The same of what the other ranks may have to say, too: `dwell run` says it once, with their
// number; without it the first rank of the host does.
void warn_of_job(const char* format, ...) __attribute__((format(printf, 1, 2), cold));
// Of `dwell run`, else null.
extern StatusPage* g_status_page __attribute__((visibility("hidden")));

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_STATE_H_
