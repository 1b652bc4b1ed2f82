// Resolves nodes to places; see event_place.h.
#include "report/filter/event_place.h"

#include <fnmatch.h>

#include <algorithm>

#include "report/figures/names.h"
#include "summarize/merge/merged.h"
#include "summarize/model/statement_names.h"

namespace dwell {

EventPlace place_of_node(const Merged& merged, CallPaths* paths, uint32_t node) {
    const MergedNode& of = merged.nodes[node];
    EventPlace place;
    place.kind = static_cast<SiteKind>(of.kind);
    place.call = of.call;
    const std::vector<Step>& path = paths->path_to(node);
    if (place.kind == SiteKind::kCommunication || place.kind == SiteKind::kIo)
        place.name = statement_name(place.kind, of.call);
    if (path.empty()) return place;
    const Step& step = path.back();
    if (step.number == kNoNode) return place;
    if (step.kind == SiteKind::kProcedure) {
        const Procedure& procedure = paths->procedure(step.number);
        place.name = procedure.name;
        place.file = procedure.file;
        place.line = procedure.line;
    } else if (step.kind == SiteKind::kCommunication || step.kind == SiteKind::kIo) {
        const Statement& statement = paths->statement(step.number);
        place.file = statement.file;
        place.line = statement.line;
    } else if (step.kind != SiteKind::kCall && step.kind != SiteKind::kSample) {
        const Region& region = paths->region(step.number);
        place.name = region.name;
        place.file = region.file;
        place.line = region.line;
    }
    if (!place.file.empty()) place.where = place_text(place.file, place.line);
    return place;
}

uint32_t EventPlaces::number_of(EventPlace place) {
    const auto [known, is_new] =
        numbers_.emplace(std::tuple(place.kind, place.call, place.name, place.file, place.line),
                         static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(std::move(place));
    return known->second;
}

// From a copy: the process goes on.
void EventPlaces::find(std::string_view records, const std::vector<CellIndex>& nodes,
                       Known* known) {
    const std::string copy(records);
    Merged merged;
    GrowArray<NodeCell> cells;
    std::unordered_map<CellIndex, uint32_t> merged_nodes;
    if (add_record_file(&merged, copy.data(), copy.size(), 0, &cells)) {
        for (const NodeCell& cell : cells) merged_nodes[cell.cell] = cell.node;
    }
    CallPaths paths(merged, lines_.of(merged));
    for (const CellIndex node : nodes) {
        if (known->count(node) != 0) continue;
        const auto found = merged_nodes.find(node);
        (*known)[node] = number_of(found == merged_nodes.end() || found->second == kNoNode
                                       ? EventPlace{}
                                       : place_of_node(merged, &paths, found->second));
    }
}

bool is_place(const EventPlace& place, const std::string& pattern) {
    const std::string brief = short_name(place.name, true);
    const std::string last = brief.substr(std::min(brief.rfind(':') + 1, brief.size()));
    for (const std::string& text : {place.name, brief, last, place.where}) {
        if (fnmatch(pattern.c_str(), text.c_str(), 0) == 0) return true;
    }
    return false;
}

}  // namespace dwell
