// Threads of OpenMP that call MPI: what lies between two calls is computation where it is not
// waiting for work, and what threads take over from each other is none of it.
#include "tests/unit/openmp_process.h"

namespace dwell {

namespace {

// A call from a place of its own; the calling thread's interval before it, which it is the only
// one of, or null.
class OpenMpCalls : public OpenMp {
  protected:
    void SetUp() override {
        OpenMp::SetUp();
        g_process.free_threads = nullptr;  // the second one is new in each test
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
        book_event(&call, kSendReady);
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
    // Both are parts of the time from the one call to the other, which may begin a little earlier.
    EXPECT_LE(interval->ticks + idle, span + kLong);
}

// A thread loses time, and would have waited at a barrier for as long without that.
TEST_F(OpenMpCalls, WaitingThatHidIntrusionLiesBetweenCalls) {
    Worker second;
    OmpTeam* const team = omp_fork(place(4), nullptr);
    omp_implicit_begin(team, 0, 2);
    second([team] { begin_as_second(team); });
    const uint64_t start = now_ticks();
    spin(kLong);
    t_thread->slow_ticks += now_ticks() - start;
    call_from(80);
    second([] { omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, false); });
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(4), false);
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
