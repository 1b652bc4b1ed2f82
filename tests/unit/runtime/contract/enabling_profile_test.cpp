// The enabling profile: sites selected by each kind of line (docs/enabling-profile.md), and errors
// in invalid lines.
#include "runtime/contract/enabling_profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "runtime/contract/site_table.h"

namespace dwell {
namespace {

SiteFacts procedure(const char* name, const char* demangled = nullptr) {
    return {SiteKind::kProcedure, 0, 10, name, demangled, "/src/app/solver.c"};
}

class EnablingProfileTest : public ::testing::Test {
  protected:
    Decision decide(const std::string& text, const SiteFacts& site) {
        EXPECT_TRUE(profile_.parse(text.data(), text.size(), "p")) << profile_.error();
        return profile_.decide(site);
    }
    bool matches(const std::string& conditions, const SiteFacts& site) {
        return decide("off all " + conditions, site) == Decision::kOff;
    }
    std::string error(const std::string& text) {
        EXPECT_FALSE(profile_.parse(text.data(), text.size(), "p")) << text;
        return profile_.error();
    }
    EnablingProfile profile_;
};

TEST_F(EnablingProfileTest, SaysNothingWhenEmpty) {
    EXPECT_EQ(profile_.decide(procedure("f")), Decision::kUnsaid);
    EXPECT_EQ(decide("", procedure("f")), Decision::kUnsaid);
    EXPECT_EQ(decide("\n  \t\r\n# off all\n   # off all", procedure("f")), Decision::kUnsaid);
}

TEST_F(EnablingProfileTest, KnowsEveryDecision) {
    EXPECT_EQ(decide("on all", procedure("f")), Decision::kOn);
    EXPECT_EQ(decide("off all", procedure("f")), Decision::kOff);
    EXPECT_EQ(decide("count all", procedure("f")), Decision::kCount);
    EXPECT_EQ(decide("off all\ndefault all", procedure("f")), Decision::kUnsaid);
}

TEST_F(EnablingProfileTest, LaterLinesWin) {
    const std::string text =
        "off all\r\non proc name=f\ncount proc name=g # the rest of it\non loop";
    EXPECT_EQ(decide(text, procedure("f")), Decision::kOn);
    EXPECT_EQ(decide(text, procedure("g")), Decision::kCount);
    EXPECT_EQ(decide(text, procedure("h")), Decision::kOff);
    EXPECT_EQ(decide("on proc name=f\noff all", procedure("f")), Decision::kOff);
}

TEST_F(EnablingProfileTest, KindsAreApart) {
    const struct {
        const char* word;
        SiteKind kind;
    } kinds[] = {{"proc", SiteKind::kProcedure}, {"loop", SiteKind::kLoop},
                 {"call", SiteKind::kCall},      {"comm", SiteKind::kCommunication},
                 {"omp", SiteKind::kOpenMp},     {"io", SiteKind::kIo},
                 {"block", SiteKind::kBlock},    {"marker", SiteKind::kMarker}};
    for (const auto& written : kinds) {
        for (const auto& asked : kinds) {
            SiteFacts site = procedure("f");
            site.kind = asked.kind;
            EXPECT_EQ(decide(std::string("off ") + written.word, site) == Decision::kOff,
                      written.kind == asked.kind)
                << written.word << " " << asked.word;
        }
    }
}

TEST_F(EnablingProfileTest, PatternsOfNames) {
    EXPECT_TRUE(matches("name=relax", procedure("relax")));
    EXPECT_FALSE(matches("name=relax", procedure("relax2")));
    EXPECT_FALSE(matches("name=relax", procedure("myrelax")));
    EXPECT_TRUE(matches("name=re*x", procedure("relax")));
    EXPECT_TRUE(matches("name=*la*", procedure("relax")));
    EXPECT_TRUE(matches("name=*", procedure("relax")));
    EXPECT_TRUE(matches("name=relax*", procedure("relax")));
    EXPECT_TRUE(matches("name=r?lax", procedure("relax")));
    EXPECT_FALSE(matches("name=?relax", procedure("relax")));
    EXPECT_FALSE(matches("name=relax?", procedure("relax")));
    EXPECT_TRUE(matches("name=*ab*ab", procedure("abxabyab")));  // needs the star to give back
    EXPECT_FALSE(matches("name=*ab*ac", procedure("abxabyab")));
    EXPECT_FALSE(matches("name=*", procedure(nullptr)));
    EXPECT_FALSE(matches("name=RELAX", procedure("relax")));
}

TEST_F(EnablingProfileTest, CompilersNamesOfClonesAndOfFortran) {
    EXPECT_TRUE(matches("name=relax", procedure("relax.part.0")));
    EXPECT_TRUE(matches("name=relax.part.0", procedure("relax.part.0")));
    EXPECT_TRUE(matches("name=relax", procedure("relax_")));
    EXPECT_TRUE(matches("name=relax", procedure("relax_.constprop.1")));
    EXPECT_FALSE(matches("name=relax", procedure("relax__")));
    EXPECT_TRUE(matches("name=solver::relax", procedure("__solver_MOD_relax")));
    EXPECT_TRUE(matches("name=*::relax", procedure("__solver_MOD_relax")));
    EXPECT_TRUE(matches("name=solver::relax", procedure("__solver_MOD_relax._omp_fn.0")));
    EXPECT_TRUE(matches("name=__solver_MOD_relax", procedure("__solver_MOD_relax")));
    EXPECT_FALSE(matches("name=relax", procedure("__solver_MOD_relax")));
    EXPECT_FALSE(matches("name=*::*", procedure("__MOD_relax")));
    EXPECT_FALSE(matches("name=*::*", procedure(("__m_MOD_" + std::string(500, 'x')).c_str())));
}

TEST_F(EnablingProfileTest, DemangledNames) {
    const SiteFacts method = procedure("_ZNK4Grid5relaxEdi", "Grid::relax(double, int) const");
    EXPECT_TRUE(matches("name=Grid::relax", method));
    EXPECT_TRUE(matches("name=_ZNK4Grid5relaxEdi", method));
    EXPECT_TRUE(matches("\"name=Grid::relax(double, int) const\"", method));
    EXPECT_TRUE(matches("name=\"Grid::relax(double, int) const\"", method));
    EXPECT_FALSE(matches("name=relax", method));
    EXPECT_FALSE(matches("name=\"Grid::relax(double)\"", method));

    const SiteFacts pattern = procedure("_Z5applyIdEvT_", "void apply<double>(double)");
    EXPECT_TRUE(matches("name=apply<*>", pattern));
    EXPECT_TRUE(matches("name=\"void apply<double>\"", pattern));

    const SiteFacts pair = procedure("x", "std::pair<int, int> make<std::map<int, int> >(int)");
    EXPECT_TRUE(matches("name=make<*>", pair));
    EXPECT_TRUE(matches("name=\"make<std::map<int, int> >\"", pair));

    const SiteFacts call = procedure("x", "Less::operator()(int, int) const");
    EXPECT_TRUE(matches("name=Less::operator()", call));
    const SiteFacts plus = procedure("x", "Grid operator+<int>(Grid, Grid)");
    EXPECT_TRUE(matches("name=operator+<int>", plus));
    const SiteFacts conversion = procedure("x", "Grid::operator double() const");
    EXPECT_TRUE(matches("name=\"Grid::operator double\"", conversion));
    const SiteFacts lambda = procedure("x", "main::{lambda(int)#1}::operator()(int) const");
    EXPECT_TRUE(matches("name=main::{lambda(int)#1}::operator()", lambda));
    const SiteFacts hidden = procedure("x", "(anonymous namespace)::step(int)");
    EXPECT_TRUE(matches("name=\"(anonymous namespace)::step\"", hidden));
    const SiteFacts callback = procedure("x", "sort(void (*)(int))");
    EXPECT_TRUE(matches("name=sort", callback));
    const SiteFacts copy = procedure("x", "sort(int) [clone ._omp_fn.0]");
    EXPECT_TRUE(matches("name=sort", copy));
    EXPECT_TRUE(matches("name=sort(int)", copy));
    const SiteFacts variable = procedure("x", "Grid::table");
    EXPECT_TRUE(matches("name=Grid::table", variable));
}

TEST_F(EnablingProfileTest, Files) {
    EXPECT_TRUE(matches("file=solver.c", procedure("f")));
    EXPECT_TRUE(matches("file=app/solver.c", procedure("f")));
    EXPECT_TRUE(matches("file=/src/*.c", procedure("f")));
    EXPECT_TRUE(matches("file=app/*", procedure("f")));
    EXPECT_TRUE(matches("file=*.c", procedure("f")));
    EXPECT_FALSE(matches("file=olver.c", procedure("f")));
    EXPECT_FALSE(matches("file=solver", procedure("f")));
    EXPECT_FALSE(matches("file=src", procedure("f")));
    SiteFacts site = procedure("f");
    site.file = nullptr;
    EXPECT_FALSE(matches("file=*", site));
}

TEST_F(EnablingProfileTest, Lines) {
    SiteFacts site = procedure("f");
    const auto matches_at = [&](const char* conditions, uint32_t line) {
        site.line = line;
        return matches(conditions, site);
    };
    EXPECT_TRUE(matches_at("line=10-20", 10));
    EXPECT_TRUE(matches_at("line=10-20", 20));
    EXPECT_FALSE(matches_at("line=10-20", 9));
    EXPECT_FALSE(matches_at("line=10-20", 21));
    EXPECT_TRUE(matches_at("line=10", 10));
    EXPECT_FALSE(matches_at("line=10", 11));
    EXPECT_TRUE(matches_at("line=10-", 4000000000));
    EXPECT_FALSE(matches_at("line=1-", 0));  // unknown
    EXPECT_TRUE(matches_at("", 0));
}

TEST_F(EnablingProfileTest, AllConditionsOfALineMustHold) {
    const std::string conditions = "name=f file=solver.c line=10-20";
    EXPECT_TRUE(matches(conditions, procedure("f")));
    EXPECT_FALSE(matches(conditions, procedure("g")));
    SiteFacts site = procedure("f");
    site.file = "main.c";
    EXPECT_FALSE(matches(conditions, site));
    site = procedure("f");
    site.line = 21;
    EXPECT_FALSE(matches(conditions, site));
}

TEST_F(EnablingProfileTest, SmallAndInnermost) {
    SiteFacts site = procedure("f");
    EXPECT_EQ(decide("on proc small", site), Decision::kUnsaid);
    site.flags = kRowSmall | kRowArtificial;
    EXPECT_EQ(decide("on proc small", site), Decision::kOn);
    site.kind = SiteKind::kLoop;
    EXPECT_EQ(decide("on loop innermost", site), Decision::kUnsaid);
    site.flags = kRowInnermost;
    EXPECT_EQ(decide("on loop innermost", site), Decision::kOn);
    EXPECT_EQ(decide("on loop", site), Decision::kOn);
}

TEST_F(EnablingProfileTest, TellsWhetherNamesAreNeeded) {
    EXPECT_EQ(decide("off loop file=a.c\non all", procedure("f")), Decision::kOn);
    EXPECT_FALSE(profile_.asks_for_names());
    EXPECT_EQ(decide("off loop file=a.c name=x\non all", procedure("f")), Decision::kOn);
    EXPECT_TRUE(profile_.asks_for_names());
    EXPECT_EQ(decide("on all", procedure("f")), Decision::kOn);
    EXPECT_FALSE(profile_.asks_for_names());
}

TEST_F(EnablingProfileTest, ErrorsNameFileLineAndReason) {
    const struct {
        const char* text;
        const char* starts;
    } lines[] = {
        {"on all\n\nof all\n", "p:3: 'of' should be on"},
        {"on", "p:1: the kind is missing"},
        {"on \x1b[31mprocs", "p:1: '?[31mprocs' should be proc"},
        {"on # all", "p:1: the kind is missing"},
        {"on procedure", "p:1: 'procedure' should be proc"},
        {"on all x.c", "p:1: 'x.c' should be name="},
        {"on all name=", "p:1: 'name=' should be followed"},
        {"on all name=a name=b", "p:1: 'name=b' should be given once"},
        {"on all small", "p:1: 'small' should be with proc"},
        {"on proc innermost", "p:1: 'innermost' should be with loop"},
        {"on all name=\"a", "p:1: a double quote is not closed"},
        {"on \"all", "p:1: a double quote is not closed"},
        {"\"on", "p:1: a double quote is not closed"},
        {"on all line=", "p:1: 'line=' should be line=A"},
        {"on all line=0", "p:1: 'line=0' should be line=A"},
        {"on all line=-5", "p:1: 'line=-5' should be line=A"},
        {"on all line=7-6", "p:1: 'line=7-6' should be line=A"},
        {"on all line=1x", "p:1: 'line=1x' should be line=A"},
        {"on all line=1-2-3", "p:1: 'line=1-2-3' should be line=A"},
        {"on all line=9999999999", "p:1: 'line=9999999999' should be line=A"},
    };
    for (const auto& line : lines) {
        const std::string text = error(line.text);
        EXPECT_EQ(text.substr(0, std::string(line.starts).size()), line.starts) << line.text;
    }
    EXPECT_EQ(error(std::string("on all\n\0\n", 9)), "p:2: this is no text file");
    EXPECT_LT(error("on all " + std::string(100000, 'x')).size(), 400u);
}

TEST_F(EnablingProfileTest, SaysNothingAfterAnError) {
    EXPECT_EQ(decide("off all", procedure("f")), Decision::kOff);
    error("off all\nnonsense");
    EXPECT_EQ(profile_.decide(procedure("f")), Decision::kUnsaid);
}

TEST_F(EnablingProfileTest, ReadsFiles) {
    char path[] = "/tmp/dwell-enabling-XXXXXX";
    const int file = mkstemp(path);
    ASSERT_GE(file, 0);
    // Longer than a buffer of stdio, and without an end of line at its end.
    std::string text(20000, '#');
    text += "\noff proc name=f";
    ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_TRUE(profile_.read(path)) << profile_.error();
    EXPECT_EQ(profile_.decide(procedure("f")), Decision::kOff);
    ASSERT_EQ(ftruncate(file, 0), 0);
    EXPECT_TRUE(profile_.read(path)) << profile_.error();
    EXPECT_EQ(profile_.decide(procedure("f")), Decision::kUnsaid);
    close(file);
    unlink(path);
    EXPECT_FALSE(profile_.read(path));
    EXPECT_EQ(profile_.error(), std::string(path) + ": No such file or directory");
    EXPECT_FALSE(profile_.read("/tmp"));
    EXPECT_EQ(profile_.error(), std::string("/tmp: Is a directory"));
}

}  // namespace
}  // namespace dwell
