// The run over time, in text, JSON and CSV, from a profile made by hand.
#include <gtest/gtest.h>

#include <string>

#include "report/figures/axis_columns.h"
#include "report/text/text_report.h"
#include "summarize/formats/read_json.h"
#include "summarize/formats/write_csv.h"
#include "summarize/formats/write_json.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

AxisFigures both(uint64_t computation_ns, uint64_t waiting_ns, uint64_t bytes) {
    AxisFigures figures{};
    figures.computation_ns = computation_ns;
    figures.waiting_ns = waiting_ns;
    figures.bytes_sent = bytes;
    return figures;
}

// Eight bins of 2^20 ns in which two ranks compute; in the last four half of the time is waiting,
// and they are the phase at node 1.
Profile waits_later() {
    Profile profile = samples::halo_profile();
    profile.axis.width_ns = 1 << 20;
    profile.axis.start_unix_ns = 5 << 20;
    for (uint64_t i = 0; i < 8; ++i) {
        ProfileBin bin;
        bin.number = i;
        bin.ranks = 2;
        const bool later = i >= 4;
        const uint64_t waited = later ? 1 << 20 : 0;
        bin.sum = both((2 << 20) - waited, waited, 1000);
        bin.least = both((1 << 20) - waited, 0, 0);
        bin.most = both(1 << 20, waited, 1000);
        if (later) bin.phase = 1;
        profile.axis.bins.push_back(bin);
        profile.axis.rows.push_back({i, 0, bin.most});
    }
    return profile;
}

// Of the run over time.
std::string line_with(const std::string& text, const std::string& begin) {
    const size_t at = text.find("\n  " + begin, text.find("\nOver time"));
    if (at == std::string::npos) return "";
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(OverTime, OneLineForEachPartOfTheTime) {
    TextOptions options;
    options.width = 80;
    const std::string text = write_text_report(waits_later(), options);
    EXPECT_NE(text.find("Over time"), std::string::npos);
    EXPECT_NE(text.find("one character: 1.05 ms; full height: the value at the right"),
              std::string::npos);
    EXPECT_EQ(line_with(text, "computation  "), "  computation    ████▄▄▄▄     100.0 %");
    EXPECT_EQ(line_with(text, "waiting  "), "  waiting            ████      50.0 %");
    EXPECT_EQ(line_with(text, "phase  "), "  phase              aaaa");
    EXPECT_EQ(line_with(text, "OpenMP idle"), "");
}

TEST(OverTime, InPlainAscii) {
    TextOptions options;
    options.width = 80;
    options.utf8 = false;
    const std::string text = write_text_report(waits_later(), options);
    EXPECT_EQ(line_with(text, "computation  "), "  computation    ####====     100.0 %");
    for (const char c : line_with(text, "waiting  ")) EXPECT_LT(static_cast<unsigned char>(c), 128);
}

TEST(OverTime, NothingWithoutAnAxis) {
    EXPECT_EQ(write_text_report(samples::halo_profile(), {}).find("Over time"), std::string::npos);
}

TEST(OverTime, BinsAreJoinedToFewerColumns) {
    const AxisColumns columns = axis_columns(waits_later().axis, 3);
    ASSERT_EQ(columns.columns.size(), 3u);  // three bins, three, two
    EXPECT_EQ(columns.width_ns, 3u << 20);
    EXPECT_EQ(columns.columns[0].sum.waiting_ns, 0u);
    EXPECT_EQ(columns.columns[1].sum.waiting_ns, 2u << 20);
    EXPECT_EQ(columns.columns[2].sum.waiting_ns, 2u << 20);
    EXPECT_EQ(columns.columns[2].sum.bytes_sent, 2000u);
    EXPECT_TRUE(axis_columns(ProfileAxis{}, 3).columns.empty());
}

TEST(OverTime, HeightsAreSharesOfTheHighest) {
    EXPECT_EQ(spark_text({0, 0.01, 1, 0.5}, 1, true), " ▁█▄");
    EXPECT_EQ(spark_text({0, 0.01, 1, 0.5}, 1, false), " .#=");
    EXPECT_EQ(spark_text({0, 0}, 0, true), "  ");
}

TEST(OverTime, IsInJsonWhole) {
    const Profile profile = waits_later();
    const auto copy = read_profile_json(write_profile_json(profile));
    ASSERT_TRUE(copy) << copy.error();
    EXPECT_EQ(copy->axis.width_ns, profile.axis.width_ns);
    EXPECT_EQ(copy->axis.start_unix_ns, profile.axis.start_unix_ns);
    ASSERT_EQ(copy->axis.bins.size(), 8u);
    EXPECT_EQ(copy->axis.bins[3].phase, kNoNode);
    EXPECT_EQ(copy->axis.bins[4].phase, 1u);
    EXPECT_EQ(copy->axis.bins[4].ranks, 2u);
    EXPECT_EQ(copy->axis.bins[4].sum.waiting_ns, 1u << 20);
    EXPECT_EQ(copy->axis.bins[4].least.waiting_ns, 0u);
    EXPECT_EQ(copy->axis.bins[4].most.bytes_sent, 1000u);
    ASSERT_EQ(copy->axis.rows.size(), 8u);
    EXPECT_EQ(copy->axis.rows[7].figures.waiting_ns, 1u << 20);
}

TEST(OverTime, BadBinsAreRefused) {
    Profile profile = waits_later();
    profile.axis.bins[2].number = 1;
    EXPECT_FALSE(read_profile_json(write_profile_json(profile)));
    profile = waits_later();
    profile.axis.bins[4].phase = 99999;
    EXPECT_FALSE(read_profile_json(write_profile_json(profile)));
    profile = waits_later();
    profile.axis.width_ns = 1000;
    EXPECT_FALSE(read_profile_json(write_profile_json(profile)));
}

TEST(OverTime, IsInCsvWhole) {
    Profile profile = waits_later();
    profile.nodes[1].name = "=solve";
    const auto csv = write_axis_csv(profile, true);
    ASSERT_TRUE(csv);
    EXPECT_EQ(csv->substr(0, csv->find("\r\n")),
              "start_s,width_s,rank,phase,computation_s,transfer_s,waiting_s,omp_wait_s,omp_idle_s,"
              "io_s,bytes_sent");
    EXPECT_NE(csv->find("\r\n0.004194304,0.001048576,*,'=solve,0.001048576,0.000000000,0.001048576,"
                        "0.000000000,0.000000000,0.000000000,1000\r\n"),
              std::string::npos);
    EXPECT_NE(csv->find("\r\n0.000000000,0.001048576,min,,0.001048576,0.000000000,0.000000000,"),
              std::string::npos);
    EXPECT_NE(csv->find("\r\n0.007340032,0.001048576,0,,"), std::string::npos);
    profile.merged_flags |= kMergedAxisDropped;
    EXPECT_FALSE(write_axis_csv(profile, true));
    EXPECT_TRUE(write_axis_csv(profile, false));
}

}  // namespace
}  // namespace dwell
