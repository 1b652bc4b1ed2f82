// The clock never goes back, and its rate agrees with another clock.
#include "runtime/process/clock.h"

#include <gtest/gtest.h>

namespace dwell {
namespace {

TEST(Clock, NeverGoesBack) {
    uint64_t before = read_tsc();
    for (int i = 0; i < 100'000; ++i) {
        const uint64_t now = read_tsc();
        ASSERT_GE(now, before);
        before = now;
    }
}

// Ticks of two time spans are proportional to their lengths. A disturbed span (the machine is
// shared) is measured again.
TEST(Clock, TicksAreProportionalToTime) {
    if (!has_invariant_tsc()) GTEST_SKIP() << "no invariant time stamp counter on this machine";
    auto ticks_per_ns = [](uint64_t wanted_ns) {
        const uint64_t start_ns = monotonic_ns();
        const uint64_t start = read_tsc();
        uint64_t end_ns = start_ns;
        while (end_ns - start_ns < wanted_ns) end_ns = monotonic_ns();
        return static_cast<double>(read_tsc() - start) / static_cast<double>(end_ns - start_ns);
    };
    for (int attempt = 0; attempt < 10; ++attempt) {
        const double ratio = ticks_per_ns(5'000'000) / ticks_per_ns(20'000'000);
        if (ratio > 0.999 && ratio < 1.001) return;
    }
    FAIL() << "the tick rate is not constant within 0.1 % in ten attempts";
}

TEST(Clock, UnixTimeIsAfterThisWasWritten) {
    EXPECT_GT(unix_ns(), 1'700'000'000'000'000'000);  // November 2023
}

}  // namespace
}  // namespace dwell
