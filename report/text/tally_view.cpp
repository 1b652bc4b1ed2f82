// Writes the tables of tally, as AIMS names them: with tabs between the fields, or in columns.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "report/figures/tally.h"
#include "report/text/views.h"

namespace dwell {
namespace {

constexpr size_t kNameColumns = 16;  // columns for a name

using Row = std::vector<std::string>;
struct Table {
    std::string title;
    std::vector<Row> rows;  // the first one holds the heads
    size_t names = 0;       // the column of names
};

double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_times(const TallyTimes& times, Row* row) {
    for (const uint64_t ns :
         {times.busy_ns, times.global_ns, times.send_ns, times.receive_ns, life_ns(times)}) {
        row->push_back(fmt::format("{:.3f}", static_cast<double>(ns) * 1e-9));
    }
    row->push_back(fmt::format("{:.3f}", 100 * share(blocking_ns(times), life_ns(times))));
}

// AIMS's, or short ones for a screen.
Row heads(std::initializer_list<const char*> first, bool tabs) {
    Row row(first.begin(), first.end());
    const std::initializer_list<const char*> whole = {
        "Busy Time", "Global Blocking", "Send Blocking", "Recv Blocking", "Life Time", "% Comm"};
    const std::initializer_list<const char*> brief = {"Busy", "Global", "Send",
                                                      "Recv", "Life",   "% Comm"};
    for (const char* head : tabs ? whole : brief) row.push_back(head);
    return row;
}

std::string name_of(const TallyRoutine& routine, bool utf8) {
    return printable(short_name(routine.name, utf8), utf8);
}

Table routine_table(const Tally& tally, bool tabs, bool utf8) {
    Table table{"ROUTINE SUMMARY", {heads({"", "Routine"}, tabs)}, 1};
    table.rows[0].push_back(tabs ? "Commn Index" : "Index");
    for (const TallyRoutine& routine : tally.routines) {
        Row row = {std::to_string(table.rows.size()), name_of(routine, utf8)};
        add_times(routine.times, &row);
        row.push_back(fmt::format("{:.3f}", share(blocking_ns(routine.times), tally.life_ns)));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table node_table(const std::string& title, const std::map<uint32_t, TallyTimes>& ranks, bool tabs) {
    Table table{title, {heads({"Node"}, tabs)}, 0};
    for (const auto& [rank, times] : ranks) {
        Row row = {std::to_string(rank)};
        add_times(times, &row);
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::vector<Table> tables_of(const Tally& tally, bool tabs, bool utf8) {
    std::vector<Table> tables = {routine_table(tally, tabs, utf8)};
    if (tally.ranks.empty()) return tables;
    tables.push_back(node_table("NODE SUMMARY", tally.ranks, tabs));
    for (const TallyRoutine& routine : tally.routines) {
        if (blocking_ns(routine.times) == 0) continue;
        const std::string title = "STATISTICS FOR ROUTINE " + name_of(routine, utf8);
        tables.push_back(node_table(title, routine.ranks, tabs));
    }
    return tables;
}

// Tables with tabs, an empty line between them.
std::vector<Table> tables_in(const std::string& text, bool utf8) {
    std::vector<Table> tables;
    std::istringstream lines(text);
    bool begins = true;
    for (std::string line; std::getline(lines, line); begins = line.empty()) {
        if (line.empty()) continue;
        if (begins) {
            tables.push_back({printable(line, utf8), {}, 0});
            continue;
        }
        Row row;
        std::istringstream fields(line);
        for (std::string field; std::getline(fields, field, '\t');) {
            row.push_back(printable(field, utf8));
        }
        tables.back().rows.push_back(std::move(row));
    }
    std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
    return tables;
}

std::string with_tabs(const Table& table) {
    std::string text = table.title + "\n";
    for (const Row& row : table.rows) text += fmt::format("{}\n", fmt::join(row, "\t"));
    return text;
}

// Names are cut where a row has no room for them.
std::string in_columns(const Table& table, size_t width, bool utf8) {
    std::vector<size_t> widths(table.rows[0].size(), 0);
    size_t others = 0;
    for (const Row& row : table.rows) {
        for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const auto columns = static_cast<size_t>(display_width(row[i]));
            widths[i] = std::max(widths[i], columns);
        }
    }
    for (size_t i = 0; i < widths.size(); ++i) {
        if (i != table.names) others += widths[i] + 2;
    }
    size_t& name = widths[table.names];
    name = std::min(name, std::max(kNameColumns, width - std::min(width, others)));
    std::string text = table.title + "\n";
    for (const Row& row : table.rows) {
        std::string line;
        for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const int room = static_cast<int>(widths[i]);
            if (i != 0) line += "  ";
            line += i == table.names ? pad_right(cut_middle(row[i], room, utf8), room)
                                     : pad_left(row[i], room);
        }
        text += line + "\n";
    }
    return text;
}

}  // namespace

std::string write_tally(const Profile& profile, const std::string& sampled, bool tabs,
                        const TextOptions& options) {
    const Tally tally = tally_of(profile);
    std::vector<Table> tables = tables_of(tally, tabs, options.utf8);
    for (Table& table : tables_in(sampled, options.utf8)) tables.push_back(std::move(table));
    const auto width = static_cast<size_t>(options.width);
    std::string text;
    for (const Table& table : tables) {
        if (!text.empty()) text += "\n";
        text += tabs ? with_tabs(table) : in_columns(table, width, options.utf8);
    }
    if (tally.ranks.empty()) text += "\nThe profile holds no figures of single ranks.\n";
    return text;
}

}  // namespace dwell
