// OpenMP in the report and the files: samples::openmp_profile.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "report/figures/figures.h"
#include "report/text/site_query.h"
#include "report/text/text_report.h"
#include "summarize/formats/read_json.h"
#include "summarize/formats/write_csv.h"
#include "summarize/formats/write_json.h"
#include "summarize/formats/write_picl.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

bool has(const std::string& text, const std::string& pattern) {
    return std::regex_search(text, std::regex(pattern));
}

TEST(OmpView, RegionsHaveWorkWaitingAndBalance) {
    const Profile profile = samples::openmp_profile();
    TextOptions options;
    options.utf8 = false;
    const std::string text = write_text_report(profile, options);
    EXPECT_TRUE(has(text, "OpenMP constructs \\(4 of 4\\)")) << text;
    // 102 and 252 ms without waiting: 252 / 177 = 1.42 (and tasks of 10 ms on thread 0).
    EXPECT_TRUE(has(text, "triangle.c:20  parallel +thread 1: 253 ms work, 1.4.x mean")) << text;
    EXPECT_TRUE(has(text, "triangle.c:21  for +thread 1: 250 ms work, 1.47x mean")) << text;
    EXPECT_TRUE(has(text, "340 ms +20 +2 +340 ms +0  80 iterations")) << text;
    EXPECT_TRUE(has(text, "516 ms +10 +2 +356 ms +160 ms  1.00 ms fork and join")) << text;
    EXPECT_TRUE(has(text, "12 created, each 2.00 ms until its start")) << text;
}

TEST(OmpView, HeadHasWaitingIdleAndSerialTime) {
    const Profile profile = samples::openmp_profile();
    TextOptions options;
    options.utf8 = false;
    const std::string text = write_text_report(profile, options);
    EXPECT_TRUE(has(text, "computation +456 ms")) << text;
    EXPECT_TRUE(has(text, "OpenMP wait +160 ms")) << text;
    EXPECT_TRUE(has(text, "OpenMP idle +100 ms")) << text;
    EXPECT_TRUE(has(text, "OpenMP: 10 regions; 21.9 % of the computation is outside of regions"))
        << text;
    const std::string without = write_text_report(samples::halo_profile(), options);
    EXPECT_FALSE(has(without, "OpenMP")) << without;
}

std::string site(const std::string& name, bool per_rank = false) {
    TextOptions options;
    options.utf8 = false;
    options.per_rank = per_rank;
    options.width = 200;
    return write_site_report(samples::openmp_profile(), name, options).value();
}

// 456 + 160 + 100 ms are all of its 716.
TEST(OmpView, HeadOfASiteAddsUp) {
    const std::string text = site("triangle.c:20");
    EXPECT_TRUE(has(text,
                    "triangle: 716 ms; computation 456 ms, OpenMP wait 160 ms, OpenMP idle "
                    "100 ms\\."))
        << text;
}

TEST(OmpView, WaitingIsNoComputationOfASite) {
    // Of 162 ms in the barrier 160 are waiting; the region itself takes 4 ms, which are waiting.
    const std::string text = site("triangle.c:20");
    EXPECT_TRUE(has(text, "160 ms waiting.*own computation 2.00 ms\n")) << text;
    EXPECT_TRUE(has(text, "own computation 4.00 ms")) << text;
    EXPECT_TRUE(has(site("idle"), "own computation 0")) << site("idle");
    // By thread: the barrier's 161 and 1 ms are 1 and 1 without waiting.
    const std::string ranks = site("triangle.c:20", true);
    EXPECT_TRUE(has(ranks, "\n +0 +0 +161 ms +1.00 ms +10\n")) << ranks;
    EXPECT_TRUE(has(ranks, "\n +0 +1 +1.00 ms +1.00 ms +10\n")) << ranks;
    EXPECT_TRUE(has(ranks, "\n +0 +0 +263 ms +2.00 ms +10\n")) << ranks;
}

TEST(OmpView, ThreadsHaveRowsWhenAsked) {
    TextOptions options;
    options.utf8 = false;
    options.per_rank = true;
    const std::string text = write_text_report(samples::openmp_profile(), options);
    EXPECT_TRUE(has(text, "\n +0 +0 +363 ms +203 ms +160 ms +0  triangle\n")) << text;
    EXPECT_TRUE(has(text, "\n +0 +1 +353 ms +253 ms +0 +100 ms  worker-\\* \\(40 threads\\)\n"))
        << text;
}

TEST(OmpView, PartsAddUp) {
    const Profile profile = samples::openmp_profile();
    EXPECT_EQ(profile.computation_ns + profile.omp_wait_ns + profile.omp_idle_ns, profile.total_ns);
    const std::vector<RankFigures> ranks = rank_figures(profile);
    ASSERT_EQ(ranks.size(), 1u);
    EXPECT_EQ(ranks[0].computation_ns, profile.computation_ns);
    EXPECT_EQ(ranks[0].omp_wait_ns, profile.omp_wait_ns);
    EXPECT_EQ(ranks[0].omp_idle_ns, profile.omp_idle_ns);
}

TEST(OmpView, FilesHoldEveryFigure) {
    const Profile profile = samples::openmp_profile();
    const auto read = read_profile_json(write_profile_json(profile));
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(read->omp_wait_ns, profile.omp_wait_ns);
    EXPECT_EQ(read->omp_idle_ns, profile.omp_idle_ns);
    ASSERT_EQ(read->threads.size(), 2u);
    EXPECT_EQ(read->threads[1].thread, 1u);
    EXPECT_EQ(read->threads[1].served, 40u);
    EXPECT_EQ(read->threads[1].name, "worker-*");
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        const Totals& a = profile.nodes[i].totals;
        const Totals& b = read->nodes[i].totals;
        EXPECT_EQ(std::tie(a.omp_wait_ns, a.omp_idle_ns, a.omp_start_ns, a.omp_overhead_ns,
                           a.created, a.chunks),
                  std::tie(b.omp_wait_ns, b.omp_idle_ns, b.omp_start_ns, b.omp_overhead_ns,
                           b.created, b.chunks));
        EXPECT_EQ(profile.nodes[i].call, read->nodes[i].call);
    }
    const std::string csv = write_csv(profile);
    EXPECT_TRUE(has(csv, "omp,parallel,/home/ada/triangle.c,20,\\*,\\*,20,0.516")) << csv;
    EXPECT_TRUE(has(csv, ",0.160000000,0.000000000,0.000000000,0.001000000,10,0,")) << csv;
    EXPECT_TRUE(has(write_picl(profile), "omp parallel@/home/ada/triangle.c:20"));
}

TEST(OmpView, IdleThreadsAreNoSurplusOfComputation) {
    samples::Builder b(2, "app");
    const uint32_t main = b.proc("main", "app.c", 10, 0);
    const uint32_t idle = b.openmp(OmpConstruct::kIdle, "", 0, 0);
    b.compute(main, 0, 100 * samples::kMs);
    b.compute(main, 1, 150 * samples::kMs);
    b.spent(idle, 1, 1, 9, 400 * samples::kMs, 400 * samples::kMs, true);
    EXPECT_EQ(extra_computation(b.finish(), 1), main);
}

}  // namespace
}  // namespace dwell
