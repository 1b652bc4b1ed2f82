// OpenMP threads that call MPI: time between two calls is computation unless the thread waits for
// work, and overhead taken over from other threads is not part of it.
#include "tests/unit/runtime/openmp/openmp_process.h"

namespace dwell {

namespace {

constexpr uint64_t kHuge = 100 * kLong;  // ticks on the virtual clock only

// A call from its own place; returns the only interval of the calling thread before it, or null.
class OpenMpCalls : public OpenMp {
  protected:
    // The first thread has much overhead before its first fork.
    static void SetUpTestSuite() {
        OpenMp::SetUpTestSuite();
        t_thread->record->intrusion_ticks = kHuge;
    }
    void SetUp() override {
        OpenMp::SetUp();
        g_process.free_threads = nullptr;  // the second thread is new in each test
        depth_ = g_process.options.callpath_depth;
        g_process.options.callpath_depth = 1;
    }
    void TearDown() override {
        g_process.options.callpath_depth = depth_;
        OpenMp::TearDown();
    }

    static const Node* call_from(uint64_t at) {
        Frame frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + at};
        Call call;
        if (!enter(&call, MpiCall::kBarrier, &frame, kMpiForm)) return nullptr;
        start(&call);
        stop(&call);
        record_event(&call, kSendReady);
        dwell::leave(&call);
        const Node* const interval = cell_at<Node>(call.node->first_child);
        return interval->count == 1 && interval->next_sibling == 0 ? interval : nullptr;
    }

  private:
    static constexpr char kCode[4096] = {};  // stands for the program's text
    uint32_t depth_ = 0;
};

TEST_F(OpenMpCalls, IdleTimeIsNoComputation) {
    Worker second;
    const Node* interval = nullptr;
    uint64_t span = 0;
    uint64_t idle = 0;
    region(second, place(1), nothing, [&] {
        call_from(16);
        span = now_ticks();
    });
    spin(4 * kLong);
    region(second, place(1), nothing, [&] {
        spin(kLong);
        span = now_ticks() - span;
        idle = child(root(t_thread), OmpConstruct::kIdle, 0)->ticks;
        interval = call_from(32);
    });
    leave(second);
    ASSERT_NE(interval, nullptr);
    EXPECT_GE(idle, 3 * kLong);
    EXPECT_GE(interval->ticks, kLong * 9 / 10);
    // Both are part of the time between the two calls, which may begin a little earlier.
    EXPECT_LE(interval->ticks + idle, span + kLong);
}

TEST_F(OpenMpCalls, ANewThreadKeepsTheOverheadThatItTookOver) {
    Worker second;
    region(second, place(2), nothing, [] { call_from(48); });
    leave(second);
    const Thread* const thread = thread_of(second);
    EXPECT_GE(thread->record->intrusion_ticks + thread->slow_overhead, kHuge * 9 / 10);
    const Node* const theirs = child(root(thread), OmpConstruct::kParallel, place(2));
    ASSERT_NE(theirs, nullptr);
    EXPECT_LT(theirs->ticks, kHuge / 2);
}

TEST_F(OpenMpCalls, ANewThreadGetsNoRefundOfAnEarlierThreadsOverhead) {
    const Thread* first = nullptr;
    {
        Worker second;
        region(second, place(5), nothing, nothing);
        leave(second);
        first = thread_of(second);
        second([] { t_thread->record->intrusion_ticks += kHuge; });
    }
    Worker second;
    const Node* interval = nullptr;
    region(second, place(5), nothing, [&interval] { interval = call_from(112); });
    leave(second);
    ASSERT_EQ(thread_of(second), first) << "it has another record";
    ASSERT_NE(interval, nullptr);
    EXPECT_LT(interval->ticks, kHuge / 2);
}

TEST_F(OpenMpCalls, AttachingAThreadIsNoTimeOfItsRegion) {
    Worker second;
    const uint64_t before = now_ticks();
    const Node* interval = nullptr;
    region(second, place(3), nothing, [&] {
        EXPECT_GE(t_thread->last_ticks, before);
        EXPECT_LE(t_thread->last_ticks, t_thread->attached_ticks);
        EXPECT_LE(t_thread->slow_overhead, now_ticks() - t_thread->last_ticks);
        spin(kLong);
        interval = call_from(64);
    });
    leave(second);
    ASSERT_NE(interval, nullptr);
    EXPECT_GE(interval->ticks, kLong * 9 / 10);
}

// A thread loses time to overhead, and would otherwise have waited at a barrier for that time.
TEST_F(OpenMpCalls, WaitingThatHidOverheadLiesBetweenCalls) {
    Worker second;
    OmpTeam* const team = omp_fork(place(4), nullptr);
    omp_implicit_begin(team, 0, 2);
    second([team] { begin_as_second(team); });
    const uint64_t start = now_ticks();
    spin(kLong);
    t_thread->slow_overhead += now_ticks() - start;
    call_from(80);
    second([] { omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true); });
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(4), true);
    omp_barrier_end();
    omp_implicit_end();
    omp_join(team);
    const Node* const interval = call_from(96);
    leave(second);
    const Node* const own = child(root(t_thread), OmpConstruct::kParallel, place(4));
    ASSERT_NE(own, nullptr);
    ASSERT_NE(interval, nullptr);
    EXPECT_GE(own->ticks, kLong * 9 / 10);
    EXPECT_GE(interval->ticks, kLong * 9 / 10);
}

}  // namespace

}  // namespace dwell
