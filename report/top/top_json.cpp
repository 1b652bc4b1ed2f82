// Writes a reading as JSON; see top_json.h.
#include "report/top/top_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "summarize/formats/json_fields.h"
#include "summarize/merge/figures.h"

namespace dwell {
namespace {

using Json = nlohmann::ordered_json;

// Figures that only whole readings know are left out.
bool is_live(const Figure& figure) {
    return figure.value != &Totals::untimed && figure.value != &Totals::off_entries &&
           figure.value != &Totals::off_uncertain && figure.value != &Totals::off_error &&
           figure.value != &Totals::estimated_ns;
}

Json labels_of(uint32_t labels) {
    Json names = Json::array();
    for (const BitName& known : kLabelNames) {
        if ((labels & known.bit) != 0) names.push_back(known.name);
    }
    return names;
}

// Zeros are left out, as in the rows of profile.json.
Json node_json(const LiveSnapshot& snapshot, const TopModel& model, uint32_t index, bool rates) {
    const ProfileNode& node = snapshot.profile->nodes[index];
    const LiveNode& now = snapshot.nodes[index];
    const LiveNode* const before = rates ? model.before(now.id) : nullptr;
    Json json = {{"node", index}};
    json["parent"] = node.parent == kNoNode ? Json(nullptr) : Json(node.parent);
    json["kind"] = kKindNames[static_cast<size_t>(node.kind)];
    json["name"] = node.name;
    json["file"] = node.file;
    json["line"] = node.line;
    if (node.labels != 0) json["labels"] = labels_of(node.labels);
    for (const Figure& figure : kFigures) {
        if (!is_live(figure)) continue;
        uint64_t value = now.totals.*figure.value;
        // Of a single rank the shortest call is not kept, of an interval neither.
        const bool is_known = snapshot.is_final || (!rates && snapshot.rank == kAllRanks);
        if (figure.combine != Combine::kSum && !is_known) continue;
        if (before != nullptr) value = less_by(value, before->totals.*figure.value);
        const bool none = figure.combine == Combine::kLeast ? value == UINT64_MAX : value == 0;
        if (!none) json[figure.name] = value;
    }
    uint64_t computation_ns = now.computation_ns;
    if (before != nullptr) computation_ns = less_by(computation_ns, before->computation_ns);
    if (computation_ns != 0) json["computation_ns"] = computation_ns;
    if (now.open_ns != 0) json["open_ns"] = now.open_ns;
    return json;
}

Json rank_json(const LiveRank& rank, bool with_sums) {
    Json json = {{"rank", rank.rank}, {"pid", rank.pid}, {"host", rank.host}};
    json["state"] = kStateNames[std::min(static_cast<size_t>(rank.state), kStateNames.size() - 1)];
    json["gone"] = rank.is_gone;
    if (!with_sums) return json;
    for (const TimeSum& sum : kTimeSums) json[sum.name] = rank.sums.*sum.value;
    return json;
}

Json position_json(const Position& position, int64_t now_ns) {
    Json json = {{"rank", position.rank}, {"thread", position.thread}};
    json["path"] = position.path;
    json["for_ns"] = std::max<int64_t>(now_ns - position.since_unix_ns, 0);
    if (!position.partner.empty()) json["partner"] = position.partner;
    if (!position.waits.ranks.empty()) {
        json["waits_for"] = position.waits.ranks;
        json["any"] = position.waits.needs == Needs::kAny;
    }
    return json;
}

}  // namespace

std::string top_json(const LiveSnapshot& snapshot, const TopModel& model, const TopChoice& choice,
                     const std::vector<TopAlarm>& alarms, bool with_ranks) {
    const Profile& profile = *snapshot.profile;
    const TopTable table = model.table(choice);
    const bool rates = choice.rates && model.has_rates();
    Json json = {{"dwell_top", 1}, {"unix_ns", snapshot.unix_ns}, {"job", profile.job}};
    json["program"] = profile.nodes.empty() ? "" : profile.nodes[0].name;
    json["world_size"] = profile.world_size;
    json["state"] = !snapshot.is_final ? "running" : snapshot.ended_well ? "finalized" : "died";
    json["final"] = snapshot.is_final;
    json["rates"] = rates;
    json["interval_ns"] = model.interval_ns();
    json["rank"] = snapshot.rank == kAllRanks ? Json(nullptr) : Json(snapshot.rank);
    json["resets"] = snapshot.resets;
    json["new_tree"] = snapshot.is_new_tree;
    json["new_paths"] = snapshot.has_new_paths;
    json["unreadable_files"] = snapshot.left_out;
    for (const TimeSum& sum : kTimeSums) json[sum.name] = snapshot.sums.*sum.value;
    json["open_ns"] = snapshot.nodes.empty() ? 0 : snapshot.nodes[0].open_ns;
    Json nodes = Json::array();
    for (const TopRow& row : table.rows) {
        nodes.push_back(node_json(snapshot, model, row.node, rates));
        if (row.callee != kNoNode) {
            nodes.push_back(node_json(snapshot, model, row.callee, rates));
        }
    }
    json["nodes"] = std::move(nodes);
    Json ranks = Json::array();
    for (const LiveRank& rank : snapshot.ranks) ranks.push_back(rank_json(rank, with_ranks));
    json["ranks"] = std::move(ranks);
    Json calls = Json::array();
    for (const Position& position : snapshot.positions.threads) {
        if (position.is_in_call && position.state != '\0')
            calls.push_back(position_json(position, snapshot.unix_ns));
    }
    json["open_calls"] = std::move(calls);
    Json raised = Json::array();
    for (const TopAlarm& alarm : alarms) {
        raised.push_back({{"alarm", alarm.text},
                          {"percent", alarm_share(alarm, table.job, table.whole_ns)},
                          {"raised", is_raised(alarm, table.job, table.whole_ns)}});
    }
    json["alarms"] = std::move(raised);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dwell
