// Counts at blocks and calls, from a source controlled by the tests: every number is arithmetic. A
// reading itself counts kReading, which must be subtracted.
#include "runtime/measure/metrics.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "runtime/probes/blocks.h"
#include "runtime/sampling/sampling.h"
#include "tests/unit/support/observed_process.h"

namespace dwell {
namespace {

constexpr uint64_t kReading = 3;
constexpr int kSets = 64;

uint64_t g_counted[kSets][2];  // of each set
int g_opened = 0;
int g_closed = 0;
bool g_fails = false;

int g_open_error = 0;

void* open_set() {
    if (g_open_error != 0) {
        errno = g_open_error;
        return nullptr;
    }
    return &g_counted[g_opened++ % kSets];
}
bool read_set(void* set, uint64_t* values) {
    if (g_fails) return false;
    auto* counted = static_cast<uint64_t*>(set);
    for (int i = 0; i < 2; ++i) values[i] = counted[i] += kReading;
    return true;
}
void close_set(void*) { ++g_closed; }
const CounterSource kSource{2, open_set, read_set, close_set};

class Metrics : public ObservedProcess {
  protected:
    static void SetUpTestSuite() {
        g_process.options.callpath_depth = 1;
        ObservedProcess::SetUpTestSuite();
        g_process.header->ticks_per_second = 1'000'000'000;
    }
    void SetUp() override {
        ObservedProcess::SetUp();
        g_fails = false;
        set_ = g_opened % kSets;
        use_counters(t_thread, &kSource, "A\nB");
        ASSERT_TRUE(metrics_on());
        g_process.metric_least_ticks = 0;  // all nodes are long enough
        before_ = sum();
    }
    void TearDown() override {
        end_metrics(t_thread);
        forget_counters();
        stop_sampling(t_thread);
        g_page.ticket += 1;  // cached children were for metrics
        EXPECT_EQ(t_thread->record->probe_depth, 0u);
    }

    // The program counts.
    void count(uint64_t a, uint64_t b = 0) const {
        g_counted[set_][0] += a;
        g_counted[set_][1] += b;
    }
    static BlockName* block(const std::string& text) {
        return block_name(SiteKind::kBlock, kNodeNamed, {text.data(), text.size()}, nullptr, 0);
    }
    static MetricPart counts(CellIndex node) {
        for (CellIndex at = t_thread->record->first_metric; at != 0;) {
            const auto* part = cell_at<MetricPart>(at);
            if (part->node == node) return *part;
            at = part->next;
        }
        return MetricPart{};
    }
    // Sum over all nodes with that name.
    static MetricPart counts(const BlockName* name) {
        MetricPart all{};
        for (CellIndex at = t_thread->record->first_metric; at != 0;) {
            const auto* part = cell_at<MetricPart>(at);
            at = part->next;
            const Site& site = cell_at<Node>(part->node)->site;
            if (site.kind != SiteKind::kBlock || site.offset != name->cell) continue;
            all.entries += part->entries;
            all.values[0] += part->values[0];
            all.values[1] += part->values[1];
        }
        return all;
    }
    static uint64_t left_out() { return counts(t_thread->record->root).left_out; }
    static uint64_t sum() {
        uint64_t all = 0;
        for (CellIndex at = t_thread->record->first_metric; at != 0;) {
            const auto* part = cell_at<MetricPart>(at);
            all += part->values[0];
            at = part->next;
        }
        return all;
    }
    uint64_t sum_since() const { return sum() - before_; }

    bool begin(Call* call, uint64_t place) {
        frame_ = Frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + place};
        if (!enter(call, MpiCall::kSend, &frame_, kMpiForm)) return false;
        start(call);
        return true;
    }
    static void end(Call* call) {
        stop(call);
        record_event(call, kSendReady);
        leave(call);
    }

    alignas(4096) static constexpr char kCode[4096] = {};  // stands for the program's code
    Frame frame_{};
    int set_ = 0;
    uint64_t before_ = 0;
};

TEST_F(Metrics, EachCountIsInOneNode) {
    BlockName* outer = block("outer");
    BlockName* inner = block("inner");
    for (int round = 1; round <= 3; ++round) {
        begin_block(outer);
        count(5, 50);
        begin_block(inner);
        count(7);
        end_block(inner);
        count(2);
        end_block(outer);
        EXPECT_EQ(counts(outer).values[0], 7u * static_cast<unsigned>(round));
        EXPECT_EQ(counts(outer).values[1], 50u * static_cast<unsigned>(round));
        EXPECT_EQ(counts(inner).values[0], 7u * static_cast<unsigned>(round));
        EXPECT_EQ(counts(inner).entries, static_cast<uint64_t>(round));
    }
    EXPECT_EQ(sum_since(), 3u * 14);
}

TEST_F(Metrics, ShortNodesCountForTheNodeAround) {
    BlockName* around = block("around");
    BlockName* brief = block("brief");
    g_process.metric_least_ticks = uint64_t{1} << 40;
    begin_block(around);
    for (int i = 0; i < 10; ++i) {
        begin_block(brief);
        count(1);
        end_block(brief);
    }
    end_block(around);
    EXPECT_EQ(counts(brief).entries, kFirstReads);
    EXPECT_EQ(counts(brief).values[0], kFirstReads);
    EXPECT_EQ(counts(around).values[0], 10 - kFirstReads);
    // It now lasts long enough: the next entry is read.
    g_process.metric_least_ticks = 1;
    begin_block(around);
    begin_block(brief);
    count(20);
    end_block(brief);
    end_block(around);
    EXPECT_EQ(counts(brief).entries, kFirstReads + 1);
    EXPECT_EQ(counts(brief).values[0], kFirstReads + 20);
}

// So many nodes that four readings of each would exceed 1 % of the time: skipped counts belong to
// the node around.
TEST_F(Metrics, FirstReadingsAreBounded) {
    constexpr uint64_t kMore = 100;
    g_process.metric_least_ticks = uint64_t{1} << 40;
    BlockName* around = block("bounded");
    uint64_t read = 0;
    begin_block(around);
    for (uint64_t i = 0; i < kFreeReads + kMore; ++i) {
        BlockName* name = block("bounded " + std::to_string(i));
        begin_block(name);
        count(1);
        end_block(name);
        read += counts(name).entries;
    }
    end_block(around);
    EXPECT_EQ(read, kFreeReads - 1);
    EXPECT_EQ(counts(around).values[0], kMore + 1);
    EXPECT_EQ(sum_since(), kFreeReads + kMore);
    EXPECT_EQ(left_out(), kMore + 1);
    // Time has passed: more may be read.
    g_process.metric_least_ticks = 1;
    BlockName* later = block("bounded later");
    begin_block(later);
    end_block(later);
    EXPECT_EQ(counts(later).entries, 1u);
    EXPECT_EQ(left_out(), kMore + 1);
    reset_metrics(t_thread);
    EXPECT_EQ(left_out(), 0u);
}

// Nested blocks that all last long enough: a pair of readings takes a hundredth of a node's least
// duration, so there may be at most one pair in each such time.
TEST_F(Metrics, NodesInEachOtherShareTheLimit) {
    constexpr uint64_t kDepth = 10;
    constexpr uint64_t kRounds = 1000;
    constexpr uint64_t kLeast = 20'000;  // ticks
    g_process.metric_least_ticks = kLeast;
    const uint64_t start = now_ticks();
    reset_metrics(t_thread);
    BlockName* names[kDepth];
    for (uint64_t i = 0; i < kDepth; ++i) names[i] = block("chain " + std::to_string(i));
    for (uint64_t round = 0; round < kRounds; ++round) {
        for (BlockName* name : names) begin_block(name);
        count(1);
        const uint64_t begin = now_ticks();
        while (now_ticks() - begin < kLeast * 3 / 2) {
        }
        for (uint64_t i = kDepth; i-- > 0;) end_block(names[i]);
    }
    uint64_t entries = 0;
    for (BlockName* name : names) entries += counts(name).entries;
    EXPECT_LE(entries, kFreeReads + (now_ticks() - start) / kLeast);
    EXPECT_GE(entries, kFreeReads);
    EXPECT_EQ(entries + left_out(), kDepth * kRounds);
    EXPECT_EQ(sum(), kRounds);
}

TEST_F(Metrics, ManyNodesAreFound) {
    constexpr uint64_t kNames = 100;  // each in each: 10 000 nodes
    for (int round = 0; round < 2; ++round) {
        for (uint64_t i = 0; i < kNames; ++i) {
            BlockName* outer = block("outer " + std::to_string(i));
            begin_block(outer);
            for (uint64_t j = 0; j < kNames; ++j) {
                BlockName* inner = block("inner " + std::to_string(j));
                begin_block(inner);
                count(j);
                end_block(inner);
            }
            end_block(outer);
        }
    }
    EXPECT_EQ(counts(block("outer 99")).entries, 2u);
    EXPECT_EQ(counts(block("inner 99")).entries, 2 * kNames);
    EXPECT_EQ(counts(block("inner 99")).values[0], 2 * kNames * 99);
    EXPECT_EQ(sum_since(), 2 * kNames * (kNames * (kNames - 1) / 2));
}

TEST_F(Metrics, ReadingIsOverhead) {
    BlockName* name = block("intrusion");
    const uint64_t before = t_thread->slow_overhead;
    begin_block(name);
    end_block(name);
    EXPECT_GT(t_thread->slow_overhead, before);
}

TEST_F(Metrics, RecursionCountsOnce) {
    BlockName* name = block("recursive");
    begin_block(name);
    count(1);
    begin_block(name);
    count(10);
    begin_block(name);
    count(100);
    end_block(name);
    end_block(name);
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 111u);
    EXPECT_EQ(counts(name).entries, 1u);
    EXPECT_EQ(sum_since(), 111u);
}

TEST_F(Metrics, LeavingOutOfOrderLosesNothing) {
    BlockName* outer = block("first out");
    BlockName* inner = block("last out");
    begin_block(outer);
    count(1);
    begin_block(inner);
    count(10);
    end_block(outer);  // the inner one continues in the node around
    count(100);
    end_block(inner);
    EXPECT_EQ(counts(outer).values[0], 1u);
    EXPECT_EQ(counts(inner).values[0], 110u);
    EXPECT_EQ(counts(inner).entries, 1u);
    EXPECT_EQ(sum_since(), 111u);
}

TEST_F(Metrics, CallsAndTheComputationBetweenThem) {
    Call call;
    CellIndex of_call = 0;
    for (int i = 0; i < 2; ++i) {
        count(11);
        ASSERT_TRUE(begin(&call, 16));
        of_call = call.index;
        count(4);
        end(&call);
    }
    EXPECT_EQ(counts(of_call).entries, 2u);
    EXPECT_EQ(counts(of_call).values[0], 8u);
    uint64_t before = 0;
    for (CellIndex at = cell_at<Node>(of_call)->first_child; at != 0;
         at = cell_at<Node>(at)->next_sibling) {
        before += counts(at).values[0];
    }
    EXPECT_EQ(before, 22u);
    EXPECT_EQ(sum_since(), 30u);
}

TEST_F(Metrics, ShortCallsAreNotRead) {
    g_process.metric_least_ticks = uint64_t{1} << 40;
    Call call;
    CellIndex of_call = 0;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(begin(&call, 32));
        of_call = call.index;
        count(1);
        end(&call);
    }
    EXPECT_EQ(counts(of_call).entries, kFirstReads);
    EXPECT_EQ(counts(of_call).values[0], kFirstReads);
}

TEST_F(Metrics, CallsInBlocks) {
    BlockName* name = block("with calls");
    Call call;
    begin_block(name);
    count(1);
    ASSERT_TRUE(begin(&call, 48));
    count(10);
    end(&call);
    count(100);
    end_block(name);
    EXPECT_EQ(counts(call.index).values[0], 10u);
    EXPECT_EQ(counts(name).values[0], 101u);
}

TEST_F(Metrics, NothingInAPause) {
    BlockName* name = block("paused");
    begin_block(name);
    count(1);
    pause_metrics(t_thread);
    g_page.pause_start = now_ticks();
    g_page.paused = 1;
    g_page.ticket = 0;
    count(10);
    g_page.paused_ticks += now_ticks() - g_page.pause_start;
    g_page.epoch += 1;
    g_page.paused = 0;
    g_page.ticket = 5000;
    resume_metrics(t_thread);
    count(100);
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 101u);
    EXPECT_EQ(counts(name).entries, 1u);
}

TEST_F(Metrics, APauseByAnotherThreadIsNoticed) {
    BlockName* name = block("paused by another");
    begin_block(name);
    count(1);
    g_page.paused_ticks += 1000;  // not noticed by this thread yet
    count(10);
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 0u);  // the part in the pause is unknown
    EXPECT_EQ(counts(name).entries, 1u);
}

TEST_F(Metrics, ClearedAtAReset) {
    BlockName* name = block("reset");
    begin_block(name);
    count(1);
    reset_metrics(t_thread);
    count(10);
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 10u);
    EXPECT_EQ(counts(name).entries, 1u);
}

TEST_F(Metrics, ACounterThatFallsCountsNothing) {
    BlockName* name = block("falls");
    begin_block(name);
    g_counted[set_][0] -= 1000;
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 0u);
}

TEST_F(Metrics, DwellsOwnWorkDoesNotCount) {
    BlockName* name = block("own work");
    begin_block(name);
    count(1);
    {
        const OwnCounts own(t_thread);
        count(500);
    }
    count(10);
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 11u + kReading);  // the reading at its start
}

TEST_F(Metrics, ASourceThatFailsIsNotAskedAgain) {
    BlockName* name = block("fails");
    const uint32_t lost = g_process.header->metrics_lost;
    const int closed = g_closed;
    begin_block(name);
    count(1);
    g_fails = true;
    end_block(name);
    g_fails = false;
    begin_block(name);
    count(10);
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 0u);
    const Node* node = cell_at<Node>(cell_at<Node>(t_thread->record->root)->first_child);
    EXPECT_NE(node, nullptr);  // times go on
    // It is reported once, and the rest of the set is closed at the end.
    EXPECT_EQ(g_process.header->metrics_lost, lost + 1);
    EXPECT_NE(g_process.header->metrics_lost_ticks, 0u);
    EXPECT_EQ(g_closed, closed);
    end_metrics(t_thread);
    EXPECT_EQ(g_closed, closed + 1);
}

TEST_F(Metrics, ThreadsWithoutDescriptorsAreCounted) {
    FileHeader* header = g_process.header;
    const uint32_t unwatched = header->metrics_unwatched;
    for (const int error : {EMFILE, ENOMEM}) {
        g_open_error = error;
        std::thread([] {
            begin_block(block("not counted"));
            end_block(block("not counted"));
        }).join();
    }
    g_open_error = 0;
    EXPECT_EQ(header->metrics_no_room, 1u);
    EXPECT_EQ(header->metrics_unwatched, unwatched + 1);
}

TEST_F(Metrics, ThreadsHaveTheirOwn) {
    BlockName* name = block("of a thread");
    const int set = g_opened % kSets;
    const int closed = g_closed;
    begin_block(name);
    count(1);
    std::thread([&] {
        begin_block(name);
        g_counted[set][0] += 1000;
        end_block(name);
        EXPECT_EQ(counts(name).values[0], 1000u);
    }).join();
    end_block(name);
    EXPECT_EQ(counts(name).values[0], 1u);
    EXPECT_EQ(g_closed, closed + 1);
}

}  // namespace
}  // namespace dwell
