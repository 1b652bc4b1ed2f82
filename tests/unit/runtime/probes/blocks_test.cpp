// Blocks, markers and phases as used by dwell.h and Kokkos. Counts and places are arithmetic; times
// are only compared with bounds that hold on any machine.
#include "runtime/probes/blocks.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/probes/probe_control.h"
#include "runtime/process/time_axis.h"
#include "tests/unit/runtime/probes/blocks_harness.h"

namespace dwell {
namespace {

TEST_F(Blocks, NestCountAndHoldVolume) {
    for (int i = 0; i < 10; ++i) {
        begin("nest outer");
        for (int k = 0; k < 3; ++k) {
            begin("nest inner");
            add_volume(100);
            spin(1000);
            end("nest inner");
        }
        end("nest outer");
    }
    const Node* outer = child(nullptr, "nest outer");
    ASSERT_NE(outer, nullptr);
    const Node* inner = child(outer, "nest inner");
    ASSERT_NE(inner, nullptr);
    EXPECT_EQ(outer->site.kind, SiteKind::kBlock);
    EXPECT_EQ(outer->count, 10u);
    EXPECT_EQ(inner->count, 30u);
    EXPECT_EQ(part_of(inner)->volume, 3000u);
    EXPECT_GE(inner->ticks, 30u * 900);  // the cost of each pair is subtracted
    EXPECT_GE(outer->ticks, inner->ticks);
    EXPECT_LE(inner->min_ticks, inner->max_ticks);
    EXPECT_EQ(outer->site.open, 0u);
}

TEST_F(Blocks, TheSameNameAtAnotherPlaceIsAnotherBlock) {
    begin_block(block("place", "a.c", 10));
    end("place");
    begin_block(block("place", "a.c", 20));
    end("place");
    begin("place");
    end("place");
    for (const char* text : {"place\na.c:10", "place\na.c:20", "place"}) {
        const Node* node = child(nullptr, text);
        ASSERT_NE(node, nullptr) << text;
        EXPECT_EQ(node->count, 1u);
    }
    EXPECT_EQ(block("place", "a.c", 10), block("place", "a.c", 10));
}

TEST_F(Blocks, MarkersCountWithTheirVolumeOnTheirPath) {
    mark(marker("event"), 5);
    begin("marked");
    for (uint64_t i = 1; i <= 100; ++i) mark(marker("event"), i);
    end("marked");
    const Node* outside = child(nullptr, "event");
    const Node* inside = child(child(nullptr, "marked"), "event");
    ASSERT_NE(inside, nullptr);
    EXPECT_EQ(inside->site.kind, SiteKind::kMarker);
    EXPECT_EQ(outside->count, 1u);
    EXPECT_EQ(part_of(outside)->volume, 5u);
    EXPECT_EQ(inside->count, 100u);
    EXPECT_EQ(part_of(inside)->volume, 5050u);
    EXPECT_EQ(inside->ticks, 0u);
}

TEST_F(Blocks, RecursionCountsButAddsNoTime) {
    begin("recursive");
    for (int i = 0; i < 4; ++i) {
        begin("between");
        begin("recursive");
    }
    spin(50'000);
    for (int i = 0; i < 4; ++i) {
        end("recursive");
        end("between");
    }
    const uint64_t before = now_ticks();
    end("recursive");
    const Node* node = child(nullptr, "recursive");
    EXPECT_EQ(node->count, 5u);
    EXPECT_EQ(part_of(node)->untimed, 4u);
    EXPECT_EQ(child(node, "recursive"), nullptr);
    EXPECT_EQ(child(node, "between")->count, 4u);
    EXPECT_LE(child(node, "between")->ticks, node->ticks);
    EXPECT_GE(node->ticks, 45'000u);
    EXPECT_LT(node->ticks, before);
    EXPECT_EQ(node->ticks, node->max_ticks);  // one entry is timed
}

// A block ends while another that began inside it is open: the latter's time is split, it counts
// where it began, and its minimum and maximum are those of both pieces together.
TEST_F(Blocks, MayOverlap) {
    begin("first");
    spin(20'000);
    begin("second");
    spin(30'000);
    end("first");
    spin(40'000);
    end("second");
    const Node* first = child(nullptr, "first");
    const Node* within = child(first, "second");
    const Node* after = child(nullptr, "second");
    ASSERT_NE(within, nullptr);
    ASSERT_NE(after, nullptr);
    EXPECT_EQ(first->count, 1u);
    EXPECT_EQ(within->count, 1u);
    EXPECT_EQ(after->count, 0u);
    EXPECT_GE(within->ticks, 27'000u);
    EXPECT_GE(after->ticks, 36'000u);
    EXPECT_GE(within->min_ticks, 27'000u + 36'000u);
    EXPECT_EQ(within->min_ticks, within->max_ticks);
    EXPECT_EQ(within->max_ticks, within->ticks + after->ticks);
    EXPECT_GE(first->ticks, within->ticks + 18'000u);
    EXPECT_EQ(within->site.open, 0u);
}

TEST_F(Blocks, EndsWithoutBeginningDoNothing) {
    end("never begun");
    begin("begun");
    end("never begun");
    end_phase();
    end_paired();
    EXPECT_EQ(t_thread->record->probe_depth, depth_ + 1);
    end("begun");
    end("begun");
    EXPECT_EQ(child(nullptr, "begun")->count, 1u);
}

TEST_F(Blocks, PhasesKnowTheirIteration) {
    for (uint64_t step = 3; step <= 7; ++step) {
        end_phase();
        begin_phase(phase("step"), step);
        begin("work in step");
        end("work in step");
    }
    const Node* node = child(nullptr, "step");
    EXPECT_EQ(node->count, 5u);
    EXPECT_EQ(part_of(node)->first_iteration, 3u);
    EXPECT_EQ(part_of(node)->iteration, 7u);
    EXPECT_NE(node->site.flags & kNodePhase, 0);
    EXPECT_EQ(child(node, "work in step")->count, 5u);
    end_phase();
}

// Regions end without a name, sections with one, and they may overlap.
TEST_F(Blocks, PairedEndsLeaveOthersOpen) {
    begin_paired(block("region"));
    begin("section");
    end_paired();
    EXPECT_EQ(t_thread->record->probe_depth, depth_ + 1);
    end("section");
    const Node* region = child(nullptr, "region");
    EXPECT_EQ(region->count, 1u);
    EXPECT_EQ(child(region, "section")->count, 1u);
    EXPECT_EQ(child(nullptr, "section")->count, 0u);
}

class Pause {
  public:
    Pause() {
        g_page.pause_start = now_ticks();
        g_page.paused = 1;
        g_page.ticket = 0;
    }
    ~Pause() {
        g_page.resumed_ticks = now_ticks();
        g_page.paused_ticks += g_page.resumed_ticks - g_page.pause_start;
        g_page.epoch += 1;
        g_page.paused = 0;
        static uint64_t ticket = 100;
        g_page.ticket = ++ticket;
    }
};

// As MPI_Pcontrol(2): the open phase counts as begun, under its number.
TEST_F(Blocks, APhaseKeepsItsNumberAtAReset) {
    begin_phase(phase("forgotten"), 4);
    end_phase();
    begin_phase(phase("forgotten"), 5);
    g_page.resets += 1;
    { const Pause pause; }  // after which every thread checks
    begin_phase(phase("later"), 1);
    end_phase();
    const Node* node = child(nullptr, "forgotten");
    EXPECT_EQ(node->count, 1u);
    EXPECT_EQ(part_of(node)->first_iteration, 5u);
    EXPECT_EQ(part_of(node)->iteration, 5u);
    end_phase();
    begin_phase(phase("forgotten"), 6);
    end_phase();
    EXPECT_EQ(part_of(node)->first_iteration, 5u);
    EXPECT_EQ(part_of(node)->iteration, 6u);
    EXPECT_EQ(node->count, 2u);
}

TEST_F(Blocks, PausesTakeNoTimeAndKeepBlocksPaired) {
    begin("around");
    begin("ends in pause");
    spin(10'000);
    {
        const Pause pause;
        spin(300'000'000);
        end("ends in pause");
        begin("begins in pause");
        begin("around");
        end("around");  // the inner one
        mark(marker("in pause"), 1);
        add_volume(1);
    }
    const Node* around = child(nullptr, "around");
    EXPECT_EQ(around->site.open, 1u);
    end("begins in pause");
    end("around");
    EXPECT_EQ(around->count, 1u);
    EXPECT_EQ(child(around, "ends in pause")->count, 1u);
    EXPECT_GE(child(around, "ends in pause")->ticks, 9'000u);
    EXPECT_GE(around->ticks, child(around, "ends in pause")->ticks);
    // Half of the pause's ticks are tolerance for a busy machine.
    EXPECT_LT(around->ticks, 150'000'000u);
    EXPECT_EQ(child(around, "begins in pause"), nullptr);
    EXPECT_EQ(child(around, "around"), nullptr);
    EXPECT_EQ(child(around, "in pause"), nullptr);
}

// The time axis, too: a phase that ends in a pause ended with the recording.
TEST_F(Blocks, PausesAreNoComputationOfAPhase) {
    constexpr uint64_t kPause = 300'000'000;
    FileHeader* const header = g_process.header;
    const uint64_t rate = header->ticks_per_second;
    header->ticks_per_second = 1'000'000'000;
    begin("other");  // so that the thread has seen all changes before
    end("other");
    TimeAxis& axis = t_thread->record->axis;
    axis = TimeAxis{};
    begin_axis(t_thread, axis_ticks(t_thread, now_ticks()));
    ASSERT_NE(axis.bins, 0u);
    begin_phase(phase("ends in a pause"), 1);
    {
        const Pause pause;
        spin(kPause);
        end_phase();
    }
    begin("other");
    end("other");
    const uint64_t now = axis_ticks(t_thread, now_ticks());
    compute_until(t_thread, now);
    // Half of the pause is tolerance for a busy machine.
    EXPECT_LT(axis.computed_ticks, kPause / 2);
    EXPECT_LE(axis.from, now);
    header->ticks_per_second = rate;
}

TEST_F(Blocks, EnablingProfileSwitchesThemOffOrToCounting) {
    char path[] = "/tmp/dwell-unit-XXXXXX";
    const int file = mkstemp(path);
    const char text[] =
        "off block name=unwanted\ncount block name=counted\noff marker name=silent\n";
    ASSERT_EQ(write(file, text, sizeof(text) - 1), static_cast<ssize_t>(sizeof(text) - 1));
    close(file);
    ASSERT_TRUE(read_enabling_profile(path));
    unlink(path);
    for (int i = 0; i < 5; ++i) {
        begin("wanted");
        begin("unwanted");
        begin("counted");
        begin("wanted below");
        end("wanted below");
        mark(marker("silent"), 1);
        end("counted");
        end("unwanted");
        end("wanted");
    }
    const Node* wanted = child(nullptr, "wanted");
    EXPECT_EQ(wanted->count, 5u);
    EXPECT_EQ(child(wanted, "unwanted"), nullptr);
    EXPECT_EQ(child(wanted, "silent"), nullptr);
    ASSERT_NE(child(wanted, "counted"), nullptr);
    EXPECT_EQ(child(wanted, "counted")->count, 5u);
    EXPECT_EQ(part_of(child(wanted, "counted"))->counted, 5u);
    EXPECT_EQ(child(wanted, "counted")->ticks, 0u);
    EXPECT_EQ(child(wanted, "wanted below")->count, 5u);
}

TEST_F(Blocks, NamesAreCleaned) {
    const std::string longest(5000, 'x');
    begin(longest.c_str());
    end(longest.c_str());
    begin("two\nlines");
    end("two\nlines");
    begin("");
    end("");
    begin_block(block_name(SiteKind::kBlock, kNodeNamed, {nullptr, 0}, nullptr, 0));
    end_block(GivenName{nullptr, 0});
    EXPECT_EQ(child(nullptr, std::string(1000, 'x'))->count, 1u);
    EXPECT_EQ(child(nullptr, "two")->count, 1u);
    EXPECT_EQ(child(nullptr, "(no name)")->count, 2u);
}

TEST_F(Blocks, ThreadsHaveTheirOwn) {
    constexpr int kThreads = 8;
    std::vector<std::thread> threads;
    std::vector<CellIndex> roots(kThreads);
    std::vector<uint64_t> counts(kThreads);
    std::atomic<int> running{0};
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            attach_thread();
            running += 1;
            while (running != kThreads) std::this_thread::yield();
            const std::string own = "of thread " + std::to_string(t);
            for (int i = 0; i < 500; ++i) {
                begin("shared");
                begin(own.c_str());
                end(own.c_str());
                end("shared");
            }
            const Node* shared = child(nullptr, "shared");
            counts[static_cast<size_t>(t)] = shared->count + child(shared, own)->count;
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const uint64_t count : counts) EXPECT_EQ(count, 1000u);
}

// The last: no name can be added after it.
TEST_F(Blocks, ManyNamesAreKeptUpToTheirLimitThenCounted) {
    const uint64_t dropped = t_thread->record->probes_dropped;
    uint64_t kept = 0;
    for (int i = 0; i < 6000; ++i) {
        const std::string name = "name " + std::to_string(i);
        begin(name.c_str());
        end(name.c_str());
        const Node* node = child(nullptr, name);
        if (node == nullptr) continue;
        EXPECT_EQ(node->count, 1u);
        ++kept;
    }
    EXPECT_GT(kept, 3500u);  // the other tests of this process have some
    EXPECT_LE(kept, 4096u);
    EXPECT_EQ(t_thread->record->probes_dropped - dropped, 6000 - kept);
    EXPECT_NE(g_process.header->flags & kFileNamesFull, 0u);
}

}  // namespace
}  // namespace dwell
