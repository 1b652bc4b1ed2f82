// The parts of Thread (state.h): what each room keeps for a thread.
#ifndef DWELL_RUNTIME_PROCESS_THREAD_PARTS_H_
#define DWELL_RUNTIME_PROCESS_THREAD_PARTS_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "runtime/contract/record_layout.h"

namespace dwell {

// Stack words that verify a cached call path (callpath.cpp).
constexpr int kReturnAddressChecks = 103;
#pragma pack(push, 4)
struct ReturnAddressCheck {
    uint64_t value;
    uint32_t offset;  // bytes above stack_pointer
};
#pragma pack(pop)
constexpr int kFewSlots = 6;  // slots stored in the entry itself
struct alignas(64) PathEntry {
    uint64_t return_address;  // 0 = free
    uint64_t stack_pointer;   // 0: the return address alone is the path (depth 1)
    uint64_t frame_pointer;
    const ReturnAddressCheck* slot;  // points to `few` or to `block`
    ReturnAddressCheck* block;       // memory for further slots, kept by the entry, or null
    CellIndex node;
    CellIndex probe_frame;  // innermost node opened by a probe; slots verify the path from there
    uint16_t call;
    uint8_t slots;
    uint8_t block_slots;  // capacity of `block`
    bool check_frame_pointer;
    bool foreign;  // call for another MPI library
    uint8_t poll;  // number of the Poll for this path, 0 = none
    ReturnAddressCheck few[kFewSlots];
};
static_assert(sizeof(PathEntry) == 2 * 64);
constexpr uint32_t kPathSets = 256;
constexpr uint32_t kPathWays = 4;

struct KnownFile {
    uint64_t path_hash;  // hash of the file's identity and of the path it was opened by
    CellIndex name;      // TextRecord
};

struct CachedPath {  // second look-up: a path by its return addresses and its call
    uint64_t hash;   // 0 = free
    CellIndex node;
    uint16_t misses;       // failures of the first look-up since the slots were taken
    uint16_t frames : 14;  // frames from the statement outwards to probe_frame
    bool foreign : 1;
    bool met_probe_frame : 1;  // the stack walk reached probe_frame
};
static_assert(sizeof(CachedPath) == 16);
constexpr int kKnownFiles = 256;             // indexed by KnownFile::path_hash (io_records.cpp)
constexpr uint32_t kFirstCachedPaths = 256;  // the table doubles up to kMostCachedPaths
constexpr uint32_t kMostCachedPaths = 32768;

// How a probe gets from the innermost open node to its own.
//   kChild           to a child
//   kRecursiveSelf   recursion: the same node again
//   kRecursiveOuter  recursion: a node further out
//   kShared          record file nearly full: a node shared by all paths
//   kCounted         the node is only counted, no entry is opened
//   kChecked         a child; first tests whether the node lasts long enough for metrics
//   (metrics.h) kForeign         another probe has already recorded the procedure kByCall a loop in
//   a counted procedure: found by the statement that called the procedure
enum class EnterKind : uint8_t {
    kChild,
    kRecursiveSelf,
    kRecursiveOuter,
    kShared,
    kCounted,
    kChecked,
    kForeign,
    kByCall
};

// The node that a probe leads to from an open node (probes.h).
struct KnownChild {
    uint64_t row;  // 0 = free
    uint64_t return_address;
    CellIndex parent;
    CellIndex node;
    uint32_t frame_offset;  // code probes: distance from their frame to the procedure's
    EnterKind enter_kind;
};
constexpr int kKnownChildren = 1024;

// ProbeEntry::row holds the address of a SiteRow, or one of these marks with the address of a
// BlockName or of code.
constexpr uint64_t kRowBlock = uint64_t{1}
                               << 63;  // `frame` is that of the entry around its beginning
constexpr uint64_t kRowCode = uint64_t{1} << 62;  // with 10 bits of hash of its call statement
constexpr uint64_t kRowWithoutNode = uint64_t{1}
                                     << 61;  // without a node: `node` is that of the entry below
constexpr uint64_t kRowPaired = uint64_t{1} << 60;  // a block that is ended without a name
constexpr uint64_t kRowOmp = uint64_t{1} << 59;     // with an OmpConstruct; frames as of a block
constexpr uint64_t kRowMoved = uint64_t{1} << 58;   // began in another node: MovedEntry
constexpr uint64_t kRowCalled = kRowBlock | kRowCode | kRowOmp;  // not a row of a site table
constexpr int kRowCallShift = 48;
constexpr uint64_t kRowAddress = (uint64_t{1} << kRowCallShift) - 1;

// The open entries on one of the stacks that a thread uses.
struct ProbeStack {
    ProbeEntry* base;  // null: unused
    ProbeEntry* top;
    ProbeEntry* limit;  // the last usable entry
    uint64_t low;       // lowest known address of the stack
    uint64_t bytes;     // known size; the base entry's frame is the upper end
    uint32_t* depth;    // counter of its open entries
    uint32_t around;    // index of the stack from which this one was resumed
};
constexpr int kProbeStacks = 128;  // the thread's own, coroutines', signal handlers'

// Distance from a code probe's own frame to the frame of the procedure that calls it
// (code_probes.cpp).
struct FrameHint {
    uint64_t return_address;  // return address of the probe; 0 = free
    uint64_t offset;
};
constexpr int kFrameHintBits = 10;
constexpr int kFrameHints = 1 << kFrameHintBits;

// Multiplicative hash: the slot of an address or handle in a table of 1 << `bits` entries, which
// spreads values of any stride.
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

// Finds the node that took most of a time that comes in pieces (Boyer and Moore's majority vote):
// pieces of other nodes reduce the candidate's weight, until one of them replaces it.
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
    CellIndex node;  // the statement that took most of `ticks`
};
// What threads in OpenMP regions did beside computing (omp_team.h).
struct OmpStalls {
    uint64_t io_ticks;
    uint64_t asleep_ticks;
    uint64_t kernel_ticks;
    CellIndex io_node;
};
// Longest part of a region's time (I/O, asleep, kernel) among its threads, and the sum over
// regions.
struct LongestParts {
    std::atomic<uint64_t> last;  // region (by its fork) and duration in one word
    std::atomic<uint64_t> sum;
};
// Stalls in the regions of one team; its threads write rarely.
struct alignas(64) TeamStalls {
    LongestParts io;
    LongestParts asleep;
    LongestParts kernel;
    std::atomic<CellIndex> io_node;
};
// Processor time of the thread at the last reading (processor_time.h).
struct ProcessorTime {
    uint64_t ticks;  // 0: never
    uint64_t on_ns;
    uint64_t kernel_ns;
    uint64_t queued_ns;
    uint64_t given_up;      // voluntary context switches
    uint64_t waited_ticks;  // OmpThread::waited_ticks
    uint64_t lost_ticks;    // sum over all readings of time without a processor
    uint64_t io_ticks;      // IoSinceCall::ticks
    OmpStalls in_teams;
    IoSinceCall io;
};

// Why a thread is late, beside its rank's timeline (timeline.h).
struct DelayState {
    uint64_t stamped_at;  // real ticks of the call that ended the last computation
    uint64_t last_ticks;  // duration of that computation
    uint32_t last_path;   // its path hash: hash_interval
    // Unsuccessful polls since the last wait whose cause is known: their total duration, and the
    // real ticks at which the first one began.
    uint64_t polled_ticks;
    uint64_t polled_from;

    void note_polled(uint64_t from, uint64_t ticks) {
        if (polled_ticks == 0) polled_from = from;
        polled_ticks += ticks;
    }
};
// Root causes of a thread's waiting, in a set-associative table by a hash of rank and path; a set
// is one cache line (wait_records.cpp).
struct CauseSlot {
    uint32_t tag;    // further bits of the hash
    CellIndex cell;  // RootCauseRecord, 0: free
};
constexpr uint32_t kCauseWays = 8;
constexpr uint32_t kCauseSets = 512;

// A thread's OpenMP state (omp_adapter.cpp).
struct OmpTeam;
constexpr int kOmpLevels = 8;  // nested regions; deeper ones only advance the clock
constexpr int kOmpTeams = 8;   // teams of a forking thread; free once all threads left the region
struct OmpLevel {
    OmpTeam* team;         // null: the region is not recorded
    uint32_t index;        // thread number in the team
    uint32_t size;         // threads in the team
    uint32_t entry;        // index of the region's open entry; 0: none
    uint32_t passed;       // barriers reached, without the region's last one
    uint32_t slot;         // arrival slot of the current barrier
    bool at_last;          // the current barrier is the region's last one
    uint64_t worksharing;  // address of the last worksharing construct since the last barrier, or 0
    uint64_t came_real;    // arrival at the barrier, real ticks without pauses
    uint64_t came_virtual;  // likewise, virtual ticks
};
struct OmpThread {
    OmpLevel levels[kOmpLevels];
    uint32_t depth;
    uint32_t next_team;
    CellIndex idle;  // the node `idle`, 0: not created yet
    bool is_idle;    // idle since the virtual time idle_since
    bool idle_in_log;
    uint64_t idle_since;
    // Waiting for other threads of regions, without the end of regions that another thread forked.
    uint64_t waited_ticks;
    OmpTeam* teams[kOmpTeams];
    // Set while the thread is idle between OpenMP work. Whoever resets it may close the thread's
    // entries: the thread itself, or the thread that ends the observation.
    std::atomic<uint32_t> parked;
    bool has_parked;    // the thread set `parked` itself
    bool is_leaving;    // leaving a region whose end is reported late (omp_leave_region)
    uint32_t unopened;  // open constructs for which there was no entry
    // The lock that the thread requests, or requested in vain: its row, 0: none (omp_locks.cpp).
    uint64_t requested_row;
    uint64_t requested_since;  // virtual
};

struct Call;
// A function of the program that MPI has called back during a call (user_code.h), with the thread's
// state at its beginning.
struct UserCode {
    uint64_t frame;  // stack below this address belongs to the function
    Call* call;
    OpenCall open;  // what the call waits for
    CellIndex last;
    uint64_t last_ticks;
    uint64_t slow_overhead;
    uint64_t separate_ticks;
    uint64_t user_ticks;
    uint64_t began;    // real ticks
    CellIndex around;  // saved Thread::no_probes node
};
constexpr uint32_t kUserDepth = 8;  // nesting; deeper functions count as part of the calls

struct SampleRing;
struct SampleSpill;
// Half of the 516 KiB for each processor that an ordinary user may lock
// (kernel.perf_event_mlock_kb), less a page.
constexpr size_t kLargestRing = 256 * 1024;
constexpr size_t kRingStep = 8;  // record sizes are multiples of this
struct ThreadMetrics;
struct Call;
struct IoStatement;
struct Poll;
struct SiteRow;

// Whether the thread is inside dwell, and since which stack address: the low half of the stack
// pointer at begin() later shows whether dwell was left by longjmp (probe_jumps.cpp).
class ToolSection {
  public:
    // One store. A stack pointer whose low half is 0 goes unnoticed: one in half a billion, and
    // only the separation of a signal handler's probes is lost.
    __attribute__((always_inline)) void begin() {
#if defined(__x86_64__)
        asm volatile("movl %%esp, %0" : "=m"(from_));
#else
        from_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
#endif
    }
    __attribute__((always_inline)) void end() { from_ = 0; }
    __attribute__((always_inline)) explicit operator bool() const { return from_ != 0; }
    // The stack address at begin(), which lies less than 2 GiB from `near`.
    uint64_t where(uint64_t near) const {
        const auto apart = static_cast<int32_t>(from_ - static_cast<uint32_t>(near));
        return near + static_cast<uint64_t>(int64_t{apart});
    }

  private:
    uint32_t from_ = 0;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_THREAD_PARTS_H_
