// More posted receives from one rank than kPosted (posted_receives.h), and freed ones (channels.h).
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
    void free_many(uint32_t count, int tag) {
        for (uint32_t i = 0; i < count; ++i) {
            leave_posted(&b_, post(&b_, kWorld, tag));
        }
    }
    void send_many(uint32_t first, uint32_t count, int tag) {
        for (uint32_t id = first; id < first + count; ++id) send(id, tag);
    }
    std::vector<uint32_t> tickets_;
};

TEST_F(ManyReceives, InPostOrderAllAreKnown) {
    post_many(70, 5);
    for (uint32_t i = 0; i < 200; ++i) {
        send(i + 1, 5);
        EXPECT_EQ(receive(5, kWorld, tickets_[i]), i + 1);
        EXPECT_FALSE(guessed_);
        post_many(1, 5);
    }
}

TEST_F(ManyReceives, AnOverflowReceiveIsNotOvertakenByALaterOne) {
    post_many(30, 5);
    send_many(1, 31, 5);
    EXPECT_EQ(receive(5, kWorld, tickets_[0]), 1u);
    EXPECT_FALSE(guessed_);
    EXPECT_EQ(receive(5, kWorld, post(&b_, kWorld, 5)), 31u);  // and not that of the 25th
    EXPECT_TRUE(guessed_);
}

TEST_F(ManyReceives, OverflowReceivesOutOfOrderAreGuessedAndNeverTooOld) {
    post_many(30, 5);
    send_many(1, 30, 5);
    for (uint32_t id = 30; id > kPosted; --id) {
        EXPECT_GE(receive(5, kWorld, tickets_[id - 1]), id);
        EXPECT_TRUE(guessed_);
    }
    for (uint32_t id = kPosted; id > 0; --id) {
        EXPECT_EQ(receive(5, kWorld, tickets_[id - 1]), id);
        EXPECT_FALSE(guessed_);
    }
    send(31, 5);
    EXPECT_EQ(receive(5), 31u);
    EXPECT_FALSE(guessed_);
}

TEST_F(ManyReceives, ACancelledOneLeavesThePostOrder) {
    post_many(kPosted + 1, 5);
    unpost(&b_, tickets_[kPosted]);
    send_many(1, kPosted + 1, 5);
    EXPECT_EQ(receive(5), kPosted + 1u);
    EXPECT_FALSE(guessed_);
}

// The message of the freed receive comes late: the next receive must not get its entry.
TEST_F(ManyReceives, AfterAFreedReceiveAllStampsAreGuessedAndNeverTooOld) {
    free_many(1, 5);
    EXPECT_TRUE(is_guessing(&b_));
    EXPECT_FALSE(is_post_order_known(&b_, 0));
    EXPECT_FALSE(skip_stamp(&b_, kWorld, 6));
    send(1, 6);
    EXPECT_EQ(receive(6), 1u);
    EXPECT_TRUE(guessed_);
    send_many(2, 2, 5);  // the first one is taken by the freed receive
    ASSERT_NE(find_entry(&b_, kWorld, 5, 0), nullptr);
    EXPECT_EQ(find_entry(&b_, kWorld, 5, 0)->stamp.path, 3u);
    for (uint32_t id = 3; id < 200; ++id) {
        EXPECT_EQ(receive(5), id);
        EXPECT_TRUE(guessed_);
        send(id + 1, 5);
    }
    EXPECT_EQ(rings_[0].dropped, 0u);
}

TEST_F(ManyReceives, AfterAFreedReceiveThoseInAnyOrderAreNeverTooOld) {
    free_many(2, 5);
    post_many(3, 5);
    send_many(1, 5, 5);  // two of them for the freed receives
    EXPECT_EQ(receive(5, kWorld, tickets_[2]), 5u);
    EXPECT_GE(receive(5, kWorld, tickets_[0]), 3u);
    EXPECT_GE(receive(5, kWorld, tickets_[1]), 4u);
    EXPECT_TRUE(guessed_);
}

// The freed receives' messages fill the ring: the first ones after them have no entry.
TEST_F(ManyReceives, EntriesForFreedReceivesAreGivenUp) {
    free_many(100, 5);
    send_many(1, 101, 5);
    EXPECT_EQ(receive(5), 0u);
    for (uint32_t id = 102; id < 200; ++id) {
        EXPECT_NE(send(id, 5).entry, nullptr);
        EXPECT_EQ(receive(5), id);
        EXPECT_TRUE(guessed_);
    }
}

TEST_F(ManyReceives, AFreedOverflowReceiveLeavesThePostOrder) {
    post_many(kPosted + 1, 5);
    leave_posted(&b_, tickets_[kPosted]);
    EXPECT_EQ(b_.overflow_receives, 0u);
    send_many(1, 10, 5);
    for (uint32_t id = 1; id <= 10; ++id) EXPECT_GE(receive(5, kWorld, tickets_[id - 1]), id);
    EXPECT_TRUE(guessed_);
}

TEST_F(ManyReceives, AFreedOneOfAnySourceMayTakeALateMessage) {
    leave_posted_anywhere();
    send(1, 6);
    EXPECT_EQ(receive(6), 1u);
    EXPECT_TRUE(guessed_);
    send_many(2, 2, 5);  // the first one is taken by the freed receive
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
    for (uint32_t id = 2; id < 5; ++id) send(id, 5, kWorld, false, 9000 + id);
    EXPECT_EQ(receive(5), 4u);
    EXPECT_TRUE(guessed_);
}

}  // namespace
}  // namespace dwell
