// Ways through a profile that several writers share: nodes from the root down, rows by thread.
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

// Every node once, each before its children, children in their order.
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

// Whether `at` is `node` or lies below it.
inline bool is_around(const std::vector<ProfileNode>& nodes, uint32_t node, uint32_t at) {
    while (at != kNoNode && at != node) at = nodes[at].parent;
    return at == node;
}

inline bool is_communication(const ProfileNode& node) {
    return node.kind == SiteKind::kCommunication;
}

inline bool is_io(const ProfileNode& node) { return node.kind == SiteKind::kIo; }

// Measured where it stands, by a wrapper; nothing lies in it.
inline bool is_statement(const ProfileNode& node) { return is_communication(node) || is_io(node); }

// Made by a probe, or told by OpenMP: time and count are measured.
inline bool is_probed(const ProfileNode& node) { return (node.labels & kLabelProbed) != 0; }

// Of a process that never called MPI, by its own probes (`dwell run` samples those without).
inline bool is_probed_serial(const ProfileRank& rank) {
    return (rank.flags & kFileSerial) != 0 && rank.state == FileState::kFinalized;
}

// Of all its threads, where that is known (`usage_ns`): what it had while it was sampled, at least,
// and all that passed since it was last asked.
inline uint64_t processor_ns(const ProfileRank& rank) {
    const uint64_t used_ns = rank.usage.user_ns + rank.usage.system_ns;
    const uint64_t sampled_ns =
        rank.sample_hz == 0 ? 0 : rank.samples * (1'000'000'000 / rank.sample_hz);
    return std::max(used_ns, sampled_ns) + rank.real_ns - std::min(rank.usage_ns, rank.real_ns);
}

// What a procedure of the system counts for: the innermost one around it that is none. Others, and
// where there is none: itself.
inline uint32_t own_code(const Profile& profile, uint32_t node) {
    for (uint32_t at = node; at != kNoNode && at != 0; at = profile.nodes[at].parent) {
        const ProfileNode& code = profile.nodes[at];
        if (code.kind != SiteKind::kCall && (code.labels & kLabelSystem) == 0) return at;
    }
    return node;
}

// Adds up stalls of one rank. `most_io_ns`: of the part whose I/O statement stands for all.
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

// What is known of a thread of a rank, or null.
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

// Of the source, not those of OpenMP.
inline bool has_source_probes(const Profile& profile) {
    return std::any_of(profile.nodes.begin(), profile.nodes.end(),
                       [](const ProfileNode& node) { return is_probed(node) && !is_openmp(node); });
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_PROFILE_WALK_H_
