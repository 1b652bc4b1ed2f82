// Ticks become the same nanoseconds as by a division of 128 bits.
#include "summarize/merge/tick_scale.h"

#include <random>

#include "gtest/gtest.h"

namespace dwell {
namespace {

TEST(TickScale, AgreesWithTheDivision) {
    std::mt19937_64 random(35);
    for (const uint64_t rate : {1ull, 999'999'999ull, 1'000'000'000ull, 1'000'000'001ull,
                                2'100'000'123ull, 3'999'999'999ull, 1ull << 40}) {
        const TickScale clock(rate);
        for (int i = 0; i < 2000; ++i) {
            const uint64_t ticks = random() >> (i % 64);
            ASSERT_EQ(clock.ns(ticks), scale(ticks, 1'000'000'000, rate)) << ticks << " " << rate;
        }
        for (const uint64_t ticks : {uint64_t{0}, uint64_t{1}, rate - 1, rate, UINT64_MAX}) {
            ASSERT_EQ(clock.ns(ticks), scale(ticks, 1'000'000'000, rate)) << ticks << " " << rate;
        }
    }
}

TEST(TickScale, HasNoTimeWithoutARate) { EXPECT_EQ(TickScale().ns(5), 0u); }

}  // namespace
}  // namespace dwell
