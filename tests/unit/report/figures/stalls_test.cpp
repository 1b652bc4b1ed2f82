// Tests whether another activity than computing made a rank late (docs/causes.md, "Causes that are
// no computation").
#include "report/figures/stalls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/figures/figures.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using samples::kMs;

ProfileStall stall(uint32_t rank, uint64_t io_ms, uint64_t asleep_ms, uint64_t queued_ms) {
    ProfileStall made;
    made.rank = rank;
    made.count = 10;
    made.time_ns = 1000 * kMs;
    made.io_ns = io_ms * kMs;
    made.asleep_ns = asleep_ms * kMs;
    made.queued_ns = queued_ms * kMs;
    return made;
}

LongParts parts_of(const std::vector<ProfileStall>& stalls, uint64_t beside_ns = 0) {
    LongParts parts;
    for (const ProfileStall& each : stalls) parts.add(each);
    parts.beside_ns = beside_ns;
    return parts;
}

// Three ranks wait 10 times for rank 0, 300 ms each in total.
StallKind cause(const std::vector<ProfileStall>& stalls) {
    return stall_of_cause(parts_of(stalls), 4, 0, 30, 900 * kMs).kind;
}

TEST(Stalls, WhatExplainsHalfOfTheWaitingIsTheCause) {
    EXPECT_EQ(cause({}), StallKind::kNone);
    EXPECT_EQ(cause({stall(1, 900, 0, 0)}), StallKind::kNone);
    EXPECT_EQ(cause({stall(0, 0, 140, 0)}), StallKind::kNone);
    EXPECT_EQ(cause({stall(0, 0, 160, 0)}), StallKind::kAsleep);
    EXPECT_EQ(cause({stall(0, 200, 160, 0)}), StallKind::kIo);
    EXPECT_EQ(cause({stall(0, 0, 160, 170)}), StallKind::kQueued);
}

TEST(Stalls, WhatAllRanksDoAlikeMakesNoneOfThemLate) {
    const auto all = [](uint64_t most_ms) {
        return std::vector<ProfileStall>{stall(0, 0, most_ms, 0), stall(1, 0, 500, 0),
                                         stall(2, 0, 510, 0), stall(3, 0, 600, 0)};
    };
    EXPECT_EQ(cause(all(600)), StallKind::kNone);
    EXPECT_EQ(cause(all(700)), StallKind::kAsleep);
}

// Independent of the number of parts of a computation that are added up.
TEST(Stalls, TheStatementThatTookMostIsNamed) {
    std::vector<ProfileStall> parts = {stall(0, 100, 0, 0), stall(0, 110, 0, 0),
                                       stall(0, 180, 0, 0), stall(0, 10, 0, 0)};
    for (uint32_t i = 0; i < parts.size(); ++i) parts[i].io_node = 4 + i;
    const Stall found = stall_of_cause(parts_of(parts), 4, 0, 120, 900 * kMs);
    EXPECT_EQ(found.kind, StallKind::kIo);
    EXPECT_EQ(found.times.io_node, 6u);
    EXPECT_EQ(found.times.io_ns, 400 * kMs);
}

// Writing files is both sleep and kernel time.
TEST(Stalls, SleepAndTimeInTheKernelTogetherAreACause) {
    ProfileStall both = stall(0, 0, 90, 0);
    both.kernel_ns = 70 * kMs;
    EXPECT_EQ(cause({both}), StallKind::kAsleep);
    both.kernel_ns = 50 * kMs;
    EXPECT_EQ(cause({both}), StallKind::kNone);
    both.queued_ns = 170 * kMs;
    EXPECT_EQ(cause({both}), StallKind::kQueued);
}

// All ranks compute for 500 ms and have no processor for as long, in turn: computing makes none of
// them late.
TEST(Stalls, RanksThatLoseTheirProcessorsInTurnDoNotComputeLonger) {
    std::vector<ProfileStall> stalls;
    for (uint32_t rank = 0; rank < 4; ++rank) stalls.push_back(stall(rank, 0, 0, 500));
    EXPECT_EQ(cause(stalls), StallKind::kQueued);
    stalls[0].time_ns = 1140 * kMs;  // longer by 140 ms, 280 with its share of a processor
    EXPECT_EQ(cause(stalls), StallKind::kNone);
    stalls[0].time_ns = 1060 * kMs;
    EXPECT_EQ(cause(stalls), StallKind::kQueued);
    // The others' computation is unknown.
    stalls.pop_back();
    EXPECT_EQ(cause(stalls), StallKind::kNone);
}

// Rank 0 computes three times as long as the others. With half of a processor for each, it also
// lacks one three times as long: computing makes it late.
TEST(Stalls, WhoComputesLongerHasNoProcessorForLonger) {
    std::vector<ProfileStall> stalls = {stall(0, 0, 0, 1500)};
    stalls[0].time_ns = 3000 * kMs;
    for (uint32_t rank = 1; rank < 4; ++rank) stalls.push_back(stall(rank, 0, 0, 500));
    EXPECT_EQ(cause(stalls), StallKind::kNone);
    stalls[0].time_ns = 2000 * kMs;  // computes as long, with a smaller share of a processor
    EXPECT_EQ(cause(stalls), StallKind::kQueued);
}

TEST(Stalls, PartsOfOneRankAddUp) {
    const Stall both =
        stall_of_cause(parts_of({stall(0, 80, 0, 0), stall(0, 80, 0, 0)}), 4, 0, 60, 900 * kMs);
    EXPECT_EQ(both.kind, StallKind::kIo);
    EXPECT_EQ(both.times.time_ns, 2000 * kMs);
}

// Rank 0 sleeps through 960 ms of 1 s, in 10 parts. Rank 1 waits for it after each part, ranks 2
// and 3 once after all parts: 12 waits of three ranks.
TEST(Stalls, NobodyWaitsLongerThanTheRankWasAtIt) {
    const auto of = [](uint64_t asleep_ms, uint64_t beside_ms) {
        const LongParts parts = parts_of({stall(0, 0, asleep_ms, 0)}, beside_ms * kMs);
        return stall_of_cause(parts, 4, 0, 12, 2880 * kMs).kind;
    };
    EXPECT_EQ(of(960, 0), StallKind::kAsleep);
    EXPECT_EQ(of(500, 0), StallKind::kAsleep);
    EXPECT_EQ(of(490, 0), StallKind::kNone);
    // With further short parts rank 0 may have computed that long.
    EXPECT_EQ(of(960, 900), StallKind::kAsleep);
    EXPECT_EQ(of(960, 1000), StallKind::kNone);
}

TEST(Stalls, HardlyAnyWaitingForAProcessorIsNone) {
    Profile profile = samples::halo_profile();  // 40 s
    profile.ranks[1].queued_ns = 190 * kMs;
    EXPECT_EQ(queued_times(profile).work_ns, 0u);
    profile.ranks[2].queued_call_ns = 20 * kMs;
    EXPECT_EQ(queued_times(profile).work_ns, 190 * kMs);
    EXPECT_EQ(queued_times(profile).call_ns, 20 * kMs);
}

// Ranks of one host with as many threads, by their processors: number and first one.
Holders holders(const std::vector<std::pair<uint32_t, uint32_t>>& sets, uint32_t threads = 1) {
    Profile profile;
    for (const auto& [processors, first] : sets) {
        ProfileRank rank;
        rank.host = "node01";
        rank.threads = threads;
        rank.processors = processors;
        rank.first_processor = first;
        profile.ranks.push_back(rank);
    }
    return holders_of_processors(profile);
}

TEST(Stalls, RanksShareProcessorsWhereTheirThreadsAreMore) {
    EXPECT_EQ(holders({{2, 0}, {2, 0}}).who, Holder::kOtherPrograms);
    EXPECT_EQ(holders({{1, 0}, {1, 1}}).who, Holder::kOtherPrograms);
    EXPECT_EQ(holders({{4, 0}, {4, 0}}, 2).who, Holder::kOtherPrograms);
    const Holders ranks = holders({{2, 0}, {2, 0}, {2, 0}, {2, 0}});
    EXPECT_EQ(ranks.who, Holder::kRanks);
    EXPECT_EQ(ranks.ranks, 4u);
    EXPECT_EQ(ranks.processors, 2u);
    const Holders threads = holders({{2, 0}, {2, 0}}, 2);
    EXPECT_EQ(threads.who, Holder::kRanks);
    EXPECT_EQ(threads.threads, 4u);
    // Two of three are bound to one processor.
    const Holders bound = holders({{1, 3}, {1, 3}, {4, 4}});
    EXPECT_EQ(bound.who, Holder::kRanks);
    EXPECT_EQ(bound.ranks, 2u);
    EXPECT_EQ(bound.processors, 1u);
    EXPECT_EQ(holders({{2, 0}, {0, 0}, {2, 0}}).who, Holder::kUnknown);
}

TEST(Stalls, RanksOfOtherHostsShareNothing) {
    Profile profile = samples::halo_profile();
    for (ProfileRank& rank : profile.ranks) rank.processors = 1;
    for (size_t i = 0; i < profile.ranks.size(); ++i) profile.ranks[i].host = fmt::format("{}", i);
    EXPECT_EQ(holders_of_processors(profile).who, Holder::kOtherPrograms);
}

TEST(Stalls, SaysSoWhereTheKernelDoesNotCount) {
    Profile profile = samples::halo_profile();
    const Stall asleep{StallKind::kAsleep, stall(0, 0, 900, 0)};
    EXPECT_EQ(stall_words(profile, asleep).verb, "does I/O or sleeps");
    EXPECT_EQ(stall_words(profile, asleep).share, "on a processor 10.0 % of the time");
    EXPECT_TRUE(stall_words(profile, asleep).try_io);
    profile.ranks[3].flags |= kFileNoQueue;
    EXPECT_EQ(stall_words(profile, asleep).verb, "sleeps, does I/O or has no processor");
    // With --io on, I/O is excluded.
    profile.ranks[3].flags = kFileIo;
    EXPECT_EQ(stall_words(profile, asleep).verb, "sleeps or waits outside of MPI");
    EXPECT_FALSE(stall_words(profile, asleep).try_io);
}

}  // namespace
}  // namespace dwell
