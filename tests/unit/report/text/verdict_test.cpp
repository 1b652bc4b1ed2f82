// The verdict at the end of a run, for profiles with answers known by arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "report/figures/losses.h"
#include "report/figures/text_style.h"
#include "report/text/text_report.h"
#include "tests/unit/report/text/late_rank.h"
#include "tests/unit/report/text/verdict_words.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using samples::Builder;
using samples::kMs;
using samples::known_wait;

TEST(Verdict, NamesTheLateRankAndWhereItComputes) {
    const Profile profile = late_rank();
    // 500 ms of 3 s; 1.25 s of 1.5 s.
    expect_words(profile,
                 {"dwell verdict: heat loses 16.7 % of its time to waiting for late ranks, 250 ms "
                  "a rank. Main cause: rank 0 computes in relax (heat.c:78), and others wait 250 "
                  "ms a rank, mostly at heat.c:69 MPI_Waitall in exchange_halo. Load balance: 83 "
                  "%, rank 0 computes 1.50 s, the mean is 1.25 s. Time per rank: 1.50 s, "
                  "computation 83.3 %, waiting 16.7 %. Set-up of MPI (not in the shares): 100 ms "
                  "a rank. Trust: counts are exact, computation by procedure is estimated. Next: "
                  "dwell report dwell-heat-4711 "});
}

// Calls into system libraries count for the program, also from several lines, and also where the
// samples have no call path.
TEST(Verdict, NamesTheProgramForWhatTheSystemComputes) {
    for (const bool with_paths : {true, false}) {
        Halo halo;
        halo.sampled = 0;
        Profile profile = late_rank(halo);
        const auto add = [&profile](SiteKind kind, const std::string& name, int line,
                                    uint32_t parent, uint32_t labels) {
            ProfileNode node;
            node.kind = kind;
            node.name = name;
            node.file = (labels & kLabelSystem) != 0 ? "" : "/home/ada/heat.c";
            node.line = line;
            node.parent = parent;
            node.labels = labels;
            profile.nodes.push_back(node);
            return static_cast<uint32_t>(profile.nodes.size() - 1);
        };
        ProfileInterval& interval = profile.intervals[0];
        const uint32_t main = interval.booked_on;
        const uint32_t relax =
            add(SiteKind::kProcedure, "relax", 70, add(SiteKind::kCall, "relax", 96, main, 0), 0);
        interval.booked_on = relax;
        std::vector<SampledLine>& lines = interval.lines;
        lines = {{"relax", "/home/ada/heat.c", 71, 10, relax, false}};
        for (const int line : {78, 78, 79}) {
            const uint32_t call = add(SiteKind::kCall, "exp", line, relax, 0);
            const uint32_t wrapper = add(SiteKind::kProcedure, "exp", 0, call, kLabelSystem);
            const uint32_t inner = add(SiteKind::kCall, "exp_fma", 0, wrapper, kLabelSystem);
            const uint32_t leaf = add(SiteKind::kProcedure, "exp_fma", 0, inner, kLabelSystem);
            lines.push_back({"exp_fma", "exp_fma+0x10", 0, 30, with_paths ? leaf : relax, true});
        }
        const std::string where = with_paths ? "relax (heat.c:78)" : "relax (heat.c:70)";
        expect_words(profile, {"Main cause: rank 0 computes in " + where + ", and others wait"});
        TextOptions options;
        options.width = 100;
        const std::string words = words_of(write_text_report(profile, options));
        const std::string place = with_paths ? "at heat.c:78 " : "";
        const std::string called = with_paths ? "in exp)" : "in exp_fma)";
        EXPECT_NE(words.find("rank 0 in relax (mostly " + place + called), std::string::npos)
            << words;
        EXPECT_NE(words.find(with_paths ? "Computation, sampled: relax heat.c:78 60 %, :79 30 %"
                                        : "Computation, sampled: relax 90 %"),
                  std::string::npos)
            << words;
    }
}

// With too few samples for a share, the verdict still shows a sampled line.
TEST(Verdict, NamesTheSampledLineOfWhatIsNamed) {
    Profile profile = late_rank();
    ProfileInterval& interval = profile.intervals[0];
    const uint32_t main = interval.booked_on;
    for (const SiteKind kind : {SiteKind::kCall, SiteKind::kProcedure}) {
        ProfileNode node;
        node.kind = kind;
        node.name = "relax";
        node.file = "/home/ada/heat.c";
        node.line = kind == SiteKind::kCall ? 96 : 70;
        node.parent = kind == SiteKind::kCall ? main : interval.booked_on;
        interval.booked_on = static_cast<uint32_t>(profile.nodes.size());
        profile.nodes.push_back(node);
    }
    const uint32_t relax = interval.booked_on;
    interval.lines = {{"relax", "/home/ada/heat.c", 72, 4, relax, false},
                      {"relax", "/home/ada/heat.c", 71, 5, relax, false}};
    expect_words(profile, {"Main cause: rank 0 computes in relax (heat.c:71), and others wait"});
    interval.lines.clear();
    expect_words(profile, {"Main cause: rank 0 computes in relax (heat.c:70), and others wait"});
}

TEST(Verdict, WithLittleRoomNamesAFileOnce) {
    Halo halo;
    halo.file = "/home/ada/exchange_of_halo_cells.c";
    halo.exchange = "exchange_neighbours";
    const std::string words = words_of(verdict(late_rank(halo), 80));
    EXPECT_NE(words.find("rank 0 computes in relax (exchange_of_halo_cells.c:78), and others "
                         "wait 250 ms a rank, mostly at :69 MPI_Waitall in "
                         "exchange_neighbours."),
              std::string::npos)
        << words;
}

// A line without a file belongs to the file named last.
TEST(Verdict, NamesTheFileOfALineIfNoneWasNamed) {
    Halo halo;
    halo.exchange = "exchange_of_halo_cells_with_all_neighbours";
    for (const uint64_t sampled : {0, 200}) {
        halo.sampled = sampled;
        Profile profile = late_rank(halo);
        // The place of the procedure is unknown.
        if (sampled != 0) {
            for (SampledLine& line : profile.intervals[0].lines) line.file.clear(), line.line = 0;
        }
        for (int width = 60; width <= 120; ++width) {
            const std::string words = words_of(verdict(profile, width));
            const size_t at = words.find(" at :");
            const std::string before = words.substr(0, at == std::string::npos ? 0 : at);
            EXPECT_TRUE(at == std::string::npos || before.find(".c:") != std::string::npos)
                << words;
        }
    }
}

TEST(Verdict, WithoutSamplesNamesTheLinesBetween) {
    Halo halo;
    halo.sampled = 0;
    // The line of a call is not between two calls: the procedure is named.
    Profile profile = late_rank(halo);
    expect_words(profile,
                 {"rank 0 computes in main (between MPI calls of exchange_halo), and others",
                  "Next: dwell run --sample 100 ... (names the line). Report: dwell "
                  "report dwell-heat-4711 "});
    profile.intervals[0].or_after = true;
    expect_words(profile, {"rank 0 computes in or after main (between", "run --sample 100 ..."});
    // Two different calls on one line are both named.
    ProfileInterval& interval = profile.intervals[0];
    uint32_t call = interval.to;
    while (profile.nodes[call].parent != interval.booked_on) call = profile.nodes[call].parent;
    ProfileNode barrier = profile.nodes[call];
    barrier.kind = SiteKind::kCommunication;
    barrier.name = "MPI_Barrier";
    interval.from = static_cast<uint32_t>(profile.nodes.size());
    profile.nodes.push_back(barrier);
    expect_words(profile, {"in or after main (between MPI_Barrier and excha"});
    profile.ranks[0].flags |= kFileNoSampling;
    expect_words(profile, {". Next: dwell report dwell-heat-4711 "});
}

// Rank 1 also waits 2 s in MPI_Finalize: table and sentence count them as set-up.
TEST(Verdict, WaitingInSetUpIsNoneOfTheCauses) {
    Halo halo;
    halo.setup = "MPI_Init";
    halo.setup_wait_ms = 2000;
    const Profile profile = late_rank(halo);
    expect_words(profile, {"heat loses 16.7 % of its time", "others wait 250 ms a rank",
                           "(not in the shares): 1.10 s a rank, 1.00 s waiting for rank 0."});
    TextOptions options;
    options.width = 200;
    const std::string report = words_of(write_text_report(profile, options));
    EXPECT_NE(report.find("computes in relax (heat.c:78), and others wait 250 ms a rank."),
              std::string::npos)
        << report;
}

TEST(Verdict, AShortRunTellsLittle) {
    Builder b(1, "short");
    const uint32_t main = b.proc("main", "short.c", 1, 0);
    b.compute(main, 0, 90 * kMs);
    b.calls(b.comm("MPI_Init", "short.c", 3, main), 0, known_wait(1, 100 * kMs, 0));
    expect_words(b.finish(),
                 {"Set-up of MPI (not in the shares): 100 ms; a longer run tells more."});
}

// Four ranks wait 300 ms at an allreduce that takes 400, for unknown ranks. Rank 1 computed two
// things meanwhile, neither of which is most of it; or several ranks did.
TEST(Verdict, SaysForWhomRanksWaitWhenNoCauseIsMost) {
    for (const bool one : {true, false}) {
        Builder b(4, "heat");
        const uint32_t main = b.proc("main", "heat.c", 1, 0);
        const uint32_t reduce = b.comm("MPI_Allreduce", "heat.c", 20, main);
        for (uint32_t rank = 0; rank < 4; ++rank) {
            b.compute(main, rank, 600 * kMs);
            b.calls(reduce, rank, known_wait(10, 400 * kMs, 300 * kMs));
        }
        b.profile().intervals.push_back({reduce, reduce, main, 40, kMs, kMs, kMs, {}});
        for (uint32_t i = 0; i < 3; ++i) {
            const uint32_t interval = i == 0 ? 0 : kNoNode;
            b.profile().partners.push_back(
                {reduce, one ? 1 : i, interval, 10, 400 * kMs, kMs, 0, 0});
        }
        expect_words(
            b.finish(),
            {std::string("Main loss: ranks wait 300 ms a rank at heat.c:20 MPI_Allreduce "
                         "in main, ") +
             (one ? "mostly for rank 1; no single cause is known." : "for several ranks.")});
    }
}

TEST(Verdict, SaysWhereRanksWaitWhenTheCauseIsNotKnown) {
    expect_words(
        late_for_nobody(600, 400, 300),
        {"heat loses an estimated 30.0 % of its time to waiting for late ranks, 300 ms a "
         "rank. Another 10.0 % of the time is MPI transfer. Main loss: ranks wait 300 ms a "
         "rank at heat.c:20 MPI_Allreduce in main; the late rank is not known.",
         "Load balance: 100 %, all ranks compute alike.",
         "Trust: counts are exact, part of the waiting is estimated."});
}

TEST(Verdict, NamesTheLineThatTransfersMost) {
    Builder b(2, "fft");
    const uint32_t main = b.proc("main", "fft.c", 1, 0);
    const uint32_t transpose = b.call("transpose", "fft.c", 8, main);
    const uint32_t all = b.comm("MPI_Alltoall", "fft.c", 30, transpose);
    const uint32_t reduce = b.comm("MPI_Allreduce", "fft.c", 9, main);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        b.compute(main, rank, 500 * kMs);
        b.calls(all, rank, {64, 450 * kMs, 0, 64 << 20, 64 << 20, kMs, 0, 0, 0, 0, 0, 0});
        b.calls(reduce, rank, {64, 50 * kMs, 0, 0, 0, kMs, 0, 0, 0, 0, 0, 0});
    }
    expect_words(b.finish(),
                 {"fft loses 50.0 % of its time to MPI transfer, 500 ms a rank. Main cause: "
                  "fft.c:30 MPI_Alltoall in transpose takes 450 ms a rank, in 128 calls of 2.00 "
                  "MiB on average."});
}

TEST(Verdict, NamesTheFileThatARankWrites) {
    Builder b(2, "ck");
    const uint32_t main = b.proc("main", "ck.c", 1, 0);
    const uint32_t write = b.add(SiteKind::kIo, "fwrite", "ck.c", 30, main);
    b.profile().nodes[write].io_file = "ck.dat";
    const uint32_t barrier = b.comm("MPI_Barrier", "ck.c", 31, main);
    b.calls(write, 0, {1, 800 * kMs, 0, 1 << 20, 0, 800 * kMs, 0, 0, 0, 0, 0, 0});
    b.compute(main, 0, 1200 * kMs);
    b.compute(main, 1, 2000 * kMs);
    b.calls(barrier, 0, known_wait(1, kMs, 0));
    // 800 ms of 4.001 s.
    expect_words(b.finish(), {"ck loses 20.0 % of its time to reading and writing files, 400 ms a "
                              "rank. Main cause: ck.c:30 fwrite in main takes 400 ms a rank for "
                              "file ck.dat, most on rank 0: 800 ms."});
}

// 160 ms of 716 are waiting in the region, 100 are idle.
TEST(Verdict, NamesTheUnevenRegion) {
    expect_words(samples::openmp_profile(),
                 {"triangle loses 22.3 % of its time to OpenMP threads that wait for each other, "
                  "160 ms. Another 14.0 % of the time is OpenMP idle. Main cause: the region at "
                  "triangle.c:20 in main: thread 1 works 1.42 times the mean."});
}

// Two threads: 700 ms in `sort` outside of regions, then both 100 ms in one.
TEST(Verdict, NamesTheSerialProcedureBehindIdleThreads) {
    Builder b(1, "particles");
    b.profile().ranks[0].flags |= kFileSerial;
    const uint32_t main = b.proc("main", "p.c", 10, 0);
    const uint32_t sort = b.call("sort", "p.c", 12, main, 50);
    const uint32_t region = b.openmp(OmpConstruct::kParallel, "p.c", 20, main);
    const uint32_t idle = b.openmp(OmpConstruct::kIdle, "", 0, 0);
    b.compute(main, 0, 50 * kMs);
    b.compute(sort, 0, 650 * kMs);
    b.spent(region, 0, 0, 1, 100 * kMs, 0).created = 1;
    b.spent(region, 0, 1, 1, 100 * kMs, 0);
    b.spent(idle, 0, 1, 1, 700 * kMs, 700 * kMs, true);
    // 700 ms of 1.6 s.
    expect_words(b.finish(), {"particles loses 43.8 % of its time to OpenMP threads idle outside "
                              "of regions, 700 ms. Main cause: 700 ms of computation outside of "
                              "OpenMP regions, most in sort (p.c:50)."});
}

// `rate` is called by `sort` outside of regions and by a region: the serial code is `sort`.
TEST(Verdict, NamesTheCallerOfWhatRegionsExecuteAsWell) {
    Builder b(1, "particles");
    b.profile().ranks[0].flags |= kFileSerial;
    const uint32_t main = b.proc("main", "p.c", 10, 0);
    const uint32_t sort = b.call("sort", "p.c", 12, main, 50);
    const uint32_t serial = b.call("rate", "p.c", 55, sort, 5);
    const uint32_t region = b.openmp(OmpConstruct::kParallel, "p.c", 20, main);
    const uint32_t parallel = b.call("rate", "p.c", 22, region, 5);
    const uint32_t idle = b.openmp(OmpConstruct::kIdle, "", 0, 0);
    b.compute(sort, 0, 50 * kMs);
    b.compute(serial, 0, 650 * kMs);
    b.spent(region, 0, 0, 1, 100 * kMs, 0).created = 1;
    b.spent(region, 0, 1, 1, 100 * kMs, 0);
    b.compute(parallel, 0, 100 * kMs);
    b.spent(idle, 0, 1, 1, 700 * kMs, 700 * kMs, true);
    expect_words(b.finish(),
                 {"Main cause: 700 ms of computation outside of OpenMP regions, most in "
                  "sort (p.c:55)."});
}

// Of 700 ms that a thread was idle, 20 ms of computation outside of regions explain little: four
// threads share two processors.
TEST(Verdict, ThreadsWithoutProcessorsAreIdle) {
    Builder b(2, "pic");
    const uint32_t main = b.proc("main", "p.c", 10, 0);
    const uint32_t region = b.openmp(OmpConstruct::kParallel, "p.c", 20, main);
    const uint32_t idle = b.openmp(OmpConstruct::kIdle, "", 0, 0);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        b.compute(main, rank, 20 * kMs);
        b.spent(region, rank, 0, 1, 980 * kMs, 0).created = 1;
        b.spent(region, rank, 1, 1, 300 * kMs, 0);
        b.spent(idle, rank, 1, 1, 700 * kMs, 700 * kMs, true);
    }
    Profile profile = b.finish();
    for (ProfileRank& rank : profile.ranks) {
        rank.host = "n0";
        rank.threads = rank.processors = 2;
    }
    expect_words(profile, {"2 ranks with 4 threads share 2 processors"});
    // With enough of them it is that computation.
    for (ProfileRank& rank : profile.ranks) rank.processors = 4;
    expect_words(profile, {"20.0 ms a rank of computation outside of OpenMP regions"});
}

// Two ranks of two threads: 600 and 100 ms in a region, and rank 1 waits 500 ms for rank 0, while
// its other thread is idle.
Profile late_region() {
    Builder b(2, "pic");
    const uint32_t main = b.proc("main", "p.c", 10, 0);
    const uint32_t wait = b.comm("MPI_Waitall", "p.c", 30, main);
    const uint32_t region = b.openmp(OmpConstruct::kParallel, "p.c", 20, main);
    const uint32_t idle = b.openmp(OmpConstruct::kIdle, "", 0, 0);
    for (uint32_t thread = 0; thread < 2; ++thread) {
        const uint64_t waited_ns = thread == 0 ? 400 * kMs : 0;
        b.spent(region, 0, thread, 1, 600 * kMs, waited_ns).created = 1 - thread;
        b.spent(region, 1, thread, 1, 100 * kMs, 0).created = 1 - thread;
    }
    b.calls(wait, 0, known_wait(10, 0, 0));
    b.calls(wait, 1, known_wait(10, 500 * kMs, 500 * kMs));
    b.spent(idle, 1, 1, 1, 500 * kMs, 500 * kMs, true);
    Profile& p = b.profile();
    p.intervals.push_back({wait, wait, region, 20, 700 * kMs, kMs, 60 * kMs, {}});
    p.partners = {{wait, 0, 0, 10, 500 * kMs, 60 * kMs, 0, 0}};
    p.causes = {{0, 0, 10, 500 * kMs, 0, 0}};
    return b.finish();
}

TEST(Verdict, NamesTheLateRankBehindIdleThreads) {
    Profile profile = late_region();
    for (ProfileRank& rank : profile.ranks) rank.threads = 2;
    // Waiting and idle 500 ms each, of 2.4 s.
    expect_words(
        profile,
        {"pic loses 20.8 % of its time to waiting for late ranks, 250 ms a rank, and 20.8 % to "
         "OpenMP threads idle meanwhile.",
         "Main cause: rank 0 computes in main (p.c:20), and others wait 250 ms a rank, mostly at "
         "p.c:30 MPI_Waitall in main."});
    // While one thread works for 500 ms, the other is idle at most that long.
    profile.omp_idle_ns += 1000 * kMs;
    expect_words(profile, {"late ranks, 250 ms a rank, and 20.8 % to OpenMP threads idle"});
}

TEST(Verdict, SaysWhenNothingIsWrong) {
    Builder b(2, "heat");
    const uint32_t main = b.proc("main", "heat.c", 1, 0);
    const uint32_t reduce = b.comm("MPI_Allreduce", "heat.c", 20, main);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        b.compute(main, rank, 970 * kMs);
        b.calls(reduce, rank, known_wait(10, 30 * kMs, 20 * kMs));
    }
    b.profile().intervals.push_back({reduce,
                                     reduce,
                                     main,
                                     20,
                                     1940 * kMs,
                                     kMs,
                                     99 * kMs,
                                     {{"relax", "heat.c", 7, 150}, {"main", "heat.c", 9, 50}}});
    expect_words(b.finish(),
                 {"dwell verdict: heat computes 97.0 % of its time; no rank waits "
                  "long. Most computation, by samples: relax heat.c:7 75 %, main heat.c:9 "
                  "25 %."});
}

TEST(Verdict, SaysFirstThatRanksDidNotEnd) {
    Profile profile = late_rank();
    profile.ranks[1].state = FileState::kRunning;
    expect_words(profile,
                 {"dwell verdict: heat broke off: rank 1 did not finish MPI_Finalize. Until "
                  "then 16.7 % of the time was lost to waiting for late ranks",
                  "Main cause: rank 0 computes in relax",
                  "Trust: counts end where the program broke off. Next"});
    profile.ranks[0].state = FileState::kRunning;
    expect_words(profile, {"ranks 0 and 1 did not finish MPI_Finalize."});
    profile.ranks[1].state = FileState::kAborted;
    expect_words(profile, {"heat broke off: rank 1 called MPI_Abort."});
    EXPECT_TRUE(verdict(Profile{}).starts_with("dwell verdict: nothing of the program was "));
}

TEST(Verdict, TrustsTwoThingsAtMost) {
    Profile profile = late_rank();
    profile.world_size = 4;
    profile.ranks[0].dropped = 7;
    profile.ranks[0].guessed = 3;
    profile.notes = {"one", "two"};
    expect_words(profile, {"Trust: 2 of 4 ranks observed, 7 calls not counted. Next:"});
}

TEST(Verdict, IsNeverLongerThanTenLinesNorTooWide) {
    std::string deep;
    for (int i = 0; i < 40; ++i) deep += "an_outer_namespace_of_some_length::";
    Halo long_names;
    long_names.program = std::string(300, 'p');
    long_names.file = "/home/" + std::string(200, 'f') + ".cpp";
    long_names.compute = deep + "relax<std::vector<std::vector<double>>>(int)";
    long_names.exchange = deep + "exchange(" + std::string(200, 'x') + ")";
    long_names.setup_wait_ms = 900;
    Profile worst = late_rank(long_names);
    worst.world_size = 1 << 20;
    worst.ranks[0].state = worst.ranks[1].state = FileState::kRunning;
    worst.ranks[1].dropped = uint64_t{1} << 40;
    Halo without_samples = long_names;
    without_samples.sampled = 0;
    for (const Profile& profile :
         {worst, late_rank(without_samples), late_rank(), samples::halo_profile(),
          samples::hostile_profile(), samples::large_profile(), samples::serial_profile(),
          samples::probed_profile(), samples::grid_profile(), samples::chain_profile(),
          samples::with_usage(samples::halo_profile()), samples::openmp_profile(),
          samples::io_profile(), Profile{}}) {
        for (const int width : {60, 80, 100, 200}) {
            for (const bool utf8 : {false, true}) expect_small(profile, width, utf8);
        }
    }
}

TEST(Verdict, NeverCutsTheDirectory) {
    TextOptions options;
    options.width = 60;
    const std::string directory(200, 'd');
    EXPECT_TRUE(write_verdict(late_rank(), options, directory)
                    .ends_with("\nNext: dwell report " + directory + "\n"));
    EXPECT_EQ(write_verdict(late_rank(), options, "").find("Next"), std::string::npos);
}

// Who was where comes first, also in the report; with it the verdict keeps to its ten lines.
TEST(Verdict, BeginsWithWhereTheRanksWere) {
    Profile profile = late_rank();
    for (ProfileRank& rank : profile.ranks) rank.state = FileState::kRunning;
    profile.ending =
        "Nobody could go on: rank 1 waits for rank 0 in MPI_Recv heat.c:12; rank 0 waits for rank "
        "1 "
        "in MPI_Recv heat.c:30.";
    expect_words(profile,
                 {"dwell verdict: heat broke off: ranks 0 and 1 did not finish MPI_Finalize. " +
                  profile.ending + " Until then 16.7 % of the time was lost"});
    for (const int width : {60, 80, 200}) {
        const std::string text = verdict(profile, width);
        EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kVerdictLines) << text;
    }
    TextOptions options;
    options.width = 80;
    const std::string report = words_of(write_text_report(profile, options));
    EXPECT_LT(report.find(profile.ending), report.find("Time per rank"));
}

TEST(Verdict, ReportShowsWhatTheWatchdogSaid) {
    Profile profile = late_rank();
    TextOptions options;
    EXPECT_EQ(write_text_report(profile, options).find("watchdog"), std::string::npos);
    profile.watchdog = "nothing has moved for 60 s\n\n  main  ranks 0,1\n";
    const std::string report = write_text_report(profile, options);
    EXPECT_NE(report.find("Report of the watchdog"), std::string::npos);
    EXPECT_NE(report.find("\n    main  ranks 0,1\n"), std::string::npos);
}

}  // namespace
}  // namespace dwell
