// The samples of each rank and thread, because a rank's computation in an interval may differ from
// that of other ranks.
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

// The samples of one thread at one sample node; or at an interval node, for time in which the
// thread slept.
struct RankSample {
    uint32_t rank = 0;
    uint32_t thread = 0;
    uint32_t sample = 0;    // merged node; equal to `interval` for sleep
    uint32_t interval = 0;  // merged node
    uint32_t node = 0;      // node of the profile in which it was taken
    uint64_t count = 0;
    bool or_after = false;  // `node` may have returned meanwhile: see ProfileInterval
};

// Divides the computation of merged intervals among nodes: at first by the samples of all ranks;
// for one thread by its own samples, where there are enough.
struct Division {
    std::vector<SampledShares> of_interval;  // by merged interval node
    std::vector<SampledShares> inside;       // by node of the profile: shares of its own time
    // By merged interval node: the measured node that the whole interval is attributed to, and
    // which divides its time with the nodes measured below it (`inside`). kNoNode where no probe
    // measured.
    std::vector<uint32_t> around;
    // By node of the profile: most of its entries had no time, so its probes are no measurement.
    std::vector<bool> unmeasured;
    std::vector<RankSample> samples;  // sorted by rank and thread

    // The node that divides its own time with `node`, in an interval attributed to `outermost`: the
    // innermost measured one, or `outermost`.
    uint32_t divided_by(uint32_t node, uint32_t outermost,
                        const std::vector<ProfileNode>& nodes) const;
};

// While it exists, the shares of one thread's samples replace those of all ranks.
class ThreadDivision {
  public:
    ThreadDivision(Division* division, const std::vector<ProfileNode>& nodes)
        : division_(division), nodes_(nodes) {}
    // Call with threads in ascending order.
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
