// Helpers for tests of the verdict: its words independent of line breaks, and its limits of size.
#ifndef DWELL_TESTS_UNIT_VERDICT_WORDS_H_
#define DWELL_TESTS_UNIT_VERDICT_WORDS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "report/figures/text_style.h"
#include "report/text/text_report.h"

namespace dwell {

inline std::string verdict(const Profile& profile, int width = 80, bool utf8 = true) {
    TextOptions options;
    options.width = width;
    options.utf8 = utf8;
    return write_verdict(profile, options, "dwell-heat-4711");
}

// The words of a text, independent of line breaks.
inline std::string words_of(const std::string& text) {
    std::istringstream stream(text);
    std::string words;
    for (std::string word; stream >> word;) words += word + " ";
    return words;
}

inline void expect_words(const Profile& profile, const std::vector<std::string>& parts) {
    for (const int width : {80, 100}) {
        const std::string words = words_of(verdict(profile, width));
        for (const std::string& part : parts) {
            EXPECT_NE(words.find(part), std::string::npos) << part << "\nin\n" << words;
        }
    }
}

// Checks that it has at most ten lines, none too wide, and ends with what to type next.
inline void expect_small(const Profile& profile, int width, bool utf8) {
    TextOptions options;
    options.width = width;
    options.utf8 = utf8;
    const std::string text = write_verdict(profile, options, "out");
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kVerdictLines) << text;
    EXPECT_TRUE(text.starts_with("dwell verdict: ")) << text;
    const bool more = text.find("\nNext: dwell run --") != std::string::npos;
    EXPECT_TRUE(
        text.ends_with(more ? "\nReport: dwell report out\n" : "\nNext: dwell report out\n"))
        << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(display_width(line), width) << line;
        EXPECT_FALSE(line.empty() || line.back() == ' ') << text;
        if (utf8) continue;
        EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
            return c >= 0x20 && c < 0x7f;
        })) << line;
    }
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_VERDICT_WORDS_H_
