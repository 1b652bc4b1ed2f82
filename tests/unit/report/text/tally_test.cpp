// The tables of tally. The times of the first test are those of the manual of AIMS 2.2 (figure
// 2-10: routine summary of a matrix transposition), which cuts digits that are rounded here; the
// others follow by arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/figures/text_style.h"
#include "report/text/text_report.h"
#include "tests/unit/support/profile_builder.h"

namespace dwell {
namespace {

using samples::Builder;
using samples::Calls;

// A routine of the manual with its times in milliseconds.
void add_routine(Builder* builder, const char* name, uint64_t busy_ms, uint64_t send_ms,
                 uint64_t receive_ms) {
    const uint32_t routine = builder->proc(name, std::string(name) + ".c", 1, 0);
    builder->compute(routine, 0, busy_ms * samples::kMs);
    const auto add_calls = [&](const char* call, int line, uint64_t ms) {
        if (ms == 0) return;
        const uint32_t node = builder->comm(call, std::string(name) + ".c", line, routine);
        builder->calls(node, 0, {1, ms * samples::kMs, 0, 8, 8, ms * samples::kMs});
    };
    add_calls("MPI_Send", 2, send_ms);
    add_calls("MPI_Recv", 3, receive_ms);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST(Tally, HasTheFiguresOfTheManual) {
    Builder builder(1, "transpose");
    add_routine(&builder, "transpose1", 229'399, 246'186, 64'887);
    add_routine(&builder, "transpose_node", 100'659, 186, 160'826);
    add_routine(&builder, "bin_to_dec", 508, 0, 0);
    add_routine(&builder, "dec_to_bin", 128, 0, 0);
    builder.compute(0, 0, 117 * samples::kMs);
    const std::vector<std::string> lines =
        lines_of(write_tally(builder.finish(), "", true, {.width = 80}));
    ASSERT_GE(lines.size(), 7u);
    EXPECT_EQ(lines[0], "ROUTINE SUMMARY");
    EXPECT_EQ(lines[1],
              "\tRoutine\tBusy Time\tGlobal Blocking\tSend Blocking\tRecv Blocking\tLife Time\t"
              "% Comm\tCommn Index");
    EXPECT_EQ(lines[2], "1\ttranspose1\t229.399\t0.000\t246.186\t64.887\t540.472\t57.556\t0.387");
    EXPECT_EQ(lines[3],
              "2\ttranspose_node\t100.659\t0.000\t0.186\t160.826\t261.671\t61.532\t0.201");
    EXPECT_EQ(lines[4], "3\tbin_to_dec\t0.508\t0.000\t0.000\t0.000\t0.508\t0.000\t0.000");
    EXPECT_EQ(lines[5], "4\tdec_to_bin\t0.128\t0.000\t0.000\t0.000\t0.128\t0.000\t0.000");
    EXPECT_EQ(lines[6], "5\t<program>\t0.117\t0.000\t0.000\t0.000\t0.117\t0.000\t0.000");
}

TEST(Tally, DividesRoutinesByRank) {
    Builder builder(2, "app");
    const uint32_t step = builder.proc("step", "app.c", 1, 0);
    const uint32_t sum = builder.comm("MPI_Allreduce", "app.c", 9, step);
    const uint32_t set_up = builder.comm("MPI_Init", "app.c", 3, 0);
    for (const uint32_t rank : {0u, 1u}) {
        builder.compute(step, rank, (rank + 1) * samples::kSecond);
        builder.calls(sum, rank, {1, (2 - rank) * samples::kSecond, 0, 8, 8, 1});
        builder.calls(set_up, rank, {1, samples::kSecond, 0, 0, 0, 1});  // not counted
    }
    const std::string text = write_tally(builder.finish(), "", true, {.width = 80});
    EXPECT_NE(text.find("\nNODE SUMMARY\n"
                        "Node\tBusy Time\tGlobal Blocking\tSend Blocking\tRecv Blocking\t"
                        "Life Time\t% Comm\n"
                        "0\t1.000\t2.000\t0.000\t0.000\t3.000\t66.667\n"
                        "1\t2.000\t1.000\t0.000\t0.000\t3.000\t33.333\n"
                        "\nSTATISTICS FOR ROUTINE step\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("1\tstep\t3.000\t3.000\t0.000\t0.000\t6.000\t50.000\t0.500\n"),
              std::string::npos)
        << text;
}

TEST(Tally, FitsIntoItsColumns) {
    Builder builder(1, "app");
    add_routine(&builder, "a_very_long_name_that_needs_more_room_than_there_is", 1000, 500, 250);
    const std::string sampled = "NCPU STATISTIC, sampled\nRoutine\t1\t2\nstep\t0.100\t12.000\n";
    const std::string text = write_tally(builder.finish(), sampled, false, {.width = 80});
    for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 80) << line;
    EXPECT_NE(text.find("NCPU STATISTIC, sampled\nRoutine      1       2\n"
                        "step     0.100  12.000\n"),
              std::string::npos)
        << text;
}

TEST(Tally, IsAsciiIfWanted) {
    Builder builder(1, "app");
    add_routine(&builder,
                "gr\xc3\xb6\xc3\x9f"
                "e_of_a_very_long_name_that_needs_more_room",
                1000, 500, 250);
    const Profile profile = builder.finish();
    const std::string sampled =
        "NCPU STATISTIC\nRoutine\t1\ngr\xc3\xb6\xc3\x9f"
        "e\t0.100\n";
    const auto is_ascii = [](const std::string& text) {
        return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
    };
    for (const bool tabs : {true, false}) {
        EXPECT_TRUE(is_ascii(write_tally(profile, sampled, tabs, {.width = 60, .utf8 = false})));
        EXPECT_FALSE(is_ascii(write_tally(profile, sampled, tabs, {.width = 60})));
    }
}

TEST(Tally, SaysThatRanksAreNotKnown) {
    Builder builder(1, "app");
    add_routine(&builder, "step", 1000, 500, 250);
    Profile profile = builder.finish();
    profile.rows.clear();
    const std::string text = write_tally(profile, "", true, {.width = 80});
    EXPECT_NE(text.find("no figures of single ranks"), std::string::npos);
    EXPECT_EQ(text.find("NODE SUMMARY"), std::string::npos);
}

}  // namespace
}  // namespace dwell
