// Draws the lines of `dwell top`; see top_text.h. Columns that do not fit are left out, those of
// least use first.
#include "report/top/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "report/live/positions.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

enum class Unit : uint8_t { kTime, kShare, kCount, kBytes };

struct Column {
    TopColumn column;
    Unit unit;
    const char* title;
    int width;
    int use;  // columns of less use are left out first; those with 0 stay
};
constexpr Column kColumns[] = {{TopColumn::kTime, Unit::kTime, "time", 9, 2},
                               {TopColumn::kTime, Unit::kShare, "share", 8, 0},
                               {TopColumn::kSelf, Unit::kShare, "self", 8, 4},
                               {TopColumn::kTransfer, Unit::kShare, "transf", 8, 3},
                               {TopColumn::kWait, Unit::kShare, "wait", 8, 0},
                               {TopColumn::kOmpWait, Unit::kShare, "omp wait", 9, 6},
                               {TopColumn::kOmpIdle, Unit::kShare, "idle", 8, 7},
                               {TopColumn::kIo, Unit::kShare, "I/O", 8, 5},
                               {TopColumn::kCalls, Unit::kCount, "calls", 9, 8},
                               {TopColumn::kSent, Unit::kBytes, "sent", 9, 10},
                               {TopColumn::kReceived, Unit::kBytes, "received", 9, 11},
                               {TopColumn::kOpen, Unit::kTime, "open", 9, 1}};
constexpr int kLeastName = 30;
constexpr size_t kWaitLines = 6;
constexpr int64_t kStill_ns = 2'000'000'000;  // longer than an interval

std::string cut(const std::string& text, int width, bool utf8) {
    return display_width(text) <= width ? text : cut_middle(text, width, utf8);
}

std::string figure_text(const Column& column, const RowFigures& figures, uint64_t whole_ns,
                        bool utf8) {
    const uint64_t value = figure(figures, column.column);
    if (value == 0) return "";
    switch (column.unit) {
        case Unit::kTime:
            return time_text(static_cast<double>(value), utf8);
        case Unit::kShare:
            return share_text(static_cast<double>(value), static_cast<double>(whole_ns));
        case Unit::kCount:
            return count_text(value);
        case Unit::kBytes:
            return bytes_text(static_cast<double>(value));
    }
    return "";
}

// Parts that the job does not have need no column.
std::vector<Column> columns_for(const TopTable& table, int width) {
    std::vector<Column> columns;
    int wanted = 2 + kLeastName;
    for (const Column& column : kColumns) {
        const bool rare = column.column == TopColumn::kOmpWait ||
                          column.column == TopColumn::kOmpIdle || column.column == TopColumn::kIo;
        if (rare && figure(table.job, column.column) == 0) continue;
        columns.push_back(column);
        wanted += column.width;
    }
    while (wanted > width) {
        const auto least =
            std::max_element(columns.begin(), columns.end(),
                             [](const Column& a, const Column& b) { return a.use < b.use; });
        if (least == columns.end() || least->use == 0) break;
        wanted -= least->width;
        columns.erase(least);
    }
    return columns;
}

bool any_raised(const std::vector<TopAlarm>& alarms, const RowFigures& figures, uint64_t whole_ns) {
    return std::any_of(alarms.begin(), alarms.end(), [&](const TopAlarm& alarm) {
        return alarm.above && is_raised(alarm, figures, whole_ns);
    });
}

// Words wrapped at the width.
void add_wrapped(const std::string& text, TopStyle style, const TopPaper& paper,
                 std::vector<TopLine>* lines) {
    TextCanvas canvas(paper.width, paper.utf8, false);
    canvas.paragraph(printable(text, paper.utf8), 2);
    const std::string drawn = canvas.take();
    for (size_t at = 0; at < drawn.size();) {
        const size_t end = std::min(drawn.find('\n', at), drawn.size());
        lines->push_back({cut(drawn.substr(at, end - at), paper.width, paper.utf8), style});
        at = end + 1;
    }
}

std::string state_of(const LiveSnapshot& snapshot, bool utf8) {
    if (snapshot.is_final && snapshot.ended_well) return "ended: these are its final figures";
    if (snapshot.is_final) return "ended without MPI_Finalize: these are its last figures";
    std::set<uint32_t> gone;
    for (const LiveRank& rank : snapshot.ranks) {
        if (rank.is_gone) gone.insert(rank.rank);
    }
    const auto duration = [utf8](int64_t ns) {
        return time_text(static_cast<double>(std::max<int64_t>(ns, 0)), utf8);
    };
    std::string state = "running for " + duration(snapshot.unix_ns - snapshot.start_unix_ns);
    const int64_t oldest_ns = oldest_snapshot_ns(snapshot.positions);
    if (oldest_ns != 0) state += ", as it was " + duration(oldest_ns) + " ago";
    int64_t still_ns = INT64_MAX;
    for (const Position& one : snapshot.positions.threads) {
        if (one.state == '\0') continue;
        still_ns = std::min(still_ns, snapshot.unix_ns - one.since_unix_ns);
    }
    const bool stands = still_ns >= kStill_ns && still_ns != INT64_MAX;
    if (stands) state += "; nothing has moved for " + duration(still_ns);
    return state + ended_text(gone);
}

std::string share_of(const RowFigures& job, TopColumn column, uint64_t whole_ns) {
    return share_text(static_cast<double>(figure(job, column)), static_cast<double>(whole_ns));
}

}  // namespace

std::vector<TopLine> head_lines(const LiveSnapshot& snapshot, const TopTable& table,
                                const TopChoice& choice, const std::vector<TopAlarm>& alarms,
                                const TopPaper& paper) {
    std::vector<TopLine> lines;
    const Profile& profile = *snapshot.profile;
    const std::string program = profile.nodes.empty() ? "" : profile.nodes[0].name;
    std::set<std::string> hosts;
    for (const LiveRank& rank : snapshot.ranks) hosts.insert(rank.host);
    add_wrapped(fmt::format("{}: {} of {} ranks on {}, {}", program, table.ranks,
                            profile.world_size, hosts_text(hosts), state_of(snapshot, paper.utf8)),
                TopStyle::kTitle, paper, &lines);
    const bool rates = choice.rates && table.interval_ns != 0;
    std::string text = rates ? "Recorded in the last " +
                                   time_text(static_cast<double>(table.interval_ns), paper.utf8)
                       : choice.rates ? std::string("Since the start (no interval yet)")
                                      : std::string("Since the start");
    if (snapshot.rank != kAllRanks) text += fmt::format(", rank {}", snapshot.rank);
    const std::pair<TopColumn, const char*> parts[] = {{TopColumn::kComputation, "computation"},
                                                       {TopColumn::kTransfer, "transfer"},
                                                       {TopColumn::kWait, "waiting"},
                                                       {TopColumn::kOmpWait, "OpenMP wait"},
                                                       {TopColumn::kOmpIdle, "OpenMP idle"},
                                                       {TopColumn::kIo, "I/O"},
                                                       {TopColumn::kOpen, "open"}};
    const char* separator = ": ";
    for (const auto& [column, name] : parts) {
        if (figure(table.job, column) == 0) continue;
        text +=
            fmt::format("{}{} {}", separator, name, share_of(table.job, column, table.whole_ns));
        separator = ", ";
    }
    add_wrapped(text, TopStyle::kPlain, paper, &lines);
    for (const TopAlarm& alarm : alarms) {
        if (!is_raised(alarm, table.job, table.whole_ns)) continue;
        add_wrapped(fmt::format("! alarm {}: {} is {}", alarm.text, column_word(alarm.column),
                                share_of(table.job, alarm.column, table.whole_ns)),
                    TopStyle::kAlarm, paper, &lines);
    }
    if (snapshot.resets != 0) {
        add_wrapped("Counts began anew since they were first read (MPI_Pcontrol, exec).",
                    TopStyle::kDim, paper, &lines);
    }
    if (snapshot.has_new_paths) {
        add_wrapped("New paths are not shown yet.", TopStyle::kDim, paper, &lines);
    }
    if (snapshot.left_out != 0) {
        add_wrapped(fmt::format("{} record file{} cannot be read; left out", snapshot.left_out,
                                snapshot.left_out == 1 ? "" : "s"),
                    TopStyle::kAlarm, paper, &lines);
    }
    return lines;
}

std::vector<TopLine> table_lines(const TopTable& table, const TopChoice& choice,
                                 const std::vector<TopAlarm>& alarms, const TopPaper& paper) {
    std::vector<TopLine> lines;
    const std::vector<Column> columns = columns_for(table, paper.width);
    std::string head;
    for (const Column& column : columns) {
        const bool sorts = column.column == choice.sort &&
                           (column.column != TopColumn::kTime || column.unit == Unit::kTime);
        head += pad_left((sorts ? "*" : "") + std::string(column.title), column.width);
    }
    head += std::string("  ") + (choice.lines ? "line" : "procedure, line");
    lines.push_back({cut(head, paper.width, paper.utf8), TopStyle::kHead});
    for (const TopRow& row : table.rows) {
        std::string text;
        for (const Column& column : columns) {
            text += pad_left(figure_text(column, row.figures, table.whole_ns, paper.utf8),
                             column.width);
        }
        const bool alarm = any_raised(alarms, row.figures, table.whole_ns);
        text += alarm ? "! " : "  ";
        const int indent = std::min(row.depth, std::max(0, (paper.width - 40) / 2));
        text += std::string(static_cast<size_t>(indent), ' ');
        if (!choice.lines) text += row.is_folded ? "+ " : row.has_more ? "- " : "  ";
        const int room = paper.width - display_width(text);
        const std::string name = printable(row.name, paper.utf8);
        const std::string place = printable(row.place, paper.utf8);
        const std::string mark = row.is_estimated ? "~ " : "";
        const int left = room - display_width(place) - 1 - display_width(mark);
        const bool fits = left >= display_width(name) || (room >= kLeastName && left >= 8);
        if (!place.empty() && fits) {
            text += mark + cut(name, left, paper.utf8) + " " + place;
        } else {
            text += cut(mark + name, std::max(room, 0), paper.utf8);
        }
        const TopStyle style = alarm             ? TopStyle::kAlarm
                               : row.only_around ? TopStyle::kDim
                                                 : TopStyle::kPlain;
        lines.push_back({cut(text, paper.width, paper.utf8), style});
    }
    if (table.rows.empty()) {
        lines.push_back({cut("(nothing matches)", paper.width, paper.utf8), TopStyle::kDim});
    }
    return lines;
}

std::vector<TopLine> rank_lines(const LiveSnapshot& snapshot, const TopPaper& paper) {
    std::vector<TopLine> lines;
    struct Part {
        const char* title;
        uint64_t TimeSums::*value;
    };
    const Part parts[] = {
        {"comput", &TimeSums::computation_ns}, {"transf", &TimeSums::transfer_ns},
        {"wait", &TimeSums::blocked_ns},       {"omp wait", &TimeSums::omp_wait_ns},
        {"idle", &TimeSums::omp_idle_ns},      {"I/O", &TimeSums::io_ns}};
    std::string head = pad_left("rank", 6) + pad_left("time", 10);
    for (const Part& part : parts) head += pad_left(part.title, 9);
    lines.push_back({cut(head + "  state", paper.width, paper.utf8), TopStyle::kHead});
    for (const LiveRank& rank : snapshot.ranks) {
        const auto total_ns = static_cast<double>(rank.sums.total_ns);
        std::string text =
            pad_left(std::to_string(rank.rank), 6) + pad_left(time_text(total_ns, paper.utf8), 10);
        for (const Part& part : parts) {
            const auto value = static_cast<double>(rank.sums.*part.value);
            text += pad_left(value == 0 ? "" : share_text(value, total_ns), 9);
        }
        text += rank.is_gone ? "  ended" : "  runs";
        lines.push_back({cut(text, paper.width, paper.utf8), TopStyle::kPlain});
    }
    return lines;
}

std::vector<TopLine> wait_lines(const LiveSnapshot& snapshot, const TopPaper& paper) {
    std::vector<TopLine> lines;
    struct Group {
        std::set<uint32_t> ranks;
        int64_t since_ns = INT64_MAX;
    };
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (const Position& position : snapshot.positions.threads) {
        if (!position.is_in_call || position.path.empty() || position.state == '\0') continue;
        Group& group = groups[{position.path.back(), position.partner}];
        group.ranks.insert(position.rank);
        group.since_ns = std::min(group.since_ns, position.since_unix_ns);
    }
    std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(),
                                                                              groups.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return a.second.since_ns < b.second.since_ns;
    });
    for (size_t i = 0; i < sorted.size(); ++i) {
        if (i == kWaitLines) {
            lines.push_back(
                {cut(fmt::format("and {} more", sorted.size() - i), paper.width, paper.utf8),
                 TopStyle::kDim});
            break;
        }
        const auto& [place, group] = sorted[i];
        const int64_t open_ns = std::max<int64_t>(snapshot.unix_ns - group.since_ns, 0);
        std::string text = fmt::format("{} in {} for {}", ranks_text(group.ranks), place.first,
                                       time_text(static_cast<double>(open_ns), paper.utf8));
        if (!place.second.empty()) text += ": " + place.second;
        lines.push_back(
            {cut(printable(text, paper.utf8), paper.width, paper.utf8), TopStyle::kPlain});
    }
    return lines;
}

}  // namespace dwell
