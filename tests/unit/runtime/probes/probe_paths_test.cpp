// Communication statements in a thread with probes: their node lies below the innermost open one,
// along the frames without probes between. The frames are real.
#include "runtime/calls/records.h"
#include "runtime/probes/blocks.h"
#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

#define NOINLINE __attribute__((noinline))

using Body = void (*)();

CellIndex g_node = 0;          // node of the last statement
uint64_t g_slow_overhead = 0;  // overhead of finding it

// Does what an MPI wrapper does.
NOINLINE void statement() {
    const uint64_t slow_before = t_thread->slow_overhead;
    Call call;
    g_node = 0;
    if (!enter(&call, MpiCall::kBarrier, DWELL_FRAME(), kMpiForm)) return;
    g_slow_overhead = t_thread->slow_overhead - slow_before;
    start(&call);
    stop(&call);
    record_event(&call, kSendReady);
    g_node = call.index;
    leave(&call);
}

NOINLINE void procedure(int site, Body body) {
    probe(dwell_enter, site, DWELL_OWN_SLOT());
    body();
    probe(dwell_leave, site, DWELL_OWN_SLOT());
}
NOINLINE void p_calls(Body body) {
    procedure(kP, body);
    asm volatile("");
}
NOINLINE void without_probes() {
    statement();
    asm volatile("");
}
NOINLINE void two_without_probes() {
    without_probes();
    asm volatile("");
}
NOINLINE void q_calls() {
    procedure(kQ, two_without_probes);
    asm volatile("");
}
NOINLINE void q_between() {
    q_calls();
    asm volatile("");
}
int g_rounds = 0;
NOINLINE void p_again() {
    if (--g_rounds > 0) {
        p_calls(p_again);
    } else {
        statement();
    }
    asm volatile("");
}

class ProbePaths : public Probes {
  protected:
    void SetUp() override {
        Probes::SetUp();
        ASSERT_TRUE(load_unwinder());
        g_process.options.callpath_depth = 0;
    }

    // The kinds of nodes from the innermost procedure or loop down to the last statement.
    static std::string path() {
        std::string found;
        for (CellIndex at = g_node; at != 0; at = cell_at<Node>(at)->parent) {
            const Site& site = cell_at<Node>(at)->site;
            if (site.kind == SiteKind::kCommunication) found = "statement";
            if (site.kind == SiteKind::kCall) found = "call " + found;
            if (site.kind == SiteKind::kProgram) return "program " + found;
            for (int i = 1; i < kTestSites; ++i) {
                if (site.kind == at_site(i).kind && site.offset == at_site(i).offset) {
                    return std::to_string(i) + " " + found;
                }
            }
        }
        return found;
    }
    static std::string path_under(int site, const std::string& below) {
        return std::to_string(site) + " " + below;
    }
};

TEST_F(ProbePaths, AStatementInAProbedProcedureIsItsChild) {
    for (int i = 0; i < 6; ++i) {
        p_calls(statement);
        EXPECT_EQ(path(), path_under(kP, "statement"));
        // A known path needs only its address.
        if (i == 5) {
            EXPECT_EQ(g_slow_overhead, 0u);
        }
    }
    EXPECT_EQ(cell_at<Node>(g_node)->count, 6u);
    expect_at_rest();
}

TEST_F(ProbePaths, FramesWithoutProbesLieBetween) {
    for (int i = 0; i < 6; ++i) {
        p_calls(two_without_probes);
        EXPECT_EQ(path(), path_under(kP, "call call statement"));
        if (i == 5) {
            EXPECT_EQ(g_slow_overhead, 0u);
        }
    }
    EXPECT_EQ(cell_at<Node>(g_node)->count, 6u);
    const CellIndex direct = g_node;
    p_calls(without_probes);
    EXPECT_EQ(path(), path_under(kP, "call statement"));
    EXPECT_NE(g_node, direct);
    p_calls(q_between);
    EXPECT_EQ(path(), path_under(kQ, "call call statement"));
    expect_at_rest();
}

TEST_F(ProbePaths, AtDepthOneAStatementIsAChildOfTheInnermostProcedure) {
    g_process.options.callpath_depth = 1;  // so it is without libunwind, too
    for (int i = 0; i < 4; ++i) {
        p_calls(two_without_probes);
        EXPECT_EQ(path(), path_under(kP, "statement"));
    }
    EXPECT_EQ(g_slow_overhead, 0u);
    const CellIndex under_p = g_node;
    p_calls(q_between);  // the same statement
    EXPECT_EQ(path(), path_under(kQ, "statement"));
    EXPECT_NE(g_node, under_p);
}

TEST_F(ProbePaths, ALimitedDepthCountsFromTheStatement) {
    g_process.options.callpath_depth = 2;
    for (int i = 0; i < 4; ++i) {
        p_calls(two_without_probes);
        EXPECT_EQ(path(), path_under(kP, "call statement"));
        p_calls(statement);
        EXPECT_EQ(path(), path_under(kP, "statement"));
    }
    expect_at_rest();
}

// One statement in one frame, below three nodes in succession.
NOINLINE void loops_around_a_statement(CellIndex* found) {
    const uint64_t* slot = DWELL_OWN_SLOT();
    probe(dwell_enter, kP, slot);
    static const int loops[] = {kOuter, kSecond, kUnit};
    for (int i = 0; i < 3; ++i) {
        probe(dwell_loop_enter, loops[i], slot);  // the unit's row has no level
        statement();
        found[i] = g_node;
        probe(dwell_loop_leave, loops[i], slot, 1);
    }
    probe(dwell_leave, kP, slot);
}

TEST_F(ProbePaths, TheSameStatementInTheSameFrameUnderAnotherLoopIsAnotherNode) {
    CellIndex rounds[6][3];
    for (int i = 0; i < 6; ++i) {
        loops_around_a_statement(rounds[i]);
        for (int k = 0; k < 3; ++k) EXPECT_EQ(rounds[i][k], rounds[0][k]);
    }
    const CellIndex* first = rounds[0];
    EXPECT_NE(first[0], first[1]);
    EXPECT_NE(first[1], first[2]);
    EXPECT_NE(first[0], first[2]);
    EXPECT_EQ(g_slow_overhead, 0u);
    EXPECT_EQ(cell_at<Node>(cell_at<Node>(first[0])->parent)->site.offset, at_site(kOuter).offset);
    EXPECT_EQ(cell_at<Node>(cell_at<Node>(first[1])->parent)->site.offset, at_site(kSecond).offset);
    EXPECT_EQ(cell_at<Node>(cell_at<Node>(first[2])->parent)->site.offset, at_site(kP).offset);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(cell_at<Node>(first[k])->count, 6u);
    expect_at_rest();
}

TEST_F(ProbePaths, RecursionCollapsesAboveTheStatement) {
    for (int depth = 1; depth <= 5; ++depth) {
        g_rounds = depth;
        p_calls(p_again);
        EXPECT_EQ(path(), path_under(kP, "call statement"));
    }
    EXPECT_EQ(cell_at<Node>(g_node)->count, 5u);
    expect_at_rest();
}

TEST_F(ProbePaths, AProbeFrameThatIsNotReachedStillHoldsTheStatement) {
    Frames frames;  // not those of any procedure
    frames.enter(kP, 1, 16);
    volatile int rounds = 4;
    while (rounds > 0) {
        rounds = rounds - 1;
        two_without_probes();
        EXPECT_EQ(path(), path_under(kP, "statement"));
    }
    EXPECT_EQ(cell_at<Node>(g_node)->count, 4u);
    frames.leave(kP, 1);
    expect_at_rest();
}

NOINLINE void begin_in_a_frame_of_its_own(const BlockName* name) {
    begin_phase(name, 0);
    asm volatile("");
}

// Blocks have no frames, wherever they began.
TEST_F(ProbePaths, WithOnlyBlocksOpenAPathIsWholeAndCached) {
    begin_in_a_frame_of_its_own(
        block_name(SiteKind::kBlock, kNodeNamed | kNodePhase, {"phase of paths", 14}, nullptr, 0));
    volatile int rounds = 6;
    while (rounds > 0) {
        rounds = rounds - 1;
        two_without_probes();
    }
    EXPECT_EQ(g_slow_overhead, 0u);
    EXPECT_EQ(cell_at<Node>(g_node)->count, 6u);
    const std::string found = path();
    EXPECT_EQ(found.substr(0, 8), "program ");
    EXPECT_GE(found.find("statement"), std::string("program call call call ").size()) << found;
    CellIndex at = g_node;
    while (at != 0 && cell_at<Node>(at)->site.kind != SiteKind::kBlock) {
        at = cell_at<Node>(at)->parent;
    }
    EXPECT_NE(at, 0u);
    end_phase();
    expect_at_rest();
}

NOINLINE void left_by_longjmp() {
    Frames<512> frames;
    frames.enter(kQ, 511, 32);  // deeper than the statement that follows
}

TEST_F(ProbePaths, AStatementDropsFramesThatAreGone) {
    p_calls([] {
        left_by_longjmp();
        without_probes();
    });
    EXPECT_EQ(path().substr(0, 7), path_under(kP, "call "));
    std::vector<const Node*> dropped;
    for (const Node* node : all_below(root())) {
        if (part(node).abandoned != 0 && node->site.kind == SiteKind::kProcedure) {
            dropped.push_back(node);
        }
    }
    ASSERT_EQ(dropped.size(), 1u);
    EXPECT_EQ(dropped[0]->site.offset, at_site(kQ).offset);
    expect_at_rest();
}

TEST_F(ProbePaths, EntriesOfAnotherStackHoldNoStatementOfThisOne) {
    std::vector<char> memory(1 << 16);
    static uint64_t* slot;
    slot = reinterpret_cast<uint64_t*>(&memory[32768]);
    *slot = code(48);
    p_calls([] {
        probe(dwell_enter, kQ, slot);  // a coroutine, which hands back with Q open
        statement();
        asm volatile("");
    });
    EXPECT_EQ(path().substr(0, 7), path_under(kP, "call "));
    p_calls([] {
        statement();
        probe(dwell_leave, kQ, slot);
    });
    EXPECT_EQ(path().substr(0, 7), path_under(kP, "call "));
    expect_at_rest();
}

TEST_F(ProbePaths, ThreadsWithoutProbesAreAsBefore) {
    volatile int rounds = 6;
    while (rounds > 0) {
        rounds = rounds - 1;
        two_without_probes();
    }
    EXPECT_EQ(path().substr(0, 8), "program ");
    EXPECT_EQ(cell_at<Node>(g_node)->count, 6u);
    EXPECT_EQ(record().probe_stack, 0u);
}

TEST_F(ProbePaths, StatementsAreInTheTimeOfTheirProcedure) {
    p_calls(two_without_probes);
    p_calls([] {
        for (int i = 0; i < 100; ++i) two_without_probes();
    });
    uint64_t statements = 0;
    uint64_t procedures = 0;
    for (const Node* node : all_below(root())) {
        if (node->site.kind == SiteKind::kCommunication) statements += node->ticks;
        if (node->site.kind == SiteKind::kProcedure) procedures += node->ticks;
    }
    EXPECT_GT(statements, 0u);
    EXPECT_GE(procedures, statements);
    expect_at_rest();
}

}  // namespace
}  // namespace dwell
