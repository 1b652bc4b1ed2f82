// Reports on procedures whose entries were counted without time, or not at all: lists sort them by
// their estimated time.
#include <gtest/gtest.h>

#include <string>

#include "report/text/site_query.h"
#include "report/text/text_report.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using samples::kMs;

// One rank of 1 s. main computes 700 ms, of which hot is estimated to have taken 600 ms: one of its
// 5000 entries was timed, with 1 us, and 2 million were not counted. cold takes 300 ms.
Profile reduced_profile(uint32_t flags) {
    samples::Builder b(1, "example");
    const std::string file = "/home/ada/example.c";
    const uint32_t main = b.proc("main", file, 10, 0);
    const uint32_t cold = b.call("cold", file, 11, main, 30);
    const uint32_t hot = b.call("hot", file, 12, main, 40);
    b.entered(main, 0, 1, 1000 * kMs);
    b.compute(main, 0, 700 * kMs - 1000);
    b.entered(cold, 0, 1, 300 * kMs);
    b.compute(cold, 0, 300 * kMs);
    b.entered(hot, 0, 5000, 1000);
    b.compute(hot, 0, 1000);
    Totals& totals = b.totals_of(hot, 0);
    totals.untimed = 4999;
    totals.estimated_ns = 600 * kMs;
    totals.off_entries = 2'000'000;
    totals.off_error = 400'000;
    b.profile().nodes[hot].labels |= kLabelReduced;
    b.profile().sites = {3, 3, 0, 0, {}};
    b.profile().ranks[0].flags |= flags;
    return b.finish();
}

std::string report(const Profile& profile) {
    TextOptions options;
    options.width = 140;
    return write_text_report(profile, options);
}

TEST(ReducedReport, SitesStandWhereTheirEstimateBelongs) {
    const std::string text = report(reduced_profile(0));
    const size_t tree = text.find("Call tree");
    const size_t list = text.find("Costliest procedures");
    ASSERT_NE(tree, std::string::npos);
    ASSERT_NE(list, std::string::npos);
    const std::string nodes = text.substr(tree, list - tree);
    EXPECT_LT(nodes.find("hot ~"), nodes.find("cold")) << nodes;
    EXPECT_NE(nodes.find("100.0 % untimed, ~600 ms more, about 2.00 M ± 20 % not counted"),
              std::string::npos)
        << nodes;
    EXPECT_NE(nodes.find("computation here  ~600 ms of it in untimed entries"), std::string::npos)
        << nodes;
    // main's own time is the longest measured one: 700 ms.
    const std::string sites = text.substr(list);
    EXPECT_LT(sites.find("example.c:10  main"), sites.find("example.c:40  hot")) << sites;
    EXPECT_LT(sites.find("example.c:40  hot"), sites.find("example.c:30  cold")) << sites;
}

TEST(ReducedReport, WhatASiteHoldsSaysWhatIsEstimatedOfIt) {
    const auto text = write_site_report(reduced_profile(0), "main", TextOptions());
    ASSERT_TRUE(text);
    const size_t hot = text->find("call hot");
    ASSERT_NE(hot, std::string::npos) << *text;
    EXPECT_LT(hot, text->find("call cold")) << *text;
    const std::string line = text->substr(hot, text->find('\n', hot) - hot);
    EXPECT_NE(line.find("~600 ms more"), std::string::npos) << line;
}

// Also for loops whose source could not be read.
TEST(ReducedReport, LoopsWhoseConditionIsGuessedSaySo) {
    Profile profile = reduced_profile(0);
    for (ProfileNode& node : profile.nodes) {
        if (node.name == "hot") {
            node.kind = SiteKind::kLoop;
            node.totals.iterations = 70;
            node.labels |= kLabelGuessed;
        }
    }
    const std::string text = report(profile);
    EXPECT_NE(text.find("70 iterations of 1 timed entries, give or take one an entry"),
              std::string::npos)
        << text;
}

TEST(ReducedReport, WithoutMpiNothingSpeaksOfIt) {
    const std::string serial = report(reduced_profile(kFileSerial));
    EXPECT_EQ(serial.find("MPI"), std::string::npos) << serial;
    EXPECT_NE(report(reduced_profile(0)).find("or MPI call"), std::string::npos);
}

TEST(ReducedReport, TrustWarnsOfForcedProbes) {
    const std::string warning = "short procedures may be shown too short";
    Profile profile = reduced_profile(0);
    profile.ranks[0].intrusion_ns = profile.ranks[0].real_ns * 9 / 100;
    EXPECT_EQ(report(profile).find(warning), std::string::npos);
    profile.ranks[0].intrusion_ns = profile.ranks[0].real_ns * 11 / 100;
    EXPECT_NE(report(profile).find(warning), std::string::npos) << report(profile);
}

TEST(ReducedReport, TrustTellsWhatWasNotCounted) {
    const std::string text = report(reduced_profile(0));
    EXPECT_NE(text.find("counts are exact except for 1 short place, marked ~"), std::string::npos)
        << text;
}

TEST(ReducedReport, AnUnknownSiteMayBeOneThatWasSwitchedOff) {
    const auto missing = write_site_report(reduced_profile(0), "tepid", TextOptions());
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().find("enabling profile"), std::string::npos);
    const auto off = write_site_report(reduced_profile(kFileSitesOff), "tepid", TextOptions());
    ASSERT_FALSE(off);
    EXPECT_NE(off.error().find("an enabling profile of the run switched sites off"),
              std::string::npos);
}

TEST(ReducedReport, WithoutATimedEntryThereIsNoTime) {
    Profile profile = reduced_profile(kFileSitesOff);
    for (ProfileNode& node : profile.nodes) {
        if (node.name != "hot" || node.kind != SiteKind::kProcedure) continue;
        node.totals.untimed = node.totals.count;
        node.totals.time_ns = node.totals.estimated_ns = 0;
        node.labels = kLabelProbed | kLabelCounted;
    }
    const auto text = write_site_report(profile, "hot", TextOptions());
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("  count ≥5000"), std::string::npos) << *text;
    EXPECT_NE(text->find("untimed"), std::string::npos) << *text;
    EXPECT_EQ(text->find("time 0"), std::string::npos) << *text;
}

TEST(ReducedReport, AShortRunMayBeAboveTheLimitOfControl) {
    Profile profile = reduced_profile(0);
    ProfileRank& rank = profile.ranks[0];
    rank.real_ns = 900 * kMs;
    rank.intrusion_ns = rank.own_ns = 10 * kMs;
    EXPECT_NE(report(profile).find("real time, dwell's start included"), std::string::npos);
    rank.intrusion_ns = rank.own_ns = 8 * kMs;
    EXPECT_EQ(report(profile).find("dwell's start"), std::string::npos);
    rank.real_ns = 2000 * kMs;
    rank.intrusion_ns = rank.own_ns = 100 * kMs;
    EXPECT_EQ(report(profile).find("dwell's start"), std::string::npos);
}

}  // namespace
}  // namespace dwell
