// Prints static tables; see sites.h.
#include "report/command/sites.h"

#include <fmt/format.h>
#include <unistd.h>

#include "report/console/output.h"
#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "report/results/show.h"
#include "summarize/model/profile_walk.h"
#include "summarize/symbols/lines.h"

namespace dwell {
namespace {

std::string place_of(const StaticSite& site, bool utf8) {
    const std::string file = printable(base_name(site.file), utf8);
    if (file.empty() || site.line == 0) return file;
    if (site.kind == SiteKind::kProcedure && site.end_line > site.line) {
        return fmt::format("{}:{}-{}", file, site.line, site.end_line);
    }
    return fmt::format("{}:{}", file, site.line);
}

std::string name_of(const StaticSite& site, bool utf8) {
    if (site.kind == SiteKind::kCall) return "call " + short_name(site.name, utf8);
    if (site.kind == SiteKind::kLoop) return site.name;
    return short_name(site.name, utf8);
}

std::string one_line(const StaticSite& site, bool utf8) {
    std::string text = name_of(site, utf8) + "  " + place_of(site, utf8);
    const std::string_view reason = left_out_reason(site);
    if (!reason.empty()) text += fmt::format("  (no probes: {})", reason);
    if ((site.flags & kRowArtificial) != 0) text += "  (made by the compiler)";
    return text + "\n";
}

struct Counts {
    uint64_t all = 0;
    uint64_t probed = 0;
    uint64_t small = 0;
    uint64_t unselected = 0;
};

Counts count_of(const SiteTable& table, SiteKind kind) {
    Counts counts;
    for (const StaticSite& site : table.sites) {
        if (site.kind != kind) continue;
        ++counts.all;
        counts.probed += site.has_probes ? 1 : 0;
        counts.small += (site.flags & kRowSmall) != 0 ? 1 : 0;
        counts.unselected += left_out_reason(site) == "not selected" ? 1 : 0;
    }
    return counts;
}

std::string counts_text(const Counts& counts, const char* things) {
    std::string text = fmt::format("{} of {} {} with probes", counts.probed, counts.all, things);
    if (counts.small != 0) text += fmt::format(", {} too small", counts.small);
    if (counts.unselected != 0) text += fmt::format(", {} not selected", counts.unselected);
    return text;
}

void draw_below(const SiteTable& table, const std::vector<std::vector<uint32_t>>& enclosed,
                uint32_t index, const std::string& prefix, bool utf8, std::string* out) {
    const Glyphs& signs = glyphs(utf8);
    const std::string blank(static_cast<size_t>(display_width(signs.trunk)), ' ');
    const std::vector<uint32_t>& inside = enclosed[index];
    for (size_t i = 0; i < inside.size(); ++i) {
        const bool last = i + 1 == inside.size();
        *out += prefix + std::string(last ? signs.last_branch : signs.branch) +
                one_line(table.sites[inside[i]], utf8);
        draw_below(table, enclosed, inside[i], prefix + (last ? blank : std::string(signs.trunk)),
                   utf8, out);
    }
}

// Why a file has nothing to show; empty when it has.
std::string obstacle_of(const SitesFile& file) {
    if (file.table.state == SiteTableState::kMissing) {
        return file.path + " cannot be read, or is no x86-64 program, library or object file";
    }
    if (file.table.state == SiteTableState::kNone) {
        return file.path + " has no static table: compile it with dwell-gcc, dwell-mpicc ...";
    }
    if (file.table.unread_units != 0) {
        return fmt::format(
            "{}: {} of {} units are not understood (damaged, or from another "
            "version of dwell)",
            file.path, file.table.unread_units, file.table.unread_units + file.table.units.size());
    }
    return {};
}

// Which sites will not be observed at run time, and why; empty when all will be.
std::string why_unwatched(ProbeReach reach) {
    if (reach == ProbeReach::kStatic) {
        return "nothing of it will be watched: statically linked, so libdwell.so cannot be loaded "
               "into it; link it without -static";
    }
    if (reach == ProbeReach::kUnbound) {
        return "what an older dwell compiled of it will not be watched: the linker bound what "
               "leads to libdwell.so to nothing; compile it again";
    }
    return {};
}

std::string render(const std::vector<SitesFile>& files, const SitesOptions& options) {
    if (options.format == "json") return write_sites_json(files);
    if (options.format == "csv") {
        return options.relations ? write_relations_csv(files) : write_sites_csv(files);
    }
    const bool utf8 = !options.ascii && locale_is_utf8();
    std::string text;
    for (const SitesFile& file : files) {
        if (file.table.units.empty()) continue;
        if (!text.empty()) text += "\n";
        text += options.relations ? relations_text(file, utf8)
                                  : sites_text(file, utf8, options.left_out);
    }
    return text;
}

}  // namespace

std::string sites_text(const SitesFile& file, bool utf8, bool left_out_only) {
    const SiteTable& table = file.table;
    std::string out = fmt::format(
        "{}: {}; {}; {} call and {} communication statements\n", printable(file.path, utf8),
        counts_text(count_of(table, SiteKind::kProcedure), "procedures"),
        counts_text(count_of(table, SiteKind::kLoop), "loops"),
        count_of(table, SiteKind::kCall).all, count_of(table, SiteKind::kCommunication).all);
    const std::string unwatched = why_unwatched(table.reach);
    if (!unwatched.empty()) out += "  " + unwatched + "\n";
    const std::vector<std::vector<uint32_t>> enclosed = enclosed_sites(table);
    if (left_out_only) {
        for (const StaticSite& site : table.sites) {
            if (site.left_out()) out += one_line(site, utf8);
        }
        return out;
    }
    for (const uint32_t outermost : enclosed.back()) {
        out += one_line(table.sites[outermost], utf8);
        draw_below(table, enclosed, outermost, "", utf8, &out);
    }
    return out;
}

std::string relations_text(const SitesFile& file, bool utf8) {
    std::string out = printable(file.path, utf8) + "\n";
    std::string_view heading;
    for (const SiteRelation& relation : site_relations(file.table)) {
        const StaticSite& outer = file.table.sites[relation.outer];
        const StaticSite& inner = file.table.sites[relation.inner];
        if (relation.name != heading) {
            heading = relation.name;
            out += fmt::format("{}\n", heading);
        }
        out += fmt::format("  {}  {}  {}  {}  {}", name_of(outer, utf8), place_of(outer, utf8),
                           glyphs(utf8).arrow, name_of(inner, utf8), place_of(inner, utf8));
        if (relation.callee != kNoSite) {
            out += fmt::format("  {}  {}", glyphs(utf8).arrow,
                               place_of(file.table.sites[relation.callee], utf8));
        }
        out += "\n";
    }
    return out;
}

// Uses the name in the source, if the debug information has it.
static void name_main_program(SitesFile* file) {
    for (StaticSite& site : file->table.sites) {
        if (site.kind != SiteKind::kProcedure || !is_fortran_main(site)) continue;
        LineResolver lines;
        const std::string name =
            lines.function_named(lines.add_module(file->path, ""), site.symbol);
        if (!name.empty()) site.name = name;
    }
}

int sites_command(const SitesOptions& options) {
    std::vector<SitesFile> files;
    int code = 0;
    for (const std::string& path : options.files) {
        files.push_back({path, without_duplicates(read_site_table(path, ""))});
        name_main_program(&files.back());
        const std::string obstacle = obstacle_of(files.back());
        if (obstacle.empty()) continue;
        say(obstacle);
        code = 1;
    }
    const Outcome written = write_all(STDOUT_FILENO, render(files, options), "standard output");
    if (!written) say(written.error());
    return written ? code : 1;
}

}  // namespace dwell
