// Chooses, sums up and sorts rows; see top_rows.h.
#include "report/top/top_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <utility>

#include "report/console/cli.h"
#include "report/figures/names.h"
#include "summarize/model/profile_walk.h"
#include "summarize/model/source_paths.h"

namespace dwell {
namespace {

constexpr uint64_t kSmallPart = 2000;  // of the whole time: shown as 0.0 %
static_assert(std::size(kTopColumnWords) == kTopFigures + 1);

uint64_t& at(RowFigures* figures, TopColumn column) {
    return (*figures)[static_cast<size_t>(column)];
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::string place_of(const ProfileNode& node) {
    if (node.kind == SiteKind::kProgram) return "";
    if (node.file.empty()) return std::string(base_name(node.module));
    const std::string name(base_name(node.file));
    return node.line == 0 ? name : fmt::format("{}:{}", name, node.line);
}

std::string name_of(const ProfileNode& node) {
    if (node.kind == SiteKind::kCall && node.name.empty()) return "(call)";
    const bool procedure = node.kind == SiteKind::kProcedure || node.kind == SiteKind::kCall;
    return procedure ? short_name(node.name, true) : node.name;
}

bool passes(const TopRow& row, const std::string& filter) {
    return filter.empty() || lower(row.name + " " + row.place).find(filter) != std::string::npos;
}

// Rows by a column, largest first; equal ones stay in their order.
template <typename Rows>
void sort_rows(TopColumn column, Rows* rows) {
    std::stable_sort(rows->begin(), rows->end(), [column](const TopRow& a, const TopRow& b) {
        if (column == TopColumn::kName)
            return std::tie(a.name, a.place) < std::tie(b.name, b.place);
        const auto key = [column](const TopRow& row) {
            return std::pair(figure(row.figures, column), figure(row.figures, TopColumn::kTime));
        };
        return key(a) > key(b);
    });
}

}  // namespace

const char* column_word(TopColumn column) { return kTopColumnWords[static_cast<size_t>(column)]; }

std::optional<TopColumn> column_of_word(const std::string& word) {
    for (size_t i = 0; i < std::size(kTopColumnWords); ++i) {
        if (word == kTopColumnWords[i]) return static_cast<TopColumn>(i);
    }
    return std::nullopt;
}

void TopModel::take(const LiveSnapshot& snapshot) {
    const bool is_old = now_.unix_ns == snapshot.figures_unix_ns && now_.rank == snapshot.rank;
    if (is_old) return;
    before_ = std::move(now_);
    now_ = Taken{};
    now_.unix_ns = snapshot.figures_unix_ns;
    now_.resets = snapshot.resets;
    now_.rank = snapshot.rank;
    now_.nodes = snapshot.nodes;
    snapshot_ = &snapshot;
    const bool goes_on = before_.unix_ns != 0 && before_.unix_ns < now_.unix_ns &&
                         before_.resets == now_.resets && before_.rank == now_.rank;
    interval_ns_ = goes_on ? static_cast<uint64_t>(now_.unix_ns - before_.unix_ns) : 0;
    place_before_.clear();
    for (size_t i = 0; goes_on && i < before_.nodes.size(); ++i) {
        const uint32_t id = before_.nodes[i].id;
        if (id >= place_before_.size()) place_before_.resize(id + size_t{1}, kNoNode);
        place_before_[id] = static_cast<uint32_t>(i);
    }
    add_figures();
}

const LiveNode* TopModel::before(uint32_t id) const {
    const bool known = id < place_before_.size() && place_before_[id] != kNoNode;
    return known ? &before_.nodes[place_before_[id]] : nullptr;
}

// Children follow their parents, so one pass from the end adds up the whole tree.
void TopModel::add_figures() {
    const std::vector<ProfileNode>& nodes = snapshot_->profile->nodes;
    std::vector<RowFigures>& own_of = now_.own;
    std::vector<RowFigures>& inclusive_of = now_.inclusive;
    own_of.assign(nodes.size(), RowFigures{});
    inclusive_of.assign(nodes.size(), RowFigures{});
    std::vector<Totals> children(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
        const ProfileNode& node = nodes[i];
        const Totals& totals = snapshot_->nodes[i].totals;
        RowFigures& own = own_of[i];
        at(&own, TopColumn::kCalls) = totals.count;
        const uint64_t time_ns = totals.time_ns;
        if (is_communication(node)) {
            const uint64_t blocked_ns = std::min(totals.blocked_ns, time_ns);
            at(&own, TopColumn::kWait) = blocked_ns;
            at(&own, TopColumn::kTransfer) = time_ns - blocked_ns;
        } else if (is_io(node)) {
            at(&own, TopColumn::kIo) = time_ns;
        } else {
            const uint64_t omp_wait_ns = less_by(totals.omp_wait_ns, children[i].omp_wait_ns);
            const uint64_t omp_idle_ns = less_by(totals.omp_idle_ns, children[i].omp_idle_ns);
            const uint64_t own_ns = snapshot_->nodes[i].computation_ns;
            at(&own, TopColumn::kOmpWait) = omp_wait_ns;
            at(&own, TopColumn::kOmpIdle) = omp_idle_ns;
            at(&own, TopColumn::kSelf) = less_by(own_ns, omp_wait_ns + omp_idle_ns);
            at(&own, TopColumn::kComputation) = at(&own, TopColumn::kSelf);
        }
        at(&own, TopColumn::kTime) = at(&own, TopColumn::kSelf) + at(&own, TopColumn::kOmpWait) +
                                     at(&own, TopColumn::kOmpIdle) +
                                     (is_statement(node) ? time_ns : 0);
        // Bytes that files got are not sent to anybody, but a row of I/O shows them.
        if (is_statement(node)) {
            at(&own, TopColumn::kSent) = totals.bytes_sent;
            at(&own, TopColumn::kReceived) = totals.bytes_received;
        }
        RowFigures& all = inclusive_of[i];
        for (size_t k = 0; k < kTopFigures; ++k) all[k] += own[k];
        at(&all, TopColumn::kTime) = time_ns;
        at(&all, TopColumn::kSelf) = at(&own, TopColumn::kSelf);
        at(&all, TopColumn::kCalls) = totals.count;
        at(&all, TopColumn::kOpen) = snapshot_->nodes[i].open_ns;
        if (i == 0) break;
        RowFigures& parent = inclusive_of[node.parent];
        for (const TopColumn column :
             {TopColumn::kComputation, TopColumn::kTransfer, TopColumn::kWait, TopColumn::kOmpWait,
              TopColumn::kOmpIdle, TopColumn::kIo}) {
            at(&parent, column) += figure(all, column);
        }
        if (!is_io(node)) {
            at(&parent, TopColumn::kSent) += figure(all, TopColumn::kSent);
            at(&parent, TopColumn::kReceived) += figure(all, TopColumn::kReceived);
        }
        children[node.parent].omp_wait_ns += totals.omp_wait_ns;
        children[node.parent].omp_idle_ns += totals.omp_idle_ns;
    }
    // What is open of a node itself is open of no child.
    for (size_t i = 0; i < nodes.size(); ++i) {
        uint64_t open_ns = snapshot_->nodes[i].open_ns;
        for (const uint32_t child : nodes[i].children) {
            open_ns = less_by(open_ns, snapshot_->nodes[child].open_ns);
        }
        at(&own_of[i], TopColumn::kOpen) = open_ns;
    }
    const TimeSums& sums = snapshot_->sums;
    RowFigures& job = now_.job;
    job = inclusive_of.empty() ? RowFigures{} : inclusive_of[0];
    at(&job, TopColumn::kTime) = sums.total_ns;
    at(&job, TopColumn::kComputation) = sums.computation_ns;
    at(&job, TopColumn::kTransfer) = sums.transfer_ns;
    at(&job, TopColumn::kWait) = sums.blocked_ns;
    at(&job, TopColumn::kOmpWait) = sums.omp_wait_ns;
    at(&job, TopColumn::kOmpIdle) = sums.omp_idle_ns;
    at(&job, TopColumn::kIo) = sums.io_ns;
}

namespace {

// Open times are shown as they are now.
RowFigures since_before(const RowFigures& now, const RowFigures& before) {
    RowFigures figures;
    for (size_t k = 0; k < kTopFigures; ++k) {
        const bool open = static_cast<TopColumn>(k) == TopColumn::kOpen;
        figures[k] = open ? now[k] : less_by(now[k], before[k]);
    }
    return figures;
}

}  // namespace

TopTable TopModel::table(const TopChoice& given) const {
    TopTable table;
    TopChoice choice = given;
    choice.filter = lower(given.filter);
    choice.rates = given.rates && has_rates();
    table.interval_ns = interval_ns_;
    table.ranks = snapshot_->ranks.size();
    table.job = choice.rates ? since_before(now_.job, before_.job) : now_.job;
    // Threads live through the whole interval, whether calls end in it or not.
    const auto lived = [](const RowFigures& job) {
        return figure(job, TopColumn::kTime) + figure(job, TopColumn::kOpen);
    };
    table.whole_ns = choice.rates ? less_by(lived(now_.job), lived(before_.job)) : lived(now_.job);
    // What was not recorded in the interval is open; rows show theirs as it is now.
    if (choice.rates) {
        at(&table.job, TopColumn::kOpen) =
            less_by(table.whole_ns, figure(table.job, TopColumn::kTime));
    }
    // A call that ends is recorded whole, with its time before the interval.
    table.whole_ns = std::max(table.whole_ns, figure(table.job, TopColumn::kTime));
    if (choice.lines) {
        add_line_rows(choice, &table);
    } else {
        add_tree_rows(choice, &table);
    }
    return table;
}

namespace {

uint32_t entered_by(const std::vector<ProfileNode>& nodes, uint32_t call) {
    if (nodes[call].kind != SiteKind::kCall || nodes[call].children.size() != 1) return kNoNode;
    const uint32_t callee = nodes[call].children[0];
    return nodes[callee].kind == SiteKind::kProcedure ? callee : kNoNode;
}

}  // namespace

TopRow TopModel::row_of(uint32_t index, bool whole, bool rates) const {
    const std::vector<ProfileNode>& nodes = snapshot_->profile->nodes;
    const ProfileNode& node = nodes[index];
    TopRow row;
    row.node = index;
    row.id = now_.nodes[index].id;
    row.name = name_of(node);
    row.place = place_of(node);
    row.is_estimated = (node.labels & kLabelEstimated) != 0;
    row.figures = (whole ? now_.inclusive : now_.own)[index];
    if (rates && before(row.id) != nullptr) {
        const uint32_t earlier = place_before_[row.id];
        row.figures = since_before(row.figures, (whole ? before_.inclusive : before_.own)[earlier]);
    }
    return row;
}

void TopModel::add_tree_rows(const TopChoice& choice, TopTable* table) const {
    const std::vector<ProfileNode>& nodes = snapshot_->profile->nodes;
    // Adds the rows of `node` and below it at the end; returns whether any passed the filter.
    const std::function<bool(uint32_t, int)> add = [&](uint32_t node, int depth) {
        const size_t first = table->rows.size();
        TopRow row = row_of(node, true, choice.rates);
        row.depth = depth;
        const uint32_t callee = row.callee = entered_by(nodes, node);
        const uint32_t inner = callee == kNoNode ? node : callee;
        if (callee != kNoNode) {
            const TopRow entered = row_of(callee, true, choice.rates);
            at(&row.figures, TopColumn::kSelf) = figure(entered.figures, TopColumn::kSelf);
        }
        row.has_more = !nodes[inner].children.empty();
        const uint64_t time_ns =
            figure(row.figures, TopColumn::kTime) + figure(row.figures, TopColumn::kOpen);
        const bool small = choice.folds_small && time_ns < table->whole_ns / kSmallPart;
        const bool deep = choice.depth != 0 && depth + 1 >= choice.depth;
        // A filter looks into everything.
        const bool folds = choice.filter.empty() && (small || deep);
        row.is_folded = row.has_more && folds != (choice.turned.count(row.id) != 0);
        const bool fits = passes(row, choice.filter);
        const bool folded = row.is_folded;
        table->rows.push_back(row);
        bool any = fits;
        if (!folded) {
            std::vector<TopRow> children;
            for (const uint32_t child : nodes[inner].children) {
                children.push_back(row_of(child, true, choice.rates));
            }
            sort_rows(choice.sort, &children);
            for (const TopRow& child : children) any = add(child.node, depth + 1) || any;
        }
        if (!any) table->rows.resize(first);
        if (any && !fits) table->rows[first].only_around = true;
        return any;
    };
    if (!nodes.empty()) add(0, 0);
}

// A line over all paths that lead to it.
void TopModel::add_line_rows(const TopChoice& choice, TopTable* table) const {
    const std::vector<ProfileNode>& nodes = snapshot_->profile->nodes;
    std::map<std::tuple<SiteKind, std::string, std::string, int, std::string>, size_t> known;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        const ProfileNode& node = nodes[i];
        TopRow row = row_of(i, false, choice.rates);
        const bool any = std::any_of(row.figures.begin(), row.figures.end(),
                                     [](uint64_t value) { return value != 0; });
        if (node.kind == SiteKind::kCall || !any) continue;
        const auto [entry, is_new] = known.try_emplace(
            {node.kind, node.name, node.file, node.line, node.module}, table->rows.size());
        if (is_new) {
            table->rows.push_back(std::move(row));
            continue;
        }
        TopRow& sum = table->rows[entry->second];
        sum.is_estimated = sum.is_estimated || row.is_estimated;
        for (size_t k = 0; k < kTopFigures; ++k) sum.figures[k] += row.figures[k];
    }
    std::vector<TopRow>& rows = table->rows;
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const TopRow& row) { return !passes(row, choice.filter); }),
               rows.end());
    sort_rows(choice.sort, &rows);
}

std::optional<TopAlarm> parse_alarm(const std::string& text) {
    const size_t sign = text.find_first_of("<>");
    if (sign == std::string::npos) return std::nullopt;
    const auto stripped = [](std::string part) {
        part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
        return part;
    };
    TopAlarm alarm;
    alarm.text = stripped(text);
    alarm.above = text[sign] == '>';
    const std::optional<TopColumn> column = column_of_word(stripped(text.substr(0, sign)));
    std::string value = stripped(text.substr(sign + 1));
    if (value.ends_with('%')) value.pop_back();
    char* end = nullptr;
    alarm.percent = std::strtod(value.c_str(), &end);
    const bool is_number = !value.empty() && *end == '\0' && alarm.percent >= 0 &&
                           alarm.percent <= 1e6 &&
                           std::isdigit(static_cast<unsigned char>(value[0])) != 0;
    const bool is_part = column == TopColumn::kComputation || column == TopColumn::kTransfer ||
                         column == TopColumn::kWait || column == TopColumn::kOmpWait ||
                         column == TopColumn::kOmpIdle || column == TopColumn::kIo ||
                         column == TopColumn::kOpen;
    if (!is_number || !is_part) return std::nullopt;
    alarm.column = *column;
    return alarm;
}

double alarm_share(const TopAlarm& alarm, const RowFigures& figures, uint64_t whole_ns) {
    if (whole_ns == 0) return 0;
    return 100.0 * static_cast<double>(figure(figures, alarm.column)) /
           static_cast<double>(whole_ns);
}

bool is_raised(const TopAlarm& alarm, const RowFigures& figures, uint64_t whole_ns) {
    if (whole_ns == 0) return false;
    const double percent = alarm_share(alarm, figures, whole_ns);
    return alarm.above ? percent > alarm.percent : percent < alarm.percent;
}

}  // namespace dwell
