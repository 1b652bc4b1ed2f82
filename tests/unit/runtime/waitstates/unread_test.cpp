// Skipped entries (channels.h), sampled streams (sampled_stream.h), and the progress log
// (progress_log.h).
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "runtime/waitstates/late_receivers.h"
#include "runtime/waitstates/sampled_stream.h"
#include "tests/unit/support/channel_pair.h"

namespace dwell {
namespace {

class SkippedEntries : public ChannelPair {
  protected:
    void exchange(uint32_t first, uint32_t last) {
        for (uint32_t id = first; id <= last; ++id) {
            send(id, 5);
            ASSERT_EQ(receive(5), id);
        }
    }
};

TEST_F(SkippedEntries, TheNextReadEntryIsItsOwn) {
    uint32_t id = 0;
    for (uint32_t round = 0; round < 200; ++round) {
        for (uint32_t k = 0; k < round % (kSkipped + 1); ++k) {
            send(++id, 5);
            EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
        }
        send(++id, 5);
        EXPECT_EQ(receive(5), id);
        EXPECT_EQ(b_.received, id);
    }
}

TEST_F(SkippedEntries, NoMoreThanAFewAtATime) {
    for (uint32_t k = 0; k < kSkipped; ++k) {
        send(k + 1, 5);
        EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    }
    send(kSkipped + 1, 5);
    EXPECT_FALSE(skip_stamp(&b_, kWorld, 5));
    EXPECT_EQ(receive(5), kSkipped + 1);
    send(kSkipped + 2, 5);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    EXPECT_FALSE(skip_stamp(&b_, kWorld, 6));
    EXPECT_FALSE(skip_stamp(&b_, kOther, 5));
}

// The sender marks entries that follow others of another kind: then the skipped ones are read one
// by one.
TEST_F(SkippedEntries, AmongMessagesOfOtherTags) {
    exchange(1, 20);
    send(21, 5);
    send(22, 6);
    send(23, 5);
    send(24, 5);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));  // 21
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));  // 23
    EXPECT_EQ(receive(5), 24u);
    EXPECT_EQ(receive(6), 22u);
    exchange(25, 60);
}

TEST_F(SkippedEntries, ProbesAndPostedReceivesFindTheRightOne) {
    exchange(1, 20);
    send(21, 5);
    send(22, 5);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    const ChannelEntry* entry = find_entry(&b_, kWorld, 5, 0);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->stamp.path, 22u);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    const uint32_t post_order = post(&b_, kWorld, 5);
    send(23, 5);
    send(24, 5);
    // The posted receive gets 23: the order is not known without reading.
    EXPECT_FALSE(skip_stamp(&b_, kWorld, 5));
    EXPECT_EQ(receive(5), 24u);
    EXPECT_EQ(receive(5, kWorld, post_order), 23u);
}

TEST_F(SkippedEntries, NotWhereTheChannelMayBeOutOfStep) {
    exchange(1, 20);
    send(21, 5);
    mark_unsynchronised();
    EXPECT_FALSE(skip_stamp(&b_, kWorld, 5));
    EXPECT_EQ(receive(5), 21u);
    EXPECT_TRUE(guessed_);
    send(22, 5);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    live_.paused_ticks += 1;
    send(23, 5);
    EXPECT_FALSE(skip_stamp(&b_, kWorld, 5));
}

TEST_F(SkippedEntries, AFailedSendIsNotCountedAmongThem) {
    exchange(1, 20);
    send(21, 5);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    withdraw(&a_, send(9999, 5));
    send(22, 5);
    send(23, 5);
    EXPECT_TRUE(skip_stamp(&b_, kWorld, 5));
    EXPECT_EQ(receive(5), 23u);
}

// Messages received in the order of sending for each tag, some entries skipped. With room in the
// ring all stamps that are read are known, and none is of another message.
TEST_F(SkippedEntries, RandomMessages) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        start_anew();
        std::mt19937_64 random(seed);
        const size_t most_open = seed % 2 == 0 ? 4 : 60;
        std::deque<uint32_t> open[2];
        uint32_t id = 0;
        int known = 0;
        int skipped = 0;
        for (int step = 0; step < 5000; ++step) {
            const int tag = random() % 32 == 0 ? 1 : 0;
            const uint32_t oldest = std::min(open[0].empty() ? id : open[0].front(),
                                             open[1].empty() ? id : open[1].front());
            const bool has_room = most_open == 60 || id - oldest < 12;
            if (random() % 2 == 0 && has_room && open[0].size() + open[1].size() < most_open) {
                send(++id, tag);
                open[tag].push_back(id);
                continue;
            }
            if (open[tag].empty()) continue;
            const uint32_t own = open[tag].front();
            open[tag].pop_front();
            if (random() % 4 != 0 && skip_stamp(&b_, kWorld, tag)) {
                ++skipped;
                continue;
            }
            const uint32_t got = receive(tag);
            ASSERT_TRUE(got == own || (got == 0 && most_open > 4))
                << got << " for " << own << ", seed " << seed << ", step " << step;
            known += got != 0;
        }
        EXPECT_GT(known, most_open > 4 ? 20 : 500) << seed;
        if (most_open == 4) {
            EXPECT_GT(skipped, 500) << seed;
        }
    }
}

class InStream : public testing::Test {
  protected:
    static constexpr uint64_t kRate = 1'000'000'000;  // ticks are nanoseconds; 5000 are quick
    void SetUp() override { stream_.open(kRate); }
    // The next message's call takes `real` and begins `gap` after the last. If it is sampled,
    // `virt` of it are virtual time and `sync` waiting. True when it may be skipped.
    bool next(uint64_t real, uint64_t virt, uint64_t sync, uint64_t gap = 100) {
        const uint64_t start = now_ + gap;
        now_ = start + real;
        if (stream_.may_go_on(kind_, start, now_)) {
            ticks_ = real;
            stream_.pass(now_, &ticks_, &sync_);
            sum_ += ticks_;
            sync_sum_ += sync_;
            return true;
        }
        stream_.look(kind_, EnterStamp{}, start, now_, virt, sync);
        sum_ += virt;
        sync_sum_ += sync;
        return false;
    }
    Channel channels_[2]{};
    CommPart parts_[2]{};
    StreamKind kind_{&channels_[0], &parts_[0], 1, 5};
    SampledStream stream_;
    uint64_t now_ = 1'000'000;
    uint64_t ticks_ = 0;
    uint64_t sync_ = 0;
    uint64_t sum_ = 0;
    uint64_t sync_sum_ = 0;
};

TEST_F(InStream, OneAfterEachRowOfSkippedOnesIsSampled) {
    constexpr uint32_t kMessages = 2 + 100 * (kSkipped + 1);
    int looked_at = 0;
    for (uint32_t i = 0; i < kMessages; ++i) looked_at += !next(500, 400, 150);
    EXPECT_EQ(looked_at, 2 + 100);
    EXPECT_EQ(sum_, kMessages * 400u);
    EXPECT_EQ(sync_sum_, kMessages * 150u);
}

// A sample sets the clock right, however wrong it was, and later messages get their part of that.
// Here each takes 400, and the first two looked like 100.
TEST_F(InStream, MissingTimeIsMadeUpAndLearned) {
    next(500, 100, 0);
    next(500, 100, 0);
    uint64_t truth = 200;
    for (uint32_t i = 0; i < 100 * (kSkipped + 1); ++i) {
        truth += 400;
        const uint64_t missing = truth - sum_;
        next(500, missing, 0);
    }
    EXPECT_LE(truth - sum_, kSkipped * 400u);
    EXPECT_TRUE(next(500, 0, 0));
    EXPECT_NEAR(static_cast<double>(ticks_), 400, 4);
}

TEST_F(InStream, NoneTakesLongerThanItsCall) {
    next(500, 400, 300);
    next(500, 400, 300);
    ASSERT_TRUE(next(120, 0, 0));
    EXPECT_EQ(ticks_, 120u);
    EXPECT_EQ(sync_, 120u);
}

// Skipped messages took 180 of the 220 ticks that one takes, 70 of which are waiting.
TEST(AfterSkipped, TheirMissingTimeComesFirst) {
    const SkippedMessages skipped{10, 1800, 220, 70};
    const auto check = [&](uint64_t ticks, uint64_t sent, uint64_t own, uint64_t all) {
        const Waited waited = waits_after(skipped, ticks, sent);
        EXPECT_EQ(waited.own, own);
        EXPECT_EQ(waited.all, all);
    };
    check(400 + 220, 400 + 70, 70, 70 + 400 * 70 / 220);
    check(400 + 30150, 400 + 30000, 30000, 30000 + 400 * 70 / 220);  // the sender is late
    check(400 + 150, 300, 0, 400 * 70 / 220);  // it was there, but too early for the skipped ones
    check(100, 500, 0, 100 * 70 / 220);        // less time than is missing
    check(150, 0, 0, 0);  // it was there before all of them: nothing is missing
}

TEST_F(InStream, KnowsTheTimeOfSkippedMessages) {
    next(500, 900, 800);  // a late one begins the stream
    next(500, 400, 150);
    EXPECT_EQ(stream_.before(kind_).messages, 0u);
    for (uint32_t i = 0; i < kSkipped; ++i) next(i < 4 ? 300 : 500, 0, 0);
    const SkippedMessages skipped = stream_.before(kind_);
    EXPECT_EQ(skipped.messages, kSkipped);
    EXPECT_EQ(skipped.ticks, 400u * kSkipped - 4 * 100);
    EXPECT_EQ(skipped.each, 400u);
    EXPECT_EQ(skipped.sync, 150u);
    next(500, 400 + 4 * 100, 150);
    for (uint32_t i = 0; i < kSkipped; ++i) next(500, 0, 0);
    EXPECT_EQ(stream_.before(kind_).each, 400u);
    EXPECT_EQ(stream_.before(kind_).sync, 150u);
    EXPECT_EQ(stream_.before({&channels_[1], &parts_[0], 1, 5}).messages, 0u);
}

TEST_F(InStream, EndsWithALongCallAGapOrAnotherKind) {
    const auto begin = [this] {
        next(500, 400, 0, 9000);
        next(500, 400, 0);
        EXPECT_TRUE(next(500, 400, 0));
    };
    begin();
    EXPECT_FALSE(next(5001, 400, 0));
    begin();
    EXPECT_FALSE(next(500, 400, 0, 5001));
    for (int which = 0; which < 4; ++which) {
        begin();
        const StreamKind other{&channels_[which == 0], &parts_[which == 1], which == 2 ? 2u : 1u,
                               which == 3 ? 6 : 5};
        EXPECT_FALSE(stream_.may_go_on(other, now_ + 100, now_ + 200)) << which;
        EXPECT_TRUE(stream_.may_go_on(kind_, now_ + 100, now_ + 200)) << which;
    }
}

class ProgressLogs : public testing::Test {
  protected:
    void log_progress_at(uint64_t real, uint64_t no_progress_since) {
        const EnterStamp stamp{{real, 0},    static_cast<uint32_t>(real + 7), kNoPeer, 0, 0,
                               work_at(real)};
        write_progress(&log_, stamp, no_progress_since, false);
    }
    static uint16_t work_at(uint64_t real) { return static_cast<uint16_t>(real + 9); }
    // The entry that ends the wait of a sender from `since` to `until`, for a message sent at
    // `sent` (or at `since`); 0: none.
    uint64_t after(uint64_t since, uint64_t until) { return after(since, since, until); }
    uint64_t after(uint64_t sent, uint64_t since, uint64_t until) {
        EnterStamp entered;
        return progress_after(&log_, sent, since, until, &entered) ? entered.at.real : 0;
    }
    ProgressLog log_{};
};

TEST_F(ProgressLogs, AbsentReceiversMakeSendersWait) {
    EXPECT_EQ(after(50, 1000), 0u);
    EXPECT_FALSE(is_last_progress(log_, 0));
    log_progress_at(100, 20);  // no progress from 20 to 100
    EXPECT_TRUE(is_last_progress(log_, 100));
    EXPECT_EQ(after(50, 1000), 100u);
    EXPECT_EQ(after(10, 1000), 100u);  // it was leaving a call when the wait began
    EXPECT_EQ(after(8, 1000), 0u);     // it was in a call
    EXPECT_EQ(after(20, 1000), 100u);
    EXPECT_EQ(after(100, 1000), 0u);
    EXPECT_EQ(after(50, 100), 0u);  // it entered after the wait
    log_progress_at(300, 150);
    EXPECT_FALSE(is_last_progress(log_, 100));
    EXPECT_EQ(after(50, 1000), 100u);
    EXPECT_EQ(after(160, 1000), 300u);
    EXPECT_EQ(after(120, 1000), 0u);  // it was in the call that began at 100
    log_progress_at(500, 400);
    EXPECT_EQ(after(50, 1000), 0u);  // the first entry was overwritten
    EXPECT_EQ(after(160, 1000), 300u);
}

// A message sent some time before the sender waited for its copy.
TEST_F(ProgressLogs, EarlierProgressHasTakenTheMessage) {
    log_progress_at(100, 20);
    log_progress_at(1000, 150);
    EXPECT_EQ(after(160, 200, 2000), 1000u);
    EXPECT_EQ(after(60, 200, 2000), 0u);  // it entered at 100
    EXPECT_EQ(after(60, 90, 2000), 100u);
    EXPECT_EQ(after(50, 100, 2000), 0u);
    // It was in the call until 150, at most an eighth of the wait after that.
    EXPECT_EQ(after(110, 200, 2000), 1000u);
    EXPECT_EQ(after(110, 690, 2000), 0u);
}

TEST_F(ProgressLogs, TheLastProgressBeforeATime) {
    EnterStamp entered;
    EXPECT_FALSE(progress_before(&log_, 1000, &entered));
    log_progress_at(100, 20);
    log_progress_at(300, 150);
    EXPECT_FALSE(progress_before(&log_, 99, &entered));
    ASSERT_TRUE(progress_before(&log_, 299, &entered));
    EXPECT_EQ(entered.at.real, 100u);
    EXPECT_EQ(entered.work, work_at(100));
    ASSERT_TRUE(progress_before(&log_, 300, &entered));
    EXPECT_EQ(entered.at.real, 300u);
    EXPECT_EQ(entered.work, work_at(300));
}

TEST_F(ProgressLogs, HoldVirtualTimeAndPath) {
    const EnterStamp stamp{{5000, 5000 - (3u << kLostShift)}, 44, kNoPeer, 0, 0};
    write_progress(&log_, stamp, 4000, false);
    EnterStamp entered;
    ASSERT_TRUE(progress_after(&log_, 4500, 4500, 6000, &entered));
    const EnterStamp& found = entered;
    EXPECT_EQ(found.at.real, 5000u);
    EXPECT_EQ(found.at.virt, 5000u - (3u << kLostShift));
    EXPECT_EQ(found.path, 44u);
    EXPECT_EQ(found.root_cause_rank, kNoPeer);
}

// At 3 GHz, 32 bits of such units are some 90 s.
TEST_F(ProgressLogs, HoldVirtualTimeHoweverMuchWasLost) {
    uint64_t real = uint64_t{1} << 60;
    for (int bits = 30; bits < 48; ++bits) {
        real += 1000;
        const uint64_t lost = ((uint64_t{1} << bits) + 5) << kLostShift;
        const EnterStamp stamp{{real, real - lost}, 44, kNoPeer, 0, 0, 0xfffe};
        write_progress(&log_, stamp, real - 100, false);
        EnterStamp entered;
        ASSERT_TRUE(progress_before(&log_, real, &entered));
        EXPECT_EQ(entered.at.virt, real - lost) << bits;
        EXPECT_EQ(entered.work, 0xfffe);
    }
}

TEST_F(ProgressLogs, ALogThatIsBeingWrittenYieldsNothing) {
    log_progress_at(100, 0);
    log_.version += 1;
    EXPECT_EQ(after(50, 1000), 0u);
    write_progress(&log_, {}, 0, true);  // another thread's entry is skipped
    log_.version += 1;
    EXPECT_EQ(log_.version, 4u);
}

TEST_F(ProgressLogs, AreWholeWhileOthersAreWritten) {
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (uint64_t real = 1; !stop.load(std::memory_order_relaxed); ++real) {
            log_progress_at(real, 0);
        }
    });
    int known = 0;
    while (known < 20'000) {
        EnterStamp entered;
        if (!progress_after(&log_, 0, 0, UINT64_MAX, &entered)) {
            std::this_thread::yield();
            continue;
        }
        ++known;
        const uint64_t real = entered.at.real;
        EXPECT_EQ(entered.at.virt, real % (1u << kLostShift));
        EXPECT_EQ(entered.path, static_cast<uint32_t>(real + 7));
        EXPECT_EQ(entered.work, work_at(real));
    }
    stop.store(true);
    writer.join();
}

class UsualSends : public testing::Test {
  protected:
    void SetUp() override { open_late_receivers(1'000'000'000); }  // ticks are nanoseconds
    Channel channel_{};
};

TEST_F(UsualSends, AreLearnedWithTheReceiverPresent) {
    EXPECT_FALSE(took_usual_send(&channel_, 1000));
    learn_usual_send(&channel_, 1000);
    EXPECT_TRUE(took_usual_send(&channel_, 1400));
    EXPECT_FALSE(took_usual_send(&channel_, 1600));
}

TEST_F(UsualSends, SendsDelayedForOtherReasonsAreNotLearned) {
    learn_usual_send(&channel_, 50'000'000);
    EXPECT_FALSE(took_usual_send(&channel_, 1000));
}

TEST_F(UsualSends, AreCheckedNowAndThen) {
    learn_usual_send(&channel_, 1000);
    int skipped = 0;
    while (took_usual_send(&channel_, 1000)) {
        ASSERT_LT(++skipped, 1000);
    }
    EXPECT_GT(skipped, 50);
}

}  // namespace
}  // namespace dwell
