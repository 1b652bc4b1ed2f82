// Tests that measured times are final, and that the rest of an interval, and a measured node's own
// time, are divided in proportion to the samples.
#include "summarize/profile/settle_times.h"

#include <gtest/gtest.h>

#include <numeric>

namespace dwell {
namespace {

enum : uint32_t { kProgram, kMain, kRegion, kSort, kRelax, kNodes };

std::vector<ProfileNode> team_nodes() {
    std::vector<ProfileNode> nodes(kNodes);
    const uint32_t parents[kNodes] = {kNoNode, kProgram, kMain, kMain, kRegion};
    for (uint32_t i = 0; i < kNodes; ++i) {
        nodes[i].kind = i == kProgram ? SiteKind::kProgram : SiteKind::kProcedure;
        nodes[i].parent = parents[i];
    }
    nodes[kRegion].kind = SiteKind::kOpenMp;
    nodes[kRegion].labels = kLabelProbed;
    return nodes;
}

// An interval of 22, in which a region of 12 was measured, 1 of it waiting: 10 are sort's and 11
// relax's, however the samples are divided.
TEST(SettleTimes, SamplesDivideWhatWasNotMeasured) {
    const std::vector<ProfileNode> nodes = team_nodes();
    std::vector<SampledShares> inside(kNodes);
    inside[kMain].add(kSort, 15);
    inside[kRegion].add(kRelax, 7);
    std::vector<NodeTime> times(kNodes);
    times[kMain].booked_ns = 22;
    times[kRegion].measured_ns = 12;
    times[kRegion].waiting_ns = 1;
    std::vector<uint32_t> all(kNodes);
    std::iota(all.begin(), all.end(), 0u);
    TimeSettler(nodes, inside).settle(all, &times);
    EXPECT_EQ(times[kProgram].total_ns, 22u);
    EXPECT_EQ(times[kMain].total_ns, 22u);
    EXPECT_EQ(times[kMain].own_ns, 0u);
    EXPECT_EQ(times[kRegion].total_ns, 12u);
    EXPECT_EQ(times[kRegion].own_ns, 1u);
    EXPECT_EQ(times[kSort].total_ns, 10u);
    EXPECT_EQ(times[kRelax].own_ns, 11u);
}

// main opens a block of 8 by hand, whose caller is not known: it lies in the program. The interval
// of 22 contains it, and 7 of its 21 samples are in sort.
TEST(SettleTimes, ABlockBesideItsProcedureCountsOnce) {
    std::vector<ProfileNode> nodes = team_nodes();
    nodes[kRegion].kind = SiteKind::kBlock;
    nodes[kRegion].parent = kProgram;
    std::vector<SampledShares> inside(kNodes);
    inside[kMain].add(kMain, 14);
    inside[kMain].add(kSort, 7);
    std::vector<NodeTime> times(kNodes);
    times[kMain].booked_ns = 22;
    times[kRegion].measured_ns = 8;
    TimeSettler(nodes, inside).settle({kProgram, kMain, kRegion, kSort}, &times);
    EXPECT_EQ(times[kProgram].total_ns, 22u);
    EXPECT_EQ(times[kProgram].own_ns, 0u);
    EXPECT_EQ(times[kRegion].total_ns, 8u);
    EXPECT_EQ(times[kMain].total_ns, 14u);
    EXPECT_EQ(times[kMain].own_ns + times[kSort].own_ns, 14u);
}

TEST(SettleTimes, NoSamplesLeaveItWhereItIs) {
    const std::vector<ProfileNode> nodes = team_nodes();
    const std::vector<SampledShares> inside;
    std::vector<NodeTime> times(kNodes);
    times[kMain].booked_ns = 22;
    times[kRegion].measured_ns = 12;
    TimeSettler(nodes, inside).settle({kProgram, kMain, kRegion}, &times);
    EXPECT_EQ(times[kMain].own_ns, 10u);
    EXPECT_EQ(times[kRegion].own_ns, 12u);
}

// After a reset sample nodes may have no samples.
TEST(SettleTimes, SharesOfNothingAreNone) {
    SampledShares shares;
    shares.add(kSort, 0);
    EXPECT_TRUE(shares.empty());
}

TEST(SettleTimes, WhatHoldsAllSamples) {
    const std::vector<ProfileNode> nodes = team_nodes();
    SampledShares shares;
    shares.add(kRelax, 1);
    EXPECT_EQ(shares.common(kRelax, nodes), uint32_t{kRelax});
    EXPECT_EQ(shares.common(kRegion, nodes), uint32_t{kRegion});
    EXPECT_EQ(shares.common(kSort, nodes), uint32_t{kMain});
}

}  // namespace
}  // namespace dwell
