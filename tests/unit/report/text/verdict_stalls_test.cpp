// The verdict when the cause is no computation: ranks that write files, sleep or have no processor.
// The right answer is known by arithmetic.
#include <gtest/gtest.h>

#include <string>

#include "report/figures/losses.h"
#include "report/text/text_report.h"
#include "tests/unit/report/text/late_rank.h"
#include "tests/unit/report/text/verdict_words.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using samples::Builder;
using samples::kMs;
using samples::known_wait;

// The late rank does not compute: 500 ms of its 1.5 s explain the waiting.
ProfileStall half_a_second(uint64_t ProfileStall::*part) {
    ProfileStall stall{0, 0, kNoNode, 10, 1500 * kMs, 0, 0, 0, 0};
    stall.*part = 600 * kMs;
    return stall;
}

// Adds the I/O statement with most of the first stall.
void write_checkpoint(Profile* profile) {
    ProfileNode write;
    write.kind = SiteKind::kIo;
    write.name = "write";
    write.file = "/home/ada/heat.c";
    write.line = 33;
    write.io_file = "/scratch/ck.dat";
    write.parent = 1;
    write.totals.bytes_sent = 4096;
    profile->nodes.push_back(write);
    profile->stalls[0].io_node = static_cast<uint32_t>(profile->nodes.size() - 1);
}

TEST(Verdict, NamesTheFileThatALateRankWrites) {
    Profile profile = late_rank();
    profile.stalls = {half_a_second(&ProfileStall::io_ns)};
    write_checkpoint(&profile);
    expect_words(profile,
                 {"Main cause: rank 0 writes ck.dat in main (heat.c:33 write): 600 ms, and "
                  "others wait 250 ms a rank, mostly at heat.c:69 MPI_Waitall in "
                  "exchange_halo."});
}

// A procedure of the library is not named, but the line that calls it.
TEST(Verdict, NamesTheLineThatWritesByTheLibrary) {
    Profile profile = late_rank();
    profile.stalls = {half_a_second(&ProfileStall::io_ns)};
    write_checkpoint(&profile);
    const auto last = static_cast<uint32_t>(profile.nodes.size());
    ProfileNode call;
    call.kind = SiteKind::kCall;
    call.name = "std::ofstream::close()";
    call.file = "/home/ada/heat.c";
    call.line = 34;
    call.parent = 1;
    ProfileNode library = call;
    library.kind = SiteKind::kProcedure;
    library.file = "/usr/include/c++/12/fstream";
    library.labels = kLabelSystem;
    library.parent = last;
    profile.nodes.push_back(call);
    profile.nodes.push_back(library);
    ProfileNode& write = profile.nodes[last - 1];
    write.name = "fclose";
    write.file = library.file;
    write.line = 1000;
    write.parent = last + 1;
    expect_words(profile, {"rank 0 closes ck.dat in main (heat.c:34 fclose): 600 ms, and others"});
}

// The statement took 300 of 600 ms in I/O: the sentence gives the sum of all. With 500 ms it is
// almost all.
TEST(Verdict, SaysThatTheAmountIsOfOtherStatementsToo) {
    for (const uint64_t ms : {300, 500}) {
        Profile profile = late_rank();
        profile.stalls = {half_a_second(&ProfileStall::io_ns)};
        write_checkpoint(&profile);
        ProfileRow row;
        row.node = profile.stalls[0].io_node;
        row.totals.time_ns = ms * kMs;
        profile.rows.push_back(row);
        const std::string others = ms == 300 ? " and others" : "";
        expect_words(profile, {"rank 0 writes ck.dat in main (heat.c:33 write" + others +
                               "): 600 ms, and others wait 250 ms a rank"});
    }
}

// In two lines the names would be cut, and ten lines are allowed. 60 columns have no room for where
// the others wait: no word of the rest is cut.
TEST(Verdict, TakesAThirdLineForNames) {
    Halo halo;
    halo.file = "/home/ada/the_electric_potential.cpp";
    halo.compute = "relax_the_electric_potential";
    halo.exchange = "exchange_halo_with_neighbours";
    std::string text = verdict(late_rank(halo), 80);
    EXPECT_NE(words_of(text).find(
                  "Main cause: rank 0 computes in relax_the_electric_potential "
                  "(the_electric_potential.cpp:78), and others wait 250 ms a rank, mostly at "
                  "the_electric_potential.cpp:69 MPI_Waitall in exchange_halo_with_neighbours."),
              std::string::npos)
        << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kVerdictLines) << text;
    text = verdict(late_rank(), 60);
    EXPECT_NE(words_of(text).find("Main cause: rank 0 computes in relax (heat.c:78), and others "
                                  "wait 250 ms a rank. Load"),
              std::string::npos)
        << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kVerdictLines) << text;
}

TEST(Verdict, NamesWhatALateRankDoesBesideComputing) {
    Profile profile = late_rank();
    profile.stalls = {half_a_second(&ProfileStall::asleep_ns)};
    // No sample shows where it sleeps: the samples of relax belong to the remaining time.
    expect_words(
        profile,
        {"Main cause: rank 0 does I/O or sleeps between calls of MPI_Waitall "
         "(heat.c:69; on a processor 60.0 % of the time), and others wait 250 ms "
         "a rank. Load balance: 83 %, rank 0: 1.50 s with I/O or sleep, the mean is 1.25 s.",
         "Next: dwell run --io on ... (names the files, if any). Report: dwell "});
    profile.stalls = {half_a_second(&ProfileStall::kernel_ns)};
    expect_words(profile,
                 {"rank 0 does I/O or gets memory between calls of MPI_Waitall (heat.c:69; "
                  "in the kernel 40.0 % of the time), and others"});
    profile.stalls = {half_a_second(&ProfileStall::queued_ns)};
    expect_words(profile, {"rank 0 has no processor in relax (heat.c:78; on a processor 60.0 % of "
                           "the time), and others",
                           "Next: dwell report"});
    // A quarter of the 500 ms that others wait was in the kernel: it may be I/O as well.
    profile.stalls[0].kernel_ns = 125 * kMs;
    expect_words(profile, {"rank 0 has no processor in relax", "Next: dwell run --io on"});
    // Machine code and probes cover the whole time.
    Halo halo;
    halo.sampled = 0;
    profile = late_rank(halo);
    profile.stalls = {half_a_second(&ProfileStall::asleep_ns)};
    expect_words(profile, {"rank 0 does I/O or sleeps in main (between MPI calls of excha",
                           "halo; on a processor 60.0 % of the time), and others",
                           "Next: dwell run --io on"});
}

// A long sentence keeps whole lines and omits the calls.
TEST(Verdict, NamesTheLinesThatARankSleepsBetween) {
    Halo halo;
    halo.program = "ckpt";
    halo.file = "/home/ada/ckpt.f90";
    Profile profile = late_rank(halo);
    ProfileNode before = profile.nodes[profile.intervals[0].to];
    before.name = "MPI_Allreduce";
    before.line = 60;
    profile.intervals[0].from = static_cast<uint32_t>(profile.nodes.size());
    profile.nodes[before.parent].children.push_back(profile.intervals[0].from);
    profile.nodes.push_back(before);
    profile.stalls = {half_a_second(&ProfileStall::asleep_ns)};
    EXPECT_NE(words_of(verdict(profile, 80))
                  .find("rank 0 does I/O or sleeps between ckpt.f90:60 and :69 (on a processor "
                        "60.0 % of the time), and others wait 250 ms a rank."),
              std::string::npos)
        << verdict(profile, 80);
    EXPECT_NE(words_of(verdict(profile, 100))
                  .find("rank 0 does I/O or sleeps between ckpt.f90:60 MPI_Allreduce and :69 "
                        "MPI_Waitall (on a processor"),
              std::string::npos)
        << verdict(profile, 100);
}

// Without MPI: of 1.5 s.
TEST(Verdict, SaysThatAProgramWithoutMpiIsRarelyOnAProcessor) {
    Profile profile = samples::serial_profile();
    ProfileRank& rank = profile.ranks[0];
    rank.real_ns = rank.usage_ns = 1500 * kMs;
    rank.usage.user_ns = 100 * kMs;
    rank.usage.system_ns = 50 * kMs;
    expect_words(profile,
                 {"serial was on a processor 10.0 % of its time: else it sleeps, does I/O or "
                  "has no processor.",
                  "Time: 1.50 s, off processor 90.0 %, computation 10.0 %."});
    TextOptions options;
    options.width = 100;
    const std::string report = words_of(write_text_report(profile, options));
    EXPECT_NE(report.find("computation 150 ms 10.0 %"), std::string::npos) << report;
    EXPECT_NE(report.find("off processor 1.35 s 90.0 %"), std::string::npos) << report;
    // Probes also time the sleep.
    Profile probed = samples::probed_profile();
    EXPECT_TRUE(computation_text(probed, 40, true).starts_with("Most computation: "));
    for (ProfileRank& of_it : probed.ranks) {
        of_it.flags = kFileSerial;
        of_it.real_ns = of_it.usage_ns = 1;
    }
    EXPECT_TRUE(computation_text(probed, 40, true).starts_with("Most time: "));
    // Of all threads, of which there may be several.
    rank.usage.user_ns = 1500 * kMs;
    expect_words(profile, {"serial takes 1.55 s of processor time in 1.50 s."});
    rank.usage_ns = 0;
    rank.usage.user_ns = 0;
    expect_words(profile, {"serial computes 100.0 % of its time."});
}

// Verdict and report agree on the cause.
TEST(Verdict, SaysOfTheCauseWhatTheReportSays) {
    for (const auto part : {&ProfileStall::time_ns, &ProfileStall::io_ns, &ProfileStall::asleep_ns,
                            &ProfileStall::kernel_ns, &ProfileStall::queued_ns}) {
        Profile profile = late_rank();
        profile.stalls = {half_a_second(part)};
        if (part == &ProfileStall::io_ns) write_checkpoint(&profile);
        TextOptions options;
        options.width = 200;
        const std::string said = words_of(write_verdict(profile, options, ""));
        const std::string report = words_of(write_text_report(profile, options));
        const size_t start = said.find("Main cause: ") + 12;
        const size_t end = said.find(", and others wait 250 ms a rank");
        ASSERT_NE(end, std::string::npos) << said;
        const std::string cause = said.substr(start, end - start);
        EXPECT_NE(
            report.find("Main cause of waiting: " + cause + ", and others wait 250 ms a rank."),
            std::string::npos)
            << cause << "\n\n"
            << report;
        // Nothing unrelated to the cause is named as late.
        const bool sampled = part == &ProfileStall::time_ns || part == &ProfileStall::queued_ns;
        EXPECT_EQ(report.find("rank 0 in main (mostly in relax") != std::string::npos, sampled)
            << report;
        EXPECT_EQ(report.find("surplus in main") != std::string::npos, sampled) << report;
    }
}

// 1.2 of 3 s without a processor; 1.3 of 2.5 s with one, 0.6 of 1.5 on rank 0.
Profile without_processors(uint32_t processors) {
    Profile profile = late_rank();
    for (ProfileRank& rank : profile.ranks) {
        rank.host = "node01";
        rank.processors = processors;
    }
    profile.ranks[0].queued_ns = 900 * kMs;
    profile.ranks[1].queued_ns = 300 * kMs;
    return profile;
}

TEST(Verdict, NamesRanksThatShareProcessorsFirst) {
    expect_words(without_processors(1),
                 {"heat loses 40.0 % of its time because ranks have no processor, 600 ms a rank. "
                  "Another 16.7 % of the time is waiting for late ranks. Main cause: 2 ranks share "
                  "1 processor: ranks have one in 52.0 % of the time needed, rank 0 in "
                  "40.0 %. Run fewer ranks or use more processors. Load balance: 93 %, rank "
                  "1 computes 700 ms, the mean is 650 ms. Time per rank: 1.50 s, computation 43.3 "
                  "%, no processor 40.0 %"});
}

// Ranks that share two processors, and have none for so long in the transfer of their calls.
Profile without_processors_in_calls(uint64_t waited_ms, uint64_t queued_ms) {
    Profile profile = late_for_nobody(100, 900, waited_ms);
    for (ProfileRank& rank : profile.ranks) {
        rank.host = "node01";
        rank.processors = 2;
        rank.queued_call_ns = queued_ms * kMs;
    }
    return profile;
}

// The share of the time needed for computing says nothing of time in calls.
TEST(Verdict, SaysThatRanksHaveNoProcessorInCalls) {
    expect_words(without_processors_in_calls(300, 500),
                 {"share 2 processors: ranks have none, mostly inside of MPI calls. Run "
                  "fewer ranks"});
}

// Then the program's own loss is named, too.
TEST(Verdict, NamesOtherProgramsThatHoldTheProcessors) {
    const Profile profile = without_processors(2);
    expect_words(profile,
                 {"Main cause: other programs hold the processors: ranks have one in 52.0 % of the "
                  "time needed, rank 0 in 40.0 %. Besides: rank 0 computes in relax "
                  "(heat.c:78), and others wait 250 ms a rank, mostly at heat.c:69 MPI_Waitall in "
                  "exchange_halo. Load balance"});
    for (const int width : {60, 80}) expect_small(profile, width, true);
    // A smaller part than the imbalance is not the main cause.
    Profile less = without_processors(2);
    less.ranks[0].queued_ns = 100 * kMs;
    expect_words(less, {"waiting for late ranks, 250 ms a rank. Another 13.3 % of the time passes "
                        "without a processor. Main cause: rank 0 computes in relax"});
}

// One rank: of 1 s that counts as computation it was on a processor for 150 ms.
TEST(Verdict, SaysThatARankAloneIsRarelyOnAProcessor) {
    Builder b(1, "heat");
    const uint32_t main = b.proc("main", "heat.c", 1, 0);
    b.compute(main, 0, 1000 * kMs);
    Profile profile = b.finish();
    ProfileRank& rank = profile.ranks[0];
    rank.real_ns = rank.usage_ns = 1000 * kMs;
    rank.usage.user_ns = 150 * kMs;
    expect_words(profile, {"heat computes 15.0 % of its time, and sleeps, does I/O or has no "
                           "processor in 85.0 %.",
                           "Time: 1.00 s, off processor 85.0 %, computation 15.0 %."});
    // A smaller excess is only a reservation.
    rank.usage.user_ns = 900 * kMs;
    expect_words(profile, {"heat computes 100.0 % of its time.",
                           "at least 10.0 % of the computation is off processor."});
    rank.usage.user_ns = 960 * kMs;
    EXPECT_EQ(words_of(verdict(profile)).find("off processor"), std::string::npos);
}

// 2.5 s count as computation; the processor time of both ranks is 2 s.
TEST(Verdict, TrustsNoComputationBeyondTheProcessorTime) {
    Profile profile = late_rank();
    for (ProfileRank& rank : profile.ranks) {
        rank.usage_ns = rank.real_ns;
        rank.usage.user_ns = 1000 * kMs;
    }
    const char* const words = "at least 20.0 % of the computation is off processor";
    expect_words(profile, {words});
    for (const int width : {60, 80}) expect_small(profile, width, true);
    // The waiting for one rank already shows it.
    for (ProfileRank& rank : profile.ranks) rank.queued_ns = 250 * kMs;
    EXPECT_EQ(words_of(verdict(profile)).find(words), std::string::npos);
}

// All the time they wait, they have no processor in their calls.
TEST(Verdict, SaysThatRanksWithoutAProcessorWait) {
    Profile profile = without_processors_in_calls(500, 400);
    expect_words(profile, {"Main loss: ranks wait 500 ms a rank at heat.c:20 MPI_Allreduce in "
                           "main, as ranks share processors."});
    for (ProfileRank& rank : profile.ranks) rank.processors = 4;
    expect_words(profile, {"in main, as other programs hold the processors."});
    for (ProfileRank& rank : profile.ranks) rank.queued_call_ns = 200 * kMs;
    expect_words(profile, {"in main; the late rank is not known."});
}

TEST(Verdict, SetUpHasItsLineWhereItIsTheLargestPart) {
    for (const uint64_t setup_wait_ms : {0, 5000}) {
        Halo halo;
        halo.setup = "MPI_Init";
        halo.setup_wait_ms = setup_wait_ms;
        Profile profile = late_rank(halo);
        for (ProfileRank& rank : profile.ranks) {
            rank.host = "node01";
            rank.processors = 2;
            rank.queued_ns = 600 * kMs;
        }
        const char* const balance = "Load balance: 72 %, rank 0 computes 900 ms";
        const char* const setup =
            "Set-up of MPI (not in the shares): 2.60 s a rank, 2.50 s waiting for rank 0. Trust";
        expect_words(profile, {"Besides: rank 0 computes in relax (heat.c:78), and others wait 250",
                               setup_wait_ms == 0 ? balance : setup});
        for (const int width : {60, 80}) expect_small(profile, width, true);
        // Then the line on what to type next takes two lines.
        profile.stalls = {half_a_second(&ProfileStall::asleep_ns)};
        expect_words(profile, {"Besides: rank 0 does I/O", "Next: dwell run --io on"});
        for (const int width : {60, 80}) expect_small(profile, width, true);
    }
}

}  // namespace
}  // namespace dwell
