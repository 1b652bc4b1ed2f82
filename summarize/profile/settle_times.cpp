// Divides time between measured nodes and nodes known from intervals only; see settle_times.h.
#include "summarize/profile/settle_times.h"

#include <algorithm>

#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

uint64_t proportional(uint64_t whole, uint64_t part, uint64_t of) {
    if (of == 0) return 0;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(whole) * part / of);
}

}  // namespace

TimeSettler::TimeSettler(const std::vector<ProfileNode>& nodes,
                         const std::vector<SampledShares>& inside)
    : nodes_(nodes), inside_(inside), sums_(nodes.size()) {}

// Parts without probes are estimates, so they are shortened when the parts exceed the probe.
void TimeSettler::settle_probe(uint32_t index, NodeTime* time) {
    Sums& sums = sums_[index];
    // Entries without time allow any duration of the parts.
    const bool timed = (nodes_[index].labels & (kLabelReduced | kLabelCounted)) == 0;
    if (timed && sums.children_ns > time->measured_ns) {
        sums.cut_ns = std::min(sums.children_ns - time->measured_ns, sums.movable_ns);
        sums.children_ns -= sums.cut_ns;
    }
    time->total_ns = std::max(time->measured_ns, sums.children_ns);
    time->own_ns = time->total_ns - sums.children_ns;
    const uint64_t over_ns = time->total_ns - time->measured_ns;
    if (over_ns == 0 || !timed) return;
    ++overcount_.count;
    overcount_.ns += over_ns;
}

void TimeSettler::settle_estimate(uint32_t index, NodeTime* time) {
    Sums& sums = sums_[index];
    // A call lasts as long as its callee: a difference belongs to the calling procedure.
    const bool call = nodes_[index].kind == SiteKind::kCall;
    const uint64_t known_ns = call ? 0 : time->booked_ns + sums.unprobed_ns;
    // Blocks whose callers are unknown lie in the program, beside the procedures that opened them,
    // whose intervals contain their time.
    if (index == 0 && sums.children_ns > known_ns) {
        sums.cut_ns = std::min(sums.children_ns - known_ns, sums.movable_ns);
        sums.children_ns -= sums.cut_ns;
    }
    time->own_ns = known_ns > sums.children_ns ? known_ns - sums.children_ns : 0;
    time->total_ns = time->own_ns + sums.children_ns;
    sums.movable_ns += time->own_ns;
}

// Takes this node's share of the cut of the probe above it: first from its own computation, then
// from each part.
void TimeSettler::take_cut(uint32_t index, std::vector<NodeTime>* times) {
    Sums& sums = sums_[index];
    sums.movable_left_ns = sums.movable_ns;
    sums.cut_left_ns = sums.cut_ns;
    if (sums.cut_ns == 0 || index == 0 || is_probed(nodes_[index])) return;
    NodeTime& time = (*times)[index];
    const uint64_t own_cut_ns = proportional(sums.cut_ns, time.own_ns, sums.movable_ns);
    sums.movable_left_ns -= time.own_ns;
    sums.cut_left_ns -= own_cut_ns;
    time.own_ns -= own_cut_ns;
    time.total_ns -= sums.cut_ns;
}

void TimeSettler::divide(uint32_t index, std::vector<NodeTime>* times) const {
    NodeTime& from = (*times)[index];
    if (inside_[index].empty() || from.own_ns <= from.waiting_ns) return;
    const uint64_t computation_ns = from.own_ns - from.waiting_ns;
    inside_[index].split(computation_ns, [&](uint32_t to, uint64_t ns) {
        from.own_ns -= ns;
        (*times)[to].own_ns += ns;
        for (uint32_t at = to; at != index; at = nodes_[at].parent) (*times)[at].total_ns += ns;
    });
}

void TimeSettler::settle(const std::vector<uint32_t>& present, std::vector<NodeTime>* times) {
    for (const uint32_t index : present) sums_[index] = Sums{};
    for (auto at = present.rbegin(); at != present.rend(); ++at) {
        const ProfileNode& node = nodes_[*at];
        NodeTime& time = (*times)[*at];
        Sums& sums = sums_[*at];
        const bool statement = is_statement(node);
        if (statement) {
            time.total_ns = time.measured_ns;
        } else if (is_probed(node)) {
            settle_probe(*at, &time);
        } else {
            settle_estimate(*at, &time);
        }
        if (*at == 0) continue;
        Sums& parent = sums_[node.parent];
        parent.children_ns += time.total_ns;
        parent.unprobed_ns += statement ? time.measured_ns : time.booked_ns + sums.unprobed_ns;
        if (!statement && !is_probed(node)) parent.movable_ns += sums.movable_ns;
    }
    for (const uint32_t index : present) {
        const ProfileNode& node = nodes_[index];
        if (index != 0 && !is_statement(node) && !is_probed(node)) {
            Sums& parent = sums_[node.parent];
            Sums& sums = sums_[index];
            sums.cut_ns = proportional(parent.cut_left_ns, sums.movable_ns, parent.movable_left_ns);
            parent.cut_left_ns -= sums.cut_ns;
            parent.movable_left_ns -= sums.movable_ns;
        }
        take_cut(index, times);
    }
    // Backwards, so that time assigned to a node is not divided again.
    for (auto at = present.rbegin(); at != present.rend(); ++at) {
        if (*at < inside_.size()) divide(*at, times);
    }
}

}  // namespace dwell
