// The text report: widths, character sets, colours, and figures that add up.
#include "report/text/text_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/figures/figures.h"
#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

std::vector<Profile> all_profiles() {
    return {samples::halo_profile(),
            samples::hostile_profile(),
            samples::large_profile(),
            samples::serial_profile(),
            samples::probed_profile(),
            samples::grid_profile(),
            samples::with_usage(samples::halo_profile()),
            samples::openmp_profile(),
            samples::io_profile(),
            Profile{}};
}

TEST(TextReport, NoLineIsWiderThanAsked) {
    for (const Profile& profile : all_profiles()) {
        for (const int width : {60, 80, 100, 200}) {
            for (const bool utf8 : {false, true}) {
                TextOptions options;
                options.width = width;
                options.utf8 = utf8;
                options.per_rank = true;
                std::istringstream text(write_text_report(profile, options));
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
}

TEST(TextReport, PhasesAndPlacesInAGrid) {
    const Profile profile = samples::grid_profile();
    std::string report;  // words, independent of line breaks
    std::istringstream words(write_text_report(profile, {}));
    for (std::string word; words >> word;) report += word + " ";
    const auto holds = [&report](const char* text) {
        return report.find(text) != std::string::npos;
    };
    EXPECT_TRUE(holds("step 5 to 14, only to 12 on rank 7"));
    EXPECT_TRUE(holds("output 100 to 200, on 1 of 17 ranks"));
    EXPECT_TRUE(holds("cart: 4 x 4 (periodic), 16 of 17 ranks; not in it: rank 16"));
    EXPECT_TRUE(holds("pair: 2 x 1 x 5 (periodic), 1 of 17 ranks"));
    // Ranks at (*,3) compute 20 + 300 ms, but rank 7 20 + 240; at (*,0) 20 + 100, and rank 0 10
    // more; the others 20 + 100.
    EXPECT_TRUE(holds("Computation is uneven: rank 3 (0,3) computes 320 ms"));
    EXPECT_TRUE(holds("most of the surplus in step"));
    EXPECT_TRUE(
        holds("Computation follows the place in grid cart: a rank has 305 ms on average at "
              "(*,3), 120 ms at (*,1)."));
    EXPECT_TRUE(holds("Phases (3 of 3)"));
    EXPECT_EQ(write_text_report(samples::halo_profile(), {}).find("Phases"), std::string::npos);
}

// Rank 1 computes 450 ms more than rank 0: 100 ms in each of three kernels that solve calls, and
// 150 ms in pack. Most of that is in solve, though pack itself has more than any other.
TEST(TextReport, NamesTheProcedureThatHoldsMostOfTheSurplus) {
    samples::Builder b(2, "heat");
    const std::string file = "/home/ada/heat.c";
    const uint32_t main = b.proc("main", file, 1, 0);
    const uint32_t solve = b.call("solve", file, 10, main);
    const uint32_t pack = b.call("pack", file, 11, main);
    for (const char* const name : {"advect", "diffuse", "react"}) {
        const uint32_t kernel = b.call(name, file, 20, solve);
        b.compute(kernel, 0, 300 * samples::kMs);
        b.compute(kernel, 1, 400 * samples::kMs);
    }
    b.compute(pack, 1, 150 * samples::kMs);
    b.compute(main, 0, 100 * samples::kMs);
    b.compute(main, 1, 100 * samples::kMs);
    EXPECT_EQ(extra_computation(b.finish(), 1), solve);
}

// The reviewed layout; times are in UTC there. Every change of it must be reviewed.
TEST(TextReport, LooksAsReviewed) {
    setenv("TZ", "UTC", 1);
    struct Golden {
        const char* file;
        Profile profile;
        int width;
        bool utf8;
    };
    const Golden goldens[] = {
        {"halo_80.txt", samples::halo_profile(), 80, true},
        {"halo_100.txt", samples::halo_profile(), 100, true},
        {"halo_80_ascii.txt", samples::halo_profile(), 80, false},
        {"hostile_80.txt", samples::hostile_profile(), 80, true},
        {"probed_80.txt", samples::probed_profile(), 80, true},
        {"probed_100.txt", samples::probed_profile(), 100, true},
        {"grid_80.txt", samples::grid_profile(), 80, true},
        {"grid_100.txt", samples::grid_profile(), 100, true},
        {"grid_80_ascii.txt", samples::grid_profile(), 80, false},
        {"chain_80.txt", samples::chain_profile(), 80, true},
        {"chain_100.txt", samples::chain_profile(), 100, true},
        {"chain_80_ascii.txt", samples::chain_profile(), 80, false},
    };
    for (const Golden& golden : goldens) {
        SCOPED_TRACE(golden.file);
        const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path() / "golden";
        std::ifstream file(folder / golden.file);
        ASSERT_TRUE(file);
        std::ostringstream wanted;
        wanted << file.rdbuf();
        TextOptions options;
        options.width = golden.width;
        options.utf8 = golden.utf8;
        EXPECT_EQ(write_text_report(golden.profile, options), wanted.str());
    }
}

struct TreeLine {
    double time_ms;
    size_t depth;
    std::string text;
};

// The lines of the call tree of a report in ASCII at a width that cuts nothing.
std::vector<TreeLine> tree_lines(const Profile& profile) {
    TextOptions options;
    options.width = 2000;
    options.utf8 = false;
    std::istringstream report(write_text_report(profile, options));
    std::vector<TreeLine> lines;
    size_t start = std::string::npos;
    for (std::string line; std::getline(report, line);) {
        if (line.find("Lines below") != std::string::npos) break;
        if (start == std::string::npos) {
            start =
                std::min(line.find("procedure or MPI call"), line.find("procedure, loop or MPI"));
            continue;
        }
        std::istringstream figures(line);
        double time = 0;
        std::string unit;
        figures >> time >> unit;
        const double factor = unit == "s" ? 1e3 : unit == "ms" ? 1 : unit == "us" ? 1e-3 : 1e-6;
        const size_t text = line.find_first_not_of(" |`-", start);
        lines.push_back({time * factor, (text - start) / 3, line.substr(text)});
    }
    return lines;
}

// The lines below a line add up to it, up to three digits and remainders too short for a line.
TEST(TextReport, ShownTimesAddUp) {
    for (const Profile& profile :
         {samples::halo_profile(), samples::hostile_profile(), samples::probed_profile()}) {
        const std::vector<TreeLine> lines = tree_lines(profile);
        ASSERT_GT(lines.size(), 3u);
        const double rest_ms = 0.001 * lines[0].time_ms;
        for (size_t i = 0; i < lines.size(); ++i) {
            double sum_ms = 0;
            bool has_parts = false;
            for (size_t j = i + 1; j < lines.size() && lines[j].depth > lines[i].depth; ++j) {
                if (lines[j].depth != lines[i].depth + 1) continue;
                sum_ms += lines[j].time_ms;
                has_parts = true;
            }
            if (!has_parts) continue;
            EXPECT_NEAR(sum_ms, lines[i].time_ms, rest_ms + 0.01 * lines[i].time_ms)
                << lines[i].text;
        }
    }
}

// One rank of 1 s: 600 ms in MPI_Init, which are no communication.
TEST(TextReport, SetupIsNoCommunication) {
    samples::Builder b(1, "short");
    const uint32_t main = b.proc("main", "short.c", 1, 0);
    const uint32_t init = b.comm("MPI_Init", "short.c", 2, main);
    b.calls(init, 0, {1, 600 * samples::kMs, 0, 0, 0, 600 * samples::kMs, 0, 0, 0});
    b.compute(main, 0, 390 * samples::kMs);
    samples::Builder with_send = b;
    EXPECT_NE(write_text_report(b.finish(), {}).find("No MPI communication but set-up"),
              std::string::npos);
    const uint32_t send = with_send.comm("MPI_Send", "short.c", 3, main);
    with_send.calls(send, 0, {1, 10 * samples::kMs, 0, 8, 0, 10 * samples::kMs, 0, 0, 0});
    Profile profile = with_send.finish();
    const std::string report = write_text_report(profile, {});
    EXPECT_NE(report.find("Costliest MPI line: short.c:3 MPI_Send"), std::string::npos);
    EXPECT_NE(report.find("MPI transfer   10.0 ms    2.5 %"), std::string::npos);
    EXPECT_NE(report.find("MPI set-up      600 ms\n"), std::string::npos);
    EXPECT_NE(report.find("Set-up (start and end of MPI"), std::string::npos);
    EXPECT_EQ(report.find("waiting for other ranks"), std::string::npos);
    for (ProfileNode& node : profile.nodes) {
        if (node.name == "MPI_Init")
            node.totals.sync_ns = node.totals.blocked_ns = 450 * samples::kMs;
    }
    const std::string told = write_text_report(profile, {});
    EXPECT_NE(told.find("with\n  450 ms of waiting for other ranks"), std::string::npos) << told;
}

Profile with_setup_of(uint64_t setup_ms) {
    samples::Builder b(1, "steady");
    const uint32_t main = b.proc("main", "steady.c", 1, 0);
    const uint32_t init = b.comm("MPI_Init", "steady.c", 2, main);
    const uint64_t setup_ns = setup_ms * samples::kMs;
    b.calls(init, 0, {1, setup_ns, 0, 0, 0, setup_ns, 0, 0, 0});
    for (const int line : {3, 4, 5}) {
        const uint32_t send = b.comm("MPI_Send", "steady.c", line, main);
        b.calls(send, 0, {1, 10 * samples::kMs, 0, 8, 0, 10 * samples::kMs, 0, 0, 0});
        b.compute(main, 0, 20 * samples::kMs);
    }
    Profile profile = b.finish();
    for (uint32_t to = 3; to <= 5; ++to) {
        profile.intervals.push_back({kNoNode, to, 1, 1, 20 * samples::kMs, 0, 0, {}});
    }
    return profile;
}

// Start-up does not hide the program: a run with little else has as many lines.
TEST(TextReport, ShortRunIsAsLongAsALongOne) {
    const auto lines = [](const std::string& text) {
        return std::count(text.begin(), text.end(), '\n');
    };
    const Profile shortest = with_setup_of(100'000);
    const std::string report = write_text_report(shortest, {});
    EXPECT_NE(report.find("MPI_Send  steady.c:4"), std::string::npos);
    EXPECT_NE(report.find("Costliest computation (3 of 3)"), std::string::npos);
    EXPECT_EQ(lines(report), lines(write_text_report(with_setup_of(50), {})));
}

TEST(TextReport, CountsWhatItLeavesOut) {
    Profile profile = with_setup_of(50);
    profile.intervals[0].lines = {{"work", "steady.c", 7, 9990},
                                  {"rare", "steady.c", 8, 4},
                                  {"seldom", "steady.c", 9, 4},
                                  {"scarce", "steady.c", 10, 2}};
    profile.intervals.push_back({3, 3, 1, 1, 1'000, 0, 0, {}});
    const std::string report = write_text_report(profile, {});
    EXPECT_NE(report.find("Costliest functions (1 of 4)"), std::string::npos);
    EXPECT_NE(report.find("3 more, each below 0.05 % of the samples"), std::string::npos);
    EXPECT_NE(report.find("Costliest computation (3 of 4)"), std::string::npos);
    EXPECT_NE(report.find("1 more, each below 0.05 % of the time outside set-up"),
              std::string::npos);
}

TEST(TextReport, LongCommandShowsTheProgram) {
    Profile profile = samples::halo_profile();
    const std::string folder = "/" + std::string(90, 'd') + "/";
    const auto title = [&](const std::string& command) {
        profile.ranks[0].command = command;
        const std::string report = write_text_report(profile, {});
        return report.substr(0, report.find('\n'));
    };
    EXPECT_NE(title(folder + "heat 512 512").find("…/heat 512 512"), std::string::npos);
    EXPECT_NE(title(folder + "heat " + std::string(200, 'z')).find("…/heat zzz"),
              std::string::npos);
    EXPECT_NE(title("/usr/bin/heat 512").find("/usr/bin/heat 512"), std::string::npos);
}

TEST(TextReport, TrustLooksAtLabels) {
    Profile profile = samples::halo_profile();
    EXPECT_NE(write_text_report(profile, {}).find("counts and bytes are exact"), std::string::npos);
    profile.nodes[samples::kRecv].labels = kLabelFolded;
    profile.nodes[samples::kWait].labels = kLabelLineUnknown;
    profile.nodes[samples::kIsend].labels = kLabelNoLine;
    TextOptions options;
    options.width = 200;
    const std::string report = write_text_report(profile, options);
    EXPECT_EQ(report.find("counts and bytes are exact"), std::string::npos);
    EXPECT_NE(report.find("1 MPI line stands for folded paths"), std::string::npos);
    EXPECT_NE(report.find("1 MPI statement of uncertain line"), std::string::npos);
    EXPECT_NE(report.find("1 MPI statement without line"), std::string::npos);

    // By another path to the same statement.
    profile.nodes.push_back(profile.nodes[samples::kIsend]);
    const std::string twice = write_text_report(profile, options);
    EXPECT_NE(twice.find("1 MPI statement without line"), std::string::npos);
}

// Procedures that were only counted, on the user's request, are in the tree without time.
TEST(TextReport, CountedWithoutTimeIsShown) {
    Profile profile = samples::probed_profile();
    const auto tree_has_counted = [&] {
        const std::string text = write_text_report(profile, {});
        const std::string tree = text.substr(0, text.find("Costliest procedures"));
        return tree.find("4711  ") != std::string::npos;
    };
    for (ProfileNode& node : profile.nodes) {
        if (node.name != "checkpoint") continue;
        node.totals.count = 4711;
        node.totals.time_ns = 0;
    }
    EXPECT_FALSE(tree_has_counted());
    for (ProfileNode& node : profile.nodes) {
        if (node.name == "checkpoint") node.labels |= kLabelCounted;
    }
    EXPECT_TRUE(tree_has_counted());
}

// For nested loops on one line the inner loop's time is part of the outer loop's: the line's time
// counts once. Entries and own time are sums over both loops.
TEST(TextReport, LoopsInEachOtherOnOneLineTakeTheirTimeOnce) {
    Profile profile = samples::probed_profile();
    const ProfileNode* inner = nullptr;
    for (ProfileNode& node : profile.nodes) {
        if (node.kind != SiteKind::kLoop || profile.nodes[node.parent].kind != SiteKind::kLoop) {
            continue;
        }
        node.line = profile.nodes[node.parent].line;
        inner = &node;
    }
    ASSERT_NE(inner, nullptr);
    uint64_t time_ns = 0;  // of all outer ones
    uint64_t own_ns = 0;
    uint64_t entries = 0;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind != SiteKind::kLoop || node.line != inner->line) continue;
        if (profile.nodes[node.parent].kind != SiteKind::kLoop) time_ns += node.totals.time_ns;
        own_ns += node.computation_ns;
        entries += node.totals.count;
    }
    size_t found = 0;
    for (const SiteLine& line : site_lines(profile)) {
        const ProfileNode& node = profile.nodes[line.node];
        if (node.kind != SiteKind::kLoop || node.line != inner->line) continue;
        ++found;
        EXPECT_EQ(line.totals.time_ns, time_ns);
        EXPECT_EQ(line.own_ns, own_ns);
        EXPECT_EQ(line.totals.count, entries);
    }
    EXPECT_EQ(found, 1u);
}

TEST(TextReport, ThreadsAreSaidToAddUp) {
    Profile profile = samples::halo_profile();
    const std::string said = "times of threads are added up";
    EXPECT_EQ(write_text_report(profile, {}).find(said), std::string::npos);
    profile.ranks[0].threads = 3;
    EXPECT_NE(write_text_report(profile, {}).find(said), std::string::npos);
}

// Of long arguments each keeps its beginning and end.
TEST(TextReport, TemplateInstancesStayApart) {
    const std::string before = "void solver::apply<std::vector<double, std::allocator<double> >, ";
    const std::string rows = short_name(before + "layout::RowMajorWithPadding>()", true);
    const std::string columns = short_name(before + "layout::ColumnMajorWithPadding>()", true);
    EXPECT_NE(rows, columns);
    EXPECT_EQ(rows.find("solver::apply<vecto"), 0u) << rows;
    EXPECT_LE(display_width(rows), 41) << rows;  // solver::apply<> and 24 and a comma
    EXPECT_NE(short_name("f<float>(int)", true), short_name("f<double>(int)", true));
}

// The lines of a report at each width, with the matches of `find` in them.
std::vector<std::string> lines_with(const Profile& profile, int width, const std::string& find) {
    TextOptions options;
    options.width = width;
    std::istringstream text(write_text_report(profile, options));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        if (line.find(find) != std::string::npos) lines.push_back(line);
    }
    return lines;
}

// Remarks of the tree, places of samples and sentences lose whole parts, never the end of a number.
TEST(TextReport, NumbersAndTheirUnitsStayWhole) {
    for (Profile profile : {samples::probed_profile(), samples::halo_profile()}) {
        for (ProfileNode& node : profile.nodes) {
            if (node.kind == SiteKind::kLoop) node.totals.iterations = 8'130'000;
        }
        for (int width = 60; width < 140; ++width) {
            for (const std::string& line : lines_with(profile, width, "…")) {
                const size_t at = line.find("…");
                const bool after = at + 3 < line.size() && line[at + 3] == '%';
                const bool before = at != 0 && isdigit(static_cast<unsigned char>(line[at - 1]));
                EXPECT_FALSE(after || before) << width << ": " << line;
            }
        }
        for (const std::string& line : lines_with(profile, 80, "8.13 M")) {
            EXPECT_TRUE(line.find("8.13 M iter") != std::string::npos) << line;
        }
    }
}

TEST(TextReport, ThousandsOfNodesAreCutCostliestFirst) {
    samples::Builder b(2, "wide");
    const uint32_t main = b.proc("main", "wide.c", 1, 0);
    for (int i = 0; i < 3000; ++i) {
        uint32_t inside = b.call("work" + std::to_string(i), "wide.c", 10 + i, main);
        for (int depth = 0; depth < 40 && i < 3; ++depth) {
            inside = b.call("inner", "wide.c", 4000 + depth, inside);
            b.entered(inside, 1, 1);  // a line of its own
        }
        b.compute(inside, 1, i < 3 ? (3 - i) * samples::kSecond : samples::kMs);
    }
    const Profile profile = b.finish();
    for (const int width : {80, 120}) {
        TextOptions options;
        options.width = width;
        const std::string text = write_text_report(profile, options);
        EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 250) << width;
        EXPECT_LT(text.find("work0"), text.find("work1")) << width;
        EXPECT_LT(text.find("work1"), text.find("work2")) << width;
        EXPECT_EQ(text.find("work3"), std::string::npos) << width;
        EXPECT_NE(text.find("2997 more"), std::string::npos) << width;
        EXPECT_NE(text.find("[n]: n levels deep"), std::string::npos) << width;
        // The name is readable at any depth.
        size_t names = 0;
        for (const std::string& line : lines_with(profile, width, "inner")) names += !line.empty();
        EXPECT_GE(names, 100u) << width;
    }
}

TEST(TextReport, ComputationSaysWhere) {
    Profile profile = samples::halo_profile();
    TextOptions options;
    options.width = 130;
    const std::string wide = "computation here, sampled: stencil heat.c:131 73 %, :132 21 %";
    EXPECT_NE(write_text_report(profile, options).find(wide), std::string::npos);
    options.width = 80;
    EXPECT_NE(write_text_report(profile, options).find("computation: heat.c:131 73 %"),
              std::string::npos);
    profile.intervals[0].lines = {
        {"stencil", "heat.c", 131, 9, profile.intervals[0].booked_on}};  // too few to decide
    EXPECT_EQ(write_text_report(profile, options).find("computation: "), std::string::npos);
}

TEST(TextReport, SerialProgramShowsItsFunctions) {
    Profile profile = samples::serial_profile();
    profile.ranks[0].sample_hz = 100;
    profile.ranks[0].samples = 40;
    const std::vector<SampledLine> lines = {{"work", "serial.c", 7, 30},
                                            {"main", "serial.c", 4, 10}};
    profile.intervals.push_back({kNoNode, 0, 0, 1, 1500 * samples::kMs, 0, 0, lines});
    const std::string text = write_text_report(profile, {});
    EXPECT_NE(text.find("1.50 s  100.0 %"), std::string::npos);
    EXPECT_NE(text.find("75.0 %       30  work  serial.c:7"), std::string::npos);
    EXPECT_EQ(text.find("MPI"), std::string::npos) << text;
    const std::string verdict = write_verdict(profile, {}, "");
    EXPECT_NE(verdict.find("work serial.c:7 75 %, main serial.c:4 25 %"), std::string::npos)
        << verdict;
    EXPECT_EQ(verdict.find("MPI"), std::string::npos) << verdict;
}

TEST(TextReport, SharesAddUpToTheWhole) {
    const std::string report = write_text_report(samples::halo_profile(), {});
    // Of 40 s without 0.8 in MPI_Init and MPI_Finalize, which are in no share, nor in the tree.
    EXPECT_NE(report.find("computation     7.65 s   78.1 %"), std::string::npos);  // 30.6 s
    EXPECT_NE(report.find("MPI transfer    300 ms    3.1 %"), std::string::npos);  // 1.2
    EXPECT_NE(report.find("waiting ~       1.85 s   18.9 %"), std::string::npos);  // 7.4
    EXPECT_NE(report.find("10.0 s 100.0 %"), std::string::npos) << report;
    EXPECT_NE(report.find("150 ms  set-up      4"), std::string::npos) << report;
}

}  // namespace
}  // namespace dwell
