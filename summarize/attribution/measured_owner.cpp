// Finds owners of intervals from measured times; see measured_owner.h.
#include "summarize/attribution/measured_owner.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/contract/omp_constructs.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// Whether a probe or an OpenMP region measured the node.
bool is_measured(const ProfileNode& node) {
    if (is_openmp(node)) return is_omp_region(node.call);
    const bool own = (node.labels & kLabelSystem) == 0;
    return is_probed(node) && own && node.kind != SiteKind::kMarker;
}

// For differences between ranks the parts may exceed the whole.
uint64_t beyond(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Computation below a node without the nodes that did not run.
class PossibleTimes {
  public:
    PossibleTimes(const std::vector<ProfileNode>& nodes, const PossibleNodes& possible,
                  const std::vector<uint64_t>& computation_ns)
        : computation_ns_(computation_ns) {
        for (const uint32_t other : possible.passed_by) {
            for (uint32_t at = other; at != kNoNode; at = nodes[at].parent) {
                passed_ns_[at] += computation_ns[other];
            }
        }
    }
    uint64_t of(uint32_t node) const {
        const auto passed = passed_ns_.find(node);
        return beyond(computation_ns_[node], passed == passed_ns_.end() ? 0 : passed->second);
    }

  private:
    const std::vector<uint64_t>& computation_ns_;
    std::unordered_map<uint32_t, uint64_t> passed_ns_;  // by enclosing node
};

}  // namespace

bool computes(const ProfileNode& node) {
    return !is_statement(node) &&
           !(is_openmp(node) && node.call == static_cast<uint16_t>(OmpConstruct::kIdle));
}

std::vector<uint64_t> computation_below(const Profile& profile, std::vector<uint64_t> of_node) {
    // Children follow their parents.
    for (size_t i = of_node.size(); i-- > 1;) of_node[profile.nodes[i].parent] += of_node[i];
    return of_node;
}

uint32_t measured_owner(const Profile& profile, const PossibleNodes& possible,
                        const std::vector<uint64_t>& computation_ns, uint64_t interval_ns) {
    const std::vector<ProfileNode>& nodes = profile.nodes;
    const PossibleTimes times(nodes, possible, computation_ns);
    const uint64_t all_ns = times.of(possible.outermost);
    const auto holds_most = [&](uint32_t node) {
        return 2 * beyond(all_ns, times.of(node)) < interval_ns;
    };
    uint32_t owner = kNoNode;
    for (uint32_t at = possible.outermost; at != kNoNode && holds_most(at);) {
        if (is_measured(nodes[at])) owner = at;
        const std::vector<uint32_t>& parts = nodes[at].children;
        const auto next = std::find_if(parts.begin(), parts.end(), holds_most);
        at = next == parts.end() ? kNoNode : *next;
    }
    return owner;
}

uint64_t possible_computation(const Profile& profile, const PossibleNodes& possible,
                              const std::vector<uint64_t>& computation_ns) {
    return PossibleTimes(profile.nodes, possible, computation_ns).of(possible.outermost);
}

void name_measured_owners(const std::vector<PossibleNodes>& possible, Profile* profile) {
    const std::vector<ProfileNode>& nodes = profile->nodes;
    if (!has_source_probes(*profile) && !has_openmp(*profile)) return;
    std::vector<uint64_t> of_node(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (computes(nodes[i])) of_node[i] = nodes[i].computation_ns;
    }
    const std::vector<uint64_t> computation_ns = computation_below(*profile, std::move(of_node));
    for (size_t i = 0; i < profile->intervals.size(); ++i) {
        ProfileInterval& interval = profile->intervals[i];
        const uint32_t owner =
            measured_owner(*profile, possible[i], computation_ns, interval.time_ns);
        // A node around the owner from call paths adds no information.
        if (owner == kNoNode ||
            (owner != interval.booked_on && is_around(nodes, owner, interval.booked_on))) {
            continue;
        }
        interval.booked_on = owner;
        interval.or_after = false;
    }
}

}  // namespace dwell
