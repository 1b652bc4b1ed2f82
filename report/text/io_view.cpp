// Draws the lines that read and write files, by decreasing time.
#include <fmt/format.h>

#include <algorithm>

#include "report/text/views.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

std::string bytes_or_nothing(uint64_t bytes) {
    return bytes == 0 ? "" : bytes_text(static_cast<double>(bytes));
}

}  // namespace

void draw_io_lines(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const std::vector<CommLine> lines = io_lines(profile);
    if (lines.empty()) return;
    const bool several = profile.ranks.size() > 1;
    const bool utf8 = canvas->utf8();
    const double judged_ns = judged_time(profile);
    const size_t shown = std::min(lines.size(), static_cast<size_t>(options.lines));
    canvas->title(
        fmt::format("Costliest I/O lines ({} of {})", shown, lines.size()),
        several ? "all call paths together; time: mean per rank" : "all call paths together");
    put_heads({{"share", 7},
               {"time", 9},
               {"calls", 8},
               {"per call", 9},
               {"longest", 9},
               {"read", 9},
               {"written", 9}},
              kNumberWidth, canvas);
    const GridPlaces places(profile);
    for (size_t i = 0; i < shown; ++i) {
        const CommLine& line = lines[i];
        const Totals& totals = line.totals;
        const auto time_ns = static_cast<double>(totals.time_ns);
        const double mean_ns = time_ns / rank_count(profile);
        const auto calls = static_cast<double>(std::max<uint64_t>(totals.count, 1));

        Line identity;
        identity.add(pad_left(fmt::format("{}", i + 1), 2) + "  ", Style::kDim);
        const std::string worst =
            several ? worst_text(places, line.worst, mean_ns, utf8) : std::string();
        const int room = canvas->width() - identity.width() - display_width(worst) - 2;
        identity.add(identity_text(profile, line.node, line.place, room, utf8), Style::kName);
        put_with_worst(&identity, worst, line.worst, mean_ns, canvas);

        Line figures;
        figures.pad_to(kNumberWidth);
        figures.add(pad_left(share_text(time_ns, judged_ns), 7), Style::kName);
        figures.add(pad_left(time_text(mean_ns, utf8), 9));
        figures.add(pad_left(count_text(totals.count), 8));
        figures.add(pad_left(time_text(time_ns / calls, utf8), 9));
        figures.add(pad_left(time_text(static_cast<double>(totals.max_ns), utf8), 9));
        figures.add(pad_left(bytes_or_nothing(totals.bytes_received), 9));
        figures.add(pad_left(bytes_or_nothing(totals.bytes_sent), 9));
        canvas->put(figures);

        std::string more = io_files_text(profile, line, utf8);
        if (totals.failed != 0) {
            more += fmt::format("{}{} call{} failed", more.empty() ? "" : "; ", totals.failed,
                                totals.failed == 1 ? "" : "s");
        }
        if (more.empty()) continue;
        canvas->paragraph(std::string(kNumberWidth + 2, ' ') + more, kNumberWidth + 2, Style::kDim);
    }
}

}  // namespace dwell
