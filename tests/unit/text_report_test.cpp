// The text report: widths, character sets, colours, and figures that add up.
#include "report/text_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/text_style.h"
#include "tests/unit/sample_profiles.h"

namespace dwell {
namespace {

std::vector<Profile> all_profiles() {
    return {samples::halo_profile(), samples::hostile_profile(), samples::large_profile(),
            samples::serial_profile(), Profile{}};
}

TEST(TextReport, NoLineIsWiderThanAsked) {
    for (const Profile& profile : all_profiles()) {
        for (const int width : {60, 80, 100, 200}) {
            for (const bool utf8 : {false, true}) {
                TextOptions options;
                options.width = width;
                options.utf8 = utf8;
                options.per_rank = true;
                std::istringstream text(write_text_report(profile, options) +
                                        write_summary(profile, options, ""));
                for (std::string line; std::getline(text, line);) {
                    EXPECT_LE(display_width(line), width) << line;
                    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
                }
            }
        }
    }
}

TEST(TextReport, AsciiAndColoursOnlyWhenAsked) {
    for (const Profile& profile : all_profiles()) {
        TextOptions options;
        options.per_rank = true;
        EXPECT_EQ(write_text_report(profile, options).find('\033'), std::string::npos);
        options.utf8 = false;
        for (const char c : write_text_report(profile, options)) {
            EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
        }
        options.color = true;
        if (!profile.nodes.empty()) {
            EXPECT_NE(write_text_report(profile, options).find('\033'), std::string::npos);
        }
    }
}

TEST(TextReport, NamesLineAndRankThatCost) {
    const Profile profile = samples::halo_profile();
    const std::string report = write_text_report(profile, {});
    EXPECT_NE(report.find("halo.c:88 MPI_Recv in exchange_halo"), std::string::npos);
    EXPECT_NE(report.find("rank 0: 3.00 s, 1.82x mean"), std::string::npos);  // 3.0 / 1.65
    EXPECT_NE(report.find("1→0 45 %"), std::string::npos);                    // 3.0 / 6.6
    EXPECT_NE(report.find("1402 of 1914 samples"), std::string::npos);
    const std::string summary = write_summary(profile, {}, "out/report.txt");
    EXPECT_NE(summary.find("out/report.txt"), std::string::npos);
    EXPECT_LE(std::count(summary.begin(), summary.end(), '\n'), 30);
}

// The layout as last agreed on; times are in UTC there. A change of it must be looked at.
TEST(TextReport, LooksAsReviewed) {
    setenv("TZ", "UTC", 1);
    const auto path = std::filesystem::path(__FILE__).parent_path() / "golden" / "halo_80.txt";
    std::ifstream file(path);
    ASSERT_TRUE(file) << path;
    std::ostringstream wanted;
    wanted << file.rdbuf();
    TextOptions options;
    options.width = 80;
    EXPECT_EQ(write_text_report(samples::halo_profile(), options), wanted.str());
}

TEST(TextReport, SharesAddUpToTheWhole) {
    const std::string report = write_text_report(samples::halo_profile(), {});
    EXPECT_NE(report.find("76.5 %"), std::string::npos);  // 30.6 of 40 s
    EXPECT_NE(report.find(" 5.0 %"), std::string::npos);  // 2.0
    EXPECT_NE(report.find("18.5 %"), std::string::npos);  // 7.4
}

TEST(TextStyle, ThreeDigitsAndUnits) {
    EXPECT_EQ(time_text(999, true), "999 ns");
    EXPECT_EQ(time_text(999.6, true), "1.00 µs");
    EXPECT_EQ(time_text(12'345, false), "12.3 us");
    EXPECT_EQ(time_text(999'600'000, true), "1.00 s");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.50 KiB");
    EXPECT_EQ(bytes_text(1024.0 * 1024 * 31.25), "31.2 MiB");
    EXPECT_EQ(count_text(99'999), "99999");
    EXPECT_EQ(count_text(1'234'567), "1.23 M");
}

TEST(TextStyle, CutsAndNames) {
    EXPECT_EQ(cut_middle("abcdefghij", 5, true), "ab…ij");
    EXPECT_EQ(cut_middle("abcdefghij", 10, true), "abcdefghij");
    EXPECT_EQ(display_width("größe"), 5);
    EXPECT_EQ(display_width("日本"), 4);
    EXPECT_EQ(printable("a\033[31mb\n", true), "a?[31mb?");
    EXPECT_EQ(short_name("void ns::f<int, std::vector<int> >(int)", false), "ns::f<..>");
    EXPECT_EQ(short_name("(anonymous namespace)::helper(int)", true), "(anon)::helper");
    EXPECT_EQ(short_name("solve_", true), "solve_");
}

}  // namespace
}  // namespace dwell
