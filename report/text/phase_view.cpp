// Draws the phases that the program named: count, time, and the part of MPI.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/text/views.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/merge/saturating.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// A phase over all paths that lead to it.
struct PhaseLine {
    std::string name;
    std::vector<uint32_t> nodes;
    Totals totals{};
    uint64_t mpi_ns = 0;  // all of it: transfer, blocked and set-up
    uint64_t setup_ns = 0;
    PhaseNumbers numbers;
    uint32_t ranks = 0;  // that have the phase
    // Of one of these ranks: exact with rows, else both are the mean.
    double least_count = 0;
    double most_count = 0;
    std::optional<Peak> worst;
};

void add_numbers(const PhaseNumbers& from, PhaseNumbers* into) {
    if (!from.known) return;
    if (!into->known) {
        *into = from;
        return;
    }
    into->first = std::min(into->first, from.first);
    into->last = std::max(into->last, from.last);
    // A rank with several paths may have reached different numbers on each.
    into->last_behind = into->last;
}

// The rank with most time, and the counts of the ranks.
void add_rank_figures(const Profile& profile, std::vector<PhaseLine>* lines) {
    std::vector<size_t> line_of(profile.nodes.size(), SIZE_MAX);
    for (size_t i = 0; i < lines->size(); ++i) {
        for (const uint32_t node : (*lines)[i].nodes) line_of[node] = i;
    }
    struct Figures {
        uint64_t time_ns = 0;
        uint64_t count = 0;
    };
    std::map<std::pair<size_t, uint32_t>, Figures> by_rank;
    for (const ProfileRow& row : profile.rows) {
        if (line_of[row.node] == SIZE_MAX) continue;
        Figures& figures = by_rank[{line_of[row.node], row.rank}];
        figures.time_ns += row.totals.time_ns;
        figures.count += row.totals.count;
    }
    for (const auto& [key, figures] : by_rank) {
        PhaseLine& line = (*lines)[key.first];
        const auto time_ns = static_cast<double>(figures.time_ns);
        const auto count = static_cast<double>(figures.count);
        if (!line.worst || time_ns > line.worst->ns) line.worst = Peak{key.second, time_ns};
        line.least_count = line.ranks == 0 ? count : std::min(line.least_count, count);
        line.most_count = std::max(line.most_count, count);
        ++line.ranks;
    }
    for (PhaseLine& line : *lines) {
        if (line.ranks != 0) continue;
        for (const uint32_t node : line.nodes) {
            line.ranks = std::max(line.ranks, profile.nodes[node].ranks);
        }
        const auto count = static_cast<double>(line.totals.count);
        line.least_count = line.most_count = count / std::max<uint32_t>(line.ranks, 1);
        if (line.nodes.size() != 1) continue;
        const ProfileNode& node = profile.nodes[line.nodes[0]];
        line.worst = Peak{node.rank_max, static_cast<double>(node.rank_max_ns)};
    }
}

// By decreasing time.
std::vector<PhaseLine> phase_lines(const Profile& profile) {
    const std::vector<uint32_t> order = nodes_from_root(profile);
    std::vector<uint64_t> mpi_ns(profile.nodes.size());
    std::vector<uint64_t> setup_ns(profile.nodes.size());
    for (const uint32_t index : order) {
        const ProfileNode& node = profile.nodes[index];
        if (is_communication(node)) mpi_ns[index] = node.totals.time_ns;
        setup_ns[index] = setup_part_ns(node, node.totals);
    }
    sum_into_parents(profile, order, &mpi_ns);
    sum_into_parents(profile, order, &setup_ns);
    std::map<std::string, PhaseLine> by_name;
    for (const uint32_t index : order) {
        const ProfileNode& node = profile.nodes[index];
        if ((node.labels & kLabelPhase) == 0) continue;
        PhaseLine& line = by_name[node.name];
        if (line.nodes.empty()) line.totals.min_ns = UINT64_MAX;
        line.name = node.name;
        line.nodes.push_back(index);
        add_totals(&line.totals, node.totals);
        line.mpi_ns += mpi_ns[index];
        line.setup_ns += setup_ns[index];
        add_numbers(node.phase, &line.numbers);
    }
    std::vector<PhaseLine> lines;
    for (auto& [name, line] : by_name) lines.push_back(std::move(line));
    add_rank_figures(profile, &lines);
    std::stable_sort(lines.begin(), lines.end(), [](const PhaseLine& a, const PhaseLine& b) {
        return a.totals.time_ns > b.totals.time_ns;
    });
    return lines;
}

std::string number_text(double count) {
    const auto whole = whole_number(count);
    return static_cast<double>(whole) == count ? count_text(whole) : fmt::format("{:.1f}", count);
}

// "20", or "18-20" if ranks differ.
std::string iteration_count(const PhaseLine& line) {
    const std::string least = number_text(line.least_count);
    const std::string most = number_text(line.most_count);
    return least == most ? most : least + "-" + most;
}

std::string mean_text(const Totals& totals, bool utf8) {
    return timed_entries(totals) == 0 ? "-" : time_text(mean_entry_ns(totals), utf8);
}

std::string part_text(uint64_t part_ns, const PhaseLine& line) {
    return share_text(static_cast<double>(part_ns), static_cast<double>(line.totals.time_ns));
}

void put_identity(const Profile& profile, const PhaseLine& phase, size_t number,
                  const GridPlaces& places, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const double mean_ns = static_cast<double>(phase.totals.time_ns) / rank_count(profile);
    const std::string worst =
        profile.ranks.size() > 1 ? worst_text(places, phase.worst, mean_ns, utf8) : std::string();
    Line line;
    line.add(pad_left(fmt::format("{}", number), 2) + "  ", Style::kDim);
    int room = canvas->width() - line.width() - display_width(worst) - 2;
    const std::string name = cut_middle(printable(phase.name, utf8), room, utf8);
    line.add(name, Style::kName);
    room -= display_width(name) + 2;
    std::string more = iterations_text(phase.numbers);
    if (phase.ranks < profile.ranks.size()) {
        more += fmt::format("{}on {} of {} ranks", more.empty() ? "" : ", ", phase.ranks,
                            profile.ranks.size());
    }
    const bool fits = display_width(more) <= room;
    if (fits && !more.empty()) line.add("  " + more);
    put_with_worst(&line, worst, phase.worst, mean_ns, canvas);
    if (!fits) canvas->paragraph(std::string(kNumberWidth + 2, ' ') + more, kNumberWidth + 2);
}

std::vector<Column> columns_of(bool with_mpi) {
    std::vector<Column> columns = {{"share", 7}, {"time", 9},      {"iterations", 12},
                                   {"mean", 9},  {"shortest", 10}, {"longest", 9}};
    if (with_mpi) columns.insert(columns.end(), {{"in MPI", 9}, {"blocked", 9}});
    return columns;
}

// In the columns of the list.
void add_figures(const Profile& profile, const PhaseLine& phase, bool with_mpi, bool utf8,
                 Line* line) {
    const Totals& totals = phase.totals;
    const auto time_ns = static_cast<double>(totals.time_ns);
    const double own_ns = time_ns - static_cast<double>(phase.setup_ns);
    const std::string share = run_share_text(own_ns, judged_time(profile), own_ns <= 0);
    line->add(pad_left(share, 7), Style::kName);
    line->add(pad_left(time_text(time_ns / rank_count(profile), utf8), 9));
    line->add(pad_left(iteration_count(phase), 12));
    line->add(pad_left(mean_text(totals, utf8), 9));
    const bool timed = timed_entries(totals) != 0 && totals.min_ns != UINT64_MAX;
    const auto text = [&](uint64_t ns) {
        return timed ? time_text(static_cast<double>(ns), utf8) : std::string("-");
    };
    line->add(pad_left(text(totals.min_ns), 10)).add(pad_left(text(totals.max_ns), 9));
    if (!with_mpi) return;
    line->add(pad_left(part_text(phase.mpi_ns, phase), 9), Style::kTransfer);
    line->add(pad_left(part_text(totals.blocked_ns, phase), 9), Style::kBlocked);
}

}  // namespace

void draw_phases(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const std::vector<PhaseLine> all = phase_lines(profile);
    if (all.empty()) return;
    const bool with_mpi = !is_serial(profile);
    const size_t shown = std::min(all.size(), static_cast<size_t>(options.lines));
    canvas->title(fmt::format("Phases ({} of {})", shown, all.size()),
                  profile.ranks.size() > 1 ? "time: mean per rank; iterations: of a rank"
                                           : "as the program named them");
    put_heads(columns_of(with_mpi), kNumberWidth, canvas);
    const GridPlaces places(profile);
    for (size_t i = 0; i < shown; ++i) {
        put_identity(profile, all[i], i + 1, places, canvas);
        Line line;
        line.pad_to(kNumberWidth);
        add_figures(profile, all[i], with_mpi, canvas->utf8(), &line);
        canvas->put(line);
    }
    if (shown == all.size()) return;
    canvas->paragraph(fmt::format("  {} {} more", canvas->signs().ellipsis, all.size() - shown), 2,
                      Style::kDim);
}

}  // namespace dwell
