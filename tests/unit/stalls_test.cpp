// Whether a rank was late for something else than computing (docs/waiting.md, "Causes that are no
// computation").
#include "report/stalls.h"

#include <gtest/gtest.h>

#include "tests/unit/sample_profiles.h"

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

// Three ranks wait 10 times for rank 0, 300 ms each in all.
StallKind cause(const std::vector<ProfileStall>& stalls) {
    return stall_of_cause(stalls, 4, 0, 30, 900 * kMs).kind;
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

TEST(Stalls, PartsOfOneRankAddUp) {
    const Stall both =
        stall_of_cause({stall(0, 80, 0, 0), stall(0, 80, 0, 0)}, 4, 0, 60, 900 * kMs);
    EXPECT_EQ(both.kind, StallKind::kIo);
    EXPECT_EQ(both.times.time_ns, 2000 * kMs);
}

TEST(Stalls, HardlyAnyWaitingForAProcessorIsNone) {
    Profile profile = samples::halo_profile();  // 40 s
    profile.ranks[1].queued_ns = 190 * kMs;
    EXPECT_EQ(queued_times(profile).work_ns, 0u);
    profile.ranks[2].queued_call_ns = 20 * kMs;
    EXPECT_EQ(queued_times(profile).work_ns, 190 * kMs);
    EXPECT_EQ(queued_times(profile).call_ns, 20 * kMs);
}

TEST(Stalls, SaysSoWhereTheKernelDoesNotCount) {
    Profile profile = samples::halo_profile();
    const Stall asleep{StallKind::kAsleep, stall(0, 0, 900, 0)};
    EXPECT_EQ(stall_words(profile, asleep).verb, "does I/O or sleeps");
    EXPECT_EQ(stall_words(profile, asleep).share, "on a processor 10.0 %");
    EXPECT_EQ(stall_words(profile, asleep).advice, ", try --io on");
    profile.ranks[3].flags |= kFileNoQueue;
    EXPECT_EQ(stall_words(profile, asleep).verb, "sleeps, does I/O or has no processor");
    // What else it may be is known with --io on.
    EXPECT_EQ(stall_words(samples::io_profile(), asleep).verb, "sleeps or waits outside of MPI");
    EXPECT_EQ(stall_words(samples::io_profile(), asleep).advice, "");
}

}  // namespace
}  // namespace dwell
