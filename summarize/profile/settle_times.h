// Whose time is whose, when some nodes were measured by probes and others are known only from the
// intervals between communication statements. Keeps rule 5 of DESIGN 5 exactly, in nanoseconds.
//
// What a probe measured stands. A node without probes has the intervals booked on it, less the part
// of them that probes below it measured; what probes measured outside of their intervals comes from
// it, too. Never less than nothing: what a node cannot give, the node above it gives. What is then
// a node's own is divided among the nodes below it as the samples in it were.
#ifndef DWELL_SUMMARIZE_PROFILE_SETTLE_TIMES_H_
#define DWELL_SUMMARIZE_PROFILE_SETTLE_TIMES_H_

#include <cstdint>
#include <vector>

#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile.h"

namespace dwell {

struct NodeTime {
    uint64_t measured_ns = 0;  // communication, and what a probe measured; inclusive
    uint64_t booked_ns = 0;    // intervals
    uint64_t waiting_ns = 0;   // of what was measured: own time that is no computation
    uint64_t own_ns = 0;       // result: computation in the node itself
    uint64_t total_ns = 0;     // result: inclusive
};

// Places where the parts took longer than the probe around them said, though all of it was timed.
struct Overcount {
    uint64_t count = 0;
    uint64_t ns = 0;
};

class TimeSettler {
  public:
    // `nodes`: parents stand before their children. `inside`: by node, may be shorter.
    TimeSettler(const std::vector<ProfileNode>& nodes, const std::vector<SampledShares>& inside);

    // `times` by node; `present`: the nodes that have any, their parents included, ascending.
    void settle(const std::vector<uint32_t>& present, std::vector<NodeTime>* times);

    const Overcount& overcount() const { return overcount_; }

  private:
    struct Sums {
        uint64_t children_ns = 0;
        uint64_t unprobed_ns = 0;      // as if there were no probes: communication and intervals
        uint64_t movable_ns = 0;       // estimated computation up to the next probes below
        uint64_t cut_ns = 0;           // of it, to be taken away
        uint64_t movable_left_ns = 0;  // while it is taken from the children one by one
        uint64_t cut_left_ns = 0;
    };
    void settle_probe(uint32_t index, NodeTime* time);
    void settle_estimate(uint32_t index, NodeTime* time);
    void take_cut(uint32_t index, std::vector<NodeTime>* times);
    void divide(uint32_t index, std::vector<NodeTime>* times) const;

    const std::vector<ProfileNode>& nodes_;
    const std::vector<SampledShares>& inside_;
    std::vector<Sums> sums_;
    Overcount overcount_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_SETTLE_TIMES_H_
