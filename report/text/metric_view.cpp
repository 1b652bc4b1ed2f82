// Draws hardware and software counts: of the job, and of the places with most.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "report/text/views.h"
#include "summarize/merge/saturating.h"
#include "summarize/model/profile_walk.h"
#include "summarize/profile/metric_counts.h"

namespace dwell {
namespace {

constexpr int kCountWidth = 12;
constexpr int kLeastName = 30;  // columns left for the place

// "TOT_CYC", "PAGE-FAULTS".
std::string short_metric(const std::string& name) {
    for (const std::string_view prefix : {"PAPI_", "perf::PERF_COUNT_", "perf::"}) {
        if (name.compare(0, prefix.size(), prefix) == 0) return name.substr(prefix.size());
    }
    return name;
}

std::string value_text(const std::string& metric, double value, bool utf8) {
    if (metric_unit(metric) == "ns") return time_text(value, utf8);
    return count_text(whole_number(value));
}

// One metric of the program, over all ranks.
struct Spread {
    double sum = 0;
    double most = 0;
    uint32_t rank = 0;
    size_t ranks = 0;
};

Spread spread_of(const Profile& profile, size_t metric) {
    std::map<uint32_t, double> of_rank;
    for (const ProfileCounts& row : profile.metrics.rows) {
        if (row.node == 0) of_rank[row.rank] += static_cast<double>(row.inclusive[metric]);
    }
    Spread spread;
    const ProfileCounts* all = counts_of(profile.metrics, 0);
    if (all != nullptr) spread.sum = static_cast<double>(all->inclusive[metric]);
    spread.ranks = of_rank.size();
    for (const auto& [rank, value] : of_rank) {
        if (value <= spread.most && rank != of_rank.begin()->first) continue;
        spread.most = value;
        spread.rank = rank;
    }
    return spread;
}

void draw_totals(const Profile& profile, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const GridPlaces places(profile);
    const bool per_rank = profile.ranks.size() > 1 && !profile.metrics.rows.empty();
    put_heads({{"total", 10}}, 2, canvas);
    for (size_t i = 0; i < profile.metrics.names.size(); ++i) {
        const std::string& name = profile.metrics.names[i];
        const Spread spread = spread_of(profile, i);
        Line line;
        line.add("  ").add(pad_left(value_text(name, spread.sum, utf8), 10));
        line.add("  " + printable(name, utf8), Style::kName);
        if (per_rank && spread.ranks > 1 && spread.sum > 0) {
            const double mean = spread.sum / static_cast<double>(spread.ranks);
            const bool uneven = spread.most >= kLeastImbalance * mean;
            if (uneven) {
                line.add(
                    fmt::format("  most on rank {}: {}, {} times the mean",
                                places.name_of(spread.rank), value_text(name, spread.most, utf8),
                                ratio_text(spread.most, mean)),
                    spread.most >= kNotableImbalance * mean ? Style::kWarm : Style::kDim);
            }
        }
        canvas->put(line);
    }
}

// A figure computed from several metrics.
struct Derived {
    const char* part;
    const char* whole;
    double factor;
    const char* text;
};
constexpr std::array kDerived = {
    Derived{"PAPI_TOT_INS", "PAPI_TOT_CYC", 1, "{:.2f} instructions per cycle"},
    Derived{"PAPI_L1_DCM", "PAPI_L1_DCA", 100, "{:.2f} % of L1 data accesses miss"},
    Derived{"PAPI_L2_TCM", "PAPI_L2_TCA", 100, "{:.2f} % of L2 accesses miss"},
    Derived{"PAPI_L3_TCM", "PAPI_L3_TCA", 100, "{:.2f} % of L3 accesses miss"},
    Derived{"PAPI_L1_DCM", "PAPI_TOT_INS", 1000, "{:.2f} L1 data misses per 1000 instructions"},
    Derived{"PAPI_L2_TCM", "PAPI_TOT_INS", 1000, "{:.2f} L2 misses per 1000 instructions"},
    Derived{"PAPI_L3_TCM", "PAPI_TOT_INS", 1000, "{:.2f} L3 misses per 1000 instructions"},
    Derived{"PAPI_BR_MSP", "PAPI_BR_INS", 100, "{:.2f} % of branches mispredicted"}};

double value_of(const Profile& profile, const ProfileCounts& counts, std::string_view name) {
    const auto& names = profile.metrics.names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return -1;
    return static_cast<double>(counts.inclusive[static_cast<size_t>(found - names.begin())]);
}

std::vector<std::string> derived_texts(const Profile& profile) {
    const ProfileCounts* all = counts_of(profile.metrics, 0);
    std::vector<std::string> texts;
    if (all == nullptr) return texts;
    for (const Derived& known : kDerived) {
        const double part = value_of(profile, *all, known.part);
        const double whole = value_of(profile, *all, known.whole);
        if (part < 0 || whole <= 0) continue;
        texts.push_back(fmt::format(fmt::runtime(known.text), known.factor * part / whole));
    }
    const auto time_ns = static_cast<double>(all->time_ns);
    for (const char* flops : {"PAPI_FP_OPS", "PAPI_DP_OPS", "PAPI_SP_OPS"}) {
        const double operations = value_of(profile, *all, flops);
        if (operations < 0 || time_ns <= 0) continue;
        texts.push_back(
            fmt::format("{:.3g} Gflop/s a thread ({})", operations / time_ns, short_metric(flops)));
    }
    const double clock_ns = value_of(profile, *all, "perf::TASK-CLOCK");
    if (clock_ns >= 0 && time_ns > 0) {
        texts.push_back(fmt::format("on a processor {} of the time",
                                    share_text(std::min(clock_ns, time_ns), time_ns)));
    }
    return texts;
}

// Nodes sorted by the greatest share of any metric that is their own.
std::vector<const ProfileCounts*> heaviest(const Profile& profile) {
    const ProfileCounts* all = counts_of(profile.metrics, 0);
    std::vector<std::pair<double, const ProfileCounts*>> shares;
    for (const ProfileCounts& counts : profile.metrics.nodes) {
        double share = 0;
        for (size_t i = 0; i < counts.own.size() && all != nullptr; ++i) {
            if (all->inclusive[i] == 0) continue;
            share = std::max(
                share, static_cast<double>(counts.own[i]) / static_cast<double>(all->inclusive[i]));
        }
        if (share > 0) shares.emplace_back(share, &counts);
    }
    std::stable_sort(shares.begin(), shares.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<const ProfileCounts*> order;
    for (const auto& [share, counts] : shares) order.push_back(counts);
    return order;
}

void draw_places(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const std::vector<const ProfileCounts*> order = heaviest(profile);
    const size_t shown = std::min(order.size(), static_cast<size_t>(options.lines));
    if (shown == 0) return;
    const auto& names = profile.metrics.names;
    const auto fitting = static_cast<size_t>((canvas->width() - kLeastName) / kCountWidth);
    const size_t columns = std::min(names.size(), std::max<size_t>(fitting, 1));
    canvas->title(fmt::format("Places that count most ({} of {})", shown, order.size()),
                  "in the place itself, without what has counts of its own");
    Line heads;
    std::vector<int> widths;  // widths of the names, within the room
    int spare = canvas->width() - kLeastName - static_cast<int>(columns) * kCountWidth;
    for (size_t i = 0; i < columns; ++i) {
        const std::string head = printable(short_metric(names[i]), utf8);
        const int more = std::clamp(display_width(head) + 1 - kCountWidth, 0, std::max(spare, 0));
        spare -= more;
        widths.push_back(kCountWidth + more);
        heads.add(pad_left(cut_middle(head, widths[i] - 1, utf8), widths[i]), Style::kDim);
    }
    canvas->put(heads);
    for (size_t row = 0; row < shown; ++row) {
        const ProfileCounts& counts = *order[row];
        Line line;
        for (size_t i = 0; i < columns; ++i) {
            const auto value = static_cast<double>(counts.own[i]);
            line.add(pad_left(value_text(names[i], value, utf8), widths[i]));
        }
        const std::string read = counted_entries(profile, counts.node);
        const std::string note = read.empty() ? "" : "  (" + read + ")";
        int room = canvas->width() - line.width() - 2;
        const bool fits = room - display_width(note) >= kLeastName / 2;
        if (fits) room -= display_width(note);
        line.add("  " + identity_text(profile, counts.node, room, utf8), Style::kName);
        if (fits) line.add(note, Style::kDim);
        canvas->put(line);
        if (!fits && !note.empty()) canvas->paragraph("    " + note.substr(2), 4, Style::kDim);
    }
    if (columns < names.size()) {
        canvas->paragraph(
            fmt::format("  {} more metrics: dwell report --format csv.", names.size() - columns), 2,
            Style::kDim);
    }
}

}  // namespace

void draw_metrics(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const ProfileMetrics& metrics = profile.metrics;
    if (metrics.names.empty()) return;
    const bool utf8 = canvas->utf8();
    canvas->title("Metrics",
                  fmt::format("read where that takes less than 1 % of the time: from {} on",
                              time_text(static_cast<double>(metrics.least_ns), utf8)));
    draw_totals(profile, canvas);
    const std::vector<std::string> derived = derived_texts(profile);
    if (!derived.empty()) canvas->items(derived, 2);
    draw_places(profile, options, canvas);
}

}  // namespace dwell
