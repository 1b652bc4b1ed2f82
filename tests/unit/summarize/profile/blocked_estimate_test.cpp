// Tests waiting estimated from the shortest call of any rank, with cases computed by hand.
#include "summarize/profile/blocked_estimate.h"

#include <gtest/gtest.h>
#include <string.h>

#include "runtime/contract/mpi_calls.h"

namespace dwell {
namespace {

uint16_t number_of(const char* name) {
    for (int i = 1; i < kMpiCallCount; ++i) {
        if (strcmp(kMpiCalls[i].name, name) == 0) return static_cast<uint16_t>(i);
    }
    ADD_FAILURE() << name << " is not in the table";
    return 0;
}

// One node of two ranks: rank 0 made 10 calls of 900 ns in total, rank 1 10 calls of 100 ns in
// total; the shortest call of both took 8 ns.
void make_node(Merged* merged, const char* call, uint64_t recorded_blocked_ns) {
    MergedNode program{};
    program.kind = static_cast<uint8_t>(SiteKind::kProgram);
    MergedNode node{};
    node.kind = static_cast<uint8_t>(SiteKind::kCommunication);
    node.call = number_of(call);
    node.totals.count = 20;
    node.totals.time_ns = 1000;
    node.totals.min_ns = 8;
    node.totals.unknown_waits = 20;
    node.totals.blocked_ns = recorded_blocked_ns;
    node.ranks = 2;
    ASSERT_TRUE(merged->nodes.push(program) && merged->nodes.push(node));
    for (uint32_t rank = 0; rank < 2; ++rank) {
        ASSERT_TRUE(merged->ranks.add(MergedRank{}));
        MergedRow row{};
        row.node = 1;
        row.rank = rank;
        row.totals.count = 10;
        row.totals.time_ns = rank == 0 ? 900 : 100;
        row.totals.min_ns = rank == 0 ? 85 : 8;
        row.totals.unknown_waits = 10;
        row.totals.blocked_ns = recorded_blocked_ns;
        ASSERT_TRUE(merged->rows.push(row));
    }
}

// As in a large job: only the sums over all ranks are left.
void make_node_without_rows(Merged* merged, const char* call, uint64_t recorded_blocked_ns) {
    make_node(merged, call, recorded_blocked_ns);
    GrowArray<MergedRow>().swap(merged->rows);
}

TEST(BlockedEstimate, CollectiveTimeAboveTheShortestCallOfAnyRank) {
    Merged merged;
    make_node(&merged, "MPI_Allreduce", 0);
    estimate_blocked(&merged);
    EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 1000u - 20 * 8);
    EXPECT_EQ(merged.rows[0].totals.blocked_ns, 900u - 10 * 8);
    EXPECT_EQ(merged.rows[1].totals.blocked_ns, 100u - 10 * 8);
}

TEST(BlockedEstimate, SynchronisationOfWindowsWaitsToo) {
    Merged merged;
    make_node(&merged, "MPI_Win_fence", 0);
    estimate_blocked(&merged);
    EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 840u);
}

// Only rank 0's waiting is unknown: all of its 900 - 10 * 8 ns. By the node's sums it would be half
// of 840 ns.
TEST(BlockedEstimate, ANodeWaitedAsLongAsItsRanks) {
    Merged merged;
    make_node(&merged, "MPI_Allreduce", 0);
    merged.nodes[1].totals.unknown_waits = 10;
    merged.rows[1].totals.unknown_waits = 0;
    estimate_blocked(&merged);
    EXPECT_EQ(merged.rows[0].totals.blocked_ns, 820u);
    EXPECT_EQ(merged.rows[1].totals.blocked_ns, 0u);
    EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 820u);
}

TEST(BlockedEstimate, LeavesAloneWhatTheRecordsTell) {
    for (const char* call : {"MPI_Recv", "MPI_Waitall", "MPI_Send", "MPI_Iallreduce"}) {
        Merged merged;
        make_node(&merged, call, 123);
        estimate_blocked(&merged);
        EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 123u) << call;
        EXPECT_EQ(merged.rows[0].totals.blocked_ns, 123u) << call;
    }
}

// Rank 0 calls MPI_Barrier from one place, rank 1, which comes late, from another.
TEST(BlockedEstimate, RanksThatMeetFromSeveralPlaces) {
    Merged merged;
    make_node_without_rows(&merged, "MPI_Barrier", 0);
    MergedNode late = merged.nodes[1];
    merged.nodes[1].ranks = 1;
    merged.nodes[1].totals.min_ns = 80;
    late.ranks = 1;
    late.totals.min_ns = 5;
    late.totals.time_ns = 120;
    MergedNode other = late;  // another size is another operation
    other.totals.bytes_sent = 20 * 1024;
    other.totals.min_ns = 1;
    MergedNode everywhere = late;  // a node of both ranks: its own calls are sufficient
    everywhere.ranks = 2;
    everywhere.totals.min_ns = 2;
    for (const MergedNode& node : {late, other, everywhere}) ASSERT_TRUE(merged.nodes.push(node));
    estimate_blocked(&merged);
    EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 1000u - 20 * 5);
    EXPECT_EQ(merged.nodes[2].totals.blocked_ns, 120u - 20 * 5);
    EXPECT_EQ(merged.nodes[3].totals.blocked_ns, 120u - 20 * 1);
    EXPECT_EQ(merged.nodes[4].totals.blocked_ns, 120u - 20 * 2);
}

// 20 receives of 1 MB take at least 1 ms each, where the shortest took that long.
TEST(BlockedEstimate, LargeMessagesTakeTimeToCopy) {
    Merged merged;
    make_node_without_rows(&merged, "MPI_Recv", 70'000'000);
    Totals& totals = merged.nodes[1].totals;
    totals.bytes_received = 20'000'000;
    totals.time_ns = 70'000'000;
    totals.min_ns = 3'000'000;
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 50'000'000u);
    totals.blocked_ns = 70'000'000;
    totals.min_ns = 400'000;  // a faster machine
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 62'000'000u);
    totals.blocked_ns = 10;  // only some of them blocked
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 10u);
}

// 5 of 20 barriers are unknown: they get a quarter of the estimate for all.
TEST(BlockedEstimate, OnlyCallsThatAreNotKnown) {
    Merged merged;
    make_node_without_rows(&merged, "MPI_Barrier", 0);
    Totals& totals = merged.nodes[1].totals;
    totals.unknown_waits = 5;
    totals.sync_ns = totals.blocked_ns = 600;
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 600u + (1000 - 20 * 8) / 4);
    totals.unknown_waits = 0;
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 600u);
    totals.unknown_waits = 20;
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 1000u);  // never longer than the calls
}

// The measured waiting of large receives is kept.
TEST(BlockedEstimate, KnownWaitingOfLargeMessages) {
    Merged merged;
    make_node_without_rows(&merged, "MPI_Recv", 0);
    Totals& totals = merged.nodes[1].totals;
    totals.bytes_received = 20'000'000;
    totals.time_ns = totals.blocked_ns = totals.sync_ns = 70'000'000;
    totals.min_ns = 3'000'000;
    estimate_blocked(&merged);
    EXPECT_EQ(totals.blocked_ns, 70'000'000u);
}

TEST(BlockedEstimate, NeverNegative) {
    Merged merged;
    make_node_without_rows(&merged, "MPI_Barrier", 0);
    merged.nodes[1].totals.time_ns = 100;  // rounding: less than 20 times 8
    estimate_blocked(&merged);
    EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 0u);
}

}  // namespace
}  // namespace dwell
