// Removes ranks that somebody can release until none is left that can go on; see blocked_ranks.h.
#include "report/live/blocked_ranks.h"

#include <algorithm>

namespace dwell {

std::set<uint32_t> stuck_ranks(const std::map<uint32_t, WaitsFor>& waits,
                               const std::set<uint32_t>& gone) {
    std::set<uint32_t> stuck;
    for (const auto& [rank, needed] : waits) {
        if (!needed.ranks.empty()) stuck.insert(rank);
    }
    const auto comes_never = [&](uint32_t rank) {
        return stuck.count(rank) != 0 || gone.count(rank) != 0;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& [rank, needed] : waits) {
            if (stuck.count(rank) == 0) continue;
            const std::vector<uint32_t>& ranks = needed.ranks;
            const bool stays = std::any_of(needed.sure.begin(), needed.sure.end(), comes_never) ||
                               (needed.needs == Needs::kAny
                                    ? std::all_of(ranks.begin(), ranks.end(), comes_never)
                                    : std::any_of(ranks.begin(), ranks.end(), comes_never));
            if (stays) continue;
            // Ranks that wait for it may go on as well: another round finds them.
            stuck.erase(rank);
            changed = true;
        }
    }
    return stuck;
}

}  // namespace dwell
