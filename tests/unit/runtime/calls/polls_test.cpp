// Untimed polls: counts, and how the time passed is distributed. Timed polls take 40 ticks, after
// 20 ticks of computation and 10 of cost; an untimed one costs 2. So every expected number is
// arithmetic.
#include "runtime/calls/polls.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

constexpr uint64_t kPoll = 16;   // places in the program
constexpr uint64_t kOther = 48;  // another statement that polls
constexpr uint64_t kSend = 32;

class Polls : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        g_process.poll_cost_ticks = 2;
        g_process.untimed_cost_ticks = 0;
        g_process.poll_spacing_ticks = 1000;
        // Polls go untimed only on known paths.
        for (int i = 0; i < 4; ++i) timed_poll(kPoll, last() + 30);
        send(last() + 30, 10);
        for (int i = 0; i < 2; ++i) timed_poll(kPoll, last() + 30);
        for (int i = 0; i < 3; ++i) {
            for (uint64_t place : {kOther, kPoll}) timed_poll(place, last() + 30);
        }
        send(last() + 30, 10);
        forget();
    }
    void TearDown() override {
        if (t_thread->polls != nullptr) munmap(t_thread->polls, kPolls * sizeof(Poll));
        Records::TearDown();
    }
    uint64_t last() const { return t_thread->last_ticks; }

    // An unsuccessful poll with time stamps, 40 ticks long.
    void timed_poll(uint64_t place, uint64_t from, const Before* before = nullptr,
                    int requests = 0) {
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kIprobe, place));
        stamp(&call, from, from + 40);
        record_event(&call, kRecvBlocked);
        call.part->blocked_ticks += call.ticks;
        remember_poll(&call, kRecvBlocked, true, before, requests);
        leave(&call);
    }
    bool begin_untimed(Call* call, uint64_t place, int count = 0,
                       const MPI_Request* requests = nullptr) {
        frame_ = Frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + place};
        return begin_poll(call, MpiCall::kIprobe, &frame_, count, requests);
    }
    bool untimed_poll(uint64_t place) {
        Call call;
        if (!begin_untimed(&call, place)) return false;
        end_poll(&call);
        return true;
    }
    void send(uint64_t from, uint64_t ticks) {
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, kSend));
        stamp(&call, from, from + ticks);
        record_event(&call, kSendReady);
        leave(&call);
    }
    static void stamp(Call* call, uint64_t from, uint64_t to) {
        call->start_ticks = from;
        call->end_ticks = to;
        call->ticks = to - from;
        call->slow_overhead = t_thread->slow_overhead = 0;  // measured by another clock
        record_untimed_before(call);
    }

    const SizeHistogram* histogram(uint64_t place) {
        return cell_at<SizeHistogram>(cell_at<CommPart>(node_at(place)->part)->histogram);
    }
    const Node* interval(uint64_t from, uint64_t to) {
        const CellIndex left = from == 0 ? 0 : index_of(node_at(from));
        for (CellIndex at = node_at(to)->first_child; at != 0;
             at = cell_at<Node>(at)->next_sibling) {
            if (static_cast<CellIndex>(cell_at<Node>(at)->site.offset) == left)
                return cell_at<Node>(at);
        }
        return nullptr;
    }
    // DESIGN 5.5: everything recorded is the time since the beginning.
    void expect_conservation() {
        uint64_t recorded = t_thread->record->intrusion_ticks;
        for (uint64_t place : {kPoll, kOther, kSend}) {
            recorded += node_at(place)->ticks;
            for (CellIndex at = node_at(place)->first_child; at != 0;
                 at = cell_at<Node>(at)->next_sibling) {
                recorded += cell_at<Node>(at)->ticks;
            }
        }
        EXPECT_EQ(recorded, t_thread->record->last_ticks - 1000);
    }
};

TEST_F(Polls, GetTheMeanOfTimedPollsAndTheRestIsComputation) {
    timed_poll(kPoll, 1030);  // until 1070
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(untimed_poll(kPoll));
    // 5 * (2 + 40 + 20) for the polls, 500 of computation, 10 of cost.
    send(1070 + 310 + 500 + 10, 7);
    const Node* poll = node_at(kPoll);
    EXPECT_EQ(poll->count, 6u);
    EXPECT_EQ(poll->ticks, 6 * 40u);
    EXPECT_EQ(poll->min_ticks, 40u);
    EXPECT_EQ(poll->max_ticks, 40u);
    EXPECT_EQ(cell_at<CommPart>(poll->part)->blocked_ticks, 6 * 40u);
    EXPECT_EQ(histogram(kPoll)->event_count[kRecvBlocked], 6u);
    EXPECT_EQ(histogram(kPoll)->event_ticks[kRecvBlocked], 6 * 40u);
    EXPECT_EQ(histogram(kPoll)->untimed, 5u);
    EXPECT_EQ(histogram(kSend)->untimed, 0u);
    EXPECT_EQ(interval(0, kPoll)->ticks, 20u);
    EXPECT_EQ(interval(kPoll, kPoll)->count, 5u);
    EXPECT_EQ(interval(kPoll, kPoll)->ticks, 5 * 20u);
    EXPECT_EQ(interval(kPoll, kSend)->ticks, 500u);
    EXPECT_EQ(t_thread->record->intrusion_ticks, 10u + 5 * 2 + 10);
    EXPECT_EQ(t_thread->record->last_ticks, 1897u);
    expect_conservation();
}

TEST_F(Polls, GetNoMoreTimeThanHasPassed) {
    timed_poll(kPoll, 1030);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(untimed_poll(kPoll));
    // 130 ticks: 10 for their cost, 120 of the 200 that five polls would take, nothing between.
    send(1070 + 130 + 10, 7);
    EXPECT_EQ(node_at(kPoll)->ticks, 40u + 120);
    EXPECT_EQ(interval(kPoll, kPoll)->count, 5u);
    EXPECT_EQ(interval(kPoll, kPoll)->ticks, 0u);
    EXPECT_EQ(interval(kPoll, kSend)->ticks, 0u);
    expect_conservation();
    // 8 ticks: not even their cost.
    timed_poll(kPoll, last() + 30);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(untimed_poll(kPoll));
    send(last() + 8 + 10, 7);
    EXPECT_EQ(node_at(kPoll)->count, 12u);
    EXPECT_EQ(node_at(kPoll)->ticks, 2 * 40u + 120);
    expect_conservation();
}

TEST_F(Polls, AreTimedTwiceInTwoHundredThirtyNine) {
    constexpr uint32_t kUntimed = 237;
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(node_at(kPoll)->count, (kUntimed + 2) * round);
        timed_poll(kPoll, last() + (round == 0 ? 30 : kUntimed * 62 + 30));
        if (round > 0) {  // after untimed polls the interval before it is unknown
            ASSERT_FALSE(untimed_poll(kPoll));
        }
        timed_poll(kPoll, last() + 30);
        for (uint32_t i = 0; i < kUntimed; ++i) ASSERT_TRUE(untimed_poll(kPoll)) << i;
        ASSERT_FALSE(untimed_poll(kPoll));
    }
    send(last() + kUntimed * 62 + 30, 7);
    EXPECT_EQ(node_at(kPoll)->ticks, 3 * (kUntimed + 2) * 40u);
    EXPECT_EQ(histogram(kPoll)->untimed, 3 * kUntimed);
    expect_conservation();
}

TEST_F(Polls, OfTwoAlternatingStatements) {
    timed_poll(kPoll, 1030);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(untimed_poll(kOther));
        ASSERT_TRUE(untimed_poll(kPoll));
    }
    send(last() + 20 * 62 + 10 + 300, 7);
    EXPECT_EQ(node_at(kPoll)->ticks, 11 * 40u);
    EXPECT_EQ(node_at(kOther)->ticks, 10 * 40u);
    EXPECT_EQ(interval(kPoll, kOther)->count, 10u);
    EXPECT_EQ(interval(kOther, kPoll)->ticks, 10 * 20u);
    EXPECT_EQ(interval(kPoll, kSend)->ticks, 300u);
    EXPECT_EQ(histogram(kOther)->untimed, 10u);
    expect_conservation();
}

TEST_F(Polls, FarApartAreAllTimed) {
    timed_poll(kPoll, 1030);
    timed_poll(kPoll, last() + 10 + 961);  // 961 and 40 are more than 1000
    EXPECT_FALSE(untimed_poll(kPoll));
    timed_poll(kPoll, last() + 10 + 960);
    EXPECT_TRUE(untimed_poll(kPoll));
}

TEST_F(Polls, OneThatFindsSomethingIsACallOfItsOwn) {
    timed_poll(kPoll, 1030);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(untimed_poll(kPoll));
    Call call;
    ASSERT_TRUE(begin_untimed(&call, kPoll));
    const uint64_t before = now_ticks();
    stop_poll(&call);
    EXPECT_GE(call.end_ticks, before);
    EXPECT_LE(call.end_ticks, now_ticks());
    estimate_poll(&call, 0);
    record_event(&call, kRecvReady);
    record_message(&call, 3, 0, 100, call.ticks);
    leave(&call);
    EXPECT_EQ(call.ticks, 40u);  // matched receives cost nothing here
    EXPECT_EQ(node_at(kPoll)->count, 7u);
    EXPECT_EQ(node_at(kPoll)->ticks, 7 * 40u);
    EXPECT_EQ(histogram(kPoll)->event_count[kRecvBlocked], 6u);
    EXPECT_EQ(histogram(kPoll)->event_count[kRecvReady], 1u);
    EXPECT_EQ(histogram(kPoll)->untimed, 6u);
    EXPECT_EQ(cell_at<CommPart>(node_at(kPoll)->part)->bytes_received, 100u);
    EXPECT_EQ(last(), call.end_ticks);
    expect_conservation();
}

TEST_F(Polls, OtherRequestsAreLookedUpAgain) {
    const uintptr_t handle[] = {0x7000, 0x7100, 0x7200};
    MPI_Request requests[3];
    Before before[3];
    Request content{};
    content.kind = kReceiveRequest;
    content.active = true;
    for (int i = 0; i < 3; ++i) {
        requests[i] = reinterpret_cast<MPI_Request>(handle[i]);
        ASSERT_TRUE(add_request(handle[i], content, {}));
        before[i] = Before{requests[i], find_request(handle[i]), true};
    }
    const auto repeats = [&](int count) {
        Call call;
        if (!begin_untimed(&call, kPoll, count, requests)) return false;
        end_poll(&call);
        return true;
    };
    timed_poll(kPoll, 1030, before, 2);
    EXPECT_TRUE(repeats(2));
    EXPECT_FALSE(repeats(1));
    EXPECT_FALSE(repeats(3));
    std::swap(requests[1], requests[2]);
    EXPECT_FALSE(repeats(2));
    std::swap(requests[1], requests[2]);
    EXPECT_TRUE(repeats(2));
    // Another call that did not touch the requests; then one that completed the second request and
    // started another with the same handle.
    t_thread->calls += 1;
    EXPECT_TRUE(repeats(2));
    t_thread->calls += 1;
    drop_request(before[1].found);
    EXPECT_FALSE(repeats(2));
    ASSERT_TRUE(add_request(handle[1], content, {}));
    EXPECT_FALSE(repeats(2));
    // A completed persistent request.
    before[1].found = find_request(handle[1]);
    timed_poll(kPoll, last() + 30, before, 2);
    timed_poll(kPoll, last() + 30, before, 2);
    EXPECT_TRUE(repeats(2));
    set_active(before[0].found, false);
    t_thread->calls += 1;
    EXPECT_FALSE(repeats(2));
    // With a second thread the number of own calls does not suffice: it checks each time.
    set_active(before[0].found, true);
    timed_poll(kPoll, last() + 30, before, 2);
    timed_poll(kPoll, last() + 30, before, 2);
    g_process.thread_count = 2;
    EXPECT_TRUE(repeats(2));
    drop_request(before[1].found);
    EXPECT_FALSE(repeats(2));
    for (uintptr_t used : handle) forget_request(used);
}

TEST_F(Polls, ACallInsideAnUntimedPollIsPassedOn) {
    timed_poll(kPoll, 1030);
    Call outer;
    ASSERT_TRUE(begin_untimed(&outer, kPoll));
    const auto* deeper = reinterpret_cast<const Frame*>(reinterpret_cast<uintptr_t>(&outer) - 256);
    Call inner;
    EXPECT_FALSE(begin_poll(&inner, MpiCall::kIprobe, deeper, 0, nullptr));
    EXPECT_FALSE(enter(&inner, MpiCall::kRecv, deeper, kMpiForm));
    end_poll(&outer);
    EXPECT_EQ(node_at(kPoll)->count, 2u);
    EXPECT_TRUE(untimed_poll(kPoll));
}

TEST_F(Polls, AnUntimedPollLeftByALongjmpCountsAsFailed) {
    timed_poll(kPoll, 1030);
    alignas(16) char old_frame[sizeof(Call)] = {};
    ASSERT_TRUE(begin_untimed(reinterpret_cast<Call*>(old_frame), kPoll));
    memset(old_frame, 0x5a, sizeof(old_frame));
    send(last() + 100, 7);
    EXPECT_EQ(node_at(kSend)->count, 1u);
    EXPECT_EQ(node_at(kPoll)->count, 2u);
    EXPECT_EQ(cell_at<CommPart>(node_at(kPoll)->part)->failed, 1u);
    expect_conservation();
}

TEST_F(Polls, ResetAndPauseEndThem) {
    timed_poll(kPoll, 1030);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(untimed_poll(kPoll));
    live_.paused = 1;
    EXPECT_FALSE(untimed_poll(kPoll));
    live_.paused = 0;
    live_.resets += 1;
    live_.epoch += 1;
    EXPECT_FALSE(untimed_poll(kPoll));
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, kSend));
    const uint64_t from = last() + 100;
    stamp(&call, from, from + 7);
    leave(&call);
    EXPECT_EQ(node_at(kPoll)->count, 0u);
    EXPECT_EQ(node_at(kPoll)->ticks, 0u);
    EXPECT_EQ(histogram(kPoll)->untimed, 0u);
    EXPECT_EQ(interval(0, kSend)->ticks, 90u);
}

TEST_F(Polls, AThreadRecordsThemAtItsEnd) {
    g_process.poll_spacing_ticks = UINT64_MAX;  // the machine may be busy
    const ThreadRecord* record = nullptr;
    uint64_t untimed = 0;
    std::thread([&] {
        const Frame frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + kPoll};
        Call call;
        for (int i = 0; i < 30; ++i) {
            if (begin_poll(&call, MpiCall::kIprobe, &frame, 0, nullptr)) {
                end_poll(&call);
                ++untimed;
            } else if (enter(&call, MpiCall::kIprobe, &frame, kMpiForm)) {
                start(&call);
                stop(&call);
                record_event(&call, kRecvBlocked);
                remember_poll(&call, kRecvBlocked, true, nullptr, 0);
                leave(&call);
            }
        }
        record = t_thread->record;
    }).join();
    const auto* poll = cell_at<Node>(cell_at<Node>(record->root)->first_child);
    const auto* counts = cell_at<SizeHistogram>(cell_at<CommPart>(poll->part)->histogram);
    EXPECT_EQ(poll->count, 30u);
    EXPECT_GT(untimed, 0u);
    EXPECT_EQ(counts->untimed, untimed);
    EXPECT_EQ(counts->event_count[kRecvBlocked], 30u);
    EXPECT_EQ(counts->event_ticks[kRecvBlocked], poll->ticks);
    g_process.free_threads = nullptr;
}

}  // namespace
}  // namespace dwell
