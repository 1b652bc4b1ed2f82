// Tests which statement's parentheses contain a place of the source.
#include "instrument/selection/source_text.h"

#include <gtest/gtest.h>

#include <array>

namespace dwell {
namespace {

constexpr std::array<std::string_view, 32> kText = {
    "while (a(i) &&",                                      // 1
    "       (b(i) || c[i(1)])) {",                         // 2
    "  if (d && e) break;  // not (this",                  // 3
    "  for (int j = 0; j < n(')') || m; j++)",             // 4
    "    x(\"(\", j);",                                    // 5
    "  switch (y) { default: z(i); }",                     // 6
    "} /* ( */ x(1);",                                     // 7
    "do { x(1); } while (w);",                             // 8
    "if constexpr (p) q();",                               // 9
    "  DO WHILE (r(i) .AND. &",                            // 10
    "            s(i))",                                   // 11
    "  IF (t) EXIT",                                       // 12
    "while (any([](int k) { return k > 2; }) && u) v();",  // 13
    "meanwhile (a);",                                      // 14
    "while (({ if (a) { b(); } c(i) < n; })) d();",        // 15
    "while (next(S{e(i)}, f), [&] { g(); }(), h) k();",    // 16
    "do l(); while (m(i), w);",                            // 17
    "do {",                                                // 18
    "  if (o) { p(); }",                                   // 19
    "} while (q(i), w);",                                  // 20
    "if (a) { b(); } while (r(i), w) { t(); }",            // 21
    "b(); while (u(i)) ;",                                 // 22
    "do while (v(i)) ; while (w);",                        // 23
    "NEXT(x, y) { CHECK(f(1)); CHECK(g(",                  // 24
    "2)) ; FOREVER z(); }",                                // 25
};

std::string_view line_of(const std::string& file, uint32_t line) {
    if (file != "here" || line == 0 || line > kText.size()) return {};
    return kText[line - 1].data() != nullptr ? kText[line - 1] : "";
}

// The statement around the first place of `text` on a line.
Around around(uint32_t line, std::string_view text) {
    const size_t at = kText[line - 1].find(text);
    EXPECT_NE(at, std::string_view::npos) << text;
    return statement_around({"here", line, static_cast<uint32_t>(at + 1)}, line_of);
}

TEST(SourceText, ConditionsOfLoopsOverSeveralLines) {
    const Around first = around(1, "a(i)");
    EXPECT_TRUE(first.is_loop());
    EXPECT_EQ(first.line, 1u);
    EXPECT_EQ(first.column, 1u);
    EXPECT_EQ(around(1, "&&"), first);
    EXPECT_EQ(around(1, "while"), first);
    EXPECT_EQ(around(2, "b(i)"), first);
    EXPECT_EQ(around(2, "c[i"), first);
    EXPECT_EQ(around(10, "r(i)").line, 10u);
    EXPECT_EQ(around(11, "s(i)"), around(10, "r(i)"));
    EXPECT_EQ(around(13, "u)").column, 1u);
}

TEST(SourceText, PartsOfAnyExpression) {
    for (const char* part : {"a)", "b()", "c(i)", "n;"}) {
        EXPECT_EQ(around(15, part).column, 1u) << part;
    }
    EXPECT_TRUE(around(15, "c(i)").is_first());
    EXPECT_TRUE(around(15, "if").is_first());
    EXPECT_EQ(around(15, "d()"), Around{});
    for (const char* part : {"next", "e(i)", "f)", "[&]", "(),", "h)"}) {
        EXPECT_EQ(around(16, part).column, 1u) << part;
        EXPECT_TRUE(around(16, part).is_first()) << part;
    }
    EXPECT_EQ(around(16, "k()"), Around{});
}

TEST(SourceText, ConditionsBehindTheBody) {
    for (const auto& [line, part] : {std::pair{8u, "w)"}, {17u, "m(i)"}, {20u, "q(i)"}}) {
        EXPECT_TRUE(around(line, part).is_loop()) << part;
        EXPECT_FALSE(around(line, part).is_first()) << part;
    }
    for (const auto& [line, part] :
         {std::pair{1u, "a(i)"}, {10u, "r(i)"}, {21u, "r(i)"}, {22u, "u(i)"}, {23u, "v(i)"}}) {
        EXPECT_TRUE(around(line, part).is_first()) << part;
    }
    EXPECT_FALSE(around(23, "w)").is_first());
    EXPECT_EQ(around(21, "t()"), Around{});
}

TEST(SourceText, MacrosMayHoldAStatement) {
    const auto at = [](uint32_t line, std::string_view text) {
        const size_t column = kText[line - 1].find(text) + 1;
        return statement_or_place({"here", line, static_cast<uint32_t>(column)}, line_of);
    };
    EXPECT_TRUE(at(24, "NEXT").is_unknown());
    EXPECT_EQ(at(24, "NEXT").column, 1u);
    EXPECT_EQ(at(24, "CHECK(f").statement, Around::Statement::kOther);
    EXPECT_EQ(at(24, "CHECK(g").statement, Around::Statement::kOther);
    EXPECT_EQ(at(24, "g(").statement, Around::Statement::kUnknown);
    EXPECT_TRUE(at(25, "FOREVER").is_unknown());
    EXPECT_TRUE(at(1, "a(i)").is_loop());
    EXPECT_EQ(statement_or_place({"here", 0, 8}, line_of), Around{});
}

TEST(SourceText, OtherStatements) {
    EXPECT_TRUE(around(3, "d &&").is_choice());
    EXPECT_TRUE(around(3, "(d").is_choice());
    EXPECT_TRUE(around(3, "if").is_choice());
    EXPECT_TRUE(around(6, "y)").is_choice());
    EXPECT_TRUE(around(12, "t)").is_choice());
    EXPECT_TRUE(around(4, "m;").is_loop());
    EXPECT_EQ(around(4, "m;").line, 4u);
    EXPECT_TRUE(around(4, "j++").is_loop());
    EXPECT_EQ(around(5, "j)"), Around{});
    EXPECT_EQ(around(7, "x(1)"), Around{});
    EXPECT_TRUE(around(8, "w)").is_loop());
    EXPECT_EQ(around(8, "x(1)"), Around{});
    EXPECT_EQ(around(14, "a)"), Around{});
}

TEST(SourceText, WhatCannotBeReadIsUnknown) {
    EXPECT_EQ(statement_around({"elsewhere", 1, 8}, line_of), Around{});
    EXPECT_EQ(statement_around({"here", 0, 8}, line_of), Around{});
    EXPECT_EQ(statement_around({"here", 1, 0}, line_of), Around{});
    EXPECT_EQ(statement_around({"here", 1, 800}, line_of), Around{});
    EXPECT_EQ(statement_around({"here", 100, 1}, line_of), Around{});
}

}  // namespace
}  // namespace dwell
