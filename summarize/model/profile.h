// The profile: the merged result of one run, with every address resolved to function, file and line
// (DESIGN 1, 2). Every writer (text, JSON, CSV, PICL) depends on the profile alone. build_profile
// makes it; read_profile_json reads it from profile.json. All times are nanoseconds.
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
    kLabelFolded = 2,     // stands for the paths beyond the limit of nodes
    kLabelNoLine = 4,     // no debug information: a procedure's symbol, a statement's offset
    kLabelTailCall = 8,   // the statement is a jump; line found from call-site entries
    // The statement is a jump whose line is not unique, and has the caller's line; or the file may
    // differ from the one that ran (no build-id).
    kLabelLineUnknown = 16,
    // A procedure that the compiler inlined: no call enters it.
    kLabelInlined = 32,
    // Of nodes made by probes:
    kLabelProbed = 256,       // time and count are measured
    kLabelReduced = 512,      // some entries were counted without time, to save cost or on request
    kLabelCounted = 1024,     // all entries were counted without time
    kLabelRecursive = 2048,   // some entries were recursive: they are counted, their time is part
                              // of the outer entry's
    kLabelAbandoned = 4096,   // some entries ended by an exception, longjmp or exit
    kLabelPhase = 8192,       // block: a phase, each entry one iteration
    kLabelMoreFiles = 16384,  // I/O: on further files besides the named one
    kLabelAtLeast = 32768,    // an unknown number of entries was not counted
    kLabelGuessed = 65536,    // loop: each entry may have one iteration more or less
    // Of a procedure: most of its computation was done in it, or after it had returned and before
    // it was called again.
    kLabelOrAfter = 131072,
    kLabelCallersUnknown = 262144,  // sampled, with unknown callers
    // Of a procedure: in a library of the system or of a compiler that neither calls MPI nor has
    // probes, or from a header of one. A report that names a single procedure names its caller
    // instead.
    kLabelSystem = 524288,
};

// The iteration numbers that the program gave to a phase.
struct PhaseNumbers {
    bool known = false;
    uint64_t first = 0;
    uint64_t last = 0;         // of the rank with the highest number
    uint64_t last_behind = 0;  // of the rank with the lowest last number, and that rank
    uint32_t rank_behind = 0;
};

// A node of the merged tree: node 0 is the program. Below it procedures, call statements and
// communication statements alternate; code compiled with probes adds loops, blocks and markers.
// Children are sorted by inclusive time, largest first.
struct ProfileNode {
    SiteKind kind = SiteKind::kNone;
    uint32_t labels = 0;
    uint16_t call = 0;  // MpiCall number, IoCall or OmpConstruct, by its kind
    std::string name;   // program, demangled procedure, callee of a call statement, MPI function,
                        // function that reads or writes, "loop", block, marker, OpenMP construct
    // As in the debug information. For a statement without a line (kLabelNoLine): symbol+0xoffset
    // or module+0xoffset; for a procedure without debug information: empty.
    std::string file;
    int line = 0;        // 0 when unknown; of a procedure, loop or block: its first line
    std::string module;  // path of the binary or library, where nothing else is known
    uint32_t parent = kNoNode;
    std::vector<uint32_t> children;
    // Communication nodes: as merged. Others: time_ns is inclusive, computation_ns plus the
    // children's; sync, blocked, bytes, OpenMP waiting and idle time are the children's sums. With
    // kLabelProbed count and time are measured, and calls of such procedures have their count;
    // otherwise count is 0, not counted.
    Totals totals{};
    uint64_t computation_ns = 0;  // in the node itself (DESIGN 5.5: exclusive time); of OpenMP
                                  // nodes including their waiting
    uint64_t samples = 0;         // samples in this node's own computation
    uint32_t ranks = 0;           // ranks that have this node
    uint64_t rank_min_ns = 0;     // least and greatest inclusive time of a rank that has the node
    uint64_t rank_max_ns = 0;
    uint32_t rank_min = 0;
    uint32_t rank_max = 0;
    std::vector<uint64_t> messages;  // size histogram, kSizeBuckets long, or empty
    PhaseNumbers phase;
    std::string io_file;  // I/O: the file with most bytes, or empty
};

// Inclusive figures of one thread of one rank at one node; none when the job is over the row limit.
struct ProfileRow {
    uint32_t node = 0;
    uint32_t rank = 0;
    uint32_t thread = 0;
    Totals totals{};
    uint64_t computation_ns = 0;
};

// A thread record, used by one thread, or by several one after the other. Those of a rank are
// numbered from 0; none when the job is over the row limit.
struct ProfileThread {
    uint32_t rank = 0;
    uint32_t thread = 0;
    uint32_t served = 0;  // threads that used the record
    std::string name;     // ends with * where those threads had different names
};

struct SampledLine {
    std::string function;
    std::string file;
    int line = 0;
    uint64_t samples = 0;
    uint32_t node = 0;    // the procedure that contains the sampled line
    bool system = false;  // as kLabelSystem
};

// Computation between two communication statements.
struct ProfileInterval {
    uint32_t from = kNoNode;  // communication node left; kNoNode: start of the thread
    uint32_t to = 0;          // communication node reached
    // The node that the computation is attributed to (docs/attribution.md): the innermost
    // procedure, loop or block in which probes measured most of it; else the innermost procedure
    // that was active through all of it.
    uint32_t booked_on = 0;
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t min_ns = 0;
    uint64_t max_ns = 0;
    std::vector<SampledLine> lines;  // most samples first
    bool or_after = false;           // the owner may have returned and been called again meanwhile
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

// A rank that a communication node waited for, and the activity of that rank meanwhile.
struct ProfilePartner {
    uint32_t node = 0;
    uint32_t peer = kNoPeer;      // world and rank; kNoPeer: all ranks without an entry of their
                                  // own
    uint32_t interval = kNoNode;  // index into intervals, kNoNode: unknown
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t max_ns = 0;        // of one wait
    uint64_t passed_on_ns = 0;  // part of time_ns: indirect waiting, that rank had waited itself
    uint64_t lost_ns = 0;       // of the kNoPeer entry: upper bound of the part of any single rank
};

// A root cause of waiting: the computation of one rank.
struct ProfileCause {
    uint32_t interval = kNoNode;  // as in ProfilePartner
    uint32_t peer = kNoPeer;      // as in ProfilePartner
    uint64_t count = 0;
    uint64_t time_ns = 0;       // waiting time of all other ranks together
    uint64_t passed_on_ns = 0;  // part of time_ns: indirect, through ranks that waited themselves
    uint64_t lost_ns = 0;       // as in ProfilePartner
};

// How one rank's computations of 1 ms and more in one interval lost time. Each interval has the
// ranks that lost most.
struct ProfileStall {
    uint32_t interval = kNoNode;
    uint32_t rank = 0;
    uint32_t io_node = kNoNode;  // the I/O statement that took most of io_ns
    uint64_t count = 0;
    uint64_t time_ns = 0;    // duration of these computations
    uint64_t io_ns = 0;      // in I/O statements
    uint64_t asleep_ns = 0;  // neither running nor waiting for a processor
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
    uint32_t processors = 0;  // processors on which it may run; 0: not known
    uint32_t first_processor = 0;
    int64_t start_unix_ns = 0;
    uint64_t real_ns = 0;
    uint64_t intrusion_ns = 0;  // real minus virtual time, without pauses
    uint64_t own_ns = 0;        // the cost of dwell itself
    uint64_t injected_ns = 0;   // delays added on purpose
    uint64_t paused_ns = 0;
    double call_cost_ns = 0;
    uint64_t record_bytes = 0;
    uint64_t samples = 0;
    uint64_t samples_in_calls = 0;
    uint64_t samples_lost = 0;
    uint64_t folded_paths = 0;
    uint64_t process_thread = 0;  // number of the thread that lived as long as the process; not in
                                  // JSON
    uint64_t io_unobserved = 0;   // I/O calls that could not be recorded
    uint64_t files_unnamed = 0;   // uses of a file whose name found no room
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
    uint64_t queued_call_ns = 0;  // and in the transfer of calls of that length
    uint64_t stalls_dropped = 0;  // such computations without a record
    uint64_t usage_ns = 0;        // the part of real_ns, from the start on, that `usage` covers; 0:
                                  // not known
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

// A process grid, as its ranks describe it. Two with one name contradict each other, unless
// MPI_Cart_create made them.
struct ProfileGrid {
    std::string name;
    bool by_mpi = false;
    std::vector<int32_t> sizes;
    std::vector<bool> periodic;
    uint32_t ranks = 0;                // ranks with this description
    std::vector<ProfilePlace> places;  // by rank; empty over the row limit
};

// A procedure or loop that dwell's compilers left without probes.
struct LeftOutSite {
    SiteKind kind = SiteKind::kNone;
    std::string name;
    std::string file;
    int line = 0;
    std::string reason;
};

// Counts from the static tables of the job's programs and libraries. All zero when there are no
// tables.
struct ProfileSites {
    uint64_t procedures = 0;
    uint64_t procedures_probed = 0;
    uint64_t loops = 0;
    uint64_t loops_probed = 0;
    std::vector<LeftOutSite> left_out;  // procedures first
};

// Metrics counted at one node: over all ranks, or of one thread of one rank. In the order of
// ProfileMetrics::names.
struct ProfileCounts {
    uint32_t node = 0;
    uint32_t rank = 0;  // of rows
    uint32_t thread = 0;
    // The entries at which metrics were read, and their time. Counts of other entries are part of
    // the enclosing node. 0 for nodes without probes: their counts come from the statements in
    // them.
    uint64_t entries = 0;
    uint64_t time_ns = 0;
    std::vector<uint64_t> own;        // in the node itself
    std::vector<uint64_t> inclusive;  // own and the children's
};

// Hardware and software counts (`dwell run --metrics`); no names when there were none.
struct ProfileMetrics {
    std::vector<std::string> names;
    std::vector<std::string> missing;  // requested, but not available on some rank
    uint64_t unwatched_threads = 0;    // threads not counted: started too fast,
    uint64_t no_room_threads = 0;      // left without free descriptors for their counters,
    uint64_t lost_threads = 0;         // or whose counters the program closed,
    uint64_t lost_ns = 0;              // the first at this time after the start of its process
    uint64_t left_out = 0;  // entries that were not read, to keep the cost at 1 % of the time
    uint64_t read_ns = 0;   // cost of a reading
    uint64_t least_ns = 0;  // nodes with a shorter mean time are not read
    std::vector<ProfileCounts> nodes;  // by node; nodes with counts of their own or below them
    std::vector<ProfileCounts> rows;   // by rank, thread and node; empty over the row limit
};

// A part of the run, as seen over ranks.
struct ProfileBin {
    uint64_t number = 0;       // from the first bin on
    uint32_t ranks = 0;        // that were observed in it
    uint32_t phase = kNoNode;  // the phase that took most of it; kNoNode: none
    AxisFigures sum{};
    AxisFigures least{};  // of one of these ranks
    AxisFigures most{};
};
// The same bins of one rank.
struct ProfileBinRow {
    uint64_t number = 0;
    uint32_t rank = 0;
    AxisFigures figures{};
};
// The run over time, on the virtual clock. Bins without any rank are left out.
struct ProfileAxis {
    int64_t start_unix_ns = 0;  // of bin 0
    uint64_t width_ns = 0;      // of a bin, a power of two; 0: no axis
    uint64_t missing_threads = 0;
    std::vector<ProfileBin> bins;
    std::vector<ProfileBinRow> rows;  // by rank and number; empty over the row limit
};

struct Profile {
    std::string job;
    uint32_t world_size = 0;
    uint32_t merged_flags = 0;  // MergedFlags
    // Used by the notes only.
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
    std::vector<ProfileGrid> grids;          // grids of the program first, then by number of ranks
    std::vector<ProfilePartner> partners;    // most time first
    std::vector<ProfileCause> causes;        // most time first
    std::vector<ProfileStall> stalls;        // most time first
    ProfileAxis axis;
    ProfileSites sites;
    ProfileMetrics metrics;
    std::string ending;       // where the ranks were that did not reach their end; empty: all did
    std::string watchdog;     // what `dwell run --watchdog` said while nothing moved, lines
    std::string last_events;  // of ranks that did not reach their end, lines
    std::vector<std::string> notes;  // limits of the trust in these figures, one line each

    // Sums over ranks (and threads), nanoseconds: computation + transfer + blocked + I/O + omp_wait
    // + omp_idle + paused = total. Blocked is all waiting, sync its measured part.
    uint64_t total_ns = 0;
    uint64_t computation_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t sync_ns = 0;
    uint64_t omp_wait_ns = 0;  // OpenMP threads waiting for each other, inside constructs
    uint64_t omp_idle_ns = 0;  // outside of regions
    uint64_t io_ns = 0;
    uint64_t paused_ns = 0;
};

// Resolves and arranges `merged`. Never fails: an address that cannot be resolved keeps its symbol
// or offset and gets a label. Reads debug information from the file system; takes about 1 ms for
// each module and 10 microseconds for each address.
Profile build_profile(const Merged& merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_PROFILE_H_
