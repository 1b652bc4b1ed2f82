// Traversals of a profile that several writers share (nodes from the root down, rows by thread),
// and small questions about its nodes and ranks.
#ifndef DWELL_SUMMARIZE_MODEL_PROFILE_WALK_H_
#define DWELL_SUMMARIZE_MODEL_PROFILE_WALK_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "summarize/model/profile.h"
#include "summarize/model/source_paths.h"

namespace dwell {

// Every node once, each before its children, siblings in order.
inline std::vector<uint32_t> nodes_from_root(const Profile& profile) {
    std::vector<uint32_t> order;
    if (profile.nodes.empty()) return order;
    std::vector<uint32_t> open = {0};
    while (!open.empty()) {
        const uint32_t index = open.back();
        open.pop_back();
        order.push_back(index);
        const auto& children = profile.nodes[index].children;
        open.insert(open.end(), children.rbegin(), children.rend());
    }
    return order;
}

// Indices of the rows, sorted by rank, then thread, then node.
inline std::vector<size_t> rows_by_thread(const Profile& profile) {
    std::vector<size_t> order(profile.rows.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto key = [&profile](size_t i) {
        const ProfileRow& row = profile.rows[i];
        return std::tuple(row.rank, row.thread, row.node);
    };
    std::sort(order.begin(), order.end(), [&key](size_t a, size_t b) { return key(a) < key(b); });
    return order;
}

// Adds to each node the values of all nodes below it. `order` is nodes_from_root.
template <typename Value>
void sum_into_parents(const Profile& profile, const std::vector<uint32_t>& order,
                      std::vector<Value>* values) {
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
        const uint32_t parent = profile.nodes[*index].parent;
        if (parent != kNoNode) (*values)[parent] += (*values)[*index];
    }
}

// Whether `at` is `node` or one of its descendants.
inline bool is_around(const std::vector<ProfileNode>& nodes, uint32_t node, uint32_t at) {
    while (at != kNoNode && at != node) at = nodes[at].parent;
    return at == node;
}

inline bool is_communication(const ProfileNode& node) {
    return node.kind == SiteKind::kCommunication;
}

inline bool is_io(const ProfileNode& node) { return node.kind == SiteKind::kIo; }

// Whether a wrapper measures the node; such nodes have no children.
inline bool is_statement(const ProfileNode& node) { return is_communication(node) || is_io(node); }

// Whether a probe or OpenMP's callbacks measured time and count of the node.
inline bool is_probed(const ProfileNode& node) { return (node.labels & kLabelProbed) != 0; }

// Whether the rank never called MPI and was measured by its own probes (`dwell run` samples such
// processes without probes).
inline bool is_probed_serial(const ProfileRank& rank) {
    return (rank.flags & kFileSerial) != 0 && rank.state == FileState::kFinalized;
}

// Processor time of all threads of a rank, where known (`usage_ns`): at least the time while it was
// sampled, plus all time that has passed since the last query.
inline uint64_t processor_ns(const ProfileRank& rank) {
    const uint64_t used_ns = rank.usage.user_ns + rank.usage.system_ns;
    const uint64_t sampled_ns =
        rank.sample_hz == 0 ? 0 : rank.samples * (1'000'000'000 / rank.sample_hz);
    return std::max(used_ns, sampled_ns) + rank.real_ns - std::min(rank.usage_ns, rank.real_ns);
}

// The node that stands for `node` in short reports: for a procedure of the system the innermost
// enclosing procedure of the user. Otherwise, and if there is none, `node` itself.
inline uint32_t own_code(const Profile& profile, uint32_t node) {
    for (uint32_t at = node; at != kNoNode && at != 0; at = profile.nodes[at].parent) {
        const ProfileNode& code = profile.nodes[at];
        if (code.kind != SiteKind::kCall && (code.labels & kLabelSystem) == 0) return at;
    }
    return node;
}

// The child of `owner` on the path to `node`; kNoNode if `node` is outside, or has no line there.
inline uint32_t step_below(const Profile& profile, uint32_t owner, uint32_t node) {
    for (uint32_t at = node; at != kNoNode; at = profile.nodes[at].parent) {
        if (profile.nodes[at].parent == owner) return profile.nodes[at].line != 0 ? at : kNoNode;
    }
    return kNoNode;
}

// Adds up stalls of one rank. `most_io_ns`: I/O time of the part whose I/O statement represents the
// sum.
inline void add_stall(const ProfileStall& part, uint64_t* most_io_ns, ProfileStall* all) {
    if (part.io_node != kNoNode && part.io_ns >= *most_io_ns) {
        all->io_node = part.io_node;
        *most_io_ns = part.io_ns;
    }
    all->interval = part.interval;
    all->rank = part.rank;
    all->count += part.count;
    all->time_ns += part.time_ns;
    all->io_ns += part.io_ns;
    all->asleep_ns += part.asleep_ns;
    all->queued_ns += part.queued_ns;
    all->kernel_ns += part.kernel_ns;
}

inline bool is_openmp(const ProfileNode& node) { return node.kind == SiteKind::kOpenMp; }

// The entry of a thread of a rank, or null.
inline const ProfileThread* find_thread(const Profile& profile, uint32_t rank, uint32_t thread) {
    const auto key = [](const ProfileThread& at) { return std::make_pair(at.rank, at.thread); };
    const auto wanted = std::make_pair(rank, thread);
    const auto at = std::lower_bound(
        profile.threads.begin(), profile.threads.end(), wanted,
        [&key](const ProfileThread& known, const auto& value) { return key(known) < value; });
    return at != profile.threads.end() && key(*at) == wanted ? &*at : nullptr;
}

inline bool has_openmp(const Profile& profile) {
    return std::any_of(profile.nodes.begin(), profile.nodes.end(),
                       [](const ProfileNode& node) { return is_openmp(node); });
}

inline bool has_probes(const Profile& profile) {
    return std::any_of(profile.nodes.begin(), profile.nodes.end(), is_probed);
}

// Whether some node has a probe in the source; OpenMP's do not count.
inline bool has_source_probes(const Profile& profile) {
    return std::any_of(profile.nodes.begin(), profile.nodes.end(),
                       [](const ProfileNode& node) { return is_probed(node) && !is_openmp(node); });
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_PROFILE_WALK_H_
