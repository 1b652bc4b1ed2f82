// The verdict of a profile, and what it must say wherever its lines are broken.
#ifndef DWELL_TESTS_UNIT_VERDICT_WORDS_H_
#define DWELL_TESTS_UNIT_VERDICT_WORDS_H_

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "report/text/text_report.h"

namespace dwell {

inline std::string verdict(const Profile& profile, int width = 80, bool utf8 = true) {
    TextOptions options;
    options.width = width;
    options.utf8 = utf8;
    return write_verdict(profile, options, "dwell-heat-4711");
}

// Wherever its lines are broken.
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

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_VERDICT_WORDS_H_
