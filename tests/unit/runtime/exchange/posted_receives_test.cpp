// More posted receives from one rank than kPosted, and freed ones (posted_receives.h).
#include "runtime/exchange/posted_receives.h"

#include <vector>

#include "tests/unit/support/channel_pair.h"

namespace dwell {
namespace {

class ManyReceives : public ChannelPair {
  protected:
    void post_many(uint32_t count, int tag) {
        for (uint32_t i = 0; i < count; ++i) tickets_.push_back(post(&b_, kWorld, tag));
    }
    // Receives of other tags: those posted later overflow.
    void post_most() {
        for (int i = 0; i < kPosted; ++i) first_.push_back(post(&b_, kWorld, 100 + i));
    }
    void complete_first(int count) {
        for (int i = 0; i < count; ++i) {
            send(100 + static_cast<uint32_t>(i), 100 + i);
            EXPECT_EQ(receive(100 + i, kWorld, first_[static_cast<size_t>(i)]), 100u + i);
            EXPECT_FALSE(guessed_);
        }
    }
    void free_many(uint32_t count, int tag) {
        for (uint32_t i = 0; i < count; ++i) {
            leave_posted(&b_, post(&b_, kWorld, tag), kWorld, tag);
        }
    }
    void send_many(uint32_t first, uint32_t count, int tag) {
        for (uint32_t id = first; id < first + count; ++id) send(id, tag);
    }
    std::vector<uint32_t> first_;
    std::vector<uint32_t> tickets_;
};

TEST_F(ManyReceives, BeyondThoseThatAreKeptAreGuessedUntilNoneIsLeft) {
    constexpr uint32_t kMany = kPosted + 20;
    post_many(kMany, 5);
    for (uint32_t i = 0; i < kMany; ++i) {
        send(i + 1, 5);
        EXPECT_EQ(receive(5, kWorld, tickets_[i]), i + 1);
        EXPECT_EQ(guessed_, i >= kPosted);
    }
    post_many(1, 5);
    send(kMany + 1, 5);
    EXPECT_EQ(receive(5, kWorld, tickets_[kMany]), kMany + 1);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, AnOverflowReceiveIsNotOvertakenByALaterOne) {
    post_most();
    post_many(6, 5);
    send_many(1, 7, 5);
    EXPECT_EQ(receive(5, kWorld, post(&b_, kWorld, 5)), 7u);  // and not that of the first
    EXPECT_TRUE(guessed_);
}

TEST_F(ManyReceives, OverflowReceivesOutOfOrderAreGuessedAndNeverTooOld) {
    post_most();
    post_many(6, 5);
    send_many(1, 6, 5);
    for (uint32_t id = 6; id > 0; --id) {
        EXPECT_GE(receive(5, kWorld, tickets_[id - 1]), id);
        EXPECT_TRUE(guessed_);
    }
    complete_first(kPosted);
    send(31, 5);
    EXPECT_EQ(receive(5), 31u);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, ACancelledOneLeavesThePostOrder) {
    post_most();
    post_many(1, 5);
    unpost(&b_, tickets_[0]);
    send(1, 5);
    EXPECT_EQ(receive(5), 1u);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, FreedOnesTakeTheirMessagesHoweverLate) {
    free_many(100, 5);
    send(1, 6);
    EXPECT_EQ(receive(6), 1u);
    EXPECT_FALSE(guessed_);
    for (uint32_t id = 1000; id < 1100; id += 10) {
        send_many(id, 10, 5);
        EXPECT_EQ(receive(7), 0u);  // takes the entries of the freed ones
    }
    send(2, 5);
    EXPECT_EQ(receive(5), 2u);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, AWaitingReceiveMakesRoomForItsEntry) {
    free_many(100, 5);
    send_many(1, 100, 5);  // the ring is full of entries for freed receives
    take_for_detached(&b_);
    EXPECT_NE(send(101, 5).entry, nullptr);
    EXPECT_EQ(receive(5), 101u);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, FreedBeforeAPendingOneTakeTheFirstMessages) {
    free_many(10, 5);
    post_many(1, 5);
    free_many(10, 5);
    send_many(1, 22, 5);
    EXPECT_EQ(receive(5, kWorld, tickets_[0]), 11u);
    EXPECT_FALSE(guessed_);
    EXPECT_EQ(receive(5), 22u);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, WithFreedOverflowReceivesNoEntryIsTooOld) {
    post_most();
    post_many(2, 5);
    leave_posted(&b_, tickets_[0], kWorld, 5);
    leave_posted(&b_, tickets_[1], kWorld, 5);
    for (uint32_t round = 0; round < 3; ++round) {
        send(10 + round, 6);
        EXPECT_EQ(receive(6), 10 + round);
        EXPECT_TRUE(guessed_);
    }
    send_many(1, 3, 5);  // two of them for freed receives
    EXPECT_EQ(receive(5), 3u);
    EXPECT_TRUE(guessed_);
    complete_first(20);  // receives in `posted` come first
}

TEST_F(ManyReceives, AFreedOneOfAnySourceMayTakeALateMessage) {
    leave_posted_anywhere();
    send(1, 6);
    EXPECT_EQ(receive(6), 1u);
    EXPECT_TRUE(guessed_);
    send(2, 5);  // taken by the freed one
    send(3, 5);
    EXPECT_EQ(receive(5), 3u);
    EXPECT_TRUE(guessed_);
}

TEST_F(ManyReceives, ThoseFreedBeforeAPauseMayTakeMessagesAfterIt) {
    free_many(2, 5);
    live_.paused_ticks += 3000;
    live_.resumed_ticks = 8000;
    live_.epoch += 1;
    send(1, 6, kWorld, false, 9000);
    EXPECT_EQ(receive(6), 1u);
    send(2, 5, kWorld, false, 9001);
    send(3, 5, kWorld, false, 9002);
    send(4, 5, kWorld, false, 9003);
    EXPECT_EQ(receive(5), 4u);
}

}  // namespace
}  // namespace dwell
