// Writes the text report by drawing its parts in order (views.h).
#include "report/text/text_report.h"

#include <algorithm>
#include <sstream>

#include "report/text/views.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

void draw_notes(const Profile& profile, TextCanvas* canvas) {
    if (profile.notes.empty()) return;
    canvas->title("Notes");
    for (const std::string& note : profile.notes) {
        canvas->paragraph("  - " + printable(note, canvas->utf8()), 4);
    }
}

void draw_lines(const std::string& whole, TextCanvas* canvas) {
    std::istringstream lines(whole);
    for (std::string text; std::getline(lines, text);) {
        Line line;
        line.add(
            cut_middle("  " + printable(text, canvas->utf8()), canvas->width(), canvas->utf8()));
        canvas->put(line);
    }
}

// As `dwell run --watchdog` printed it.
void draw_watchdog(const Profile& profile, TextCanvas* canvas) {
    if (profile.watchdog.empty()) return;
    canvas->title("Report of the watchdog", "while nothing moved");
    draw_lines(profile.watchdog, canvas);
}

void draw_last_events(const Profile& profile, TextCanvas* canvas) {
    if (profile.last_events.empty()) return;
    canvas->title("Last events", "of ranks that did not reach their end");
    draw_lines(profile.last_events, canvas);
}

}  // namespace

std::string write_text_report(const Profile& profile, const TextOptions& options) {
    TextCanvas canvas(std::max(options.width, kLeastWidth), options.utf8, options.color);
    draw_header(profile, options, &canvas);
    if (profile.nodes.empty()) {
        canvas.paragraph("Nothing was recorded.", 0);
        draw_notes(profile, &canvas);
        return canvas.take();
    }
    const std::vector<CommLine> lines = comm_lines(profile);
    draw_overview(profile, &canvas);
    draw_headline(profile, lines, &canvas);
    draw_watchdog(profile, &canvas);
    draw_last_events(profile, &canvas);
    if (options.per_rank) {
        draw_ranks(profile, &canvas);
        draw_clocks(profile, &canvas);
        draw_usage(profile, &canvas);
        draw_threads(profile, &canvas);
    }
    draw_phases(profile, options, &canvas);
    draw_time_axis(profile, &canvas);
    if (!is_serial(profile) || profile.nodes.size() > 1) draw_tree(profile, options, &canvas);
    draw_omp(profile, options, &canvas);
    draw_sites(profile, options, &canvas);
    if (options.left_out) draw_left_out(profile, &canvas);
    if (!is_serial(profile)) {
        draw_comm_lines(profile, lines, options, &canvas);
        draw_causes(profile, options, &canvas);
        draw_sampled_code(profile, options, &canvas);
        draw_intervals(profile, options, &canvas);
    } else {
        draw_sampled_code(profile, options, &canvas);
    }
    draw_io_lines(profile, options, &canvas);
    draw_metrics(profile, options, &canvas);
    draw_grids(profile, options, &canvas);
    draw_notes(profile, &canvas);
    return canvas.take();
}

}  // namespace dwell
