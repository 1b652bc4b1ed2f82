// Looks up merged records by path instead of by index, so that tests depend neither on the order of
// nodes nor on the code under test.
#ifndef DWELL_TESTS_UNIT_MERGED_VIEW_H_
#define DWELL_TESTS_UNIT_MERGED_VIEW_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "summarize/merge/merged.h"

namespace dwell {

// "program/call app:10/MPI call 3 app:20/interval <left> ^<meet>" and so on; modules by path.
inline std::string path_of(const Merged& merged, uint32_t index) {
    if (index == kNoNode) return "-";
    const MergedNode& node = merged.nodes[index];
    if (node.parent == kNoNode) return "program";
    std::string path = path_of(merged, node.parent) + "/" + std::to_string(node.kind);
    if (node.flags != 0) path += "!" + std::to_string(node.flags);
    if (node.kind == static_cast<uint8_t>(SiteKind::kInterval)) {
        return path + " <" + path_of(merged, static_cast<uint32_t>(node.offset)) + "> ^" +
               path_of(merged, node.meet);
    }
    if (node.call != 0) path += "#" + std::to_string(node.call);
    if (node.module != kNoNode) {
        path += " " + std::string(merged.text.data() + merged.modules[node.module].path);
    }
    if (is_named(node)) return path + " " + std::string(merged.text.data() + node.offset);
    return path + ":" + std::to_string(node.offset);
}

inline std::map<std::string, uint32_t> nodes_by_path(const Merged& merged) {
    std::map<std::string, uint32_t> found;
    for (uint32_t i = 0; i < merged.nodes.size(); i++) found[path_of(merged, i)] = i;
    return found;
}

using FigureList = std::vector<uint64_t>;

inline void append(FigureList* list, const Totals& totals) {
    for (uint64_t figure :
         {totals.count, totals.time_ns, totals.min_ns, totals.max_ns, totals.sync_ns,
          totals.blocked_ns, totals.bytes_sent, totals.bytes_received, totals.failed,
          totals.folded_peers, totals.untimed, totals.late_sender_ns, totals.late_receiver_ns,
          totals.passed_on_ns, totals.unknown_waits, totals.guessed_waits,
          totals.estimated_waits}) {
        list->push_back(figure);
    }
    for (int slot = 0; slot < kEventSlots; slot++) {
        list->push_back(totals.event_count[slot]);
        list->push_back(totals.event_ns[slot]);
    }
    for (uint64_t figure : {totals.iterations, totals.untimed, totals.abandoned,
                            totals.estimated_ns, totals.volume}) {
        list->push_back(figure);
    }
}

// The names lie in `merged`.
inline std::vector<MergedRank> ranks_of(const Merged& merged) {
    std::vector<MergedRank> ranks;
    RankReader reader(merged.ranks);
    for (MergedRank rank; reader.next(&rank);) ranks.push_back(rank);
    return ranks;
}

// Every figure of every node, histogram, row, peer and distance, by its owner.
inline std::map<std::string, FigureList> all_figures(const Merged& merged) {
    std::map<std::string, FigureList> all;
    for (uint32_t i = 0; i < merged.nodes.size(); i++) {
        const MergedNode& node = merged.nodes[i];
        FigureList& list = all["node " + path_of(merged, i)];
        append(&list, node.totals);
        list.insert(list.end(),
                    {node.ranks, node.rank_min, node.rank_min_ns, node.rank_max, node.rank_max_ns});
        if (node.histogram == kNoHistogram) continue;
        for (uint64_t messages : merged.histograms[node.histogram].messages) {
            list.push_back(messages);
        }
    }
    for (const MergedRow& row : merged.rows) {
        append(&all["row " + path_of(merged, row.node) + " rank " + std::to_string(row.rank) +
                    " thread " + std::to_string(row.thread)],
               row.totals);
    }
    for (const MergedSamples& row : merged.sample_rows) {
        all["samples " + path_of(merged, row.node) + " rank " + std::to_string(row.rank) +
            " thread " + std::to_string(row.thread)] = {row.count};
    }
    for (const MergedPeer& peer : merged.peers) {
        all["peer " + path_of(merged, peer.node) + " " + std::to_string(peer.rank) + " to " +
            std::to_string(peer.peer)] = {peer.count,      peer.time_ns,        peer.sync_ns,
                                          peer.bytes_sent, peer.bytes_received, peer.min_ns,
                                          peer.max_ns};
    }
    for (const MergedDistance& distance : merged.distances) {
        all["distance " + path_of(merged, distance.node) + " " +
            std::to_string(distance.distance)] = {distance.pairs,      distance.count,
                                                  distance.time_ns,    distance.sync_ns,
                                                  distance.bytes_sent, distance.bytes_received};
    }
    for (const MergedPhase& phase : merged.phases) {
        all["phase " + path_of(merged, phase.node)] = {phase.first, phase.last, phase.last_behind,
                                                       phase.rank_behind};
    }
    const auto grid_name = [&merged](const MergedGrid& grid) {
        std::string name = std::string("grid ") + (merged.text.data() + grid.name);
        for (const int32_t size : grid.size) name += " " + std::to_string(size);
        return name + " !" + std::to_string(grid.periodic);
    };
    for (const MergedGrid& grid : merged.grids) {
        all[grid_name(grid)] = {grid.dimensions, grid.ranks};
    }
    for (const MergedPlace& place : merged.places) {
        FigureList& list = all["place of " + std::to_string(place.rank) + " in " +
                               grid_name(merged.grids[place.grid])];
        for (const int32_t at : place.coordinate) list.push_back(static_cast<uint64_t>(at));
    }
    for (const MergedCause& partner : merged.partners) {
        all["partner " + path_of(merged, partner.group) + " " + std::to_string(partner.peer) + " " +
            std::to_string(partner.path)] = {partner.count, partner.time_ns, partner.max_ns,
                                             partner.passed_on_ns, partner.lost_ns};
    }
    for (const MergedCause& cause : merged.causes) {
        all["cause " + std::to_string(cause.group) + " " + std::to_string(cause.peer)] = {
            cause.count, cause.time_ns, cause.passed_on_ns, cause.lost_ns};
    }
    for (const MergedRank& rank : ranks_of(merged)) {
        all["rank " + std::to_string(rank.rank) + " on " + rank.host] = {
            static_cast<uint64_t>(rank.pid), rank.threads, rank.real_ns, rank.state};
    }
    return all;
}

inline std::string bytes_of(const Merged& merged) {
    GrowArray<char> out;
    if (!serialize(merged, &out)) return "out of memory";
    return std::string(out.data(), out.size());
}

// As received by another rank.
inline Merged sent(const Merged& merged) {
    const std::string bytes = bytes_of(merged);
    Merged received;
    EXPECT_TRUE(deserialize(bytes.data(), bytes.size(), &received));
    return received;
}

// Successful deserialisation has checked every index.
inline bool is_well_formed(const Merged& merged) {
    const std::string bytes = bytes_of(merged);
    Merged copy;
    return deserialize(bytes.data(), bytes.size(), &copy);
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_MERGED_VIEW_H_
