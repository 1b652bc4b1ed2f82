// Sends that dwell delayed, or whose wait it did: which of their receivers' arrivals took their
// messages, and how long they would have waited for that (late_receivers.h).
#include "runtime/waitstates/late_receivers.h"

#include <initializer_list>

#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

// A send to rank 3, or the wait for one, began at 10 000, when its thread had lost 9 000, and took
// 500.
class Sends : public Records {
  protected:
    struct Settled {
        uint64_t ticks;
        uint64_t sync;
    };
    // The receiver came to calls of MPI then, by its clocks, and had been in none since `away`.
    struct Came {
        uint64_t real;
        uint64_t virt;
        uint64_t away;
        uint32_t path = 44;
    };
    static ProgressLog line_of(std::initializer_list<Came> all) {
        ProgressLog line{};
        for (const Came& came : all) {
            write_progress(&line, {{came.real, came.virt}, came.path, kNoPeer, 0, 0}, came.away,
                           false);
        }
        return line;
    }
    template <typename Add>
    Settled settled(MpiCall number, Add add, uint64_t ticks = 500) {
        Call call;
        EXPECT_TRUE(begin(&call, number, 16));
        t_thread->slow_overhead = 0;
        g_process.call_cost_ticks = 0;
        t_thread->record->intrusion_ticks = 9'000;
        t_thread->last_ticks = call.start_ticks = 10'000;
        call.end_ticks = 10'000 + ticks;
        call.ticks = ticks;
        Waiting waiting(&call);
        add(&waiting);
        waiting.classify(&call, false);
        const Settled settled{call.ticks, waiting.sync()};
        record_event(&call, kSendReady);
        leave(&call);
        return settled;
    }
};

// A synchronous send, or the wait for one, whose receiver has not answered.
class AskedSends : public Sends {
  protected:
    Settled sent_to(const ProgressLog* line, const DualTime& sent = {10'000, 1'000}) {
        ChannelEntry entry{};
        entry.stamp.at = sent;
        Channel channel{};
        channel.progress_log = line;
        return settled(MpiCall::kSsend, [&](Waiting* waiting) {
            add_asked(waiting, &channel, {&entry, entry.number}, 3);
        });
    }
};

TEST_F(AskedSends, WouldHaveWaitedForTheirReceivers) {
    const uint64_t lost = uint64_t{31} << kLostShift;
    const ProgressLog line = line_of({{8'000, 8'000 - lost, 7'000}});
    const Settled sent = sent_to(&line);
    EXPECT_EQ(sent.sync, 8'000 - lost - 1'000);  // on the virtual clock it came at 1 000
    EXPECT_EQ(sent.ticks, sent.sync + 500);
    // Who had lost nearly as much came first on both clocks; of others nothing is known.
    const ProgressLog early = line_of({{8'000, 8'000 - (uint64_t{120} << kLostShift), 7'000}});
    EXPECT_EQ(sent_to(&early).ticks, 500u);
    EXPECT_EQ(sent_to(nullptr).ticks, 500u);
    const ProgressLog empty{};
    EXPECT_EQ(sent_to(&empty).ticks, 500u);
}

// It had come to the message before that was sent, or it would have answered: what it came to since
// is another one's.
TEST_F(AskedSends, DoNotWaitForWhatTheirReceiversCameToAfterThem) {
    const ProgressLog line = line_of({{500, 500, 400}, {8'000, 8'000, 7'000}});
    EXPECT_EQ(sent_to(&line, {900, 900}).ticks, 500u);
    EXPECT_EQ(sent_to(&line, {8'100, 900}).sync, 7'000u);
    // The entry has become another message's.
    EXPECT_EQ(sent_to(&line, {0, 0}).ticks, 500u);
}

// Of few bytes: MPI keeps its message until the receiver is in a call of MPI. This is the wait for
// one that was sent at 9 900, on the virtual clock at 900, or at another time.
class KeptSends : public Sends {
  protected:
    Settled sent_to(const ProgressLog& line, const DualTime& sent, uint64_t ticks = 500) {
        Channel channel{};
        channel.progress_log = &line;
        const auto add = [&](Waiting* waiting) { add_kept(waiting, &channel, 3, sent); };
        return settled(MpiCall::kWait, add, ticks);
    }
    uint64_t waited_for(uint64_t lost, uint64_t away, const DualTime& sent = {9'900, 900}) {
        return sent_to(line_of({{8'000, 8'000 - lost, away}}), sent).sync;
    }
};

TEST_F(KeptSends, WouldHaveWaitedForTheirReceivers) {
    const uint64_t lost = uint64_t{31} << kLostShift;
    const uint64_t began = 900 + lost;  // on the receiver's clock
    EXPECT_EQ(waited_for(lost, began), 8'000 - lost - 1'000);
    EXPECT_EQ(waited_for(lost, began - 500), 8'000 - lost - 1'000);
    // It was in a call of MPI then, for a good part of the time: it took the message there.
    EXPECT_EQ(waited_for(lost, began + 2'000), 0u);
    // On both clocks it was there before, or when the message was sent is not known.
    EXPECT_EQ(waited_for(uint64_t{120} << kLostShift, 0), 0u);
    EXPECT_EQ(waited_for(lost, began, {0, 0}), 0u);
    // It came between the send and the wait for it, which would have begun before that.
    EXPECT_EQ(waited_for(lost, began, {7'900, 900}), 8'000 - lost - 1'000);
    EXPECT_EQ(waited_for(lost, 1'000, {1'000, 1'000}), 8'000 - lost - 1'000);
}

// Beside it the call waits for a rank that came at 39 500, on the virtual clock at 10 000. What the
// receiver came to at 20 000, having lost nothing, is no matter of a message that it had taken.
TEST_F(KeptSends, DoNotWaitForWhatTheirReceiversCameToAfterThem) {
    const auto sync_with = [&](const ProgressLog& line, const DualTime& sent) {
        return settled(
                   MpiCall::kWaitall,
                   [&](Waiting* waiting) {
                       Channel channel{};
                       channel.progress_log = &line;
                       add_kept(waiting, &channel, 3, sent);
                       waiting->add_collective(WaitKind::kLateReceiver, 5,
                                               {{39'500, 10'000}, 7, kNoPeer, 0, 0});
                   },
                   30'000)
            .sync;
    };
    const DualTime sent{500, 500};
    EXPECT_EQ(sync_with(line_of({{600, 600, 400}, {20'000, 20'000, 700}}), sent), 9'000u);
    EXPECT_EQ(sync_with(line_of({{20'000, 20'000, 5'000}}), sent), 9'000u);
    EXPECT_EQ(sync_with(line_of({{15'000, 15'000, 400}, {20'000, 20'000, 15'100}}), {0, 0}),
              9'000u);
    // But for the message.
    EXPECT_EQ(sync_with(line_of({{20'000, 20'000, 600}}), sent), 19'000u);
}

// It took the message when it came the second time; not delayed, it had when it came before.
TEST_F(KeptSends, WaitUntilTheirReceiversWouldHaveCome) {
    const uint64_t lost = uint64_t{31} << kLostShift;
    const ProgressLog line =
        line_of({{8'000, 8'000 - lost, 900 + lost}, {10'200, 10'200 - lost, 9'000}});
    const Settled sent = sent_to(line, {9'900, 900});
    EXPECT_EQ(sent.sync, 8'000 - lost - 1'000);
    EXPECT_EQ(sent.ticks, sent.sync + 300);
}

// Of those that found their receiver there only these are looked at.
TEST(DelayedSends, HaveLostMoreThanOthersNotice) {
    open_late_receivers(1'000'000'000);  // 10 000 ticks
    Channel channel{};
    const auto call_that_lost = [](uint64_t before, uint64_t ticks) {
        Call call{};
        call.start_ticks = 1'000'000;
        call.start_virtual = call.start_ticks - before;
        call.end_ticks = call.start_ticks + 500;
        call.ticks = ticks;
        return call;
    };
    const auto looks = [&](uint64_t lost) {
        const Call call = call_that_lost(lost, 500);
        return is_delayed(&channel, &call);
    };
    EXPECT_FALSE(looks(10'000));
    EXPECT_TRUE(looks(10'001));
    const Call looked = call_that_lost(30'000, 500);
    note_look(&channel, &looked);
    EXPECT_FALSE(looks(40'000));
    EXPECT_TRUE(looks(40'001));
    // It waited, and lost less at the end than at the beginning.
    const Call waited = call_that_lost(50'000, 20'500);
    note_look(&channel, &waited);
    EXPECT_FALSE(looks(40'000));
    // What it waited for another one made up for some.
    EXPECT_FALSE(looks(5'000));
    EXPECT_TRUE(looks(15'001));
}

}  // namespace
}  // namespace dwell
