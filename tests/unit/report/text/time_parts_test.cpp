// Tests how verdict and report divide the time: set-up, waiting, and time without a processor. The
// right answers are known by arithmetic.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "report/text/text_report.h"
#include "tests/unit/report/text/verdict_words.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using samples::Builder;
using samples::kMs;
using samples::known_wait;

// Two ranks compute 300 ms. Then rank 1 is busy for `late_ms`, while rank 0 waits for it in
// MPI_Finalize, which takes each of them 20 ms more; MPI_Init takes 200.
Profile late_for_the_end(uint64_t late_ms) {
    Builder b(2, "late");
    const uint32_t main = b.proc("main", "late.c", 1, 0);
    const uint32_t init = b.comm("MPI_Init", "late.c", 3, main);
    const uint32_t finalize = b.comm("MPI_Finalize", "late.c", 9, main);
    const uint64_t late_ns = late_ms * kMs;
    for (uint32_t rank = 0; rank < 2; ++rank) {
        b.calls(init, rank, known_wait(1, 200 * kMs, 0));
        b.compute(main, rank, 300 * kMs + rank * late_ns);
    }
    b.calls(finalize, 0, known_wait(1, 20 * kMs + late_ns, late_ns));
    b.calls(finalize, 1, known_wait(1, 20 * kMs, 0));
    Profile& p = b.profile();
    p.intervals.push_back(
        {init, finalize, main, 2, late_ns, kMs, late_ns, {{"tidy_up", "late.c", 8, 100}}});
    p.partners = {{finalize, 1, 0, 1, late_ns, late_ns, 0, 0}};
    p.causes = {{0, 1, 1, late_ns, 0, 0}};
    return b.finish();
}

// 1.5 of 3.6 s.
TEST(TimeParts, WaitingInMpiFinalizeIsWaiting) {
    const Profile profile = late_for_the_end(1500);
    expect_words(
        profile,
        {"late loses 41.7 % of its time to waiting for late ranks, 750 ms a rank. Main "
         "cause: rank 1 computes in tidy_up (late.c:8), and others wait 750 ms a rank, "
         "mostly at late.c:9 MPI_Finalize in main. Load balance: 58 %, rank 1 computes 1.80 s, "
         "the mean is 1.05 s. Time per rank: 1.80 s, computation 58.3 %, waiting 41.7 %. "
         "Set-up of MPI (not in the shares): 220 ms a rank. Trust"});
    TextOptions options;
    options.width = 200;
    options.per_rank = true;
    const std::string report = words_of(write_text_report(profile, options));
    for (const char* const part :
         {"waiting 750 ms 41.7 % ", "MPI set-up 220 ms ",
          "Costliest MPI line: late.c:9 MPI_Finalize in main takes 770 ms a rank, 41.7 % of the "
          "time. Waiting: 750 ms a rank",
          "Main cause of waiting: rank 1 computes in tidy_up", "770 ms 41.7 % 2 ",
          " 41.7 % 770 ms 97.4 % 2 ",
          // Rank 0 of the table of ranks: computation, transfer, waiting and set-up.
          "0 2.02 s 300 ms 0 1.50 s 220 ms "}) {
        EXPECT_NE(report.find(part), std::string::npos) << part << "\nin\n" << report;
    }
}

TEST(TimeParts, RanksThatEndTogetherDoNotWait) {
    const Profile profile = late_for_the_end(8);
    expect_words(profile, {"late computes 100.0 % of its time; no rank waits long.",
                           "Set-up of MPI (not in the shares): 224 ms a rank. Trust"});
    EXPECT_NE(write_text_report(profile, {}).find("No MPI communication but set-up"),
              std::string::npos);
}

// The activity of rank 1 before MPI_Init is unknown, and so is its lateness: rank 0 only took
// longer.
TEST(TimeParts, ALongRunDoesNotTellMoreOfALateStart) {
    Builder b(2, "late");
    const uint32_t main = b.proc("main", "late.c", 1, 0);
    const uint32_t init = b.comm("MPI_Init", "late.c", 3, main);
    for (uint32_t rank = 0; rank < 2; ++rank) b.compute(main, rank, 300 * kMs);
    b.calls(init, 0, known_wait(1, 1510 * kMs, 0));
    b.calls(init, 1, known_wait(1, 10 * kMs, 0));
    const Profile profile = b.finish();
    expect_words(profile, {"Set-up of MPI (not in the shares): 760 ms a rank. Trust"});
    const std::string report = words_of(write_text_report(profile, {}));
    EXPECT_NE(report.find("files; not in the shares): 760 ms a rank. "), std::string::npos);
    EXPECT_EQ(report.find("longer run"), std::string::npos) << report;
}

// A phase of 4 s with 3 s of MPI_Comm_split, one of 4 s, and one that is set-up alone, in 9 s.
TEST(TimeParts, SharesOfPhasesAreWithoutSetUp) {
    Builder b(1, "phases");
    const auto phase = [&b](const char* name) {
        const uint32_t node = b.add(SiteKind::kBlock, name, "", 0, 0);
        b.entered(node, 0, 1, kMs);
        b.profile().nodes[node].labels |= kLabelPhase;
        return node;
    };
    const uint32_t prepare = phase("prepare");
    const uint32_t solve = phase("solve");
    const uint32_t end = phase("end");
    b.calls(b.comm("MPI_Comm_split", "a.c", 3, prepare), 0, known_wait(1, 3000 * kMs, 0));
    b.compute(prepare, 0, 1000 * kMs);
    b.compute(solve, 0, 4000 * kMs);
    b.calls(b.comm("MPI_Finalize", "a.c", 9, end), 0, known_wait(1, 1000 * kMs, 0));
    const std::string report = words_of(write_text_report(b.finish(), {}));
    for (const char* const part :
         {"1 prepare 20.0 % 4.00 s 1 ", "2 solve 80.0 % 4.00 s 1 ", "3 end set-up 1.00 s 1 "}) {
        EXPECT_NE(report.find(part), std::string::npos) << part << "\nin\n" << report;
    }
}

// Of the shares in a verdict.
double sum_of_shares(const Profile& profile) {
    std::istringstream line(verdict(profile, 200));
    for (std::string text; std::getline(line, text);) {
        if (text.find("Time per rank: ") == std::string::npos) continue;
        std::istringstream words(text);
        double sum = 0;
        std::string before;
        for (std::string word; words >> word; before = word) {
            if (word.starts_with("%")) sum += std::stod(before);
        }
        return sum;
    }
    return 1000;
}

// Rank 0 computes 100 ms and sends for 50, rank 1 computes 300 and sends for 250; both wait 500.
// The recorded time without a processor exceeds rank 0's own time, which limits it.
Profile hardly_any_processor(uint64_t queued_work_ms) {
    Builder b(2, "busy");
    const uint32_t main = b.proc("main", "busy.c", 1, 0);
    const uint32_t send = b.comm("MPI_Send", "busy.c", 3, main);
    const uint32_t recv = b.comm("MPI_Recv", "busy.c", 4, main);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        b.compute(main, rank, (100 + 200 * rank) * kMs);
        b.calls(send, rank, known_wait(1, (50 + 200 * rank) * kMs, 0));
        b.calls(recv, rank, known_wait(1, 500 * kMs, 500 * kMs));
    }
    Profile profile = b.finish();
    for (ProfileRank& rank : profile.ranks) {
        rank.queued_ns = queued_work_ms * kMs;
        rank.queued_call_ns = 150 * kMs;
    }
    return profile;
}

TEST(TimeParts, SharesAddUpWithoutProcessors) {
    Profile profile = hardly_any_processor(150);
    // 100 + 50 and 150 + 150 of 1700 ms; computation 150, transfer 100.
    EXPECT_NE(
        words_of(verdict(profile, 100))
            .find(", waiting 58.8 %, no processor 26.5 %, computation 8.8 %, MPI transfer 5.9 "
                  "%."),
        std::string::npos)
        << verdict(profile, 100);
    TextOptions options;
    options.width = 200;
    options.per_rank = true;
    const std::string report = words_of(write_text_report(profile, options));
    for (const char* const part : {"computation 75.0 ms 8.8 % ", "no processor 225 ms 26.5 % ",
                                   "MPI transfer 50.0 ms 5.9 % ", "0 650 ms 0 150 ms 0 500 ms 0 ",
                                   "1 1.05 s 150 ms 300 ms 100 ms 500 ms 0 "}) {
        EXPECT_NE(report.find(part), std::string::npos) << part << "\nin\n" << report;
    }
    profile.rows.clear();  // then only the sums are known: 300 of 400 ms and 300 of 300
    expect_words(profile, {"waiting 58.8 %, no processor 35.3 %, computation 5.9 %."});
    for (const uint64_t queued_ms : {0, 50, 250, 10'000}) {
        Profile each = hardly_any_processor(queued_ms);
        EXPECT_LE(sum_of_shares(each), 100.2) << verdict(each);
        each.rows.clear();
        EXPECT_LE(sum_of_shares(each), 100.2) << verdict(each);
    }
}

// Only rank 1 computes, for 0.5 ms of 1050: no balance is shown, and no share of nothing.
TEST(TimeParts, SaysNothingOfTheBalanceOfNothing) {
    Profile profile = hardly_any_processor(10'000);
    const auto check = [&](const char* what) {
        TextOptions options;
        options.width = 200;
        options.per_rank = true;
        const std::string words = words_of(verdict(profile) + write_text_report(profile, options));
        for (const char* const part : {"Load balance", "needed", "- times", "is uneven"}) {
            EXPECT_EQ(words.find(part), std::string::npos) << what << part << "\nin\n" << words;
        }
    };
    check("none: ");
    for (ProfileRank& rank : profile.ranks) rank.queued_ns = 299'500'000;
    check("hardly any: ");
}

}  // namespace
}  // namespace dwell
