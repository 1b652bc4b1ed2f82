// The course of the run: a line of spark characters for each part of the time and for the bytes
// sent, and the phases that the program named.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "report/figures/axis_columns.h"
#include "report/text/views.h"

namespace dwell {
namespace {

constexpr int kNames = 15;    // width of the names at the left
constexpr int kHighest = 12;  // and of the highest values at the right
constexpr size_t kFewestColumns = 4;
constexpr size_t kPhaseLetters = 26;
constexpr double kLeastShare = 0.0005;  // of all time: less has no line

struct Part {
    const char* name;
    uint64_t AxisFigures::*figure;
    Style style;
};
constexpr std::array<Part, 6> kParts = {{
    {"computation", &AxisFigures::computation_ns, Style::kComputation},
    {"waiting", &AxisFigures::waiting_ns, Style::kBlocked},
    {"transfer", &AxisFigures::transfer_ns, Style::kTransfer},
    {"OpenMP waiting", &AxisFigures::omp_wait_ns, Style::kBlocked},
    {"OpenMP idle", &AxisFigures::omp_idle_ns, Style::kBlocked},
    {"I/O", &AxisFigures::io_ns, Style::kWarm},
}};

void put_spark(const char* name, const std::vector<double>& values, double highest,
               const std::string& highest_text, Style style, TextCanvas* canvas) {
    Line line;
    line.add("  ").add(name).pad_to(2 + kNames);
    line.add(spark_text(values, highest, canvas->utf8()), style);
    line.pad_to(2 + kNames + static_cast<int>(values.size()) + 1);
    line.add(pad_left(highest_text, kHighest - 1), Style::kDim);
    canvas->put(line);
}

// Each phase has a letter, by the order in which they come first.
void put_phases(const Profile& profile, const AxisColumns& axis, TextCanvas* canvas) {
    std::vector<std::string> names;
    std::string marks;
    for (const AxisColumn& column : axis.columns) {
        if (column.phase == kNoNode) {
            marks += ' ';
            continue;
        }
        const std::string& name = profile.nodes[column.phase].name;
        auto known = std::find(names.begin(), names.end(), name);
        if (known == names.end()) known = names.insert(known, name);
        const auto number = static_cast<size_t>(known - names.begin());
        marks += number < kPhaseLetters ? static_cast<char>('a' + number) : '+';
    }
    if (names.empty()) return;
    canvas->put(Line().add("  phase").pad_to(2 + kNames).add(marks, Style::kName));
    std::vector<std::string> items;
    for (size_t i = 0; i < names.size() && i < kPhaseLetters; ++i) {
        const std::string name = printable(names[i], canvas->utf8());
        items.push_back(fmt::format("{} {}", static_cast<char>('a' + i), name));
    }
    if (names.size() > kPhaseLetters) items.emplace_back("+ others");
    canvas->items(items, 2 + kNames, Style::kDim);
}

void put_ends(const AxisColumns& axis, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const auto columns = static_cast<int>(axis.columns.size());
    const auto length_ns = static_cast<double>(axis.width_ns * axis.columns.size());
    Line line;
    line.pad_to(2 + kNames).add("0 s", Style::kDim);
    const std::string end = time_text(length_ns, utf8);
    line.pad_to(2 + kNames + columns - display_width(end)).add(end, Style::kDim);
    canvas->put(line);
}

}  // namespace

void draw_time_axis(const Profile& profile, TextCanvas* canvas) {
    const int room = canvas->width() - 2 - kNames - kHighest;
    if (room < static_cast<int>(kFewestColumns)) return;
    const AxisColumns axis = axis_columns(profile.axis, static_cast<size_t>(room));
    if (axis.columns.size() < kFewestColumns) return;
    const bool utf8 = canvas->utf8();
    canvas->title("Over time", fmt::format("one character: {}; full height: the value at the right",
                                           time_text(static_cast<double>(axis.width_ns), utf8)));
    AxisFigures all{};
    for (const AxisColumn& column : axis.columns) {
        for (uint64_t AxisFigures::*figure : kAxisFigures) all.*figure += column.sum.*figure;
    }
    const auto all_ns = static_cast<double>(time_of(all));
    for (const Part& part : kParts) {
        if (static_cast<double>(all.*part.figure) <= kLeastShare * all_ns) continue;
        std::vector<double> shares;
        for (const AxisColumn& column : axis.columns) {
            const auto ns = static_cast<double>(time_of(column.sum));
            shares.push_back(ns > 0 ? static_cast<double>(column.sum.*part.figure) / ns : 0);
        }
        const double highest = *std::max_element(shares.begin(), shares.end());
        put_spark(part.name, shares, highest, share_text(highest, 1), part.style, canvas);
    }
    if (all.bytes_sent != 0) {
        std::vector<double> rates;
        const double width_s = static_cast<double>(axis.width_ns) / 1e9;
        for (const AxisColumn& column : axis.columns) {
            rates.push_back(static_cast<double>(column.sum.bytes_sent) / width_s);
        }
        const double highest = *std::max_element(rates.begin(), rates.end());
        put_spark("bytes sent", rates, highest, bytes_text(highest) + "/s", Style::kPlain, canvas);
    }
    put_phases(profile, axis, canvas);
    put_ends(axis, canvas);
}

}  // namespace dwell
