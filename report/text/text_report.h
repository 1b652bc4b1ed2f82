// The text report: what a person reads first (DESIGN 6). Functions of a profile and of nothing
// else.
#ifndef DWELL_REPORT_TEXT_TEXT_REPORT_H_
#define DWELL_REPORT_TEXT_TEXT_REPORT_H_

#include <string>

#include "runtime/contract/settings.h"
#include "summarize/model/profile.h"

namespace dwell {

// Columns of the report.
constexpr int kDefaultWidth = 100;
constexpr int kLeastWidth = kLeastColumns;
constexpr int kMostWidth = kMostColumns;

struct TextOptions {
    int width = kDefaultWidth;  // less than kLeastWidth counts as that
    bool color = false;         // terminal colours; only for terminals
    bool utf8 = true;           // otherwise nothing but ASCII
    bool per_rank = false;      // adds a table of all ranks
    bool left_out = false;      // names what was given no probes
    double threshold = 0.005;   // part of the time outside set-up below which tree lines are folded
    int lines = 12;             // length of the lists of costliest lines
};

// The whole report. No line is wider than options.width.
std::string write_text_report(const Profile& profile, const TextOptions& options);

// What rank 0 says at the end of a run: what part of the time was lost, the main cause, and what to
// type next. At most kVerdictLines lines. `directory` holds the profile (empty: there is none); a
// line is wider than options.width only where that directory is, which is there to be copied.
constexpr int kVerdictWidth = 80;
constexpr int kVerdictLines = 10;
std::string write_verdict(const Profile& profile, const TextOptions& options,
                          const std::string& directory);

}  // namespace dwell

#endif  // DWELL_REPORT_TEXT_TEXT_REPORT_H_
