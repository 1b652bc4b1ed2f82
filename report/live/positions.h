// Where every thread of a job is: the source path to the statement or procedure it is in, since
// when, and for whom it waits.
#ifndef DWELL_REPORT_LIVE_POSITIONS_H_
#define DWELL_REPORT_LIVE_POSITIONS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/live/blocked_ranks.h"
#include "report/live/path_texts.h"
#include "summarize/attribution/call_paths.h"
#include "summarize/merge/merged.h"
#include "summarize/symbols/lines.h"

namespace dwell {

// The state of a thread whose process cannot be seen from here: it belongs to another namespace of
// process ids.
constexpr char kNotVisible = '?';

constexpr size_t kRequestsNamed = 8;

struct SampledPlace {
    std::string place;  // "solve.c:12"
    uint32_t samples = 0;
};

// To or from a rank that is known.
struct AwaitedMessage {
    bool is_send = false;
    bool is_request = false;
    uint32_t partner = 0;
    int32_t tag = 0;
    uint64_t comm = 0;  // its id; 0: not known
    std::string text;   // "rank 0, tag 7"
};

struct Position {
    uint32_t rank = 0;
    uint32_t thread = 0;
    int32_t pid = 0;
    int32_t tid = 0;
    // As the kernel says (proc(5)), or kNotVisible; 0: there is no such thread any more.
    char state = '\0';
    bool is_in_call = false;
    bool in_openmp = false;      // waits in OpenMP: at a barrier, for a lock, for work
    bool at_barrier = false;     // of OpenMP
    bool at_region_end = false;  // in the barrier of an OpenMP region's end
    bool paused = false;         // recording is switched off: what it does now is not known
    bool moved = false;          // since the reading before
    int64_t since_unix_ns = 0;
    int64_t end_unix_ns = 0;  // of a process that has ended: when, else 0
    // "main", "step heat.c:30", "MPI_Recv heat.c:8": outermost first.
    std::vector<std::string> path;
    std::string last;               // outside of MPI: the MPI line that was left last
    std::string partner;            // "rank 0, tag 7"; "rank 2, which has not come"; often empty
    bool waits_for_holder = false;  // of a lock, which `partner` names
    std::vector<std::string> requests;  // of a wait, or a test that was left last: pending ones,
                                        // at most kRequestsNamed
    uint32_t pending = 0;               // all of them that are known
    // It goes on when all of these have come or gone; empty where it may go on without one.
    std::vector<AwaitedMessage> messages;
    std::string finding;                // what the records say about its message; often empty
    std::string system_call;            // what it does in the kernel; often empty
    std::vector<SampledPlace> samples;  // where it computed in the last second; most samples first
    WaitsFor waits;
};

inline bool is_stopped(const Position& one) { return one.state == 'T' || one.state == 't'; }
inline bool is_asleep(const Position& one) { return one.state == 'S' || one.state == 'D'; }

struct Positions {
    std::vector<Position> threads;  // by rank and thread
    std::set<uint32_t> gone;        // ranks whose process has ended or left MPI
    std::set<uint32_t> incomplete;  // ranks of whose requests not all are known
    uint32_t world_size = 0;
    std::string program;  // its name for people
    std::string host;
    int64_t start_unix_ns = 0;
    std::map<std::string, int64_t> snapshot_age_ns;  // by host; none: read as it is now
    int64_t still_ns = 0;  // how long there was no progress, where it is known (progress.h)
};

// `before`: an earlier reading of the same job, or null. `lines` keeps what it has resolved, for
// the next reading.
Positions positions_of(const Merged& merged, const Positions* before, KnownLines* lines = nullptr);
// The same with the call paths of `merged`, made before with `lines`.
Positions positions_of(const Merged& merged, const Positions* before, KnownLines* lines,
                       CallPaths* paths);
// Of a job that has made no progress for that long: who polls waits.
Positions positions_without_progress(const Merged& merged, int64_t still_ns);

// "rank 2", "ranks 0,1,3-5".
std::string ranks_text(const std::set<uint32_t>& ranks);
// "2", "0,1,3-5".
std::string numbers_text(const std::set<uint32_t>& numbers);

// "node1", "2 hosts".
std::string hosts_text(const std::set<std::string>& hosts);
// "; rank 3 has ended"; empty without one.
std::string ended_text(const std::set<uint32_t>& ranks);
// Of the snapshots that were read; 0: none.
int64_t oldest_snapshot_ns(const Positions& positions);

// Whom ranks wait for, by rank, and threads of ranks with several of them, by thread_key().
std::map<uint32_t, WaitsFor> waits_of(const Positions& positions);
constexpr uint32_t kFirstThreadKey = 1u << 31;
// Of the index-th thread in Positions::threads.
inline uint32_t thread_key(size_t index) { return kFirstThreadKey + static_cast<uint32_t>(index); }

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_POSITIONS_H_
