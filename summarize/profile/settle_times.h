// Divides time between nodes measured by probes and nodes known only from the intervals between
// communication statements. Keeps rule 5 of DESIGN 5 exactly, in nanoseconds.
//
// Measured times are final. A node without probes has the intervals attributed to it, minus the
// part that probes below it measured, and minus what those probes measured outside of their own
// intervals. A node never gets less than zero: the enclosing node covers the rest. The own time of
// a node is then divided among the nodes below it in proportion to the samples.
#ifndef DWELL_SUMMARIZE_PROFILE_SETTLE_TIMES_H_
#define DWELL_SUMMARIZE_PROFILE_SETTLE_TIMES_H_

#include <cstdint>
#include <vector>

#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile.h"

namespace dwell {

struct NodeTime {
    uint64_t measured_ns = 0;  // communication, and time measured by probes; inclusive
    uint64_t booked_ns = 0;    // intervals attributed to the node
    uint64_t waiting_ns = 0;   // part of the measured time: own time that is no computation
    uint64_t own_ns = 0;       // result: computation in the node itself
    uint64_t total_ns = 0;     // result: inclusive
};

// Nodes whose parts took longer than their probe measured, although every entry was timed.
struct Overcount {
    uint64_t count = 0;
    uint64_t ns = 0;
};

class TimeSettler {
  public:
    // `nodes`: parents precede their children. `inside`: by node, may be shorter.
    TimeSettler(const std::vector<ProfileNode>& nodes, const std::vector<SampledShares>& inside);

    // `times` by node; `present`: the nodes with any time, and their ancestors, ascending.
    void settle(const std::vector<uint32_t>& present, std::vector<NodeTime>* times);

    const Overcount& overcount() const { return overcount_; }

  private:
    struct Sums {
        uint64_t children_ns = 0;
        uint64_t unprobed_ns = 0;      // time without regard to probes: communication and intervals
        uint64_t movable_ns = 0;       // estimated computation up to the next probes below
        uint64_t cut_ns = 0;           // part of movable_ns to be taken away
        uint64_t movable_left_ns = 0;  // remaining movable_ns while the children give theirs one by
                                       // one
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
