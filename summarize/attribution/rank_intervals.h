// Intervals of computation by rank. The ranks that made others wait may have computed something
// else in an interval than most ranks did: what is theirs is an interval of its own then, named by
// the procedure that made the rank late. That is the one with most of what the rank computed beyond
// the mean of the others, where that explains the waiting; else the one that took most of it there.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_RANK_INTERVALS_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_RANK_INTERVALS_H_

#include <cstdint>
#include <map>
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
    // `numbers`: of merged interval nodes, index into the profile's intervals. `possible`: by that
    // index. The profile has its rows.
    void divide(const Merged& merged, const WaitPaths& paths, const std::vector<uint32_t>& numbers,
                const std::vector<PossibleNodes>& possible, const std::vector<RankSample>& samples,
                Profile* profile);

    // What stands for interval `number` on a rank.
    uint32_t on_rank(uint32_t number, uint32_t rank) const {
        const auto own = own_.find({number, rank});
        return own != own_.end() ? own->second : number;
    }

  private:
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> own_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_RANK_INTERVALS_H_
