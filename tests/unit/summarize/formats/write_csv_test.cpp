// Reads the CSV back with a small parser of RFC 4180 and compares it with plain sums.
#include "summarize/formats/write_csv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "summarize/formats/csv_fields.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using Table = std::vector<std::vector<std::string>>;

Table parse_csv(const std::string& text) {
    Table table(1, {""});
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
                table.back().back() += text[++i];
            } else if (c == '"') {
                quoted = false;
            } else {
                table.back().back() += c;
            }
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            table.back().emplace_back();
        } else if (c == '\r' && text[i + 1] == '\n') {
            ++i;
            table.push_back({""});
        } else {
            table.back().back() += c;
        }
    }
    table.pop_back();  // the text after the last line end
    return table;
}

uint64_t ns(const std::string& seconds) {
    return static_cast<uint64_t>(std::llround(std::stod(seconds) * 1e9));
}

const std::string kDesignColumns =
    "path,kind,name,file,line,rank,thread,count,time_s,self_s,sync_s,transfer_s,bytes";
enum Column {
    kPath,
    kKind,
    kName,
    kFile,
    kLine,
    kRank,
    kThread,
    kCount,
    kTime,
    kSelf,
    kSync,
    kTransfer,
    kBytes,
    kBlocked,
    kSent,
    kReceived,
    kMin,
    kMax,
    kFailed,
    kEstimated,
    kLabels,
    kUntimed,
    kIterations,
    kAbandoned,
    kEstimatedTime,
    kVolume,
    kKnownSync,
    kLateSender,
    kLateReceiver,
    kPassedOn,
    kUnknownWaits,
    kFirstIteration,
    kLastIteration,
    kCoordinates,
    kOmpWait,
    kOmpIdle,
    kOmpStart,
    kOmpOverhead,
    kCreated,
    kChunks,
    kUserTime,
    kSystemTime,
    kPeakMemory,
    kMinorFaults,
    kMajorFaults,
    kVoluntarySwitches,
    kInvoluntarySwitches,
    kReadBytes,
    kWrittenBytes,
    kIoTime,
    kIoFile,
    kThreadName,
    kUnfinished,
    kColumns
};

TEST(WriteCsv, SelfTimesAddUpToTheTotal) {
    for (const Profile& p : {samples::halo_profile(), samples::hostile_profile(),
                             samples::probed_profile(), samples::io_profile()}) {
        const std::string text = write_csv(p);
        EXPECT_EQ(text.compare(0, kDesignColumns.size(), kDesignColumns), 0);
        const Table table = parse_csv(text);
        ASSERT_EQ(table.size(), p.nodes.size() + 1);
        uint64_t self = 0;
        for (size_t i = 1; i < table.size(); ++i) {
            ASSERT_EQ(table[i].size(), table[0].size());
            self += ns(table[i][kSelf]);
            EXPECT_EQ(table[i][kRank], "*");
            EXPECT_EQ(table[i][kThread], "*");
            if (table[i][kKind] != "comm") continue;
            EXPECT_EQ(ns(table[i][kSync]) + ns(table[i][kTransfer]), ns(table[i][kTime]));
        }
        EXPECT_EQ(self, p.total_ns);
        EXPECT_EQ(ns(table[1][kSync]), p.blocked_ns);
        EXPECT_EQ(ns(table[1][kTransfer]), p.transfer_ns);
    }
}

// A spreadsheet runs formulas, a terminal obeys control characters.
TEST(WriteCsv, TextCellsDoNothing) {
    EXPECT_EQ(csv_field("main"), "main");
    EXPECT_EQ(csv_field("operator=(A, B)"), "\"operator=(A, B)\"");
    EXPECT_EQ(csv_field("=1+1"), "'=1+1");
    EXPECT_EQ(csv_field("+1"), "'+1");
    EXPECT_EQ(csv_field("-[View draw]"), "'-[View draw]");
    EXPECT_EQ(csv_field("@SUM(A1,A2)"), "\"'@SUM(A1,A2)\"");
    EXPECT_EQ(csv_field("a\x1b]0;b\x07\x7f"), "a\\x1b]0;b\\x07\\x7f");
    EXPECT_EQ(csv_field("\xc2\x9b[\xc2\xa0\xc2"), "\\xc2\\x9b[\xc2\xa0\xc2");
    EXPECT_EQ(csv_field("\tx"), "'\tx");
    EXPECT_EQ(csv_field("J\xc3\xbcrgen"), "J\xc3\xbcrgen");
    Profile p = samples::halo_profile();
    for (ProfileNode& node : p.nodes) {
        node.name = "=\x1b[2J" + node.name;
        node.file = "@\x07" + node.file;
        node.io_file = "-" + node.io_file;
    }
    for (const std::string& text : {write_csv(p), *write_csv_per_rank(p)}) {
        EXPECT_EQ(text.find_first_of("\x1b\x07"), std::string::npos);
        for (const std::vector<std::string>& row : parse_csv(text)) {
            for (const std::string& cell : row) {
                const bool number =
                    !cell.empty() && cell.find_first_not_of("-.0123456789") == std::string::npos;
                if (!cell.empty() && !number) {
                    EXPECT_EQ(std::string("=+-@").find(cell[0]), std::string::npos) << cell;
                }
            }
        }
    }
}

TEST(WriteCsv, RowsPerRankAddUpToMergedRows) {
    const Profile p = samples::halo_profile();
    const Table merged = parse_csv(write_csv(p));
    const auto text = write_csv_per_rank(p);
    ASSERT_TRUE(text.has_value());
    const Table rows = parse_csv(*text);
    EXPECT_EQ(rows.size(), p.rows.size() + 1);
    for (size_t i = 1; i < merged.size(); ++i) {
        uint64_t time = 0, self = 0, transfer = 0, bytes = 0;
        for (size_t j = 1; j < rows.size(); ++j) {
            if (rows[j][kPath] != merged[i][kPath]) continue;
            EXPECT_LT(std::stoi(rows[j][kRank]), 4);
            time += ns(rows[j][kTime]);
            self += ns(rows[j][kSelf]);
            transfer += ns(rows[j][kTransfer]);
            bytes += std::stoull(rows[j][kBytes]);
        }
        EXPECT_EQ(time, ns(merged[i][kTime])) << merged[i][kPath];
        EXPECT_EQ(self, ns(merged[i][kSelf])) << merged[i][kPath];
        EXPECT_EQ(transfer, ns(merged[i][kTransfer])) << merged[i][kPath];
        EXPECT_EQ(bytes, std::stoull(merged[i][kBytes])) << merged[i][kPath];
    }
    EXPECT_FALSE(write_csv_per_rank(samples::large_profile()).has_value());
}

// p3 with its two call statements, the loops in it, and the user's counts.
TEST(WriteCsv, FiguresOfProbes) {
    const Table table = parse_csv(write_csv(samples::probed_profile()));
    const auto row_of = [&table](const std::string& path) {
        for (const auto& row : table) {
            if (row[kPath] == "example@:0/main@example.c:10/" + path) return row;
        }
        ADD_FAILURE() << path;
        return table[0];
    };
    const std::string p3 = "p1@example.c:11/p1@example.c:16/p3@example.c:17/p3@example.c:24";
    EXPECT_EQ(row_of(p3)[kKind], "proc");
    EXPECT_EQ(row_of(p3)[kCount], "2");
    EXPECT_EQ(row_of(p3)[kTime], "2.060000000");
    EXPECT_EQ(row_of(p3)[kSelf], "0.060000000");
    EXPECT_EQ(row_of(p3)[kMax], "1.030000000");
    EXPECT_EQ(row_of(p3)[kEstimated], "0");
    EXPECT_EQ(row_of(p3)[kLabels], "probed");
    const std::string loop2 = p3 + "/loop@example.c:27/loop@example.c:29";
    EXPECT_EQ(row_of(loop2)[kKind], "loop");
    EXPECT_EQ(row_of(loop2)[kCount], "20");
    EXPECT_EQ(row_of(loop2)[kIterations], "120");
    const auto p4 = row_of(loop2 + "/p4@example.c:30/p4@example.c:35");
    EXPECT_EQ(p4[kUntimed], "80");
    EXPECT_EQ(p4[kEstimatedTime], "0.060000000");
    EXPECT_EQ(p4[kLabels], "probed reduced");
    EXPECT_EQ(row_of("step@:0")[kKind], "marker");
    EXPECT_EQ(row_of("step@:0")[kVolume], "140");
    EXPECT_EQ(row_of("report@example.c:13/report@example.c:40")[kLabels], "estimated");
}

TEST(WriteCsv, PhasesAndPlacesInAGrid) {
    const Profile p = samples::grid_profile();
    for (const auto& row : parse_csv(write_csv(p))) {
        if (row[kName] != "step") continue;
        EXPECT_EQ(row[kLabels], "probed phase");
        EXPECT_EQ(row[kFirstIteration], "5");
        EXPECT_EQ(row[kLastIteration], "14");
        EXPECT_EQ(row[kCoordinates], "");
    }
    const Table rows = parse_csv(*write_csv_per_rank(p));
    for (size_t i = 1; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].size(), rows[0].size());
        const int rank = std::stoi(rows[i][kRank]);
        const std::string place = std::to_string(rank / 4) + " " + std::to_string(rank % 4);
        EXPECT_EQ(rows[i][kCoordinates], rank < 16 ? place : "") << rank;
    }
}

TEST(WriteCsv, InputAndOutput) {
    const Table merged = parse_csv(write_csv(samples::io_profile()));
    EXPECT_EQ(merged[1][kIoTime], "5.000000000");  // the program
    EXPECT_EQ(merged[1][kTransfer], "0.000000000");
    EXPECT_EQ(merged[1][kBytes], "0");  // of messages
    for (const auto& row : merged) {
        if (row[kName] != "write") continue;
        EXPECT_EQ(row[kKind], "io");
        EXPECT_EQ(row[kTime], "4.000000000");
        EXPECT_EQ(row[kSelf], row[kTime]);
        EXPECT_EQ(row[kIoTime], row[kTime]);
        EXPECT_EQ(row[kTransfer], "0.000000000");
        EXPECT_EQ(row[kSent], "900");
        EXPECT_EQ(row[kIoFile], "/scratch/out.dat");
        EXPECT_EQ(row[kLabels], "more_files");
    }
    const Table rows = parse_csv(*write_csv_per_rank(samples::io_profile()));
    for (size_t i = 1; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].size(), rows[0].size());
        if (rows[i][kKind] != "program") continue;
        EXPECT_EQ(rows[i][kIoTime], rows[i][kRank] == "0" ? "1.000000000" : "4.000000000");
    }
}

// In the program's row only: by rank, and over all ranks but the one without data.
TEST(WriteCsv, NamesOfThreads) {
    Profile p = samples::openmp_profile();
    p.threads[1].name = "a, \"b\"";
    for (const std::vector<std::string>& row : parse_csv(*write_csv_per_rank(p))) {
        if (row[kRank] == "rank") continue;
        EXPECT_EQ(row[kThreadName], row[kThread] == "0" ? "triangle" : "a, \"b\"");
    }
    for (const std::vector<std::string>& row : parse_csv(write_csv(p))) {
        EXPECT_EQ(row[kThreadName], row[kRank] == "rank" ? "thread_name" : "");
    }
}

TEST(WriteCsv, TimeOfWhatNeverEnded) {
    Profile p = samples::halo_profile();
    p.nodes[samples::kSolve].totals.unfinished_ns = 1'500'000'000;
    for (const std::vector<std::string>& row : parse_csv(write_csv(p))) {
        const bool is_solve = row[kKind] == "proc" && row[kName] == "solve";
        if (row[kRank] == "rank") {
            EXPECT_EQ(row[kUnfinished], "unfinished_s");
        } else {
            EXPECT_EQ(row[kUnfinished], is_solve ? "1.500000000" : "0.000000000");
        }
    }
}

// Two bins of 2^30 ns, the second of two ranks; rank 1 has only that one.
TEST(WriteCsv, TheRunOverTime) {
    Profile p = samples::halo_profile();
    const AxisFigures first{500'000'000, 1, 0, 0, 0, 0, 64};
    const AxisFigures rank0{200'000'000, 0, 30, 0, 0, 7, 8};
    const AxisFigures rank1{100'000'000, 0, 50, 0, 0, 0, 4};
    const AxisFigures both{300'000'000, 0, 80, 0, 0, 7, 12};
    const AxisFigures least{100'000'000, 0, 30, 0, 0, 0, 4};
    const AxisFigures most{200'000'000, 0, 50, 0, 0, 7, 8};
    p.axis.width_ns = 1u << 30;
    p.axis.bins = {{0, 1, kNoNode, first, first, first},
                   {3, 2, samples::kSolve, both, least, most}};
    p.axis.rows = {{0, 0, first}, {3, 0, rank0}, {3, 1, rank1}};
    const std::string in_0 =
        "0.500000000,0.000000001,0.000000000,0.000000000,0.000000000,"
        "0.000000000,64\r\n";
    const std::string begin_0 = "0.000000000,1.073741824,";
    const std::string begin_3 = "3.221225472,1.073741824,";
    const std::string merged =
        "start_s,width_s,rank,phase,computation_s,transfer_s,waiting_s,omp_wait_s,omp_idle_s,io_s,"
        "bytes_sent\r\n" +
        begin_0 + "*,," + in_0 + begin_0 + "min,," + in_0 + begin_0 + "max,," + in_0 + begin_3 +
        "*,solve,0.300000000,0.000000000,0.000000080,0.000000000,0.000000000,0.000000007,12\r\n" +
        begin_3 +
        "min,solve,0.100000000,0.000000000,0.000000030,0.000000000,0.000000000,0.000000000,4\r\n" +
        begin_3 +
        "max,solve,0.200000000,0.000000000,0.000000050,0.000000000,0.000000000,0.000000007,8\r\n";
    EXPECT_EQ(write_axis_csv(p, false).value(), merged);
    EXPECT_EQ(
        write_axis_csv(p, true).value(),
        merged + begin_0 + "0,," + in_0 + begin_3 +
            "0,,0.200000000,0.000000000,0.000000030,0.000000000,0.000000000,0.000000007,8\r\n" +
            begin_3 +
            "1,,0.100000000,0.000000000,0.000000050,0.000000000,0.000000000,0.000000000,4\r\n");
    p.merged_flags |= kMergedAxisDropped;
    EXPECT_FALSE(write_axis_csv(p, true).has_value());
    EXPECT_EQ(write_axis_csv(p, false).value(), merged);
}

TEST(WriteCsv, FiguresOfTheOperatingSystem) {
    const Profile p = samples::with_usage(samples::halo_profile());
    const Table merged = parse_csv(write_csv(p));
    const Table rows = parse_csv(*write_csv_per_rank(p));
    ASSERT_EQ(merged[0].size(), static_cast<size_t>(kColumns));
    EXPECT_EQ(merged[1][kUserTime], "6.000000000");  // 1 + 2 + 3 s
    EXPECT_EQ(merged[1][kSystemTime], "0.600000000");
    EXPECT_EQ(merged[1][kPeakMemory], "3000000");
    EXPECT_EQ(merged[1][kMinorFaults], "6000");
    EXPECT_EQ(merged[1][kMajorFaults], "5");
    EXPECT_EQ(merged[1][kVoluntarySwitches], "60");
    EXPECT_EQ(merged[1][kInvoluntarySwitches], "6");
    EXPECT_EQ(merged[1][kReadBytes], "6001");  // the unknown value of rank 1 counts as 0
    EXPECT_EQ(merged[1][kWrittenBytes], "6002");
    for (size_t i = 2; i < merged.size(); ++i) EXPECT_EQ(merged[i][kUserTime], "");
    size_t told = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].size(), rows[0].size());
        const int rank = std::stoi(rows[i][kRank]);
        const bool is_program = rows[i][kKind] == "program" && rows[i][kThread] == "0";
        if (!is_program || rank == 3) {
            for (int column = kUserTime; column < kIoTime; ++column) {
                EXPECT_EQ(rows[i][column], "") << rank;
            }
            continue;
        }
        ++told;
        EXPECT_EQ(rows[i][kPeakMemory], std::to_string((rank + 1) * 1'000'000));
        EXPECT_EQ(rows[i][kMajorFaults], rank == 2 ? "5" : "0");
        EXPECT_EQ(rows[i][kReadBytes].empty(), rank == 1);
    }
    EXPECT_EQ(told, 3u);
}

TEST(WriteCsv, NamesSurviveQuotingAndPaths) {
    Profile p = samples::serial_profile();
    p.nodes[1].name = "a/b%\"c\",\nd";
    p.nodes[1].file = "/x/y z.c";
    const Table table = parse_csv(write_csv(p));
    ASSERT_EQ(table.size(), 3u);
    EXPECT_EQ(table[2][kName], "a/b%\"c\",\nd");
    EXPECT_EQ(table[2][kPath], "serial@:0/a%2Fb%25\"c\",\nd@y z.c:3");
    EXPECT_EQ(table[2][kFile], "/x/y z.c");
}

TEST(WriteCsv, FiguresOfOneLine) {
    const Table table = parse_csv(write_csv(samples::halo_profile()));
    for (const auto& row : table) {
        if (row[kName] != "MPI_Recv") continue;
        EXPECT_EQ(row[kKind], "comm");
        EXPECT_EQ(row[kLine], "88");
        EXPECT_EQ(row[kCount], "8000");
        EXPECT_EQ(row[kTime], "6.600000000");
        EXPECT_EQ(row[kSync], "6.200000000");
        EXPECT_EQ(row[kBytes], "32768000");
        EXPECT_EQ(row[kReceived], "32768000");
        return;
    }
    FAIL() << "no row of MPI_Recv";
}

}  // namespace
}  // namespace dwell
