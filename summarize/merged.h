// The merged records of one or many ranks: what the tree reduction in MPI_Finalize sends, what rank
// 0 hands to the `dwell` command, and what `dwell recover` builds from record files (DESIGN 2, 3).
// Plain arrays without pointers, so that the same bytes travel and are written. Built and joined by
// summarize/merge.cpp without exceptions: an allocation that fails makes the call return false.
//
// File and message layout: MergedHeader, then the arrays in the order of its counts, each aligned
// to 8 bytes: nodes, histograms, modules, ranks, rows, peers, distances, text. All times are
// nanoseconds.
#ifndef DWELL_SUMMARIZE_MERGED_H_
#define DWELL_SUMMARIZE_MERGED_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/record_layout.h"
#include "summarize/grow_array.h"

namespace dwell {

constexpr uint64_t kMergedMagic = 0x4d4c4c5744ULL;  // "DWLLM"
constexpr uint32_t kMergedVersion = 2;
constexpr uint32_t kNoNode = 0xffffffffu;
constexpr uint32_t kNoHistogram = 0xffffffffu;

// The figures that add up: of a node over all ranks, or of one row.
struct Totals {
    uint64_t count;
    uint64_t time_ns;  // inclusive, virtual
    uint64_t min_ns;   // of one call; UINT64_MAX when count is 0
    uint64_t max_ns;
    uint64_t sync_ns;     // communication nodes only, as all that follow down to event_ns
    uint64_t blocked_ns;  // of receives, sends and waits that blocked; see blocked_estimate.h too
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t failed;
    uint64_t folded_peers;
    // Part of count that was not timed one by one. Communication: time_ns holds an estimate of it,
    // see runtime/polls.h. Nodes made by probes: without time, min_ns is UINT64_MAX when all of it
    // is.
    uint64_t untimed;
    uint64_t event_count[kEventSlots];
    uint64_t event_ns[kEventSlots];
    // Nodes made by probes only: see ProbePart.
    uint64_t iterations;
    uint64_t abandoned;
    uint64_t off_entries;   // estimated, while its site was off; not part of count
    uint64_t estimated_ns;  // of entries without time and while it was off; not part of time_ns
    uint64_t volume;
};

// Node 0 is the program. A parent stands before its children. Call, communication, procedure, loop
// and sample nodes are named by (module, offset); an interval lies under the communication node it
// reached, its `offset` is the index of the node it left (kNoNode: start of the thread), `meet` the
// deepest node common to both paths. Of a named block or marker `offset` is that of its name in the
// text.
struct MergedNode {
    uint64_t offset;
    uint32_t module;  // index into modules, kNoNode = none
    uint16_t call;
    uint8_t kind;   // SiteKind
    uint8_t flags;  // NodeFlags
    uint32_t parent;
    uint32_t meet;
    uint32_t histogram;    // index into histograms, kNoHistogram
    uint32_t ranks;        // ranks that have this node
    uint64_t rank_min_ns;  // least and largest total of one rank that has it, and which rank
    uint64_t rank_max_ns;
    uint32_t rank_min;
    uint32_t rank_max;
    Totals totals;
};

// Made by a probe: its times and counts are measured, not estimated.
inline bool is_probe_kind(uint8_t kind) {
    return kind == static_cast<uint8_t>(SiteKind::kProcedure) ||
           kind == static_cast<uint8_t>(SiteKind::kLoop) ||
           kind == static_cast<uint8_t>(SiteKind::kBlock) ||
           kind == static_cast<uint8_t>(SiteKind::kMarker);
}

inline bool is_named(const MergedNode& node) {
    return (node.flags & kNodeNamed) != 0 && (node.kind == static_cast<uint8_t>(SiteKind::kBlock) ||
                                              node.kind == static_cast<uint8_t>(SiteKind::kMarker));
}

struct MergedHistogram {
    uint64_t messages[kSizeBuckets];
};

struct MergedModule {
    uint8_t build_id[20];
    uint8_t build_id_bytes;  // 0: module is told apart by its path
    uint8_t reserved[3];
    uint32_t path;  // offset into text
};

// What one rank says of itself. Kept for every rank, whatever the size of the job.
struct MergedRank {
    uint32_t rank;
    int32_t pid;
    uint32_t host;     // offset into text
    uint32_t program;  // offset into text
    uint32_t command;  // offset into text
    uint32_t state;    // FileState
    uint32_t flags;    // FileFlags
    uint32_t threads;
    int32_t exit_code;
    uint32_t sample_hz;
    uint32_t callpath_depth;
    uint32_t reserved;
    int64_t start_unix_ns;
    uint64_t real_ns;  // start of the process to the end of MPI_Finalize (or last finished call)
    uint64_t intrusion_ns;     // of its first thread
    uint64_t paused_ns;        // of its first thread
    uint64_t call_cost_ns_q8;  // calibrated cost of a wrapped call, in 1/256 ns
    uint64_t record_bytes;     // size of its record file
    uint64_t samples;
    uint64_t samples_in_calls;
    uint64_t samples_lost;
    uint64_t folded_paths;
    uint64_t dropped;
    uint64_t guessed;
    uint64_t clock_errors;
    uint64_t threads_served;
    uint64_t probes;  // see ThreadRecord
    uint64_t probes_missed;
    uint64_t probes_dropped;
};

// Figures of one thread of one rank at one node; kept while the job is small (row_limit). Sample
// nodes have no rows: their number follows the code, not the calls.
struct MergedRow {
    uint32_t node;
    uint32_t rank;
    uint32_t thread;
    uint32_t reserved;
    Totals totals;
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
constexpr uint32_t kHeaviestPeers = 8;
constexpr uint32_t kDistancesPerNode = 256;  // the lightest beyond that are summed under:
constexpr uint32_t kOtherDistances = 0xfffffffeu;
constexpr uint32_t kDefaultRowLimit = 200'000;  // rows (node, rank, thread): 40 MB
constexpr uint32_t kPeersPerRow = 2;  // row_limit * kPeersPerRow peer records pass the limit too
// Where the number of ranks to come is known, rows are dropped as soon as kRepresentativeRanks
// ranks show that the limit will be passed kSurelyPast times over: all later steps are linear in
// nodes.
constexpr uint32_t kRepresentativeRanks = 16;
constexpr uint32_t kSurelyPast = 4;

enum MergedFlags : uint32_t {
    kMergedRowsDropped = 1,  // the row limit was passed: no per-rank rows, peers by distance
    kMergedPartial = 2,      // not every rank of the world is in
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
    uint64_t peers;
    uint64_t distances;
    uint64_t text_bytes;
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
    GrowArray<MergedRank> ranks;
    GrowArray<MergedRow> rows;
    GrowArray<MergedPeer> peers;
    GrowArray<MergedDistance> distances;
    GrowArray<char> text;  // zero-terminated strings, each once; offset 0 is the empty string
};

// Adds the records of one process, mapped at `file` (`bytes` long), to `into`. Every index is
// checked, so a file of a killed process, or a damaged one, is read as far as it goes.
// Returns false when the bytes are no record file of this version, or when memory ran out; `into`
// is unchanged then.
bool add_record_file(Merged* into, const void* file, size_t bytes);

// Joins `from` into `into`, in time linear in the nodes of both. False when memory ran out; `into`
// is unchanged then.
bool join(Merged* into, const Merged& from);

// The bytes of `merged`, as described above. False when memory ran out.
bool serialize(const Merged& merged, GrowArray<char>* out);

// The reverse; every count and index is checked. False on malformed bytes or when memory ran out;
// `out` is unchanged then.
bool deserialize(const void* bytes, size_t size, Merged* out);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGED_H_
