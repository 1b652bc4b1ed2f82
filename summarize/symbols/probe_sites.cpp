// Describes the sites of probes, from static tables or debug information; see probe_sites.h.
#include "summarize/symbols/probe_sites.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "summarize/code/symbol_names.h"
#include "summarize/model/source_paths.h"

namespace dwell {
namespace {

std::string hex(uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, number);
    return text;
}

}  // namespace

ProbeSites::ProbeSites(const Merged& merged, LineResolver* lines)
    : merged_(merged), lines_(lines), tables_(merged.modules.size()) {}

const SiteTable& ProbeSites::table_of(uint32_t module) {
    if (!tables_[module]) {
        const MergedModule& about = merged_.modules[module];
        const size_t id_bytes = std::min<size_t>(about.build_id_bytes, sizeof about.build_id);
        tables_[module] = std::make_unique<SiteTable>(read_site_table(
            lines_->path(module), {reinterpret_cast<const char*>(about.build_id), id_bytes}));
    }
    return *tables_[module];
}

void ProbeSites::describe_nothing(const MergedNode& node, ProbeSite* site) {
    const bool known = node.module < tables_.size();
    site->labels |= kLabelNoLine;
    if (known)
        lines_->resolve(node.module, node.offset);  // opens the module, so that notes can
                                                    // give the reason
    site->file = known ? std::string(base_name(lines_->path(node.module))) + "+" + hex(node.offset)
                       : hex(node.offset);
    if (known) site->module = lines_->path(node.module);
    site->source.function = site->file;
    site->name = node.kind == static_cast<uint8_t>(SiteKind::kLoop) ? "loop" : site->file;
}

void ProbeSites::describe_row(const MergedNode& node, ProbeSite* site) {
    const SiteTable* const table = node.module < tables_.size() ? &table_of(node.module) : nullptr;
    const StaticSite* const row = table == nullptr ? nullptr : table->at(node.offset);
    if (row == nullptr) return describe_nothing(node, site);
    site->table = table;
    site->row = static_cast<uint32_t>(row - table->sites.data());
    site->name = row->name;
    site->file = row->file;
    site->line = static_cast<int>(row->line);
    site->column = row->column;
    if ((row->flags & kRowGuessed) != 0) site->labels |= kLabelGuessed;
    site->source.function = row->name;
    site->source.symbol = row->symbol;
    site->source.function_file = row->file;
    site->source.function_line = site->line;
    site->source.main_program = is_fortran_main(*row);
    if (!site->source.main_program) return;
    const std::string name = lines_->function_named(node.module, row->symbol);
    if (!name.empty()) site->source.function = site->name = name;
}

void ProbeSites::describe_code(const MergedNode& node, ProbeSite* site) {
    if (node.module >= tables_.size()) return describe_nothing(node, site);
    const ResolvedAddress& address = lines_->resolve(node.module, node.offset);
    site->source = address.frames.front();
    site->name = site->source.function;
    site->file = site->source.function_file;
    site->line = site->source.function_line;
}

// "name", or "name\nfile:line".
void ProbeSites::describe_name(const MergedNode& node, ProbeSite* site) {
    site->name = node.offset < merged_.text.size() ? merged_.text.data() + node.offset : "";
    const size_t end = site->name.find('\n');
    if (end == std::string::npos) return;
    site->file = site->name.substr(end + 1);
    site->name.resize(end);
    const size_t colon = site->file.rfind(':');
    if (colon == std::string::npos) return;
    site->line = std::atoi(site->file.c_str() + colon + 1);
    site->file.resize(colon);
}

const ProbeSite& ProbeSites::site_of(const MergedNode& node) {
    const uint64_t kind = uint64_t{node.kind} << 8 | node.flags;
    const auto [entry, is_new] = sites_.try_emplace({node.module, node.offset, kind});
    ProbeSite* const site = &entry->second;
    if (!is_new) return *site;
    if (node.module < tables_.size() && lines_->is_uncertain(node.module)) {
        site->labels |= kLabelLineUnknown;
    }
    if (is_named(node)) {
        describe_name(node, site);
    } else if ((node.flags & kNodeCode) != 0) {
        describe_code(node, site);
    } else {
        describe_row(node, site);
    }
    return *site;
}

const StaticSite* ProbeSites::statement_in(const ProbeSite& site, SiteKind kind,
                                           const std::string& callee) {
    if (site.table == nullptr) return nullptr;
    const StaticSite* found = nullptr;
    for (const StaticSite& candidate : site.table->sites) {
        if (candidate.kind != kind || candidate.line == 0) continue;
        if (kind == SiteKind::kCommunication ? candidate.name != callee
                                             : candidate.symbol != callee) {
            continue;
        }
        uint32_t around = candidate.enclosing;
        while (around != kNoSite && !site.table->sites[around].has_probes) {
            around = site.table->sites[around].enclosing;
        }
        if (around != site.row) continue;
        if (found != nullptr) return nullptr;
        found = &candidate;
    }
    return found;
}

}  // namespace dwell
