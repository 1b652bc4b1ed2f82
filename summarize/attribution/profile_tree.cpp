// Builds the tree of a profile; see profile_tree.h. A parent's index is always smaller than its
// children's.
#include "summarize/attribution/profile_tree.h"

#include <algorithm>

#include "summarize/model/statement_names.h"

namespace dwell {
size_t ProfileTree::KeyHash::operator()(const Key& key) const {
    uint64_t hash = 0;
    for (const uint32_t part : key) {
        hash = (hash ^ part) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return hash;
}

uint32_t ProfileTree::child(const Key& key, bool* is_new) {
    const auto [entry, added] =
        children_.try_emplace(key, static_cast<uint32_t>(profile_->nodes.size()));
    *is_new = added;
    if (added) {
        ProfileNode node;
        node.parent = key[0];
        profile_->nodes.push_back(std::move(node));
        profile_->nodes[key[0]].children.push_back(entry->second);
    }
    return entry->second;
}

uint32_t ProfileTree::procedure_under(uint32_t parent, uint32_t number, bool inlined) {
    if (paths_->procedure(number).name.empty()) return parent;  // of an imported trace
    bool is_new = false;
    const uint32_t index =
        child({parent, static_cast<uint32_t>(SiteKind::kProcedure), number, 0}, &is_new);
    if (!is_new) return index;
    const Procedure& procedure = paths_->procedure(number);
    ProfileNode& node = profile_->nodes[index];
    node.kind = SiteKind::kProcedure;
    node.name = procedure.name;
    node.file = procedure.file;
    node.line = procedure.line;
    node.module = procedure.module;
    node.labels = procedure.labels | (inlined ? uint32_t{kLabelInlined} : 0);
    return index;
}

uint32_t ProfileTree::call_under(uint32_t parent, uint32_t number, uint32_t callee) {
    bool is_new = false;
    const uint32_t index =
        child({parent, static_cast<uint32_t>(SiteKind::kCall), number, callee}, &is_new);
    if (!is_new) return index;
    const Statement& statement = paths_->statement(number);
    ProfileNode& node = profile_->nodes[index];
    node.kind = SiteKind::kCall;
    if (callee != kNoNode) node.name = paths_->procedure(callee).name;
    node.file = statement.file;
    node.line = statement.line;
    node.module = statement.module;
    node.labels = statement.labels;
    return index;
}

uint32_t ProfileTree::statement_under(uint32_t parent, uint32_t number, SiteKind kind,
                                      uint16_t call) {
    bool is_new = false;
    const uint32_t function = static_cast<uint32_t>(kind) | uint32_t{call} << 8;
    const uint32_t index = child({parent, function, number, 0}, &is_new);
    if (!is_new) return index;
    ProfileNode& node = profile_->nodes[index];
    node.kind = kind;
    node.call = call;
    node.name = statement_name(kind, call);
    if (node.name.empty()) node.name = kind == SiteKind::kIo ? "I/O" : "MPI";
    if (number == kNoNode) {
        node.labels = kLabelNoLine;
        return index;
    }
    const Statement& statement = paths_->statement(number);
    node.file = statement.file;
    node.line = statement.line;
    node.module = statement.module;
    node.labels = statement.labels;
    return index;
}

uint32_t ProfileTree::region_under(uint32_t parent, uint32_t number) {
    const Region& region = paths_->region(number);
    bool is_new = false;
    const uint32_t index = child({parent, static_cast<uint32_t>(region.kind), number, 0}, &is_new);
    if (!is_new) return index;
    ProfileNode& node = profile_->nodes[index];
    node.kind = region.kind;
    node.name = region.name;
    node.file = region.file;
    node.line = region.line;
    node.module = region.module;
    node.labels = region.labels;
    node.call = region.call;
    return index;
}

uint32_t ProfileTree::add(uint32_t merged_node) {
    const uint16_t call = merged_.nodes[merged_node].call;
    const auto kind = static_cast<SiteKind>(merged_.nodes[merged_node].kind);
    const std::vector<Step> steps = paths_->path_to(merged_node);
    std::vector<PlacedStep> placed;
    uint32_t node = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        if (step.kind == SiteKind::kSample) break;  // a line of the enclosing procedure
        const bool is_statement =
            step.kind == SiteKind::kCommunication || step.kind == SiteKind::kIo;
        if (is_statement || step.kind == SiteKind::kCall) {
            const Step* const next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
            const bool enters = next != nullptr && next->kind == SiteKind::kProcedure;
            node = step.kind == SiteKind::kCall
                       ? call_under(node, step.number, enters ? next->number : kNoNode)
                       : statement_under(node, step.number, kind, call);
            placed.back().depth = step.depth;
        } else {
            const bool procedure = step.kind == SiteKind::kProcedure;
            node = procedure ? procedure_under(node, step.number, step.inlined)
                             : region_under(node, step.number);
            if (!placed.empty() && placed.back().next == kNoNode) placed.back().next = node;
            placed.push_back({node, kNoNode, procedure ? step.number : kNoNode, step.depth,
                              step.depth, step.inlined, step.probed});
            continue;
        }
        placed.back().next = node;
    }
    Place& place = places_[merged_node];
    const bool communicates = kind == SiteKind::kCommunication;
    const bool has_place = !steps.empty() || !(communicates || kind == SiteKind::kIo);
    place.leaf = has_place ? node : statement_under(0, kNoNode, kind, call);
    if (communicates) place.steps = std::move(placed);  // intervals lie between communication
    if (kind == SiteKind::kProcedure && !is_part(merged_node)) {
        whole_.emplace(merged_.nodes[merged_node].parent, place.leaf);
    }
    return place.leaf;
}

bool ProfileTree::is_part(uint32_t merged_node) const {
    const MergedNode& node = merged_.nodes[merged_node];
    if (node.kind != static_cast<uint8_t>(SiteKind::kProcedure)) return false;
    const std::string& symbol = paths_->probe_sites()->site_of(node).source.symbol;
    return symbol.find(".part.") != std::string::npos;
}

Totals ProfileTree::figures_of(uint32_t merged_node, const Totals& totals) const {
    Totals figures = totals;
    // The part that GCC split off a procedure, which jumps to it: one call enters both.
    if (is_part(merged_node) && has_whole(merged_node)) figures.count = figures.untimed = 0;
    return figures;
}

bool ProfileTree::has_whole(uint32_t merged_node) const {
    return whole_.count({merged_.nodes[merged_node].parent, leaf_of(merged_node)}) != 0;
}

// Calls that return before the split-off part are not counted anywhere.
bool ProfileTree::is_partly_counted(uint32_t merged_node) const {
    return is_part(merged_node) && !has_whole(merged_node);
}

uint32_t ProfileTree::leaf_of(uint32_t merged_node) const {
    return merged_node < places_.size() ? places_[merged_node].leaf : kNoNode;
}

}  // namespace dwell
