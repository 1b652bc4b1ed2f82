// Rings of time stamps: which entry a receive takes. If it cannot be known, none may be taken,
// because a wrong entry would give a wrong time.
#include "runtime/exchange/channels.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/support/channel_pair.h"

namespace dwell {
namespace {

class Channels : public ChannelPair {};

TEST_F(Channels, InOrder) {
    for (uint32_t id = 1; id <= 1000; ++id) {
        send(id, 5);
        EXPECT_EQ(receive(5), id);
        EXPECT_FALSE(guessed_);
    }
    for (uint32_t id = 1; id <= 300; ++id) {
        send(id, 5);
        if (id % 10 != 0) continue;
        for (uint32_t k = id - 9; k <= id; ++k) EXPECT_EQ(receive(5), k);
    }
}

TEST_F(Channels, TheWholeStampArrives) {
    announce(&a_, {{500, 400}, 11, 3, 22, 33}, kWorld, 5, false);
    EnterStamp stamp{};
    ASSERT_TRUE(take(&b_, kWorld, 5, 0, &stamp, &guessed_));
    EXPECT_EQ(stamp.at.real, 500u);
    EXPECT_EQ(stamp.at.virt, 400u);
    EXPECT_EQ(stamp.path, 11u);
    EXPECT_EQ(stamp.root_cause_rank, 3u);
    EXPECT_EQ(stamp.root_cause_path, 22u);
    EXPECT_EQ(stamp.delay_cost, 33u);
}

TEST_F(Channels, OnlySentMessagesAreTaken) {
    EXPECT_EQ(receive(5), 0u);
    send(1, 5);
    EXPECT_EQ(receive(6), 0u);
    EXPECT_EQ(receive(5, kOther), 0u);
    EXPECT_EQ(receive(5), 1u);
    EXPECT_EQ(receive(5), 0u);
}

TEST_F(Channels, TagsAndCommunicatorsInAnyOrder) {
    for (uint32_t round = 0; round < 200; ++round) {
        const uint32_t id = 10 * round;
        send(id + 1, 1);
        send(id + 2, 2);
        send(id + 3, 1, kOther);
        send(id + 4, 1);
        send(id + 5, 2);
        EXPECT_EQ(receive(2), id + 2);
        EXPECT_EQ(receive(1, kOther), id + 3);
        EXPECT_EQ(receive(2), id + 5);
        EXPECT_EQ(receive(1), id + 1);
        EXPECT_EQ(receive(1), id + 4);
    }
}

TEST_F(Channels, ReceivesAreOrderedWhenTheyArePosted) {
    const uint32_t first = post(&b_, kWorld, 5);
    const uint32_t second = post(&b_, kWorld, 5);
    const uint32_t third = post(&b_, kWorld, 6);
    send(1, 5);
    send(2, 6);
    send(3, 5);
    EXPECT_EQ(receive(5, kWorld, second), 3u);
    EXPECT_EQ(receive(6, kWorld, third), 2u);
    EXPECT_EQ(receive(5, kWorld, first), 1u);
}

TEST_F(Channels, AnUnpostedReceiveComesAfterThosePosted) {
    const uint32_t posted = post(&b_, kWorld, 5);
    send(1, 5);
    send(2, 5);
    EXPECT_EQ(receive(5), 2u);
    EXPECT_EQ(receive(5, kWorld, posted), 1u);
}

TEST_F(Channels, ACancelledReceiveLeavesThePostOrder) {
    const uint32_t cancelled = post(&b_, kWorld, 5);
    const uint32_t kept = post(&b_, kWorld, 5);
    unpost(&b_, cancelled);
    unpost(&b_, cancelled);
    send(1, 5);
    EXPECT_EQ(receive(5, kWorld, kept), 1u);
}

TEST_F(Channels, AReceiveOfAnyTagTakesTheFirstMessageThatComes) {
    // The first posted receive takes message 1, whatever its tag, so the second one gets message 2.
    const uint32_t any = post(&b_, kWorld, MPI_ANY_TAG);
    const uint32_t named = post(&b_, kWorld, 5);
    send(1, 9);
    send(2, 5);
    EXPECT_EQ(receive(5, kWorld, named), 2u);
    EXPECT_EQ(receive(9, kWorld, any), 1u);
    // Here the second one gets message 4.
    const uint32_t any2 = post(&b_, kWorld, MPI_ANY_TAG);
    const uint32_t named2 = post(&b_, kWorld, 5);
    send(3, 5);
    send(4, 5);
    EXPECT_EQ(receive(5, kWorld, named2), 4u);
    EXPECT_EQ(receive(5, kWorld, any2), 3u);
}

TEST_F(Channels, AFailedSendLeavesNothingBehind) {
    for (uint32_t round = 0; round < 100; ++round) {
        withdraw(&a_, send(9999, 5));
        send(round + 1, 5);
        EXPECT_EQ(receive(5), round + 1);
    }
}

TEST_F(Channels, AnAnswerReachesTheSenderThatAskedForIt) {
    const Announced plain = send(1, 5);
    const Announced asks = send(2, 6, kWorld, true);
    EnterStamp answered{};
    EXPECT_FALSE(answer_of(&a_, asks, &answered));
    ChannelEntry* entry = find_entry(&b_, kWorld, 5, 0);
    ASSERT_NE(entry, nullptr);
    EXPECT_FALSE(wants_answer(entry));
    entry = find_entry(&b_, kWorld, 6, 0);
    ASSERT_NE(entry, nullptr);
    ASSERT_TRUE(wants_answer(entry));
    answer(&b_, entry, {{5000, 5000 - (3u << kLostShift)}, 44, kNoPeer, 0, 0});
    ASSERT_TRUE(answer_of(&a_, asks, &answered));
    EXPECT_EQ(answered.at.real, 5000u);
    EXPECT_EQ(answered.at.virt, 5000u - (3u << kLostShift));
    EXPECT_EQ(answered.path, 44u);
    answer(&b_, entry, {{6000, 6000}, 45, kNoPeer, 0, 0});  // a later answer replaces it
    ASSERT_TRUE(answer_of(&a_, asks, &answered));
    EXPECT_EQ(answered.at.real, 6000u);
    EXPECT_FALSE(answer_of(&a_, plain, &answered));
    // Also after the entry is taken, until its place is reused.
    EXPECT_EQ(receive(6), 2u);
    EXPECT_TRUE(answer_of(&a_, asks, &answered));
    EXPECT_EQ(receive(5), 1u);
    for (uint32_t i = 0; i < 2 * kRingEntries; ++i) {
        send(100 + i, 5);
        receive(5);
    }
    EXPECT_FALSE(answer_of(&a_, asks, &answered));
}

// A message that was taken in another call may be answered by a later one while its sender reads.
TEST_F(Channels, AnswersAreWholeWhileOthersReplaceThem) {
    const Announced asks = send(1, 5, kWorld, true);
    ChannelEntry* entry = find_entry(&b_, kWorld, 5, 0);
    constexpr uint64_t kLost = 1000;
    std::atomic<bool> stop{false};
    std::thread receiver([&] {
        for (uint64_t real = uint64_t{1} << 40; !stop.load(std::memory_order_relaxed); ++real) {
            const uint64_t lost = real % kLost << kLostShift;
            answer(&b_, entry,
                   {{real, real - lost}, static_cast<uint32_t>(real + 7), kNoPeer, 0, 0});
        }
    });
    uint64_t last = 0;
    int different = 0;
    int torn = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (different < 20'000 && std::chrono::steady_clock::now() < until) {
        EnterStamp answered{};
        if (!answer_of(&a_, asks, &answered)) {
            std::this_thread::yield();
            continue;
        }
        const DualTime& at = answered.at;
        different += at.real != last ? 1 : 0;
        last = at.real;
        const bool whole = answered.path == static_cast<uint32_t>(at.real + 7) &&
                           at.real - at.virt == at.real % kLost << kLostShift;
        torn += whole ? 0 : 1;
    }
    stop.store(true);
    receiver.join();
    EXPECT_EQ(torn, 0);
}

// More lost time than 32 bits of units hold, and 30 s more when the answer is read.
TEST_F(Channels, AnswersHoldVirtualTimeHoweverMuchWasLost) {
    constexpr uint64_t kReal = uint64_t{1} << 60;
    constexpr uint64_t kMore = uint64_t{90'000'000'000} >> kLostShift;
    for (int bits = 30; bits < 48; ++bits) {
        start_anew();
        const uint64_t lost = (uint64_t{1} << bits) - 5;
        const Announced asks[] = {send(1, 5, kWorld, true), send(2, 6, kWorld, true)};
        for (uint64_t k = 0; k < 2; ++k) {
            const EnterStamp stamp{
                {kReal + k, kReal + k - ((lost + k * kMore) << kLostShift)}, 44, kNoPeer, 0, 0};
            answer(&b_, find_entry(&b_, kWorld, 5 + static_cast<int>(k), 0), stamp);
        }
        for (uint64_t k = 0; k < 2; ++k) {
            EnterStamp answered{};
            ASSERT_TRUE(answer_of(&a_, asks[k], &answered));
            EXPECT_EQ(answered.at.virt, kReal + k - ((lost + k * kMore) << kLostShift)) << bits;
        }
    }
}

TEST_F(Channels, MessagesToSelf) {
    Channel self{};
    self.out = self.in = &rings_[1];
    self.in_step = true;
    self.lost_sync_count = g_lost_sync_count;
    for (uint32_t id = 1; id <= 500; ++id) {
        EnterStamp stamp{};
        const uint32_t post_order = post(&self, kWorld, 3);
        announce(&self, {{id, id}, id, kNoPeer, 0, 0}, kWorld, 3, false);
        announce(&self, {{id, id}, 10'000 + id, kNoPeer, 0, 0}, kWorld, 4, false);
        ASSERT_TRUE(take(&self, kWorld, 4, 0, &stamp, &guessed_));
        EXPECT_EQ(stamp.path, 10'000 + id);
        ASSERT_TRUE(take(&self, kWorld, 3, post_order, &stamp, &guessed_));
        EXPECT_EQ(stamp.path, id);
    }
}

TEST_F(Channels, AFullRingDropsAndCounts) {
    std::vector<Announced> announced;
    for (uint32_t id = 1; id <= kRingEntries + 10; ++id) announced.push_back(send(id, 5));
    EXPECT_NE(announced[kRingEntries - 1].entry, nullptr);
    EXPECT_EQ(announced[kRingEntries].entry, nullptr);
    EXPECT_EQ(rings_[0].dropped, 10u);
    for (uint32_t id = 1; id <= kRingEntries; ++id) EXPECT_EQ(receive(5), id);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(receive(5), 0u);
    for (uint32_t id = 100; id < 200; ++id) {
        send(id, 5);
        EXPECT_EQ(receive(5), id);
    }
    EXPECT_EQ(rings_[0].dropped, 10u);
}

TEST_F(Channels, EntriesAfterDroppedOnesAreNotTakenForThem) {
    uint32_t id = 0;
    std::deque<uint32_t> under_way;
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 45; ++i) {
            send(++id, 5);
            under_way.push_back(id);
        }
        // Some messages stay for the next round.
        const size_t left = round % 2 == 0 ? 7 : 0;
        while (under_way.size() > left) {
            const uint32_t got = receive(5);
            if (got != 0) {
                EXPECT_EQ(got, under_way.front());
            }
            under_way.pop_front();
        }
    }
    EXPECT_GT(rings_[0].dropped, 0u);
    for (int i = 0; i < 200; ++i) {
        send(++id, 5);
        EXPECT_EQ(receive(5), id);
    }
}

// A message that stays unreceived for long, such as the order to stop: other entries are taken
// rightly or not at all.
TEST_F(Channels, AMessageThatStaysUnreceivedDoesNotShiftTheOthers) {
    uint32_t id = 0;
    send(++id, 99);
    int known = 0;
    for (int i = 0; i < 1000; ++i) {
        send(++id, 5);
        const uint32_t got = receive(5);
        if (got != 0) {
            EXPECT_EQ(got, id);
            ++known;
        }
    }
    EXPECT_GT(known, 900);
    EXPECT_LE(receive(99), 1u);  // 0: given up
}

TEST_F(Channels, ManyUnreceivedMessagesDoNotShiftTheOthers) {
    uint32_t id = 0;
    int known = 0;
    for (int stays = 0; stays < 50; ++stays) {
        send(++id, 1000 + stays);
        for (int i = 0; i < 40; ++i) {
            send(++id, 5);
            const uint32_t got = receive(5);
            if (got == 0) continue;
            EXPECT_EQ(got, id);
            ++known;
        }
    }
    EXPECT_GT(known, 1000);
    for (int stays = 0; stays < 50; ++stays) receive(1000 + stays);
    for (int i = 0; i < 200; ++i) {
        send(++id, 5);
        EXPECT_EQ(receive(5), id);
    }
}

TEST_F(Channels, NumbersWrapAround) {
    // Just before 32 bits overflow on both sides, with messages under way.
    const uint32_t start = 0xffffffffu - 100;
    a_.sent = start & 0x3fffffffu;
    b_.received = start & 0x3fffffffu;
    a_.written = b_.low = start;
    a_.taken_seen = start;
    rings_[0].taken = start;
    uint32_t id = 0;
    std::deque<uint32_t> under_way;
    for (int round = 0; round < 30; ++round) {
        for (int i = 0; i < 20; ++i) {
            send(++id, 5);
            under_way.push_back(id);
        }
        while (under_way.size() > 3) {
            EXPECT_EQ(receive(5), under_way.front()) << round;
            under_way.pop_front();
        }
    }
    EXPECT_EQ(rings_[0].dropped, 0u);
}

TEST_F(Channels, DroppedEntriesAreForgottenHoweverLongAgo) {
    for (uint32_t id = 1; id <= kRingEntries + 5; ++id) send(id, 5);
    for (uint32_t id = 1; id <= kRingEntries + 5; ++id) receive(5);
    send(50, 5);
    EXPECT_EQ(receive(5), 50u);
    // Half of all order numbers later, out of order.
    a_.sent += 0x20000001u;
    b_.received += 0x20000001u;
    for (uint32_t round = 0; round < 20; ++round) {
        send(100 + 2 * round, 1);
        send(101 + 2 * round, 2);
        EXPECT_EQ(receive(2), 101 + 2 * round);
        EXPECT_EQ(receive(1), 100 + 2 * round);
    }
}

TEST_F(Channels, AfterAPauseTheChannelIsInStepAgain) {
    for (uint32_t id = 1; id <= 10; ++id) {
        send(id, 5);
        if (id <= 5) {
            EXPECT_EQ(receive(5), id);
        }
    }
    // Five messages are received during the receiver's pause; the sender, not paused, sends more.
    send(11, 5, kWorld, false, 5000);
    live_.paused_ticks += 3000;
    live_.resumed_ticks = 8000;
    live_.epoch += 1;
    send(12, 5, kWorld, false, 9000);
    EXPECT_EQ(receive(5), 12u);
    EXPECT_TRUE(guessed_);
    for (uint32_t id = 20; id < 100; ++id) {
        send(id, 5, kWorld, false, 10'000 + id);
        EXPECT_EQ(receive(5), id);
        EXPECT_FALSE(guessed_);
    }
}

// Two messages sent after the pause are there when the first is received. The second one's sender
// waits for its receiver, which must find it.
TEST_F(Channels, MessagesSentAfterAPauseAreAnswered) {
    g_process.concurrent = false;
    send(1, 5);
    EXPECT_EQ(receive(5), 1u);
    send(2, 6, kWorld, true, 5000);  // received during the pause
    live_.paused_ticks += 3000;
    live_.resumed_ticks = 8000;
    send(3, 5, kWorld, false, 9000);
    const Announced asks = send(4, 6, kWorld, true, 9001);
    EXPECT_EQ(receive(5), 3u);
    EXPECT_TRUE(guessed_);
    ASSERT_TRUE(may_want_answer(&b_));
    ChannelEntry* entry = find_entry(&b_, kWorld, 6, 0);
    ASSERT_EQ(entry, asks.entry);
    EXPECT_TRUE(wants_answer(entry));
    EXPECT_EQ(receive(6), 4u);
    EXPECT_FALSE(guessed_);
}

// A receive pending at the start of the pause may have taken the second message.
TEST_F(Channels, EntriesForReceivesPendingInAPauseAreGivenUp) {
    g_process.concurrent = false;
    send(1, 5);
    EXPECT_EQ(receive(5), 1u);
    EXPECT_NE(post(&b_, kWorld, 6), 0u);
    live_.paused_ticks += 3000;
    live_.resumed_ticks = 8000;
    send(3, 5, kWorld, false, 9000);
    send(4, 6, kWorld, false, 9001);
    EXPECT_EQ(receive(5), 3u);
    EXPECT_EQ(receive(6), 0u);
}

TEST_F(Channels, AfterAnUnseenReceiveNoOlderEntryIsTaken) {
    send(1, 5);  // perhaps received, as are the others
    send(2, 5);
    send(3, 6);
    mark_unsynchronised();
    send(4, 5);
    EXPECT_EQ(receive(5), 4u);
    EXPECT_TRUE(guessed_);
    EXPECT_EQ(receive(6), 0u);
    for (uint32_t id = 10; id < 100; ++id) {
        send(id, 5 + static_cast<int>(id % 2));
        EXPECT_EQ(receive(5 + static_cast<int>(id % 2)), id);
        EXPECT_FALSE(guessed_);
    }
}

TEST_F(Channels, AfterUnseenReceivesOfAFullRingNoOlderEntryIsTaken) {
    for (uint32_t id = 1; id <= 100; ++id) send(id, 5);  // all received unseen
    mark_unsynchronised();
    send(101, 5);
    EXPECT_EQ(receive(5), 0u);  // dropped
    for (uint32_t id = 102; id < 200; ++id) {
        send(id, 5);
        EXPECT_EQ(receive(5), id);
        EXPECT_EQ(guessed_, id == 102);
    }
}

TEST_F(Channels, AFreedReceiveTakesItsMessage) {
    for (uint32_t id = 1; id <= 1000; ++id) {
        leave_posted(&b_, post(&b_, kWorld, 5), kWorld, 5);
        send(2000 + id, 5);
        send(id, 5);
        EXPECT_EQ(receive(5), id);
        EXPECT_FALSE(guessed_);
    }
    EXPECT_EQ(rings_[0].dropped, 0u);
    // Also if its message was dropped.
    for (uint32_t id = 1; id <= 40; ++id) send(id, 6);
    leave_posted(&b_, post(&b_, kWorld, 7), kWorld, 7);
    send(41, 7);
    for (uint32_t id = 1; id <= 40; ++id) receive(6);
    for (uint32_t id = 50; id < 100; ++id) {
        send(id, 7);
        EXPECT_EQ(receive(7), id);
    }
}

// More kinds of dropped messages than a dropped run distinguishes.
TEST_F(Channels, ManyKindsOfDroppedMessagesLeaveLaterEntriesRight) {
    for (int tag = 0; tag < 500; ++tag) send(1, tag);
    for (int tag = 500; tag-- > 0;) receive(tag);
    for (uint32_t id = 10; id < 100; ++id) {
        send(id, 1000);
        EXPECT_EQ(receive(1000), id);
    }
}

// Two processes at random paces: each reads whole entries.
TEST_F(Channels, TwoProcesses) {
    constexpr uint32_t kMessages = 200'000;
    auto* sent = static_cast<std::atomic<uint32_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(sent), MAP_FAILED);
    auto* received = sent + 16;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::mt19937_64 random(1);
        for (uint32_t id = 1; id <= kMessages; ++id) {
            // Sometimes the sender is so far ahead that the ring is full.
            const uint32_t ahead =
                id / 1000 % 10 == 0 ? 50 : 1 + static_cast<uint32_t>(random() % 20);
            while (id - received->load(std::memory_order_acquire) > ahead) sched_yield();
            announce(&a_,
                     {{id, uint64_t{id} * 3},
                      id,
                      id * 5,
                      id * 7,
                      static_cast<uint16_t>(id * 11),
                      static_cast<uint16_t>(id * 13)},
                     kWorld, 5, false);
            sent->store(id, std::memory_order_release);
        }
        _exit(0);
    }
    uint32_t known = 0;
    bool good = true;
    for (uint32_t id = 1; id <= kMessages && good; ++id) {
        while (sent->load(std::memory_order_acquire) < id) sched_yield();
        EnterStamp stamp{};
        if (take(&b_, kWorld, 5, 0, &stamp, &guessed_)) {
            ++known;
            good = stamp.path == id && stamp.at.real == id && stamp.at.virt == uint64_t{id} * 3 &&
                   stamp.root_cause_rank == id * 5 && stamp.root_cause_path == id * 7 &&
                   stamp.delay_cost == static_cast<uint16_t>(id * 11) &&
                   stamp.work == static_cast<uint16_t>(id * 13);
            EXPECT_TRUE(good) << "message " << id << " got the entry of " << stamp.path;
        }
        received->store(id, std::memory_order_release);
    }
    received->store(kMessages, std::memory_order_release);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(known + rings_[0].dropped, kMessages);
    EXPECT_GT(known, kMessages * 8 / 10);
    munmap(sent, 4096);
}

// One message in kFenceEvery has a fence, whose delay enters the average for the others with weight
// 1/8. Here every fence is faster than its assumed cost.
TEST_F(ChannelPair, DrainTimeIsTheAverageOfFencedWrites) {
    const uint64_t fence_cost_ticks = g_process.fence_cost_ticks;
    g_process.fence_cost_ticks = UINT64_MAX;
    a_.drain_ticks = 8'000'000;
    uint64_t expected = a_.drain_ticks;
    for (uint32_t id = 1; id <= 4 * kFenceEvery; ++id) {
        send(id, 5);
        receive(5);
        const uint64_t before = now_ticks();
        const uint64_t begins = time_of_writing(&a_);
        const uint64_t after = now_ticks();
        if (id % kFenceEvery == 0) {
            EXPECT_GE(begins, before);
            EXPECT_LE(begins, after);
            expected = expected * 7 / 8;
        } else {
            EXPECT_GE(begins, before + expected);
            EXPECT_LE(begins, after + expected);
        }
        EXPECT_EQ(a_.drain_ticks, expected);
    }
    g_process.fence_cost_ticks = fence_cost_ticks;
}

}  // namespace
}  // namespace dwell
