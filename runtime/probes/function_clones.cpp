// Finds clones of procedures and loops among the nodes of the tree.
#include "runtime/probes/function_clones.h"

#include <string_view>

#include "runtime/contract/clone_names.h"
#include "runtime/probes/probes.h"

namespace dwell {

namespace {

std::string_view text_of(const int32_t& field) {
    const char* text = row_text(&field);
    return text != nullptr ? text : "";
}

bool same_place(const SiteRow* a, const SiteRow* b) {
    return a->kind == b->kind && a->line == b->line && a->column == b->column &&
           a->end_line == b->end_line && text_of(a->file) == text_of(b->file);
}

bool are_clones(const SiteRow* a, const SiteRow* b) {
    return a != b && a->line != 0 && same_place(a, b) &&
           without_clone(text_of(a->name)) == without_clone(text_of(b->name));
}

// The row of `node`, computed from `row` of the same module, whose site is `site`.
const SiteRow* row_beside(const SiteRow* row, const Site& site, const Node* node) {
    const auto address = reinterpret_cast<uintptr_t>(row) + (node->site.offset - site.offset);
    return reinterpret_cast<const SiteRow*>(address);
}

bool is_beside(const Node* node, const Site& site) {
    return node->site.kind == site.kind && node->site.module == site.module &&
           (node->site.flags & kNodeCode) == 0;
}

}  // namespace

bool is_part_of(const SiteRow* row, const SiteRow* around) {
    constexpr std::string_view kPart = ".part.";
    if (text_of(row->name).find(kPart) == std::string_view::npos) return false;
    const SiteRow* whole = procedure_of(around);
    return are_clones(row, whole) && text_of(whole->name).find(kPart) == std::string_view::npos;
}

void join_clones(const SiteRow* row, CellIndex parent, Site* site) {
    if (site->module == 0) return;  // in no known module
    if (row->kind == SiteKind::kProcedure) {
        for (CellIndex at = parent; at != 0; at = cell_at<Node>(at)->parent) {
            const Node* node = cell_at<Node>(at);
            if (!is_beside(node, *site)) continue;
            if (node->site.offset == site->offset) return;
            if (!are_clones(row, row_beside(row, *site, node))) continue;
            site->offset = node->site.offset;
            return;
        }
        return;
    }
    for (CellIndex at = cell_at<Node>(parent)->first_child; at != 0;) {
        const Node* node = cell_at<Node>(at);
        at = node->next_sibling;
        if (!is_beside(node, *site)) continue;
        const SiteRow* other = row_beside(row, *site, node);
        if (!same_place(row, other) || !are_clones(procedure_of(row), procedure_of(other)))
            continue;
        site->offset = node->site.offset;
        return;
    }
}

}  // namespace dwell
