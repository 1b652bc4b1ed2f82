// OpenMP regions, barriers, tasks and locks as reported by a runtime, on threads of the test.
// Counts and places are arithmetic; times are compared with bounds that hold on any machine.
#include "tests/unit/runtime/openmp/openmp_process.h"

namespace dwell {

namespace {

TEST_F(OpenMp, RegionIsInBothTrees) {
    Worker second;
    for (int i = 0; i < 3; ++i) region(second, place(1), nothing, nothing);
    leave(second);
    const Node* own = child(root(t_thread), OmpConstruct::kParallel, place(1));
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->count, 3u);
    EXPECT_EQ(part(own).created, 3u);
    const Node* other = child(root(thread_of(second)), OmpConstruct::kParallel, place(1));
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->count, 3u);
    EXPECT_EQ(part(other).created, 0u);
    const Node* barrier = child(other, OmpConstruct::kImplicitBarrier, place(1));
    ASSERT_NE(barrier, nullptr);
    EXPECT_EQ(barrier->count, 3u);
    EXPECT_EQ(child(own, OmpConstruct::kImplicitBarrier, place(1))->count, 3u);
}

// Attaching by a thread's first event is slow work, counted once.
TEST_F(OpenMp, AttachingIsRecordedOnce) {
    std::thread([] {
        const uint64_t before = now_ticks();
        omp_lock_requested(OmpConstruct::kLock, place(1));
        const uint64_t after = now_ticks();
        ASSERT_NE(t_thread, nullptr);
        EXPECT_GE(t_thread->last_ticks, before);
        EXPECT_GT(t_thread->slow_overhead, 0u);
        EXPECT_LE(t_thread->last_ticks + t_thread->slow_overhead, after);
    }).join();
}

TEST_F(OpenMp, OtherThreadHasWhatLiesAroundTheRegion) {
    Worker second;
    begin_block(block_name(SiteKind::kBlock, kNodeNamed, {"around", 6}, nullptr, 0));
    region(second, place(2), nothing, [] { spin(kLong); });
    end_block(GivenName{"around", 6});
    leave(second);
    const CellIndex theirs = cell_at<Node>(root(thread_of(second)))->first_child;
    const Node* around = nullptr;
    for (CellIndex at = theirs; at != 0; at = cell_at<Node>(at)->next_sibling) {
        if (cell_at<Node>(at)->site.kind == SiteKind::kBlock) around = cell_at<Node>(at);
    }
    ASSERT_NE(around, nullptr);
    const Node* inside = child(around, OmpConstruct::kParallel, place(2));
    ASSERT_NE(inside, nullptr);
    EXPECT_EQ(around->count, 0u);
    EXPECT_EQ(around->ticks, inside->ticks);  // no parent is shorter than its children
    EXPECT_GE(inside->ticks, kLong * 9 / 10);
}

TEST_F(OpenMp, WaitsUntilTheLastOneComesAndIsIdleThen) {
    Worker second;
    region(
        second, place(3), [] { spin(2 * kLong); }, nothing);
    spin(4 * kLong);  // the second thread's end of the barrier is reported late
    region(second, place(3), nothing, nothing);
    leave(second);
    const Thread* thread = thread_of(second);
    const Node* other = child(root(thread), OmpConstruct::kParallel, place(3));
    const Node* barrier = child(other, OmpConstruct::kImplicitBarrier, place(3));
    const Node* idle = child(root(thread), OmpConstruct::kIdle, 0);
    ASSERT_NE(barrier, nullptr);
    ASSERT_NE(idle, nullptr);
    EXPECT_GE(part(barrier).wait_ticks, kLong);
    EXPECT_LE(part(barrier).wait_ticks, barrier->ticks);
    EXPECT_GE(idle->ticks, 3 * kLong);
    EXPECT_EQ(part(idle).wait_ticks, idle->ticks);
    EXPECT_GE(other->ticks, barrier->ticks);
    // Four long spans were idle, and none of them belongs to the region.
    EXPECT_LT(other->max_ticks, idle->max_ticks + 2 * kLong);
    EXPECT_EQ(thread->record->serving_ticks, idle->ticks + other->ticks);
}

TEST_F(OpenMp, TakesOverTheOverheadOfTheThreadItWaitsFor) {
    Worker second;
    OmpTeam* const team = omp_fork(place(4), nullptr);
    omp_implicit_begin(team, 0, 2);
    second([&] { omp_implicit_begin(team, 1, 2); });
    const uint64_t before = t_thread->slow_overhead;
    const uint64_t came = now_ticks();
    uint64_t lost = 0;
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(4), true);
    second([&lost] {
        const uint64_t start = now_ticks();
        spin(kLong);
        lost = now_ticks() - start;
        t_thread->slow_overhead += lost;  // as its own slow work
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    });
    const uint64_t all = now_ticks() - came;
    omp_barrier_end();
    EXPECT_GE(t_thread->slow_overhead - before, lost * 9 / 10);
    omp_implicit_end();
    omp_join(team);
    const Node* own = child(root(t_thread), OmpConstruct::kParallel, place(4));
    const Node* barrier = child(own, OmpConstruct::kImplicitBarrier, place(4));
    EXPECT_LE(part(barrier).wait_ticks, all - lost);
    leave(second);
}

TEST_F(OpenMp, DropsOverheadHiddenInWaiting) {
    Worker second;
    const uint64_t before = t_thread->slow_overhead;
    OmpTeam* const team = omp_fork(place(5), nullptr);
    omp_implicit_begin(team, 0, 2);
    t_thread->slow_overhead += kLong;
    spin(kLong);
    second([&] { omp_implicit_begin(team, 1, 2); });
    omp_barrier_begin(OmpConstruct::kBarrier, place(6), false);
    second([&] {
        spin(kLong);
        omp_barrier_begin(OmpConstruct::kBarrier, place(6), false);
        omp_barrier_end();
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    });
    omp_barrier_end();
    EXPECT_LT(t_thread->slow_overhead - before, kLong / 2);
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(5), true);
    omp_barrier_end();
    omp_implicit_end();
    omp_join(team);
    leave(second);
}

TEST_F(OpenMp, TeamsAreUsedAgain) {
    Worker second;
    OmpTeam* seen[kOmpTeams + 1] = {};
    size_t different = 0;
    for (int i = 0; i < 100; ++i) {
        OmpTeam* const team = omp_fork(place(7), nullptr);
        ASSERT_NE(team, nullptr);
        if (std::find(seen, seen + different, team) == seen + different) seen[different++] = team;
        ASSERT_LE(different, 3u);
        omp_implicit_begin(team, 0, 2);
        second([&] {
            begin_as_second(team);
            omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
        });
        omp_implicit_end();
        omp_join(team);
    }
    leave(second);
}

TEST_F(OpenMp, UnreportedEndsAreRecordedLater) {
    Worker second;
    for (int i = 0; i < 100; ++i) {
        OmpTeam* const team = omp_fork_code(place(19), nullptr);
        ASSERT_NE(team, nullptr);
        omp_implicit_begin(team, 0, 2);
        second([team] {
            omp_record_pending_ends();
            omp_implicit_begin(team, 1, 0);
            omp_leave_region();
        });
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
        omp_barrier_end();
        omp_implicit_end();
        omp_join(team);
    }
    second([] {
        EXPECT_EQ(t_thread->omp.depth, 1u);
        omp_record_pending_ends();
        EXPECT_EQ(t_thread->omp.depth, 0u);
        omp_record_pending_ends();  // nothing is left to record
        omp_thread_end();
    });
    const Node* theirs = child(root(thread_of(second)), OmpConstruct::kParallel, place(19));
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(theirs->count, 100u);
    const Node* barrier = child(theirs, OmpConstruct::kImplicitBarrier, place(19));
    ASSERT_NE(barrier, nullptr);
    EXPECT_EQ(barrier->count, 100u);
}

TEST_F(OpenMp, BarrierThatWasNoneLeavesNoTrace) {
    Worker second;
    const auto pass = [](uint64_t address) {
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, address, false);
        omp_barrier_end();
    };
    region(
        second, place(20),
        [&pass] {
            omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(21), false);
            omp_barrier_withdrawn();
            EXPECT_EQ(t_thread->omp.levels[0].passed, 0u);
            pass(place(21));
        },
        [&pass] { pass(place(21)); });
    leave(second);
    const Node* own = child(root(t_thread), OmpConstruct::kParallel, place(20));
    ASSERT_NE(own, nullptr);
    const Node* barrier = child(own, OmpConstruct::kImplicitBarrier, place(21));
    ASSERT_NE(barrier, nullptr);
    EXPECT_EQ(barrier->count, 1u);
}

TEST_F(OpenMp, EndOfTheObservationClosesWaitingThreads) {
    Worker second;
    region(second, place(8), nothing, nothing);
    const Thread* thread = thread_of(second);
    EXPECT_NE(thread->record->probe_depth, 0u);
    spin(kLong);
    end_omp(now_ticks());
    EXPECT_EQ(thread->record->probe_depth, 0u);
    const Node* idle = child(root(thread), OmpConstruct::kIdle, 0);
    ASSERT_NE(idle, nullptr);
    EXPECT_GE(idle->ticks, kLong * 9 / 10);
    const uint64_t ticks = idle->ticks;
    leave(second);  // reported after the end: no effect
    EXPECT_EQ(idle->ticks, ticks);
}

TEST_F(OpenMp, IdleEndsAtTheVirtualTimeOfTheThreadThatEndsTheObservation) {
    Worker second;
    const uint64_t before = now_ticks();
    region(second, place(9), nothing, nothing);
    const Node* known = child(root(thread_of(second)), OmpConstruct::kIdle, 0);
    const uint64_t earlier_ticks = known != nullptr ? known->ticks : 0;
    spin(2 * kLong);
    t_thread->slow_overhead += kLong;  // as much of that was dwell's own work
    const uint64_t end = now_ticks();
    end_omp(end);
    const Node* idle = child(root(thread_of(second)), OmpConstruct::kIdle, 0);
    ASSERT_NE(idle, nullptr);
    EXPECT_GE(idle->ticks - earlier_ticks, kLong * 9 / 10);
    EXPECT_LE(idle->ticks - earlier_ticks, end - before - kLong);
    leave(second);
}

TEST_F(OpenMp, TasksAreChildrenOfTheRegionAndStopInterruptedEntries) {
    OmpTeam* const team = omp_fork(place(9), nullptr);
    omp_implicit_begin(team, 0, 1);
    uint64_t implicit = 0;
    uint64_t outer = omp_task_created(place(10));
    omp_begin(OmpConstruct::kTaskwait, place(11));
    omp_task_switch(&implicit, false, &outer);
    {
        uint64_t inner = omp_task_created(place(10));
        omp_begin(OmpConstruct::kTaskwait, place(12));
        omp_task_switch(&outer, false, &inner);
        spin(kLong);
        omp_task_switch(&inner, true, &outer);
        omp_wait_end(OmpConstruct::kTaskwait);
    }
    spin(kLong);
    omp_task_switch(&outer, true, &implicit);
    omp_wait_end(OmpConstruct::kTaskwait);
    omp_implicit_end();
    omp_join(team);
    const Node* own = child(root(t_thread), OmpConstruct::kParallel, place(9));
    const Node* task = child(own, OmpConstruct::kTask, place(10));
    ASSERT_NE(task, nullptr);
    EXPECT_EQ(task->count, 2u);
    EXPECT_EQ(part(task).created, 2u);
    EXPECT_GE(task->ticks, 2 * kLong * 9 / 10);
    const Node* wait = child(own, OmpConstruct::kTaskwait, place(11));
    const Node* inner_wait = child(task, OmpConstruct::kTaskwait, place(12));
    ASSERT_NE(wait, nullptr);
    ASSERT_NE(inner_wait, nullptr);
    EXPECT_LT(wait->ticks, kLong / 2);
    EXPECT_LT(inner_wait->ticks, kLong / 2);
    EXPECT_EQ(part(wait).wait_ticks, wait->ticks);
    EXPECT_GE(own->ticks, task->ticks + wait->ticks);
}

TEST_F(OpenMp, RegionLastsAsLongAsTasksInItsLastBarrier) {
    Worker second;
    uint64_t implicit = 0;
    uint64_t task = 0;
    OmpTeam* const team = omp_fork(place(21), nullptr);
    omp_implicit_begin(team, 0, 2);
    task = omp_task_created(place(22));
    second([&] {
        omp_implicit_begin(team, 1, 2);
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    });
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(21), true);
    second([&] {
        omp_task_switch(&implicit, false, &task);
        spin(kLong);
        omp_task_switch(&task, true, &implicit);
    });
    omp_barrier_end();
    omp_implicit_end();
    omp_join(team);
    leave(second);
    const Node* own = child(root(t_thread), OmpConstruct::kParallel, place(21));
    const Node* barrier = child(own, OmpConstruct::kImplicitBarrier, place(21));
    EXPECT_GE(part(barrier).wait_ticks, kLong * 9 / 10);
    const Node* other = child(root(thread_of(second)), OmpConstruct::kParallel, place(21));
    const Node* theirs = child(other, OmpConstruct::kTask, place(22));
    const Node* their_barrier = child(other, OmpConstruct::kImplicitBarrier, place(21));
    ASSERT_NE(theirs, nullptr);
    EXPECT_GE(theirs->ticks, kLong * 9 / 10);
    EXPECT_GE(other->ticks, theirs->ticks + their_barrier->ticks);
}

TEST_F(OpenMp, LocksNeedNotNest) {
    omp_lock_requested(OmpConstruct::kLock, place(13));
    omp_lock_acquired(OmpConstruct::kLock);
    omp_begin(OmpConstruct::kCritical, place(14));
    omp_lock_requested(OmpConstruct::kLock, place(15));
    spin(kLong);
    omp_lock_acquired(OmpConstruct::kLock);
    omp_acquired(OmpConstruct::kCritical, true);  // reported in another order: no difference
    omp_end(OmpConstruct::kCritical);
    const Node* critical = child(root(t_thread), OmpConstruct::kCritical, place(14));
    const Node* lock = child(critical, OmpConstruct::kLock, place(15));
    ASSERT_NE(lock, nullptr);
    EXPECT_GE(part(lock).wait_ticks, kLong * 9 / 10);
    EXPECT_EQ(child(root(t_thread), OmpConstruct::kLock, place(13))->count, 1u);
}

TEST_F(OpenMp, FailedTriesOfLocksLeaveNoRecord) {
    constexpr OmpConstruct kLock = OmpConstruct::kLock;
    constexpr OmpConstruct kNestLock = OmpConstruct::kNestLock;
    const uint64_t depth = t_thread->record->probe_depth;
    for (int i = 0; i < 1000; ++i) omp_lock_requested(kLock, place(70));
    spin(kLong);
    omp_lock_acquired(kNestLock);  // another lock
    omp_lock_requested(kNestLock, place(71));
    omp_lock_requested(kLock, place(72));
    omp_lock_acquired(kLock);
    omp_lock_acquired(kLock);  // requested once
    omp_begin(OmpConstruct::kCritical, place(73));
    omp_end(OmpConstruct::kCritical);
    EXPECT_EQ(t_thread->record->probe_depth, depth);
    EXPECT_EQ(child(root(t_thread), kLock, place(70)), nullptr);
    EXPECT_EQ(child(root(t_thread), kNestLock, place(71)), nullptr);
    EXPECT_NE(child(root(t_thread), OmpConstruct::kCritical, place(73)), nullptr);
    const Node* const lock = child(root(t_thread), kLock, place(72));
    ASSERT_NE(lock, nullptr);
    EXPECT_EQ(lock->count, 1u);
    EXPECT_LT(lock->ticks, kLong);
    EXPECT_EQ(part(lock).wait_ticks, lock->ticks);
}

TEST_F(OpenMp, LocksRequestedBeforeAPauseCountUntilIt) {
    constexpr OmpConstruct kLock = OmpConstruct::kLock;
    const uint64_t begin = now_ticks();
    omp_lock_requested(kLock, place(74));
    spin(kLong);
    g_page.ticket = 0;
    g_page.paused = 1;
    g_page.pause_start = now_ticks();
    spin(2 * kLong);
    omp_lock_acquired(kLock);
    omp_lock_requested(kLock, place(75));
    g_page.paused = 0;
    g_page.ticket = 2;
    omp_lock_acquired(kLock);
    const Node* const lock = child(root(t_thread), kLock, place(74));
    ASSERT_NE(lock, nullptr);
    EXPECT_GE(lock->ticks, kLong * 9 / 10);
    EXPECT_LE(lock->ticks, g_page.pause_start - begin);
    EXPECT_EQ(child(root(t_thread), kLock, place(75)), nullptr);
}

TEST_F(OpenMp, LoopsHoldIterationsAndChunks) {
    omp_loop_begin(OmpConstruct::kLoop, place(16), 100);
    omp_end(OmpConstruct::kLoop);
    g_omp_reports_chunks = true;
    omp_loop_begin(OmpConstruct::kDynamicLoop, place(17), 100);
    omp_chunk(3);
    omp_chunk(4);
    omp_end(OmpConstruct::kDynamicLoop);
    g_omp_reports_chunks = false;
    const Node* loop = child(root(t_thread), OmpConstruct::kLoop, place(16));
    EXPECT_EQ(part(loop).iterations, 100u);
    const Node* dynamic = child(root(t_thread), OmpConstruct::kDynamicLoop, place(17));
    EXPECT_EQ(part(dynamic).iterations, 7u);
    EXPECT_EQ(part(dynamic).chunks, 2u);
}

// As where the program's own loop over its chunks was compiled with probes.
TEST_F(OpenMp, ChunksCountForTheLoopAroundOpenEntries) {
    g_omp_reports_chunks = true;
    omp_loop_begin(OmpConstruct::kDynamicLoop, place(18), 100);
    omp_chunk(3);
    constexpr uint64_t kSomeRow = 64;
    push_without_node(t_thread, kSomeRow, t_thread->on.top->frame);
    push_without_node(t_thread, kSomeRow, t_thread->on.top->frame);
    omp_chunk(4);
    pop_without_node(t_thread);
    pop_without_node(t_thread);
    omp_end(OmpConstruct::kDynamicLoop);
    push_without_node(t_thread, kSomeRow, t_thread->on.top->frame);
    omp_chunk(5);  // outside of a loop
    pop_without_node(t_thread);
    g_omp_reports_chunks = false;
    const Node* dynamic = child(root(t_thread), OmpConstruct::kDynamicLoop, place(18));
    EXPECT_EQ(part(dynamic).iterations, 7u);
    EXPECT_EQ(part(dynamic).chunks, 2u);
}

// The share of thread `index` of `threads` of a loop in static chunks.
struct Share {
    uint64_t iterations;
    uint64_t chunks;
    bool operator==(const Share&) const = default;
};

TEST_F(OpenMp, StaticChunksAreDealtOutInTurn) {
    g_omp_reports_chunks = true;
    uint64_t at = place(40);
    const auto share = [&at](uint64_t iterations, uint64_t chunk, uint32_t index,
                             uint32_t threads) -> Share {
        const uint64_t address = ++at;
        OmpTeam* const team = omp_fork(place(40), nullptr);
        omp_implicit_begin(team, 0, threads);
        t_thread->omp.levels[0].index = index;
        omp_loop_begin(OmpConstruct::kStaticLoop, address, iterations);
        omp_static_chunks(iterations, chunk);
        omp_end(OmpConstruct::kStaticLoop);
        t_thread->omp.levels[0].index = 0;
        team->size = 1;  // no other thread leaves the region
        omp_implicit_end();
        omp_join(team);
        const Node* const region = child(root(t_thread), OmpConstruct::kParallel, place(40));
        const Node* const loop = child(region, OmpConstruct::kStaticLoop, address);
        return {part(loop).iterations, part(loop).chunks};
    };
    // 20 in threes on 4: 3 3 3 3, 3 3 2.
    EXPECT_EQ(share(20, 3, 0, 4), (Share{6, 2}));
    EXPECT_EQ(share(20, 3, 1, 4), (Share{6, 2}));
    EXPECT_EQ(share(20, 3, 2, 4), (Share{5, 2}));
    EXPECT_EQ(share(20, 3, 3, 4), (Share{3, 1}));
    // 20 in eights: 8, 8, 4, none.
    EXPECT_EQ(share(20, 8, 1, 4), (Share{8, 1}));
    EXPECT_EQ(share(20, 8, 2, 4), (Share{4, 1}));
    EXPECT_EQ(share(20, 8, 3, 4), (Share{0, 0}));
    // One chunk each: 10 on 4 are 3 3 2 2.
    EXPECT_EQ(share(10, 3, 1, 4), (Share{3, 1}));
    EXPECT_EQ(share(10, 2, 2, 4), (Share{2, 1}));
    EXPECT_EQ(share(10, 2, 3, 4), (Share{2, 1}));
    // Nothing, more than there is, all of it.
    EXPECT_EQ(share(10, 0, 3, 4), (Share{0, 0}));
    EXPECT_EQ(share(0, 5, 0, 4), (Share{0, 0}));
    EXPECT_EQ(share(2, ~uint64_t{0}, 0, 4), (Share{2, 1}));
    EXPECT_EQ(share(2, ~uint64_t{0}, 1, 4), (Share{0, 0}));
    EXPECT_EQ(share(9, 9, 0, 1), (Share{9, 1}));
    g_omp_reports_chunks = false;
}

TEST_F(OpenMp, EmptyChunksAreNone) {
    omp_loop_begin(OmpConstruct::kStaticLoop, place(60), 1);
    omp_chunk(0);
    omp_end(OmpConstruct::kStaticLoop);
    EXPECT_EQ(part(child(root(t_thread), OmpConstruct::kStaticLoop, place(60))).chunks, 0u);
}

TEST_F(OpenMp, TheInnermostLoopIsEndedAndNothingElse) {
    omp_begin(OmpConstruct::kDistribute, place(61));
    EXPECT_FALSE(omp_loop_end());
    omp_loop_begin(OmpConstruct::kStaticLoop, place(62), 1);
    EXPECT_TRUE(omp_loop_end());
    EXPECT_EQ(t_thread->record->probe_depth, 1u);
    omp_end(OmpConstruct::kDistribute);
}

TEST_F(OpenMp, TaskloopsHaveTheAddressOfTheirTaskgroup) {
    EXPECT_EQ(omp_taskloop_address(), 0u);
    omp_begin(OmpConstruct::kTaskgroup, place(63));
    EXPECT_EQ(omp_taskloop_address(), place(63));
    omp_begin(OmpConstruct::kTaskloop, omp_taskloop_address());
    EXPECT_EQ(omp_taskloop_address(), place(63));
    omp_end(OmpConstruct::kTaskloop);
    omp_end(OmpConstruct::kTaskgroup);
}

TEST_F(OpenMp, BytesMovedAreTheInnermostTargetConstructs) {
    omp_moved(1, 1);  // outside of a target construct
    omp_begin(OmpConstruct::kTargetEnterData, place(64));
    EXPECT_TRUE(omp_in_target());
    omp_moved(4000, 0);
    omp_moved(0, 24);
    omp_moved(8, 0);
    omp_end(OmpConstruct::kTargetEnterData);
    EXPECT_FALSE(omp_in_target());
    const Node* const enter = child(root(t_thread), OmpConstruct::kTargetEnterData, place(64));
    EXPECT_EQ(part(enter).to_device, 4008u);
    EXPECT_EQ(part(enter).from_device, 24u);
}

TEST_F(OpenMp, EndsOfWhatWasNotBegunAreIgnored) {
    omp_end(OmpConstruct::kLoop);
    omp_barrier_end();
    omp_wait_end(OmpConstruct::kTaskwait);
    omp_acquired(OmpConstruct::kCritical, true);
    omp_implicit_end();
    omp_join(nullptr);
    omp_thread_end();
    omp_chunk(1);
    omp_static_chunks(3, 1);
    EXPECT_FALSE(omp_loop_end());
    uint64_t none[2] = {0, 0};
    omp_task_switch(&none[0], true, &none[1]);
    EXPECT_EQ(t_thread->record->probe_depth, 0u);
}

TEST_F(OpenMp, NothingIsRecordedWhileRecordingIsOff) {
    Worker second;
    g_page.ticket = 0;
    g_page.paused = 1;
    g_page.pause_start = now_ticks();
    region(second, place(18), nothing, nothing);
    omp_begin(OmpConstruct::kCritical, place(19));
    g_page.paused = 0;
    g_page.ticket = 2;
    omp_end(OmpConstruct::kCritical);
    EXPECT_EQ(child(root(t_thread), OmpConstruct::kParallel, place(18)), nullptr);
    EXPECT_EQ(child(root(t_thread), OmpConstruct::kCritical, place(19)), nullptr);
    region(second, place(18), nothing, nothing);
    EXPECT_EQ(child(root(t_thread), OmpConstruct::kParallel, place(18))->count, 1u);
    leave(second);
}

TEST_F(OpenMp, RegionsTooDeepAreCountedByTheirForkOnly) {
    constexpr int kDeep = kOmpLevels + 3;
    OmpTeam* teams[kDeep];
    for (int i = 0; i < kDeep; ++i) {
        teams[i] = omp_fork(place(30), nullptr);
        omp_implicit_begin(teams[i], 0, 1);
    }
    for (int i = kDeep; i-- > 0;) {
        omp_implicit_end();
        omp_join(teams[i]);
    }
    EXPECT_EQ(t_thread->record->probe_depth, 0u);
    const Node* region = child(root(t_thread), OmpConstruct::kParallel, place(30));
    EXPECT_EQ(region->count, uint64_t{kDeep});
    EXPECT_EQ(part(region).created, uint64_t{kDeep});
}

}  // namespace

}  // namespace dwell
