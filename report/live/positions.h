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
#include "summarize/merge/merged.h"

namespace dwell {

struct Position {
    uint32_t rank = 0;
    uint32_t thread = 0;
    int32_t pid = 0;
    int32_t tid = 0;
    char state = '\0';  // as the kernel says (proc(5)); 0: there is no such thread any more
    bool is_in_call = false;
    bool moved = false;  // since the reading before
    int64_t since_unix_ns = 0;
    int64_t end_unix_ns = 0;  // of a process that has ended: when, else 0
    std::vector<std::string>
        path;             // "main", "step heat.c:30", "MPI_Recv heat.c:8": outermost first
    std::string last;     // outside of MPI: the MPI line that was left last
    std::string partner;  // "rank 0, tag 7"; "rank 2, which has not come"; often empty
    WaitsFor waits;
};

struct Positions {
    std::vector<Position> threads;  // by rank and thread
    std::set<uint32_t> gone;        // ranks whose process has ended or left MPI
    uint32_t world_size = 0;
    std::string program;
    std::string host;
    int64_t start_unix_ns = 0;
};

// `before`: an earlier reading of the same job, or null.
Positions positions_of(const Merged& merged, const Positions* before);

// "rank 2", "ranks 0,1,3-5".
std::string ranks_text(const std::set<uint32_t>& ranks);

// Of the first thread of each rank.
std::map<uint32_t, WaitsFor> waits_of(const Positions& positions);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_POSITIONS_H_
