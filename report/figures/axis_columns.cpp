// Joins bins of the time axis to columns.
#include "report/figures/axis_columns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "summarize/merge/merged_axis.h"

namespace dwell {

AxisColumns axis_columns(const ProfileAxis& axis, size_t most) {
    AxisColumns result;
    if (axis.bins.empty() || most == 0) return result;
    const uint64_t last = axis.bins.back().number;
    const uint64_t bins_each = last / most + 1;
    result.width_ns = bins_each * axis.width_ns;
    result.columns.resize(static_cast<size_t>(last / bins_each) + 1);
    std::vector<uint64_t> phase_ns(result.columns.size());
    for (const ProfileBin& bin : axis.bins) {
        const auto index = static_cast<size_t>(bin.number / bins_each);
        AxisColumn& column = result.columns[index];
        add_figures(bin.sum, &column.sum);
        column.ranks = std::max(column.ranks, bin.ranks);
        const uint64_t ns = time_of(bin.sum);
        if (ns <= phase_ns[index]) continue;
        phase_ns[index] = ns;
        column.phase = bin.phase;
    }
    return result;
}

uint64_t time_of(const AxisFigures& figures) {
    uint64_t ns = 0;
    for (uint64_t AxisFigures::*figure : kAxisFigures) {
        if (figure != &AxisFigures::bytes_sent) ns += figures.*figure;
    }
    return ns;
}

std::string spark_text(const std::vector<double>& values, double highest, bool utf8) {
    constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::array<std::string_view, 8> kAscii = {".", ":", "-", "=", "+", "*", "%", "#"};
    const auto& levels = utf8 ? kBlocks : kAscii;
    std::string text;
    for (const double value : values) {
        if (!(value > 0) || !(highest > 0)) {
            text += ' ';
            continue;
        }
        const double level =
            std::ceil(std::min(value / highest, 1.0) * static_cast<double>(levels.size()));
        text += levels[static_cast<size_t>(std::max(level, 1.0)) - 1];
    }
    return text;
}

}  // namespace dwell
