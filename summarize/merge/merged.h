// The merged records of one or many ranks: what the tree reduction in MPI_Finalize sends, what rank
// 0 hands to the `dwell` command, and what `dwell recover` builds from record files (DESIGN 2, 3).
// Plain arrays without pointers, so that the same bytes travel and are written. Built and joined by
// summarize/merge/merge.cpp without exceptions: an allocation that fails makes the call return
// false.
//
// File and message layout: MergedHeader, then the arrays in the order of its counts, each aligned
// to 8 bytes: nodes, histograms, modules, rows, sample rows, peers, distances, phases, grids,
// places, partners, causes, stalls, metrics, counts, count rows, text, the last entry of the ranks.
// Up to here it is the head; behind it the entries of all ranks, see rank_list.h. All times are
// nanoseconds.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/grow_array.h"
#include "summarize/merge/rank_list.h"

namespace dwell {

constexpr uint64_t kMergedMagic = 0x4d4c4c5744ULL;  // "DWLLM"
constexpr uint32_t kMergedVersion = 15;
constexpr uint32_t kNoNode = 0xffffffffu;
constexpr uint32_t kNoHistogram = 0xffffffffu;

// The figures that add up: of a node over all ranks, or of one row.
struct Totals {
    uint64_t count;
    uint64_t time_ns;  // inclusive, virtual
    uint64_t min_ns;   // of one call; UINT64_MAX when count is 0
    uint64_t max_ns;
    // Communication nodes only, as all that follow down to event_ns. Sync delay: known, from what
    // partners told, and with what is estimated (blocked_estimate.h) of the calls without that.
    uint64_t sync_ns;
    uint64_t blocked_ns;        // sync_ns and the estimate
    uint64_t late_sender_ns;    // of sync_ns; what is neither of these two was in collectives
    uint64_t late_receiver_ns;  // of sync_ns
    uint64_t passed_on_ns;      // of sync_ns: the partner itself had been made to wait
    uint64_t unknown_waits;     // calls that may have waited for partners whose times are not known
    uint64_t guessed_waits;     // messages that could have been one of several
    uint64_t estimated_waits;   // between nodes, without a sample
    uint64_t bytes_sent;        // I/O nodes: written, and read
    uint64_t bytes_received;
    uint64_t failed;  // calls, of I/O nodes, too
    uint64_t folded_peers;
    // Part of count that was not timed one by one. Communication: time_ns holds an estimate of it,
    // see runtime/calls/polls.h. Nodes made by probes: without time, min_ns is UINT64_MAX when all
    // of it is.
    uint64_t untimed;
    uint64_t event_count[kEventSlots];
    uint64_t event_ns[kEventSlots];
    // Nodes made by probes only: see ProbePart.
    uint64_t iterations;
    uint64_t abandoned;
    uint64_t off_entries;  // estimated, while its site was off; not part of count
    // Its standard error, with all that is a guess (off_is_known); in a profile 1, without a number
    // in off_entries, where that is too much.
    uint64_t off_uncertain;
    uint64_t off_error;     // in a profile: the standard error of the number in off_entries
    uint64_t estimated_ns;  // of entries without time and while it was off; not part of time_ns
    uint64_t volume;
    // Nodes made by probes: of time_ns that of threads which entered it. Others work in it, too, in
    // a parallel region that one of those forked.
    uint64_t entered_ns;
    // OpenMP nodes only, as are `iterations` of loops: see OmpPart. Waiting is that of threads in a
    // construct, idle that of threads in none.
    uint64_t omp_wait_ns;
    uint64_t omp_idle_ns;
    uint64_t omp_start_ns;     // of tasks, before they began; not part of time_ns
    uint64_t omp_overhead_ns;  // of time_ns
    uint64_t created;          // tasks: created; regions: forked
    uint64_t chunks;
};

// Whether enough entries were seen for off_entries to tell how many were not: the standard error is
// a quarter of it at most. Of a sum of parts, each of which is seen or not by chance, that is the
// root of the sum of their squares.
inline bool off_is_known(const Totals& totals) {
    constexpr uint64_t kErrors = 4;  // in it
    return totals.off_uncertain <= totals.off_entries / kErrors;
}

inline uint64_t timed_entries(const Totals& totals) {
    return totals.count - (totals.untimed < totals.count ? totals.untimed : totals.count);
}
// Of a timed entry; there must be one.
inline double mean_entry_ns(const Totals& totals) {
    // Profiles of earlier versions do not have it.
    const uint64_t all_ns = totals.entered_ns != 0 ? totals.entered_ns : totals.time_ns;
    return static_cast<double>(all_ns) / static_cast<double>(timed_entries(totals));
}

// Node 0 is the program. A parent stands before its children. Call, communication, procedure, loop
// and sample nodes are named by (module, offset); an interval lies under the communication node it
// reached, its `offset` is the index of the node it left (kNoNode: start of the thread), `meet` the
// deepest node common to both paths. Of a named block or marker `offset` is that of its name in the
// text.
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
    uint64_t rank_min_ns;  // least and largest total of one rank that has it, and which rank
    uint64_t rank_max_ns;
    uint32_t rank_min;
    uint32_t rank_max;
    // I/O: the name of the file with most bytes, as far as ranks know of each other, offset into
    // text (0: none); its bytes; and whether there were others.
    uint32_t file;
    uint32_t other_files;
    uint64_t file_bytes;
    Totals totals;
};

// The node's file is the one with more bytes.
void add_file(MergedNode* into, uint32_t file, uint64_t bytes, bool others);

// Made by a probe, with a place in the static tables or a name.
inline bool is_probe_kind(uint8_t kind) {
    return kind == static_cast<uint8_t>(SiteKind::kProcedure) ||
           kind == static_cast<uint8_t>(SiteKind::kLoop) ||
           kind == static_cast<uint8_t>(SiteKind::kBlock) ||
           kind == static_cast<uint8_t>(SiteKind::kMarker);
}

inline bool is_openmp(uint8_t kind) { return kind == static_cast<uint8_t>(SiteKind::kOpenMp); }

// Its times and counts are measured, not estimated.
inline bool is_measured_kind(uint8_t kind) { return is_probe_kind(kind) || is_openmp(kind); }

// A frame of a call path that is a Python function's.
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
    uint8_t build_id_bytes;  // 0: module is told apart by what follows
    uint8_t mixed;           // ranks on several hosts had files that may differ
    uint8_t reserved[2];
    uint32_t path;   // offset into text
    uint32_t host;   // hash of its name
    uint64_t bytes;  // that it takes in memory
    uint64_t inode;  // as in ModuleRecord
    int64_t modified_ns;
};

// Figures of one thread of one rank at one node; kept while the job is small (row_limit).
struct MergedRow {
    uint32_t node;
    uint32_t rank;
    uint32_t thread;
    uint32_t reserved;
    Totals totals;
};

// The same of sample nodes. Their number follows the code, not the calls: they have a limit of
// their own, row_limit * kSampleRowsPerRow.
struct MergedSamples {
    uint32_t node;
    uint32_t rank;
    uint32_t thread;
    uint32_t reserved;
    uint64_t count;
};

// A record of threads: one, or several one after the other. Kept and dropped with the rows.
struct MergedThread {
    uint32_t rank;
    uint32_t thread;
    uint32_t served;  // threads that used it
    uint32_t name;    // offset into text
};

// One communication node of one rank towards one partner; kept while the job is small.
// `peer` as in record_layout.h (world and rank).
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

// Above the limit peers merge by distance: (peer - rank) modulo the size of the world; beside them
// the heaviest pairs of each node stay in `peers` by name (kHeaviestPeers).
struct MergedDistance {
    uint32_t node;
    uint32_t distance;  // kNoPeer: another world or not one rank; kOtherDistances: the rest
    uint64_t pairs;
    uint64_t count;
    uint64_t time_ns;
    uint64_t sync_ns;
    uint64_t bytes_sent;
    uint64_t bytes_received;
};
// The iteration numbers that a program gave to one phase; none where it gave only zeros.
struct MergedPhase {
    uint32_t node;
    uint32_t rank_behind;  // of the ranks, the one whose last number is the least
    uint64_t first;        // least of the numbers that ranks gave first
    uint64_t last;         // greatest of those that they gave last
    uint64_t last_behind;  // least of those
};

// A grid of processes, as a part of the ranks describes it. Descriptions by one name that differ
// are grids of their own: which of them is meant, nobody knows.
struct MergedGrid {
    uint32_t name;  // offset into text
    uint32_t dimensions;
    uint32_t periodic;  // bit k: dimension k; kGridByMpi
    int32_t size[kGridDimensions];
    uint32_t ranks;  // that describe it so
};

// Where one rank is in a grid; kept while there are no more than row_limit.
struct MergedPlace {
    uint32_t grid;  // index into grids
    uint32_t rank;
    int32_t coordinate[kGridDimensions];
};

// A metric that ranks counted, or were asked to in vain. Those of all ranks together are no more
// than kMetricNames; further ones are dropped.
constexpr uint32_t kMetricNames = 16;
struct MergedMetric {
    uint32_t name;     // offset into text
    uint32_t ranks;    // that counted it
    uint32_t missing;  // that could not
    uint32_t reserved;
};

// What was counted at a node, or before one at an interval: see MetricPart. Of a sum over all ranks
// `rank` and `thread` are 0.
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

// Waiting and who it was due to: see merged_waits.h. Of a communication node (`group`) the partners
// that were waited for and what they were doing; or of a computation (`group` is its path hash) the
// ranks that made others wait by it. `peer` kNoPeer: the sum of those that are not told apart.
struct MergedCause {
    uint32_t group;
    uint32_t peer;  // as in record_layout.h
    uint32_t path;  // path hash of what the partner was doing, 0 unknown; 0 for computations
    uint32_t reserved;
    uint64_t count;
    uint64_t time_ns;
    uint64_t max_ns;        // of one wait; 0 for computations
    uint64_t passed_on_ns;  // of time_ns: not by the partner, or the computation, itself
    uint64_t lost_ns;       // of the sum: no single one can hold more of it than this
};
// What the long ones among the computations of one rank were besides computation, of one interval:
// see StallRecord. Of each interval the ranks with most of that are kept (kRanksPerCause).
struct MergedStall {
    uint32_t path;  // the interval's, as `group` of a computation in MergedCause
    uint32_t rank;
    uint32_t io_node;  // the I/O statement that took most, kNoNode: none
    uint32_t reserved;
    uint64_t count;
    uint64_t time_ns;
    uint64_t io_ns;
    uint64_t asleep_ns;
    uint64_t queued_ns;
    uint64_t kernel_ns;
    uint64_t team_asleep_ns;  // waiting for threads of OpenMP that were asleep
};
inline uint64_t stalled_ns(const MergedStall& stall) {
    return stall.io_ns + stall.asleep_ns + stall.queued_ns + stall.kernel_ns + stall.team_asleep_ns;
}
constexpr uint32_t kPartnersPerNode = 16;
constexpr uint32_t kRanksPerCause = 8;
constexpr uint32_t kDistancesPerNode = 256;  // the lightest beyond that are summed under:
constexpr uint32_t kOtherDistances = 0xfffffffeu;
constexpr uint32_t kDefaultRowLimit = 200'000;  // rows (node, rank, thread): 40 MB
constexpr uint32_t kPeersPerRow = 2;  // row_limit * kPeersPerRow peer records pass the limit too
constexpr uint32_t kSampleRowsPerRow = 4;  // 19 MB
// Where the number of ranks to come is known, rows are dropped as soon as kRepresentativeRanks
// ranks show that the limit will be passed kSurelyPast times over: all later steps are linear in
// nodes.
constexpr uint32_t kRepresentativeRanks = 16;
constexpr uint32_t kSurelyPast = 4;

enum MergedFlags : uint32_t {
    kMergedRowsDropped = 1,      // the row limit was passed: no per-rank rows, peers by distance
    kMergedPartial = 2,          // not every rank of the world is in
    kMergedPlacesDropped = 4,    // the row limit was passed by places in grids: there are none
    kMergedGridsDropped = 8,     // there were more than kGridLimit different grids
    kMergedSamplesDropped = 16,  // the limit of sample rows was passed: there are none
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
    uint32_t expected_ranks = 0;  // ranks that will be joined in all, 0 = unknown; does not travel
    char job[64] = {};
    GrowArray<MergedNode> nodes;
    GrowArray<MergedHistogram> histograms;
    GrowArray<MergedModule> modules;
    GrowArray<MergedRow> rows;
    GrowArray<MergedSamples> sample_rows;  // dropped when `rows` are
    GrowArray<MergedThread> threads;
    GrowArray<MergedPeer> peers;
    GrowArray<MergedDistance> distances;
    GrowArray<MergedPhase> phases;  // in the order of their nodes in the rank that came first
    GrowArray<MergedGrid> grids;    // in the order in which they were described
    GrowArray<MergedPlace> places;
    GrowArray<MergedCause> partners;
    GrowArray<MergedCause> causes;
    GrowArray<MergedStall> stalls;
    GrowArray<MergedMetric> metrics;
    GrowArray<MergedCounts> counts;      // sums over ranks, each node once
    GrowArray<MergedCounts> count_rows;  // of one thread of one rank; dropped when `rows` are
    uint32_t metrics_unwatched = 0;      // threads that were not counted
    uint32_t metrics_lost = 0;           // threads whose counters the program closed,
    uint64_t metrics_lost_ns = 0;  // on the rank where that was first, after its start; 0: none
    uint32_t metrics_no_room = 0;  // threads not counted, as few descriptors were left
    uint32_t threads_unsampled = 0;
    uint32_t spawned_unseen = 0;
    uint64_t metrics_left_out = 0;  // entries, as readings had taken their share of the time
    uint64_t metric_read_ns = 0;    // what a reading costs, on the rank where that is most
    uint64_t metric_least_ns = 0;   // nodes that last less are not read; likewise
    GrowArray<char> text;  // zero-terminated strings, each once; offset 0 is the empty string
    RankList ranks;
};

// Adds the records of one process, mapped at `file` (`bytes` long), to `into`. Every index is
// checked, so a file of a killed process, or a damaged one, is read as far as it goes.
// Returns false when the bytes are no record file of this version, or when memory ran out; `into`
// is unchanged then.
bool add_record_file(Merged* into, const void* file, size_t bytes);

// Joins `from` into `into`, in time linear in the nodes of both, and takes its ranks. False when
// memory ran out, or what joins the ranks is damaged; both are unchanged then.
bool join(Merged* into, Merged&& from);

// The bytes of `merged`, as described above, or only its head, behind which the pieces of its ranks
// belong. False when memory ran out.
bool serialize(const Merged& merged, GrowArray<char>* out);
bool serialize_head(const Merged& merged, GrowArray<char>* out);

// The reverse; every count and index is checked. False on malformed bytes or when memory ran out;
// `out` is unchanged then.
bool deserialize(const void* bytes, size_t size, Merged* out);
// From a head and the bytes of the ranks apart. These are taken over without being read: see
// RankList::keep_readable.
bool deserialize(const void* head, size_t size, GrowArray<char>* ranks, Merged* out);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_H_
