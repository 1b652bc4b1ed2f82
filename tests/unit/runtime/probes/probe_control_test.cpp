// Control of probe overhead: levels set by the user, expensive sites, modules that are loaded and
// unloaded, and the calibration. Loops run until the expected event has happened, however busy the
// machine is.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>
#include <utility>

#include "runtime/calls/records.h"
#include "summarize/merge/merged.h"
#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kPatience_ns = 60'000'000'000;
constexpr uint64_t kShort = 300;     // ticks of the short procedure
constexpr uint64_t kLong = 400'000;  // ticks of the long procedure

class ProbeControl : public Probes {
  protected:
    void SetUp() override {
        Probes::SetUp();
        g_process.probe_cost_ticks = 60;
        g_process.probe_inner_ticks = 30;
        g_process.probe_count_ticks = 20;
        g_process.options.probe_limit = 10;  // one percent
        start_control(t_thread);
    }
    static int level(int site) { return __atomic_load_n(&g_table.levels[site], __ATOMIC_RELAXED); }
    // Calls the short procedure from the long one until `done`. False: time limit exceeded.
    template <typename Done>
    bool run_until(Done done) {
        Frames frames;
        const uint64_t begin = monotonic_ns();
        while (monotonic_ns() - begin < kPatience_ns) {
            frames.enter(kQ, 1, 16);
            const uint64_t start = now_ticks();
            while (now_ticks() - start < kLong && !done()) call_short(&frames);
            frames.leave(kQ, 1);
            if (done()) return true;
        }
        return false;
    }
    void call_short(Frames<>* frames) {
        frames->enter(kP, 2, 32);
        spin(kShort);
        frames->leave(kP, 2);
        calls_ += 1;
    }

    uint64_t calls_ = 0;
};

TEST_F(ProbeControl, AShortFrequentSiteStepsDownAndTheLongOneAroundItStays) {
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelCount; }));
    const uint64_t when_counted = calls_;
    EXPECT_EQ(level(kQ), kLevelFull);
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelOff; }));
    EXPECT_EQ(level(kQ), kLevelFull);
    const Node* p = find({from(16), at_site(kQ), from(32), at_site(kP)});
    ASSERT_NE(p, nullptr);
    EXPECT_GT(part(p).counted, 0u);
    EXPECT_LE(part(p).counted, calls_ - when_counted + 1);
    EXPECT_LE(p->count, calls_);
    EXPECT_GE(p->count + 2, calls_);  // the last may have been skipped
}

// Readers must see that entries are missing, even if no trial ever counts one.
TEST_F(ProbeControl, ASiteThatGoesOffIsRecordedOnceWithTheLoopsEntered) {
    const auto recorded = [] {
        std::multiset<std::pair<SiteKind, uint64_t>> sites;
        for (CellIndex at = g_process.header->first_off_site; at != 0;) {
            const auto* off = cell_at<OffSite>(at);
            sites.emplace(off->site.kind, off->site.offset);
            at = off->next;
        }
        return sites;
    };
    Frames frames;
    frames.enter(kQ, 1, 16);
    frames.enter(kP, 2, 32);
    frames.loop_enter(kOuter, 2);
    frames.loop_enter(kInner, 2);
    frames.loop_leave(kInner, 2, 7);
    frames.loop_leave(kOuter, 2, 3);
    frames.leave(kP, 2);
    frames.leave(kQ, 1);
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelCount; }));
    EXPECT_TRUE(recorded().empty()) << "counted exactly";
    const Site site = find({from(16), at_site(kQ), from(32), at_site(kP)})->site;
    const auto with_loops = [&] {
        std::multiset<std::pair<SiteKind, uint64_t>> sites{{site.kind, site.offset}};
        for (const TestSite loop : {kOuter, kInner}) {
            sites.emplace(SiteKind::kLoop, site.offset + (loop - kP) * sizeof(SiteRow));
        }
        return sites;
    }();
    for (int times = 0; times < 2; ++times) {
        ASSERT_TRUE(run_until([] { return level(kP) == kLevelOff; }));
        EXPECT_EQ(recorded(), with_loops);
        EXPECT_EQ(level(kSecond), kLevelCount) << "costs nothing";
        switch_sites(false);
        switch_sites(true);
    }
}

// P's loops are reduced with it, and still counted below it, although it is not open: in the node
// of the statement that called it.
TEST_F(ProbeControl, LoopsAreReducedWithTheirProcedure) {
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelCount; }));
    for (const TestSite loop : {kOuter, kInner, kSecond}) EXPECT_EQ(level(loop), kLevelCount);
    EXPECT_EQ(level(kQLoop), kLevelFull);
    Frames frames;
    constexpr int kTimes = 10;
    const uint64_t before = find({from(16), at_site(kQ), from(32), at_site(kP)})->count;
    frames.enter(kQ, 1, 16);
    for (int i = 0; i < 2 * kTimes; ++i) {
        frames.enter(kP, 2, i % 2 == 0 ? 32 : 48);
        frames.loop_enter(kOuter, 2);
        for (int j = 0; j < 3; ++j) {
            frames.loop_enter(kInner, 2);
            frames.loop_leave(kInner, 2, 7);
        }
        frames.loop_leave(kOuter, 2, 3);
        frames.leave(kP, 2);
    }
    frames.leave(kQ, 1);
    const Node* q = find({from(16), at_site(kQ)});
    ASSERT_EQ(children(q).size(), 2u) << "two statements, no loops";
    for (const uint64_t place : {32, 48}) {
        const Node* p = find_from(q, {from(place), at_site(kP)});
        EXPECT_EQ(p->count, kTimes + (place == 32 ? before : 0));
        const Node* outer = find_from(p, {at_site(kOuter)});
        ASSERT_NE(outer, nullptr);
        EXPECT_EQ(outer->count, uint64_t{kTimes});
        EXPECT_EQ(find_from(outer, {at_site(kInner)})->count, uint64_t{3 * kTimes});
        EXPECT_EQ(children(p).size(), 1u);
    }
    expect_at_rest();
}

// It is timed again after its rest when there is credit, not before 2 ms have passed.
TEST_F(ProbeControl, AReducedSiteIsTimedAgainLater) {
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelCount; }));
    const uint64_t counted_ns = monotonic_ns();
    Frames frames;
    while (level(kP) != kLevelFull && monotonic_ns() - counted_ns < kPatience_ns) {
        frames.enter(kQ, 1, 16);
        spin(kLong);
        frames.leave(kQ, 1);
    }
    EXPECT_EQ(level(kP), kLevelFull);
    EXPECT_GE(monotonic_ns() - counted_ns, 1'980'000u);
}

// Q ends the gaps, so that P, which it calls every other time, is counted in some trials.
TEST_F(ProbeControl, TrialsEstimateMissedEntries) {
    const Node* p = nullptr;
    Totals totals{};
    const uint64_t begin = monotonic_ns();
    Frames frames;
    for (int turn = 0; monotonic_ns() - begin < kPatience_ns; ++turn) {
        frames.enter(kQ, 1, 16);
        if (turn % 2 != 0) spin(kLong);
        for (int i = 0; turn % 2 == 0 && i < 1000; ++i) call_short(&frames);
        frames.leave(kQ, 1);
        p = find({from(16), at_site(kQ), from(32), at_site(kP)});
        totals.off_entries = part(p).off_entries;
        totals.off_uncertain =
            static_cast<uint64_t>(std::sqrt(static_cast<double>(part(p).off_squares)));
        // A standard error of a twentieth: the tolerance below is five of them.
        if (totals.off_entries > 100'000 && 20 * totals.off_uncertain <= totals.off_entries) break;
    }
    ASSERT_TRUE(off_is_known(totals));
    const auto missed = static_cast<double>(calls_ - p->count);
    EXPECT_NEAR(static_cast<double>(totals.off_entries), missed, 0.25 * missed);
}

// Without later probes there is no number, and the time says how much may be missing.
TEST_F(ProbeControl, EntriesAfterTheLastProbeAreInNoEstimate) {
    Frames frames;
    frames.enter(kQ, 1, 16);
    const uint64_t patience = monotonic_ns() + kPatience_ns;
    while (level(kP) != kLevelOff && monotonic_ns() < patience) call_short(&frames);
    ASSERT_EQ(level(kP), kLevelOff);
    spin(20 * kLong);
    frames.leave(kQ, 1);
    const ProbePart& seen = part(find({from(16), at_site(kQ), from(32), at_site(kP)}));
    EXPECT_EQ(seen.off_entries, 0u);
    switch_sites(false);
    // One long stretch, and what came after.
    ASSERT_NE(g_process.header->first_off_site, 0u);
    const auto* off = cell_at<OffSite>(g_process.header->first_off_site);
    EXPECT_GE(off->stretches, 20.0 * kLong);
    EXPECT_GE(off->squares, 20.0 * kLong * 20.0 * kLong);
    EXPECT_LE(off->squares, off->stretches * off->stretches);
    EXPECT_GE(off->cut, 20.0 * kLong);
    EXPECT_LE(off->cut, off->stretches);
}

TEST_F(ProbeControl, WithoutALimitNothingIsReduced) {
    Frames frames;
    g_process.options.probe_limit = 0;
    for (int i = 0; i < 20000; ++i) call_short(&frames);
    EXPECT_EQ(level(kP), kLevelFull);
    EXPECT_EQ(find({from(32), at_site(kP)})->count, 20000u);
}

TEST_F(ProbeControl, ARecursiveProcedureIsShortByItsEntries) {
    Frames frames;
    const uint64_t begin = monotonic_ns();
    while (level(kP) == kLevelFull && monotonic_ns() - begin < kPatience_ns) {
        // One long call, of 500 short ones.
        for (int depth = 2; depth < 52; ++depth) frames.enter(kP, depth, depth == 2 ? 32 : 48);
        for (int i = 0; i < 450; ++i) {
            frames.enter(kP, 52, 48);
            spin(kShort);
            frames.leave(kP, 52);
        }
        for (int depth = 51; depth >= 2; --depth) frames.leave(kP, depth);
    }
    EXPECT_NE(level(kP), kLevelFull);
}

// A cheap recursion is switched off although its first entry is open; that entry ends then, and R,
// entered inside before, continues where it was called.
TEST_F(ProbeControl, ARecursionIsSwitchedOffWhileItIsOpen) {
    Frames frames;
    g_process.options.probe_limit = 1;
    frames.enter(kQ, 1, 16);
    frames.enter(kP, 2, 32);
    frames.enter(kR, 3, 48);
    const uint64_t begin = monotonic_ns();
    while (level(kP) != kLevelOff && monotonic_ns() - begin < kPatience_ns) {
        frames.enter(kP, 4, 64);
        frames.leave(kP, 4);
        calls_ += 1;
    }
    ASSERT_EQ(level(kP), kLevelOff);
    EXPECT_EQ(record().probe_depth, 2u);
    const Node* p = find({from(16), at_site(kQ), from(32), at_site(kP)});
    EXPECT_EQ(p->site.open, 0u);
    EXPECT_EQ(p->count, calls_ + 1);
    const uint64_t ticks = p->ticks;
    spin(kLong);
    frames.leave(kR, 3);
    frames.leave(kP, 2);  // off: the library is not called
    spin(kLong);
    frames.leave(kQ, 1);
    EXPECT_EQ(p->ticks, ticks);
    EXPECT_EQ(part(p).abandoned, 0u);
    const Node* q = find({from(16), at_site(kQ)});
    const Node* r = find_from(q, {from(48), at_site(kR)});
    ASSERT_NE(r, nullptr);
    const Node* began = find_from(p, {from(48), at_site(kR)});
    EXPECT_EQ(began->count, 1u);
    EXPECT_GE(began->max_ticks, kLong);
    EXPECT_EQ(r->count, 0u);
    EXPECT_GE(r->ticks, kLong);
    EXPECT_EQ(part(r).abandoned, 0u);
    EXPECT_GE(q->ticks, p->ticks + r->ticks + kLong);
    expect_at_rest();
}

// Another thread with an open entry of the site ends the entry at its next probe, with the time
// until then.
TEST_F(ProbeControl, OtherThreadsEndSwitchedOffSitesAtTheirNextProbe) {
    Frames frames;
    frames.enter(kQ, 1, 16);
    frames.enter(kP, 2, 32);
    std::thread([] {
        Frames own;
        const uint64_t begin = monotonic_ns();
        while (level(kP) != kLevelOff && monotonic_ns() - begin < kPatience_ns) {
            own.enter(kP, 1, 16);
            own.leave(kP, 1);
        }
    }).join();
    ASSERT_EQ(level(kP), kLevelOff);
    const uint64_t since = now_ticks();
    spin(kLong);
    frames.leave(kP, 2);
    frames.enter(kR, 2, 48);
    const Node* p = find({from(16), at_site(kQ), from(32), at_site(kP)});
    EXPECT_EQ(p->site.open, 0u);
    EXPECT_GT(p->ticks, 0u);
    EXPECT_LE(p->ticks, since - g_process.start_ticks);
    frames.leave(kR, 2);
    frames.leave(kQ, 1);
    const Node* q = find({from(16), at_site(kQ)});
    EXPECT_GE(q->ticks, p->ticks + kLong);
    EXPECT_EQ(part(p).abandoned, 0u);
    expect_at_rest();
}

TEST_F(ProbeControl, EntriesBeyondTheDepthLimitAreReducedToo) {
    Frames<kProbeStackEntries + 8> deep;
    for (int depth = 1; depth <= int{kProbeStackEntries}; ++depth) {
        deep.enter(kP, depth, depth == 1 ? 32 : 48);
    }
    const uint64_t begin = monotonic_ns();
    while (level(kP) == kLevelFull && monotonic_ns() - begin < kPatience_ns) {
        deep.enter(kP, kProbeStackEntries + 2, 48);
        deep.leave(kP, kProbeStackEntries + 2);
    }
    EXPECT_EQ(level(kP), kLevelCount);
}

TEST_F(ProbeControl, ManyThreadsStepDownTogether) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([] {
            Frames frames;
            const uint64_t begin = monotonic_ns();
            while (level(kP) != kLevelOff && monotonic_ns() - begin < kPatience_ns) {
                frames.enter(kP, 1, 16);
                frames.leave(kP, 1);
            }
        });
    }
    for (std::thread& one : threads) one.join();
    EXPECT_EQ(level(kP), kLevelOff);
}

// Without a time stamp counter all probes are slow, and control sees their cost.
TEST_F(ProbeControl, SlowProbesCountAsWell) {
    Frames frames;
    g_process.use_tsc = false;
    start_control(t_thread);
    g_process.start_ticks = now_ticks();
    const uint64_t begin = monotonic_ns();
    while (level(kP) != kLevelOff && monotonic_ns() - begin < kPatience_ns) {
        frames.enter(kP, 2, 32);
        frames.leave(kP, 2);
    }
    EXPECT_EQ(level(kP), kLevelOff);
}

TEST_F(Probes, SitesThatAreSwitchedOffCallNothing) {
    switch_sites(false);
    for (int site = 0; site < kTestSites; ++site) EXPECT_EQ(g_table.levels[site], kLevelOff);
    switch_sites(true);
    EXPECT_EQ(g_table.levels[kUnit], kLevelOff);  // no site
    for (int site = kP; site < kTestSites; ++site) EXPECT_EQ(g_table.levels[site], kLevelFull);
}

TEST_F(Probes, AnUnloadedModuleIsForgotten) {
    static SiteTable other;
    other.fill();
    const int before = registered_modules();
    dwell_register_sites(&other.module);
    EXPECT_EQ(registered_modules(), before + 1);
    EXPECT_EQ(other.levels[kP], kLevelFull);
    Frames frames;
    const uint64_t* outer = frames.at(1);
    *frames.at(1) = code(16);
    *frames.at(2) = code(32);
    for (int i = 0; i < 2; ++i) {
        call_entry(dwell_enter, &other.rows[kR], outer, 0);
        frames.enter(kQ, 2, 32);
        frames.leave(kQ, 2);
        call_entry(dwell_leave, &other.rows[kR], outer, 0);
    }
    call_entry(dwell_enter, &other.rows[kR], outer, 0);  // open for ever
    dwell_unregister_sites(&other.module);
    EXPECT_EQ(registered_modules(), before);
    for (const uint8_t level : other.levels) EXPECT_EQ(level, kLevelOff);
    // Another module reuses its memory, and the same row is a loop of another procedure.
    for (SiteRow& row : other.rows) row = SiteRow{};
    other.fill();
    other.rows[kR].kind = SiteKind::kLoop;
    other.rows[kR].enclosing = kQ - kR;
    dwell_register_sites(&other.module);
    *frames.at(1) = code(48);
    call_entry(dwell_enter, &other.rows[kQ], outer, 0);
    call_entry(dwell_loop_enter, &other.rows[kR], outer, 0);
    call_entry(dwell_loop_leave, &other.rows[kR], outer, 5);
    call_entry(dwell_leave, &other.rows[kQ], outer, 0);
    dwell_unregister_sites(&other.module);
    uint64_t iterations = 0;
    uint64_t abandoned = 0;
    for (const Node* node : all_below(root())) {
        iterations += part(node).iterations;
        abandoned += part(node).abandoned;
    }
    EXPECT_EQ(iterations, 5u);
    EXPECT_EQ(abandoned, 1u);
    expect_at_rest();
}

TEST_F(Probes, MoreModulesThanThereIsRoomFor) {
    static SiteModule modules[600];
    static SiteRow rows[600];
    for (SiteModule& module : modules) {
        const SiteRow* const row = &rows[&module - modules];
        module = {row, row, g_table.levels, g_table.levels};
        dwell_register_sites(&module);
    }
    EXPECT_EQ(registered_modules(), 512);
    for (const SiteModule& module : modules) dwell_unregister_sites(&module);
    EXPECT_EQ(registered_modules(), 1);
    EXPECT_EQ(g_table.levels[kP], kLevelFull);
}

TEST_F(Probes, AProcessThatIsNotObservedLeavesItsSitesOff) {
    static SiteTable other;
    other.fill();
    g_wanted = false;
    dwell_register_sites(&other.module);
    for (const uint8_t level : other.levels) EXPECT_EQ(level, kLevelOff);
    dwell_unregister_sites(&other.module);
}

TEST_F(Probes, CalibratedCostsAreThoseOfAPair) {
    calibrate();
    EXPECT_GT(g_process.probe_inner_ticks, 0u);
    EXPECT_GT(g_process.probe_cost_ticks, g_process.probe_inner_ticks);
    EXPECT_GT(g_process.probe_count_ticks, 0u);
    EXPECT_LT(g_process.probe_count_ticks, g_process.probe_cost_ticks);
    // Nothing of it is in the records.
    EXPECT_EQ(record().probes, 0u);
    EXPECT_EQ(root()->first_child, 0u);

    // An empty procedure takes almost no time, and so does its caller: the real time is mostly that
    // of the probes. (A sanitizer adds to the loop.)
    if (DWELL_TEST_SANITIZED) return;
    Frames frames;
    uint64_t least_own = UINT64_MAX;
    uint64_t least_callee = UINT64_MAX;
    uint64_t least_real = UINT64_MAX;
    for (int round = 0; round < 300; ++round) {
        reset();
        const uint64_t begin = now_ticks();
        frames.enter(kP, 1, 16);
        for (uint64_t i = 0; i < 2000; ++i) {
            frames.enter(kQ, 2, 32);
            frames.leave(kQ, 2);
        }
        frames.leave(kP, 1);
        const uint64_t real = now_ticks() - begin;
        const Node* p = find({from(16), at_site(kP)});
        const Node* q = find_from(p, {from(32), at_site(kQ)});
        if (p->ticks < least_own) least_own = p->ticks;
        if (q->ticks < least_callee) least_callee = q->ticks;
        if (real < least_real) least_real = real;
    }
    EXPECT_LT(least_own, least_real / 2);
    EXPECT_LT(least_callee, least_real / 2);
}

// The run's profile selects among the sites that the compiler gave probes. It is never freed, so a
// process of its own reads it.
TEST_F(Probes, TheEnablingProfileSwitchesSites) {
    const std::string file = directory_ + "/enable";
    FILE* stream = fopen(file.c_str(), "w");
    ASSERT_NE(stream, nullptr);
    fputs("off all\non proc name=p\ncount proc name=q\n", stream);
    fclose(stream);
    dwell_unregister_sites(&g_table.module);
    g_table.fill();
    ASSERT_EXIT(
        {
            if (!read_enabling_profile(file.c_str())) _exit(2);
            dwell_register_sites(&g_table.module);
            const bool good = g_table.levels[kP] == kLevelFull &&
                              g_table.levels[kQ] == kLevelCount && g_table.levels[kR] == kLevelOff;
            _exit(good ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
    unlink(file.c_str());
    EXPECT_TRUE(read_enabling_profile(""));
}

TEST_F(Probes, ABadEnablingProfileIsNamed) {
    EXPECT_FALSE(read_enabling_profile("/nonexistent/enable"));
}

}  // namespace
}  // namespace dwell
