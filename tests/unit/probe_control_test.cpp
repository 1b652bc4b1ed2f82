// Which sites are watched how closely: what the user enables, what costs too much, modules that
// come and go, and the calibration. Loops run until what must happen has happened, however busy the
// machine is.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/records.h"
#include "tests/unit/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kPatience_ns = 60'000'000'000;
constexpr uint64_t kShort = 300;     // ticks that the short procedure takes
constexpr uint64_t kLong = 400'000;  // and the long one

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
    // Calls the short procedure from the long one until `done`. False: patience is over.
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

// What is seen from outside of a site's way down: each step between two looks, which lie far apart
// when another process had the processor meanwhile.
struct Descent {
    struct Step {
        uint64_t after = 0;   // the last look before it
        uint64_t before = 0;  // the first one that saw it
    };
    Step to_count;
    Step to_off;
    uint64_t looked = now_ticks();

    void look(int level) {
        const uint64_t now = now_ticks();
        if (level == kLevelCount && to_count.before == 0) to_count = {looked, now};
        if (level == kLevelOff && to_off.before == 0) to_off = {looked, now};
        looked = now;
    }
    // The rate while it only counted stands for the rate while it was off, unless there was no time
    // for that many; with half and twice of it as bounds.
    void expect_estimate(const Node* node, const ProbePart& part, uint64_t counted) const {
        const auto off_ticks = static_cast<double>(part.off_ticks);
        const double room = off_ticks * static_cast<double>(node->count - part.counted) /
                            static_cast<double>(node->ticks);
        const auto entries = off_ticks * static_cast<double>(counted);
        const double least = entries / static_cast<double>(to_off.before - to_count.after);
        EXPECT_GE(static_cast<double>(part.off_entries), std::min(least, room) / 2);
        ASSERT_GT(to_off.after, to_count.before);
        const double most = entries / static_cast<double>(to_off.after - to_count.before);
        EXPECT_LE(static_cast<double>(part.off_entries), most * 2);
    }
};

// Not before 2, 4, 8 ... ms are over.
TEST_F(ProbeControl, AReducedSiteIsTriedAgainLaterAndLater) {
    for (int round = 1; round <= 6; ++round) {
        uint64_t was_full_ns = monotonic_ns();
        ASSERT_TRUE(run_until([&] {
            if (level(kP) == kLevelFull) was_full_ns = monotonic_ns();
            return level(kP) == kLevelOff;
        }));
        ASSERT_TRUE(run_until([] { return level(kP) == kLevelFull; }));
        EXPECT_GE(monotonic_ns() - was_full_ns, 990'000u << round);
    }
}

TEST_F(ProbeControl, EntriesWhileOffAreEstimated) {
    Descent descent;
    ASSERT_TRUE(run_until([&] {
        descent.look(level(kP));
        return level(kP) == kLevelOff;
    }));
    const Node* p = find({from(16), at_site(kQ), from(32), at_site(kP)});
    const uint64_t counted = part(p).counted;
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelFull; }));
    const uint64_t off_ticks = now_ticks() - descent.to_off.after;
    EXPECT_LE(part(p).off_ticks, off_ticks + kLong);
    EXPECT_GE(part(p).off_ticks, off_ticks / 2);
    // The second half counts as soon as it costs too much again, if that is soon.
    const uint64_t half = part(p).off_entries;
    const uint64_t tried = now_ticks();
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelCount; }));
    if (now_ticks() - tried < part(p).off_ticks) {
        EXPECT_GE(part(p).off_entries, 2 * half - 1);
        descent.expect_estimate(p, part(p), counted);
    }
}

TEST_F(ProbeControl, EntriesThatEndedWhileOffAreTakenToHaveGoneOnForAsLongAgain) {
    const uint64_t began = now_ticks();
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelOff; }));
    const uint64_t active = now_ticks() - began;
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelFull; }));
    const Node* p = find({from(16), at_site(kQ), from(32), at_site(kP)});
    const ProbePart before = part(p);
    EXPECT_GT(before.off_entries, 0u);
    const uint64_t room = before.off_ticks * (p->count - before.counted) / p->ticks;
    EXPECT_LE(before.off_entries, room / 2 + 1);
    EXPECT_LE(before.off_entries, active / kShort + 1);
    spin(before.off_ticks + active + kLong);
    const uint64_t begin = monotonic_ns();
    Frames frames;
    frames.enter(kQ, 1, 16);
    while (level(kP) == kLevelFull && monotonic_ns() - begin < kPatience_ns) call_short(&frames);
    frames.leave(kQ, 1);
    ASSERT_EQ(level(kP), kLevelCount);
    EXPECT_EQ(part(p).off_entries, before.off_entries);
}

// Nothing else is known to have taken the time until the thread's next probe.
TEST_F(ProbeControl, EntriesWentOnUntilTheNextProbe) {
    Frames frames;
    const uint64_t began = now_ticks();
    frames.enter(kQ, 1, 16);
    const uint64_t patience = monotonic_ns() + kPatience_ns;
    while (level(kP) != kLevelOff && monotonic_ns() < patience) call_short(&frames);
    const uint64_t active = now_ticks() - began;
    spin(20 * kLong);
    frames.leave(kQ, 1);
    const uint64_t until_probe = now_ticks() - began;
    spin(20 * kLong);
    switch_sites(false);
    const uint64_t taken = part(find({from(16), at_site(kQ), from(32), at_site(kP)})).off_entries;
    EXPECT_LE(taken, until_probe / kShort + 1);
    if (active < 2 * kLong) {
        EXPECT_GT(taken, 2 * active / kShort) << "more than as long again";
    }
}

// For each entry of P ten of R, which is switched on again whenever control reduced it.
TEST_F(ProbeControl, TheRateIsThatOfTheSiteAlone) {
    Frames frames;
    Descent descent;
    const uint64_t begin = monotonic_ns();
    auto run_while = [&](auto wanted) {
        while (wanted() && monotonic_ns() - begin < kPatience_ns) {
            for (int i = 0; i < 10; ++i) {
                frames.enter(kR, 1, 64);
                frames.leave(kR, 1);
            }
            call_short(&frames);
            descent.look(level(kP));
            __atomic_store_n(&g_table.levels[kR], kLevelFull, __ATOMIC_RELAXED);
            live_->ticket += 1;
        }
    };
    run_while([] { return level(kP) != kLevelOff; });
    ASSERT_EQ(level(kP), kLevelOff);
    const Node* p = find({from(32), at_site(kP)});
    const uint64_t counted = part(p).counted;
    const uint64_t off_since = monotonic_ns();
    run_while([=] { return monotonic_ns() - off_since < 20'000'000; });
    g_process.options.probe_limit = 100000;  // now it may be tried again, whatever probes cost here
    run_while([] { return level(kP) == kLevelOff; });
    EXPECT_NE(level(kP), kLevelOff);
    // All of them count when it costs too much again.
    const ProbePart at_first = part(p);
    g_process.options.probe_limit = 10;
    const uint64_t tried = now_ticks();
    run_while([] { return level(kP) == kLevelFull; });
    if (now_ticks() - tried < at_first.off_ticks) descent.expect_estimate(p, part(p), counted);
}

// Also where counting is said to take more than all the time that passes, an entry takes a quarter
// of it at least.
TEST_F(ProbeControl, TheRateOfASiteThatIsToBeCountedIsPossible) {
    g_process.probe_count_ticks = 2 * kShort;
    __atomic_store_n(&g_table.levels[kP], kLevelCount, __ATOMIC_RELAXED);
    live_->ticket += 1;
    ASSERT_TRUE(run_until([] { return level(kP) == kLevelOff; }));
    spin(kLong);
    switch_sites(false);
    const ProbePart counted = part(find({from(16), at_site(kQ), from(32), at_site(kP)}));
    EXPECT_GT(counted.off_entries, 0u);
    // Where it was counted, it took kShort at least.
    EXPECT_LE(counted.off_entries, 4 * counted.off_ticks / kShort + 1);
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

// A cheap recursion costs nothing any more although its first entry is open; that one ends then,
// and R, entered inside of it before, goes on where it was called.
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

// Another thread that has the site open ends its entry at its next probe, with the time until then.
TEST_F(ProbeControl, OthersEndWhatIsSwitchedOffAtTheirNextProbe) {
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

// Without a time stamp counter all probes are slow, and control sees what they cost.
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

TEST_F(Probes, AModuleThatIsGoneIsForgotten) {
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
    // Its memory is another module's now, where the same row is a loop of another procedure.
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

    // An empty procedure takes next to nothing, and so does its caller beside it: most of what this
    // takes in reality is the probes'. (A sanitizer adds to the loop.)
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

// The profile of the run chooses among the sites that the compiler gave probes. It lives as long as
// the process, so it is read by a process of its own.
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
