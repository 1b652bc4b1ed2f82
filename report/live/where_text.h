// `dwell where` as text: what keeps the job, then where its ranks are.
#ifndef DWELL_REPORT_LIVE_WHERE_TEXT_H_
#define DWELL_REPORT_LIVE_WHERE_TEXT_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/console/cli.h"
#include "report/live/positions.h"

namespace dwell {

using Who = std::set<std::pair<uint32_t, uint32_t>>;  // rank and thread
// "ranks 0,3-17"; "rank 0 threads 1-3"; "ranks 0-3, 12 threads".
std::string who_text(const Who& who);

// "in relax heat.c:12, after MPI_Recv heat.c:30"; empty where nothing is known.
std::string where_it_is(const Position& position);

// Threads in the same statement, for the same partner.
struct Group {
    std::string where;
    std::string needed;  // empty: not known, or nobody
    Who who;
};
// Of the chosen indices in Positions::threads. The smallest group first: where most ranks are is
// the scene, seldom the cause.
std::vector<Group> groups_of(const Positions& positions, const std::vector<size_t>& chosen);
// With a capital letter.
std::string begin_sentence(std::string text);
// Indices in Positions::threads that cannot go on, where it is known for whom they wait; `ranks`
// gets their ranks that cannot go on as a whole.
std::vector<size_t> stuck_threads(const Positions& positions, std::set<uint32_t>* ranks);
// "rank 2 waits for rank 0 in MPI_Recv hang.c:8".
std::string sentence_of(const Group& group);

// `now_ns`: the time of the reading. Where nothing has moved meanwhile, ranks that cannot go on are
// named first.
std::string where_text(const Positions& positions, int64_t now_ns, const WhereOptions& options);

// One object with an array of threads.
std::string where_json(const Positions& positions, int64_t now_ns);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_WHERE_TEXT_H_
