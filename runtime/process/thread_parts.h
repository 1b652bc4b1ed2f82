// The parts of a thread's state: what each room keeps for a thread. Thread (state.h) holds one of
// each, or a table of them.
#ifndef DWELL_RUNTIME_PROCESS_THREAD_PARTS_H_
#define DWELL_RUNTIME_PROCESS_THREAD_PARTS_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "runtime/contract/record_layout.h"

namespace dwell {

// The stack slots that prove a remembered call path (see callpath.cpp).
constexpr int kReturnAddressChecks = 103;
#pragma pack(push, 4)
struct ReturnAddressCheck {
    uint64_t value;
    uint32_t offset;  // bytes above stack_pointer
};
#pragma pack(pop)
constexpr int kFewSlots = 6;  // that an entry holds itself
struct alignas(64) PathEntry {
    uint64_t return_address;  // 0 = free
    uint64_t stack_pointer;   // 0: the return address alone is the path (depth 1)
    uint64_t frame_pointer;
    const ReturnAddressCheck* slot;  // `few`, or `block`
    ReturnAddressCheck* block;       // memory for more slots, which stays the entry's own, or null
    CellIndex node;
    CellIndex probe_frame;  // innermost probed node; the slots prove the path from there on
    uint16_t call;
    uint8_t slots;
    uint8_t block_slots;  // room in `block`
    bool check_frame_pointer;
    bool foreign;  // call for another MPI library
    uint8_t poll;  // number of the Poll that repeats it, 0 = none
    ReturnAddressCheck few[kFewSlots];
};
static_assert(sizeof(PathEntry) == 2 * 64);
constexpr uint32_t kPathSets = 256;
constexpr uint32_t kPathWays = 4;

struct KnownFile {
    uint64_t way;    // a hash: where it lies, and by which path it was opened
    CellIndex name;  // TextRecord
};

struct CachedPath {  // one path by its addresses and its call: the second look-up
    uint64_t hash;   // 0 = free
    CellIndex node;
    uint16_t misses;       // times the first look-up failed since the stack slots were taken
    uint16_t frames : 14;  // from the statement out to the anchor
    bool foreign : 1;
    bool met_probe_frame : 1;  // the walk outwards found the anchor's frame
};
static_assert(sizeof(CachedPath) == 16);
constexpr int kKnownFiles = 256;             // by the way to them; see io_records.cpp
constexpr uint32_t kFirstCachedPaths = 256;  // the table doubles up to
constexpr uint32_t kMostCachedPaths = 32768;

// How a probe gets from the innermost open node to its own: to a child; back to the same node or
// one further out (recursion); or, when the record file is full, to a node that all paths share. To
// a node that is only counted it opens none, nor where another probe told of the procedure; a loop
// in what is only counted depends on the statement that called that, which is looked up, too. A
// checked child goes down like any other, but first it is seen whether it has come to last long
// enough for metrics (metrics.h).
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

// Where a probe leads from an open node: see probes.h.
struct KnownChild {
    uint64_t row;  // 0 = free
    uint64_t return_address;
    CellIndex parent;
    CellIndex node;
    uint32_t frame_offset;  // code probes: from their own frame to the procedure's
    EnterKind way;
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
struct DelayState {
    uint64_t stamped_at;  // real ticks of the call before which the last computation ended,
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
    CellIndex cell;  // RootCauseRecord, 0: free
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
    uint64_t slow_overhead;
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
class ToolSection {
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

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_THREAD_PARTS_H_
