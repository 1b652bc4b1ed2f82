// Which samples fell on which rank and thread: what it computed in an interval may differ from what
// the others did.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_RANK_SAMPLES_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_RANK_SAMPLES_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "summarize/attribution/sampled_shares.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

// One sample node, on one thread. Or an interval, where the thread slept and was not sampled.
struct RankSample {
    uint32_t rank = 0;
    uint32_t thread = 0;
    uint32_t sample = 0;    // merged node, `interval` for sleep
    uint32_t interval = 0;  // merged node
    uint32_t node = 0;      // of the profile: where it was taken
    uint64_t count = 0;
    bool or_after = false;  // `node` may have returned meanwhile: see ProfileInterval
};

// Where the computation of merged intervals is: at first as the samples of all ranks say, and of
// one thread as its own ones do, where these are enough to tell.
struct Division {
    std::vector<SampledShares> of_interval;  // by merged interval node
    std::vector<SampledShares> inside;       // by node of the profile: of its own time
    // By merged interval node: where probes measured, the node that all of it is booked on and that
    // divides it with what was measured below (`inside`); else kNoNode.
    std::vector<uint32_t> around;
    std::vector<RankSample> samples;  // sorted by rank and thread
};

// Which node divides its own time with `node`, in an interval that is booked on `around`: the
// innermost measured one, or `around`.
uint32_t divided_by(uint32_t node, uint32_t around, const std::vector<ProfileNode>& nodes);

// Puts the shares of one thread's samples in place of those of all ranks while it exists.
class ThreadDivision {
  public:
    ThreadDivision(Division* division, const std::vector<ProfileNode>& nodes)
        : division_(division), nodes_(nodes) {}
    // Threads in ascending order.
    void begin(uint32_t rank, uint32_t thread);
    void end();

  private:
    void replace(std::vector<SampledShares>* shares, const std::map<uint32_t, SampledShares>& own);

    Division* division_;
    const std::vector<ProfileNode>& nodes_;
    size_t next_ = 0;
    std::vector<std::pair<SampledShares*, SampledShares>> replaced_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_RANK_SAMPLES_H_
