// Which computation causes a wait, by the timelines of both ranks: answers by arithmetic.
#include "runtime/exchange/timeline.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace dwell {
namespace {

constexpr uint32_t kOwn = 1;
constexpr uint32_t kLate = 2;
constexpr uint32_t kThird = 3;
constexpr uint64_t kShort = 10;  // ticks

class Timelines : public testing::Test {
  protected:
    static void compute(Timeline* timeline, uint32_t rank, uint32_t path, uint64_t begin,
                        uint64_t end) {
        add_part(timeline, {begin, end, end - begin, rank, path, kNoPeer, 0}, kShort);
    }
    static void wait_for(Timeline* timeline, uint32_t peer, uint32_t rank, uint32_t path,
                         uint64_t begin, uint64_t end) {
        add_part(timeline, {begin, end, end - begin, rank, path, peer, 0}, kShort);
    }
    static void leave_together(Timeline* timeline, uint32_t comm, uint64_t at) {
        add_part(timeline, {at, at, 0, kNoPeer, comm, kTogether, 0}, kShort);
    }
    // The causes of a wait from `begin` to `end`, the largest first.
    std::vector<Share> causes(uint64_t begin, uint64_t end) const {
        const Wait wait{kOwn, kLate, begin, end};
        const uint64_t since = last_in_step(*own_, *late_, wait);
        Shares own = parts_between(*own_, since, begin);
        Shares late = parts_between(*late_, since, end);
        leave_delay(wait, &own, &late);
        std::vector<Share> found;
        Share share;
        uint64_t left = end - begin;
        while (late.take_largest(left, &share)) {
            left -= share.ticks;
            found.push_back(share);
        }
        return found;
    }
    std::unique_ptr<Timeline> own_ = std::make_unique<Timeline>();
    std::unique_ptr<Timeline> late_ = std::make_unique<Timeline>();
};

void expect_only(const std::vector<Share>& causes, uint32_t rank, uint32_t path, uint64_t ticks) {
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_EQ(causes[0].rank, rank);
    EXPECT_EQ(causes[0].path, path);
    EXPECT_EQ(causes[0].ticks, ticks);
}

TEST_F(Timelines, CommonComputationIsNoCause) {
    compute(own_.get(), kOwn, 7, 0, 100);
    compute(own_.get(), kOwn, 8, 100, 600);
    compute(late_.get(), kLate, 7, 0, 200);
    compute(late_.get(), kLate, 8, 200, 700);
    expect_only(causes(600, 700), kLate, 7, 100);
}

TEST_F(Timelines, NoneIsLongerThanItTook) {
    compute(late_.get(), kLate, 7, 0, 300);
    expect_only(causes(0, 1000), kLate, 7, 300);
}

TEST_F(Timelines, IndirectWaitsAreDueToTheirCause) {
    wait_for(late_.get(), kThird, kThird, 9, 0, 300);
    compute(late_.get(), kLate, 7, 300, 320);
    const std::vector<Share> found = causes(0, 320);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].rank, kThird);
    EXPECT_EQ(found[0].ticks, 300u);
    EXPECT_EQ(found[1].rank, kLate);
    EXPECT_EQ(found[1].ticks, 20u);
}

// Each computes 50, and both wait for the same rank: rank 2 for 300, rank 1 for 200.
TEST_F(Timelines, WaitingForTheSameIsNoCause) {
    wait_for(own_.get(), kThird, kThird, 9, 100, 300);
    compute(own_.get(), kOwn, 5, 300, 350);
    wait_for(late_.get(), kThird, kThird, 9, 0, 300);
    compute(late_.get(), kLate, 7, 300, 450);
    expect_only(causes(350, 450), kLate, 7, 100);
}

TEST_F(Timelines, ARankIsNotTheCauseOfItsOwnWait) {
    compute(own_.get(), kOwn, 5, 0, 300);
    wait_for(late_.get(), kThird, kOwn, 5, 0, 300);
    compute(late_.get(), kLate, 7, 300, 350);
    expect_only(causes(300, 350), kLate, 7, 50);
}

TEST_F(Timelines, RanksAreInStepOnceOneHasWaitedForTheOther) {
    compute(late_.get(), kLate, 7, 0, 500);
    wait_for(own_.get(), kLate, kLate, 7, 0, 500);
    compute(own_.get(), kOwn, 5, 500, 600);
    compute(late_.get(), kLate, 8, 500, 700);
    expect_only(causes(600, 700), kLate, 8, 100);
    // The late rank has waited: earlier parts are no cause any more.
    wait_for(late_.get(), kOwn, kOwn, 5, 700, 900);
    compute(late_.get(), kLate, 9, 900, 910);
    expect_only(causes(900, 910), kLate, 9, 10);
}

TEST_F(Timelines, RanksAreInStepAfterACollectiveOfAll) {
    compute(late_.get(), kLate, 7, 0, 500);
    wait_for(own_.get(), kThird, kThird, 9, 0, 600);
    wait_for(late_.get(), kThird, kThird, 9, 500, 600);
    for (Timeline* timeline : {own_.get(), late_.get()}) leave_together(timeline, 4, 600);
    compute(late_.get(), kLate, 8, 600, 650);
    expect_only(causes(600, 650), kLate, 8, 50);
    // Not after a collective of another communicator.
    leave_together(late_.get(), 6, 650);
    compute(late_.get(), kLate, 8, 650, 700);
    expect_only(causes(600, 700), kLate, 8, 100);
}

TEST_F(Timelines, ShortPartsOfOneKindAreSummedUp) {
    for (uint64_t i = 0; i < 1000; ++i) {
        compute(late_.get(), kLate, 7, 10 * i, 10 * i + 6);
        compute(late_.get(), kLate, 8, 10 * i + 6, 10 * i + 8);
    }
    EXPECT_EQ(late_->count, 2u);
    const Shares all = parts_between(*late_, 0, 10'000);
    EXPECT_EQ(all.ticks_of(kLate, 7), 6000u);
    const Shares half = parts_between(*late_, 5000, 10'000);
    EXPECT_NEAR(static_cast<double>(half.ticks_of(kLate, 7)), 3000, 10);
    compute(late_.get(), kLate, 7, 10'000, 10'500);
    EXPECT_EQ(late_->count, 3u);
}

// A sum may end later than parts that began after it.
TEST_F(Timelines, SumsBehindEarlierPartsAreRead) {
    const auto interrupted = [this](const auto& add_short) {
        add_short(0, 5);
        compute(late_.get(), kLate, 6, 5, 100);
        for (uint64_t at = 100; at < 300; at += 10) add_short(at, at + 9);  // added to the sum
        for (uint32_t path = 7; path < 7 + kReaching; ++path) {
            compute(late_.get(), kLate, path, 100 * (path - 4), 100 * (path - 3));
        }
    };
    interrupted(
        [this](uint64_t begin, uint64_t end) { compute(late_.get(), kLate, 5, begin, end); });
    ASSERT_EQ(late_->count, 2 + kReaching);
    // Of 185 ticks between 0 and 299, those after 150.
    EXPECT_EQ(parts_between(*late_, 150, 700).ticks_of(kLate, 5), 149u * 185 / 299);
    // The late rank waited for the other one until 299, and the other for it until 150.
    late_ = std::make_unique<Timeline>();
    interrupted(
        [this](uint64_t begin, uint64_t end) { wait_for(late_.get(), kOwn, kOwn, 5, begin, end); });
    wait_for(own_.get(), kLate, kLate, 7, 100, 150);
    EXPECT_EQ(last_in_step(*own_, *late_, {kOwn, kLate, 600, 700}), 299u);
}

// Several waits for the same rank.
TEST_F(Timelines, AnEarlierWaitBehindOneThatEndedBeforeIsRenamed) {
    for (uint64_t at = 0; at < 60; at += 10) wait_for(own_.get(), kThird, kThird, 9, at, at + 9);
    compute(own_.get(), kOwn, 6, 60, 80);
    for (uint64_t at = 80; at < 180; at += 10) wait_for(own_.get(), kThird, kThird, 9, at, at + 9);
    for (uint32_t path = 20; path < 20 + kReaching; ++path) {
        compute(own_.get(), kOwn, path, 10 * (path - 2), 10 * (path - 1));
    }
    Shares own;
    own.add(kThird, 9, 16 * 9);
    Shares late;
    late.add(kLate, 7, 1000);
    rename_waits(own_.get(), 85, &own, &late);
    EXPECT_EQ(own_->parts[0].rank, kLate);
    EXPECT_EQ(own_->parts[0].path, 7u);
}

TEST_F(Timelines, PartsTooFarBackAreNotCompared) {
    compute(late_.get(), kLate, 99, 0, 100'000);
    for (uint64_t i = 0; i < kParts; ++i) {
        const uint64_t begin = 100'000 + 100 * i;
        compute(late_.get(), kLate, static_cast<uint32_t>(i), begin, begin + 100);
    }
    for (const Share& share : causes(0, 100'000 + 100 * kParts)) {
        EXPECT_NE(share.path, 99u);
        EXPECT_EQ(share.ticks, 100u);
    }
}

// Rank 1 waited 40 for rank 3, and then 40 for rank 2, which computed 100: without rank 3 it would
// have waited 80 for rank 2.
TEST_F(Timelines, AnEarlierWaitIsDueToTheRankThatIsAsLate) {
    compute(own_.get(), kOwn, 5, 0, 20);
    wait_for(own_.get(), kThird, kThird, 9, 20, 60);
    compute(late_.get(), kLate, 7, 0, 100);
    const Wait wait{kOwn, kLate, 60, 100};
    Shares own = parts_between(*own_, 0, 60);
    Shares late = parts_between(*late_, 0, 100);
    leave_delay(wait, &own, &late);
    Share share;
    ASSERT_TRUE(late.take_largest(40, &share));
    rename_waits(own_.get(), 0, &own, &late);
    wait_for(own_.get(), kLate, share.rank, share.path, 60, 100);
    const Shares now = parts_between(*own_, 0, 100);
    EXPECT_EQ(now.ticks_of(kThird, 9), 0u);
    EXPECT_EQ(now.ticks_of(kLate, 7), 80u);
}

TEST_F(Timelines, TheFirstCollectivesOfTwoCommunicatorsAreTwoParts) {
    leave_together(own_.get(), 5, 10);
    leave_together(own_.get(), kWorldTogether, 20);
    EXPECT_EQ(own_->count, 2u);
}

TEST_F(Timelines, ShortWaitsAreAddedToThoseThatGotTheirCauseLater) {
    wait_for(own_.get(), kThird, kThird, 9, 0, 8);
    compute(late_.get(), kLate, 7, 0, 8);
    Shares own = parts_between(*own_, 0, 8);
    Shares late = parts_between(*late_, 0, 8);
    rename_waits(own_.get(), 0, &own, &late);
    wait_for(own_.get(), kThird, kLate, 7, 10, 18);
    wait_for(own_.get(), kThird, kThird, 9, 20, 28);
    EXPECT_EQ(own_->count, 2u);
    const Shares all = parts_between(*own_, 0, 28);
    EXPECT_EQ(all.ticks_of(kLate, 7), 16u);
    EXPECT_EQ(all.ticks_of(kThird, 9), 8u);
}

// With several threads in MPI at a time.
TEST(TimelineOfThreads, AnotherOneWritesOnceTheWriterHasEnded) {
    const auto first = std::make_unique<Thread>();
    const auto second = std::make_unique<Thread>();
    g_process.concurrent = true;
    EXPECT_TRUE(writes_timeline(first.get()));
    leave_timeline(second.get());
    EXPECT_FALSE(writes_timeline(second.get()));
    EXPECT_TRUE(writes_timeline(first.get()));
    leave_timeline(first.get());
    EXPECT_TRUE(writes_timeline(second.get()));
    EXPECT_FALSE(writes_timeline(first.get()));
    leave_timeline(second.get());
    g_process.concurrent = false;
}

}  // namespace
}  // namespace dwell
