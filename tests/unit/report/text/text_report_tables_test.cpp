// Tables of the text report: the operating system's figures, I/O, and the partners of
// communication.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/figures/figures.h"
#include "report/text/text_report.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

TEST(TextReportTables, FiguresOfTheOperatingSystem) {
    TextOptions options;
    const auto has = [&options](const Profile& profile, const std::string& text) {
        return write_text_report(profile, options).find(text) != std::string::npos;
    };
    Profile profile = samples::halo_profile();
    options.per_rank = true;
    EXPECT_FALSE(has(profile, "Peak memory"));
    EXPECT_FALSE(has(profile, "Operating system"));
    profile = samples::with_usage(std::move(profile));
    // (1 + 2 + 3) / 3 million bytes, 1.91 MiB; three are 2.86.
    EXPECT_TRUE(
        has(profile,
            "  Peak memory: 1.91 MiB a rank, most on rank 2: 2.86 MiB, 1.50 times the mean; 5 "
            "pages"));
    EXPECT_TRUE(has(profile, "all on rank 2."));
    EXPECT_TRUE(has(profile, "Operating system"));
    EXPECT_TRUE(has(profile, "     2  3.00 s  300 ms 2.86 MiB    3005      5       33      3"));
    EXPECT_TRUE(has(profile, "     3  not known"));
    EXPECT_FALSE(has(profile, "did not reach their end"));
    profile.ranks[0].state = FileState::kRunning;
    profile.ranks[0].usage_ns = profile.ranks[0].real_ns - 500'000'000;
    EXPECT_TRUE(has(profile, "known up to 500 ms before"));
    for (ProfileRank& rank : profile.ranks) rank.usage.peak_memory_bytes = 1 << 20;
    for (ProfileRank& rank : profile.ranks) rank.usage.major_faults = 0;
    EXPECT_TRUE(has(profile, "  Peak memory: 1.00 MiB a rank.\n"));
}

TEST(TextReportTables, InputAndOutput) {
    const Profile profile = samples::io_profile();
    TextOptions options;
    options.per_rank = true;
    const std::string report = write_text_report(profile, options);
    const auto has = [&report](const std::string& text) {
        return report.find(text) != std::string::npos;
    };
    // 5 s of 20 on two ranks; rank 1 has four of them.
    EXPECT_TRUE(has("  I/O             2.50 s   25.0 %"));
    EXPECT_TRUE(has("4.00 s      1     1.60"));
    EXPECT_TRUE(has("reader.c:7 write"));
    EXPECT_TRUE(has("rank 1: 3.00 s, 1.50x mean"));
    EXPECT_TRUE(has("      out.dat and others\n"));
    EXPECT_TRUE(has("      in.dat\n"));
    EXPECT_TRUE(has("Costliest I/O lines (2 of 2)"));
    EXPECT_EQ(write_text_report(samples::halo_profile(), options).find("I/O"), std::string::npos);
}

// Code of a library header that is inlined into the program has no place of its own: its reads and
// writes are shown at the program's call.
TEST(TextReportTables, InputAndOutputStandInTheProgram) {
    samples::Builder b(1, "streams");
    const uint32_t main = b.proc("main", "streams.cpp", 3, 0);
    for (const char* inserted : {"operator<<(double)", "operator<<(int)"}) {
        const uint32_t call = b.add(SiteKind::kCall, inserted, "streams.cpp", 7, main);
        const uint32_t header = b.proc(inserted, "/usr/include/c++/12/ostream", 220, call);
        const uint32_t write =
            b.add(SiteKind::kIo, "writev", "/usr/include/c++/12/ostream", 221, header);
        b.calls(write, 0, {4, 1000 * samples::kMs, 0, 400, 0, 500 * samples::kMs});
    }
    b.compute(main, 0, 1000 * samples::kMs);
    const std::string report = write_text_report(b.finish(), {});
    EXPECT_NE(report.find("Costliest I/O lines (1 of 1)"), std::string::npos) << report;
    EXPECT_NE(report.find("streams.cpp:7 writev"), std::string::npos) << report;
}

// Besides a second in a barrier, 20 ms each in a write of 4 KiB and in a send of 16 bytes are
// collapsed: the tree's bytes are those of communication.
TEST(TextReportTables, FoldedLinesHoldNoBytesOfFiles) {
    samples::Builder b(1, "folded");
    const uint32_t main = b.proc("main", "folded.c", 3, 0);
    b.calls(b.comm("MPI_Barrier", "folded.c", 5, main), 0, {1, 1000 * samples::kMs});
    b.calls(b.add(SiteKind::kIo, "write", "folded.c", 7, main), 0, {1, 20 * samples::kMs, 0, 4096});
    b.calls(b.comm("MPI_Send", "folded.c", 9, main), 0, {1, 20 * samples::kMs, 0, 16});
    b.compute(main, 0, 9000 * samples::kMs);
    const std::string report = write_text_report(b.finish(), {});
    const size_t folded = report.find("2 more");
    ASSERT_NE(folded, std::string::npos) << report;
    const size_t start = report.rfind('\n', folded) + 1;
    const std::string line = report.substr(start, folded - start);
    EXPECT_NE(line.find("16 B"), std::string::npos) << line;
    EXPECT_EQ(line.find("KiB"), std::string::npos) << line;
}

// Most polls find no message, so their time belongs to no partner.
TEST(TextReportTables, PartnersOfPollsAreWeighedByBytes) {
    Profile profile = samples::halo_profile();
    const auto text = [&] {
        TextOptions options;
        options.width = 200;
        return write_text_report(profile, options);
    };
    EXPECT_NE(text().find("partners by time: "), std::string::npos);
    uint64_t bytes = 0;
    for (ProfilePeer& peer : profile.peers) {
        peer.time_ns = 1;
        bytes += peer.bytes_sent + peer.bytes_received;
    }
    ASSERT_NE(bytes, 0u);
    EXPECT_NE(text().find("partners by bytes: "), std::string::npos);
    EXPECT_EQ(text().find("partners by time: "), std::string::npos);
    for (ProfilePeer& peer : profile.peers) peer.bytes_sent = peer.bytes_received = 0;
    EXPECT_NE(text().find("partners by messages: "), std::string::npos);
    EXPECT_EQ(text().find(" 0 %"), std::string::npos);
}

// One rank's record of one partner at a communication line.
struct OfPartner {
    uint32_t rank;
    uint32_t partner;
    uint64_t messages;
    uint64_t time_ns;
    uint64_t sent_bytes;
    uint64_t received_bytes;
};

// The heaviest pairs of a line with these records and `time_ns`, with their shares in thousandths.
std::string pairs_of(const char* call, uint64_t time_ns, const std::vector<OfPartner>& records) {
    samples::Builder b(4, "pairs");
    const uint32_t node = b.comm(call, "pairs.c", 7, b.proc("main", "pairs.c", 1, 0));
    b.calls(node, 0, {1, time_ns, 0, 0, 0, time_ns, 0, 0, 0});
    for (const OfPartner& of : records) {
        b.profile().peers.push_back({node, of.rank, of.partner, of.messages, of.time_ns, 0,
                                     of.sent_bytes, of.received_bytes, 1, 1});
    }
    const Profile profile = b.finish();
    std::ostringstream text;
    for (const PairShare& pair : heaviest_pairs(profile, comm_lines(profile)[0], true, 8).pairs) {
        text << pair.text << " " << std::lround(1000 * pair.share) << ";";
    }
    return text.str();
}

TEST(TextReportTables, APairOfRanksStandsOnce) {
    // Rank 0 sends to 1 (10 ns), which receives it (40 ns), and sends itself (50 ns of 100).
    EXPECT_EQ(pairs_of("MPI_Waitall", 100,
                       {{0, 1, 1, 10, 800, 0}, {1, 0, 1, 40, 0, 800}, {1, 2, 1, 50, 800, 0}}),
              "0→1 500;1→2 500;");
    // One record with both directions: they cannot be separated in any record of the pair.
    EXPECT_EQ(pairs_of("MPI_Sendrecv", 100,
                       {{1, 0, 2, 30, 8, 8}, {0, 1, 1, 20, 8, 0}, {2, 0, 2, 50, 8, 8}}),
              "0↔1 500;0↔2 500;");
    // Messages without bytes: the call decides the direction.
    EXPECT_EQ(pairs_of("MPI_Recv", 100, {{3, 1, 1, 60, 0, 0}}), "1→3 600;");
    EXPECT_EQ(pairs_of("MPI_Send", 100, {{3, 1, 1, 60, 0, 0}}), "3→1 600;");
    EXPECT_EQ(pairs_of("MPI_Wait", 100, {{3, 1, 1, 60, 0, 0}}), "1↔3 600;");
    // By bytes, where time says nothing. A message recorded by both sides counts once, so 1000 from
    // 0 to 1, as many from 2 to 3 of which only 3 has a record, 500 to itself, and 2 x 250 of both
    // directions.
    EXPECT_EQ(pairs_of("MPI_Waitall", 1'000'000,
                       {{0, 1, 1, 0, 1000, 0},
                        {1, 0, 1, 0, 0, 1000},
                        {3, 2, 1, 0, 0, 1000},
                        {2, 2, 1, 0, 500, 0},
                        {2, 2, 1, 0, 0, 500},
                        {1, 3, 2, 0, 250, 250},
                        {3, 1, 2, 0, 250, 250}}),
              "0→1 333;2→3 333;1↔3 167;2→2 167;");
}

}  // namespace
}  // namespace dwell
