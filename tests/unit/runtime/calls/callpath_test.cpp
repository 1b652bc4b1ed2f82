// A known path is recognised by the words of its stack, also where it is deep; a path that differs
// only far out is another one.
#include "runtime/calls/callpath.h"

#include <gtest/gtest.h>

#include "tests/unit/support/observed_process.h"

namespace dwell {
namespace {

class CallPath : public ObservedProcess {};

struct Seen {
    CellIndex node;
    bool remembered;
};

// Stands for a wrapper.
__attribute__((noinline)) void statement(Seen* seen) {
    const Frame* frame = DWELL_FRAME();
    const CellIndex root = t_thread->record->root;
    const PathEntry* known = find_cached_path(t_thread, frame, MpiCall::kSend, root);
    seen->remembered = known != nullptr;
    seen->node = known != nullptr ? known->node
                                  : find_path(t_thread, frame, MpiCall::kSend, root, kMpiForm).node;
}

// A stack of that many frames, each of its own procedure.
template <int kFrames>
__attribute__((noinline)) void down(Seen* seen) {
    if constexpr (kFrames == 0) {
        statement(seen);
    } else {
        down<kFrames - 1>(seen);
    }
    asm volatile("" ::: "memory");  // no tail call
}

// Frames of the same size: their callees begin at the same stack pointer.
template <int kNumber, int kFrames>
__attribute__((noinline)) void outermost(Seen* seen) {
    asm volatile("" ::"i"(kNumber));
    down<kFrames>(seen);
    asm volatile("" ::: "memory");
}

int depth_of(CellIndex node) {
    int depth = 0;
    for (; node != 0; node = cell_at<Node>(node)->parent) ++depth;
    return depth;
}

TEST_F(CallPath, DeepPathsAreCachedAndDifferByTheirOutermostFrame) {
    constexpr int kFrames = 32;
    volatile int rounds = 4;
    CellIndex of_first = 0;
    CellIndex of_second = 0;
    while (rounds > 0) {
        const bool is_first_round = rounds == 4;
        rounds = rounds - 1;
        Seen first{};
        Seen second{};
        outermost<1, kFrames>(&first);
        outermost<2, kFrames>(&second);
        // An unused word of a frame may have been taken as a check in the first round.
        if (rounds != 2) {
            EXPECT_EQ(first.remembered, !is_first_round);
            EXPECT_EQ(second.remembered, !is_first_round);
        }
        if (is_first_round) {
            of_first = first.node;
            of_second = second.node;
        }
        EXPECT_EQ(first.node, of_first);
        EXPECT_EQ(second.node, of_second);
    }
    EXPECT_NE(of_first, 0u);
    EXPECT_NE(of_first, of_second);
    EXPECT_GT(depth_of(of_first), kFrames);
}

TEST_F(CallPath, BeyondTheCachedDepthTheNodeIsTheSame) {
    constexpr int kFrames = 3 * kReturnAddressChecks;
    volatile int rounds = 3;
    CellIndex node = 0;
    while (rounds > 0) {
        const bool is_first_round = rounds == 3;
        rounds = rounds - 1;
        Seen seen{};
        outermost<1, kFrames>(&seen);
        EXPECT_FALSE(seen.remembered);
        if (is_first_round) node = seen.node;
        EXPECT_EQ(seen.node, node);
    }
    EXPECT_GT(depth_of(node), kFrames);
}

}  // namespace
}  // namespace dwell
