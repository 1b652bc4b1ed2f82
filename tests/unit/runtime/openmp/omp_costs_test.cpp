// The cost of OpenMP events is measured and subtracted from the time around them (DESIGN 4, local
// rule). Sums are arithmetic of costs set by the test.
#include "runtime/openmp/omp_calibration.h"
#include "tests/unit/runtime/openmp/openmp_process.h"

namespace dwell {

namespace {

class OmpCostsTaken : public OpenMp {
  protected:
    void SetUp() override {
        OpenMp::SetUp();
        if (!g_process.use_tsc) GTEST_SKIP() << "every step is slow without a time stamp counter";
        g_process.omp = OmpCosts{.pair = 1,
                                 .inner = 0,
                                 .acquired = 10,
                                 .lock_requested = 2,
                                 .lock = 20,
                                 .lock_inner = 0,
                                 .chunk = 100,
                                 .created = 1'000,
                                 .task = 10'000,
                                 .task_inner = 100'000,
                                 .region = 1'000'000,
                                 .region_inner = 10'000'000};
    }
    void TearDown() override {
        g_process.omp = OmpCosts{};
        OpenMp::TearDown();
    }
    // The overhead added by `step`, once its nodes are known.
    template <typename Step>
    static uint64_t taken(Step step) {
        step();
        const uint64_t before = t_thread->slow_overhead;
        step();
        return t_thread->slow_overhead - before;
    }
};

TEST_F(OmpCostsTaken, OfEachEvent) {
    constexpr OmpConstruct kCritical = OmpConstruct::kCritical;
    EXPECT_EQ(taken([] {
                  omp_begin(kCritical, place(1));
                  omp_end(kCritical);
              }),
              1u);
    EXPECT_EQ(taken([] {
                  omp_begin(kCritical, place(1));
                  omp_acquired(kCritical, true);
                  omp_end(kCritical);
              }),
              11u);
    EXPECT_EQ(taken([] {
                  for (int i = 0; i < 3; ++i) omp_lock_requested(OmpConstruct::kLock, place(9));
                  omp_lock_acquired(OmpConstruct::kLock);
              }),
              26u);
    EXPECT_EQ(taken([] {
                  omp_loop_begin(OmpConstruct::kDynamicLoop, place(2), 0);
                  for (int i = 0; i < 7; ++i) omp_chunk(1);
                  omp_end(OmpConstruct::kDynamicLoop);
              }),
              701u);
    EXPECT_EQ(taken([] {
                  uint64_t none = 0;
                  uint64_t mark = omp_task_created(place(3));
                  omp_task_switch(&none, false, &mark);
                  omp_task_switch(&mark, true, &none);
              }),
              111'001u);
}

TEST_F(OmpCostsTaken, OfReportingAnEvent) {
    constexpr OmpCosts kMore{.pair = 0,
                             .inner = 0,
                             .acquired = 0,
                             .lock_requested = 0,
                             .lock = 0,
                             .lock_inner = 0,
                             .chunk = 2,
                             .created = 0,
                             .task = 20,
                             .task_inner = 200,
                             .region = 0,
                             .region_inner = 0};
    EXPECT_EQ(taken([=] {
                  omp_loop_begin(OmpConstruct::kDynamicLoop, place(5), 0);
                  omp_chunk(1, kMore);
                  omp_chunk(1);
                  omp_end(OmpConstruct::kDynamicLoop);
              }),
              203u);
    const auto task = [](const OmpCosts& more) {
        uint64_t none = 0;
        uint64_t mark = omp_task_created(place(6));
        omp_task_switch(&none, false, &mark, more);
        omp_task_switch(&mark, true, &none, more);
    };
    EXPECT_EQ(taken([=] {
                  task(kMore);
                  task(kNoOmpCosts);
              }),
              222'222u);
}

TEST_F(OmpCostsTaken, OfARegionWithinItAndAroundIt) {
    constexpr uint64_t kWithin = 10'000'001;  // the barrier's pair, too
    const auto region = [] {
        OmpTeam* const team = omp_fork(place(4), nullptr);
        omp_implicit_begin(team, 0, 1);
        spin(2 * kWithin);
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(4), true);
        omp_barrier_end();
        omp_implicit_end();
        omp_join(team);
    };
    region();
    const Node* node = child(root(t_thread), OmpConstruct::kParallel, place(4));
    ASSERT_NE(node, nullptr);
    const uint64_t ticks_before = node->ticks;
    const uint64_t slow_before = t_thread->slow_overhead;
    const uint64_t begin = now_ticks();
    region();
    const uint64_t passed = now_ticks() - begin;
    // At a barrier the overhead of a thread may change by some ticks.
    EXPECT_NEAR(static_cast<double>(t_thread->slow_overhead - slow_before), 11'000'002.0, 1e5);
    EXPECT_LE(node->ticks - ticks_before, passed - 10'000'000);
}

TEST_F(OmpCostsTaken, AreMeasuredOnScratchRecords) {
    const uint64_t probes = t_thread->record->probes;
    Thread* const thread = t_thread;
    calibrate_openmp();
    EXPECT_EQ(t_thread, thread);
    EXPECT_EQ(t_thread->record->probes, probes);
    const OmpCosts& costs = g_process.omp;
    for (const uint64_t cost :
         {costs.pair, costs.lock_requested, costs.chunk, costs.created, costs.task, costs.region}) {
        EXPECT_GT(cost, 0u);
        EXPECT_LT(cost, 10'000'000u);
    }
    EXPECT_LE(costs.inner, costs.pair);
}

TEST_F(OmpCostsTaken, AreMeasuredWithTheFirstEventsAlone) {
    const OmpCosts made_up = g_process.omp;
    calibrate();
    EXPECT_EQ(g_process.omp.region_inner, made_up.region_inner) << "before OpenMP came";
    g_process.call_cost_ticks = g_process.inner_cost_ticks = 0;
    const uint64_t begin = now_ticks();
    const uint64_t slow = t_thread->slow_overhead;
    begin_omp_calibration();
    const uint64_t passed = now_ticks() - begin;
    EXPECT_NE(g_process.omp.region_inner, made_up.region_inner);
    EXPECT_LE(t_thread->slow_overhead - slow, passed);
    EXPECT_GE(t_thread->slow_overhead - slow, passed / 2);
    g_process.omp = made_up;
    begin_omp_calibration();
    EXPECT_EQ(g_process.omp.region_inner, made_up.region_inner) << "again";
}

TEST_F(OmpCostsTaken, AreMeasuredAfterAPause) {
    const OmpCosts made_up = g_process.omp;
    g_omp_uncalibrated.store(true);
    const uint64_t ticket = std::exchange(g_live->ticket, 0);
    calibrate_omp_now(t_thread);
    EXPECT_EQ(g_process.omp.region_inner, made_up.region_inner) << "in the pause";
    g_live->ticket = ticket + 1;
    omp_begin(OmpConstruct::kSections, place(8));
    omp_end(OmpConstruct::kSections);
    EXPECT_NE(g_process.omp.region_inner, made_up.region_inner);
    EXPECT_FALSE(g_omp_uncalibrated.load());
}

}  // namespace

// The second thread of the region first reaches dwell after a pause, which the forking thread has
// in its record: it waits for that thread, and is idle until the next region.
TEST_F(OpenMp, ThreadsThatComeAfterAPauseHaveTheTeamsClock) {
    g_page.pause_start = now_ticks();
    spin(kLong);
    g_page.resumed_ticks = now_ticks();
    g_page.paused_ticks += g_page.resumed_ticks - g_page.pause_start;
    g_page.epoch += 1;
    Worker second;
    const uint64_t before = t_thread->record->paused_ticks;
    uint64_t idle_from = 0;
    region(
        second, place(81), [&idle_from] { spin(kLong), idle_from = now_ticks(); }, nothing);
    EXPECT_GE(t_thread->record->paused_ticks - before, kLong);
    const Thread* const other = thread_of(second);
    EXPECT_LT(other->record->paused_ticks, kLong);
    spin(kLong);
    region(second, place(81), nothing, nothing);
    const Node* const idle = child(root(other), OmpConstruct::kIdle, 0);
    ASSERT_NE(idle, nullptr);
    EXPECT_GE(idle->ticks, kLong * 9 / 10);
    EXPECT_LE(idle->ticks, now_ticks() - idle_from);
    leave(second);
}

}  // namespace dwell
