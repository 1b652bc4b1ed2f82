// Frames left by an exception or a jump end where it is caught, or where a later probe notices.
#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kWork = 20000;  // ticks, some microseconds

TEST_F(Probes, LandingDropsFramesButNotTheLoopThatCatches) {
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.loop_enter(kOuter, 1);
    for (int i = 0; i < 3; ++i) {
        frames.enter(kQ, 2, 32);
        frames.enter(kR, 3, 48);
        frames.landed(kOuter, 1);  // R threw, the body of the loop caught
        EXPECT_EQ(record().probe_depth, 2u);
        const uint64_t probes = record().probes;
        frames.enter(kR, 3, 64);  // called by something without probes in P's frame
        frames.leave(kR, 3);
        EXPECT_EQ(record().probes, probes + 1);
    }
    frames.loop_leave(kOuter, 1, 4);
    frames.leave(kP, 1);
    const Node* loop = find({from(16), at_site(kP), at_site(kOuter)});
    EXPECT_EQ(part(loop).iterations, 4u);
    EXPECT_EQ(part(loop).abandoned, 0u);
    EXPECT_EQ(part(find_from(loop, {from(32), at_site(kQ)})).abandoned, 3u);
    EXPECT_EQ(find_from(loop, {from(64), at_site(kR)})->count, 3u);
    expect_at_rest();
}

TEST_F(Probes, LoopsLeftByAnExceptionInTheirFrameAreDropped) {
    Frames frames;
    for (int i = 0; i < 2; ++i) {
        frames.enter(kP, 1, 16);
        frames.loop_enter(kOuter, 1);
        frames.loop_enter(kInner, 1);
        frames.landed(kOuter, 1);
        EXPECT_EQ(record().probe_depth, 2u);
        frames.landed(kP, 1);
        EXPECT_EQ(record().probe_depth, 1u);
        frames.loop_enter(kOuter, 1);
        frames.loop_enter(kInner, 1);
        frames.loop_enter(kSecond, 1);  // not inside them
        EXPECT_EQ(record().probe_depth, 2u);
        frames.loop_leave(kSecond, 1, 2);
        frames.loop_enter(kOuter, 1);
        frames.loop_enter(kInner, 1);
        frames.loop_enter(kInner, 1);  // the first one was left by an exception caught in Outer
        EXPECT_EQ(record().probe_depth, 3u);
        frames.loop_leave(kInner, 1, 3);
        frames.loop_enter(kOuter, 1);  // both gone
        frames.loop_enter(kInner, 1);
        frames.leave(kP, 1);  // from within, by an exception that P caught and returned
    }
    const Node* p = find({from(16), at_site(kP)});
    const Node* outer = find_from(p, {at_site(kOuter)});
    const Node* inner = find_from(outer, {at_site(kInner)});
    EXPECT_EQ(outer->count, 8u);
    EXPECT_EQ(part(outer).abandoned, 8u);
    EXPECT_EQ(inner->count, 10u);
    EXPECT_EQ(part(inner).abandoned, 8u);
    EXPECT_EQ(part(inner).iterations, 6u);
    EXPECT_EQ(part(find_from(p, {at_site(kSecond)})).abandoned, 0u);
    EXPECT_EQ(all_below(root()).size(), 6u);
    expect_at_rest();
}

// A recursive procedure whose loop calls it again in its third iteration, until the innermost one
// jumps out of all: each begun iteration of each loop counts, though no loop was left by its probe.
TEST_F(Probes, IterationsOfLoopsLeftByAJumpCount) {
    constexpr int kDeep = 4;
    Frames frames;
    for (int jump = 0; jump < 2; ++jump) {  // at first all probes take the slow path
        frames.enter(kP, 1, 16);
        for (int depth = 2; depth < 2 + kDeep; ++depth) {
            frames.enter(kQ, depth, 32);
            uint64_t* count = frames.loop_enter_counting(kQLoop, depth);
            ASSERT_NE(count, nullptr);
            *count += 3;
        }
        frames.landed(kP, 1);
        frames.leave(kP, 1);
    }
    const Node* loop = find({from(16), at_site(kP), from(32), at_site(kQ), at_site(kQLoop)});
    EXPECT_EQ(loop->count, 2u * kDeep);
    EXPECT_EQ(part(loop).iterations, 3u * 2 * kDeep);
    EXPECT_EQ(part(loop).abandoned, 2u * kDeep);
    expect_at_rest();
}

// The count stays with the node, wherever the loop ends; where nothing is recorded there is no
// counter.
TEST_F(Probes, CountingLoopsGetTheAddressOfTheirCounter) {
    Frames frames;
    frames.enter(kP, 1, 16);
    for (int round = 0; round < 2; ++round) {
        uint64_t* outer = frames.loop_enter_counting(kOuter, 1);
        uint64_t* inner = frames.loop_enter_counting(kInner, 1);
        *outer += 1;
        *inner += 10;
        frames.loop_leave(kInner, 1, 0);
        *outer += 1;
        frames.loop_leave(kOuter, 1, 0);
    }
    g_table.levels[kSecond] = kLevelCount;
    EXPECT_EQ(frames.loop_enter_counting(kSecond, 1), nullptr);
    EXPECT_EQ(frames.loop_enter_counting(kSecond, 1), nullptr);
    pause();
    EXPECT_EQ(frames.loop_enter_counting(kInner, 1), nullptr);
    resume();
    frames.leave(kP, 1);
    const Node* outer = find({from(16), at_site(kP), at_site(kOuter)});
    EXPECT_EQ(part(outer).iterations, 4u);
    EXPECT_EQ(part(find_from(outer, {at_site(kInner)})).iterations, 20u);
    expect_at_rest();
}

// The time of frames left by a throw ends there, and continues in the frame that caught it.
TEST_F(Probes, LandingEndsTheTimeOfLeftProcedures) {
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.loop_enter(kOuter, 1);
    frames.loop_enter(kInner, 1);
    frames.enter(kQ, 2, 32);
    spin(kWork);
    frames.landed(kOuter, 1);
    const uint64_t before = now_ticks();
    spin(kWork);
    const uint64_t caught = now_ticks() - before;
    frames.loop_leave(kOuter, 1, 1);
    frames.leave(kP, 1);
    const Node* outer = find({from(16), at_site(kP), at_site(kOuter)});
    const Node* inner = find_from(outer, {at_site(kInner)});
    const Node* q = find_from(inner, {from(32), at_site(kQ)});
    EXPECT_GE(q->ticks, kWork);
    EXPECT_GE(outer->ticks, inner->ticks + caught);
    EXPECT_EQ(part(outer).abandoned, 0u);
    EXPECT_EQ(part(inner).abandoned, 1u);
    EXPECT_EQ(part(q).abandoned, 1u);
    expect_at_rest();
}

// Loops of another procedure in the same frame, as after link-time inlining, and blocks stay open.
TEST_F(Probes, LandingLeavesLoopsOfOthersAlone) {
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.loop_enter(kOuter, 1);
    frames.landed(kQLoop, 1);
    frames.landed(kQ, 1);
    EXPECT_EQ(record().probe_depth, 2u);
    frames.loop_leave(kOuter, 1, 1);
    frames.leave(kP, 1);
    EXPECT_EQ(part(find({from(16), at_site(kP), at_site(kOuter)})).abandoned, 0u);
    expect_at_rest();
}

}  // namespace
}  // namespace dwell
