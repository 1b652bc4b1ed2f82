// Tests the parser against the sample trace of ORNL/TM-12125 (table 20) and malformed variants,
// because a parser that accepts everything would prove nothing about the writer.
#include "tests/unit/support/picl_parser.h"

#include <gtest/gtest.h>

namespace dwell {
namespace {

// Table 20 without the report's line numbers of the program.
const char kSample[] = R"(-3 -901 -0.715036 6 0 0
-2 -904 -0.715024 6 0 3 2 1 1 1
-3 -902 -0.715017 6 0 1 2 2
-4 -902 -0.713847 6 0 0
-3 -11 -0.713833 6 0 0
-4 -11 -0.713735 6 0 0
-3 -903 -0.713724 6 0 0
-4 -903 -0.008091 6 0 0
-3 -401 -0.008079 6 0 0
-4 -401 0.000005 6 0 0
-3 0 0.000016 6 0 2 2 0 0
-3 -52 0.000128 6 0 1 2 0
-4 -52 0.000516 6 0 3 2 8 0 0
-4 0 0.000539 6 0 2 2 0 0
0 0 0.000635 6 0 1 5 0.000124
-3 1 0.000711 6 0 2 2 0 0
-3 -52 0.000818 6 0 1 2 1
-4 -52 0.001643 6 0 3 2 8 1 5
-3 -21 0.001665 6 0 3 2 8 1 7
-4 -21 0.001711 6 0 0
-4 1 0.001724 6 0 2 2 0 0
0 1 0.001971 6 0 1 5 0.000410
-2 -12 0.001979 6 0 0
-4 -901 0.001982 6 0 0
-101 -1 0.001982 6 0 7 "%d%lf" -11 0.000098 -21 0.000046 -52 0.001212 \
-401 0.008083 -901 0.717018 -902 0.001170 -903 0.705632
-102 -1 0.001982 6 0 9 "%d%d" -11 1 -12 1 -21 1 -52 2 -401 1 -901 1 \
-902 1 -903 1 -904 1
-103 -1 0.001982 6 0 3 "%d%d" -21 8 -52 16 -901 428
-101 -1 0.001982 6 0 2 "%d%lf" 0 0.000523 1 0.001013
-102 -1 0.001982 6 0 2 "%d%d" 0 1 1 1
-101 0 0.001982 6 0 1 "%d%lf" -52 0.000387
-102 0 0.001982 6 0 1 "%d%d" -52 1
-103 0 0.001982 6 0 1 "%d%d" -52 8
-101 1 0.001982 6 0 2 "%d%lf" -21 0.000046 -52 0.000825
-102 1 0.001982 6 0 2 "%d%d" -21 1 -52 1
-103 1 0.001982 6 0 2 "%d%d" -21 8 -52 8
)";

using Errors = std::vector<std::string>;

TEST(PiclParser, ReadsTheSampleOfTheReport) {
    const PiclFile file = parse_picl(kSample);
    EXPECT_EQ(file.errors, Errors());
    ASSERT_EQ(file.records.size(), 35u);
    const PiclRecord& first = file.records[0];
    EXPECT_EQ(first.type, -3);
    EXPECT_EQ(first.event, -901);
    EXPECT_DOUBLE_EQ(first.clock, -0.715036);
    EXPECT_EQ(first.clock_text, "-0.715036");
    EXPECT_EQ(first.processor, 6);
    EXPECT_EQ(first.process, 0);
    EXPECT_TRUE(first.fields.empty());
    const PiclRecord& level = file.records[1];
    EXPECT_EQ(level.descriptor, "2");
    EXPECT_FALSE(level.quoted);
    ASSERT_EQ(level.fields.size(), 3u);
    EXPECT_EQ(level.fields[2][0].integer, 1);
    EXPECT_DOUBLE_EQ(file.records[14].fields[0][0].real, 0.000124);
    const PiclRecord& times = file.records[24];
    EXPECT_EQ(times.line, 25);
    EXPECT_EQ(times.type, -101);
    EXPECT_EQ(times.descriptor, "%d%lf");
    EXPECT_TRUE(times.quoted);
    ASSERT_EQ(times.fields.size(), 7u);
    EXPECT_EQ(times.fields[3][0].integer, -401);
    EXPECT_DOUBLE_EQ(times.fields[3][1].real, 0.008083);
    EXPECT_EQ(file.records[25].line, 27);
    EXPECT_EQ(file.records.back().fields[1][1].integer, 8);
}

// A file of one process with `line` in it, before (events) or after (statistics) the exit.
Errors errors_of(const std::string& line) {
    const bool is_statistic = line.starts_with("-10");
    const std::string entry = "-3 -901 0 0 0 0\n";
    const std::string exit = "-4 -901 2.0 0 0 0\n";
    return parse_picl(is_statistic ? entry + exit + line : entry + line + "\n" + exit).errors;
}
Errors error(int line, const std::string& message) {
    return {"line " + std::to_string(line) + ": " + message};
}

TEST(PiclParser, RefusesBadHeads) {
    EXPECT_EQ(errors_of("x 1 1.0 0 0 0"), error(2, "record type 'x' is no integer"));
    EXPECT_EQ(errors_of("1 1.5 1.0 0 0 0"), error(2, "event type '1.5' is no integer"));
    for (const char* clock : {"0x1", "nan", "inf", ".", "-", "1e", "1.0.0", "1-1", "--1"}) {
        EXPECT_EQ(errors_of(std::string("1 1 ") + clock + " 0 0 0"),
                  error(2, std::string("timestamp '") + clock + "' is no number"));
    }
    EXPECT_EQ(errors_of("1 1 1.0 0 0"), error(2, "number of data fields '' is no integer"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 -1"), error(2, "negative number of data fields"));
    EXPECT_EQ(errors_of("-8 1 1.0 0 0 0"), error(2, "unknown record type -8"));
    EXPECT_EQ(errors_of("7 1 1e-1 0 0 0"), Errors());
    EXPECT_EQ(errors_of("   "), Errors());
}

TEST(PiclParser, RefusesWrongCounts) {
    EXPECT_EQ(errors_of("1 1 1.0 0 0 0 2"), error(2, "0 data fields, but something follows"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 2 2 5"), error(2, "2 data fields announced, 1 complete"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 2 2 5 6 7"),
              error(2, "more data than the 2 fields announced"));
    EXPECT_EQ(errors_of("-102 -1 2.0 0 0 2 \"%d%d\" -21 1 -52"),
              error(3, "2 data fields announced, 1 complete"));
    EXPECT_EQ(errors_of("-5 3 1.0 0 0 5 \"%c\" abcd"), error(2, "5 characters announced, 4 found"));
    EXPECT_EQ(errors_of("-5 3 1.0 0 0 4 0 a  b"), Errors());
}

TEST(PiclParser, RefusesBadDescriptors) {
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 %d 5"), error(2, "bad data descriptor '%d'"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 6 5"), error(2, "data descriptor 6 is not defined"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1"),
              error(2, "data descriptor missing or its quote not closed"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 \"%d 5"),
              error(2, "data descriptor missing or its quote not closed"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 \"%x\" 5"), error(2, "bad control string \"%x\""));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 \"\" 5"), error(2, "bad control string \"\""));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 2 1.5"), error(2, "'1.5' is no integer"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 5 one"), error(2, "'one' is no number"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 2 2147483648"), error(2, "'2147483648' does not fit %d"));
    EXPECT_EQ(errors_of("1 1 1.0 0 0 1 3 2147483648"), Errors());
}

TEST(PiclParser, TakesDefinedDescriptors) {
    EXPECT_EQ(errors_of("-6 -1 0.5 0 0 1 \"%d%s\" 6 \"%d %lf\"\n1 1 1.0 0 0 2 6 1 0.5 2 1.5"),
              Errors());
    EXPECT_EQ(errors_of("-6 4 0.5 0 0 1 \"%d%s\" 6 \"%d\"\n1 1 1.0 0 0 1 6 1"),
              error(3, "data descriptor 6 is not defined"));  // defined for event 4 only
    EXPECT_EQ(errors_of("-6 -1 0.5 0 0 1 2 6"),
              error(2, "a data descriptor record has one field, \"%d%s\""));
}

TEST(PiclParser, ChecksClocksAndTheOrderOfAProcess) {
    EXPECT_EQ(parse_picl("-3 -901 1.0 0 0 0\n-4 -901 0.9 0 0 0\n").errors,
              error(2, "timestamp 0.9 goes back"));
    EXPECT_EQ(parse_picl("-3 -21 1.0 0 0 0\n-4 -21 1.0 0 0 0\n").errors,
              (Errors{"line 1: the first event record of a process is not its -901 entry",
                      "line 1: processor 0 process 0 has no -901 exit"}));
    EXPECT_EQ(parse_picl("-3 -901 1.0 3 0 0\n").errors,
              error(1, "processor 3 process 0 has no -901 exit"));
    EXPECT_EQ(parse_picl("-3 -901 0 0 0 0\n-4 -901 1 0 0 0\n-2 -12 1 0 0 0\n").errors,
              error(3, "an event record after the -901 exit of its process"));
    EXPECT_EQ(parse_picl("-3 -901 0 0 0 0\n-3 -901 0 1 0 0\n-4 -901 1 0 0 0\n-4 -901 2 1 0 0\n"
                         "-102 -1 2 1 0 1 \"%d%d\" -21 4\n")
                  .errors,
              Errors());
    EXPECT_EQ(errors_of("-3 -21 1.0 0 0 0\n-4 -52 1.0 0 0 0\n-4 -21 1.0 0 0 0"),
              error(3, "exit of event -52 that is not the last one entered"));
}

TEST(PiclParser, ChecksStatistics) {
    EXPECT_EQ(
        parse_picl("-3 -901 0 0 0 0\n-102 -1 1 0 0 1 \"%d%d\" -21 4\n-4 -901 1 0 0 0\n").errors,
        error(2, "statistics of a process before its -901 exit"));
    EXPECT_EQ(errors_of("-102 -1 2.5 0 0 1 \"%d%d\" -21 4"),
              error(3, "statistics of a process at another time than its -901 exit"));
    const std::string shape = "a statistics record holds pairs of an event type and its figure";
    EXPECT_EQ(errors_of("-102 -1 2.0 0 0 2 2 -21 4"), error(3, shape));
    EXPECT_EQ(errors_of("-102 -1 2.0 0 0 1 \"%d%lf\" -21 4"), error(3, shape));
    EXPECT_EQ(errors_of("-101 -1 2.0 0 0 1 \"%d%d\" -21 4"), error(3, shape));
    EXPECT_EQ(errors_of("-101 -1 2.0 0 0 0"), error(3, shape));
    EXPECT_EQ(errors_of("-102 -1 2.0 0 0 2 \"%d%d\" -21 4 -21 5"),
              error(3, "event type -21 stands there twice"));
    EXPECT_EQ(errors_of("-103 -1 2.0 0 0 1 \"%d%d\" -21 -4"),
              error(3, "negative figure -4 of event type -21"));
    EXPECT_EQ(errors_of("-103 -1 2.0 0 0 1 \"%d%ld\" -21 4294967296"), Errors());
    EXPECT_EQ(errors_of("-101 -1 2.0 0 0 1 \"%d%lf\" -21 -1"), Errors());
}

TEST(PiclParser, ChecksSubsets) {
    EXPECT_EQ(errors_of("-102 -1 2.0 -2 0 1 \"%d%d\" -21 4"),
              error(3, "processor subset -2 is not defined"));
    EXPECT_EQ(
        parse_picl("-201 -1 0 -1 -1 3 \"%d\" -2 0 1\n-102 -1 2 -2 0 1 \"%d%d\" -21 4\n").errors,
        Errors());
    EXPECT_EQ(errors_of("-201 -1 1.0 -1 -1 3 \"%d\" 4 0 1"),
              error(2, "a subset cannot be numbered 4"));
    EXPECT_EQ(errors_of("-201 -1 1.0 -1 -1 2 5 -2 0"), error(2, "a subset is a list of integers"));
}

TEST(PiclParser, JoinsContinuedLines) {
    const PiclFile file = parse_picl(
        "-3 -901 0 0 0 \\\n0\n-4 -901 1 0 0 0\n-102 -1 1 0 0 2 \"%d%d\" \\\n-21 \\\n4 -52 5\n");
    EXPECT_EQ(file.errors, Errors());
    ASSERT_EQ(file.records.size(), 3u);
    EXPECT_EQ(file.records[2].line, 4);
    EXPECT_EQ(file.records[2].fields[1][1].integer, 5);
    EXPECT_EQ(parse_picl("1 1 0 0 0 0 \\").errors,
              error(1, "the last record is continued, but nothing follows"));
}

TEST(PiclParser, LabelsKeepTheirBlanks) {
    const PiclFile file = parse_picl("-5 7 0 -1 -1 14 0 call  a.c:10 x\n");
    EXPECT_EQ(file.errors, Errors());
    ASSERT_EQ(file.records.size(), 1u);
    EXPECT_EQ(file.records[0].fields[0][0].text, "call  a.c:10 x");
    EXPECT_EQ(parse_picl("-5 7 0 -1 -1 1 2 5\n").errors,
              error(1, "a label or message is characters"));
}

}  // namespace
}  // namespace dwell
