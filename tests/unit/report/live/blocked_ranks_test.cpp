// Who cannot go on: by hand for small graphs.
#include "report/live/blocked_ranks.h"

#include <gtest/gtest.h>

namespace dwell {
namespace {

using Ranks = std::set<uint32_t>;

WaitsFor all(std::vector<uint32_t> ranks) { return {Needs::kAll, std::move(ranks)}; }
WaitsFor any(std::vector<uint32_t> ranks) { return {Needs::kAny, std::move(ranks)}; }

TEST(BlockedRanks, ThatWaitForEachOther) {
    EXPECT_EQ(stuck_ranks({{0, all({1})}, {1, all({0})}}, {}), (Ranks{0, 1}));
}

TEST(BlockedRanks, NobodyWhereOneComputes) {
    EXPECT_EQ(stuck_ranks({{0, all({1})}, {1, all({2})}}, {}), Ranks{});
}

TEST(BlockedRanks, ThoseThatWaitForThem) {
    EXPECT_EQ(stuck_ranks({{0, all({1})}, {1, all({0})}, {2, all({1})}, {3, all({4})}}, {}),
              (Ranks{0, 1, 2}));
}

// A collective lacks two members, of whom one comes and one never does.
TEST(BlockedRanks, ACollectiveNeedsAll) {
    EXPECT_EQ(stuck_ranks({{0, all({1, 2})}, {1, all({0})}}, {}), (Ranks{0, 1}));
}

TEST(BlockedRanks, AReceiveOfAnyNeedsOne) {
    EXPECT_EQ(stuck_ranks({{0, any({1, 2})}, {1, all({0})}}, {}), Ranks{});
    EXPECT_EQ(stuck_ranks({{0, any({1, 2})}, {1, all({0})}, {2, all({0})}}, {}), (Ranks{0, 1, 2}));
}

TEST(BlockedRanks, OneThatIsNeededSurely) {
    WaitsFor both = any({1, 2});
    EXPECT_EQ(stuck_ranks({{0, both}, {1, all({0})}}, {}), Ranks{});
    both.sure = {1};
    EXPECT_EQ(stuck_ranks({{0, both}, {1, all({0})}}, {}), (Ranks{0, 1}));
}

TEST(BlockedRanks, ThatWaitForOneThatHasGone) {
    EXPECT_EQ(stuck_ranks({{0, all({1})}, {2, any({1, 3})}}, {1}), Ranks{0});
}

TEST(BlockedRanks, ThatWaitForNobodyKnownGoOn) {
    EXPECT_EQ(stuck_ranks({{0, all({})}, {1, all({0})}}, {}), Ranks{});
}

}  // namespace
}  // namespace dwell
