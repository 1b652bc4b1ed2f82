// The layout of a record file: the contract between the observed process, which writes it, and
// everything that reads it (merge, recover, live view). DESIGN 3.
//
// A record file is an array of 64-byte cells. Cell 0 is the start of the header; every other thing
// in the file is named by the index of its first cell (CellIndex, 0 = none), so a file can be
// mapped at any address. Only the owning thread writes to its cells; readers may see the last
// update of a running process half done, never a dangling index: a cell is filled before it is
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
//     OffSite (1 cell)                             linked from FileHeader::first_off_site
//     ProbeEntry stacks, MovedEntry (probes.h)     from ThreadRecord::probe_stack
//
// Times are ticks of the clock that the header describes; ticks become nanoseconds when the file is
// read. Writer: runtime/process/arena.cpp, runtime/calls/records.cpp. Reader:
// summarize/merge/record_reader.cpp.
#ifndef DWELL_RUNTIME_CONTRACT_RECORD_LAYOUT_H_
#define DWELL_RUNTIME_CONTRACT_RECORD_LAYOUT_H_

#include <stddef.h>
#include <stdint.h>

namespace dwell {

using CellIndex = uint32_t;

constexpr uint64_t kRecordMagic = 0x43455244'4c4c5744ULL;  // "DWLLDREC" in memory order
constexpr uint32_t kRecordLayoutVersion = 13;
constexpr uint32_t kCellBytes = 64;

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
    kNodeFolded = 1,   // stands for paths that no longer fitted (cap reached)
    kNodeForeign = 2,  // address in no known module: offset is the raw address
    kNodeNamed = 4,    // block, marker: offset is the CellIndex of its TextRecord
    kNodeCode = 8,     // procedure: offset is the address of its code, not of its row
    kNodePhase = 16,   // block: a phase; ProbePart::iteration is known
    kNodeRead = 32,    // OpenMP: metrics are read at it when it lasts long enough; names nothing
};

// The place a node stands for. `offset` is the offset of the return address (call, communication),
// of the sampled instruction (sample) or of the SiteRow (procedure, loop; site_table.h) from the
// start of the module's file image; for an interval its lower half is the CellIndex of the
// communication node it left (0: the start of the thread), its upper half the interval's path hash
// (see path_hash.h).
constexpr uint16_t kPathCut = UINT16_MAX;
struct Site {
    uint64_t offset;
    uint16_t module;  // ModuleRecord::number, 0 = none
    uint16_t call;    // communication: MpiCall number (mpi_calls.h); I/O: IoCall (io_calls.h);
                      // OpenMP: OmpConstruct (omp_constructs.h); right below an interval: see Node;
                      // otherwise 0
    SiteKind kind;
    uint8_t flags;  // NodeFlags
    uint16_t open;  // entries of a probed node that are open now, none above 65535; of an interval
                    // how many nodes of samples lie below it
};

inline bool is_same_place(const Site& a, const Site& b) {
    return a.kind == b.kind && a.module == b.module && a.offset == b.offset;
}

// A dynamic record: a site as reached along one path. For communication nodes `part` is the index
// of the CommPart, for I/O nodes that of the IoPart; for intervals it is the deepest node common to
// both paths. An interval is a child of the communication node that it reached. Below it are the
// call paths of its samples (call, sample), each without what it has in common with the path to
// that communication node: Site::call of its first node is one more than the number of nodes in
// common, the root not counted; kPathCut where the callers are not known; 0 where only the address
// is. Nodes made by probes: a procedure is a child of the call node that it was called from, a loop
// one of its procedure or loop; both have a ProbePart once there is something to say in it. Calls
// from one procedure into itself, direct or not, count on the node that is open already, without
// time. What lies between, a loop or another procedure that called it again, is not timed
// meanwhile: so a node's ticks are never less than those of its children together.
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

// Counters of 32 bits stay at this, 72 minutes at one a microsecond: then there were more.
constexpr uint32_t kCounterFull = UINT32_MAX;
inline void count_up(uint32_t* counter, uint32_t by = 1) {
    *counter = by < kCounterFull - *counter ? *counter + by : kCounterFull;
}

// Second line of a communication node.
struct CommPart {
    uint64_t sync_ticks;  // of Node::ticks: waited for partners, as far as their times are known
    uint64_t bytes_sent;
    uint64_t bytes_received;
    CellIndex first_peer;
    CellIndex histogram;
    uint32_t peer_count;
    CellIndex last_peer;     // the peer record used last: where the next look-up begins
    uint64_t blocked_ticks;  // part of Node::ticks spent in calls that blocked
    uint64_t failed;         // calls that returned an error: counted, arguments not read
    uint32_t folded_peers;   // messages whose peer found no free record (cap on peers): count_up()
    CellIndex wait;          // WaitPart, 0: never waited, or no wait analysis
};

// Third line of a communication node at which the thread waited for partners whose times are known.
// What of CommPart::sync_ticks is neither for a late sender nor for a late receiver was waited in a
// collective. There are at most kWaitPartners partners, the heaviest (wait_records.h); what is not
// in them is in rest_*.
constexpr uint32_t kWaitPartners = 16;
struct WaitPart {
    uint64_t late_sender_ticks;
    uint64_t late_receiver_ticks;
    uint64_t indirect_wait_ticks;  // of sync_ticks: the partner itself had been made to wait
    uint64_t rest_ticks;
    uint64_t rest_count;
    // By count_up().
    uint32_t unknown;    // calls that met partners, of which some time was not known
    uint32_t guessed;    // the message could be one of several
    uint32_t estimated;  // between nodes, without a sample: extrapolated; of files: if it waited
    CellIndex first_partner;
    CellIndex last_partner;  // used last: where the next look-up begins
    uint32_t partner_count;
};

// Who a communication node waited for, and what that partner was doing: the computation between two
// communication statements that took most of its time since it had last waited itself, by its path
// hash (path_hash.h).
struct WaitPeerRecord {
    uint32_t peer;  // world rank, as in TrafficPeerRecord
    uint32_t path;
    CellIndex next;
    uint32_t reserved;
    uint64_t count;
    uint64_t ticks;
    uint64_t max_ticks;
    uint64_t indirect_wait_ticks;  // of `ticks`: the partner itself had been made to wait
    uint64_t displaced_ticks;      // as if it had so much more, and what others had who found no
    uint64_t challenged_ticks;     // record since: see wait_records.h
};

// What this thread's waiting is due to in the end (DESIGN 4, delay cost): a computation of a rank,
// which delayed it directly or through others. Linked from ThreadRecord::first_cause; each thread
// keeps the heaviest (wait_records.h), the rest is in ThreadRecord::rest_cause_*.
struct RootCauseRecord {
    uint32_t peer;
    uint32_t path;
    CellIndex next;
    uint32_t reserved;
    uint64_t count;
    uint64_t ticks;              // all
    uint64_t direct_wait_ticks;  // of these: the thread waited for that rank itself
    uint64_t displaced_ticks;    // as in WaitPeerRecord
    uint64_t challenged_ticks;
    uint64_t unused;
};

// What the long ones (processor_time.h) among the computations of one interval were besides
// computation. Linked from ThreadRecord::first_stall.
struct StallRecord {
    CellIndex interval;
    CellIndex next;
    CellIndex io_node;  // the I/O statement that took most of io_ticks; 0: none
    uint32_t count;
    uint64_t ticks;         // all of it
    uint64_t io_ticks;      // in I/O statements
    uint64_t asleep_ticks;  // not on a processor, nor waiting for one
    uint64_t queued_ticks;  // waiting for a processor
    uint64_t kernel_ticks;  // on a processor, in the kernel
    uint64_t io_weight;
    uint64_t team_asleep_ticks;  // the thread waited for one of OpenMP's that was asleep
    uint64_t unused[7];
};

// Second line of an I/O node. The time of I/O lies inside of no interval.
struct IoPart {
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t failed;     // calls that returned an error or, of streams, nothing
    uint64_t elsewhere;  // calls on files that are not told apart
    CellIndex first_file;
    CellIndex last_file;  // used last: where the next look-up begins
    uint32_t files;
    uint32_t reserved;
    uint64_t unused[2];
};

// What one I/O node did with one file.
struct FileUse {
    CellIndex name;  // TextRecord
    CellIndex next;
    uint64_t count;
    uint64_t ticks;
    uint64_t bytes;
    uint64_t unused[4];
};

// Of what control sees of a site between two of its looks.
struct CountedGap {
    uint32_t number;
    uint32_t entries;
};

// Second line of a procedure, loop, block or marker that needs one.
struct ProbePart {
    union {
        uint64_t iterations;       // loop: times its body was begun
        uint64_t first_iteration;  // phase: the number given when it was begun first
    };
    uint64_t untimed;    // entries of Node::count while the node was open already (recursion)
    uint64_t abandoned;  // entries left by exception, longjmp, exit: timed until that was noticed
    uint64_t counted;    // entries of Node::count without time: too dear, or too deep
    // While its site was off, without most of its entries; those are not part of Node::count.
    uint64_t off_cut;      // entries made after a trial was broken off, guessed
    uint64_t off_entries;  // the others, estimated without bias (runtime/probes/probe_trials.h)
    union {
        uint64_t volume;  // block, marker: the user's count
        // Procedure, loop: the variance of off_entries, the sum of K(K - 1)n² over the trials, each
        // of one gap in K, with n entries.
        uint64_t off_squares;
    };
    union {
        uint64_t iteration;  // phase: the number given when it was begun last
        CountedGap gap;      // procedure, loop: the last one in which it was only counted
    };
};

// A procedure or loop that control switched off at times: its nodes lack entries, and one without
// an estimate of those does not tell how many. While it was off, stretches passed in which nothing
// of it was seen, each from one look of control to the next, in real ticks.
struct OffSite {
    Site site;
    CellIndex next;
    uint32_t reserved;
    double stretches;  // all together
    double squares;    // the sum of their squares
    uint64_t unused[3];
};

// Second line of an OpenMP node; it begins as a ProbePart does. The nodes of a parallel region
// stand in the tree of each thread that took part, under copies of what the forking thread had open
// (count 0, with the region's time).
struct OmpPart {
    union {
        uint64_t iterations;  // loop: as the thread was given them, or the team, on its first one
        uint64_t to_device;   // target construct: bytes
    };
    uint64_t untimed;      // as in ProbePart
    uint64_t abandoned;    // as in ProbePart
    uint64_t wait_ticks;   // of Node::ticks: waited for other threads, or for work
    uint64_t start_ticks;  // task: from its creation to its start, not part of Node::ticks
    uint64_t created;      // task: by this thread; region: forked by it
    union {
        uint64_t chunks;       // loop: that this thread was given
        uint64_t from_device;  // target construct: bytes
    };
    uint64_t overhead_ticks;  // region, of Node::ticks: to begin it and to end it
};

// What was counted at one node while the program itself was there: not in its children that have
// counts of their own. Read where entering and leaving it, kept beside the tree, linked from
// ThreadRecord::first_metric. `entries` and `ticks` are those of the node's entries at which it was
// read; what lies in the others counts for what is around them. Of an interval, both are 0: its
// counts are those of the computation before a communication statement. The values are in the order
// of the names in FileHeader::metric_names. That of the root tells how many entries of the thread
// were to be read and were not, as readings had taken their share of its time (metrics.h).
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

// Different names of blocks and markers in a process. What has a later one is not recorded, but
// counted (probes_dropped), and kFileNamesFull says so.
constexpr uint32_t kBlockNameLimit = 4096;

// A grid of processes as the program, or an MPI_Cart_create, describes it, and this process's place
// in it. Those of MPI all have one name and are told apart by their shape.
constexpr int kGridDimensions = 6;
constexpr uint32_t kGridLimit = 64;          // different ones in a job: later ones are dropped
constexpr uint32_t kGridByMpi = 0x80000000;  // in GridRecord::periodic
struct GridRecord {
    CellIndex next;  // all grids of the file
    CellIndex name;  // TextRecord
    uint32_t dimensions;
    uint32_t periodic;  // bit k: dimension k
    int32_t size[kGridDimensions];
    int32_t coordinate[kGridDimensions];
};

// A name given at run time, zero terminated; it fills the cells after the first 8 bytes.
struct TextRecord {
    CellIndex next;  // all texts of the file
    uint32_t bytes;  // without the zero
    char text[56];   // and on into the cells that follow
};

// What one communication node exchanged with one partner (the paper's com_record).
// `peer` is PeerId::value below.
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
// process's own; spawned or connected worlds are numbered from 1 in the order they were met, the
// parent's world is 254, 255 stands for "not one rank".
constexpr uint32_t kPeerRankBits = 24;
constexpr uint32_t kParentWorld = 254;
constexpr uint32_t kNoPeer = 0xffffffffu;

// Message sizes in powers of two: bucket 0 counts messages of 0 bytes, bucket k > 0 those of
// 2^(k-1) to 2^k - 1 bytes, the last one everything above. The four events split the node's calls
// after PICL: see EventSlot.
constexpr int kSizeBuckets = 47;
enum EventSlot : int {
    kSendReady = 0,    // sends; send requests found complete
    kSendBlocked = 1,  // send requests waited for (wait) or found incomplete (test)
    kRecvReady = 2,    // receives, probes, receive requests that found their message waiting
    kRecvBlocked = 3,  // ... that blocked, or tests that found nothing
    kEventSlots = 4,
};
struct SizeHistogram {
    uint64_t messages[kSizeBuckets];
    uint64_t untimed;  // calls of the node without time stamps: their time is estimated (polls.h)
    uint64_t event_count[kEventSlots];
    uint64_t event_ticks[kEventSlots];
};
constexpr uint32_t kHistogramCells = sizeof(SizeHistogram) / kCellBytes;

enum class ThreadState : uint32_t { kUnused = 0, kComputing = 1, kInCommunication = 2, kEnded = 3 };

// An entered procedure, loop or block, open until it is left or seen to be gone. Entry 0 of a stack
// stands for the thread's root. A reader that finds open entries (probe_depth of them, from entry
// 1) adds the time since then to their nodes, unless they are kEntryUntimed; to those that are
// kEntryStopped or kEntryAway, too, it adds entry_virtual itself.
enum ProbeEntryFlags : uint32_t {
    kEntryUntimed = 1,  // its time does not run now
    kEntryStopped = 2,  // because a recursion went back to a node further out
    kEntryAway = 4,     // because the thread runs on another stack
    kEntryHolds = 8,    // it stopped others, whose flags hold its number above kEntryHolderShift
    kEntryRead = 16,    // metrics were read when it was entered: its leave reads them, too
};
constexpr int kEntryHolderShift = 8;
struct ProbeEntry {
    uint64_t frame;          // address of the return address of the procedure it lies in
    uint64_t row;            // what entered it, in this process (probes.h)
    uint64_t entry_virtual;  // virtual ticks; of one that is stopped, those that it took so far
    CellIndex node;
    uint32_t flags;  // ProbeEntryFlags
};

// One per thread that ever entered dwell; an ended thread's record is taken over by the next new
// one.
constexpr int kOpenStackDepth = 16;
struct OpenEntry {
    CellIndex node;
    uint32_t reserved;
    uint64_t entry_ticks;  // real ticks
};
constexpr uint64_t kNotReadable = UINT64_MAX;  // ThreadRecord::end_virtual
struct ThreadRecord {
    uint32_t number;  // 0, 1, 2 … in order of appearance
    int32_t tid;
    CellIndex next;
    CellIndex root;  // node of kind program
    char name[16];   // of all threads that used the record: thread_names.h
    ThreadState state;
    uint32_t open_depth;
    uint64_t start_ticks;       // real ticks when the thread was first seen
    uint64_t last_ticks;        // real ticks of the end of the last communication
    uint64_t intrusion_ticks;   // real less virtual time now, without pauses: see virtual_clock.h
    uint64_t own_ticks;         // what dwell itself cost so far
    uint64_t paused_ticks;      // real ticks between MPI_Pcontrol(0) and (1)
    uint64_t threads_served;    // threads that used this record one after the other
    uint64_t samples;           // taken in computation
    uint64_t samples_in_calls;  // taken inside communication statements
    uint64_t samples_lost;
    uint64_t folded_paths;    // calls booked on a folded node
    uint64_t dropped;         // calls with nowhere to go at all
    uint64_t guessed;         // requests whose start was not seen
    uint64_t clock_errors;    // negative durations, stored as 0
    uint64_t probes;          // procedures and loops entered, by probes
    uint64_t probes_missed;   // entered where probes only count: in signal handlers, after vfork
    uint64_t probes_dropped;  // entered where there was no room for a node or an open entry
    CellIndex probe_stack;    // ProbeEntry[probe_stack_entries], 0: no probe was met yet
    uint32_t probe_stack_entries;
    uint32_t probe_depth;  // entries open on it, beside the first
    CellIndex first_cause;
    CellIndex first_metric;  // MetricPart
    uint64_t rest_cause_ticks;
    uint64_t rest_cause_count;
    uint64_t injected_ticks;  // delays added on purpose (DWELL_INJECT_NS)
    uint64_t order_kept;      // receives of any source that --preserve-order chose the message of;
    uint64_t order_remote;    // that took what came: a sender may be on another node;
    uint64_t order_posted;    // that MPI itself gave a message, and choices among requests;
    uint64_t order_unknown;   // what some sender did was not known
    // Of a thread that was still running when another one ended the observation, which wrote this:
    // the virtual time then, at which what it has open ends. kNotReadable where the thread was in
    // the middle of a probe; 0: it ended, or nobody could say.
    uint64_t end_virtual;
    uint64_t late_ticks;  // then: its intrusion and own cost that are not in those above yet
    // Of the program's threads that called MPI or forked regions of OpenMP, but the one whose life
    // is the process's: how long those lived that have ended, in virtual ticks, and the virtual
    // time at which the life of the one that runs began, 0: there is none. What no node of theirs
    // has is their computation (record_reader.cpp).
    uint64_t span_ticks;
    uint64_t life_start;
    CellIndex first_stall;
    uint32_t stalls_dropped;  // long computations without a StallRecord: no room for more
    // Waited for a processor: in long computations, and of transfer in long calls.
    uint64_t queued_ticks;
    uint64_t queued_call_ticks;
    OpenEntry open[kOpenStackDepth];
};
constexpr uint32_t kThreadCells = (sizeof(ThreadRecord) + kCellBytes - 1) / kCellBytes;

// A loaded module that some site lies in. The path follows in path_cells cells, zero terminated.
struct ModuleRecord {
    CellIndex next;
    uint16_t number;  // 1, 2, 3 …
    uint8_t build_id_bytes;
    uint8_t path_cells;
    uint64_t base;  // load bias: address = base + offset
    uint64_t size;
    uint8_t build_id[20];
    uint32_t reserved;
    uint64_t inode;  // without build-id: of its file when the module was met; 0: not known
    int64_t modified_ns;
};
// What lies in later ones has no module, and kFileModulesFull says so.
constexpr uint32_t kModuleLimit = 8192;

enum class FileState : uint32_t {
    kRunning = 1,
    kFinalized =
        2,  // MPI_Finalize was reached; a file found in this state was kept after a failed merge
    kAborted = 3,  // MPI_Abort
    kExited = 4,   // exit without MPI_Finalize
};

enum FileFlags : uint32_t {
    kFileFull = 1,        // the cap or /dev/shm was reached: new paths folded or dropped
    kFileNoUnwinder = 2,  // libunwind missing: call paths of depth 1
    kFileNoSampling = 4,  // sampling asked for, not available
    kFileSerial = 8,      // no MPI_Init was seen
    kFileSpawned = 16,    // the process has a parent world
    kFileWaits = 32,  // partners on the node told their times, or there are none: waiting is known
    kFileOrder = 64,  // receives of any source were controlled (--preserve-order)
    kFileNoBytes = 128,   // the kernel did not tell what the process read and wrote (/proc/self/io)
    kFileShares = 256,    // more ranks than processors on its node: not sampled
    kFileCutPaths = 512,  // call paths lack their outermost frames: they had too many
    kFileGomp = 1024,     // OpenMP was seen through libgomp's entry points (gomp.h)
    kFileSitesOff = 2048,  // the run's enabling profile switched sites off or had them only counted
    kFileMultiplexed = 4096,    // more metrics than counters: each was counted a part of the time
    kFileExchanged = 8192,      // OpenMP of libgomp was seen through libomp (dwell run --omp ompt)
    kFileNoHolds = 16384,       // how long critical sections and the like were held was not told
    kFileOmptOff = 32768,       // OMP_TOOL kept libomp from telling of its constructs
    kFileOtherTool = 65536,     // libomp told another tool of OMPT, which came before dwell
    kFileReplaced = 131072,     // the process went on as another program (exec), which wrote this
    kFileNamesFull = 262144,    // more than kBlockNameLimit names of blocks and markers were given
    kFileModulesFull = 524288,  // sites lie in more than kModuleLimit modules
    kFileDamaged = 1048576,     // by who reads it: some of it cannot be
    kFileInInit = 2097152,      // MPI_Init was called and has not succeeded: there is nothing else
    kFilePairsFull = 4194304,   // times of messages with some partners had no room
    kFileFewFiles =
        8388608,  // few files could be open: no call paths, samples and causes of waiting
    kFileNoQueue = 16777216,  // the kernel did not tell how long threads waited for a processor
    kFileIo = 33554432,       // statements of I/O were recorded (dwell run --io on)
};

// What the operating system says of the process (getrusage, /proc/self/io, VmHWM), all its threads
// together, from the start of its observation or the last MPI_Pcontrol(2) on, pauses included. What
// dwell did at the start, a long work, is taken out. Of bytes and calls that read and wrote, those
// of children that it waited for are part (the kernel adds them); the rest is its own.
struct ProcessUsage {
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t peak_memory_bytes;  // most that was resident at a time, whenever that was
    uint64_t minor_faults;       // pages that needed no reading
    uint64_t major_faults;       // that were read from storage
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t read_bytes;  // by read() and its kin: of files, pipes and sockets
    uint64_t written_bytes;
    uint64_t reads;  // calls
    uint64_t writes;
    uint64_t storage_read_bytes;  // that storage had to deliver, and to take
    uint64_t storage_written_bytes;
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
    int32_t host_rank;  // index of this process among the observed of its node, -1 unknown
    int32_t exit_code;  // of MPI_Abort
    CellIndex first_thread;
    CellIndex first_module;
    uint64_t ticks_per_second;
    uint64_t start_ticks;
    uint64_t end_ticks;        // 0 while running
    int64_t start_unix_ns;     // CLOCK_REALTIME at start_ticks
    uint64_t init_ticks;       // end of MPI_Init, 0 before
    uint64_t call_cost_ticks;  // calibrated cost of one wrapped call, booked as intrusion
    uint32_t callpath_depth;   // 0 = whole path
    uint32_t sample_hz;        // 0 = off
    uint32_t peer_limit;
    CellIndex first_text;
    char host[64];
    char job[64];
    char program[256];  // of the executable, zero terminated, cut at the left if longer
    char command[504];  // arguments joined by spaces, "..." for what does not fit
    CellIndex first_grid;
    CellIndex metric_names;  // TextRecord, a line for each; 0: no metrics
    // Of jobs over several hosts: how its clock is related to that of the first observed rank's.
    int64_t clock_offset_ticks;  // what a time of its own has to grow by to be one of that clock
    int64_t clock_drift_ticks;   // by how much it fell behind that from start to end
    uint64_t clock_bound_ticks;  // the error of times that were told; 0: not related
    uint64_t reset_ticks;  // of the last MPI_Pcontrol(2), 0 none: what was before is forgotten
    uint64_t usage_ticks;  // when `usage` was taken, 0: never. At the end, or about once a second
    ProcessUsage usage;
    CellIndex metrics_missing;    // TextRecord, a line for each that was asked for in vain
    uint32_t metrics_unwatched;   // threads whose metrics were not read, as they came too fast
    uint64_t metric_ticks;        // what it costs to read them once
    uint64_t metric_least_ticks;  // nodes that last less, in the mean, are not read
    uint64_t metrics_lost_ticks;  // when the program first closed counters that it had not opened
    uint32_t metrics_lost;        // threads whose counters it closed: they count no more
    uint32_t metrics_no_room;     // threads not counted, as few descriptors would have been left
    uint64_t files_unnamed;       // times that a file was met for whose name there was no room
    uint64_t io_unobserved;       // I/O calls that could not be recorded (io_records.cpp)
    uint64_t process_thread;      // number of the thread whose life is the process's: that of
                                  // MPI_Init, or without MPI the program's first one, once known
    uint32_t threads_unsampled;   // threads that the kernel gave no samples
    uint32_t spawned_unseen;      // processes that this one, as root, had started (MPI_Comm_spawn)
                                  // where the library does not reach them
    CellIndex start_directory;    // TextRecord: where the program was started; 0: not known
    CellIndex first_off_site;
    // On which the process may run (its affinity), and the lowest number of them; 0: not known.
    uint32_t processors;
    uint32_t first_processor;
    uint64_t unused[3];  // 0, up to the end of the cell
};
constexpr uint32_t kHeaderCells = 20;

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
static_assert(sizeof(MetricPart) % kCellBytes == 0);
static_assert(sizeof(GridRecord) == kCellBytes);
static_assert(sizeof(TextRecord) == kCellBytes);
static_assert(sizeof(ProbeEntry) == 32);
static_assert(sizeof(ModuleRecord) == kCellBytes);
static_assert(sizeof(SizeHistogram) % kCellBytes == 0);
static_assert(sizeof(FileHeader) == kHeaderCells * kCellBytes);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_RECORD_LAYOUT_H_
