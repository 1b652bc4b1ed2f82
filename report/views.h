// The parts of the text report. Each draws on a canvas; text_report.cpp puts them together.
#ifndef DWELL_REPORT_VIEWS_H_
#define DWELL_REPORT_VIEWS_H_

#include "report/figures.h"
#include "report/text_report.h"
#include "report/text_style.h"

namespace dwell {

// summary.cpp
void draw_header(const Profile& profile, const TextOptions& options, Canvas* canvas);
void draw_overview(const Profile& profile, Canvas* canvas);
void draw_headline(const Profile& profile, const std::vector<CommLine>& lines, Canvas* canvas);

// tree_view.cpp
void draw_tree(const Profile& profile, const TextOptions& options, Canvas* canvas);

// site_view.cpp: what probes measured
void draw_sites(const Profile& profile, const TextOptions& options, Canvas* canvas);
void draw_site_list(const Profile& profile, size_t limit, Canvas* canvas);
void draw_left_out(const Profile& profile, Canvas* canvas);

// line_view.cpp
void draw_comm_lines(const Profile& profile, const std::vector<CommLine>& lines,
                     const TextOptions& options, Canvas* canvas);
void draw_comm_list(const Profile& profile, const std::vector<CommLine>& lines, size_t limit,
                    Canvas* canvas);
void draw_intervals(const Profile& profile, const TextOptions& options, Canvas* canvas);
void draw_sampled_code(const Profile& profile, const TextOptions& options, Canvas* canvas);
void draw_ranks(const Profile& profile, Canvas* canvas);

struct Column {
    const char* name;
    int width;
};
void put_heads(const std::vector<Column>& columns, int indent, Canvas* canvas);
constexpr int kNumberWidth = 4;  // of the running number of a list

// A ratio of the largest to the mean from here on is worth a colour.
constexpr double kNotableImbalance = 1.5;
// Below this one the ranks are alike, and which of them had most is chance.
constexpr double kLeastImbalance = 1.05;
// Fewer samples than these are chance, not shares.
constexpr uint64_t kTellingSamples = 10;

}  // namespace dwell

#endif  // DWELL_REPORT_VIEWS_H_
