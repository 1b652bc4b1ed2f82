// The records of a wait: for whom, on which path, its root cause, and the propagation to ranks that
// wait for this thread (waits.h).
#include "runtime/waitstates/waits.h"

#include <string.h>

#include <memory>

#include "runtime/exchange/timeline.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/wrappers/several_requests.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

constexpr uint64_t kUnit = uint64_t{1} << kShortTicksShift;

class Waits : public Records {
  protected:
    // A call that waits `ticks` for `peer`, with that stamp.
    void wait(WaitKind kind, uint32_t peer, const EnterStamp& stamp, uint64_t ticks) {
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kRecv, 16));
        record_wait(&call, kind, peer, stamp, ticks);
        const uint64_t from = t_thread->last_ticks + t_thread->slow_overhead + 110;
        end(&call, from, from + 10'000'000);
    }
    static EnterStamp make_stamp(uint32_t path, uint32_t root_cause_rank = kNoPeer,
                                 uint32_t root_cause_path = 0, uint16_t delay_cost = 0,
                                 uint16_t work = 0) {
        return {{0, 0}, path, root_cause_rank, root_cause_path, delay_cost, work};
    }
    const CommPart& part() { return *cell_at<CommPart>(node_at(16)->part); }
    const WaitPart& waited() { return *cell_at<WaitPart>(part().wait); }
    const WaitPeerRecord* partner(uint32_t peer, uint32_t path) {
        for (CellIndex at = waited().first_partner; at != 0;
             at = cell_at<WaitPeerRecord>(at)->next) {
            const auto* record = cell_at<WaitPeerRecord>(at);
            if (record->peer == peer && record->path == path) return record;
        }
        return nullptr;
    }
    static const RootCauseRecord* cause(uint32_t peer, uint32_t path) {
        for (CellIndex at = t_thread->record->first_cause; at != 0;
             at = cell_at<RootCauseRecord>(at)->next) {
            const auto* record = cell_at<RootCauseRecord>(at);
            if (record->peer == peer && record->path == path) return record;
        }
        return nullptr;
    }
};

// Overhead that is already measured within the work for many requests is not counted twice.
TEST_F(Waits, WorkForManyRequestsIsMeasuredOnce) {
    Call call{};
    call.thread = t_thread;
    const auto measured = [&call](int requests, uint64_t* within, bool classifies) {
        t_thread->slow_overhead = 7000;
        const uint64_t before = now_ticks();
        {
            const MeasuredWork work(&call, requests);
            const uint64_t from = now_ticks();
            while (now_ticks() - from < 1'000'000) {
            }
            *within = now_ticks() - from;
            if (classifies) {
                t_thread->slow_overhead = 7000 + (now_ticks() - before);
            } else {
                t_thread->slow_overhead += *within;
            }
        }
        const uint64_t after = now_ticks();
        const uint64_t all = t_thread->slow_overhead - 7000;
        t_thread->slow_overhead = 0;
        EXPECT_LE(all, after - before);
        return all;
    };
    uint64_t within = 0;
    EXPECT_GE(measured(5, &within, false), within);
    EXPECT_GE(measured(5, &within, true), within);
    EXPECT_EQ(measured(4, &within, false), within);
}

TEST_F(Waits, AreRecordedByPartnerPathAndKind) {
    wait(WaitKind::kLateSender, 3, make_stamp(77), 500);
    wait(WaitKind::kLateSender, 3, make_stamp(77), 700);
    wait(WaitKind::kLateReceiver, 4, make_stamp(77), 60);
    wait(WaitKind::kCollective, 3, make_stamp(78), 8);
    EXPECT_EQ(part().sync_ticks, 1268u);
    EXPECT_EQ(waited().late_sender_ticks, 1200u);
    EXPECT_EQ(waited().late_receiver_ticks, 60u);
    ASSERT_NE(partner(3, 77), nullptr);
    EXPECT_EQ(partner(3, 77)->count, 2u);
    EXPECT_EQ(partner(3, 77)->ticks, 1200u);
    EXPECT_EQ(partner(3, 77)->max_ticks, 700u);
    EXPECT_EQ(partner(4, 77)->ticks, 60u);
    EXPECT_EQ(partner(3, 78)->ticks, 8u);
    ASSERT_NE(cause(3, 77), nullptr);
    EXPECT_EQ(cause(3, 77)->ticks, 1200u);
    EXPECT_EQ(cause(3, 77)->direct_wait_ticks, 1200u);
}

TEST_F(Waits, AreDueToTheCauseUpToThePropagatedDelay) {
    // The partner had waited 3 units for rank 9: so much of the 10 is due to rank 9.
    wait(WaitKind::kLateSender, 3, make_stamp(77, 9, 99, 3), 10 * kUnit);
    EXPECT_EQ(waited().indirect_wait_ticks, 3 * kUnit);
    EXPECT_EQ(partner(3, 77)->indirect_wait_ticks, 3 * kUnit);
    EXPECT_EQ(cause(3, 77)->ticks, 7 * kUnit);
    EXPECT_EQ(cause(3, 77)->direct_wait_ticks, 7 * kUnit);
    ASSERT_NE(cause(9, 99), nullptr);
    EXPECT_EQ(cause(9, 99)->ticks, 3 * kUnit);
    EXPECT_EQ(cause(9, 99)->direct_wait_ticks, 0u);
    // A propagated delay longer than the wait causes no more than the wait.
    wait(WaitKind::kLateSender, 3, make_stamp(77, 9, 99, 500), 20 * kUnit);
    EXPECT_EQ(cause(9, 99)->ticks, 23 * kUnit);
    EXPECT_EQ(cause(3, 77)->ticks, 7 * kUnit);
}

TEST_F(Waits, NobodyCausedMoreThanItComputed) {
    // 10 units, of which the partner had waited 3 and computed 2: the rest is unknown.
    wait(WaitKind::kLateSender, 3, make_stamp(77, 9, 99, 3, 2), 10 * kUnit);
    EXPECT_EQ(cause(3, 77)->ticks, 2 * kUnit);
    EXPECT_EQ(cause(9, 99)->ticks, 3 * kUnit);
    EXPECT_EQ(t_thread->record->rest_cause_ticks, 5 * kUnit);
    EXPECT_EQ(t_thread->record->rest_cause_count, 1u);
    EXPECT_EQ(part().sync_ticks, 10 * kUnit);
}

// A call with a published stamp may look up a channel and restart. The computation before it is one
// part of the timeline.
TEST_F(Waits, AComputationIsAddedOnceIfTheCallRestarts) {
    const auto timeline = std::make_unique<Timeline>();
    g_own_timeline = timeline.get();
    g_least_part_ticks = 100;
    for (uint64_t number = 1; number <= 2; ++number) {
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        t_thread->slow_overhead = 0;
        call.start_ticks = t_thread->last_ticks + g_process.call_cost_ticks + 5000;
        const EnterStamp first = make_enter_stamp(&call);
        EXPECT_EQ(timeline->count, number);
        t_thread->slow_overhead = 700;
        call.start_ticks += 700;
        EXPECT_EQ(make_enter_stamp(&call).at.virt, first.at.virt);
        EXPECT_EQ(timeline->count, number);
        end(&call, call.start_ticks, call.start_ticks + 300);
        ASSERT_EQ(timeline->count, number);
        EXPECT_EQ(timeline->parts[number - 1].ticks, 5000u);
        EXPECT_EQ(timeline->parts[number - 1].end, first.at.virt);
    }
    g_own_timeline = nullptr;
    g_least_part_ticks = UINT64_MAX;
}

// Without its own computation both ranks would have entered earlier.
TEST_F(Waits, NoRankIsTheCauseOfItsOwnWait) {
    g_process.header->rank = 9;
    wait(WaitKind::kLateSender, 3, make_stamp(77, 9, 99, 40, 7), 10 * kUnit);
    g_process.header->rank = 0;
    EXPECT_EQ(waited().indirect_wait_ticks, 0u);
    EXPECT_EQ(cause(9, 99), nullptr);
    EXPECT_EQ(cause(3, 77)->direct_wait_ticks, 7 * kUnit);  // as far as the partner computed
    EXPECT_EQ(t_thread->record->rest_cause_ticks, 3 * kUnit);
}

TEST(ShortTicks, AreCutOffByLessThanAThousandth) {
    EXPECT_EQ(ticks_of(short_ticks(0)), 0u);
    EXPECT_EQ(ticks_of(short_ticks(2047 * kUnit + kUnit - 1)), 2047 * kUnit);
    for (uint64_t ticks = 2048 * kUnit; ticks < uint64_t{1} << 48; ticks = ticks * 5 / 3) {
        EXPECT_LE(ticks_of(short_ticks(ticks)), ticks);
        EXPECT_GT(ticks_of(short_ticks(ticks)) + ticks / 1000, ticks) << ticks;
    }
    EXPECT_EQ(short_ticks(UINT64_MAX), UINT16_MAX);
}

// The virtual ticks of a receive that took 400 ticks. Its message was sent `since` ticks after it
// began (negative: before) by a rank that had lost 250. `blocked`: what the duration suggests.
class Receives : public Waits {
  protected:
    static constexpr uint64_t kStep = 1'000'000;  // between two calls
    uint64_t receive(int64_t since, bool blocked) {
        return classified(blocked, [this, stamp = stamp_at(since)](Waiting* waiting) {
            waiting->add_message(&channel_, 3, 8, stamp);
        });
    }
    // The same for a send that waits for its receiver, which entered then.
    uint64_t send(int64_t since) {
        return classified(true, [stamp = stamp_at(since)](Waiting* waiting) {
            waiting->add_collective(WaitKind::kLateReceiver, 3, stamp);
        });
    }
    EnterStamp stamp_at(int64_t since) const {
        const uint64_t real = begin_ + kStep + static_cast<uint64_t>(since);
        return {{real, real - 250}, 77, kNoPeer, 0, 0};
    }
    template <typename Add>
    uint64_t classified(bool blocked, Add add) {
        return classified_within(400, blocked, add);
    }
    template <typename Add>
    uint64_t classified_within(uint64_t ticks, bool blocked, Add add) {
        Call call;
        EXPECT_TRUE(begin(&call, MpiCall::kRecv, 16));
        g_process.call_cost_ticks = 0;
        t_thread->record->intrusion_ticks = 0;
        t_thread->slow_overhead = 0;
        begin_ += kStep;
        t_thread->last_ticks = begin_;
        call.start_ticks = begin_;
        call.end_ticks = begin_ + ticks;
        call.ticks = ticks;
        call.slow_overhead = 0;
        Waiting waiting(&call);
        add(&waiting);
        EXPECT_TRUE(waiting.classify(&call, blocked));
        found_ = waiting.found_all();
        measured_ = t_thread->slow_overhead;
        record_event(&call, kSendReady);
        leave(&call);
        return call.ticks;
    }
    uint64_t call_sync() { return node_at(16) != nullptr ? part().sync_ticks : 0; }
    Channel channel_{};
    uint64_t begin_ = 0;  // of the last call
    uint64_t measured_ = 0;
    bool found_ = false;
};

TEST_F(Receives, ThatWaitShortlyTakeOverTheSendersIntrusion) {
    receive(100, false);                   // the first one is not used
    EXPECT_EQ(receive(100, false), 300u);  // shows the transfer time: 300
    EXPECT_EQ(receive(100, false), 150u);  // sent at -150 on the virtual clock, transfer 300
    EXPECT_EQ(receive(100, true), 150u);   // whatever the duration suggests
    EXPECT_FALSE(found_);
    EXPECT_EQ(receive(-5000, true), 400u);  // the message was there: the call only took long
    EXPECT_TRUE(found_);
    EXPECT_EQ(receive(-5000, false), 400u);
    // Under way when the receive began, for 100 more: this wait hides the receiver's lost time, but
    // not its own work.
    EXPECT_EQ(receive(-200, false), 300u);
}

TEST_F(Receives, OfMessagesSentAfterTheEndAreClockErrors) {
    const uint64_t& errors = t_thread->record->clock_errors;
    receive(400, true);
    EXPECT_EQ(errors, 0u);
    receive(401, true);
    EXPECT_EQ(errors, 1u);
    // A send ends when its message is taken, even in another call of the receiver.
    EXPECT_EQ(send(100),
              300u);  // the receiver entered at -150 on the virtual clock, the rest is MPI's
    send(900);
    EXPECT_EQ(errors, 1u);
}

// A call that waits for several ranks waits until the last entered, in any order of look-up: until
// 300 for rank 5, of 400 ticks.
TEST_F(Receives, ForSeveralWaitForTheLast) {
    const auto at = [this](int64_t since) {
        EnterStamp stamp = stamp_at(since);
        stamp.at.virt = stamp.at.real;
        return stamp;
    };
    for (const bool forward : {true, false}) {
        for (int kind = 0; kind < 3; ++kind) {
            const uint64_t before = call_sync();
            const EnterStamp early = at(100);
            const EnterStamp late = at(300);
            const uint64_t ticks = classified(true, [&](Waiting* waiting) {
                for (int k = 0; k < 2; ++k) {
                    const bool last = (k == 1) == forward;
                    const EnterStamp& stamp = last ? late : early;
                    const uint32_t peer = last ? 5 : 3;
                    if (kind == 0 || (kind == 1) == last) {
                        waiting->add_collective(WaitKind::kLateReceiver, peer, stamp);
                    } else {
                        waiting->add_message(&channel_, peer, 8, stamp);
                    }
                }
            });
            EXPECT_EQ(ticks, 400u);
            EXPECT_EQ(call_sync() - before, 300u) << forward << kind;
        }
    }
    ASSERT_NE(partner(5, 77), nullptr);
    EXPECT_EQ(partner(5, 77)->ticks, 6 * 300u);
    EXPECT_EQ(partner(3, 77), nullptr);
}

TEST_F(Receives, MeasureTheCostOfClassification) {
    const uint64_t before = now_ticks();
    receive(100, false);
    EXPECT_GE(measured_,
              before - (begin_ + 400));  // counted from the end of the call, which is long ago
    EXPECT_LE(measured_, now_ticks() - (begin_ + 400));
}

TEST(EagerLimits, AreThoseThatTheUserSet) {
    const EagerLimits before = g_eager_limits;
    EXPECT_EQ(before.eager_limit_shm, 4096u);
    setenv("OMPI_MCA_btl_vader_eager_limit", "8192", 1);
    setenv("OMPI_MCA_btl_vader_max_inline_send", "64", 1);
    setenv("OMPI_MCA_btl_tcp_eager_limit", "1048576", 1);
    read_eager_limits();
    EXPECT_EQ(g_eager_limits.eager_limit_shm, 8192u);
    EXPECT_EQ(g_eager_limits.copy_limit, 64u);
    EXPECT_EQ(g_eager_limits.eager_limit_net, 1048576u);
    for (const char* bad : {"", "x", "-1", "12x", "99999999999999999999"}) {
        setenv("OMPI_MCA_btl_vader_eager_limit", bad, 1);
        read_eager_limits();
        EXPECT_EQ(g_eager_limits.eager_limit_shm, 8192u) << bad;
    }
    for (const char* name : {"OMPI_MCA_btl_vader_eager_limit", "OMPI_MCA_btl_vader_max_inline_send",
                             "OMPI_MCA_btl_tcp_eager_limit"}) {
        unsetenv(name);
    }
    g_eager_limits = before;
}

TEST_F(Waits, ResetForgetsThem) {
    wait(WaitKind::kLateSender, 3, make_stamp(77), 500);
    forget();
    EXPECT_EQ(part().sync_ticks, 0u);
    EXPECT_EQ(waited().late_sender_ticks, 0u);
    EXPECT_EQ(partner(3, 77)->ticks, 0u);
    EXPECT_EQ(cause(3, 77)->ticks, 0u);
}

}  // namespace
}  // namespace dwell
