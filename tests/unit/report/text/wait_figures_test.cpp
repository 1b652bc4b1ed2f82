// Tests figures derived from records of waiting; the answers are sums.
#include "report/figures/wait_figures.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "report/text/text_report.h"
#include "report/text/views.h"
#include "summarize/profile/wait_notes.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using samples::kMs;

CommLine line_of(const Profile& profile, const std::string& name) {
    for (const CommLine& line : comm_lines(profile)) {
        if (profile.nodes[line.node].name == name) return line;
    }
    ADD_FAILURE() << name;
    return {};
}

// 32-bit counters saturate in the records: a sum with a full counter is a lower bound.
TEST(WaitNotes, FullCountersAreTheLeastThatThereWere) {
    for (const uint64_t messages : {uint64_t{7}, uint64_t{kCounterFull}}) {
        Profile profile;
        profile.ranks.resize(1);
        profile.nodes.resize(1);
        profile.nodes[0].kind = SiteKind::kCommunication;
        profile.nodes[0].name = "MPI_Recv";
        profile.nodes[0].totals.folded_peers = messages;
        profile.nodes[0].totals.guessed_waits = messages;
        NoteWriter notes(profile);
        add_wait_notes(&notes);
        const std::string begin = messages == 7 ? "7 messages " : "at least 4294967295 messages ";
        const std::vector<std::string> all = notes.take();
        ASSERT_EQ(all.size(), 2u);
        EXPECT_EQ(all[0].substr(0, begin.size()), begin);
        EXPECT_EQ(all[1].substr(0, begin.size()), begin);
    }
}

TEST(WaitFigures, KindsFollowFromTheCall) {
    Totals totals{};
    totals.sync_ns = 100;
    const std::map<std::string, std::string> kinds = {{"MPI_Barrier", "wait at barrier"},
                                                      {"MPI_Allreduce", "wait at N to N"},
                                                      {"MPI_Alltoallv", "wait at N to N"},
                                                      {"MPI_Iallgather", "wait at N to N"},
                                                      {"MPI_Bcast", "late broadcaster"},
                                                      {"MPI_Scatterv", "late scatterer"},
                                                      {"MPI_Reduce", "early reduce"},
                                                      {"MPI_Gather", "early gather"},
                                                      {"MPI_Scan", "early scan"},
                                                      {"MPI_Reduce_scatter", "wait at N to N"},
                                                      {"MPI_Win_fence", "wait in window"},
                                                      {"MPI_Neighbor_alltoall", "wait at N to N"},
                                                      {"MPI_Comm_split", "wait for partners"}};
    for (const auto& [call, kind] : kinds) {
        const auto found = wait_kinds(call_number(call), totals);
        ASSERT_EQ(found.size(), 1u) << call;
        EXPECT_EQ(found[0].name, kind) << call;
        EXPECT_EQ(found[0].time_ns, 100u);
    }
    totals.late_sender_ns = 30;
    totals.late_receiver_ns = 70;  // nothing remains for a collective
    const auto both = wait_kinds(call_number("MPI_Sendrecv"), totals);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0].name, "late receiver");
    EXPECT_EQ(both[1].name, "late sender");
}

TEST(WaitFigures, PartnersOfALine) {
    const Profile profile = samples::chain_profile();
    const Partners all = partners_of(profile, line_of(profile, "MPI_Recv"), 4);
    ASSERT_EQ(all.heaviest.size(), 3u);
    EXPECT_EQ(all.all_ns, (6400 + 5970 + 50 + 10) * kMs);
    EXPECT_EQ(all.heaviest[0].peer, 1u);
    EXPECT_EQ(all.heaviest[0].time_ns, 6400 * kMs);
    EXPECT_EQ(all.heaviest[0].doing.sampled, "");
    EXPECT_EQ(all.heaviest[1].doing.procedure, "main");
    EXPECT_EQ(all.heaviest[1].doing.sampled, "assemble");
    EXPECT_EQ(all.heaviest[2].doing.interval, kNoNode);
    EXPECT_EQ(all.rest_ns, 10 * kMs);
    EXPECT_TRUE(all.certain);  // 50 ms exceed the 10 ms of any omitted partner
    const Partners two = partners_of(profile, line_of(profile, "MPI_Recv"), 1);
    EXPECT_EQ(two.rest_ns, (5970 + 50 + 10) * kMs);
    EXPECT_TRUE(two.certain);
    Profile close = profile;
    for (ProfilePartner& partner : close.partners) {
        if (partner.peer == kNoPeer) partner.lost_ns = 431 * kMs;  // 5970 + 431 > 6400
    }
    EXPECT_FALSE(partners_of(close, line_of(close, "MPI_Recv"), 1).certain);
}

// Kind and partner come from measured waiting, which may be a small part of a polling line.
TEST(WaitFigures, HeadlinesTellHowMuchIsKnown) {
    const Profile profile = samples::chain_profile();
    CommLine line = line_of(profile, "MPI_Recv");
    line.totals.sync_ns = line.totals.late_sender_ns = line.totals.blocked_ns = 1000 * kMs;
    EXPECT_TRUE(wait_headline(profile, line, true)
                    .starts_with("333 ms a rank (late sender), with 2.13 s passed on by rank 1"))
        << wait_headline(profile, line, true);  // 6400 of 12430
    line.totals.blocked_ns = 4000 * kMs;
    EXPECT_TRUE(wait_headline(profile, line, true)
                    .starts_with("~1.33 s a rank (known: 333 ms, late sender), with 2.13 s passed "
                                 "on by rank 1"))
        << wait_headline(profile, line, true);
}

// The owner is what made the rank late: its own line is shown, however much its callees compute.
TEST(WaitFigures, TheLineIsOneOfTheOwner) {
    samples::Builder b(2, "step");
    const uint32_t main = b.proc("main", "step.cpp", 25, 0);
    const uint32_t smooth = b.call("smooth", "step.cpp", 30, main, 7);
    const uint32_t sum = b.call("sum", "step.cpp", 31, main, 17);
    const uint32_t reduce = b.comm("MPI_Reduce", "step.cpp", 39, main);
    b.compute(main, 0, 1000 * kMs);
    b.calls(reduce, 1, samples::known_wait(10, 900 * kMs, 900 * kMs));
    Profile& p = b.profile();
    p.intervals.push_back({reduce, reduce, main, 20, 1000 * kMs, kMs, 150 * kMs, {}});
    p.intervals[0].lines = {{"smooth", "step.cpp", 8, 60, smooth, false},
                            {"main", "step.cpp", 34, 20, main, false},
                            {"main", "step.cpp", 33, 30, main, false},
                            {"sum", "step.cpp", 18, 20, sum, false}};
    p.partners = {{reduce, 0, 0, 10, 900 * kMs, 90 * kMs, 0, 0}};
    p.causes = {{0, 0, 10, 900 * kMs, 0, 0}};
    Profile profile = b.finish();
    Computation doing = cause_lines(profile)[0].computation;
    EXPECT_EQ(doing.procedure, "main");
    EXPECT_EQ(doing.sampled, "");
    EXPECT_EQ(doing.sampled_place, "step.cpp:33");
    profile.intervals[0].lines[1].samples = 3;
    profile.intervals[0].lines[2].samples = 2;
    doing = cause_lines(profile)[0].computation;
    EXPECT_EQ(doing.sampled_place, "");
    EXPECT_EQ(doing.own_place, "step.cpp:34");
}

// A loop is identified by procedure and line.
TEST(WaitFigures, LoopsAreNamedByProcedureAndLine) {
    Profile profile = samples::chain_profile();
    ProfileNode loop;
    loop.kind = SiteKind::kLoop;
    loop.name = "loop";
    loop.file = "/home/ada/chain.c";
    loop.line = 41;
    loop.parent = profile.intervals[0].booked_on;
    loop.totals.min_ns = UINT64_MAX;
    profile.nodes[loop.parent].children.push_back(static_cast<uint32_t>(profile.nodes.size()));
    profile.nodes.push_back(loop);
    profile.intervals[0].booked_on = static_cast<uint32_t>(profile.nodes.size() - 1);
    const Computation doing = cause_lines(profile)[0].computation;
    EXPECT_EQ(doing.procedure, "main");
    EXPECT_EQ(doing.sampled, "assemble");
    EXPECT_EQ(doing.sampled_place, "chain.c:55");
    for (const int width : {80, 100, 120}) {
        TextOptions options;
        options.width = width;
        std::string words;
        std::istringstream report(write_text_report(profile, options));
        for (std::string word; report >> word;) words += (words.empty() ? "" : " ") + word;
        EXPECT_NE(words.find("rank 0 in main, loop chain.c:41 (mostly in assemble chain.c:55)"),
                  std::string::npos)
            << words;
        EXPECT_EQ(words.find("in loop"), std::string::npos) << words;
    }
    profile.intervals[0].or_after = true;
    EXPECT_NE(write_text_report(profile, TextOptions()).find("rank 0 in or after main, loop"),
              std::string::npos);
    profile.intervals[0].or_after = false;
    // Two loops of one procedure between the same two lines are not one computation.
    profile.nodes.push_back(loop);
    profile.nodes.back().line = 50;
    profile.intervals.push_back(profile.intervals[0]);
    profile.intervals.back().booked_on = static_cast<uint32_t>(profile.nodes.size() - 1);
    const size_t causes = cause_lines(profile).size();
    profile.causes.push_back(profile.causes[0]);
    profile.causes.back().interval = static_cast<uint32_t>(profile.intervals.size() - 1);
    EXPECT_EQ(cause_lines(profile).size(), causes + 1);
}

TEST(WaitFigures, CausesOverRanks) {
    const std::vector<CauseLine> causes = cause_lines(samples::chain_profile());
    ASSERT_EQ(causes.size(), 4u);
    EXPECT_EQ(causes[0].time_ns, 11'970 * kMs);
    EXPECT_EQ(causes[0].passed_on_ns, 5900 * kMs);
    EXPECT_EQ(causes[0].peer, 0u);
    EXPECT_EQ(causes[1].time_ns, (450 + 70) * kMs);  // by ranks 1 and 2
    EXPECT_EQ(causes[1].peer, 1u);
    EXPECT_EQ(causes[1].peer_ns, 450 * kMs);
    EXPECT_EQ(causes[1].others, 1u);
    EXPECT_EQ(culprits_text(causes[1], causes[1].time_ns), "mostly rank 1 (and 1 other rank)");
    EXPECT_EQ(causes[3].computation.interval, kNoNode);  // last, whatever its time
}

// Ranks 5 and 6 get 11.97 s each of the cause that rank 0 has for twice as long. Of the indirect
// waiting rank 6 has 11.8 s, rank 0 5.9.
TEST(WaitFigures, ACauseOfSeveralRanksNamesOneAndCountsTheOthers) {
    Profile profile = samples::chain_profile();
    ProfileCause cause = profile.causes[0];
    for (uint32_t rank : {5, 6}) {
        cause.peer = rank;
        cause.time_ns = 11'970 * kMs;
        cause.passed_on_ns = rank == 6 ? 11'800 * kMs : 0;
        profile.causes.push_back(cause);
    }
    profile.causes[0].time_ns = 2 * 11'970 * kMs;
    profile.sync_ns += 3 * 11'970 * kMs;
    const std::vector<CauseLine> causes = cause_lines(profile);
    EXPECT_EQ(causes[0].others, 2u);
    EXPECT_EQ(culprits_text(causes[0], causes[0].time_ns), "rank 0 (and 2 other ranks)");
    const std::optional<CauseLine> root = main_passed_on(profile);
    ASSERT_TRUE(root);
    EXPECT_EQ(culprits_text(*root, root->passed_on_ns), "mostly rank 6 (and 1 other rank)");
    std::string words;
    std::istringstream report(write_text_report(profile, {}));
    for (std::string word; report >> word;) words += (words.empty() ? "" : " ") + word;
    EXPECT_NE(words.find("Main cause of waiting: rank 0 (and 2 other ranks) computes in assemble"),
              std::string::npos)
        << words;
    // Causes that were too small to be kept belong to unknown ranks.
    cause.peer = kNoPeer;
    profile.causes.push_back(cause);
    EXPECT_EQ(culprits_text(cause_lines(profile)[0], 4 * 11'970 * kMs), "rank 0 (and other ranks)");
}

// Rank 0 writes files in that computation, rank 5 has no processor in it, rank 6 computes: three
// causes, each of its own size.
TEST(WaitFigures, RanksThatAreLateForAnotherReasonAreAnotherCause) {
    Profile profile = samples::chain_profile();
    ProfileCause cause = profile.causes[0];
    ProfileStall stall;
    stall.interval = cause.interval;
    stall.count = 10;
    stall.time_ns = 20'000 * kMs;
    stall.io_ns = 15'000 * kMs;
    profile.stalls = {stall};
    stall.rank = 5;
    stall.io_ns = 0;
    stall.queued_ns = 15'000 * kMs;
    profile.stalls.push_back(stall);
    for (uint32_t rank : {5, 6}) {
        cause.peer = rank;
        cause.time_ns = rank * 1000 * kMs;
        profile.causes.push_back(cause);
    }
    const std::vector<CauseLine> causes = cause_lines(profile);
    ASSERT_GE(causes.size(), 3u);
    const StallKind kinds[] = {StallKind::kIo, StallKind::kNone, StallKind::kQueued};
    const uint64_t times_ms[] = {11'970, 6000, 5000};
    const uint32_t peers[] = {0, 6, 5};
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(causes[i].stall.kind, kinds[i]);
        EXPECT_EQ(causes[i].time_ns, times_ms[i] * kMs);
        EXPECT_EQ(culprits_text(causes[i], causes[i].time_ns), rank_text(peers[i]));
    }
    // Two ranks with the same activity are one cause.
    profile.stalls[1].io_ns = 15'000 * kMs;
    profile.stalls[1].queued_ns = 0;
    profile.causes.back().peer = 5;
    const CauseLine both = cause_lines(profile)[0];
    EXPECT_EQ(both.time_ns, (11'970 + 11'000) * kMs);
    EXPECT_EQ(culprits_text(both, both.time_ns), "mostly rank 0 (and 1 other rank)");
}

// As much waiting has no known cause as has one: the named rank caused only the known part.
TEST(WaitFigures, SummarySaysHowMuchHasNoKnownCause) {
    Profile profile = samples::chain_profile();
    ProfileCause cause;
    cause.peer = kNoPeer;
    cause.interval = kNoNode;
    for (const ProfileCause& known : profile.causes) cause.time_ns += known.time_ns;
    profile.causes.push_back(cause);
    std::string words;
    std::istringstream report(write_text_report(profile, {}));
    for (std::string word; report >> word;) words += (words.empty() ? "" : " ") + word;
    // 12.73 s of three ranks.
    EXPECT_NE(words.find("Waiting without a known cause: 4.24 s a rank."), std::string::npos)
        << words;
}

TEST(WaitFigures, ReportSaysWhatIsEstimated) {
    TextOptions options;
    options.per_rank = true;
    const std::string report = write_text_report(samples::chain_profile(), options);
    // Measured: 100 ms of sends, 12.43 s of receives, 120 ms of barriers, for which 120 ms more are
    // estimated. Means of three ranks.
    EXPECT_NE(report.find("waiting         4.22 s   42.2 %"), std::string::npos) << report;
    EXPECT_NE(report.find("waiting ~      40.0 ms    0.4 %"), std::string::npos) << report;
    EXPECT_NE(report.find("~80.0 %"), std::string::npos);  // of the barriers' time
    EXPECT_NE(report.find("Clocks"), std::string::npos);
    EXPECT_EQ(report.find("injected"), std::string::npos);
}

}  // namespace
}  // namespace dwell
