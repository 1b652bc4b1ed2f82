// Intervals of computation by rank. A rank that delayed others may have computed something else in
// an interval than most ranks. Its part then becomes an interval of its own, named by the procedure
// that made the rank late: the procedure with most of the rank's computation beyond the mean of the
// others, where that explains the waiting; else the procedure with most of its time there.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_RANK_INTERVALS_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_RANK_INTERVALS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "summarize/attribution/measured_owner.h"
#include "summarize/attribution/rank_samples.h"
#include "summarize/attribution/wait_paths.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

class RankIntervals {
  public:
    // `numbers`: index into the profile's intervals, by merged interval node. `possible`: by that
    // index. The rows of `profile` must be filled.
    void divide(const Merged& merged, const WaitPaths& paths, const std::vector<uint32_t>& numbers,
                const std::vector<PossibleNodes>& possible, const std::vector<RankSample>& samples,
                Profile* profile);

    // The interval that replaces interval `number` on a rank.
    uint32_t on_rank(uint32_t number, uint32_t rank) const {
        const auto own = own_.find({number, rank});
        return own != own_.end() ? own->second : number;
    }

    // Whether that interval is named by what its ranks computed beyond the mean of the others.
    bool is_by_surplus(uint32_t number) const { return by_surplus_.count(number) != 0; }

  private:
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> own_;
    std::set<uint32_t> by_surplus_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_RANK_INTERVALS_H_
