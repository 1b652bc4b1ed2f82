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

// The stack slots that prove a remembered call path (see callpath.cpp).
constexpr int kPathSlots = 103;
#pragma pack(push, 4)
struct PathSlot {
    uint64_t value;
    uint32_t offset;  // bytes above stack_pointer
};
#pragma pack(pop)
constexpr int kFewSlots = 6;  // that an entry holds itself
struct alignas(64) PathEntry {
    uint64_t return_address;  // 0 = free
    uint64_t stack_pointer;   // 0: the return address alone is the path (depth 1)
    uint64_t frame_pointer;
    const PathSlot* slot;  // `few`, or `block`
    PathSlot* block;       // memory for more slots, which stays the entry's own, or null
    CellIndex node;
    CellIndex anchor;  // innermost probed node; the slots prove the path from there on
    uint16_t call;
    uint8_t slots;
    uint8_t block_slots;  // room in `block`
    bool check_frame_pointer;
    bool foreign;  // call for another MPI library
    uint8_t poll;  // number of the Poll that repeats it, 0 = none
    PathSlot few[kFewSlots];
};
static_assert(sizeof(PathEntry) == 2 * 64);
constexpr uint32_t kPathSets = 256;
constexpr uint32_t kPathWays = 4;

struct KnownFile {
    uint64_t way;    // a hash: where it lies, and by which path it was opened
    CellIndex name;  // TextRecord
};

struct KnownPath {  // one path by its addresses and its call: the second look-up
    uint64_t hash;  // 0 = free
    CellIndex node;
    uint16_t misses;       // times the first look-up failed since the stack slots were taken
    uint16_t frames : 14;  // from the statement out to the anchor
    bool foreign : 1;
    bool met_anchor : 1;  // the walk outwards found the anchor's frame
};
static_assert(sizeof(KnownPath) == 16);
constexpr int kKnownFiles = 256;            // by the way to them; see io_records.cpp
constexpr uint32_t kFirstKnownPaths = 256;  // the table doubles up to
constexpr uint32_t kMostKnownPaths = 32768;

// How a probe gets from the innermost open node to its own: to a child; back to the same node or
// one further out (recursion); or, when the record file is full, to a node that all paths share. To
// a node that is only counted it opens none, nor where another probe told of the procedure; a loop
// in what is only counted depends on the statement that called that, which is looked up, too. A
// checked child goes down like any other, but first it is seen whether it has come to last long
// enough for metrics (metrics.h).
enum class ProbeWay : uint8_t { kDown, kSame, kBack, kShared, kCounted, kChecked, kTold, kByCall };

// Where a probe leads from an open node: see probes.h.
struct KnownChild {
    uint64_t row;  // 0 = free
    uint64_t return_address;
    CellIndex parent;
    CellIndex node;
    uint32_t frame_offset;  // code probes: from their own frame to the procedure's
    ProbeWay way;
};
constexpr int kKnownChildren = 1024;

// The open entries of one of the stacks that a thread runs on.
struct ProbeStack {
    ProbeEntry* base;  // null: unused
    ProbeEntry* top;
    ProbeEntry* limit;  // the last that may be used
    uint64_t low;       // addresses of the stack, as far as they are known;
    uint64_t bytes;     // the frame of the base stands for its end
    uint32_t* depth;    // where its open entries are counted
    uint32_t around;    // the number of the stack that it was resumed from
};
constexpr int kProbeStacks = 128;  // a thread's own, and those of coroutines and signal handlers

// How far from a code probe's own frame that of the procedure lies which calls it
// (code_probes.cpp).
struct FrameHint {
    uint64_t return_address;  // of the probe; 0 = free
    uint64_t offset;
};
constexpr int kFrameHintBits = 10;
constexpr int kFrameHints = 1 << kFrameHintBits;

// The place of an address or handle in a table of 1 << `bits`: whatever their strides, the highest
// bits of the product differ.
constexpr uint32_t place_in(int bits, uint64_t value) {
    return static_cast<uint32_t>((value * 0x9e3779b97f4a7c15ull) >> (64 - bits));
}

struct TypeEntry {
    uintptr_t type;
    uint64_t bytes;
    uint64_t epoch;
};
constexpr int kTypeBits = 6;
constexpr int kTypeEntries = 1 << kTypeBits;

struct RankEntry {
    uintptr_t comm;
    int32_t rank;
    uint32_t peer;
    uint64_t epoch;
};
constexpr int kRankBits = 8;
constexpr int kRankEntries = 1 << kRankBits;

// Which node took most of a time that comes in pieces (Boyer and Moore's majority vote): a piece of
// another one takes weight from it, and its place once that is more than it has.
inline void weigh(CellIndex* most, uint64_t* weight, CellIndex node, uint64_t ticks) {
    if (*most == node) {
        *weight += ticks;
    } else if (*weight >= ticks) {
        *weight -= ticks;
    } else {
        *most = node;
        *weight = ticks - *weight;
    }
}
// The I/O statements since the thread's last call.
struct IoSinceCall {
    uint64_t since;  // Thread::last_ticks of that call
    uint64_t ticks;
    uint64_t weight;
    CellIndex node;  // that took most of it
};
// What threads of OpenMP did in regions beside computing (omp_team.h).
struct OmpStalls {
    uint64_t io_ticks;
    uint64_t asleep_ticks;
    uint64_t kernel_ticks;
    CellIndex io_node;
};
// A part of a region's time: the longest of those in the last region that has one, and the sum of
// these.
struct LongestParts {
    std::atomic<uint64_t> last;  // in one word: which region, by its fork, and how long
    std::atomic<uint64_t> sum;
};
// Of the regions of one team; written by its threads, seldom.
struct alignas(64) TeamStalls {
    LongestParts io;
    LongestParts asleep;
    LongestParts kernel;
    std::atomic<CellIndex> io_node;
};
// Of the thread, when it was read last (processor_time.h).
struct ProcessorTime {
    uint64_t ticks;  // 0: never
    uint64_t on_ns;
    uint64_t kernel_ns;
    uint64_t queued_ns;
    uint64_t given_up;      // how often the thread gave up the processor itself
    uint64_t waited_ticks;  // OmpThread's
    uint64_t lost_ticks;    // without a processor, in all readings
    uint64_t io_ticks;      // of `io`
    OmpStalls in_teams;
    IoSinceCall io;
};

// What makes a thread late, beside its rank's timeline (timeline.h).
struct Blame {
    uint64_t told_at;     // real ticks of the call before which the last computation ended,
    uint64_t last_ticks;  // how long that took,
    uint32_t last_path;   // and which it was: hash_interval
    // Polls that found nothing since it is known for whom it waited last: how long they took, and
    // when the first of them began, in real ticks.
    uint64_t polled_ticks;
    uint64_t polled_from;

    void note_polled(uint64_t from, uint64_t ticks) {
        if (polled_ticks == 0) polled_from = from;
        polled_ticks += ticks;
    }
};
// The causes of a thread's waiting, by a hash of rank and path: each has its place in one set of
// few, a line of the cache (wait_records.cpp).
struct CauseSlot {
    uint32_t tag;    // more of the hash
    CellIndex cell;  // CauseRecord, 0: free
};
constexpr uint32_t kCauseWays = 8;
constexpr uint32_t kCauseSets = 512;

// What a thread does for OpenMP: see omp_adapter.cpp.
struct OmpTeam;
constexpr int kOmpLevels = 8;  // regions in regions, beyond which only the clock is kept
constexpr int kOmpTeams = 8;   // of a thread that forks; each is free when all have left its region
struct OmpLevel {
    OmpTeam* team;         // null: of a region that is not recorded
    uint32_t index;        // of the thread in it
    uint32_t size;         // threads in it
    uint32_t entry;        // the region's on the stack of open entries; 0: none
    uint32_t passed;       // barriers that the thread came to, but the region's last one
    uint32_t slot;         // where it told the team that it came to the one it stands at
    bool at_last;          // it stands at the region's last one
    uint64_t worksharing;  // place of the last worksharing construct since the last barrier, or 0
    uint64_t came_real;    // when it came to it: real ticks without pauses
    uint64_t came_virtual;
};
struct OmpThread {
    OmpLevel levels[kOmpLevels];
    uint32_t depth;
    uint32_t next_team;
    CellIndex idle;  // the node `idle`, 0: not made yet
    bool is_idle;    // since the virtual time idle_since
    uint64_t idle_since;
    uint64_t waited_ticks;  // for other threads of regions, but at a region's end if it was forked
                            // by another
    OmpTeam* teams[kOmpTeams];
    // Set while the thread does nothing until OpenMP has work for it again. Who sets it back may
    // close the thread's entries: the thread itself, or who ends the observation.
    std::atomic<uint32_t> parked;
    bool has_parked;    // the thread did so itself
    bool is_leaving;    // a region, whose end it will tell late (omp_leave_region)
    uint32_t unopened;  // constructs under way that found no room for an entry
    // The lock that the thread wants, or wanted in vain: its row, 0: none; see omp_locks.cpp.
    uint64_t wanted_row;
    uint64_t wanted_since;  // virtual
};

struct Call;
// A function of the program that MPI has called back, in a call under way: see user_code.h. What
// the thread's state stood for when it began.
struct UserCode {
    uint64_t frame;  // what lies below on the stack is its own
    Call* call;
    CellIndex node;  // of the call
    CellIndex last;
    uint64_t last_ticks;
    uint64_t slow_ticks;
    uint64_t booked_ticks;
    uint64_t user_ticks;
    uint64_t began;  // real ticks
    uint64_t entry_ticks;
    CellIndex around;  // of the thread without probes: Thread::no_probes
};
constexpr uint32_t kUserDepth = 8;  // in each other, beyond which they are left with the calls

struct SampleRing;
struct SampleSpill;
// Of an ordinary user's 516 KiB for each processor (kernel.perf_event_mlock_kb) half, and a page.
constexpr size_t kLargestRing = 256 * 1024;
constexpr size_t kRingStep = 8;  // each record in it is a multiple of so many bytes long
struct ThreadMetrics;
struct Call;
struct IoStatement;
struct Poll;
struct SiteRow;

// Whether dwell is at work on a thread, and from where on its stack: the low half of the stack
// pointer at begin(), which tells later that the work was left by a jump (probe_jumps.cpp).
class AtWork {
  public:
    // One store. A stack pointer whose low half is 0 would not be seen: of the half a billion that
    // are possible one, and what is lost is that a handler's probes are kept apart.
    __attribute__((always_inline)) void begin() {
#if defined(__x86_64__)
        asm volatile("movl %%esp, %0" : "=m"(from_));
#else
        from_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
#endif
    }
    __attribute__((always_inline)) void end() { from_ = 0; }
    __attribute__((always_inline)) explicit operator bool() const { return from_ != 0; }
    // The address on the stack of `near` where it began; they are less than 2 GiB apart.
    uint64_t where(uint64_t near) const {
        const auto apart = static_cast<int32_t>(from_ - static_cast<uint32_t>(near));
        return near + static_cast<uint64_t>(int64_t{apart});
    }

  private:
    uint32_t from_ = 0;
};

// What calls, polls and probes use comes first: while a program computes all of it leaves the
// caches, and each line that is fetched again costs as much as the rest of a call.
struct alignas(64) Thread {
    ThreadRecord* record;
    Call* open;                 // outermost communication statement under way, or null
    CellIndex last;             // communication node left last, 0 at the start
    AtWork in_dwell;            // calls made meanwhile only pass
    uint64_t last_ticks;        // real ticks when it was left
    uint64_t slow_ticks;        // slow work since then: not computation
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
    // 0: it is known, or it has no life (begin_life).
    uint64_t born;
    uint64_t user_ticks;  // of the call under way, in functions of the program (user_code.h)
    Blame blame;
    // Of the calls before in which MPI makes no progress, one after the other: the number of the
    // last one, and the real ticks since when the thread has been in no other (late_receivers.h).
    uint32_t away_call;
    uint64_t away_ticks;
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
    uint32_t next_way;     // of a full set, to be taken
    KnownPath* known;      // known_slots of them, which known_count paths were put into
    uint32_t known_slots;  // 0, or a power of two
    uint32_t known_count;
    PathSlot* blocks;  // memory for PathEntry::block, of which so many slots are left
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
extern constinit thread_local uint32_t t_busy __attribute__((tls_model("initial-exec")));

// Slow work takes system calls that are cancellation points: the program's threads are not
// cancelled there, so that its own calls do not become such points. Any thread; also in signal
// handlers, with glibc.
class Uncancelled {
  public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;

  private:
    int before_ = 0;
};

class Busy {
  public:
    Busy() { t_busy = t_busy + 1; }
    ~Busy() { t_busy = t_busy - 1; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

  private:
    Uncancelled uncancelled_;
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
    return now - record->intrusion_ticks - record->paused_ticks - thread->slow_ticks;
}

inline uint64_t now_ticks() { return g_process.use_tsc ? read_tsc() : monotonic_ns(); }
inline uint64_t settled_ticks() {
    finish_loads();
    return now_ticks();
}

// While one lives no signal handler of the program runs on the thread, which might leave by a jump.
// Signals that tell of an error in the code itself are let through. Two system calls.
class SignalsHeld {
  public:
    SignalsHeld();
    ~SignalsHeld();
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

  private:
    uint64_t before_;  // the kernel's mask
};

// Held for slow work only, by a thread that never blocks while it has it.
class SlowLock {
  public:
    SlowLock() {
        while (g_process.lock.exchange(1, std::memory_order_acquire) != 0) wait();
    }
    ~SlowLock() { g_process.lock.store(0, std::memory_order_release); }
    SlowLock(const SlowLock&) = delete;
    SlowLock& operator=(const SlowLock&) = delete;

  private:
    static void wait();
    SignalsHeld held_;
    Busy busy_;  // set before the lock is taken, and until it is free again
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
// is marked so). Slow at chunk borders: takes SlowLock and a system call.
CellIndex take_cells(Thread* thread, uint32_t count);
// One that belongs to no thread, each time with a system call. With SlowLock held.
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
void begin_life(Thread* thread);
// Of the calling thread. A life that goes on while nothing is recorded ended when that began.
void end_life(Thread* thread, uint64_t now);
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
