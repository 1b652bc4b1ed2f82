// The lines of `dwell top`, for a terminal and for `--once`: a head, the table, and who waits for
// whom. No line is longer than the width.
#ifndef DWELL_REPORT_TOP_TOP_TEXT_H_
#define DWELL_REPORT_TOP_TOP_TEXT_H_

#include <string>
#include <vector>

#include "report/top/top_rows.h"

namespace dwell {

enum class TopStyle : uint8_t { kPlain, kTitle, kHead, kAlarm, kDim };
struct TopLine {
    std::string text;
    TopStyle style = TopStyle::kPlain;
};

struct TopPaper {
    int width = 80;
    bool utf8 = true;
};

// What the job is, and its parts of time; with the alarms that are raised.
std::vector<TopLine> head_lines(const LiveSnapshot& snapshot, const TopTable& table,
                                const TopChoice& choice, const std::vector<TopAlarm>& alarms,
                                const TopPaper& paper);
// The titles of the columns, then one line a row.
std::vector<TopLine> table_lines(const TopTable& table, const TopChoice& choice,
                                 const std::vector<TopAlarm>& alarms, const TopPaper& paper);
// Each rank with its parts of time.
std::vector<TopLine> rank_lines(const LiveSnapshot& snapshot, const TopPaper& paper);
// Who waits for whom now, longest first.
std::vector<TopLine> wait_lines(const LiveSnapshot& snapshot, const TopPaper& paper);

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_TOP_TEXT_H_
