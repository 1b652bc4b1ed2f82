// Events that OpenMP runtimes do not report: ends of cancelled loops, and addresses of constructs
// reached by tail calls; and leagues of teams, whose threads are reported in two steps. Counts are
// arithmetic.
#include "tests/unit/runtime/openmp/openmp_process.h"

namespace dwell {

namespace {

class OmpUnreported : public OpenMp {
  protected:
    static void barrier(uint64_t address) {
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, address, false);
        omp_barrier_end();
    }
    static void loop_without_end(uint64_t address) {
        omp_loop_begin(OmpConstruct::kDynamicLoop, address, 10);
    }
    static OmpTeam* begin_alone(uint64_t address) {
        OmpTeam* const team = omp_fork(address, nullptr);
        omp_implicit_begin(team, 0, 1);
        return team;
    }
    static void end_alone(OmpTeam* team) {
        omp_implicit_end();
        omp_join(team);
    }
};

TEST_F(OmpUnreported, CancelledLoopEndsAtTheNextBarrier) {
    Worker second;
    const auto work = [] {
        loop_without_end(place(101));
        barrier(place(102));
        omp_begin(OmpConstruct::kSections, place(103));
        omp_end(OmpConstruct::kSections);
    };
    region(second, place(100), work, work);
    region(second, place(104), nothing, nothing);
    leave(second);
    for (Thread* thread : {t_thread, thread_of(second)}) {
        const Node* const own = child(root(thread), OmpConstruct::kParallel, place(100));
        const Node* const loop = child(own, OmpConstruct::kDynamicLoop, place(101));
        ASSERT_NE(loop, nullptr);
        EXPECT_EQ(loop->count, 1u);
        EXPECT_EQ(loop->site.open, 0u);
        EXPECT_EQ(loop->first_child, 0u);
        EXPECT_NE(child(own, OmpConstruct::kImplicitBarrier, place(102)), nullptr);
        EXPECT_NE(child(own, OmpConstruct::kSections, place(103)), nullptr);
        EXPECT_NE(child(own, OmpConstruct::kImplicitBarrier, place(100)), nullptr);
        EXPECT_NE(child(root(thread), OmpConstruct::kParallel, place(104)), nullptr);
    }
}

TEST_F(OmpUnreported, CancelledLoopEndsWhereTheNextOneBegins) {
    OmpTeam* const team = begin_alone(place(110));
    loop_without_end(place(111));
    loop_without_end(place(112));
    omp_begin(OmpConstruct::kSingle, place(113));
    omp_end(OmpConstruct::kSingle);
    end_alone(team);
    const Node* const own = child(root(t_thread), OmpConstruct::kParallel, place(110));
    EXPECT_NE(child(own, OmpConstruct::kDynamicLoop, place(112)), nullptr);
    EXPECT_NE(child(own, OmpConstruct::kSingle, place(113)), nullptr);
}

TEST_F(OmpUnreported, CancelledLoopOfOneThreadEndsWithItsRegion) {
    OmpTeam* const around = begin_alone(place(120));
    OmpTeam* const team = begin_alone(place(121));
    loop_without_end(place(122));
    end_alone(team);
    const uint32_t open = t_thread->record->probe_depth;
    EXPECT_EQ(open, 1u);  // the surrounding region
    end_alone(around);
}

// A loop around a region is open, and so is a taskgroup around a barrier.
TEST_F(OmpUnreported, NothingElseIsEnded) {
    OmpTeam* const around = begin_alone(place(130));
    loop_without_end(place(131));
    OmpTeam* const team = begin_alone(place(132));
    omp_begin(OmpConstruct::kTaskgroup, place(133));
    barrier(place(134));
    omp_end(OmpConstruct::kTaskgroup);
    end_alone(team);
    omp_end(OmpConstruct::kDynamicLoop);
    end_alone(around);
    const Node* const outer = child(root(t_thread), OmpConstruct::kParallel, place(130));
    const Node* const loop = child(outer, OmpConstruct::kDynamicLoop, place(131));
    const Node* const inner = child(loop, OmpConstruct::kParallel, place(132));
    const Node* const group = child(inner, OmpConstruct::kTaskgroup, place(133));
    EXPECT_NE(child(group, OmpConstruct::kImplicitBarrier, place(134)), nullptr);
}

// Only the reporting runtime knows which barrier is the last one.
TEST_F(OmpUnreported, BarrierAtTheRegionsPlaceIsNotTheLastOne) {
    Worker second;
    const auto work = [] { barrier(place(140)); };
    region(second, place(140), work, work);
    const Thread* const thread = thread_of(second);
    const Node* const theirs = child(root(thread), OmpConstruct::kParallel, place(140));
    const Node* const met = child(theirs, OmpConstruct::kImplicitBarrier, place(140));
    ASSERT_NE(met, nullptr);
    EXPECT_EQ(met->count, 2u);
    EXPECT_EQ(thread->omp.levels[0].passed, 1u);
    leave(second);
}

TEST_F(OmpUnreported, PlacesOfTheCodeAround) {
    EXPECT_EQ(omp_code_address(), 0u);
    EXPECT_EQ(omp_worksharing_address(), 0u);
    OmpTeam* const team = begin_alone(place(150));
    EXPECT_EQ(omp_code_address(), place(150));
    EXPECT_EQ(omp_region_call(), place(150));
    omp_begin(OmpConstruct::kSingle, place(151));
    EXPECT_EQ(omp_code_address(), place(150));
    uint64_t implicit = 0;
    uint64_t task = omp_task_created(place(152));
    omp_task_switch(&implicit, false, &task);
    EXPECT_EQ(omp_code_address(), place(152));
    omp_task_switch(&task, true, &implicit);
    omp_end(OmpConstruct::kSingle);
    EXPECT_EQ(omp_worksharing_address(), place(151));
    OmpTeam* const inner = begin_alone(place(153));
    EXPECT_EQ(omp_worksharing_address(), 0u);
    end_alone(inner);
    EXPECT_EQ(omp_worksharing_address(), place(151));
    barrier(place(154));
    EXPECT_EQ(omp_worksharing_address(), 0u);
    omp_pass(place(155));
    EXPECT_EQ(omp_worksharing_address(), place(155));
    end_alone(team);
    EXPECT_EQ(omp_code_address(), 0u);
}

TEST_F(OmpUnreported, TasksThatCreateTasksForTheRuntimeAreNone) {
    OmpTeam* const team = begin_alone(place(160));
    uint64_t implicit = 0;
    omp_begin(OmpConstruct::kTaskloop, place(161));
    uint64_t splitter = omp_task_created(place(161), &implicit);
    uint64_t first = omp_task_created(place(161), &implicit);
    omp_end(OmpConstruct::kTaskloop);
    omp_task_switch(&implicit, false, &splitter);
    uint64_t second = omp_task_created(place(161), &splitter);
    uint64_t third = omp_task_created(place(161), &splitter);
    omp_task_switch(&splitter, true, &implicit);
    for (uint64_t* task : {&first, &second, &third}) {
        omp_task_switch(&implicit, false, task);
        omp_task_switch(task, true, &implicit);
    }
    end_alone(team);
    const Node* const own = child(root(t_thread), OmpConstruct::kParallel, place(160));
    const Node* const task = child(own, OmpConstruct::kTask, place(161));
    ASSERT_NE(task, nullptr);
    EXPECT_EQ(part(task).created, 3u);
    EXPECT_EQ(task->count, 3u);
}

// A taskloop in a task is work of that task.
TEST_F(OmpUnreported, TasksInWhichATaskloopIsOpenCount) {
    OmpTeam* const team = begin_alone(place(170));
    uint64_t implicit = 0;
    uint64_t outer = omp_task_created(place(171));
    omp_task_switch(&implicit, false, &outer);
    omp_begin(OmpConstruct::kTaskloop, place(172));
    uint64_t inner = omp_task_created(place(172), &outer);
    omp_end(OmpConstruct::kTaskloop);
    omp_task_switch(&outer, true, &implicit);
    omp_task_switch(&implicit, false, &inner);
    omp_task_switch(&inner, true, &implicit);
    end_alone(team);
    const Node* const own = child(root(t_thread), OmpConstruct::kParallel, place(170));
    EXPECT_EQ(child(own, OmpConstruct::kTask, place(171))->count, 1u);
    EXPECT_EQ(part(child(own, OmpConstruct::kTask, place(172))).created, 1u);
}

// 2 teams of one thread, each of which forks a region; the second team takes longer.
TEST_F(OmpUnreported, LeaguesHoldTheirTeams) {
    Worker second;
    const auto of_team = [] {
        omp_implicit_begin(nullptr, 0, 1);
        end_alone(begin_alone(place(181)));
        const uint64_t task = omp_task_created(place(182));
        EXPECT_NE(task, 0u);
        omp_implicit_end();
    };
    OmpTeam* const league = omp_fork(place(180), nullptr, OmpConstruct::kTeams);
    omp_implicit_begin(league, 0, 2);
    of_team();
    second([&] {
        omp_implicit_begin(league, 1, 2);
        of_team();
    });
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(180), true);
    second([] {
        spin(kLong);
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    });
    omp_barrier_end();
    omp_implicit_end();
    omp_join(league, OmpConstruct::kTeams);
    leave(second);
    const Node* const own = child(root(t_thread), OmpConstruct::kTeams, place(180));
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(part(own).created, 1u);
    const Node* const met = child(own, OmpConstruct::kImplicitBarrier, place(180));
    ASSERT_NE(met, nullptr);
    EXPECT_GE(part(met).wait_ticks, kLong * 9 / 10);
    for (Thread* thread : {t_thread, thread_of(second)}) {
        const Node* const team = child(root(thread), OmpConstruct::kTeams, place(180));
        ASSERT_NE(team, nullptr);
        EXPECT_EQ(team->count, 1u);
        const Node* const inner = child(team, OmpConstruct::kParallel, place(181));
        ASSERT_NE(inner, nullptr);
        EXPECT_EQ(part(inner).created, 1u);
        EXPECT_NE(child(team, OmpConstruct::kTask, place(182)), nullptr);
    }
}

// 2 teams synchronise in a reduction, each inside a region: first the second team is late, then the
// first.
TEST_F(OmpUnreported, TeamsSynchroniseWhereTheyReduce) {
    Worker second;
    const auto come = [] { omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(186), false); };
    OmpTeam* const league = omp_fork(place(185), nullptr, OmpConstruct::kTeams);
    omp_implicit_begin(league, 0, 2);
    omp_implicit_begin(nullptr, 0, 1);
    second([&] {
        omp_implicit_begin(league, 1, 2);
        omp_implicit_begin(nullptr, 0, 1);
    });
    come();
    second([&] {
        spin(kLong);
        come();
        omp_barrier_end();
        come();
    });
    omp_barrier_end();
    spin(kLong);
    come();
    omp_barrier_end();
    omp_implicit_end();
    second([] {
        omp_barrier_end();
        omp_implicit_end();
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    });
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(185), true);
    omp_barrier_end();
    omp_implicit_end();
    omp_join(league, OmpConstruct::kTeams);
    leave(second);
    for (Thread* thread : {t_thread, thread_of(second)}) {
        const Node* const own = child(root(thread), OmpConstruct::kTeams, place(185));
        const Node* const met = child(own, OmpConstruct::kImplicitBarrier, place(186));
        ASSERT_NE(met, nullptr);
        EXPECT_EQ(met->count, 2u);
        EXPECT_GE(part(met).wait_ticks, kLong * 9 / 10);
        EXPECT_EQ(child(own, OmpConstruct::kImplicitBarrier, place(185))->count, 1u);
    }
}

// The team of a region whose end is reported as another one's becomes free again.
TEST_F(OmpUnreported, TheInnermostRegionEndsWhereNoneIsGiven) {
    for (int i = 0; i < 5 * kOmpTeams; ++i) {
        OmpTeam* const team = begin_alone(place(190));
        EXPECT_NE(team, nullptr);
        end_alone(nullptr);
    }
    const Node* const own = child(root(t_thread), OmpConstruct::kParallel, place(190));
    EXPECT_EQ(own->count, uint64_t{5 * kOmpTeams});
}

}  // namespace

}  // namespace dwell
