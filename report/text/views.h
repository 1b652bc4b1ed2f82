// The parts of the text report. Each function draws on a canvas; text_report.cpp calls them in
// order.
#ifndef DWELL_REPORT_TEXT_VIEWS_H_
#define DWELL_REPORT_TEXT_VIEWS_H_

#include "report/figures/figures.h"
#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "report/text/text_report.h"
#include "summarize/model/grid_places.h"

namespace dwell {

// summary.cpp
void draw_header(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_overview(const Profile& profile, TextCanvas* canvas);
void draw_headline(const Profile& profile, const std::vector<CommLine>& lines, TextCanvas* canvas);

// grid_view.cpp: the grids that the program described
void draw_grids(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
// Draws trends of rank figures along a dimension of their grid.
void draw_grid_trend(const Profile& profile, const std::vector<RankFigures>& ranks,
                     TextCanvas* canvas);

// phase_view.cpp: the phases that the program named
void draw_phases(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// time_view.cpp: the run over time
void draw_time_axis(const Profile& profile, TextCanvas* canvas);

// tree_view.cpp
void draw_tree(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// site_view.cpp: measurements of probes
void draw_sites(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_left_out(const Profile& profile, TextCanvas* canvas);

// omp_view.cpp
// The most important facts on OpenMP; nothing without OpenMP.
void draw_omp_headline(const Profile& profile, TextCanvas* canvas);
void draw_omp(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// thread_view.cpp
// Each thread of each rank; nothing when each rank has one thread, or over the row limit.
void draw_threads(const Profile& profile, TextCanvas* canvas);

// line_view.cpp
void draw_comm_lines(const Profile& profile, const std::vector<CommLine>& lines,
                     const TextOptions& options, TextCanvas* canvas);
void draw_intervals(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_sampled_code(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_ranks(const Profile& profile, TextCanvas* canvas);

// io_view.cpp: lines that read and write files
void draw_io_lines(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// usage_view.cpp: the operating system's figures of the ranks
void draw_memory(const Profile& profile, TextCanvas* canvas);
void draw_usage(const Profile& profile, TextCanvas* canvas);

// metric_view.cpp: hardware and software counts; nothing without `dwell run --metrics`
void draw_metrics(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// wait_view.cpp: partners and causes of waiting
// The waiting part of a line's time; "~" before an estimate.
std::string sync_text(const Totals& totals);
// "340 ms a rank (late sender), 90 ms of it for rank 3 in ...", for a line with waiting.
std::string wait_headline(const Profile& profile, const CommLine& line, bool utf8);
void draw_waits(const Profile& profile, const CommLine& line, TextCanvas* canvas);
void draw_main_cause(const Profile& profile, TextCanvas* canvas);
void draw_causes(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_clocks(const Profile& profile, TextCanvas* canvas);

// "heat.c:88 MPI_Recv", or "start" without a node, cut to `room`.
std::string identity_text(const Profile& profile, uint32_t node, int room, bool utf8);
// The name of `node`, with the place of `place`.
std::string identity_text(const Profile& profile, uint32_t node, uint32_t place, int room,
                          bool utf8);

struct Column {
    const char* name;
    int width;
};
void put_heads(const std::vector<Column>& columns, int indent, TextCanvas* canvas);

// The text at the right of a list entry: "rank 5 (1,2): 3.00 s, 1.82x mean", or that ranks are
// equal; and the entry's line with this text.
std::string worst_text(const GridPlaces& places, const std::optional<Peak>& worst, double mean_ns,
                       bool utf8);
void put_with_worst(Line* identity, const std::string& text, const std::optional<Peak>& worst,
                    double mean_ns, TextCanvas* canvas);

constexpr int kNumberWidth = 4;  // for the running number of a list

}  // namespace dwell

#endif  // DWELL_REPORT_TEXT_VIEWS_H_
