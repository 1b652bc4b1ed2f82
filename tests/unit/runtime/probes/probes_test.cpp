// Procedures and loops recorded by probes: paths, counts, iterations, times, and entries that end
// without a probe. Frames are simulated (probe_harness.h).
#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kWork = 20000;  // ticks, some microseconds

TEST_F(Probes, AProcedureHasANodeForEachCallingStatement) {
    Frames frames;
    for (int i = 0; i < 5; ++i) {
        frames.enter(kP, 1, 16);
        frames.leave(kP, 1);
    }
    for (int i = 0; i < 3; ++i) {
        frames.enter(kP, 1, 32);
        frames.enter(kQ, 2, 48);
        frames.leave(kQ, 2);
        frames.leave(kP, 1);
    }
    EXPECT_EQ(find({from(16), at_site(kP)})->count, 5u);
    EXPECT_EQ(find({from(32), at_site(kP)})->count, 3u);
    EXPECT_EQ(find({from(32), at_site(kP), from(48), at_site(kQ)})->count, 3u);
    EXPECT_EQ(find({from(16), at_site(kP)})->first_child, 0u);
    EXPECT_EQ(all_below(root()).size(), 7u);
    EXPECT_EQ(record().probes, 11u);
    expect_at_rest();
}

TEST_F(Probes, TimeIsWhatPassesBetweenEnterAndLeave) {
    Frames frames;
    uint64_t most = 0;
    uint64_t longest = 0;
    for (int i = 0; i < 10; ++i) {
        const uint64_t before = now_ticks();
        frames.enter(kP, 1, 16);
        spin(i == 4 ? 5 * kWork : kWork);
        frames.leave(kP, 1);
        const uint64_t outside = now_ticks() - before;
        most += outside;
        if (outside > longest) longest = outside;
    }
    const Node* node = find({from(16), at_site(kP)});
    EXPECT_GE(node->ticks, 14 * kWork);
    EXPECT_LE(node->ticks, most);
    EXPECT_GE(node->min_ticks, kWork);
    EXPECT_LE(node->min_ticks, node->ticks / 10);
    EXPECT_GE(node->max_ticks, 5 * kWork);
    EXPECT_LE(node->max_ticks, longest);
}

// DWELL_INJECT_NS: four probes are delayed, and no procedure's time contains the delays.
TEST_F(Probes, InjectedDelaysAreOverhead) {
    Frames frames;
    auto one_round = [&] {
        frames.enter(kP, 1, 16);
        frames.enter(kQ, 2, 32);
        frames.leave(kQ, 2);
        frames.leave(kP, 1);
    };
    one_round();
    g_process.inject_ticks = kWork;
    live_->epoch += 1;
    live_->ticket += 1;
    for (int i = 0; i < 3; ++i) {
        const uint64_t slow = thread()->slow_overhead;
        const uint64_t ticks = find({from(16), at_site(kP)})->ticks;
        const uint64_t injected = record().injected_ticks;
        const uint64_t before = now_ticks();
        one_round();
        const uint64_t elapsed = now_ticks() - before;
        EXPECT_GE(record().injected_ticks - injected, 4 * kWork);
        EXPECT_GE(thread()->slow_overhead - slow, record().injected_ticks - injected);
        const uint64_t took = find({from(16), at_site(kP)})->ticks - ticks;
        EXPECT_LE(took + (thread()->slow_overhead - slow), elapsed);
    }
    g_process.inject_ticks = 0;
    expect_at_rest();
}

TEST_F(Probes, InclusiveTimeHoldsTheCallee) {
    Frames frames;
    frames.enter(kP, 1, 16);
    spin(kWork);
    frames.enter(kQ, 2, 32);
    spin(2 * kWork);
    frames.leave(kQ, 2);
    frames.leave(kP, 1);
    const Node* caller = find({from(16), at_site(kP)});
    const Node* callee = find_from(caller, {from(32), at_site(kQ)});
    EXPECT_GE(callee->ticks, 2 * kWork);
    EXPECT_GE(caller->ticks, callee->ticks + kWork);
}

TEST_F(Probes, LoopsHaveEntriesAndIterations) {
    Frames frames;
    for (int call = 0; call < 3; ++call) {
        frames.enter(kP, 1, 16);
        frames.loop_enter(kOuter, 1);
        for (int i = 0; i < 4; ++i) {
            frames.loop_enter(kInner, 1);
            frames.loop_leave(kInner, 1, 7);
        }
        frames.loop_leave(kOuter, 1, 5);
        frames.loop_enter(kSecond, 1);
        frames.enter(kQ, 2, 32);
        frames.leave(kQ, 2);
        frames.loop_leave(kSecond, 1, 2);
        frames.leave(kP, 1);
    }
    const Node* outer = find({from(16), at_site(kP), at_site(kOuter)});
    const Node* inner = find_from(outer, {at_site(kInner)});
    const Node* second = find({from(16), at_site(kP), at_site(kSecond)});
    EXPECT_EQ(outer->count, 3u);
    EXPECT_EQ(part(outer).iterations, 15u);
    EXPECT_EQ(inner->count, 12u);
    EXPECT_EQ(part(inner).iterations, 84u);
    EXPECT_EQ(second->count, 3u);
    EXPECT_EQ(part(second).iterations, 6u);
    EXPECT_EQ(find_from(second, {from(32), at_site(kQ)})->count, 3u);
    for (const Node* node : all_below(root())) EXPECT_EQ(part(node).abandoned, 0u);
    expect_at_rest();
}

TEST_F(Probes, ALoopWithoutItsProcedureIsAChildOfTheCaller) {
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.loop_enter(kQLoop, 2);  // Q itself is too small for probes
    frames.loop_leave(kQLoop, 2, 9);
    frames.leave(kP, 1);
    EXPECT_EQ(part(find({from(16), at_site(kP), at_site(kQLoop)})).iterations, 9u);
    expect_at_rest();
}

TEST_F(Probes, DirectRecursionCountsTimeOnce) {
    Frames frames;
    constexpr int kDeep = 10;
    for (int round = 0; round < 2; ++round) {
        const uint64_t before = now_ticks();
        for (int depth = 1; depth <= kDeep; ++depth) frames.enter(kP, depth, depth == 1 ? 16 : 32);
        spin(kWork);
        for (int depth = kDeep; depth >= 1; --depth) frames.leave(kP, depth);
        const uint64_t outside = now_ticks() - before;
        const Node* node = find({from(16), at_site(kP)});
        EXPECT_GE(node->max_ticks, kWork);
        EXPECT_LE(node->max_ticks, outside + (round == 0 ? 0 : node->ticks - outside));
    }
    const Node* node = find({from(16), at_site(kP)});
    EXPECT_EQ(node->count, 20u);
    EXPECT_EQ(part(node).untimed, 18u);
    EXPECT_LE(node->ticks, 2 * node->max_ticks);  // two timed entries
    EXPECT_EQ(all_below(root()).size(), 3u);
    expect_at_rest();
}

// P calls itself through a loop of Q: all time is P's, and the time of the nodes between is where
// it was spent.
TEST_F(Probes, MutualRecursionCountsTimeOnce) {
    Frames frames;
    const uint64_t before = now_ticks();
    frames.enter(kP, 1, 16);
    for (int i = 0; i < 4; ++i) {
        frames.enter(kQ, 2 + 2 * i, 32);
        spin(kWork);
        frames.loop_enter(kQLoop, 2 + 2 * i);
        spin(2 * kWork);
        frames.enter(kP, 3 + 2 * i, 48);
        spin(3 * kWork);
    }
    for (int i = 3; i >= 0; --i) {
        frames.leave(kP, 3 + 2 * i);
        frames.loop_leave(kQLoop, 2 + 2 * i, 3);
        frames.leave(kQ, 2 + 2 * i);
    }
    frames.leave(kP, 1);
    const uint64_t outside = now_ticks() - before;
    const Node* p = find({from(16), at_site(kP)});
    const Node* q = find_from(p, {from(32), at_site(kQ)});
    const Node* loop = find_from(q, {at_site(kQLoop)});
    EXPECT_EQ(p->count, 5u);
    EXPECT_EQ(part(p).untimed, 4u);
    EXPECT_GE(p->ticks, 24 * kWork);
    EXPECT_EQ(p->max_ticks, p->ticks);
    EXPECT_EQ(q->count, 4u);
    EXPECT_GE(q->ticks, 12 * kWork);
    EXPECT_LE(q->ticks, outside - 12 * kWork);
    EXPECT_GE(q->min_ticks, 3 * kWork);
    EXPECT_EQ(loop->count, 4u);
    EXPECT_EQ(part(loop).iterations, 12u);
    EXPECT_GE(loop->ticks, 8 * kWork);
    EXPECT_LE(loop->ticks, q->ticks - 4 * kWork);
    EXPECT_EQ(all_below(root()).size(), 6u);
    expect_at_rest();
}

TEST_F(Probes, FramesThatAreGoneAreDropped) {
    Frames frames;
    frames.enter(kR, 1, 16);
    frames.enter(kP, 2, 32);
    frames.loop_enter(kOuter, 2);
    frames.enter(kQ, 3, 48);
    // longjmp to R, which calls something else
    frames.enter(kQ, 2, 64);
    EXPECT_EQ(record().probe_depth, 2u);
    frames.leave(kQ, 2);
    frames.leave(kR, 1);
    const Node* r = find({from(16), at_site(kR)});
    const Node* p = find_from(r, {from(32), at_site(kP)});
    EXPECT_EQ(part(p).abandoned, 1u);
    EXPECT_EQ(p->count, 1u);
    EXPECT_EQ(part(find_from(p, {at_site(kOuter)})).abandoned, 1u);
    EXPECT_EQ(part(find_from(p, {at_site(kOuter), from(48), at_site(kQ)})).abandoned, 1u);
    EXPECT_EQ(find_from(r, {from(64), at_site(kQ)})->count, 1u);
    EXPECT_EQ(part(find_from(r, {from(64), at_site(kQ)})).abandoned, 0u);
    EXPECT_EQ(part(r).abandoned, 0u);
    expect_at_rest();
}

TEST_F(Probes, AGoneFrameAtTheSameAddressIsDropped) {
    Frames frames;
    for (int i = 0; i < 3; ++i) {  // known paths, too
        frames.enter(kR, 1, 16);
        frames.enter(kP, 2, 32);
        frames.enter(kQ, 2, 48);  // P was left by longjmp
        frames.enter(kQ, 2, 48);  // and so was Q, which R calls again from the same statement
        frames.leave(kQ, 2);
        frames.leave(kR, 1);
    }
    const Node* r = find({from(16), at_site(kR)});
    EXPECT_EQ(part(find_from(r, {from(32), at_site(kP)})).abandoned, 3u);
    EXPECT_EQ(find_from(r, {from(48), at_site(kQ)})->count, 6u);
    EXPECT_EQ(part(find_from(r, {from(48), at_site(kQ)})).abandoned, 3u);
    EXPECT_EQ(part(find_from(r, {from(48), at_site(kQ)})).untimed, 0u);
    EXPECT_EQ(all_below(root()).size(), 7u);
    expect_at_rest();
}

TEST_F(Probes, LeavingDropsWhatLiesBelow) {
    Frames frames;
    frames.enter(kR, 1, 16);
    frames.enter(kP, 2, 32);
    frames.enter(kQ, 3, 48);
    frames.leave(kR, 1);
    EXPECT_EQ(record().probe_depth, 0u);
    EXPECT_EQ(part(find({from(16), at_site(kR), from(32), at_site(kP)})).abandoned, 1u);
    EXPECT_EQ(part(find({from(16), at_site(kR)})).abandoned, 0u);
    expect_at_rest();
}

TEST_F(Probes, LeavingASiteThatWasOffWhenEnteredDoesNothing) {
    Frames frames;
    frames.enter(kR, 1, 16);
    g_table.levels[kP] = kLevelOff;
    frames.enter(kP, 2, 32);
    frames.loop_enter(kOuter, 2);
    g_table.levels[kP] = kLevelFull;
    frames.loop_leave(kOuter, 2, 5);
    frames.leave(kP, 2);
    EXPECT_EQ(record().probe_depth, 1u);
    frames.leave(kR, 1);
    frames.leave(kQ, 1);  // nothing at all is open
    EXPECT_EQ(find({from(16), at_site(kR), from(32)}), nullptr);
    EXPECT_EQ(part(find({from(16), at_site(kR), at_site(kOuter)})).iterations, 5u);
    expect_at_rest();
}

TEST_F(Probes, ALeaveFirstOfAllDoesNothing) {
    Frames frames;
    frames.leave(kP, 1);
    frames.loop_leave(kOuter, 1, 3);
    frames.landed(kP, 1);
    EXPECT_EQ(root()->first_child, 0u);
    EXPECT_EQ(record().probe_stack, 0u);
}

TEST_F(Probes, CountLevelCountsWithoutTime) {
    Frames frames;
    g_table.levels[kP] = kLevelCount;
    for (int i = 0; i < 6; ++i) {
        frames.enter(kP, 1, 16);
        frames.enter(kQ, 2, 32);
        frames.leave(kQ, 2);
        frames.leave(kP, 1);
    }
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, 6u);
    EXPECT_EQ(part(p).counted, 6u);
    EXPECT_EQ(p->ticks, 0u);
    EXPECT_EQ(p->first_child, 0u);
    EXPECT_EQ(find({from(32), at_site(kQ)})->count, 6u);
    expect_at_rest();
}

TEST_F(Probes, LevelsMayChangeWhileEntriesAreOpen) {
    Frames frames;
    for (int i = 0; i < 2; ++i) {
        frames.enter(kP, 1, 16);
        spin(kWork);
        g_table.levels[kP] = kLevelCount;
        live_->ticket += 1;
        frames.leave(kP, 1);  // was entered at full level
        frames.enter(kP, 1, 16);
        g_table.levels[kP] = kLevelFull;
        live_->ticket += 1;
        frames.leave(kP, 1);  // was only counted
    }
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, 4u);
    EXPECT_EQ(part(p).counted, 2u);
    EXPECT_EQ(part(p).abandoned, 0u);
    EXPECT_GE(p->min_ticks, kWork);
    expect_at_rest();
}

TEST_F(Probes, EntriesBeyondTheDepthLimitAreCountedWithoutTime) {
    constexpr int kDeep = 1500;
    constexpr uint64_t kRoom = kProbeStackEntries - 1;
    Frames<kDeep + 1> frames;
    for (int round = 0; round < 3; ++round) {
        for (int depth = 1; depth <= kDeep; ++depth) frames.enter(kP, depth, depth == 1 ? 16 : 32);
        EXPECT_EQ(record().probe_depth, kRoom);
        if (round == 2) break;  // a jump out of everything
        for (int depth = kDeep; depth >= 1; --depth) frames.leave(kP, depth);
        EXPECT_EQ(record().probe_depth, 0u);
    }
    frames.enter(kQ, 0, 48);
    frames.leave(kQ, 0);
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, 3u * kDeep);
    EXPECT_EQ(part(p).untimed, 3u * (kDeep - 1));
    EXPECT_EQ(part(p).abandoned, kRoom);
    EXPECT_EQ(record().probes_dropped, 0u);
    EXPECT_EQ(find({from(48), at_site(kQ)})->count, 1u);
    expect_at_rest();
}

TEST_F(Probes, LeavesBeyondTheDepthLimitCountUnderTheDeepestEntry) {
    constexpr int kDeep = 1500;
    Frames<kDeep + 2> frames;
    for (int depth = 1; depth <= kDeep; ++depth) {
        frames.enter(kP, depth, depth == 1 ? 16 : 32);
        frames.enter(kQ, depth + 1, 48);
        frames.leave(kQ, depth + 1);
    }
    for (int depth = kDeep; depth >= 1; --depth) frames.leave(kP, depth);
    EXPECT_EQ(find({from(16), at_site(kP)})->count, uint64_t{kDeep});
    const Node* q = find({from(16), at_site(kP), from(48), at_site(kQ)});
    EXPECT_EQ(q->count, uint64_t{kDeep});
    // There is room for all but one entry of the stack below it.
    EXPECT_EQ(part(q).counted, kDeep - (kProbeStackEntries - 2));
    EXPECT_EQ(record().probes_dropped, 0u);
    expect_at_rest();
}

TEST_F(Probes, PausesAreLeftOut) {
    Frames frames;
    const uint64_t before = now_ticks();
    frames.enter(kP, 1, 16);
    spin(kWork);
    const uint64_t pause_begin = now_ticks();
    pause();
    frames.enter(kQ, 2, 32);  // not seen
    frames.leave(kQ, 2);
    spin(50 * kWork);
    resume();
    const uint64_t paused = now_ticks() - pause_begin;
    spin(kWork);
    frames.leave(kP, 1);
    const uint64_t outside = now_ticks() - before;
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->first_child, 0u);
    EXPECT_GE(p->ticks, 2 * kWork);
    EXPECT_LE(p->ticks, outside - 50 * kWork);
    EXPECT_GE(record().paused_ticks, 50 * kWork);
    EXPECT_LE(record().paused_ticks, paused);
    EXPECT_EQ(part(p).abandoned, 0u);
    expect_at_rest();
}

TEST_F(Probes, ProceduresLeftDuringAPauseAreClosed) {
    Frames frames;
    const uint64_t before = now_ticks();
    frames.enter(kP, 1, 16);
    frames.loop_enter(kOuter, 1);
    spin(kWork);
    pause();
    const uint64_t outside = now_ticks() - before;
    frames.loop_leave(kOuter, 1, 5);
    frames.leave(kP, 1);
    spin(50 * kWork);
    resume();
    spin(kWork);
    frames.enter(kQ, 2, 32);  // deeper than P was, not inside it
    frames.leave(kQ, 2);
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(part(p).abandoned, 0u);
    EXPECT_EQ(part(find_from(p, {at_site(kOuter)})).iterations, 5u);
    EXPECT_GE(p->ticks, kWork);
    EXPECT_LE(p->ticks, outside);
    ASSERT_NE(find({from(32), at_site(kQ)}), nullptr);
    expect_at_rest();
}

TEST_F(Probes, AResetClearsCountsAndKeepsOpenEntries) {
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.enter(kQ, 2, 32);
    frames.leave(kQ, 2);
    frames.enter(kP, 2, 48);
    spin(50 * kWork);
    reset();
    const uint64_t before = now_ticks();
    frames.enter(kR, 3, 64);
    frames.leave(kR, 3);
    spin(kWork);
    frames.leave(kP, 2);
    frames.leave(kP, 1);
    const uint64_t outside = now_ticks() - before;
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, 2u);  // both are open after it
    EXPECT_EQ(part(p).untimed, 1u);
    EXPECT_GE(p->ticks, kWork);
    EXPECT_LE(p->ticks, outside);
    EXPECT_EQ(find_from(p, {from(32), at_site(kQ)})->count, 0u);
    EXPECT_EQ(find_from(p, {from(64), at_site(kR)})->count, 1u);
    EXPECT_EQ(record().probes, 1u);
    expect_at_rest();
}

TEST_F(Probes, OverheadIsSubtractedFromAllOpenEntries) {
    Frames frames;
    const uint64_t before = now_ticks();
    frames.enter(kP, 1, 16);
    frames.enter(kQ, 2, 32);
    spin(20 * kWork);
    thread()->slow_overhead += 20 * kWork;  // dwell's own
    spin(kWork);
    frames.leave(kQ, 2);
    frames.leave(kP, 1);
    const uint64_t outside = now_ticks() - before;
    const Node* p = find({from(16), at_site(kP)});
    const Node* q = find_from(p, {from(32), at_site(kQ)});
    EXPECT_GE(q->ticks, kWork);
    EXPECT_LE(q->ticks, outside - 20 * kWork);
    EXPECT_LE(p->ticks, outside - 20 * kWork);
    EXPECT_GE(p->ticks, q->ticks);
}

TEST_F(Probes, AWrongCostNeverMakesTimesNegative) {
    Frames frames;
    g_process.probe_cost_ticks = 100 * kWork;
    g_process.probe_inner_ticks = 50 * kWork;
    frames.enter(kP, 1, 16);
    for (int i = 0; i < 10; ++i) {
        frames.enter(kQ, 2, 32);
        frames.leave(kQ, 2);
    }
    frames.leave(kP, 1);
    EXPECT_EQ(find({from(16), at_site(kP)})->ticks, 0u);
    EXPECT_EQ(find({from(16), at_site(kP), from(32), at_site(kQ)})->ticks, 0u);
}

TEST_F(Probes, TheFirstProbeOfAPathCostsItsCallerNothing) {
    Frames frames;
    const uint64_t before = now_ticks();
    frames.enter(kP, 1, 16);
    const uint64_t slow_before = thread()->slow_overhead;
    const uint64_t begin = now_ticks();
    for (int i = 0; i < 200; ++i) {  // a new node each time
        frames.enter(kQ, 2, static_cast<uint64_t>(100 + i));
        frames.leave(kQ, 2);
    }
    const uint64_t slow = thread()->slow_overhead - slow_before;
    const uint64_t real = now_ticks() - begin;
    frames.leave(kP, 1);
    const uint64_t outside = now_ticks() - before;
    EXPECT_GT(slow, 0u);
    EXPECT_LE(slow, real);
    EXPECT_LE(find({from(16), at_site(kP)})->ticks, outside - slow);
    expect_at_rest();
}

TEST_F(Probes, AFullRecordFileCollapsesThenDrops) {
    end_observation();
    start_observation(1);
    Frames frames;
    uint64_t entered = 0;
    // A call statement and a procedure, two cells a place: at most 8192 fit into 1 MiB.
    for (uint64_t place = 0; place < 20000; ++place, ++entered) {
        *frames.at(1) = reinterpret_cast<uint64_t>(&g_table) + place;
        probe(dwell_enter, kP, frames.at(1));
        frames.leave(kP, 1);
    }
    uint64_t counted = 0;
    uint64_t folded = 0;
    for (const Node* node : all_below(root())) {
        if (node->site.kind != SiteKind::kProcedure) continue;
        counted += node->count;
        if ((node->site.flags & kNodeFolded) != 0) {
            folded += node->count;
            EXPECT_EQ(cell_at<Node>(node->parent), root());
        }
    }
    EXPECT_GT(folded, 0u);
    EXPECT_GT(counted - folded, 1000u);
    EXPECT_EQ(counted + record().probes_dropped, entered);

    // Nothing is left: other sites are dropped, and no entry stays open.
    while (take_cells(thread(), 1) != 0) {
    }
    const uint64_t dropped = record().probes_dropped;
    frames.enter(kQ, 1, 16);
    frames.leave(kQ, 1);
    EXPECT_EQ(record().probes_dropped, dropped + 1);
    expect_at_rest();
}

TEST_F(Probes, WithoutRoomForItsStackAThreadDropsAll) {
    while (take_cells(thread(), 1) != 0) {
    }
    Frames frames;
    for (int i = 0; i < 3; ++i) {
        frames.enter(kP, 1, 16);
        frames.leave(kP, 1);
    }
    EXPECT_EQ(record().probes_dropped, 3u);
    EXPECT_EQ(record().probe_depth, 0u);
    EXPECT_EQ(root()->first_child, 0u);
}

TEST_F(Probes, MoreCallsThanTheCacheHolds) {
    Frames frames;
    constexpr uint64_t kPlaces = 3 * kKnownChildren;
    for (int round = 0; round < 3; ++round) {
        for (uint64_t place = 0; place < kPlaces; ++place) {
            frames.enter(kP, 1, place);
            frames.leave(kP, 1);
        }
    }
    const std::vector<const Node*> calls = children(root());
    EXPECT_EQ(calls.size(), kPlaces);
    for (const Node* call : calls) EXPECT_EQ(cell_at<Node>(call->first_child)->count, 3u);
    expect_at_rest();
}

TEST_F(Probes, WithoutATimeStampCounter) {
    g_process.use_tsc = false;
    Frames frames;
    for (int i = 0; i < 3; ++i) {
        frames.enter(kP, 1, 16);
        frames.loop_enter(kOuter, 1);
        spin(kWork);
        frames.loop_leave(kOuter, 1, 4);
        frames.leave(kP, 1);
    }
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, 3u);
    EXPECT_GE(p->min_ticks, kWork);
    EXPECT_EQ(part(find_from(p, {at_site(kOuter)})).iterations, 12u);
    expect_at_rest();
}

}  // namespace
}  // namespace dwell
