// Tests the rules for which procedures and loops get probes, with facts made by hand.
#include "instrument/selection/selection.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "instrument/selection/probe_text.h"

namespace dwell {
namespace {

ProcedureFacts procedure(uint32_t statements, std::vector<size_t> callees = {}) {
    ProcedureFacts facts;
    facts.statements = statements;
    facts.callees = std::move(callees);
    return facts;
}

TEST(TooSmall, ShortOrLong) {
    EXPECT_EQ(too_small({procedure(kShortStatements - 1), procedure(kShortStatements)}),
              (std::vector<bool>{true, false}));
}

TEST(TooSmall, OwnReasons) {
    std::vector<ProcedureFacts> facts(3, procedure(1));
    facts[0].has_loop = true;
    facts[1].has_communication = true;
    facts[2].calls_out_of_sight = true;
    EXPECT_EQ(too_small(facts), (std::vector<bool>{false, false, false}));
}

TEST(TooSmall, RecursionAlone) {
    // fib calls itself; odd and even call each other.
    EXPECT_EQ(too_small({procedure(9, {0, 0}), procedure(5, {2}), procedure(5, {1})}),
              (std::vector<bool>{true, true, true}));
}

TEST(TooSmall, ReasonsOfCallees) {
    // 0 -> 1 -> 2 with a loop; 3 -> 4, long without a reason; 5 -> 6 <-> 7 -> 2.
    std::vector<ProcedureFacts> facts{procedure(2, {1}), procedure(2, {2}),   procedure(2),
                                      procedure(2, {4}), procedure(500),      procedure(2, {6}),
                                      procedure(2, {7}), procedure(2, {6, 2})};
    facts[2].has_loop = true;
    EXPECT_EQ(too_small(facts),
              (std::vector<bool>{false, false, false, true, false, false, false, false}));
}

TEST(Choice, Procedures) {
    EXPECT_TRUE(choose_procedure(false, Wish::kUnsaid, false).probes);
    EXPECT_EQ(choose_procedure(true, Wish::kUnsaid, false).flags, kRowSmall);
    EXPECT_TRUE(choose_procedure(true, Wish::kUnsaid, true).probes);
    EXPECT_TRUE(choose_procedure(true, Wish::kOn, false).probes);
    const Choice off = choose_procedure(false, Wish::kOff, true);
    EXPECT_FALSE(off.probes);
    EXPECT_EQ(off.flags, kRowUnselected);
}

TEST(Choice, Loops) {
    LoopFacts innermost;
    EXPECT_TRUE(choose_loop(innermost, Wish::kUnsaid, false).probes) << "outermost as well";
    innermost.outermost = false;
    const Choice left_out = choose_loop(innermost, Wish::kUnsaid, false);
    EXPECT_FALSE(left_out.probes);
    EXPECT_EQ(left_out.flags, kRowUnselected | kRowInnermost);
    EXPECT_TRUE(choose_loop(innermost, Wish::kOn, false).probes);
    EXPECT_TRUE(choose_loop(innermost, Wish::kUnsaid, true).probes);
    EXPECT_EQ(choose_loop(innermost, Wish::kOn, false).flags, kRowInnermost);
    for (bool LoopFacts::*inside :
         {&LoopFacts::has_loop, &LoopFacts::has_call, &LoopFacts::has_communication}) {
        LoopFacts facts;
        facts.outermost = false;
        facts.*inside = true;
        EXPECT_TRUE(choose_loop(facts, Wish::kUnsaid, false).probes);
        EXPECT_EQ(choose_loop(facts, Wish::kUnsaid, false).flags, 0);
        EXPECT_FALSE(choose_loop(facts, Wish::kOff, true).probes);
    }
}

TEST(Communication, Names) {
    for (const char* name : {"MPI_Send", "PMPI_Send", "mpi_send_", "pmpi_send_", "mpi_send_f08_"}) {
        EXPECT_TRUE(is_communication(name)) << name;
    }
    for (const char* name : {"send", "mpi_helper", "my_MPI_Send", "_ZN3MPI4SendEv", "MPIX", ""}) {
        EXPECT_FALSE(is_communication(name)) << name;
    }
}

std::string written(const SiteTable& table) {
    char* text = nullptr;
    size_t bytes = 0;
    FILE* out = open_memstream(&text, &bytes);
    table.write(out);
    fclose(out);
    std::string result(text, bytes);
    free(text);
    return result;
}

TEST(Selection, WhatDwellsHeaderDefinesIsNoPartOfTheProgram) {
    EXPECT_TRUE(is_of_dwell_header("dwell_begin_at", "/usr/include/dwell.h"));
    EXPECT_TRUE(is_of_dwell_header("_ZN5dwell5ScopeD2Ev", "dwell.h"));
    EXPECT_FALSE(is_of_dwell_header("dwell_time", "src/clock.c"));
    EXPECT_FALSE(is_of_dwell_header("solve", "dwell.h"));
    EXPECT_FALSE(is_of_dwell_header("dwell_begin_at", "include/indwell.h"));
}

TEST(Table, HostComesFirst) {
    // A contained procedure is compiled before its host, but the host comes first in the table.
    SiteTable table;
    TableGroup guest;
    guest.rows.resize(2);
    guest.rows[1].enclosing = 0;
    const int guest_number = table.add(guest);
    TableGroup host;
    host.rows.resize(3);
    const int host_number = table.add(host);
    table.group(guest_number).host = host_number;
    const std::string text = written(table);
    const size_t host_at = text.find(".Ldwell_rows.1:");
    const size_t guest_at = text.find(".Ldwell_rows.0:");
    ASSERT_NE(host_at, std::string::npos);
    ASSERT_NE(guest_at, std::string::npos);
    EXPECT_LT(host_at, guest_at);
    EXPECT_NE(text.find("\t.long\t0,-3\n", guest_at), std::string::npos)
        << "three rows back to the host\n"
        << text;
}

TEST(Table, TextsAreWrittenOnceAndQuoted) {
    SiteTable table;
    table.file = "a\"b\\c\n.c";
    TableGroup group;
    group.rows.resize(2);
    group.rows[0].name = group.rows[1].name = "relax";
    table.add(group);
    const std::string text = written(table);
    EXPECT_NE(text.find(R"(.string	"a\042b\134c\012.c")"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"relax\""), text.rfind("\"relax\""));
}

TEST(ProbeText, NumberOnlyWhereTheContractHasOne) {
    EXPECT_EQ(probe_template(ProbeKind::kEnter, 3, 0).find("%1"), std::string::npos);
    const std::string leave = probe_template(ProbeKind::kLoopLeave, 3, 2);
    EXPECT_NE(leave.find("%1"), std::string::npos);
    EXPECT_NE(leave.find("%%r9"), std::string::npos);
    EXPECT_NE(leave.find(".Ldwell_rows.3+64"), std::string::npos) << "rows have 32 bytes";
    EXPECT_NE(leave.find(".Ldwell_level.3.2"), std::string::npos);
}

}  // namespace
}  // namespace dwell
