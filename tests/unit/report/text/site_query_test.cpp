// Tests `dwell report --site` and --left-out on the paper's example (probed_profile): every query
// of the paper's section 6.4.1, with the answer known from the numbers of the profile.
#include "report/text/site_query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/figures/text_style.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

// Runs of blanks become one blank, so that a test does not depend on columns.
std::string answer(const std::string& site, bool per_rank = false) {
    TextOptions options;
    options.per_rank = per_rank;
    options.width = 200;
    const auto text = write_site_report(samples::probed_profile(), site, options);
    if (!text) return "error: " + text.error();
    std::string squeezed;
    for (const char c : *text) {
        if (c != ' ' || (!squeezed.empty() && squeezed.back() != ' ')) squeezed += c;
    }
    return squeezed;
}

void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
    }
}

// "Total execution time of the whole program", "total message transmission time", "total
// communication synchronisation time".
TEST(SiteQuery, WholeProgram) {
    expect_in(answer("main"), {"example: 1.48 s; computation 985 ms, MPI transfer 245 ms, "
                               "waiting 250 ms"});
}

// "Total execution time of the procedure calls in main", by call statement.
TEST(SiteQuery, CallsInMain) {
    expect_in(answer("main"),
              {"main example.c:10", "procedure\n", "in calls 1.32 s",
               "1.04 s 71.2 % 2 call p1 example.c:11\n", "260 ms 17.8 % 2 call p2 example.c:12\n",
               "20.0 ms 1.4 % call report example.c:13\n", "60.0 ms 4.1 % 4 checkpoint"});
}

// "Total time and count of procedure p3", by the statements that call it.
TEST(SiteQuery, TimeAndCountOfAProcedure) {
    expect_in(answer("p3"),
              {"time 1.28 s, 86.5 % of the run · count 4 · each 640 ms · 250 ms to 1.03 s",
               "own computation 60.0 ms", "1.03 s 80.5 % 2 call p3 example.c:17 in p1\n",
               "250 ms 19.5 % 2 call p3 example.c:21 in p2\n"});
}

// "Total execution time of the communication event at L12."
TEST(SiteQuery, CommunicationAtALine) {
    const std::string text = answer("example.c:28");
    expect_in(text, {"MPI_Recv example.c:28 ", "time 260 ms", "count 40", "transfer 20.0 ms",
                     "waiting 240 ms", "260 ms 100.0 % 40 loop example.c:27 in p3\n"});
    EXPECT_EQ(text, answer("MPI_Recv"));
}

// "Total execution time of loop1", "of loop2 within loop1", "time spent on communication" in it.
TEST(SiteQuery, LoopsAndWhatTheyHold) {
    expect_in(answer("example.c:27"),
              {"loop example.c:27", "time 880 ms", "count 4", "44 iterations", "in MPI 260 ms",
               "560 ms 63.6 % 40 loop example.c:29\n", "260 ms 29.5 % 40 MPI_Recv example.c:28\n",
               "60.0 ms 6.8 % computation here\n"});
}

TEST(SiteQuery, RanksAndEstimates) {
    // 400 + 100 + 80 + 20 ms on rank 0; two times 40 ms less on rank 1.
    expect_in(answer("p4", true), {"78.4 % untimed, ~60.0 ms more · ", "0 0 600 ms 600 ms 102\n",
                                   "1 0 520 ms 520 ms 102\n"});
    expect_in(answer("report"), {"time 20.0 ms, 1.4 % of the run, estimated"});
}

// Template arguments may be left out, as in the verdict.
TEST(SiteQuery, NamesWithoutTemplateArguments) {
    Profile profile = samples::probed_profile();
    for (ProfileNode& node : profile.nodes) {
        if (node.name == "p3") node.name = "void heat::Grid<double, 3>::p3<int>(int)";
    }
    TextOptions options;
    options.width = 200;
    const auto whole = write_site_report(profile, "heat::Grid<double, 3>::p3<int>", options);
    ASSERT_TRUE(whole) << whole.error();
    for (const char* name : {"heat::Grid::p3", "Grid::p3", "p3"}) {
        const auto text = write_site_report(profile, name, options);
        EXPECT_EQ(text ? *text : text.error(), *whole) << name;
    }
    EXPECT_FALSE(write_site_report(profile, "rid::p3", options));
}

// insert has 8 ms by estimate, and below that three entries by probes, two of them timed with 1000
// ns in all: a single entry took 500 ns.
TEST(SiteQuery, SingleEntriesAreThoseThatProbesTimed) {
    using samples::kMs;
    samples::Builder b(1, "example");
    const std::string file = "/home/ada/example.c";
    const uint32_t main = b.proc("main", file, 10, 0);
    const uint32_t outer = b.call("insert", file, 11, main, 30);
    const uint32_t inner = b.call("insert", file, 31, outer, 30);
    b.entered(main, 0, 1, 10 * kMs);
    b.compute(main, 0, 2 * kMs);
    b.compute(outer, 0, 8 * kMs);
    b.entered(inner, 0, 3, 1000);
    b.compute(inner, 0, 1000);
    Totals& totals = b.totals_of(inner, 0);
    totals.untimed = 1;
    totals.min_ns = 400;
    totals.max_ns = 600;
    TextOptions options;
    options.width = 200;
    const auto text = write_site_report(b.finish(), "insert", options);
    ASSERT_TRUE(text) << text.error();
    expect_in(*text, {"time 8.00 ms", "count 3 ", "each 500 ns", "400 ns to 600 ns"});
}

TEST(SiteQuery, WhatIsNotThere) {
    EXPECT_EQ(answer("tiny"), "error: tiny has no probes: too small");
    EXPECT_EQ(answer("nothing").find("error: this profile has no procedure"), 0u);
    EXPECT_EQ(answer("example.c:999").find("error: "), 0u);
    EXPECT_EQ(answer("xample.c:27").find("error: "), 0u);
    EXPECT_EQ(answer("ada/example.c:27"), answer("/home/ada/example.c:27"));
}

TEST(SiteQuery, NoLineIsWiderThanAsked) {
    for (const char* site : {"p3", "example.c:27", "MPI_Recv", "step", "checkpoint", "main"}) {
        for (const int width : {60, 100}) {
            TextOptions options;
            options.width = width;
            options.per_rank = true;
            const auto text = write_site_report(samples::probed_profile(), site, options);
            ASSERT_TRUE(text) << text.error();
            std::istringstream lines(*text);
            for (std::string line; std::getline(lines, line);) {
                EXPECT_LE(display_width(line), width) << line;
            }
        }
    }
}

TEST(SiteQuery, LeftOutIsNamedOnRequest) {
    TextOptions options;
    const std::string usual = write_text_report(samples::probed_profile(), options);
    EXPECT_NE(usual.find("Without probes: 2 procedures (1 not selected, 1 too small)"),
              std::string::npos);
    EXPECT_EQ(usual.find("tiny"), std::string::npos);
    options.left_out = true;
    const std::string named = write_text_report(samples::probed_profile(), options);
    expect_in(named, {"Without probes (3)", "too small     tiny  example.c:50\n",
                      "not selected  loop  example.c:52\n"});
    expect_in(write_text_report(samples::halo_profile(), options),
              {"Nothing in this job was compiled with probes."});
}

}  // namespace
}  // namespace dwell
