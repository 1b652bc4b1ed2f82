// Tests the command line of `dwell`: options, variables, and the error line for wrong ones.
#include "report/console/cli.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <regex>

#include "runtime/contract/settings.h"

namespace dwell {
namespace {

using Words = std::vector<std::string>;

class CliTest : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* name :
             {"DWELL_OUT", "DWELL_CALLPATH", "DWELL_SAMPLE", "DWELL_PEERS", "DWELL_MEMORY_MIB",
              "DWELL_ROW_LIMIT", "DWELL_END_TIMEOUT", "DWELL_WAIT", "DWELL_IO", "DWELL_QUIET"}) {
            unsetenv(name);
        }
    }
};

// The variables in the help are known, also with a missing letter.
TEST_F(CliTest, MisspeltVariablesAreFound) {
    const auto help = parse_run({"--help"});
    ASSERT_FALSE(help);
    const std::string text = help.error().text;
    const std::regex name("DWELL_[A-Z_]+");
    size_t names = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it, ++names) {
        const std::string variable = it->str();
        EXPECT_EQ(meant_variable((variable + "=1").c_str()), nullptr) << variable;
        const char* meant = meant_variable(variable.substr(0, variable.size() - 1).c_str());
        EXPECT_STREQ(meant == nullptr ? "" : meant, variable.c_str());
    }
    EXPECT_GE(names, 15u);
    for (const auto& [entry, variable] : {std::pair{"DWELL_SMAPLE=100", "DWELL_SAMPLE"},
                                          {"DWELL_MEMORY=9", "DWELL_MEMORY_MIB"},
                                          {"DWELL_METRIKS=x=y", "DWELL_METRICS"},
                                          {"DWELL_WAITS", "DWELL_WAIT"}}) {
        const char* meant = meant_variable(entry);
        EXPECT_STREQ(meant == nullptr ? "" : meant, variable);
    }
    for (const char* entry :
         {"DWELL_ROOT=/opt", "DWELL_HOME=/opt", "DWELL_DIR=/opt", "DWELL_LIB=/l", "DWELL_CC_ALL=1",
          "DWELL_CC_ENABLE=f", "WELL_SAMPLE=1", "DWELL_="}) {
        EXPECT_EQ(meant_variable(entry), nullptr) << entry;
    }
}

TEST_F(CliTest, WordsAfterTheProgramAreItsOwn) {
    const auto options =
        parse_run({"-o", "d", "--callpath", "3", "./a", "-o", "x", "--quiet", "--"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->out, "d");
    EXPECT_EQ(options->callpath, "3");
    EXPECT_FALSE(options->quiet);
    EXPECT_EQ(options->command, (Words{"./a", "-o", "x", "--quiet", "--"}));
}

TEST_F(CliTest, TwoDashesEndTheOptions) {
    const auto options = parse_run({"-q", "--", "-odd-name", "--", "1"});
    ASSERT_TRUE(options);
    EXPECT_TRUE(options->quiet);
    EXPECT_EQ(options->command, (Words{"-odd-name", "--", "1"}));
}

TEST_F(CliTest, AnOptionMayHoldItsValue) {
    const auto options = parse_run({"--sample=250", "--out=d", "a", "b"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->sample, "250");
    EXPECT_EQ(options->out, "d");
    EXPECT_EQ(options->command, (Words{"a", "b"}));
}

TEST_F(CliTest, UsageErrorsAreOneLineAndCodeTwo) {
    const std::vector<Words> wrong = {{},
                                      {"--"},
                                      {""},
                                      {"--nonsense", "a"},
                                      {"--sample", "a"},
                                      {"--sample", "0", "a"},
                                      {"--sample", "10001", "a"},
                                      {"--sample", "1e3", "a"},
                                      {"--callpath", "none", "a"},
                                      {"--callpath", "-1", "a"},
                                      {"--peers", "3x", "a"},
                                      {"--memory", "99999999999999999999", "a"},
                                      {"--wait", "all", "a"},
                                      {"--wait", "node|off", "a"},
                                      {"--wait", "0", "a"},
                                      {"--io", "yes", "a"},
                                      {"--io", "on|off", "a"},
                                      {"--end-timeout", "", "a"}};
    for (const Words& words : wrong) {
        const auto options = parse_run(words);
        ASSERT_FALSE(options) << testing::PrintToString(words);
        EXPECT_EQ(options.error().code, 2);
        EXPECT_EQ(options.error().text.find('\n'), std::string::npos);
        EXPECT_FALSE(options.error().text.empty());
    }
}

TEST_F(CliTest, WaitIsOneOfThreeWords) {
    for (const std::string word : {"full", "node", "off"}) {
        const auto options = parse_run({"--wait", word, "a"});
        ASSERT_TRUE(options) << word;
        EXPECT_EQ(options->wait, word);
    }
    EXPECT_EQ(setting_error("DWELL_WAIT", "never"), "full, node or off");
}

TEST_F(CliTest, AVariableIsTheTwinOfItsOption) {
    setenv("DWELL_SAMPLE", "off", 1);
    setenv("DWELL_PEERS", "7", 1);
    setenv("DWELL_QUIET", "1", 1);
    setenv("DWELL_OUT", "there", 1);
    const auto options = parse_run({"--peers", "9", "a"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->sample, "off");
    EXPECT_EQ(options->peers, "9");  // the option wins
    EXPECT_EQ(options->out, "there");
    EXPECT_TRUE(options->quiet);
}

TEST_F(CliTest, AWrongVariableIsNamed) {
    setenv("DWELL_CALLPATH", "deep", 1);
    const auto options = parse_run({"a"});
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, 2);
    EXPECT_NE(options.error().text.find("DWELL_CALLPATH"), std::string::npos);
    EXPECT_NE(options.error().text.find("'deep'"), std::string::npos);
}

TEST_F(CliTest, ValuesThatMeanNothingAreErrors) {
    EXPECT_FALSE(parse_run({"-o", "", "a"}));
    EXPECT_FALSE(parse_run({"--per-rank-limit", "0", "a"}));
    EXPECT_TRUE(parse_run({"-o", "d", "--per-rank-limit", "1", "a"}));
}

TEST_F(CliTest, HelpEndsWithCodeZero) {
    const auto options = parse_run({"--help"});
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, 0);
    EXPECT_NE(options.error().text.find("--per-rank-limit"), std::string::npos);
}

TEST_F(CliTest, ReportChecksItsValues) {
    EXPECT_TRUE(parse_report({"--format", "csv", "--per-rank", "--width", "80", "dir"}));
    EXPECT_FALSE(parse_report({"--format", "xml"}));
    EXPECT_FALSE(parse_report({"--color", "blue"}));
    EXPECT_FALSE(parse_report({"--width", "3"}));
    EXPECT_FALSE(parse_report({"one", "two"}));
    EXPECT_FALSE(parse_recover({}));
    const auto site = parse_report({"--site", "heat.c:88", "--left-out", "dir"});
    ASSERT_TRUE(site);
    EXPECT_EQ(site->site, "heat.c:88");
    EXPECT_TRUE(site->left_out);
    EXPECT_FALSE(parse_report({"--site", "p3", "--format", "csv"}));
    const auto none = parse_report({"--site", "", "dir"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, 2);
    EXPECT_FALSE(parse_report({"--left-out", "--format", "json"}));
    EXPECT_TRUE(parse_report({"--over-time", "--format", "csv", "--per-rank"}));
    EXPECT_FALSE(parse_report({"--over-time"}));
}

TEST_F(CliTest, TallyHasItsOwnFormats) {
    const auto tally = parse_report({"--tally", "--format", "tsv", "--width", "80", "--ascii"});
    ASSERT_TRUE(tally);
    EXPECT_TRUE(tally->tally);
    EXPECT_TRUE(parse_report({"--tally"}));
    for (const char* format : {"json", "csv"}) {
        EXPECT_FALSE(parse_report({"--tally", "--format", format}));
    }
    EXPECT_FALSE(parse_report({"--format", "tsv"}));
    for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
             {"--site", "p3"}, {"--left-out"}, {"--per-rank"}, {"--color", "auto"}}) {
        std::vector<std::string> words = {"--tally"};
        words.insert(words.end(), other.begin(), other.end());
        const auto end = parse_report(words);
        ASSERT_FALSE(end) << other[0];
        EXPECT_EQ(end.error().code, 2);
        EXPECT_NE(end.error().text.find(other[0]), std::string::npos) << end.error().text;
    }
    EXPECT_TRUE(parse_run({"--tally", "app"})->tally);
    EXPECT_FALSE(parse_run({"app", "--tally"})->tally);
    setenv("DWELL_TALLY", "1", 1);
    EXPECT_TRUE(parse_run({"app"})->tally);
    setenv("DWELL_TALLY", "yes", 1);
    EXPECT_FALSE(parse_run({"app"}));
    unsetenv("DWELL_TALLY");
}

TEST_F(CliTest, SitesChecksItsValues) {
    const auto options = parse_sites({"--relations", "--format", "csv", "a.out", "libb.so"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->files, (std::vector<std::string>{"a.out", "libb.so"}));
    EXPECT_FALSE(parse_sites({}));
    EXPECT_FALSE(parse_sites({"--format", "xml", "a.out"}));
    EXPECT_FALSE(parse_sites({"--relations", "--format", "json", "a.out"}));
    EXPECT_FALSE(parse_sites({"--relations", "--left-out", "a.out"}));
}

}  // namespace
}  // namespace dwell
