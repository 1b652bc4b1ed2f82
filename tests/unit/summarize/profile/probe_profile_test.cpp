// Profiles of programs with probes: measured times are final, nodes around and between get the
// rest, and the tree has the loops and statements of the source. Records are made by hand over
// fixtures/example.c; every time is arithmetic on the numbers below.
#include <gtest/gtest.h>

#include "runtime/contract/path_hash.h"
#include "summarize/symbols/site_tables.h"
#include "tests/unit/support/example_program.h"
#include "tests/unit/support/merged_builder.h"

namespace dwell {
namespace {

Totals loop_totals(uint64_t count, uint64_t time_ns, uint64_t iterations) {
    Totals result = totals(count, time_ns);
    result.iterations = iterations;
    return result;
}

class Probes : public testing::Test {
  protected:
    void SetUp() override { set_up("-O0 -g -Wl,--build-id"); }
    void set_up(const std::string& flags) {
        ASSERT_EQ(example_.build(flags), "");
        app_ = records_.module(example_.file(), build_id_of(example_.file()));
        start_ = records_.call(0, records_.module("/nonexistent/libc.so.6"), 0x2724a);
    }
    uint32_t procedure(uint32_t parent, const std::string& name, uint64_t time_ns,
                       uint64_t count = 1) {
        return records_.probe(parent, SiteKind::kProcedure, app_, example_.row(name),
                              totals(count, time_ns));
    }
    uint32_t loop(uint32_t parent, const std::string& name, uint64_t count, uint64_t time_ns,
                  uint64_t iterations) {
        return records_.probe(parent, SiteKind::kLoop, app_, example_.row(name),
                              loop_totals(count, time_ns, iterations));
    }
    uint32_t call(uint32_t parent, const std::string& function, const std::string& callee,
                  int n = 0) {
        return records_.call(parent, app_, example_.after(function, callee, n));
    }
    uint32_t communication(uint32_t parent, const std::string& function, const char* name,
                           uint64_t count, uint64_t time_ns) {
        return records_.communication(parent, app_, example_.after(function, name), name,
                                      totals(count, time_ns));
    }
    // p3 as called from `parent`: a send, and the first loop with a receive and the second loop.
    struct P3 {
        uint32_t self, send, loop1, receive, loop2;
    };
    P3 p3(uint32_t parent, const std::array<uint64_t, 5>& time_ns) {
        P3 node;
        node.self = procedure(parent, "p3", time_ns[0]);
        node.send = communication(node.self, "p3", "MPI_Send", 1, time_ns[1]);
        node.loop1 = loop(node.self, "loop1", 1, time_ns[2], 11);
        node.receive = communication(node.loop1, "p3", "MPI_Recv", 10, time_ns[3]);
        node.loop2 = loop(node.loop1, "loop2", 10, time_ns[4], 60);
        return node;
    }
    void add_whole_example();
    void add_rows(uint32_t rank, uint32_t thread) {
        for (uint32_t i = 1; i < records_.merged.nodes.size(); ++i) {
            records_.row(i, rank, thread, records_.merged.nodes[i].totals);
        }
    }
    void double_totals() {
        for (MergedNode& node : records_.merged.nodes) {
            const Totals once = node.totals;
            node.totals.count *= 2;
            node.totals.time_ns *= 2;
            node.totals.iterations *= 2;
            node.totals.blocked_ns += once.blocked_ns;
        }
    }

    ExampleProgram example_;
    MergedBuilder records_;
    uint32_t app_ = 0;
    uint32_t start_ = 0;
};

// 500 ns before main, then main for 10000: 100 of its own, p1 for 6000, 200 of its own, p2 for
// 3000, 650 of its own and 50 in a barrier. Own times of the others: p1 500, p3 below it 300, loop1
// 500, loop2 1500; p2 100, p3 below it 100, loop1 100, loop2 600.
void Probes::add_whole_example() {
    const uint32_t main = procedure(start_, "main", 10'000);
    const uint32_t p1 = procedure(call(main, "main", "p1"), "p1", 6000);
    const P3 a = p3(call(p1, "p1", "p3"), {5500, 200, 5000, 3000, 1500});
    const uint32_t p2 = procedure(call(main, "main", "p2"), "p2", 3000);
    const P3 b = p3(call(p2, "p2", "p3"), {2900, 100, 2700, 2000, 600});
    const uint32_t barrier = records_.communication(main, app_, example_.after("main", "p2") + 1,
                                                    "MPI_Barrier", totals(1, 50));
    records_.interval(kNoNode, a.send, 0, 1, 500 + 100 + 250 + 100);
    records_.interval(a.send, a.receive, a.self, 1, 250);
    records_.interval(a.receive, a.receive, a.loop1, 9, 1700);
    records_.interval(a.receive, b.send, main, 1, 900);
    records_.interval(b.send, b.receive, b.self, 1, 80);
    records_.interval(b.receive, b.receive, b.loop1, 9, 600);
    records_.interval(b.receive, barrier, main, 1, 670);
}

struct Wanted {
    SiteKind kind;
    std::string name;
    std::string mark;  // of its line
    uint64_t count, time_ns, own_ns;
};

TEST_F(Probes, HierarchyWithExactTimes) {
    add_whole_example();
    for (const uint64_t ranks : {1u, 2u}) {
        SCOPED_TRACE(ranks);
        if (ranks == 2) {
            // The same on two ranks, one of them in its second thread.
            add_rows(0, 0);
            add_rows(1, 1);
            double_totals();
        }
        const Profile profile = build_profile(records_.merged);
        expect_conservation(profile);
        EXPECT_EQ(profile.total_ns, ranks * 10'500);
        EXPECT_EQ(profile.computation_ns, ranks * (500 + 4650));
        EXPECT_EQ(profile.nodes[0].computation_ns, ranks * 500);
        EXPECT_EQ(profile.nodes[0].labels, 0u) << "known, not estimated";
        uint32_t at = 0;
        for (const Wanted& wanted :
             std::initializer_list<Wanted>{{SiteKind::kProcedure, "main", "main", 1, 10'000, 950},
                                           {SiteKind::kCall, "p1", "call p1", 1, 6000, 0},
                                           {SiteKind::kProcedure, "p1", "p1", 1, 6000, 500},
                                           {SiteKind::kCall, "p3", "call p3 in p1", 1, 5500, 0},
                                           {SiteKind::kProcedure, "p3", "p3", 1, 5500, 300},
                                           {SiteKind::kLoop, "loop", "loop1", 1, 5000, 500},
                                           {SiteKind::kLoop, "loop", "loop2", 10, 1500, 1500}}) {
            SCOPED_TRACE(wanted.mark);
            at = child(profile, at, wanted.kind, wanted.name);
            ASSERT_NE(at, kNoNode);
            const ProfileNode& node = profile.nodes[at];
            EXPECT_EQ(node.line, example_.line(wanted.mark));
            EXPECT_EQ(node.file, ExampleProgram::source());
            EXPECT_EQ(node.totals.count, ranks * wanted.count);
            EXPECT_EQ(node.totals.time_ns, ranks * wanted.time_ns);
            EXPECT_EQ(node.computation_ns, ranks * wanted.own_ns);
            EXPECT_EQ(node.labels, wanted.kind == SiteKind::kCall ? 0u : uint32_t{kLabelProbed});
            if (ranks == 2) {
                EXPECT_EQ(node.ranks, 2u);
                EXPECT_EQ(node.rank_max_ns, wanted.time_ns);
            }
        }
        EXPECT_EQ(profile.nodes[at].totals.iterations, ranks * 60);
        const uint32_t loop1 = profile.nodes[at].parent;
        EXPECT_EQ(profile.nodes[loop1].totals.iterations, ranks * 11);
        const uint32_t receive = child(profile, loop1, SiteKind::kCommunication, "MPI_Recv");
        ASSERT_NE(receive, kNoNode);
        EXPECT_EQ(profile.nodes[receive].line, example_.line("e2"));
        const uint32_t send =
            child(profile, profile.nodes[loop1].parent, SiteKind::kCommunication, "MPI_Send");
        ASSERT_NE(send, kNoNode);
        EXPECT_EQ(profile.nodes[send].line, example_.line("e1"));
        uint64_t p3_ns = 0;
        for (const ProfileNode& node : profile.nodes) {
            if (node.kind == SiteKind::kProcedure && node.name == "p3") {
                p3_ns += node.totals.time_ns;
            }
        }
        EXPECT_EQ(p3_ns, ranks * 8400);
    }
}

TEST_F(Probes, TablesOfTheProgram) {
    add_whole_example();
    const Profile profile = build_profile(records_.merged);
    EXPECT_EQ(profile.sites.procedures, 5u);
    EXPECT_EQ(profile.sites.procedures_probed, 4u);
    EXPECT_EQ(profile.sites.loops, 2u);
    EXPECT_EQ(profile.sites.loops_probed, 2u);
    ASSERT_EQ(profile.sites.left_out.size(), 1u);
    EXPECT_EQ(profile.sites.left_out[0].name, "p4");
    EXPECT_EQ(profile.sites.left_out[0].line, example_.line("p4"));
    EXPECT_EQ(profile.sites.left_out[0].reason, "too small");
}

// main is measured, p1, p2 and p3 are not: they get their intervals, main the rest.
TEST_F(Probes, ProceduresWithoutProbesBelow) {
    const uint32_t main = procedure(start_, "main", 1000);
    const uint32_t in_p1 = call(call(main, "main", "p1"), "p1", "p3");
    const uint32_t send = communication(in_p1, "p3", "MPI_Send", 1, 100);
    const uint32_t receive = communication(in_p1, "p3", "MPI_Recv", 3, 200);
    records_.interval(kNoNode, send, 0, 1, 150);
    records_.interval(send, receive, in_p1, 1, 40);
    records_.interval(receive, receive, in_p1, 2, 60);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t measured = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(measured, kNoNode);
    EXPECT_EQ(profile.nodes[measured].totals.time_ns, 1000u);
    EXPECT_EQ(profile.nodes[measured].computation_ns, 600u);
    EXPECT_EQ(profile.nodes[measured].labels, kLabelProbed);
    const uint32_t call_p1 = child(profile, measured, SiteKind::kCall, "p1");
    const uint32_t p1 = child(profile, call_p1, SiteKind::kProcedure, "p1");
    const uint32_t call_p3 = child(profile, p1, SiteKind::kCall, "p3");
    const uint32_t p3 = child(profile, call_p3, SiteKind::kProcedure, "p3");
    ASSERT_NE(p3, kNoNode);
    EXPECT_EQ(profile.nodes[call_p1].line, example_.line("call p1"));
    EXPECT_EQ(profile.nodes[call_p1].totals.count, 0u) << "not counted";
    EXPECT_EQ(profile.nodes[p1].computation_ns, 0u);
    EXPECT_EQ(profile.nodes[p3].computation_ns, 100u);
    EXPECT_EQ(profile.nodes[p3].totals.time_ns, 400u);
    EXPECT_EQ(profile.nodes[p3].labels, kLabelEstimated);
    EXPECT_EQ(profile.nodes[p1].labels, kLabelEstimated);
}

// Intervals outside of a measured procedure cannot make it longer than measured: main was left and
// entered again between two receives, which the paths do not show.
TEST_F(Probes, EstimatesGiveWayToWhatWasMeasured) {
    const uint32_t p1 = procedure(call(start_, "main", "p1"), "p1", 1000, 5);
    const uint32_t in_p3 = call(p1, "p1", "p3");
    const uint32_t send = communication(in_p3, "p3", "MPI_Send", 5, 300);
    const uint32_t again = records_.interval(send, send, in_p3, 4, 4900);
    records_.interval(kNoNode, send, 0, 1, 100);
    const Profile bare = build_profile(records_.merged);
    records_.row(send, 0, 0, records_.merged.nodes[send].totals);
    records_.row(p1, 0, 0, records_.merged.nodes[p1].totals);
    records_.row(again, 0, 0, records_.merged.nodes[again].totals);
    records_.row(again + 1, 0, 0, records_.merged.nodes[again + 1].totals);
    const Profile with_rows = build_profile(records_.merged);
    for (const Profile& profile : {bare, with_rows}) {
        expect_conservation(profile);
        EXPECT_EQ(profile.total_ns, 5300u);
        const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
        const uint32_t measured =
            child(profile, child(profile, main, SiteKind::kCall, "p1"), SiteKind::kProcedure, "p1");
        ASSERT_NE(measured, kNoNode);
        EXPECT_EQ(profile.nodes[measured].totals.time_ns, 1000u);
        EXPECT_EQ(profile.nodes[measured].computation_ns, 0u);
        const uint32_t p3 = child(profile, child(profile, measured, SiteKind::kCall, "p3"),
                                  SiteKind::kProcedure, "p3");
        ASSERT_NE(p3, kNoNode);
        EXPECT_EQ(profile.nodes[p3].computation_ns, 700u);
        EXPECT_EQ(profile.nodes[main].computation_ns, 5300u - 1000);
        EXPECT_EQ(profile.nodes[profile.nodes[measured].parent].totals.count, 5u);
        EXPECT_FALSE(has_note(profile, "took longer"));
    }
}

// Both ranks compute 1000 in p1, rank 1 then 600 in p2 and 100 in main. Rank 0 receives after that
// and rank 1 sends, so only rank 1 has the interval before. p2 made it late.
TEST_F(Probes, WhatARankComputesBeyondTheOthersIsNamed) {
    const uint32_t main = procedure(start_, "main", 2720, 2);
    const uint32_t p1 = procedure(call(main, "main", "p1"), "p1", 2000, 2);
    const uint32_t p2 = procedure(call(main, "main", "p2"), "p2", 600);
    const uint64_t place = example_.after("main", "p2");
    const uint32_t receive =
        records_.communication(main, app_, place + 1, "MPI_Recv", totals(1, 10));
    const uint32_t send = records_.communication(main, app_, place + 2, "MPI_Send", totals(1, 10));
    const uint32_t first = records_.interval(kNoNode, receive, 0, 1, 1000);
    const uint32_t second = records_.interval(kNoNode, send, 0, 1, 1700);
    for (uint32_t rank : {0u, 1u}) {
        records_.rank(rank);
        records_.row(main, rank, 0, totals(1, rank == 0 ? 1010 : 1710));
        records_.row(p1, rank, 0, totals(1, 1000));
    }
    records_.row(receive, 0, 0, totals(1, 10));
    records_.row(first, 0, 0, totals(1, 1000));
    records_.row(p2, 1, 0, totals(1, 600));
    records_.row(send, 1, 0, totals(1, 10));
    records_.row(second, 1, 0, totals(1, 1700));
    const std::string id = build_id_of(example_.file());
    const uint64_t app = hash_module(reinterpret_cast<const uint8_t*>(id.data()), id.size(), "");
    const std::string libc = "/nonexistent/libc.so.6";
    uint64_t path = hash_site(kRootPath, static_cast<uint32_t>(SiteKind::kCall), 0,
                              hash_path_bytes(libc.data(), libc.size()), 0x2724a);
    path =
        hash_site(path, static_cast<uint32_t>(SiteKind::kProcedure), 0, app, example_.row("main"));
    path = hash_site(path, static_cast<uint32_t>(SiteKind::kCommunication), number_of("MPI_Send"),
                     app, place + 2);
    records_.merged.causes.push({hash_interval(0, path), 1, 0, 0, 1, 700, 0, 0, 0});
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    ASSERT_EQ(profile.causes.size(), 1u);
    ASSERT_NE(profile.causes[0].interval, kNoNode);
    const ProfileInterval& late = profile.intervals[profile.causes[0].interval];
    EXPECT_EQ(profile.nodes[late.booked_on].name, "p2");
}

// main was compiled without probes: the measured parts of its intervals belong to p1 and p2.
TEST_F(Probes, ProceduresWithoutProbesAround) {
    const uint32_t p1 = procedure(call(start_, "main", "p1"), "p1", 1000);
    const uint32_t send = communication(call(p1, "p1", "p3"), "p3", "MPI_Send", 1, 300);
    const uint32_t p2 = procedure(call(start_, "main", "p2"), "p2", 600);
    const uint32_t receive = communication(call(p2, "p2", "p3"), "p3", "MPI_Recv", 1, 200);
    records_.interval(kNoNode, send, 0, 1, 500);
    records_.interval(send, receive, start_, 1, 1100);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(main, kNoNode);
    // 500 + 1100 + 300 + 200 in all; 1600 of it in p1 and p2.
    EXPECT_EQ(profile.nodes[main].totals.time_ns, 2100u);
    EXPECT_EQ(profile.nodes[main].computation_ns, 500u);
    EXPECT_EQ(profile.nodes[main].labels, kLabelEstimated);
}

// p1 has no probes and calls a procedure with probes: p1 is in between, with an unknown statement.
TEST_F(Probes, ProcedureWithoutProbesBetween) {
    const uint32_t main = procedure(start_, "main", 1000);
    const uint32_t inner = procedure(call(main, "p1", "p3"), "p3", 700);
    communication(inner, "p3", "MPI_Send", 1, 300);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t outer = child(profile, 0, SiteKind::kProcedure, "main");
    const uint32_t p1 = child(profile, outer, SiteKind::kProcedure, "p1");
    ASSERT_NE(p1, kNoNode);
    const uint32_t call_p3 = child(profile, p1, SiteKind::kCall, "p3");
    const uint32_t p3 = child(profile, call_p3, SiteKind::kProcedure, "p3");
    ASSERT_NE(p3, kNoNode);
    EXPECT_EQ(profile.nodes[outer].computation_ns, 300u);
    EXPECT_EQ(profile.nodes[p3].totals.time_ns, 700u);
    EXPECT_EQ(profile.nodes[p3].computation_ns, 400u);
}

// A loop that the compiler duplicated, or that exists in two libraries, is one node; but an
// interval from one copy to the other was outside.
TEST_F(Probes, IntervalsBetweenTwoRowsOfALoop) {
    const uint32_t other = records_.module(example_.file());
    const uint32_t p3 = procedure(start_, "p3", 1000);
    const uint32_t first = loop(p3, "loop1", 1, 400, 5);
    const uint32_t left = communication(first, "p3", "MPI_Recv", 5, 100);
    const uint32_t second =
        records_.probe(p3, SiteKind::kLoop, other, example_.row("loop1"), loop_totals(1, 300, 7));
    const uint32_t reached = communication(second, "p3", "MPI_Recv", 7, 100);
    records_.interval(left, reached, p3, 1, 50);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t node = child(profile, 0, SiteKind::kProcedure, "p3");
    const uint32_t one = child(profile, node, SiteKind::kLoop, "loop");
    ASSERT_NE(one, kNoNode);
    EXPECT_EQ(profile.nodes[one].totals.time_ns, 700u);
    EXPECT_EQ(profile.nodes[one].totals.iterations, 12u);
    ASSERT_EQ(profile.intervals.size(), 1u);
    EXPECT_EQ(profile.intervals[0].booked_on, node);
}

TEST_F(Probes, ThreadsWithoutCommunication) {
    const uint32_t worker = procedure(start_, "p3", 900);
    loop(worker, "loop1", 1, 800, 10);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    EXPECT_EQ(profile.total_ns, 900u);
    EXPECT_EQ(profile.computation_ns, 900u);
    const uint32_t p3 = child(profile, 0, SiteKind::kProcedure, "p3");
    ASSERT_NE(p3, kNoNode);
    EXPECT_EQ(profile.nodes[p3].computation_ns, 100u);
}

TEST_F(Probes, EstimatesFitIntoWhatIsAroundThem) {
    const uint32_t main = procedure(start_, "main", 1000);
    const uint32_t p1 = procedure(call(main, "main", "p1"), "p1", 300, 10);
    const uint32_t p2 = procedure(call(main, "main", "p2"), "p2", 200, 10);
    const uint32_t p3 = procedure(call(p1, "p1", "p3"), "p3", 100, 7);
    const auto estimate = [&](uint32_t node, uint64_t ns, uint64_t entries) {
        records_.merged.nodes[node].totals.untimed = 4;
        records_.merged.nodes[node].totals.estimated_ns = ns;
        records_.merged.nodes[node].totals.off_entries = entries;
    };
    estimate(p1, 2000, 100);  // main has 500 of its own: a fifth of 2500
    estimate(p2, 500, 10);
    estimate(p3, 1200, 30);  // p1 has 200 of its own, and its estimate of 400: a half
    records_.merged.nodes[p3].totals.off_uncertain = 8;  // 7.5 is a quarter
    add_rows(0, 0);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    std::map<std::string, const ProfileNode*> by_name;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind == SiteKind::kProcedure) by_name[node.name] = &node;
    }
    EXPECT_EQ(by_name.at("p1")->totals.estimated_ns, 400u);
    EXPECT_EQ(by_name.at("p1")->totals.off_entries, 100u);
    EXPECT_EQ(by_name.at("p2")->totals.estimated_ns, 100u);
    EXPECT_EQ(by_name.at("p2")->totals.off_entries, 10u);
    EXPECT_EQ(by_name.at("p2")->totals.off_uncertain, 0u);
    EXPECT_EQ(by_name.at("p3")->totals.estimated_ns, 600u);
    EXPECT_EQ(by_name.at("p3")->totals.off_entries, 0u) << "too few seen";
    EXPECT_EQ(by_name.at("p3")->totals.off_uncertain, 1u);
    EXPECT_EQ(by_name.at("p3")->totals.untimed, 4u) << "counted exactly";
    uint64_t rows = 0;
    for (const ProfileRow& row : profile.rows) {
        const Totals& sum = profile.nodes[row.node].totals;
        EXPECT_EQ(row.totals.estimated_ns, sum.estimated_ns);
        EXPECT_EQ(row.totals.off_entries, sum.off_entries);
        rows += row.totals.estimated_ns != 0 ? 1 : 0;
    }
    EXPECT_EQ(rows, 3u);
}

// A site's number is judged by all its entries, on all paths.
TEST_F(Probes, APathWithFewOfTheEntriesIsNoDoubt) {
    const uint32_t main = procedure(start_, "main", 1000);
    const uint32_t p1 = procedure(call(main, "main", "p1"), "p1", 300, 10);
    const uint32_t p2 = procedure(call(main, "main", "p2"), "p2", 200, 10);
    const uint32_t much = procedure(call(p1, "p1", "p3"), "p3", 100, 10);
    const uint32_t little = procedure(call(p2, "p2", "p3"), "p3", 100, 10);
    const auto estimate = [&](uint32_t node, uint64_t entries, uint64_t uncertain) {
        records_.merged.nodes[node].totals.untimed = 4;
        records_.merged.nodes[node].totals.off_entries = entries;
        records_.merged.nodes[node].totals.off_uncertain = uncertain;
    };
    const uint32_t none = procedure(main, "p3", 100, 10);
    const uint32_t unseen = procedure(p1, "p2", 100, 10);
    estimate(much, 95, 0);
    estimate(little, 5, 24);  // with the next one a quarter of 100
    estimate(none, 0, 1);
    estimate(p2, 95, 24);  // with the next one more
    estimate(unseen, 0, 1);
    add_rows(0, 0);
    const Profile profile = build_profile(records_.merged);
    std::vector<std::pair<uint64_t, uint64_t>> seen;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind != SiteKind::kProcedure || node.totals.untimed == 0) continue;
        EXPECT_EQ(node.totals.off_uncertain, node.name == "p2" ? 1u : 0u) << node.name;
        EXPECT_EQ((node.labels & kLabelAtLeast) != 0, node.name == "p2") << node.name;
        seen.emplace_back(node.totals.off_entries, node.totals.count);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (decltype(seen){{0, 10}, {0, 10}, {0, 10}, {5, 10}, {95, 10}}));
    for (const ProfileRow& row : profile.rows) {
        const Totals& sum = profile.nodes[row.node].totals;
        EXPECT_EQ(row.totals.off_entries, sum.off_entries);
        EXPECT_EQ(row.totals.off_uncertain, sum.off_uncertain);
    }
}

TEST_F(Probes, WhatWasNotTimedIsLabelled) {
    const uint32_t main = procedure(start_, "main", 1000);
    const uint32_t p1 = procedure(call(main, "main", "p1"), "p1", 300, 10);
    records_.merged.nodes[p1].totals.untimed = 4;
    records_.merged.nodes[p1].totals.estimated_ns = 200;
    const uint32_t p2 = procedure(call(main, "main", "p2"), "p2", 200, 10);
    records_.merged.nodes[p2].totals.untimed = 9;
    records_.merged.nodes[p2].totals.abandoned = 1;
    const uint32_t p3 = procedure(call(p1, "p1", "p3"), "p3", 0, 7);
    records_.merged.nodes[p3].totals.untimed = 7;
    records_.merged.nodes[p3].totals.min_ns = UINT64_MAX;
    communication(p3, "p3", "MPI_Send", 7, 70);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    std::map<std::string, const ProfileNode*> by_name;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind == SiteKind::kProcedure) by_name[node.name] = &node;
    }
    EXPECT_EQ(by_name.at("p1")->labels, kLabelProbed | kLabelReduced);
    EXPECT_EQ(by_name.at("p2")->labels, kLabelProbed | kLabelRecursive | kLabelAbandoned);
    EXPECT_EQ(by_name.at("p3")->labels, kLabelProbed | kLabelCounted);
    EXPECT_EQ(by_name.at("p3")->totals.time_ns, 70u) << "what lies in it";
    EXPECT_EQ(by_name.at("p1")->computation_ns, 230u);
    EXPECT_TRUE(has_note(profile, "11 entries of 2 short procedures"));
}

// p1 has 30 of the 40 samples that were not in p2, but only 10 ns of its 100 entries were measured:
// of the 800 ns that main has beside p1 and p2, 600 are p1's.
TEST_F(Probes, SamplesTellTheTimeOfEntriesThatWereOnlyCounted) {
    const uint32_t main = procedure(start_, "main", 1000);
    const uint32_t p1 = procedure(call(main, "main", "p1"), "p1", 10, 100);
    procedure(call(main, "main", "p2"), "p2", 190, 1);
    const uint32_t barrier = records_.communication(main, app_, example_.after("main", "p2") + 1,
                                                    "MPI_Barrier", totals(1, 0));
    const uint32_t interval = records_.interval(kNoNode, barrier, main, 1, 1000);
    const auto sample = [&](const std::string& procedure, uint64_t count) {
        const uint64_t inside = Disassembly(example_.file(), procedure).start();
        const uint32_t last = records_.sample_below(
            interval, {{app_, example_.after("main", procedure)}, {app_, inside}}, count);
        records_.merged.nodes[last - 1].call = 3;  // main and the program's start are shared
    };
    sample("p1", 30);
    sample("p2", 10);
    const uint32_t own =
        records_.sample(interval, app_, Disassembly(example_.file(), "main").start(), 10);
    records_.merged.nodes[own].call = 3;
    for (const uint64_t untimed : {0, 99}) {
        records_.merged.nodes[p1].totals.untimed = untimed;
        const Profile profile = build_profile(records_.merged);
        expect_conservation(profile);
        std::map<std::string, const ProfileNode*> by_name;
        for (const ProfileNode& node : profile.nodes) {
            if (node.kind == SiteKind::kProcedure) by_name[node.name] = &node;
        }
        EXPECT_EQ(by_name.at("p1")->totals.time_ns, untimed == 0 ? 10u : 610u);
        EXPECT_EQ((by_name.at("p1")->labels & kLabelEstimated) != 0, untimed != 0);
        EXPECT_EQ(by_name.at("p2")->totals.time_ns, 190u);
        EXPECT_EQ(by_name.at("main")->totals.time_ns, 1000u);
    }
}

TEST_F(Probes, PartsLongerThanTheWholeAreNoted) {
    const uint32_t main = procedure(start_, "main", 1000);
    procedure(call(main, "main", "p1"), "p1", 900);
    procedure(call(main, "main", "p2"), "p2", 200);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    EXPECT_EQ(profile.nodes[0].totals.time_ns, 1100u);
    EXPECT_TRUE(has_note(profile, "in 1 place what lies inside took longer"));
}

TEST_F(Probes, BlocksMarkersAndProceduresByAddress) {
    const uint32_t main =
        records_.probe(start_, SiteKind::kProcedure, app_,
                       Disassembly(example_.file(), "main").start(), totals(1, 1000));
    records_.merged.nodes[main].flags = kNodeCode;
    records_.named(main, SiteKind::kBlock, "read input\nmain.c:12", totals(2, 600));
    Totals marks = totals(5, 0);
    marks.volume = 40;
    records_.named(main, SiteKind::kMarker, "step", marks);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t node = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(node, kNoNode);
    EXPECT_EQ(profile.nodes[node].line, example_.line("main"));
    EXPECT_EQ(profile.nodes[node].computation_ns, 400u);
    const uint32_t block = child(profile, node, SiteKind::kBlock, "read input");
    ASSERT_NE(block, kNoNode);
    EXPECT_EQ(profile.nodes[block].file, "main.c");
    EXPECT_EQ(profile.nodes[block].line, 12);
    const uint32_t marker = child(profile, node, SiteKind::kMarker, "step");
    ASSERT_NE(marker, kNoNode);
    EXPECT_EQ(profile.nodes[marker].totals.volume, 40u);
}

// fixtures/grid.cpp: step is measured; exchange, pack and a loop are inlined into it. In the first
// case the loop is in step, around the call of exchange, in the second in pack.
TEST(ProbesInlined, LoopsAmongInlinedProcedures) {
    const std::string source = fixture("grid.cpp");
    const std::string step = "_ZN6solver4Grid4stepEi";
    for (const bool in_pack : {false, true}) {
        SCOPED_TRACE(in_pack);
        ScratchFolder folder;
        SiteAssembly table("grid", source, "/build");
        const int row = table.add({SiteKind::kProcedure, step, marked_line(source, "begin step")});
        table.add({SiteKind::kLoop, "", marked_line(source, in_pack ? "begin pack" : "begin step"),
                   row, true});
        table.write(folder / "table.s");
        const std::string file = folder / "grid.so";
        ASSERT_EQ(run("cd '" + (folder / "") + "' && g++ -O0 -g -shared -fPIC -o grid.so '" +
                      source + "' table.s"),
                  "");
        const SiteTable rows = read_site_table(file, "");
        ASSERT_EQ(rows.sites.size(), 2u);
        MergedBuilder records;
        const uint32_t app = records.module(file);
        const uint32_t measured =
            records.probe(0, SiteKind::kProcedure, app, rows.sites[0].offset, totals(1, 1000));
        const uint32_t loop = records.probe(measured, SiteKind::kLoop, app, rows.sites[1].offset,
                                            loop_totals(1, 800, 5));
        const uint32_t send = records.communication(
            loop, app, Disassembly(file, step).return_from("MPI_Send"), "MPI_Send", totals(4, 100));
        records.interval(send, send, loop, 3, 600);
        const Profile profile = build_profile(records.merged);
        expect_conservation(profile);
        uint32_t at = 0;
        for (const ProfileNode& node : profile.nodes) {
            if (node.kind == SiteKind::kLoop) at = static_cast<uint32_t>(&node - &profile.nodes[0]);
        }
        EXPECT_EQ(profile.nodes[profile.nodes[at].parent].name, "solver::Grid::step(int)");
        EXPECT_EQ(profile.nodes[at].totals.time_ns, 800u);
        // By its path the interval never left pack, which owns it as a procedure without probes.
        EXPECT_EQ(profile.nodes[at].computation_ns, in_pack ? 700u : 100u);
        if (!in_pack) {
            for (const int level : {0, 1}) {
                ASSERT_EQ(profile.nodes[at].children.size(), 1u) << level;
                at = profile.nodes[at].children[0];
                EXPECT_EQ(profile.nodes[at].kind, SiteKind::kCall);
                EXPECT_EQ(profile.nodes[at].line,
                          marked_line(source, level == 0 ? "call exchange" : "call pack"));
                at = profile.nodes[at].children[0];
            }
        }
        EXPECT_EQ((profile.nodes[at].labels & kLabelEstimated) != 0, !in_pack);
        ASSERT_EQ(profile.nodes[at].children.size(), 1u);
        const ProfileNode& leaf = profile.nodes[profile.nodes[at].children[0]];
        EXPECT_EQ(leaf.name, "MPI_Send");
        EXPECT_EQ(leaf.line, marked_line(source, "send in pack"));
    }
}

class ProbesWithoutDebugInformation : public Probes {
  protected:
    void SetUp() override { set_up("-O0 -Wl,--build-id"); }
};

// The static table supplies a statement if only one of its rows can be meant.
TEST_F(ProbesWithoutDebugInformation, LinesOfTheTable) {
    add_whole_example();
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    for (const auto& [name, mark] : std::map<std::string, std::string>{
             {"p1", "call p1"}, {"p2", "call p2"}, {"MPI_Send", "e1"}, {"MPI_Recv", "e2"}}) {
        SCOPED_TRACE(name);
        for (const ProfileNode& node : profile.nodes) {
            if (node.name != name || node.kind == SiteKind::kProcedure) continue;
            EXPECT_EQ(node.line, example_.line(mark));
            EXPECT_EQ(node.file, ExampleProgram::source());
            EXPECT_EQ(node.labels & kLabelNoLine, 0u);
        }
    }
    EXPECT_EQ(profile.nodes.size(), 1u + 1 + 2 * 4 + 2 * 4 + 1);
}

TEST_F(Probes, RebuiltSinceTheRun) {
    std::string id = build_id_of(example_.file());
    id[0] = static_cast<char>(id[0] ^ 1);
    const uint32_t old = records_.module(example_.file(), id);
    const uint32_t main =
        records_.probe(start_, SiteKind::kProcedure, old, 0x1000, totals(1, 1000));
    records_.probe(main, SiteKind::kLoop, old, 0x1020, totals(1, 400));
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t node = child(profile, 0, SiteKind::kProcedure, "example+0x1000");
    ASSERT_NE(node, kNoNode);
    EXPECT_EQ(profile.nodes[node].labels, kLabelProbed | kLabelNoLine);
    const uint32_t inner = child(profile, node, SiteKind::kLoop, "loop");
    ASSERT_NE(inner, kNoNode);
    EXPECT_EQ(profile.nodes[inner].file, "example+0x1020");
    EXPECT_TRUE(has_note(profile, "was rebuilt since the run"));
}

}  // namespace
}  // namespace dwell
