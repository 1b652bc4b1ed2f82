// The merged records of one or many ranks (DESIGN 2, 3): what the tree reduction in MPI_Finalize
// sends, what rank 0 hands to the `dwell` command, and what `dwell recover` builds from record
// files. They are plain arrays without pointers, so messages and files hold the same bytes.
// summarize/merge/merge.cpp builds and joins them without exceptions: a call that cannot allocate
// returns false.
//
// Layout of files and messages: MergedHeader, then the arrays in the order of its counts, each
// aligned to 8 bytes: nodes, histograms, modules, rows, sample rows, peers, distances, phases,
// grids, places, partners, causes, stalls, metrics, counts, count rows, axis, axis rows, text, and
// the last entry of the ranks. These are the head; the entries of all ranks follow (rank_list.h).
// All times are nanoseconds.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/grow_array.h"
#include "summarize/merge/rank_list.h"

namespace dwell {

constexpr uint64_t kMergedMagic = 0x4d4c4c5744ULL;  // "DWLLM"
constexpr uint32_t kMergedVersion = 16;
constexpr uint32_t kNoNode = 0xffffffffu;
constexpr uint32_t kNoHistogram = 0xffffffffu;

// The figures of a node over all ranks, or of one row. All of them add up.
struct Totals {
    uint64_t count;
    uint64_t time_ns;  // inclusive, virtual
    uint64_t min_ns;   // of one call; UINT64_MAX when count is 0
    uint64_t max_ns;
    // From here to event_ns: communication nodes only. Waiting time measured from the partners'
    // time stamps, together with the estimate (blocked_estimate.h) for calls without stamps.
    uint64_t sync_ns;
    uint64_t blocked_ns;        // sync_ns and the estimate
    uint64_t late_sender_ns;    // part of sync_ns; the rest of sync_ns was in collectives
    uint64_t late_receiver_ns;  // part of sync_ns
    uint64_t passed_on_ns;      // part of sync_ns: indirect waiting, the partner had waited itself
    uint64_t unknown_waits;     // calls that may have waited, but whose partners sent no time stamp
    uint64_t guessed_waits;     // messages that more than one send could have matched
    uint64_t estimated_waits;   // between hosts, without a sample
    uint64_t bytes_sent;        // bytes_sent, bytes_received of I/O nodes: written, read
    uint64_t bytes_received;
    uint64_t failed;  // calls that failed; I/O nodes have them too
    uint64_t folded_peers;
    // The part of `count` that was not timed one by one. Communication: time_ns holds an estimate
    // of it, see runtime/calls/polls.h. Nodes of probes: it has no time, and min_ns is UINT64_MAX
    // when no entry was timed.
    uint64_t untimed;
    uint64_t event_count[kEventSlots];
    uint64_t event_ns[kEventSlots];
    // Nodes of probes only: see ProbePart.
    uint64_t iterations;
    uint64_t abandoned;
    uint64_t off_entries;  // estimated entries while the site's probe was off; not part of count
    // Standard error of off_entries, and entries that no estimate includes (off_is_known). In a
    // profile: 1 where off_entries is too uncertain to show a number.
    uint64_t off_uncertain;
    uint64_t off_error;     // in a profile: the standard error of off_entries
    uint64_t estimated_ns;  // estimated time of untimed entries and of off_entries; not part of
                            // time_ns
    uint64_t volume;
    // Nodes of probes: the part of time_ns of threads that entered the node. In a parallel region
    // other threads work in the node, too, without having entered it.
    uint64_t entered_ns;
    // OpenMP nodes only (and `iterations` of loops): see OmpPart. Waiting is of threads inside a
    // construct, idle time of threads outside of all constructs.
    uint64_t omp_wait_ns;
    uint64_t omp_idle_ns;
    uint64_t omp_start_ns;     // of tasks: from creation to start; not part of time_ns
    uint64_t omp_overhead_ns;  // part of time_ns
    uint64_t created;          // tasks: created; regions: forked
    uint64_t chunks;
    // Part of time_ns: of entries that had not ended when the process did. They are not in `count`,
    // min_ns and max_ns.
    uint64_t unfinished_ns;
};

// Whether enough entries were observed to show off_entries as a number: its standard error must be
// at most a quarter of it. The standard error of a sum of independent trials is the root of the sum
// of their squares.
inline bool off_is_known(const Totals& totals) {
    constexpr uint64_t kErrors = 4;  // parts of it
    return totals.off_uncertain <= totals.off_entries / kErrors;
}

inline uint64_t timed_entries(const Totals& totals) {
    return totals.count - (totals.untimed < totals.count ? totals.untimed : totals.count);
}
// Mean time of a timed entry. There must be one.
inline double mean_entry_ns(const Totals& totals) {
    // Profiles of earlier versions have no entered_ns.
    const uint64_t all_ns = totals.entered_ns != 0 ? totals.entered_ns : totals.time_ns;
    const uint64_t finished_ns =
        all_ns - (totals.unfinished_ns < all_ns ? totals.unfinished_ns : all_ns);
    return static_cast<double>(finished_ns) / static_cast<double>(timed_entries(totals));
}

// Node 0 is the program. A parent precedes its children. Call, communication, procedure, loop and
// sample nodes are identified by (module, offset). An interval is a child of the communication node
// it reached; its `offset` is the index of the node it left (kNoNode: start of the thread), `meet`
// the deepest node common to both paths. For a named block or marker `offset` is the offset of its
// name in the text.
struct MergedNode {
    uint64_t offset;
    uint32_t module;  // index into modules, kNoNode = none
    uint16_t call;    // MpiCall, OmpConstruct
    uint8_t kind;     // SiteKind
    uint8_t flags;    // NodeFlags
    uint32_t parent;
    uint32_t meet;
    uint32_t histogram;    // index into histograms, kNoHistogram
    uint32_t ranks;        // ranks that have this node
    uint64_t rank_min_ns;  // least and greatest total of a rank that has the node, and the rank of
                           // each
    uint64_t rank_max_ns;
    uint32_t rank_min;
    uint32_t rank_max;
    // I/O: name of the file with most bytes, as far as the merged ranks know (offset into text, 0:
    // none), its bytes, and whether there were other files.
    uint32_t file;
    uint32_t other_files;
    uint64_t file_bytes;
    Totals totals;
};

// Of two files the node keeps the one with more bytes.
void add_file(MergedNode* into, uint32_t file, uint64_t bytes, bool others);

// Made by a probe: the node has an entry in the static tables or a name.
inline bool is_probe_kind(uint8_t kind) {
    return kind == static_cast<uint8_t>(SiteKind::kProcedure) ||
           kind == static_cast<uint8_t>(SiteKind::kLoop) ||
           kind == static_cast<uint8_t>(SiteKind::kBlock) ||
           kind == static_cast<uint8_t>(SiteKind::kMarker);
}

inline bool is_openmp(uint8_t kind) { return kind == static_cast<uint8_t>(SiteKind::kOpenMp); }

// Times and counts of the node are measured, not estimated.
inline bool is_measured_kind(uint8_t kind) { return is_probe_kind(kind) || is_openmp(kind); }

// Whether the node is a Python function's frame of a call path.
inline bool is_python(const MergedNode& node) {
    return (node.flags & kNodeNamed) != 0 &&
           (node.kind == static_cast<uint8_t>(SiteKind::kCall) ||
            node.kind == static_cast<uint8_t>(SiteKind::kCommunication) ||
            node.kind == static_cast<uint8_t>(SiteKind::kIo) ||
            node.kind == static_cast<uint8_t>(SiteKind::kSample));
}

inline bool is_named(const MergedNode& node) {
    return is_python(node) || ((node.flags & kNodeNamed) != 0 &&
                               (node.kind == static_cast<uint8_t>(SiteKind::kBlock) ||
                                node.kind == static_cast<uint8_t>(SiteKind::kMarker)));
}

struct MergedHistogram {
    uint64_t messages[kSizeBuckets];
};

struct MergedModule {
    uint8_t build_id[20];
    uint8_t build_id_bytes;  // 0: the fields below identify the module
    uint8_t mixed;           // ranks on several hosts had files that may differ
    uint8_t reserved[2];
    uint32_t path;   // offset into text
    uint32_t host;   // hash of the host's name
    uint64_t bytes;  // size in memory
    uint64_t inode;  // as in ModuleRecord
    int64_t modified_ns;
};

// Figures of one thread of one rank at one node; kept while the job has at most row_limit of them.
struct MergedRow {
    uint32_t node;
    uint32_t rank;
    uint32_t thread;
    uint32_t reserved;
    Totals totals;
};

// The same figures of sample nodes. Their number follows the code, not the calls, so they have a
// limit of their own: row_limit * kSampleRowsPerRow.
struct MergedSamples {
    uint32_t node;
    uint32_t rank;
    uint32_t thread;
    uint32_t reserved;
    uint64_t count;
};

// A thread record, used by one thread, or by several one after the other. Kept and dropped with the
// rows.
struct MergedThread {
    uint32_t rank;
    uint32_t thread;
    uint32_t served;  // threads that used the record
    uint32_t name;    // offset into text
};

// One communication node of one rank towards one partner; kept while the job has few rows. `peer`
// as in record_layout.h (world and rank).
struct MergedPeer {
    uint32_t node;
    uint32_t rank;
    uint32_t peer;
    uint32_t reserved;
    uint64_t count;
    uint64_t time_ns;
    uint64_t sync_ns;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t min_ns;
    uint64_t max_ns;
};

// Above the row limit peers merge by distance: (peer - rank) modulo the size of the world. The
// heaviest pairs of each node stay in `peers` (kHeaviestPeers).
struct MergedDistance {
    uint32_t node;
    uint32_t distance;  // kNoPeer: another world or not one rank; kOtherDistances: all remaining
                        // distances
    uint64_t pairs;
    uint64_t count;
    uint64_t time_ns;
    uint64_t sync_ns;
    uint64_t bytes_sent;
    uint64_t bytes_received;
};
// The iteration numbers that a program gave to one phase; no entry where all of them are zero.
struct MergedPhase {
    uint32_t node;
    uint32_t rank_behind;  // the rank whose last number is the smallest
    uint64_t first;        // smallest of the ranks' first numbers
    uint64_t last;         // greatest of the ranks' last numbers
    uint64_t last_behind;  // smallest of the ranks' last numbers
};

// A process grid, as some of the ranks describe it. Different descriptions with one name are
// separate grids, because nothing shows which one is right.
struct MergedGrid {
    uint32_t name;  // offset into text
    uint32_t dimensions;
    uint32_t periodic;  // bit k: dimension k; kGridByMpi
    int32_t size[kGridDimensions];
    uint32_t ranks;  // ranks with this description
};

// The coordinates of one rank in a grid; kept while there are at most row_limit of them.
struct MergedPlace {
    uint32_t grid;  // index into grids
    uint32_t rank;
    int32_t coordinate[kGridDimensions];
};

// A metric that ranks counted, or could not count on request. All ranks together have at most
// kMetricNames; further ones are dropped.
constexpr uint32_t kMetricNames = 16;
struct MergedMetric {
    uint32_t name;     // offset into text
    uint32_t ranks;    // ranks that counted it
    uint32_t missing;  // ranks that could not count it
    uint32_t reserved;
};

// Metrics counted at a node, or for an interval before its end: see MetricPart. In a sum over all
// ranks `rank` and `thread` are 0.
struct MergedCounts {
    uint32_t node;
    uint32_t rank;
    uint32_t thread;
    uint32_t reserved;
    uint64_t entries;
    uint64_t time_ns;
    uint64_t values[kMetricNames];  // by metric
};

constexpr uint32_t kHeaviestPeers = 8;

// Waiting time by its cause: see merged_waits.h. For a communication node (`group`): the partners
// it waited for, and their activity meanwhile. For a computation (`group` is its path hash): the
// ranks whose computation delayed others. `peer` kNoPeer is the sum over all ranks without an entry
// of their own.
struct MergedCause {
    uint32_t group;
    uint32_t peer;  // as in record_layout.h
    uint32_t path;  // path hash of the partner's activity, 0 unknown; 0 for computations
    uint32_t reserved;
    uint64_t count;
    uint64_t time_ns;
    uint64_t max_ns;        // of one wait; 0 for computations
    uint64_t passed_on_ns;  // part of time_ns: the root cause is neither this partner nor this
                            // computation
    uint64_t lost_ns;       // of the sum: upper bound of the part of any single rank
};
// How the long computations of one rank in one interval lost time: see StallRecord. Each interval
// keeps the ranks that lost most (kRanksPerCause).
struct MergedStall {
    uint32_t path;  // path hash of the interval, as `group` of a computation in MergedCause
    uint32_t rank;
    uint32_t io_node;  // the I/O statement with most time, kNoNode: none
    uint32_t reserved;
    uint64_t count;
    uint64_t time_ns;
    uint64_t io_ns;
    uint64_t asleep_ns;
    uint64_t queued_ns;
    uint64_t kernel_ns;
    uint64_t team_asleep_ns;  // waiting for sleeping OpenMP threads
};
inline uint64_t stalled_ns(const MergedStall& stall) {
    return stall.io_ns + stall.asleep_ns + stall.queued_ns + stall.kernel_ns + stall.team_asleep_ns;
}
// A part of the run: what ranks did in it, all threads of a rank together.
struct AxisFigures {
    uint64_t computation_ns;
    uint64_t transfer_ns;
    uint64_t waiting_ns;
    uint64_t omp_wait_ns;
    uint64_t omp_idle_ns;
    uint64_t io_ns;
    uint64_t bytes_sent;
};
constexpr uint64_t AxisFigures::*kAxisFigures[] = {
    &AxisFigures::computation_ns, &AxisFigures::transfer_ns, &AxisFigures::waiting_ns,
    &AxisFigures::omp_wait_ns,    &AxisFigures::omp_idle_ns, &AxisFigures::io_ns,
    &AxisFigures::bytes_sent};
// Bin n covers the 2^axis_shift ns of Unix time from n * 2^axis_shift on, on the virtual clock.
// `phase` took most of it; kNoNode: none.
struct MergedAxisBin {
    uint64_t bin;
    uint32_t ranks;  // that have it
    uint32_t phase;
    uint64_t phase_weight;  // of the majority vote
    AxisFigures sum;
    AxisFigures least;  // of one of these ranks
    AxisFigures most;
};
// The bin of one rank; kept while there are at most row_limit of them.
struct MergedAxisRow {
    uint64_t bin;
    uint32_t rank;
    uint32_t phase;
    uint64_t phase_weight;
    AxisFigures figures;
};
// Where a thread is whose record was not ended: of processes that run or were killed. Not
// transmitted.
struct MergedOpen {
    uint32_t rank;
    uint32_t thread;
    int32_t pid;
    int32_t tid;
    uint32_t node;       // innermost procedure, loop, block or statement; the program itself: 0
    uint32_t statement;  // the open communication statement, else the last one; kNoNode: none yet
    bool is_in_call;
    bool has_ended;         // the process ended since, at end_unix_ns
    int64_t since_unix_ns;  // when it entered, or left, that statement
    int64_t end_unix_ns;
    int64_t probe_unix_ns;  // when it entered `node`, if that was made by a probe or is OpenMP's
    // What an open statement waits for: see OpenCall.
    uint64_t handle;
    int32_t peer;
    int32_t tag;
    int32_t destination;
    uint32_t requests;
    uint64_t request;
};
// An OpenMP lock or a window's lock that such a thread holds or wants: see HeldLock. Not
// transmitted, like the next three.
struct MergedLock {
    uint32_t rank;
    uint32_t thread;
    bool held;
    uint8_t construct;  // wanted: OmpConstruct
    uint64_t what;
    uint32_t module;  // place of the statement in OpenMP: index into modules, kNoModule
    uint32_t node;    // window: the statement
    uint64_t offset;
    int32_t target;
    int64_t since_unix_ns;  // wanted; 0: not known
};
// A request that is not complete as far as the program knows, or a matched message: see
// RequestRecord.
struct MergedRequest {
    uint32_t rank;
    uint8_t kind;
    uint8_t awaited;
    uint64_t handle;
    uint64_t comm;
    int32_t peer;
    int32_t tag;
};
// One process.
struct MergedProcess {
    uint32_t rank;
    int32_t pid;
    uint64_t pid_namespace;
    uint32_t requests;         // all that are active; MergedRequest of at most kRequestsShown
    uint32_t requests_unseen;  // further entries of its request table lie outside of the file
    bool paused;               // recording is switched off: what it does now is not known
};
constexpr uint32_t kRequestsShown = 1024;
// A communicator of one process: see CommRecord.
struct MergedComm {
    uint64_t handle;
    uint64_t id;
    uint32_t rank;  // of the process in its MPI_COMM_WORLD
    int32_t own;    // its rank in the communicator
    uint32_t members;
    int32_t size;
    uint32_t entered;
    bool inter;
    uint8_t side;
};
constexpr uint32_t kPartnersPerNode = 16;
constexpr uint32_t kRanksPerCause = 8;
constexpr uint32_t kDistancesPerNode = 256;  // the lightest beyond this number are summed under:
constexpr uint32_t kOtherDistances = 0xfffffffeu;
constexpr uint32_t kDefaultRowLimit = 200'000;  // rows (node, rank, thread): 40 MB
constexpr uint32_t kPeersPerRow = 2;  // row_limit * kPeersPerRow peer records also exceed the limit
constexpr uint32_t kSampleRowsPerRow = 4;  // 19 MB
// Where the number of ranks to come is known, rows are dropped as soon as kRepresentativeRanks
// ranks predict kSurelyPast times the limit: all later steps are linear in nodes.
constexpr uint32_t kRepresentativeRanks = 16;
constexpr uint32_t kSurelyPast = 4;

enum MergedFlags : uint32_t {
    kMergedRowsDropped = 1,      // over the row limit: no per-rank rows, peers by distance
    kMergedPartial = 2,          // some ranks of the world are missing
    kMergedPlacesDropped = 4,    // over the row limit by places in grids: there are none
    kMergedGridsDropped = 8,     // more than kGridLimit different grids
    kMergedSamplesDropped = 16,  // over the limit of sample rows: there are none
    kMergedAxisDropped = 32,     // over the row limit by axis rows: there are none
    kMergedEventsMissing = 64,   // computed from an event log that lacks some
};

struct MergedHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t flags;  // MergedFlags
    uint32_t world_size;
    uint32_t row_limit;
    uint32_t nodes;
    uint32_t histograms;
    uint32_t modules;
    uint32_t ranks;
    uint64_t rows;
    uint64_t sample_rows;
    uint64_t threads;
    uint64_t peers;
    uint64_t distances;
    uint64_t places;
    uint32_t phases;
    uint32_t grids;
    uint64_t partners;
    uint64_t causes;
    uint64_t stalls;
    uint64_t counts;
    uint64_t count_rows;
    uint64_t axis;
    uint64_t axis_rows;
    uint32_t axis_shift;
    uint32_t axis_missing;
    uint32_t metrics;
    uint32_t metrics_unwatched;
    uint64_t metrics_left_out;
    uint64_t metrics_lost_ns;
    uint32_t metrics_lost;
    uint32_t metrics_no_room;
    uint32_t threads_unsampled;
    uint32_t spawned_unseen;
    uint64_t metric_read_ns;
    uint64_t metric_least_ns;
    uint64_t text_bytes;
    uint64_t last_rank_bytes;
    uint64_t rank_bytes;
    char job[64];
};

struct Merged {
    uint32_t flags = 0;
    uint32_t world_size = 0;
    uint32_t row_limit = kDefaultRowLimit;
    uint32_t expected_ranks = 0;  // ranks that will be joined in all, 0 = unknown; not transmitted
    char job[64] = {};
    GrowArray<MergedNode> nodes;
    GrowArray<MergedHistogram> histograms;
    GrowArray<MergedModule> modules;
    GrowArray<MergedRow> rows;
    GrowArray<MergedSamples> sample_rows;  // dropped together with `rows`
    GrowArray<MergedThread> threads;
    GrowArray<MergedPeer> peers;
    GrowArray<MergedDistance> distances;
    GrowArray<MergedPhase> phases;  // in the order of their nodes in the first rank
    GrowArray<MergedGrid> grids;    // in the order of their descriptions
    GrowArray<MergedPlace> places;
    GrowArray<MergedCause> partners;
    GrowArray<MergedCause> causes;
    GrowArray<MergedStall> stalls;
    GrowArray<MergedOpen> open;
    GrowArray<MergedComm> open_comms;
    GrowArray<MergedLock> open_locks;
    GrowArray<MergedRequest> open_requests;
    GrowArray<MergedProcess> processes;
    GrowArray<MergedMetric> metrics;
    GrowArray<MergedCounts> counts;      // sums over ranks, one entry a node
    GrowArray<MergedCounts> count_rows;  // of one thread of one rank; dropped together with `rows`
    GrowArray<MergedAxisBin> axis;       // ascending, at most kAxisBins
    GrowArray<MergedAxisRow> axis_rows;  // those of a rank together, ascending
    uint32_t axis_shift = 0;
    uint32_t axis_missing = 0;       // threads whose axis found no room
    uint32_t metrics_unwatched = 0;  // threads whose metrics were not counted
    uint32_t metrics_lost = 0;       // threads whose counters the program closed,
    uint64_t metrics_lost_ns = 0;    // time of the first such closing, since the start of its rank;
                                     // 0: none
    uint32_t metrics_no_room = 0;    // threads not counted, because few descriptors were left
    uint32_t threads_unsampled = 0;
    uint32_t spawned_unseen = 0;
    uint64_t metrics_left_out = 0;  // entries not read, because readings had used their share of
                                    // the time
    uint64_t metric_read_ns = 0;    // cost of a reading, greatest of all ranks
    uint64_t metric_least_ns = 0;   // shorter nodes are not read; greatest of all ranks
    GrowArray<char> text;  // zero-terminated strings, each once; offset 0 is the empty string
    RankList ranks;
};
// Where threads are, and what they wait for.
inline void clear_places(Merged* merged) {
    merged->open.clear();
    merged->open_comms.clear();
    merged->open_locks.clear();
    merged->open_requests.clear();
    merged->processes.clear();
}

// Adds the records of one process, mapped at `file` (`bytes` long), to `into`. Every index is
// checked, so the file of a killed process, or a damaged file, is read as far as it is valid.
// Returns false when the bytes are no record file of this version, or without memory; `into` is
// unchanged then.
//
// Open entries of a process that has ended without closing them last until its end, as far as that
// is known: as `dwell run` saw it, or `end_unix_ns`, unless 0.
// `cells`, unless null, gets the cells of the file's nodes, threads in the file's order: so their
// figures can be read again (node_figures.h).
struct NodeCell;
bool add_record_file(Merged* into, const void* file, size_t bytes, int64_t end_unix_ns = 0,
                     GrowArray<NodeCell>* cells = nullptr);

// The newest time that the file of a process tells, and the process's host; for add_record_file()
// of processes whose end nobody saw. False when the bytes are no record file of this version.
struct NewestTime {
    int64_t unix_ns;
    char host[sizeof(FileHeader::host)];
};
bool newest_time_in(const void* file, size_t bytes, NewestTime* newest);

// The same without figures: only where the threads of the process are. The file may change
// meanwhile. On failure nodes may have been added.
bool add_places(Merged* into, const void* file, size_t bytes, int64_t end_unix_ns = 0);

// A node's cell in a record file, its place in the merged records (kNoNode: it has none), the
// thread it is of, and its links as they were read: other links show new nodes. Nodes below
// intervals (samples and their paths) are left out.
struct NodeCell {
    CellIndex cell;
    uint32_t node;
    uint32_t thread;
    CellIndex first_child;
    CellIndex next_sibling;
};

// An entry of a probe that is open: its time up to its thread's last time stamp, which is not part
// of the node's figures in the file.
struct OpenEntry {
    uint32_t node;
    uint64_t time_ns;
    uint64_t omp_wait_ns;
};

// As add_places(), for the nodes in `cells`; adds also the open entries.
bool add_known_places(Merged* into, const void* file, size_t bytes,
                      const GrowArray<NodeCell>& cells, GrowArray<OpenEntry>* entries);

// Joins `from` into `into`, in time linear in the nodes of both, and moves its ranks. Returns false
// without memory, or when the rank lists are damaged where they join; both are unchanged then.
bool join(Merged* into, Merged&& from);
// The same; changes the places in `cells` from those in `from` to those in `into`.
bool join(Merged* into, Merged&& from, GrowArray<NodeCell>* cells);

// The bytes of `merged` in the layout above, or only its head, which the pieces of its rank list
// must follow. Returns false without memory.
bool serialize(const Merged& merged, GrowArray<char>* out);
bool serialize_head(const Merged& merged, GrowArray<char>* out);

// Reads the bytes that serialize() wrote; every count and index is checked. Returns false on
// malformed bytes or without memory; `out` is unchanged then.
bool deserialize(const void* bytes, size_t size, Merged* out);
// Reads a head and takes the bytes of the ranks, which come apart and stay unread: see
// RankList::keep_readable.
bool deserialize(const void* head, size_t size, GrowArray<char>* ranks, Merged* out);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_H_
