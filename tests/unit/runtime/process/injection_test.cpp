// DWELL_INJECT_NS: accepted values, and that every delay is measured and counts as overhead.
#include "runtime/process/injection.h"

#include "runtime/calls/polls.h"
#include "runtime/probes/blocks.h"
#include "runtime/wrappers/mpi_semantics.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

constexpr uint64_t kDelay = 20'000;  // ticks, some microseconds

uint32_t delay_of(const char* text, int rank) {
    uint32_t ns = 12345;
    return injection_for(text, rank, &ns) ? ns : UINT32_MAX;
}

TEST(InjectionText, OneNumberIsForAllRanks) {
    EXPECT_EQ(delay_of("300", 0), 300u);
    EXPECT_EQ(delay_of("300", 7), 300u);
    EXPECT_EQ(delay_of("0", 7), 0u);
    EXPECT_EQ(delay_of("1000000000", 7), 1'000'000'000u);
}

TEST(InjectionText, PairsAreForTheirRanks) {
    EXPECT_EQ(delay_of("1:300", 0), 0u);
    EXPECT_EQ(delay_of("1:300", 1), 300u);
    EXPECT_EQ(delay_of("0:5,2:70,11:900", 0), 5u);
    EXPECT_EQ(delay_of("0:5,2:70,11:900", 1), 0u);
    EXPECT_EQ(delay_of("0:5,2:70,11:900", 2), 70u);
    EXPECT_EQ(delay_of("0:5,2:70,11:900", 11), 900u);
}

TEST(InjectionText, MayListRanksBeyondTheJob) {
    EXPECT_EQ(highest_injected("9:3000"), 9);
    EXPECT_EQ(highest_injected("1:5,11:900,2:70"), 11);
    EXPECT_EQ(highest_injected("0:5"), 0);
    EXPECT_EQ(highest_injected("3000"), -1);
    EXPECT_EQ(highest_injected(""), -1);
}

TEST(InjectionText, AnythingElseIsRefused) {
    for (const char* bad :
         {"",   "x",  "-1",       "+1",   "1.5",   "3ns",   "1000000001", "99999999999999999999",
          "1:", ":1", "1:2,",     ",1:2", "1:2:3", "1:2,3", "1:-2",       "16777216:1",
          " 1", "1 ", "1:2, 3:4", "all:5"}) {
        EXPECT_EQ(delay_of(bad, 0), UINT32_MAX) << bad;
    }
}

// Delayed from the second call on, when all paths are known.
class Injected : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        g_process.header->ticks_per_second = 1'000'000'000;
    }
    void TearDown() override {
        g_process.inject_ticks = 0;
        Records::TearDown();
    }
    void switch_on() {
        strcpy(g_process.options.inject, "20000");
        ASSERT_TRUE(set_injection(0));
        ASSERT_EQ(g_process.inject_ticks, kDelay);
        live_.epoch += 1;
        live_.ticket += 1;
    }
    // A call that begins 500 virtual ticks after the last one; returns the slow overhead since
    // then.
    uint64_t call_after_500() {
        Call call;
        EXPECT_TRUE(begin(&call, MpiCall::kSend, 16));
        const uint64_t slow = t_thread->slow_overhead;
        const uint64_t from = t_thread->last_ticks + slow + g_process.call_cost_ticks + 500;
        end(&call, from, from + 25);
        return slow;
    }
};

TEST_F(Injected, DelayOfEveryRecordedCallIsOverhead) {
    call_after_500();
    call_after_500();  // its own predecessor: an interval of its own
    forget();
    switch_on();
    uint64_t slow = 0;
    for (int i = 0; i < 5; ++i) {
        const uint64_t before = now_ticks();
        const uint64_t overhead = call_after_500();
        EXPECT_GE(overhead, kDelay);
        EXPECT_GE(now_ticks() - before, kDelay);
        slow += overhead;
    }
    const ThreadRecord& record = *t_thread->record;
    EXPECT_GE(record.injected_ticks, 5 * kDelay);
    EXPECT_LE(record.injected_ticks, slow);
    EXPECT_EQ(record.intrusion_ticks, slow + 5 * g_process.call_cost_ticks);
    const Node* node = node_at(16);
    EXPECT_EQ(node->ticks, 5u * 25);
    uint64_t computed = 0;
    for (CellIndex at = node->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        computed += cell_at<Node>(at)->ticks;
    }
    EXPECT_EQ(computed, 5u * 500);
}

TEST_F(Injected, OffAgainNothingIsDelayed) {
    call_after_500();
    switch_on();
    call_after_500();
    strcpy(g_process.options.inject, "1:20000");
    EXPECT_TRUE(set_injection(0));
    EXPECT_EQ(g_process.inject_ticks, 0u);
    const uint64_t injected = t_thread->record->injected_ticks;
    call_after_500();
    call_after_500();
    EXPECT_EQ(t_thread->record->injected_ticks, injected);
    EXPECT_EQ(t_thread->epoch, live_.epoch);
}

TEST_F(Injected, ACallInsideACallIsNotDelayed) {
    call_after_500();
    switch_on();
    Call outer;
    ASSERT_TRUE(begin(&outer, MpiCall::kSend, 16));
    const uint64_t injected = t_thread->record->injected_ticks;
    Call inner;
    const auto* deeper = reinterpret_cast<const Frame*>(reinterpret_cast<uintptr_t>(&outer) - 256);
    EXPECT_FALSE(enter(&inner, MpiCall::kRecv, deeper, kMpiForm));
    EXPECT_EQ(t_thread->record->injected_ticks, injected);
    end(&outer, 1'000'000'000, 1'000'000'100);
}

TEST_F(Injected, BlocksAndMarkersAreDelayedOutsideTheirTime) {
    live_.ticket = 1;
    BlockName* block = block_name(SiteKind::kBlock, 0, {"work", 4}, nullptr, 0);
    BlockName* marker = block_name(SiteKind::kMarker, 0, {"here", 4}, nullptr, 0);
    switch_on();
    for (int i = 0; i < 3; ++i) {
        const uint64_t slow = t_thread->slow_overhead;
        const uint64_t begin_ticks = now_ticks();
        begin_block(block);
        mark(marker, 1);
        end_block(block);
        const uint64_t elapsed = now_ticks() - begin_ticks;
        EXPECT_GE(t_thread->slow_overhead - slow, 3 * kDelay);
        EXPECT_LE(t_thread->slow_overhead - slow, elapsed);
    }
    EXPECT_GE(t_thread->record->injected_ticks, 9 * kDelay);
    // None of the nine delays is in the block's time, which would be longer with them.
    const Node* node = nullptr;
    for (CellIndex at = cell_at<Node>(t_thread->record->root)->first_child; at != 0;
         at = cell_at<Node>(at)->next_sibling) {
        if (cell_at<Node>(at)->site.kind == SiteKind::kBlock) node = cell_at<Node>(at);
    }
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 3u);
    EXPECT_LT(node->min_ticks, kDelay);
}

}  // namespace
}  // namespace dwell
