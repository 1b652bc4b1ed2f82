// Merged records made by hand, and checks that hold for every profile built from them.
#ifndef DWELL_TESTS_UNIT_MERGED_BUILDER_H_
#define DWELL_TESTS_UNIT_MERGED_BUILDER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/model/profile.h"

namespace dwell {

// The number of an MPI function in this version of dwell.
inline uint16_t number_of(const std::string& name) {
    for (int i = 1; i < kMpiCallCount; ++i) {
        if (kMpiCalls[i].name == name) return static_cast<uint16_t>(i);
    }
    return 0;
}

inline Totals totals(uint64_t count, uint64_t time_ns, uint64_t blocked_ns = 0, uint64_t sent = 0) {
    Totals result{};
    result.count = count;
    result.time_ns = time_ns;
    result.min_ns = time_ns / count;
    result.max_ns = time_ns;
    result.blocked_ns = blocked_ns;
    result.bytes_sent = sent;
    return result;
}

class MergedBuilder {
  public:
    MergedBuilder() {
        merged.text.push('\0');
        add({}, SiteKind::kProgram, kNoNode);
    }

    uint32_t module(const std::string& path, const std::string& build_id = "") {
        MergedModule result{};
        result.path = text(path);
        result.build_id_bytes = static_cast<uint8_t>(build_id.size());
        std::copy(build_id.begin(), build_id.end(), result.build_id);
        merged.modules.push(result);
        return static_cast<uint32_t>(merged.modules.size() - 1);
    }
    uint32_t call(uint32_t parent, uint32_t module, uint64_t offset) {
        MergedNode node{};
        node.module = module;
        node.offset = offset;
        return add(node, SiteKind::kCall, parent);
    }
    uint32_t communication(uint32_t parent, uint32_t module, uint64_t offset, const char* name,
                           const Totals& figures) {
        MergedNode node{};
        node.module = module;
        node.offset = offset;
        node.call = number_of(name);
        node.totals = figures;
        node.ranks = 1;
        node.rank_min_ns = node.rank_max_ns = figures.time_ns;
        return add(node, SiteKind::kCommunication, parent);
    }
    uint32_t io(uint32_t parent, uint32_t module, uint64_t offset, IoCall call,
                const Totals& figures) {
        MergedNode node{};
        node.module = module;
        node.offset = offset;
        node.call = static_cast<uint16_t>(call);
        node.totals = figures;
        node.ranks = 1;
        node.rank_min_ns = node.rank_max_ns = figures.time_ns;
        return add(node, SiteKind::kIo, parent);
    }
    // `row`: the offset of a SiteRow.
    uint32_t probe(uint32_t parent, SiteKind kind, uint32_t module, uint64_t row,
                   const Totals& figures) {
        MergedNode node{};
        node.module = module;
        node.offset = row;
        node.totals = figures;
        node.ranks = 1;
        node.rank_min_ns = node.rank_max_ns = figures.time_ns;
        return add(node, kind, parent);
    }
    uint32_t named(uint32_t parent, SiteKind kind, const std::string& name, const Totals& figures) {
        const uint32_t node = probe(parent, kind, kNoNode, text(name), figures);
        merged.nodes[node].flags = kNodeNamed;
        return node;
    }
    uint32_t interval(uint32_t from, uint32_t to, uint32_t meet, uint64_t count, uint64_t time_ns) {
        MergedNode node{};
        node.module = kNoNode;
        node.offset = from;
        node.meet = meet;
        node.totals = totals(count, time_ns);
        return add(node, SiteKind::kInterval, to);
    }
    uint32_t sample(uint32_t interval, uint32_t module, uint64_t offset, uint64_t count) {
        MergedNode node{};
        node.module = module;
        node.offset = offset;
        node.totals.count = count;
        return add(node, SiteKind::kSample, interval);
    }
    // A sample with its call path, `frames` below main: module and address of each frame, the
    // innermost one last.
    uint32_t sample_below(uint32_t interval,
                          const std::vector<std::pair<uint32_t, uint64_t>>& frames,
                          uint64_t count) {
        uint32_t at = interval;
        for (const auto& [module, offset] : frames) {
            MergedNode node{};
            node.module = module;
            node.offset = offset;
            if (at == interval) node.call = 1;  // nothing in common with the path to `interval`
            const bool last = &offset == &frames.back().second;
            if (last) node.totals.count = count;
            at = add(node, last ? SiteKind::kSample : SiteKind::kCall, at);
        }
        return at;
    }
    void row(uint32_t node, uint32_t rank, uint32_t thread, const Totals& figures) {
        merged.rows.push({node, rank, thread, 0, figures});
    }
    // A rank that finished normally, modified by `set`.
    void rank(uint32_t number, const std::function<void(MergedRank*)>& set = nullptr) {
        MergedRank result{};
        result.rank = number;
        result.program = "/home/user/phases";
        result.state = static_cast<uint32_t>(FileState::kFinalized);
        if (set) set(&result);
        merged.ranks.add(result);
        merged.world_size = std::max(merged.world_size, number + 1);
    }

    Merged merged;

  private:
    uint32_t text(const std::string& string) {
        const auto at = static_cast<uint32_t>(merged.text.size());
        merged.text.append(string.c_str(), string.size() + 1);
        return at;
    }
    uint32_t add(MergedNode node, SiteKind kind, uint32_t parent) {
        node.kind = static_cast<uint8_t>(kind);
        node.parent = parent;
        node.histogram = kNoHistogram;
        merged.nodes.push(node);
        return static_cast<uint32_t>(merged.nodes.size() - 1);
    }
};

// The only child of `parent` of that kind and name; kNoNode when there is none or more than one.
inline uint32_t child(const Profile& profile, uint32_t parent, SiteKind kind,
                      const std::string& name) {
    if (parent == kNoNode) return kNoNode;
    uint32_t found = kNoNode;
    for (const uint32_t index : profile.nodes[parent].children) {
        if (profile.nodes[index].kind != kind || profile.nodes[index].name != name) continue;
        if (found != kNoNode) return kNoNode;
        found = index;
    }
    return found;
}

// DESIGN 5.5, for every node, every row, and between nodes and rows.
inline void expect_conservation(const Profile& profile) {
    EXPECT_EQ(profile.computation_ns + profile.transfer_ns + profile.blocked_ns + profile.io_ns +
                  profile.paused_ns,
              profile.total_ns);
    std::map<std::array<uint32_t, 3>, uint64_t> row_time;
    std::map<uint32_t, uint64_t> rows_of_node;
    for (const ProfileRow& row : profile.rows) {
        row_time[{row.rank, row.thread, row.node}] += row.totals.time_ns;
        rows_of_node[row.node] += row.totals.time_ns;
    }
    uint64_t computation = 0;
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        computation += node.computation_ns;
        if (!profile.rows.empty()) {
            EXPECT_EQ(rows_of_node[i], node.totals.time_ns) << node.name;
        }
        if (node.kind == SiteKind::kCommunication || node.kind == SiteKind::kIo) continue;
        uint64_t sum = node.computation_ns;
        for (const uint32_t index : node.children) sum += profile.nodes[index].totals.time_ns;
        EXPECT_EQ(sum, node.totals.time_ns) << node.name;
    }
    EXPECT_EQ(computation, profile.computation_ns);
    for (const ProfileRow& row : profile.rows) {
        const ProfileNode& node = profile.nodes[row.node];
        if (node.kind == SiteKind::kCommunication || node.kind == SiteKind::kIo) continue;
        uint64_t sum = row.computation_ns;
        for (const uint32_t index : node.children) sum += row_time[{row.rank, row.thread, index}];
        EXPECT_EQ(sum, row.totals.time_ns) << node.name;
    }
}

inline bool has_note(const Profile& profile, const std::string& part) {
    return std::any_of(
        profile.notes.begin(), profile.notes.end(),
        [&part](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_MERGED_BUILDER_H_
