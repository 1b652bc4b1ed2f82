// Finds ranks and threads that nobody can release, because they wait for each other or for ranks
// that have gone. Pure arithmetic over one reading; the caller makes sure that nothing moves.
#ifndef DWELL_REPORT_LIVE_BLOCKED_RANKS_H_
#define DWELL_REPORT_LIVE_BLOCKED_RANKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace dwell {

// Whom a rank waits for. A collective needs all its members; any sender will do for a receive of
// MPI_ANY_SOURCE. Of a wait over several requests it is not known which of them are still missing:
// at least one is (kAny), and those in `sure` are.
enum class Needs : uint8_t { kAll, kAny };
struct WaitsFor {
    Needs needs = Needs::kAll;
    std::vector<uint32_t> ranks;
    std::vector<uint32_t> sure = {};  // some of `ranks`, each of which is needed whatever `needs`
    std::vector<uint32_t> threads = {};  // of the own rank: all of them are needed
};

// The ranks of `waits` that cannot go on, whatever the others do. Ranks that are not in `waits` go
// on, except those in `gone`, which have left MPI for good. `threads` is not used.
std::set<uint32_t> stuck_ranks(const std::map<uint32_t, WaitsFor>& waits,
                               const std::set<uint32_t>& gone);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_BLOCKED_RANKS_H_
