// Sends delayed by dwell, or whose wait was hidden by it: which progress entry of the receiver took
// the message, and how long the send would have waited (late_receivers.h).
#include "runtime/waitstates/late_receivers.h"

#include <initializer_list>

#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

// A send to rank 3, or the wait for one, began at 10 000, when its thread had lost 9 000, and took
// 500.
class Sends : public Records {
  protected:
    struct Classified {
        uint64_t ticks;
        uint64_t sync;
    };
    // The receiver's progress entries, and since when it had made no progress.
    struct Entry {
        uint64_t real;
        uint64_t virt;
        uint64_t no_progress_since;
        uint32_t path = 44;
    };
    static ProgressLog log_of(std::initializer_list<Entry> all) {
        ProgressLog log{};
        for (const Entry& entered : all) {
            write_progress(&log, {{entered.real, entered.virt}, entered.path, kNoPeer, 0, 0},
                           entered.no_progress_since, false);
        }
        return log;
    }
    template <typename Add>
    Classified classified(MpiCall number, Add add, uint64_t ticks = 500) {
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
        const Classified classified{call.ticks, waiting.sync()};
        record_event(&call, kSendReady);
        leave(&call);
        return classified;
    }
};

// A synchronous send, or the wait for one, whose receiver has not answered.
class RendezvousSends : public Sends {
  protected:
    Classified sent_to(const ProgressLog* log, const DualTime& sent = {10'000, 1'000}) {
        ChannelEntry entry{};
        entry.stamp.at = sent;
        Channel channel{};
        channel.progress_log = log;
        return classified(MpiCall::kSsend, [&](Waiting* waiting) {
            add_rendezvous_send(waiting, &channel, {&entry, entry.number}, 3);
        });
    }
};

TEST_F(RendezvousSends, WouldHaveWaitedForTheirReceivers) {
    const uint64_t lost = uint64_t{31} << kLostShift;
    const ProgressLog log = log_of({{8'000, 8'000 - lost, 7'000}});
    const Classified sent = sent_to(&log);
    EXPECT_EQ(sent.sync, 8'000 - lost - 1'000);  // it entered at 1 000 on the virtual clock
    EXPECT_EQ(sent.ticks, sent.sync + 500);
    // A receiver that lost nearly as much entered first on both clocks; of earlier entries nothing
    // is known.
    const ProgressLog early = log_of({{8'000, 8'000 - (uint64_t{120} << kLostShift), 7'000}});
    EXPECT_EQ(sent_to(&early).ticks, 500u);
    EXPECT_EQ(sent_to(nullptr).ticks, 500u);
    const ProgressLog empty{};
    EXPECT_EQ(sent_to(&empty).ticks, 500u);
}

// The receiver had come to the message before it was sent, or it would have answered; later entries
// belong to other messages.
TEST_F(RendezvousSends, DoNotWaitForLaterProgress) {
    const ProgressLog log = log_of({{500, 500, 400}, {8'000, 8'000, 7'000}});
    EXPECT_EQ(sent_to(&log, {900, 900}).ticks, 500u);
    EXPECT_EQ(sent_to(&log, {8'100, 900}).sync, 7'000u);
    // The entry was reused for another message.
    EXPECT_EQ(sent_to(&log, {0, 0}).ticks, 500u);
}

// Single-copy sends: MPI keeps the message until the receiver is in an MPI call. The test waits for
// one that was sent at 9 900 (virtual time 900), or at another time.
class SingleCopySends : public Sends {
  protected:
    Classified sent_to(const ProgressLog& log, const DualTime& sent, uint64_t ticks = 500) {
        Channel channel{};
        channel.progress_log = &log;
        const auto add = [&](Waiting* waiting) {
            add_single_copy_send(waiting, &channel, 3, sent);
        };
        return classified(MpiCall::kWait, add, ticks);
    }
    uint64_t waited_for(uint64_t lost, uint64_t no_progress_since,
                        const DualTime& sent = {9'900, 900}) {
        return sent_to(log_of({{8'000, 8'000 - lost, no_progress_since}}), sent).sync;
    }
};

TEST_F(SingleCopySends, WouldHaveWaitedForTheirReceivers) {
    const uint64_t lost = uint64_t{31} << kLostShift;
    const uint64_t began = 900 + lost;  // on the receiver's clock
    EXPECT_EQ(waited_for(lost, began), 8'000 - lost - 1'000);
    EXPECT_EQ(waited_for(lost, began - 500), 8'000 - lost - 1'000);
    // The receiver was in an MPI call for a good part of that time, and took the message there.
    EXPECT_EQ(waited_for(lost, began + 2'000), 0u);
    // It was there before on both clocks, or the time of the send is not known.
    EXPECT_EQ(waited_for(uint64_t{120} << kLostShift, 0), 0u);
    EXPECT_EQ(waited_for(lost, began, {0, 0}), 0u);
    // It entered between the send and the wait, which would have begun earlier.
    EXPECT_EQ(waited_for(lost, began, {7'900, 900}), 8'000 - lost - 1'000);
    EXPECT_EQ(waited_for(lost, 1'000, {1'000, 1'000}), 8'000 - lost - 1'000);
}

// The call also waits for a rank that entered at 39 500 (virtual time 10 000). The receiver's entry
// at 20 000, with nothing lost, is of no importance for a message that it had taken.
TEST_F(SingleCopySends, DoNotWaitForLaterProgress) {
    const auto sync_with = [&](const ProgressLog& log, const DualTime& sent) {
        return classified(
                   MpiCall::kWaitall,
                   [&](Waiting* waiting) {
                       Channel channel{};
                       channel.progress_log = &log;
                       add_single_copy_send(waiting, &channel, 3, sent);
                       waiting->add_collective(WaitKind::kLateReceiver, 5,
                                               {{39'500, 10'000}, 7, kNoPeer, 0, 0});
                   },
                   30'000)
            .sync;
    };
    const DualTime sent{500, 500};
    EXPECT_EQ(sync_with(log_of({{600, 600, 400}, {20'000, 20'000, 700}}), sent), 9'000u);
    EXPECT_EQ(sync_with(log_of({{20'000, 20'000, 5'000}}), sent), 9'000u);
    EXPECT_EQ(sync_with(log_of({{15'000, 15'000, 400}, {20'000, 20'000, 15'100}}), {0, 0}), 9'000u);
    // It matters for the message only.
    EXPECT_EQ(sync_with(log_of({{20'000, 20'000, 600}}), sent), 19'000u);
}

// It took the message at its second entry; without delay it would have been the first.
TEST_F(SingleCopySends, WaitUntilTheirReceiversWouldHaveEntered) {
    const uint64_t lost = uint64_t{31} << kLostShift;
    const ProgressLog log =
        log_of({{8'000, 8'000 - lost, 900 + lost}, {10'200, 10'200 - lost, 9'000}});
    const Classified sent = sent_to(log, {9'900, 900});
    EXPECT_EQ(sent.sync, 8'000 - lost - 1'000);
    EXPECT_EQ(sent.ticks, sent.sync + 300);
}

// Among sends that found their receiver, only these are examined.
TEST(DelayedSends, HaveLostNoticeablyMore) {
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
    note_lookup(&channel, &looked);
    EXPECT_FALSE(looks(40'000));
    EXPECT_TRUE(looks(40'001));
    // It waited, and had lost less at the end than at the start.
    const Call waited = call_that_lost(50'000, 20'500);
    note_lookup(&channel, &waited);
    EXPECT_FALSE(looks(40'000));
    // Its wait for another rank made up for some lost time.
    EXPECT_FALSE(looks(5'000));
    EXPECT_TRUE(looks(15'001));
}

}  // namespace
}  // namespace dwell
