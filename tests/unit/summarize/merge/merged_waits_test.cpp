// Tests the bounded lists of causes: sums lose nothing, and the loss of any single entry has an
// upper bound.
#include "summarize/merge/merged_waits.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/support/merged_view.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

MergedCause cause(uint32_t group, uint32_t peer, uint64_t time_ns) {
    return {group, peer, 9, 0, 1, time_ns, time_ns, time_ns / 2, 0};
}

TEST(MergedWaits, TheHeaviestStayTheRestIsASum) {
    GrowArray<MergedCause> list;
    CauseTable table(&list);
    ASSERT_TRUE(table.load(0));
    for (const auto& [peer, ns] :
         {std::pair{1u, 20u}, std::pair{2u, 50u}, std::pair{3u, 30u}, std::pair{4u, 40u}}) {
        ASSERT_TRUE(table.add(cause(6, peer, ns)));
    }
    ASSERT_TRUE(table.add(cause(6, 2, 5)));  // adds to the existing entry
    ASSERT_TRUE(table.add(cause(5, 9, 1)));  // another group has room
    keep_heaviest_causes(&list, 2);
    ASSERT_EQ(list.size(), 4u);
    EXPECT_EQ(std::pair(list[0].group, list[0].peer), std::pair(5u, 9u));
    EXPECT_EQ(std::pair(list[1].peer, list[1].time_ns), std::pair(2u, uint64_t{55}));
    EXPECT_EQ(list[1].count, 2u);
    EXPECT_EQ(list[1].max_ns, 50u);
    EXPECT_EQ(std::pair(list[2].peer, list[2].time_ns), std::pair(4u, uint64_t{40}));
    EXPECT_EQ(list[3].peer, kNoPeer);
    EXPECT_EQ(list[3].path, 0u);
    EXPECT_EQ(list[3].time_ns, 20u + 30);
    EXPECT_EQ(list[3].passed_on_ns, 10u + 15);
    EXPECT_EQ(list[3].count, 2u);
    EXPECT_EQ(list[3].lost_ns, 30u);  // one of them alone
    keep_heaviest_causes(&list, 2);   // a second call changes nothing
    EXPECT_EQ(list[3].lost_ns, 30u);
}

MergedStall stall(uint32_t path, uint32_t rank, uint64_t asleep_ns) {
    return {path, rank, kNoNode, 0, 1, 100, 1, asleep_ns, 0, 0, 0};
}

TEST(MergedWaits, OfEachComputationTheRanksThatStalledLongestStay) {
    GrowArray<MergedStall> list;
    for (const MergedStall& one :
         {stall(0, 4, 7), stall(6, 1, 20), stall(5, 9, 1), stall(6, 2, 50), stall(6, 3, 30)}) {
        ASSERT_TRUE(list.push(one));
    }
    keep_heaviest_stalls(&list, 2);
    ASSERT_EQ(list.size(), 4u);
    EXPECT_EQ(list[0].rank, 4u);
    EXPECT_EQ(list[1].rank, 9u);
    EXPECT_EQ(list[2].rank, 2u);
    EXPECT_EQ(list[3].rank, 3u);
}

// 64 lists of random causes, joined as a tree.
TEST(MergedWaits, NoneMissesMoreThanTheBoundSays) {
    std::mt19937 random(7);
    std::map<uint32_t, uint64_t> truth;
    std::vector<GrowArray<MergedCause>> lists(64);
    uint64_t all_ns = 0;
    for (GrowArray<MergedCause>& list : lists) {
        CauseTable table(&list);
        ASSERT_TRUE(table.load(0));
        for (int i = 0; i < 10; ++i) {
            const auto peer = static_cast<uint32_t>(random() % 40);
            const uint64_t ns = random() % 1000 * (peer < 3 ? 20 : 1);
            truth[peer] += ns;
            all_ns += ns;
            ASSERT_TRUE(table.add(cause(1, peer, ns)));
        }
        keep_heaviest_causes(&list, 8);
    }
    for (size_t step = 1; step < lists.size(); step *= 2) {
        for (size_t i = 0; i < lists.size(); i += 2 * step) {
            CauseTable table(&lists[i]);
            ASSERT_TRUE(table.load(lists[i + step].size()));
            for (const MergedCause& from : lists[i + step]) ASSERT_TRUE(table.add(from));
            keep_heaviest_causes(&lists[i], 8);
            EXPECT_LE(lists[i].size(), 9u);
        }
    }
    std::map<uint32_t, uint64_t> kept;
    uint64_t kept_ns = 0;
    uint64_t lost_ns = 0;
    for (const MergedCause& entry : lists[0]) {
        kept_ns += entry.time_ns;
        lost_ns += entry.lost_ns;
        if (entry.peer != kNoPeer) kept[entry.peer] = entry.time_ns;
    }
    EXPECT_EQ(kept_ns, all_ns);
    EXPECT_GT(lost_ns, 0u);
    for (const auto& [peer, ns] : truth) {
        EXPECT_LE(kept[peer], ns) << peer;
        EXPECT_GE(kept[peer] + lost_ns, ns) << peer;
    }
    for (const uint32_t heavy : {0u, 1u, 2u}) EXPECT_EQ(kept.count(heavy), 1u) << heavy;
}

// The limit counts the ranks of a path, not their threads.
TEST(MergedWaits, StallsOfThreadsAreOneOfTheirRank) {
    GrowArray<MergedStall> stalls;
    const auto add = [&stalls](uint32_t path, uint32_t rank, uint32_t io_node, uint64_t io_ns,
                               uint64_t asleep_ns) {
        ASSERT_TRUE(stalls.push({path, rank, io_node, 0, 1, 100, io_ns, asleep_ns, 2, 3, 0}));
    };
    for (uint32_t thread = 0; thread < 4; ++thread) add(7, 1, 10 + thread, 20 + thread % 3, 30);
    add(7, 2, kNoNode, 0, 25);
    add(8, 1, kNoNode, 0, 50);
    add(7, 3, kNoNode, 0, 20);
    keep_heaviest_stalls(&stalls, 2);
    ASSERT_EQ(stalls.size(), 3u);
    const MergedStall& all = stalls[0];
    EXPECT_EQ((std::vector<uint64_t>{all.path, all.rank, all.io_node, all.count, all.time_ns,
                                     all.io_ns, all.asleep_ns, all.queued_ns, all.kernel_ns}),
              (std::vector<uint64_t>{7, 1, 12, 4, 400, 83, 120, 8, 12}));
    EXPECT_EQ(stalls[1].rank, 2u);
    EXPECT_EQ(stalls[2].path, 8u);
}

// Two ranks with different order in their trees: the receive is node 2 of one, node 3 of the other.
TEST(MergedWaits, JoinedByNodeAndByComputation) {
    Merged all;
    for (const int rank : {0, 1}) {
        RecordFile file(rank, 2);
        file.header().flags |= kFileWaits;
        file.add_module(1, "/bin/app", "");
        const CellIndex root = file.add_thread(0, {1, 1000, 1000, 1000});
        if (rank == 1) file.add_communication(root, 1, 0x50, "MPI_Send", {1, 10, 10, 10});
        const CellIndex recv = file.add_communication(root, 1, 0x20, "MPI_Recv", {5, 90, 10, 40});
        file.part(recv).sync_ticks = 40;
        file.wait(recv).late_sender_ticks = 40;
        file.add_partner(recv, 3, 77, {4, 40, 0, rank == 0 ? 25u : 15u});
        file.add_cause(3, 77, 4, 30, 30);
        file.add_cause(static_cast<uint32_t>(rank), 78, 1, 10, 0);
        ASSERT_TRUE(add_record_file(&all, file.data(), file.bytes()));
    }
    const auto figures = all_figures(all);
    const std::string recv =
        "program/5#" + std::to_string(call_number("MPI_Recv")) + " /bin/app:32";
    EXPECT_EQ(figures.at("partner " + recv + " 3 77"), (FigureList{8, 80, 25, 0, 0}));
    EXPECT_EQ(figures.at("cause 77 3"), (FigureList{8, 60, 0, 0}));
    EXPECT_EQ(figures.at("cause 78 0"), (FigureList{1, 10, 10, 0}));
    EXPECT_EQ(figures.at("cause 78 1"), (FigureList{1, 10, 10, 0}));
    const Merged copy = sent(all);
    EXPECT_EQ(all_figures(copy), figures);
    EXPECT_EQ(bytes_of(copy), bytes_of(all));
}

}  // namespace
}  // namespace dwell
