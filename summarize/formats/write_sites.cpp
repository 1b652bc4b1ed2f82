// Writes static tables as CSV and JSON; see write_sites.h. Columns and keys: docs/sites.md.
#include "summarize/formats/write_sites.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "summarize/formats/csv_fields.h"
#include "summarize/formats/json_names.h"

namespace dwell {
namespace {

using Json = nlohmann::ordered_json;

struct RelationKind {
    std::string_view name;
    SiteKind outer;
    SiteKind inner;
};
constexpr std::array kRelations = {
    RelationKind{"procedure-loop", SiteKind::kProcedure, SiteKind::kLoop},
    RelationKind{"procedure-communication", SiteKind::kProcedure, SiteKind::kCommunication},
    RelationKind{"procedure-call", SiteKind::kProcedure, SiteKind::kCall},
    RelationKind{"loop-loop", SiteKind::kLoop, SiteKind::kLoop},
    RelationKind{"loop-communication", SiteKind::kLoop, SiteKind::kCommunication},
    RelationKind{"loop-call", SiteKind::kLoop, SiteKind::kCall},
};

constexpr std::array<BitName, 5> kRowFlagNames = {{{kRowSmall, "small"},
                                                   {kRowUnselected, "unselected"},
                                                   {kRowArtificial, "artificial"},
                                                   {kRowInnermost, "innermost"},
                                                   {kRowGuessed, "guessed"}}};

std::vector<std::string_view> flag_words(const StaticSite& site) {
    std::vector<std::string_view> words;
    for (const BitName& known : kRowFlagNames) {
        if ((site.flags & known.bit) != 0) words.push_back(known.name);
    }
    return words;
}

Json watched(ProbeReach reach) {
    return reach == ProbeReach::kUnlinked ? Json(nullptr) : Json(reach == ProbeReach::kReached);
}

std::string joined(const std::vector<std::string_view>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::vector<SiteRelation> site_relations(const SiteTable& table) {
    const std::vector<std::vector<uint32_t>> enclosed = enclosed_sites(table);
    std::map<std::string_view, uint32_t> procedures;
    for (uint32_t i = 0; i < table.sites.size(); ++i) {
        if (table.sites[i].kind == SiteKind::kProcedure) {
            procedures.try_emplace(table.sites[i].symbol, i);
        }
    }
    std::vector<SiteRelation> relations;
    for (const RelationKind& relation : kRelations) {
        for (uint32_t outer = 0; outer < table.sites.size(); ++outer) {
            if (table.sites[outer].kind != relation.outer) continue;
            for (const uint32_t inner : enclosed[outer]) {
                const StaticSite& site = table.sites[inner];
                if (site.kind != relation.inner) continue;
                const auto callee = procedures.find(site.symbol);
                const bool known = site.kind == SiteKind::kCall && callee != procedures.end();
                relations.push_back(
                    {relation.name, outer, inner, known ? callee->second : kNoSite});
            }
        }
    }
    return relations;
}

std::string write_sites_csv(const std::vector<SitesFile>& files) {
    std::string out =
        "module,number,kind,name,symbol,file,line,column,end_line,enclosing,probes,flags\r\n";
    for (const SitesFile& file : files) {
        for (size_t i = 0; i < file.table.sites.size(); ++i) {
            const StaticSite& site = file.table.sites[i];
            out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(file.path), i,
                               kind_name(site.kind), csv_field(site.name), csv_field(site.symbol),
                               csv_field(site.file), site.line, site.column, site.end_line,
                               site.enclosing == kNoSite ? "" : std::to_string(site.enclosing),
                               site.has_probes ? 1 : 0, joined(flag_words(site)));
        }
    }
    return out;
}

std::string write_relations_csv(const std::vector<SitesFile>& files) {
    std::string out =
        "module,relation,outer_name,outer_file,outer_line,inner_name,inner_file,inner_line,"
        "callee_file,callee_line\r\n";
    for (const SitesFile& file : files) {
        for (const SiteRelation& relation : site_relations(file.table)) {
            const StaticSite& outer = file.table.sites[relation.outer];
            const StaticSite& inner = file.table.sites[relation.inner];
            const StaticSite* const callee =
                relation.callee == kNoSite ? nullptr : &file.table.sites[relation.callee];
            out += fmt::format("{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(file.path),
                               relation.name, csv_field(outer.name), csv_field(outer.file),
                               outer.line, csv_field(inner.name), csv_field(inner.file), inner.line,
                               callee == nullptr ? "" : csv_field(callee->file),
                               callee == nullptr ? "" : std::to_string(callee->line));
        }
    }
    return out;
}

std::string write_sites_json(const std::vector<SitesFile>& files) {
    Json modules = Json::array();
    for (const SitesFile& file : files) {
        Json units = Json::array();
        for (const SiteUnit& unit : file.table.units) {
            units.push_back({{"file", unit.file},
                             {"directory", unit.directory},
                             {"compiler", unit.compiler},
                             {"procedures_seen", unit.procedures_seen},
                             {"loops_seen", unit.loops_seen}});
        }
        Json sites = Json::array();
        for (const StaticSite& site : file.table.sites) {
            sites.push_back(
                {{"kind", kind_name(site.kind)},
                 {"name", site.name},
                 {"symbol", site.symbol},
                 {"file", site.file},
                 {"line", site.line},
                 {"column", site.column},
                 {"end_line", site.end_line},
                 {"enclosing", site.enclosing == kNoSite ? Json(nullptr) : Json(site.enclosing)},
                 {"unit", site.unit},
                 {"probes", site.has_probes},
                 {"flags", flag_words(site)}});
        }
        modules.push_back({{"path", file.path},
                           {"unread_units", file.table.unread_units},
                           {"watched", watched(file.table.reach)},
                           {"units", std::move(units)},
                           {"sites", std::move(sites)}});
    }
    const Json document = {{"dwell_sites", 1}, {"modules", std::move(modules)}};
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dwell
