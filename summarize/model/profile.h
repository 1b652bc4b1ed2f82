// The profile: the merged result of one run with every address turned into function, file and line
// (DESIGN 1, 2). Every writer (text, JSON, CSV, PICL) is a function of it and of nothing else.
// Built by build_profile; read back from profile.json by read_profile_json. All times are
// nanoseconds.
#ifndef DWELL_SUMMARIZE_MODEL_PROFILE_H_
#define DWELL_SUMMARIZE_MODEL_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/merged.h"

namespace dwell {

enum ProfileLabel : uint32_t {
    kLabelEstimated = 1,  // time of a procedure or call without probes: from intervals
    kLabelFolded = 2,     // stands for paths that no longer fitted
    kLabelNoLine = 4,     // no debug information: a procedure's symbol, a statement's offset
    kLabelTailCall = 8,   // the statement is a jump; line found from call-site entries
    // The statement is a jump and its line is not unique: line of the caller; or the file may be
    // another one than that which ran (no build-id).
    kLabelLineUnknown = 16,
    // A procedure that the compiler put into the one around it: not entered by a call.
    kLabelInlined = 32,
    // Of nodes made by probes:
    kLabelProbed = 256,       // time and count are measured
    kLabelReduced = 512,      // some entries were counted without time, to save cost or as wished
    kLabelCounted = 1024,     // all were
    kLabelRecursive = 2048,   // some entries were inside another one: counted, their time is its
    kLabelAbandoned = 4096,   // some were left by an exception, longjmp or exit
    kLabelPhase = 8192,       // block: a phase, each entry one iteration
    kLabelMoreFiles = 16384,  // I/O: on more files than the one that is named
    kLabelAtLeast = 32768,    // others were not counted: how many, is unknown
    kLabelGuessed = 65536,    // loop: each entry may have one iteration more or less
    // Of a procedure: most of its computation was done in it, or after it had returned and before
    // it was entered again.
    kLabelOrAfter = 131072,
    kLabelCallersUnknown = 262144,  // sampled; from where it was called is not known
    // Of a procedure: in a library of the system or of a compiler that neither calls MPI nor has
    // probes, or of a header of theirs. Where one procedure is named, it counts for its caller.
    kLabelSystem = 524288,
};

// The iteration numbers that the program gave to a phase.
struct PhaseNumbers {
    bool known = false;
    uint64_t first = 0;
    uint64_t last = 0;         // of the rank that came furthest
    uint64_t last_behind = 0;  // of the one that is furthest behind, and which that is
    uint32_t rank_behind = 0;
};

// A place in the merged tree: node 0 is the program; below it alternate procedures, call statements
// and communication statements, and in what was compiled with probes loops, blocks and markers.
// Children are sorted by inclusive time, largest first.
struct ProfileNode {
    SiteKind kind = SiteKind::kNone;
    uint32_t labels = 0;
    uint16_t call = 0;  // MpiCall number, IoCall or OmpConstruct, by its kind
    std::string name;   // program, demangled procedure, callee of a call statement, MPI function,
                        // function that reads or writes, "loop", block, marker, OpenMP construct
    // As the debug information has it. Of a statement without a line (kLabelNoLine): its place,
    // symbol+0xoffset or module+0xoffset; of a procedure without debug information: empty.
    std::string file;
    int line = 0;        // 0 when unknown; of a procedure, loop or block: its first line
    std::string module;  // path of the binary or library, where that is all that is known
    uint32_t parent = kNoNode;
    std::vector<uint32_t> children;
    // Communication nodes: as merged. Others: time_ns inclusive = computation_ns + the children's,
    // and the children's sums of sync, blocked, bytes, OpenMP waiting and idle time. With
    // kLabelProbed count and time are measured, and calls of such procedures have their count; else
    // count 0, not counted.
    Totals totals{};
    uint64_t computation_ns = 0;  // in the node itself (DESIGN 5.5: exclusive time); of OpenMP
                                  // nodes with what they wait
    uint64_t samples = 0;         // samples in this node's own computation
    uint32_t ranks = 0;           // ranks that have this node
    uint64_t rank_min_ns = 0;     // least and largest inclusive time of one rank that has it
    uint64_t rank_max_ns = 0;
    uint32_t rank_min = 0;
    uint32_t rank_max = 0;
    std::vector<uint64_t> messages;  // size histogram, kSizeBuckets long, or empty
    PhaseNumbers phase;
    std::string io_file;  // I/O: the file with most bytes, or empty
};

// Inclusive figures of one thread of one rank at one node; empty when the job is over the row
// limit.
struct ProfileRow {
    uint32_t node = 0;
    uint32_t rank = 0;
    uint32_t thread = 0;
    Totals totals{};
    uint64_t computation_ns = 0;
};

// A record of threads: one, or several one after the other. Those of a rank are numbered from 0;
// empty when the job is over the row limit.
struct ProfileThread {
    uint32_t rank = 0;
    uint32_t thread = 0;
    uint32_t served = 0;  // threads that used it
    std::string name;     // with a * at its end where those had different ones
};

struct SampledLine {
    std::string function;
    std::string file;
    int line = 0;
    uint64_t samples = 0;
    uint32_t node = 0;    // the procedure whose computation it is part of
    bool system = false;  // as kLabelSystem
};

// Computation between two communication statements.
struct ProfileInterval {
    uint32_t from = kNoNode;  // communication node left; kNoNode: start of the thread
    uint32_t to = 0;          // communication node reached
    // Node that owns this computation (docs/attribution.md): the innermost procedure, loop or block
    // that probes measured most of it in; else the innermost procedure whose activation lived
    // through it.
    uint32_t booked_on = 0;
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t min_ns = 0;
    uint64_t max_ns = 0;
    std::vector<SampledLine> lines;  // most samples first
    bool or_after = false;           // or the owner returned meanwhile, and was entered again
};

struct ProfilePeer {
    uint32_t node = 0;
    uint32_t rank = 0;
    uint32_t peer = 0;  // world and rank, see record_layout.h
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t sync_ns = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
    uint64_t min_ns = 0;
    uint64_t max_ns = 0;
};

// Whom a communication node waited for, and what that rank was doing meanwhile.
struct ProfilePartner {
    uint32_t node = 0;
    uint32_t peer = kNoPeer;      // world and rank; kNoPeer: all those not told apart
    uint32_t interval = kNoNode;  // index into intervals, kNoNode: not known
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t max_ns = 0;        // of one wait
    uint64_t passed_on_ns = 0;  // of time_ns: that rank had been made to wait itself
    uint64_t lost_ns = 0;       // of those not told apart: no single one holds more of it than this
};

// What made other ranks wait: the computation of a rank.
struct ProfileCause {
    uint32_t interval = kNoNode;  // as above
    uint32_t peer = kNoPeer;      // as above
    uint64_t count = 0;
    uint64_t time_ns = 0;       // that others waited, sum over all of them
    uint64_t passed_on_ns = 0;  // of time_ns: through ranks that were made to wait themselves
    uint64_t lost_ns = 0;       // as above
};

// What the computations of one rank that took 1 ms and more were besides computation, of one
// interval. Of an interval those ranks that have most of that.
struct ProfileStall {
    uint32_t interval = kNoNode;
    uint32_t rank = 0;
    uint32_t io_node = kNoNode;  // the I/O statement that took most of io_ns
    uint64_t count = 0;
    uint64_t time_ns = 0;    // all of it
    uint64_t io_ns = 0;      // in I/O statements
    uint64_t asleep_ns = 0;  // not on a processor, nor waiting for one
    uint64_t queued_ns = 0;  // waiting for a processor
    uint64_t kernel_ns = 0;  // on a processor, in the kernel
};

struct ProfileRank {
    uint32_t rank = 0;
    int pid = 0;
    std::string host;
    std::string program;
    std::string command;
    FileState state = FileState::kFinalized;
    uint32_t flags = 0;  // FileFlags
    int exit_code = 0;   // of MPI_Abort
    uint32_t threads = 0;
    uint32_t sample_hz = 0;
    uint32_t callpath_depth = 0;
    uint32_t processors = 0;  // on which it may run; 0: not known
    uint32_t first_processor = 0;
    int64_t start_unix_ns = 0;
    uint64_t real_ns = 0;
    uint64_t intrusion_ns = 0;  // real less virtual time, without pauses
    uint64_t own_ns = 0;        // what dwell itself cost
    uint64_t injected_ns = 0;   // delays added on purpose
    uint64_t paused_ns = 0;
    double call_cost_ns = 0;
    uint64_t record_bytes = 0;
    uint64_t samples = 0;
    uint64_t samples_in_calls = 0;
    uint64_t samples_lost = 0;
    uint64_t folded_paths = 0;
    uint64_t process_thread = 0;  // number of the thread whose life is the process's; not in JSON
    uint64_t io_unobserved = 0;   // I/O calls that could not be recorded
    uint64_t files_unnamed = 0;   // times that a file was met for whose name there was no room
    uint64_t dropped = 0;
    uint64_t guessed = 0;
    uint64_t clock_errors = 0;
    int64_t clock_offset_ns = 0;  // see FileHeader
    int64_t clock_drift_ns = 0;
    uint64_t clock_bound_ns = 0;
    uint64_t order_kept = 0;  // receives of any source, as in ThreadRecord
    uint64_t order_remote = 0;
    uint64_t order_posted = 0;
    uint64_t order_unknown = 0;
    uint64_t queued_ns = 0;       // waited for a processor: in computations of 1 ms and more,
    uint64_t queued_call_ns = 0;  // and, of transfer, in calls of that length
    uint64_t stalls_dropped = 0;  // computations of that length of which no more is kept
    uint64_t usage_ns = 0;        // what of real_ns `usage` is of, from the start on; 0: not known
    ProcessUsage usage{};
    uint64_t threads_served = 0;
    uint64_t probes = 0;
    uint64_t probes_missed = 0;
    uint64_t probes_dropped = 0;
    uint64_t threads_cut = 0;  // as in MergedRank
};

struct ProfilePlace {
    uint32_t rank = 0;
    std::vector<int32_t> coordinates;
};

// A grid of processes, as its ranks describe it. Two of one name contradict each other, unless they
// are communicators of MPI_Cart_create.
struct ProfileGrid {
    std::string name;
    bool by_mpi = false;
    std::vector<int32_t> sizes;
    std::vector<bool> periodic;
    uint32_t ranks = 0;                // that describe it so
    std::vector<ProfilePlace> places;  // by rank; empty over the row limit
};

// A procedure or loop that dwell's compilers gave no probes.
struct LeftOutSite {
    SiteKind kind = SiteKind::kNone;
    std::string name;
    std::string file;
    int line = 0;
    std::string reason;
};

// What the static tables of the job's programs and libraries say. All zero when there are none.
struct ProfileSites {
    uint64_t procedures = 0;
    uint64_t procedures_probed = 0;
    uint64_t loops = 0;
    uint64_t loops_probed = 0;
    std::vector<LeftOutSite> left_out;  // procedures first
};

// What was counted at one node: over all ranks, or of one thread of one rank. In the order of
// ProfileMetrics::names.
struct ProfileCounts {
    uint32_t node = 0;
    uint32_t rank = 0;  // of rows
    uint32_t thread = 0;
    // Entries at which counts were read, and their time. What the others counted is part of what
    // is around them. Of nodes without probes 0: they have what the statements in them tell.
    uint64_t entries = 0;
    uint64_t time_ns = 0;
    std::vector<uint64_t> own;        // in the node itself
    std::vector<uint64_t> inclusive;  // own and the children's
};

// Hardware and software counts (`dwell run --metrics`); no names when there were none.
struct ProfileMetrics {
    std::vector<std::string> names;
    std::vector<std::string> missing;  // asked for, and not to be had on some rank
    uint64_t unwatched_threads = 0;    // that were not counted, as they came too fast,
    uint64_t no_room_threads = 0;      // as their counters would have left few descriptors,
    uint64_t lost_threads = 0;         // any more, as the program closed their counters,
    uint64_t lost_ns = 0;              // the first at that time after its process' start
    uint64_t left_out = 0;  // entries of nodes that were not read, to keep to 1 % of the time
    uint64_t read_ns = 0;   // what a reading costs
    uint64_t least_ns = 0;  // nodes that last less, in the mean, are not read
    std::vector<ProfileCounts> nodes;  // by node, those that have or hold counts
    std::vector<ProfileCounts> rows;   // by rank, thread and node; empty over the row limit
};

struct Profile {
    std::string job;
    uint32_t world_size = 0;
    uint32_t merged_flags = 0;  // MergedFlags
    // For the notes alone.
    uint32_t threads_unsampled = 0;
    uint32_t spawned_unseen = 0;
    std::string version;             // of dwell
    std::vector<ProfileRank> ranks;  // sorted by rank
    std::vector<ProfileNode> nodes;
    std::vector<ProfileRow> rows;
    std::vector<ProfileThread> threads;      // by rank and number
    std::vector<ProfileInterval> intervals;  // longest time first
    std::vector<ProfilePeer> peers;          // most time first
    std::vector<MergedDistance> distances;   // node indices of this profile
    std::vector<ProfileGrid> grids;          // those of the program first, then most ranks
    std::vector<ProfilePartner> partners;    // most time first
    std::vector<ProfileCause> causes;        // most time first
    std::vector<ProfileStall> stalls;        // most time first
    ProfileSites sites;
    ProfileMetrics metrics;
    std::vector<std::string> notes;  // what limits the trust in these figures, one line each

    // Sums over ranks (and threads), nanoseconds: computation + transfer + blocked + I/O + omp_wait
    // + omp_idle + paused = total. Blocked is all waiting, sync what is known of it.
    uint64_t total_ns = 0;
    uint64_t computation_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t sync_ns = 0;
    uint64_t omp_wait_ns = 0;  // of OpenMP's threads for each other, in constructs
    uint64_t omp_idle_ns = 0;  // outside of regions
    uint64_t io_ns = 0;
    uint64_t paused_ns = 0;
};

// Resolves and arranges `merged`. Never fails: what cannot be resolved keeps symbol or offset and
// is labelled. Uses the file system (debug information); takes about 1 ms for each module and 10
// microseconds for each address.
Profile build_profile(const Merged& merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_PROFILE_H_
