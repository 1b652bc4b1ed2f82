// The text report and the verdict: what a person reads first (DESIGN 6). Functions of a profile
// alone.
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
    int width = kDefaultWidth;  // smaller values count as kLeastWidth
    bool color = false;         // terminal colours; only for terminals
    bool utf8 = true;           // otherwise nothing but ASCII
    bool per_rank = false;      // adds a table of all ranks
    bool left_out = false;      // lists the sites without probes
    double threshold = 0.005;   // part of the time outside set-up below which tree lines are
                                // collapsed
    int lines = 12;             // length of the lists
};

// The whole report. No line is wider than options.width.
std::string write_text_report(const Profile& profile, const TextOptions& options);

// The tables of AIMS's tally, in columns or, with `tabs`, with a tab between fields. `sampled`:
// further tables with tabs, as `dwell run --tally` wrote them.
std::string write_tally(const Profile& profile, const std::string& sampled, bool tabs,
                        const TextOptions& options);

// The text of rank 0 at the end of a run: the lost part of the time, the main cause, and what to
// type next. At most kVerdictLines lines. `directory` contains the profile (empty: there is none).
// Only the line with the directory may exceed options.width, so that the directory can be copied.
constexpr int kVerdictWidth = 80;
constexpr int kVerdictLines = 10;
std::string write_verdict(const Profile& profile, const TextOptions& options,
                          const std::string& directory);

}  // namespace dwell

#endif  // DWELL_REPORT_TEXT_TEXT_REPORT_H_
