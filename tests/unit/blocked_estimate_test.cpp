// Waiting estimated from the shortest call of any rank, by hand-computed cases.
#include "summarize/blocked_estimate.h"

#include <gtest/gtest.h>
#include <string.h>

#include "runtime/mpi_calls.h"

namespace dwell {
namespace {

uint16_t number_of(const char* name) {
    for (int i = 1; i < kMpiCallCount; ++i) {
        if (strcmp(kMpiCalls[i].name, name) == 0) return static_cast<uint16_t>(i);
    }
    ADD_FAILURE() << name << " is not in the table";
    return 0;
}

// One node of two ranks: rank 0 made 10 calls of 900 ns in all, rank 1 10 calls of 100 ns in all,
// the shortest call of either took 8 ns.
void make_node(Merged* merged, const char* call, uint64_t recorded_blocked_ns) {
    MergedNode program{};
    program.kind = static_cast<uint8_t>(SiteKind::kProgram);
    MergedNode node{};
    node.kind = static_cast<uint8_t>(SiteKind::kCommunication);
    node.call = number_of(call);
    node.totals.count = 20;
    node.totals.time_ns = 1000;
    node.totals.min_ns = 8;
    node.totals.blocked_ns = recorded_blocked_ns;
    ASSERT_TRUE(merged->nodes.push(program) && merged->nodes.push(node));
    for (uint32_t rank = 0; rank < 2; ++rank) {
        MergedRow row{};
        row.node = 1;
        row.rank = rank;
        row.totals.count = 10;
        row.totals.time_ns = rank == 0 ? 900 : 100;
        row.totals.min_ns = rank == 0 ? 85 : 8;
        row.totals.blocked_ns = recorded_blocked_ns;
        ASSERT_TRUE(merged->rows.push(row));
    }
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

TEST(BlockedEstimate, LeavesAloneWhatTheRecordsTell) {
    for (const char* call : {"MPI_Recv", "MPI_Waitall", "MPI_Send", "MPI_Iallreduce"}) {
        Merged merged;
        make_node(&merged, call, 123);
        estimate_blocked(&merged);
        EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 123u) << call;
        EXPECT_EQ(merged.rows[0].totals.blocked_ns, 123u) << call;
    }
}

TEST(BlockedEstimate, NeverNegative) {
    Merged merged;
    make_node(&merged, "MPI_Barrier", 0);
    merged.nodes[1].totals.time_ns = 100;  // rounding: less than 20 times 8
    estimate_blocked(&merged);
    EXPECT_EQ(merged.nodes[1].totals.blocked_ns, 0u);
}

}  // namespace
}  // namespace dwell
