// The parts of the text report. Each draws on a canvas; text_report.cpp puts them together.
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
// Says when figures of the ranks follow a dimension of their grid.
void draw_grid_trend(const Profile& profile, const std::vector<RankFigures>& ranks,
                     TextCanvas* canvas);

// phase_view.cpp: the steps that the program named
void draw_phases(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// tree_view.cpp
void draw_tree(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// site_view.cpp: what probes measured
void draw_sites(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_left_out(const Profile& profile, TextCanvas* canvas);

// omp_view.cpp
// What there is to say of OpenMP before all else; nothing without it.
void draw_omp_headline(const Profile& profile, TextCanvas* canvas);
void draw_omp(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// thread_view.cpp
// Each thread of each rank; nothing where ranks have one each, or the job was over the row limit.
void draw_threads(const Profile& profile, TextCanvas* canvas);

// line_view.cpp
void draw_comm_lines(const Profile& profile, const std::vector<CommLine>& lines,
                     const TextOptions& options, TextCanvas* canvas);
void draw_intervals(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_sampled_code(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_ranks(const Profile& profile, TextCanvas* canvas);

// io_view.cpp: what reads and writes files
void draw_io_lines(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// usage_view.cpp: what the operating system says of the ranks
void draw_memory(const Profile& profile, TextCanvas* canvas);
void draw_usage(const Profile& profile, TextCanvas* canvas);

// metric_view.cpp: hardware and software counts; nothing without `dwell run --metrics`
void draw_metrics(const Profile& profile, const TextOptions& options, TextCanvas* canvas);

// wait_view.cpp: who waited for whom
// The part of a line's time that is waiting; "~" before one that is estimated.
std::string sync_text(const Totals& totals);
// "340 ms a rank (late sender), 90 ms of it for rank 3 in ...", of a line that waits.
std::string wait_headline(const Profile& profile, const CommLine& line, bool utf8);
void draw_waits(const Profile& profile, const CommLine& line, TextCanvas* canvas);
void draw_main_cause(const Profile& profile, TextCanvas* canvas);
void draw_causes(const Profile& profile, const TextOptions& options, TextCanvas* canvas);
void draw_clocks(const Profile& profile, TextCanvas* canvas);

// "heat.c:88 MPI_Recv", or "start" without a node, cut to `room`.
std::string identity_text(const Profile& profile, uint32_t node, int room, bool utf8);
// The name of `node`, where `place` stands.
std::string identity_text(const Profile& profile, uint32_t node, uint32_t place, int room,
                          bool utf8);

struct Column {
    const char* name;
    int width;
};
void put_heads(const std::vector<Column>& columns, int indent, TextCanvas* canvas);

// What stands at the right of an entry of a list: "rank 5 (1,2): 3.00 s, 1.82x mean", or that the
// ranks are alike; and the entry's line with that.
std::string worst_text(const GridPlaces& places, const std::optional<Peak>& worst, double mean_ns,
                       bool utf8);
void put_with_worst(Line* identity, const std::string& text, const std::optional<Peak>& worst,
                    double mean_ns, TextCanvas* canvas);

constexpr int kNumberWidth = 4;  // of the running number of a list

}  // namespace dwell

#endif  // DWELL_REPORT_TEXT_VIEWS_H_
