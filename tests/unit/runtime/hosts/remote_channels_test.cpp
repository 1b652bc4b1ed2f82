// Time stamps between hosts: the relation of clocks, and matching stamps to messages.
#include "runtime/hosts/remote_channels.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/hosts/clock_relation.h"
#include "runtime/mpi/mpi_api.h"

namespace dwell {
namespace {

// Another host's clock: `offset` ahead, and faster by `drift`.
struct OtherClock {
    int64_t offset;
    double drift;
    uint64_t at(uint64_t own) const {
        return own + static_cast<uint64_t>(offset) +
               static_cast<uint64_t>(static_cast<double>(own) * drift);
    }
};

// Round trips of at least `least` ticks each way, with more noise on the way there.
ClockPair measure(const OtherClock& other, uint64_t start, uint64_t least, int exchanges,
                  std::mt19937* random) {
    ClockEstimate estimate;
    std::exponential_distribution<double> there(1.0 / 20000);
    std::exponential_distribution<double> back(1.0 / 2000);
    uint64_t now = start;
    for (int i = 0; i < exchanges; ++i) {
        const uint64_t asked = now;
        now += least + static_cast<uint64_t>(there(*random));
        const uint64_t answered = other.at(now);
        now += least + static_cast<uint64_t>(back(*random));
        estimate.add({asked, answered, now});
    }
    EXPECT_TRUE(estimate.known());
    return estimate.best();
}

TEST(ClockRelation, TheErrorIsNeverAboveItsBound) {
    std::mt19937 random(7);
    for (int64_t offset : {int64_t{0}, int64_t{1} << 50, int64_t{-12345678}}) {
        for (int run = 0; run < 200; ++run) {
            const OtherClock other{offset, 0};
            const ClockPair pair = measure(other, uint64_t{1} << 40, 30000, 50, &random);
            const auto error = static_cast<int64_t>(pair.reference - other.at(pair.own));
            EXPECT_LE(static_cast<uint64_t>(error < 0 ? -error : error), pair.bound);
            // The quickest of 50 took little longer than two times 30000.
            EXPECT_LT(pair.bound, 40000u);
            EXPECT_GE(pair.bound, 30000u);
        }
    }
}

TEST(ClockRelation, AnAsymmetricExchangeIsWrongByHalfOfTheDifference) {
    // 100 there, 40 back: stamped at own time 1100, estimated as 1070.
    const ClockPair pair = pair_of({1000, 500000 + 1100, 1140});
    EXPECT_EQ(pair.own, 1070u);
    EXPECT_EQ(pair.reference, 501100u);
    EXPECT_EQ(pair.bound, 70u);
}

TEST(ClockRelation, ThereAndBack) {
    const ClockRelation equal{1000, 5'000'000'000'000, 0};
    EXPECT_EQ(equal.to_reference(1000), 5'000'000'000'000u);
    EXPECT_EQ(equal.to_reference(500), 4'999'999'999'500u);
    EXPECT_EQ(equal.to_own(5'000'000'000'123), 1123u);
    const ClockRelation behind{uint64_t{1} << 60, 77, 0};  // the reference restarted
    EXPECT_EQ(behind.to_reference((uint64_t{1} << 60) + 5), 82u);
    EXPECT_EQ(behind.to_own(82), (uint64_t{1} << 60) + 5);
    // 3 GHz in ticks of 2 GHz: 3e9 ticks are 2e9.
    const ClockRelation slower = relation_at({100, 1000, 0}, 3'000'000'000, 2'000'000'000);
    EXPECT_NEAR(static_cast<double>(slower.to_reference(3'000'000'100)), 2'000'001'000, 1);
    EXPECT_NEAR(static_cast<double>(slower.to_own(2'000'001'000)), 3'000'000'100, 1);
}

TEST(ClockRelation, RatesThatDifferByNoMoreThanTheirErrorAreEqual) {
    EXPECT_EQ(relation_at({0, 0, 0}, 3'000'000'000, 3'000'600'000).excess, 0);
    EXPECT_NEAR(relation_at({0, 0, 0}, 3'000'000'000, 3'030'000'000).excess, 1e-2, 1e-9);
}

TEST(ClockRelation, ReviewFindsTheDrift) {
    std::mt19937 random(11);
    // 10 in 10^6 faster for 3e10 ticks: 3e5 ticks ahead at the end.
    const OtherClock other{1 << 30, 1e-5};
    const ClockPair start = measure(other, 1'000'000, 1000, 50, &random);
    const ClockPair end = measure(other, 30'001'000'000, 1000, 50, &random);
    const ClockRelation relation = relation_at(start, 1000, 1000);
    const ClockReview found = review(relation, start, end);
    const auto noise = static_cast<double>(start.bound + end.bound);
    EXPECT_NEAR(static_cast<double>(found.drift), 300'000, noise);
    // Times in between are wrong by no more than the bound.
    for (uint64_t own = 2'000'000; own < 30'000'000'000; own += 999'999'937) {
        const auto error = static_cast<int64_t>(relation.to_own(other.at(own)) - own);
        EXPECT_LE(static_cast<uint64_t>(error < 0 ? -error : error), found.bound + start.bound);
    }
}

class RemoteChannels : public testing::Test {
  protected:
    void SetUp() override {
        live_ = LivePage{};
        g_live = &live_;
        header_ = FileHeader{};
        g_process.header = &header_;
        g_remote_uncounted = false;
    }
    // a sends message `id`, with or without a stamp.
    void send(uint32_t id, int tag, bool stamped, uint32_t comm = 1) {
        ChannelEntry entry{};
        entry.stamp = {{id * 1000, id * 900}, id, kNoPeer, 0, 0};
        if (count_sent(&a_, comm, tag, &entry) && stamped) put_entry(&b_, entry);
    }
    // The id of the message that b received, 0 when it is not known.
    uint32_t receive(int tag, uint32_t post_order = 0, uint32_t comm = 1) {
        EnterStamp stamp{};
        const RemoteNumber number = count_received(&b_, comm, tag, post_order);
        guessed_ = number.guessed;
        return take_remote(&b_, comm, tag, number, &stamp) ? stamp.path : 0;
    }
    // The same for a probe.
    uint32_t probe(int tag) {
        EnterStamp stamp{};
        const RemoteNumber number = next_to_receive(&b_, 1, tag);
        guessed_ = number.guessed;
        return find_remote(&b_, 1, tag, number, &stamp) ? stamp.path : 0;
    }
    LivePage live_;
    FileHeader header_{};
    RemoteChannel a_{};
    RemoteChannel b_{};
    bool guessed_ = false;
};

TEST_F(RemoteChannels, SomeOfTheMessagesAreStamped) {
    for (uint32_t id = 1; id <= 1000; ++id) {
        send(id, 5, id % 7 == 0);
        EXPECT_EQ(receive(5), id % 7 == 0 ? id : 0);
        EXPECT_FALSE(guessed_);
    }
}

TEST_F(RemoteChannels, InAnyOrderOfTags) {
    for (uint32_t round = 0; round < 100; ++round) {
        const uint32_t id = round * 10 + 1;
        send(id, 1, false);
        send(id + 1, 1, true);
        send(id + 2, 2, true);
        send(id + 3, 1, true, 9);
        EXPECT_EQ(receive(2), id + 2);
        EXPECT_EQ(receive(1), 0u);
        EXPECT_EQ(receive(1), id + 1);
        EXPECT_EQ(receive(1, 0, 9), id + 3);
    }
}

TEST_F(RemoteChannels, ProbesLeaveTheStampForTheReceive) {
    for (uint32_t id = 1; id <= 100; ++id) {
        const bool stamped = id % 3 == 0;
        send(id, 5, stamped);
        EXPECT_EQ(probe(5), stamped ? id : 0);
        EXPECT_EQ(probe(5), stamped ? id : 0);
        EXPECT_FALSE(guessed_);
        EXPECT_EQ(receive(5), stamped ? id : 0);
    }
    const uint32_t posted = post_remote(&b_, 1, 5);
    send(101, 5, true);
    send(102, 5, true);
    EXPECT_EQ(probe(5), 102u);  // perhaps, as the pending receive may get the first
    EXPECT_TRUE(guessed_);
    EXPECT_EQ(receive(5, posted), 101u);
}

TEST_F(RemoteChannels, ALateStampIsNotTakenForAnother) {
    ChannelEntry entry{};
    entry.stamp.path = 1;
    entry.stamp.at.real = 1;
    ASSERT_TRUE(count_sent(&a_, 1, 5, &entry));
    EXPECT_EQ(receive(5), 0u);
    put_entry(&b_, entry);
    send(2, 5, false);
    EXPECT_EQ(receive(5), 0u);
    for (uint32_t id = 3; id < 100; ++id) {
        send(id, 5, true);
        EXPECT_EQ(receive(5), id);
    }
}

TEST_F(RemoteChannels, ReceivesAreOrderedWhenTheyArePosted) {
    const uint32_t first = post_remote(&b_, 1, 5);
    const uint32_t second = post_remote(&b_, 1, 5);
    send(1, 5, true);
    send(2, 5, true);
    send(3, 5, true);
    EXPECT_EQ(receive(5, second), 2u);
    EXPECT_FALSE(guessed_);
    EXPECT_EQ(receive(5), 3u);  // perhaps, as an earlier receive is still pending
    EXPECT_TRUE(guessed_);
    EXPECT_EQ(receive(5, first), 1u);
}

TEST_F(RemoteChannels, UnreceivedEntriesMakeRoom) {
    for (uint32_t id = 1; id <= 1000; ++id) send(id, 8, true);
    for (uint32_t id = 2001; id <= 2100; ++id) {
        send(id, 5, true);
        EXPECT_EQ(receive(5), id);
    }
}

TEST_F(RemoteChannels, TagsBeyondThoseThatAreCountedApartAreLabelled) {
    for (uint32_t id = 1; id <= 400; ++id) {
        send(id, static_cast<int>(id), true);
        EXPECT_EQ(receive(static_cast<int>(id)), id);
        EXPECT_EQ(guessed_, id > kExactKinds);
    }
}

// Both sides meet the tags in different orders, so they keep different kinds apart.
TEST_F(RemoteChannels, DifferentTablesNeverGiveAnotherMessage) {
    for (uint32_t id = 1; id <= 40; ++id) send(id, static_cast<int>(id), true);
    for (uint32_t id = 40; id >= 1; --id) {
        const uint32_t got = receive(static_cast<int>(id));
        EXPECT_TRUE(got == 0 || got == id) << id << " " << got;
    }
}

TEST_F(RemoteChannels, NothingIsStampedOnceMessagesMayHaveBeenMissed) {
    send(1, 5, true);
    live_.paused_ticks = 10;
    EXPECT_EQ(receive(5), 0u);
    send(2, 5, true);
    EXPECT_EQ(receive(5), 0u);
    live_.paused_ticks = 0;
    send(3, 5, true);
    EXPECT_EQ(receive(5), 0u);  // still
}

// An answer goes to the message that asked, once.
TEST_F(RemoteChannels, QuestionsBelongToTheirMessages) {
    ChannelEntry entry{};
    auto asks = [&](int tag) {
        entry = ChannelEntry{};
        entry.stamp.at.real = 1;
        EXPECT_TRUE(count_sent(&a_, 1, tag, &entry));
        set_question(&entry, next_question(&a_));
        put_entry(&b_, entry);
        return question_of(entry);
    };
    send(1, 5, false);
    const uint32_t first = asks(5);
    const uint32_t other = asks(6);
    EXPECT_EQ(take_question(&b_, 1, 5, 0), 0u);  // the next receive gets the message before
    EXPECT_EQ(receive(5), 0u);
    EXPECT_EQ(take_question(&b_, 1, 5, 0), first);
    EXPECT_EQ(take_question(&b_, 1, 5, 0), 0u);
    const uint32_t post_order = post_remote(&b_, 1, 6);
    EXPECT_EQ(take_question(&b_, 1, 6, 0), 0u);  // belongs to the posted receive
    EXPECT_EQ(take_question(&b_, 1, 6, post_order), other);
    EnterStamp stamp{};
    EXPECT_FALSE(find_answer(a_, first, &stamp));
    put_answer(&a_, other, {{7, 6}, 5, kNoPeer, 0, 0});
    EXPECT_FALSE(find_answer(a_, first, &stamp));
    ASSERT_TRUE(find_answer(a_, other, &stamp));
    EXPECT_EQ(stamp.at.real, 7u);
    EXPECT_FALSE(find_answer(a_, 0, &stamp));
}

TEST_F(RemoteChannels, ANoticesLossRateIsExtrapolated) {
    send(10, 5, true);  // at 10000, 1000 lost
    // Much more is lost since, but only by sending stamps: the notice says an eighth of the time.
    note_stamp(&b_, {{10'000 + kRateTicks, 10'000}, 77, kNoPeer, 0, 0});
    b_.loss_is_known = true;
    b_.loss = 32;
    uint64_t lost = 0;
    EXPECT_TRUE(lost_by_partner(b_, 10'000 + kRateTicks + 8'000, &lost));
    EXPECT_EQ(lost, kRateTicks + 1'000);
}

TEST_F(RemoteChannels, APartnersIntrusionIsExtrapolated) {
    uint64_t lost = 0;
    EXPECT_FALSE(lost_by_partner(b_, 5000, &lost));
    send(10, 5, true);  // at 10000, 1000 lost
    EXPECT_TRUE(lost_by_partner(b_, 12000, &lost));
    EXPECT_EQ(lost, 1000u);
    auto stamp_at = [&](uint64_t real, uint64_t lost_then) {
        note_stamp(&b_, {{real, real - lost_then}, 77, kNoPeer, 0, 0});
    };
    auto lost_at = [&](uint64_t at) {
        EXPECT_TRUE(lost_by_partner(b_, at, &lost));
        return static_cast<double>(lost);
    };
    // Soon after, half of the time is lost, which is not extrapolated.
    stamp_at(11'000, 1'500);
    EXPECT_EQ(lost_at(50'000), 1'500);
    const uint64_t later = 10'000 + kRateTicks;
    stamp_at(later, 1'000 + kRateTicks / 10);  // one tick in ten
    EXPECT_NEAR(lost_at(later + 30'000), 1'000 + kRateTicks * 0.1 + 3'000, 2);
    stamp_at(later + 200, 1'000 + kRateTicks / 10 + 100);  // again soon after
    EXPECT_NEAR(lost_at(later + 10'200), 1'000 + kRateTicks * 0.1 + 1'100, 10);
    EXPECT_EQ(lost_at(later),
              1'100 + kRateTicks / 10);  // before the last stamp: no less than it holds
}

}  // namespace
}  // namespace dwell
