// The layout of a record file: the contract between the observed process, which writes it, and its
// readers (merge, recover, live view). DESIGN 3.
//
// A record file is an array of 64-byte cells. Cell 0 is the start of the header; everything else is
// referred to by the index of its first cell (CellIndex, 0 = none), so the file can be mapped at
// any address. A cell is written only by its owning thread. Readers may see the last update of a
// running process half done, but never a dangling index, because a cell is filled before it is
// linked.
//
//   cell 0 ..  FileHeader (kHeaderCells cells)
//   then, in the order in which they were needed:
//     ModuleRecord (1 cell + path_cells cells)     linked from FileHeader::first_module
//     ThreadRecord (kThreadCells cells)            linked from FileHeader::first_thread
//     Node, CommPart, WaitPart, IoPart, ProbePart, OmpPart, TrafficPeerRecord, FileUse,
//     WaitPeerRecord,
//       RootCauseRecord (1 cell each), MetricPart (kMetricCells cells), SizeHistogram
//       (kHistogramCells cells)
//     TextRecord (1 cell or more)                  linked from FileHeader::first_text
//     GridRecord (1 cell)                          linked from FileHeader::first_grid
//     CommRecord (1 cell)                          linked from FileHeader::first_comm
//     RequestBlock (1 cell + a cell a request)     linked from FileHeader::first_requests
//     OffSite (1 cell)                             linked from FileHeader::first_off_site
//     ProbeEntry stacks, MovedEntry (probes.h)     from ThreadRecord::probe_stack
//     AxisBin (1 cell each, kAxisBins together)    from ThreadRecord::axis
//
// Times are ticks of the clock that the header describes; readers convert them to nanoseconds.
// Writers: runtime/process/arena.cpp, runtime/calls/records.cpp. Reader:
// summarize/merge/record_reader.cpp.
#ifndef DWELL_RUNTIME_CONTRACT_RECORD_LAYOUT_H_
#define DWELL_RUNTIME_CONTRACT_RECORD_LAYOUT_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/contract/event_layout.h"
#include "runtime/contract/open_records.h"
#include "runtime/contract/time_axis_layout.h"

namespace dwell {

constexpr uint64_t kRecordMagic = 0x43455244'4c4c5744ULL;  // "DWLLDREC" in memory order
constexpr uint32_t kRecordLayoutVersion = 16;

// What a site is (DESIGN 1). The numbers are part of the file format.
enum class SiteKind : uint8_t {
    kNone = 0,
    kProgram = 1,
    kProcedure = 2,
    kLoop = 3,
    kCall = 4,  // without probes: a frame of a call path, named by its return address
    kCommunication = 5,
    kOpenMp = 6,
    kIo = 7,
    kBlock = 8,
    kMarker = 9,
    kInterval = 10,  // computation between two communication statements
    kSample = 11,    // one sampled instruction address inside an interval
};

enum NodeFlags : uint8_t {
    kNodeFolded = 1,     // stands for paths without room (cap reached)
    kNodeForeign = 2,    // address in no known module: offset is the raw address
    kNodeNamed = 4,      // block, marker: offset is the CellIndex of its TextRecord
    kNodeCode = 8,       // procedure: offset is the address of its code, not of its row
    kNodePhase = 16,     // block: a phase; ProbePart::iteration is known
    kNodeRead = 32,      // OpenMP: metrics are read if it lasts long enough; not part of the site
    kNodeNoEvents = 64,  // no full events are written; not part of the site
    kNodeWindow = 128,   // its entries may switch events on (--events-window); likewise
};

// The place of a node. `offset` is relative to the start of the module's file image: of the return
// address (call, communication), of the sampled instruction (sample) or of the SiteRow (procedure,
// loop; site_table.h). For an interval its lower half is the CellIndex of the communication node at
// its beginning (0: the start of the thread), its upper half the interval's path hash
// (path_hash.h).
constexpr uint16_t kPathCut = UINT16_MAX;
struct Site {
    uint64_t offset;
    uint16_t module;  // ModuleRecord::number, 0 = none
    uint16_t call;    // communication: MpiCall number (mpi_calls.h); I/O: IoCall (io_calls.h);
                      // OpenMP: OmpConstruct (omp_constructs.h); child of an interval: see Node;
                      // otherwise 0
    SiteKind kind;
    uint8_t flags;  // NodeFlags
    uint16_t open;  // probed node: open entries now, up to 65535; interval:
                    // number of sample nodes below it
};

inline bool is_same_place(const Site& a, const Site& b) {
    return a.kind == b.kind && a.module == b.module && a.offset == b.offset;
}

// A site as reached along one path. `part` is the index of a communication node's CommPart or of an
// I/O node's IoPart; for an interval it is the deepest node common to both paths.
//
// An interval is a child of the communication node at its end. Below it are the call paths of its
// samples (call, sample) without the nodes that they share with the path to that communication
// node: Site::call of the first node is one more than the number of shared nodes, the root not
// counted; kPathCut where the callers are unknown; 0 where only the address is known.
//
// Nodes made by probes: a procedure is a child of the call node from which it was called, a loop a
// child of its procedure or loop; both have a ProbePart once it has content. Recursive calls,
// direct or not, count on the open node, without time. Nodes between (a loop, or another procedure
// that called it again) are not timed meanwhile: so a node's ticks are never less than the sum of
// its children's.
struct Node {
    Site site;
    CellIndex parent;
    CellIndex first_child;
    CellIndex next_sibling;
    CellIndex part;
    uint64_t count;
    uint64_t ticks;  // inclusive virtual time
    uint64_t min_ticks;
    uint64_t max_ticks;
};

// 32-bit counters saturate at this value (72 minutes at one a microsecond).
constexpr uint32_t kCounterFull = UINT32_MAX;
inline void count_up(uint32_t* counter, uint32_t by = 1) {
    *counter = by < kCounterFull - *counter ? *counter + by : kCounterFull;
}

// Second line of a communication node.
struct CommPart {
    uint64_t sync_ticks;  // part of Node::ticks: waiting for partners with known times
    uint64_t bytes_sent;
    uint64_t bytes_received;
    CellIndex first_peer;
    CellIndex histogram;
    uint32_t peer_count;
    CellIndex last_peer;     // the last peer record used: the next look-up begins there
    uint64_t blocked_ticks;  // part of Node::ticks spent in calls that blocked
    uint64_t failed;         // calls that returned an error: counted, arguments not read
    uint32_t folded_peers;   // messages without a peer record (cap on peers), by count_up()
    CellIndex wait;          // WaitPart, 0: never waited, or no wait analysis
};

// Third line of a communication node at which the thread waited for partners whose times are known.
// Waiting in CommPart::sync_ticks that is for neither a late sender nor a late receiver was in a
// collective. At most kWaitPartners partners are stored, the heaviest (wait_records.h); others are
// summed in rest_*.
constexpr uint32_t kWaitPartners = 16;
struct WaitPart {
    uint64_t late_sender_ticks;
    uint64_t late_receiver_ticks;
    uint64_t indirect_wait_ticks;  // part of sync_ticks: the partner itself had waited before
    uint64_t rest_ticks;
    uint64_t rest_count;
    // Counters by count_up().
    uint32_t unknown;    // calls with partners whose times were partly unknown
    uint32_t guessed;    // the message could be one of several
    uint32_t estimated;  // between hosts without a sample: extrapolated; files: whether it waited
    CellIndex first_partner;
    CellIndex last_partner;  // last one used: the next look-up begins there
    uint32_t partner_count;
};

// A partner that a communication node waited for, and the partner's activity: the computation
// between two communication statements that took most of its time since its own last wait, by path
// hash (path_hash.h).
struct WaitPeerRecord {
    uint32_t peer;  // world rank, as in TrafficPeerRecord
    uint32_t path;
    CellIndex next;
    uint32_t reserved;
    uint64_t count;
    uint64_t ticks;
    uint64_t max_ticks;
    uint64_t indirect_wait_ticks;  // part of `ticks`: the partner itself had waited before
    uint64_t displaced_ticks;      // weight beyond `ticks`, taken over from displaced partners
    uint64_t challenged_ticks;     // waiting for partners without a record (wait_records.h)
};

// A root cause of this thread's waiting (DESIGN 4, delay cost): a computation of a rank that
// delayed the thread directly or through others. Linked from ThreadRecord::first_cause; each thread
// keeps the heaviest (wait_records.h), others are summed in ThreadRecord::rest_cause_*.
struct RootCauseRecord {
    uint32_t peer;
    uint32_t path;
    CellIndex next;
    uint32_t reserved;
    uint64_t count;
    uint64_t ticks;              // direct and indirect
    uint64_t direct_wait_ticks;  // part of `ticks`: the thread waited for that rank itself
    uint64_t displaced_ticks;    // as in WaitPeerRecord
    uint64_t challenged_ticks;
    uint64_t unused;
};

// Time other than computation in the long computations (processor_time.h) of one interval. Linked
// from ThreadRecord::first_stall.
struct StallRecord {
    CellIndex interval;
    CellIndex next;
    CellIndex io_node;  // the I/O statement that took most of io_ticks; 0: none
    uint32_t count;
    uint64_t ticks;         // total time of these computations
    uint64_t io_ticks;      // in I/O statements
    uint64_t asleep_ticks;  // not on a processor, nor waiting for one
    uint64_t queued_ticks;  // waiting for a processor
    uint64_t kernel_ticks;  // on a processor, in the kernel
    uint64_t io_weight;
    uint64_t team_asleep_ticks;  // the thread waited for an OpenMP thread that was asleep
    uint64_t unused[7];
};

// Second line of an I/O node. Time of I/O is not part of any interval.
struct IoPart {
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t failed;     // calls that returned an error, or nothing on a stream
    uint64_t elsewhere;  // calls on further files without a FileUse
    CellIndex first_file;
    CellIndex last_file;  // last one used: the next look-up begins there
    uint32_t files;
    uint32_t reserved;
    uint64_t unused[2];
};

// Use of one file by one I/O node.
struct FileUse {
    CellIndex name;  // TextRecord
    CellIndex next;
    uint64_t count;
    uint64_t ticks;
    uint64_t bytes;
    uint64_t unused[4];
};

// Entries of a site between two checks of control.
struct CountedGap {
    uint32_t number;
    uint32_t entries;
};

// Second line of a procedure, loop, block or marker, if needed.
struct ProbePart {
    union {
        uint64_t iterations;       // loop: iterations begun
        uint64_t first_iteration;  // phase: the number at its first begin
    };
    uint64_t untimed;    // part of Node::count: entries while the node was open (recursion)
    uint64_t abandoned;  // entries left by exception, longjmp, exit: timed until that was noticed
    uint64_t counted;    // part of Node::count: entries without time: too expensive, or too deep
    // Entries while the site was off, estimated (runtime/probes/probe_trials.h); not part of
    // Node::count.
    uint64_t off_entries;
    union {
        uint64_t volume;  // block, marker: the user's count
        // Procedure, loop: variance of off_entries, the sum of K(K - 1)n² over the trials, each of
        // which is one gap in K, with n entries.
        uint64_t off_squares;
    };
    union {
        uint64_t iteration;  // phase: the number at its last begin
        CountedGap gap;      // procedure, loop: the last gap in which it was only counted
    };
    uint64_t unused;
};

// A procedure or loop that control switched off at times: entries are missing in its nodes, and a
// node without an estimate does not show how many. While it was off, there were stretches in which
// none of its entries was seen, each from one check of control to the next, in real ticks.
struct OffSite {
    Site site;
    CellIndex next;
    uint32_t reserved;
    double stretches;  // sum of the stretches
    double squares;    // the sum of their squares
    double cut;        // part of `stretches`: after counting was broken off, not estimated
    uint64_t unused[2];
};

// Second line of an OpenMP node; begins like a ProbePart. The nodes of a parallel region are in the
// tree of each thread that took part, below copies of the nodes that the forking thread had open
// (count 0, with the region's time).
struct OmpPart {
    union {
        uint64_t iterations;  // loop: of the thread, or of the team on its first thread
        uint64_t to_device;   // target construct: bytes
    };
    uint64_t untimed;      // as in ProbePart
    uint64_t abandoned;    // as in ProbePart
    uint64_t wait_ticks;   // part of Node::ticks: waiting for other threads, or for work
    uint64_t start_ticks;  // task: from its creation to its start, not part of Node::ticks
    uint64_t created;      // task: by this thread; region: forked by it
    union {
        uint64_t chunks;       // loop: chunks of this thread
        uint64_t from_device;  // target construct: bytes
    };
    uint64_t overhead_ticks;  // region: part of Node::ticks for its begin and end
};

// Counts at one node, without its children that have counts of their own. Read at the node's enter
// and exit, stored beside the tree, linked from ThreadRecord::first_metric. `entries` and `ticks`
// are those of the entries that were read; counts of other entries belong to the node around. For
// an interval both are 0: its counts are those of the computation before a communication statement.
// `values` are in the order of FileHeader::metric_names. `left_out` of the root is the number of
// entries of the thread that were skipped, because readings had used their share of its time
// (metrics.h).
constexpr uint32_t kMetricLimit = 8;
struct MetricPart {
    CellIndex node;
    CellIndex next;
    uint64_t entries;
    uint64_t ticks;
    uint64_t values[kMetricLimit];
    uint64_t left_out;
    uint64_t unused[4];
};
constexpr uint32_t kMetricCells = sizeof(MetricPart) / kCellBytes;

// Limit of different names of blocks and markers in a process. Blocks with further names are not
// recorded but counted (probes_dropped), and kFileNamesFull marks that.
constexpr uint32_t kBlockNameLimit = 4096;

// A grid of processes, described by the program or made by MPI_Cart_create, and this process's
// coordinates. Grids of MPI have one common name and are distinguished by shape.
constexpr int kGridDimensions = 6;
constexpr uint32_t kGridLimit = 64;          // different grids in a job; later ones are dropped
constexpr uint32_t kGridByMpi = 0x80000000;  // in GridRecord::periodic
struct GridRecord {
    CellIndex next;  // all grids of the file
    CellIndex name;  // TextRecord
    uint32_t dimensions;
    uint32_t periodic;  // bit k: dimension k
    int32_t size[kGridDimensions];
    int32_t coordinate[kGridDimensions];
};

// A text stored at run time, zero terminated; it fills the cells after the first 8 bytes.
struct TextRecord {
    CellIndex next;  // all texts of the file
    uint32_t bytes;  // without the zero
    char text[56];   // continues in the following cells
};

// Traffic of one communication node with one partner (the paper's com_record). `peer` is
// PeerId::value below.
struct TrafficPeerRecord {
    uint32_t peer;
    CellIndex next;
    uint64_t count;
    uint64_t ticks;
    uint64_t sync_ticks;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t min_ticks;
    uint64_t max_ticks;
};

// A partner: rank in its MPI_COMM_WORLD (low 24 bits) and world (high 8 bits). World 0 is the
// process's own; spawned or connected worlds are numbered from 1 in order of appearance, the
// parent's world is 254, 255 means "not one rank".
constexpr uint32_t kPeerRankBits = 24;
constexpr uint32_t kParentWorld = 254;
constexpr uint32_t kNoPeer = 0xffffffffu;

// Message sizes in powers of two: bucket 0 counts messages of 0 bytes, bucket k > 0 those of
// 2^(k-1) to 2^k - 1 bytes, the last bucket all larger ones. The four events divide the node's
// calls as in PICL (EventSlot).
constexpr int kSizeBuckets = 47;
enum EventSlot : int {
    kSendReady = 0,    // sends; send requests found complete
    kSendBlocked = 1,  // send requests that a wait blocked for, or that a test found incomplete
    kRecvReady = 2,    // receives, probes, receive requests that found their message waiting
    kRecvBlocked = 3,  // ... that blocked, or tests that found nothing
    kEventSlots = 4,
};
struct SizeHistogram {
    uint64_t messages[kSizeBuckets];
    uint64_t untimed;  // calls without time stamps, whose time is estimated (polls.h)
    uint64_t event_count[kEventSlots];
    uint64_t event_ticks[kEventSlots];
};
constexpr uint32_t kHistogramCells = sizeof(SizeHistogram) / kCellBytes;

enum class ThreadState : uint32_t { kUnused = 0, kComputing = 1, kInCommunication = 2, kEnded = 3 };

// An entered procedure, loop or block, open until it is left or found to be gone. Entry 0 of a
// stack stands for the thread's root. A reader that finds open entries (probe_depth of them, from
// entry 1) adds the time since entry_virtual to their nodes, unless they are kEntryUntimed; for
// kEntryStopped and kEntryAway entries it adds entry_virtual itself.
enum ProbeEntryFlags : uint32_t {
    kEntryUntimed = 1,  // its time is not running
    kEntryStopped = 2,  // stopped by a recursion to an outer node
    kEntryAway = 4,     // stopped because the thread runs on another stack
    kEntryHolds = 8,    // it stopped others, which store its number above kEntryHolderShift
    kEntryRead = 16,    // metrics were read at its enter and will be read at its exit
    kEntryWindow = 32,  // events are on at least until its exit
    // Its enter is in the log, while events are not written (EventRing::is_unseen); else: it is
    // not.
    kEntrySwitched = 64,
    kEntryLost = 128,  // its enter found no room: its leave is counted as lost already
};
// Its time runs as usual.
constexpr uint32_t kEntryEndsSlowly = kEntryRead | kEntryWindow | kEntrySwitched | kEntryLost;
constexpr int kEntryHolderShift = 8;
struct ProbeEntry {
    uint64_t frame;          // address of the return address of the procedure around it
    uint64_t row;            // what entered it, in this process (thread_parts.h)
    uint64_t entry_virtual;  // virtual ticks at the enter; while stopped, ticks taken so far
    CellIndex node;
    uint32_t flags;  // ProbeEntryFlags
};

// One for each thread that ever entered dwell; the next new thread takes over an ended thread's
// record.
constexpr uint64_t kNotReadable = UINT64_MAX;  // ThreadRecord::end_virtual

struct ThreadRecord {
    uint32_t number;  // 0, 1, 2 … in order of appearance
    int32_t tid;
    CellIndex next;
    CellIndex root;  // node of kind program
    char name[16];   // common name of the threads that used the record (thread_names.h)
    ThreadState state;
    uint32_t open_depth;
    uint64_t start_ticks;       // real ticks when the thread was first seen
    uint64_t last_ticks;        // real ticks at the end of the last communication
    uint64_t intrusion_ticks;   // real minus virtual time, without pauses (virtual_clock.h)
    uint64_t own_ticks;         // dwell's own cost so far
    uint64_t paused_ticks;      // real ticks between MPI_Pcontrol(0) and (1)
    uint64_t threads_served;    // number of threads that used this record in succession
    uint64_t samples;           // taken in computation
    uint64_t samples_in_calls;  // taken inside communication statements
    uint64_t samples_lost;
    uint64_t folded_paths;    // calls recorded on a collapsed node
    uint64_t dropped;         // calls without any node
    uint64_t guessed;         // requests whose start was not seen
    uint64_t clock_errors;    // negative durations, stored as 0
    uint64_t probes;          // procedures and loops entered, by probes
    uint64_t probes_missed;   // entered where probes only count: in signal handlers, after vfork
    uint64_t probes_dropped;  // entered where there was no room for a node or an open entry
    CellIndex probe_stack;    // ProbeEntry[probe_stack_entries], 0: no probe so far
    uint32_t probe_stack_entries;
    uint32_t probe_depth;  // open entries on it, without the first
    CellIndex first_cause;
    CellIndex first_metric;  // MetricPart
    uint64_t rest_cause_ticks;
    uint64_t rest_cause_count;
    uint64_t injected_ticks;  // delays added on purpose (DWELL_INJECT_NS)
    uint64_t order_kept;      // wildcard receives whose message --preserve-order chose
    uint64_t order_remote;   // wildcard receives left as they came: a sender may be on another host
    uint64_t order_posted;   // wildcard receives matched by MPI itself, and choices among requests
    uint64_t order_unknown;  // a sender's state was unknown
    // For a thread that was still running when another thread ended the observation, and stored by
    // that thread: the virtual time at which its open entries end. kNotReadable where the thread
    // was inside a probe; 0: it ended itself, or unknown.
    uint64_t end_virtual;
    uint64_t late_ticks;  // at that time: overhead not yet included in the fields above
    // For the program's threads that called MPI or forked OpenMP regions, except the one whose span
    // is the process's: virtual ticks of the spans that have ended, and the virtual time at which
    // the current span began, 0: none. Time of these spans that no node has is computation
    // (record_reader.cpp).
    uint64_t span_ticks;
    uint64_t life_start;
    uint64_t serving_ticks;  // of OpenMP's own threads: in regions that they did not fork, and idle
    CellIndex first_stall;
    uint32_t stalls_dropped;  // long computations without a StallRecord, for lack of room
    // Waiting for a processor: in long computations, and in the transfer of long calls.
    uint64_t queued_ticks;
    uint64_t queued_call_ticks;
    // What each call writes, on two cache lines.
    alignas(kCellBytes) OpenCall open;
    TimeAxis axis;
    WantedLock wanted;
    HeldLock held[kHeldLocks];
    alignas(kCellBytes) EventRing events;
};
constexpr uint32_t kThreadCells = (sizeof(ThreadRecord) + kCellBytes - 1) / kCellBytes;

// A loaded module that contains sites. The path follows in path_cells cells, zero terminated.
struct ModuleRecord {
    CellIndex next;
    uint16_t number;  // 1, 2, 3 …
    uint8_t build_id_bytes;
    uint8_t path_cells;
    uint64_t base;  // load bias: address = base + offset
    uint64_t size;
    uint8_t build_id[20];
    uint32_t reserved;
    uint64_t inode;  // without build-id: inode of the file when the module was found; 0: unknown
    int64_t modified_ns;
};
// Sites in further modules have no module, and kFileModulesFull marks that.
constexpr uint32_t kModuleLimit = 8192;

enum class FileState : uint32_t {
    kRunning = 1,
    kFinalized = 2,  // MPI_Finalize was reached; such a file is kept only after a failed merge
    kAborted = 3,    // MPI_Abort
    kExited = 4,     // exit without MPI_Finalize
};

enum FileFlags : uint32_t {
    kFileFull = 1,        // cap or /dev/shm full: new paths were collapsed or dropped
    kFileNoUnwinder = 2,  // libunwind missing: call paths of depth 1
    kFileNoSampling = 4,  // sampling asked for, not available
    kFileSerial = 8,      // no MPI_Init was seen
    kFileSpawned = 16,    // the process has a parent world
    kFileWaits = 32,  // ranks of the host exchange time stamps, or there are none: waiting is known
    kFileOrder = 64,  // wildcard receives were controlled (--preserve-order)
    kFileNoBytes = 128,       // bytes read and written are unknown (/proc/self/io)
    kFileShares = 256,        // more ranks than processors on its host: not sampled
    kFileCutPaths = 512,      // call paths lack outer frames, because they were too deep
    kFileGomp = 1024,         // OpenMP was observed through libgomp's entry points (gomp.h)
    kFileSitesOff = 2048,     // the enabling profile switched sites off or to counting
    kFileMultiplexed = 4096,  // more metrics than counters: each was counted part of the time
    kFileExchanged = 8192,   // OpenMP of libgomp was observed through libomp (dwell run --omp ompt)
    kFileNoHolds = 16384,    // the time that critical sections and the like were held is unknown
    kFileOmptOff = 32768,    // OMP_TOOL disabled libomp's tool interface
    kFileOtherTool = 65536,  // another OMPT tool came before dwell
    kFileReplaced = 131072,  // the process executed another program, which set this flag
    kFileNamesFull = 262144,    // more than kBlockNameLimit names of blocks and markers
    kFileModulesFull = 524288,  // sites lie in more than kModuleLimit modules
    kFileDamaged = 1048576,     // set by a reader: parts are unreadable
    kFileInInit = 2097152,      // MPI_Init was called and has not succeeded: no other records
    kFilePairsFull = 4194304,   // no room for the time stamps of some pairs of ranks
    kFileFewFiles = 8388608,    // few open files allowed: no call paths, samples, causes
    kFileNoQueue = 16777216,    // the kernel did not report how long threads waited for a processor
    kFileIo = 33554432,         // I/O statements were recorded (dwell run --io on)
    // Set by a reader, of a process that did not end its records: they were continued to its end as
    // `dwell run` saw it, or to the newest time in any record of its host.
    kFileEndSeen = 67108864,
    kFileEndGuessed = 134217728,
};

// Resource usage of the process as reported by the operating system (getrusage, /proc/self/io,
// VmHWM), for all its threads, from the start of its observation or the last MPI_Pcontrol(2),
// pauses included. dwell's long work at the start is subtracted. Bytes and calls of reads and
// writes include those of children that the process waited for (added by the kernel); the rest is
// its own.
struct ProcessUsage {
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t peak_memory_bytes;  // largest resident size at any time
    uint64_t minor_faults;       // page faults without reading
    uint64_t major_faults;       // page faults that read from storage
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t read_bytes;  // by read() and similar calls: files, pipes and sockets
    uint64_t written_bytes;
    uint64_t reads;  // calls
    uint64_t writes;
    uint64_t storage_read_bytes;  // bytes that storage delivered, and took
    uint64_t storage_written_bytes;
};

// Beside kinds, what may have no events by choice.
enum EventParts : uint32_t {
    kEventsInWindows = 1,  // all that is outside of --events-window
    kEventsOfSites = 2,    // sites that --events-sites has off
};

struct FileHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t header_cells;
    uint32_t cells_reserved;  // allocated in the file
    uint32_t cells_used;
    FileState state;
    uint32_t flags;  // FileFlags
    int32_t pid;
    uint32_t uid;
    int32_t rank;  // in MPI_COMM_WORLD
    int32_t world_size;
    int32_t exit_code;  // of MPI_Abort
    CellIndex first_thread;
    CellIndex first_module;
    uint64_t ticks_per_second;
    uint64_t start_ticks;
    uint64_t end_ticks;        // 0 while running
    int64_t start_unix_ns;     // CLOCK_REALTIME at start_ticks
    uint64_t init_ticks;       // end of MPI_Init, 0 before
    uint64_t call_cost_ticks;  // calibrated overhead of one wrapped call
    uint32_t callpath_depth;   // 0 = whole path
    uint32_t sample_hz;        // 0 = off
    CellIndex first_text;
    char host[64];
    char job[64];
    char program[256];  // path of the executable, zero terminated, cut at the left if longer
    char command[488];  // arguments joined by spaces, "..." for what does not fit
    CellIndex first_grid;
    CellIndex metric_names;  // TextRecord, a line for each; 0: no metrics
    // Jobs over several hosts: relation of this process's clock to that of the first observed rank.
    int64_t clock_offset_ticks;  // to be added to its own times
    int64_t clock_drift_ticks;   // how far it fell behind from start to end
    uint64_t clock_bound_ticks;  // error of exchanged time stamps; 0: not related
    uint64_t reset_ticks;        // last MPI_Pcontrol(2), 0: none; earlier records were discarded
    uint64_t usage_ticks;  // when `usage` was taken: at the end, and about once a second; 0: never
    ProcessUsage usage;
    CellIndex metrics_missing;    // TextRecord, a line for each requested metric that does not work
    uint32_t metrics_unwatched;   // threads without metrics, because they were created too fast
    uint64_t metric_ticks;        // cost of one reading
    uint64_t metric_least_ticks;  // metrics are not read at nodes with a shorter mean
    uint64_t metrics_lost_ticks;  // when the program first closed dwell's counters
    uint32_t metrics_lost;        // threads whose counters the program closed
    uint32_t metrics_no_room;     // threads without counters, to leave descriptors to the program
    uint64_t files_unnamed;       // uses of files whose name had no room
    uint64_t io_unobserved;       // I/O calls that could not be recorded (io_records.cpp)
    uint64_t process_thread;      // number of the thread whose span is the process's: that of
                                  // MPI_Init, or without MPI the program's first one, once known
    uint32_t threads_unsampled;   // threads for which the kernel gave no samples
    uint32_t spawned_unseen;      // processes started by this one as root (MPI_Comm_spawn)
                                  // in which the library is not loaded
    CellIndex start_directory;    // TextRecord: start directory of the program; 0: unknown
    CellIndex first_off_site;
    // Number of processors on which the process may run (affinity), and the lowest of them; 0:
    // unknown.
    uint32_t processors;
    uint32_t first_processor;
    CellIndex first_comm;
    CellIndex first_requests;  // RequestBlock
    uint32_t requests_unseen;  // entries of the request table outside of the file, for lack of room
    // Stored from outside by a `dwell run` on the same host: its process id, and the real ticks at
    // which it saw this process end; 0: not seen. kWentOn: a copy of records, made at death_ticks.
    int32_t watcher;
    uint64_t death_ticks;
    uint64_t paused_since;            // real ticks of the MPI_Pcontrol(0) under way; 0: none
    uint64_t pid_namespace;           // inode of the namespace of `pid`, 0: unknown
    uint64_t threads_without_events;  // for lack of room
    // The part of dwell's cost that lies between the time stamps of a procedure or loop, a block or
    // code, an OpenMP construct: taken out of their times.
    uint64_t probe_inner_ticks;
    uint64_t block_inner_ticks;
    uint64_t omp_inner_ticks;
    // Full events. The first two are also written from outside.
    EventOrder event_order;
    uint32_t event_dumps;  // how often the newest events were asked for (EventPolicy::kOverwrite)
    int32_t event_reader;  // process id of who reads the rings; 0: nobody
    uint32_t without_events_said;  // of threads_without_events, what a reader has reported
    uint32_t events_left_out;      // kinds that were not chosen (EventKindWord::kinds)
    uint32_t events_in_part;       // EventParts
    uint64_t entries_counted;      // of an event log: entries without events, as they were only
                                   // counted (ProbePart); stored by who closes the log
};
constexpr uint32_t kHeaderCells = 21;
constexpr int32_t kWentOn = -1;

static_assert(sizeof(Site) == 16);
static_assert(sizeof(Node) == kCellBytes);
static_assert(sizeof(CommPart) == kCellBytes);
static_assert(sizeof(TrafficPeerRecord) == kCellBytes);
static_assert(sizeof(IoPart) == kCellBytes);
static_assert(sizeof(FileUse) == kCellBytes);
static_assert(sizeof(WaitPart) == kCellBytes);
static_assert(sizeof(WaitPeerRecord) == kCellBytes);
static_assert(sizeof(RootCauseRecord) == kCellBytes);
static_assert(sizeof(StallRecord) == 2 * kCellBytes);
static_assert(sizeof(ProbePart) == kCellBytes);
static_assert(sizeof(OffSite) == kCellBytes);
static_assert(sizeof(OmpPart) == kCellBytes);
static_assert(offsetof(OmpPart, untimed) == offsetof(ProbePart, untimed));
static_assert(offsetof(OmpPart, abandoned) == offsetof(ProbePart, abandoned));
static_assert(sizeof(AxisBin) == kCellBytes);
static_assert(sizeof(MetricPart) % kCellBytes == 0);
static_assert(sizeof(GridRecord) == kCellBytes);
static_assert(sizeof(TextRecord) == kCellBytes);
static_assert(sizeof(ProbeEntry) == 32);
static_assert(sizeof(ModuleRecord) == kCellBytes);
static_assert(sizeof(SizeHistogram) % kCellBytes == 0);
static_assert(sizeof(FileHeader) == kHeaderCells * kCellBytes);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_RECORD_LAYOUT_H_
