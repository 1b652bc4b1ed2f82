// Draws measurements of probes over all call paths: procedures, loops and blocks by decreasing
// time, the markers, and the sites without probes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/text/views.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kLeastShare = 0.0005;  // of all time; 0.0 % is not worth a line

// "heat.c:88  solve" or "heat.c:90  loop  in solve", cut to `room`.
void add_site(const Profile& profile, uint32_t index, int room, bool utf8, Line* line) {
    const ProfileNode& node = profile.nodes[index];
    const std::string all = place_text(node, utf8);
    const int name_width = display_width(shown_name(node, utf8));
    const int place_room = share_room({display_width(all) + 2, name_width}, room)[0] - 2;
    const std::string place = cut_place(all, place_room, utf8);
    int rest = room;
    if (!place.empty()) {
        line->add(place + "  ", Style::kComputation);
        rest -= display_width(place) + 2;
    }
    const bool procedure = node.kind == SiteKind::kProcedure;
    const std::string name = cut_name(shown_name(node, utf8), rest, utf8);
    line->add(name, Style::kName);
    rest -= display_width(name) + 5;
    if (procedure || rest < 6) return;
    const std::string around = procedure_of(profile, index, utf8);
    if (!around.empty()) line->add("  in " + cut_name(around, rest, utf8));
}

std::vector<SiteLine> notable_sites(const Profile& profile, std::vector<SiteLine> lines,
                                    size_t limit) {
    const double least_ns = kLeastShare * static_cast<double>(profile.total_ns);
    size_t shown = 0;
    while (shown < std::min(limit, lines.size()) &&
           static_cast<double>(weight_ns(lines[shown])) >= least_ns) {
        ++shown;
    }
    lines.resize(std::min(std::max<size_t>(shown, 1), lines.size()));
    return lines;
}

void draw_markers(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    std::vector<std::string> items;
    for (const uint32_t index : nodes_from_root(profile)) {
        const ProfileNode& node = profile.nodes[index];
        if (node.kind != SiteKind::kMarker) continue;
        const std::string place = place_text(node, canvas->utf8());
        std::string item = printable(node.name, canvas->utf8());
        if (!place.empty()) item += " " + place;
        item += fmt::format(" {} times", count_text(node.totals.count));
        const std::string more = probe_text(node, rank_count(profile), canvas->utf8());
        if (!more.empty()) item += ", " + more;
        items.push_back(std::move(item));
    }
    if (items.empty()) return;
    const size_t most = static_cast<size_t>(options.lines);
    const size_t others = items.size() > most ? items.size() - most : 0;
    items.resize(items.size() - others);
    if (others != 0) items.push_back(fmt::format("{} more", others));
    items.front() = "Markers: " + items.front();
    canvas->items(items, 2);
}

std::string left_out_text(const Profile& profile) {
    std::map<std::string, uint64_t> reasons;
    uint64_t procedures = 0;
    for (const LeftOutSite& site : profile.sites.left_out) {
        if (site.kind != SiteKind::kProcedure) continue;
        ++procedures;
        ++reasons[site.reason];
    }
    if (procedures == 0) return {};
    std::string text =
        fmt::format("  Without probes: {} procedure{}", procedures, procedures == 1 ? "" : "s");
    std::string separator = " (";
    for (const auto& [reason, count] : reasons) {
        text += fmt::format("{}{} {}", separator, count, reason);
        separator = ", ";
    }
    return text + "); dwell report --left-out names them.";
}

void add_shares(const Profile& profile, const SiteLine& site, bool utf8, Line* line) {
    const auto own_ns = static_cast<double>(site.own_ns);
    line->add(pad_left(share_text(own_ns, judged_time(profile)), 7), Style::kName);
    line->add(pad_left(time_text(own_ns / rank_count(profile), utf8), 9));
    const double mean_ns = static_cast<double>(site.totals.time_ns) / rank_count(profile);
    line->add(pad_left(time_text(mean_ns, utf8), 10));
    line->add(pad_left(count_text(site.totals.count), 9));
}

}  // namespace

void draw_sites(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const std::vector<SiteLine> all = site_lines(profile);
    if (all.empty()) return;
    const bool several = profile.ranks.size() > 1;
    const bool utf8 = canvas->utf8();
    const std::vector<SiteLine> sites =
        notable_sites(profile, all, static_cast<size_t>(options.lines));
    canvas->title(
        fmt::format("Costliest procedures and loops ({} of {})", sites.size(), all.size()),
        several ? "own computation by probes; times: mean per rank" : "own computation by probes");
    put_heads({{"share", 7},
               {"own", 9},
               {"inclusive", 10},
               {"entries", 9},
               {"per entry", 10},
               {"longest", 9}},
              kNumberWidth, canvas);
    const GridPlaces places(profile);
    for (size_t i = 0; i < sites.size(); ++i) {
        const SiteLine& site = sites[i];
        const double mean_ns = static_cast<double>(site.own_ns) / rank_count(profile);
        Line identity;
        identity.add(pad_left(fmt::format("{}", i + 1), 2) + "  ", Style::kDim);
        const std::string worst =
            several ? worst_text(places, site.worst, mean_ns, utf8) : std::string();
        add_site(profile, site.node, canvas->width() - identity.width() - display_width(worst) - 2,
                 utf8, &identity);
        put_with_worst(&identity, worst, site.worst, mean_ns, canvas);

        Line figures;
        figures.pad_to(kNumberWidth);
        add_shares(profile, site, utf8, &figures);
        const std::string each =
            timed_entries(site.totals) == 0 ? "-" : time_text(mean_entry_ns(site.totals), utf8);
        figures.add(pad_left(each, 10));
        figures.add(pad_left(time_text(static_cast<double>(site.totals.max_ns), utf8), 9));
        ProfileNode sum;
        sum.kind = profile.nodes[site.node].kind;
        sum.labels = site.labels;
        sum.totals = site.totals;
        const std::string more = probe_text(sum, rank_count(profile), utf8);
        const int room = canvas->width() - figures.width() - 2;
        if (display_width(more) <= room) {
            if (!more.empty()) figures.add("  " + more, Style::kDim);
            canvas->put(figures);
            continue;
        }
        canvas->put(figures);
        canvas->paragraph(std::string(kNumberWidth + 2, ' ') + more, kNumberWidth + 2, Style::kDim);
    }
    draw_markers(profile, options, canvas);
    const std::string left_out = left_out_text(profile);
    if (!left_out.empty() && !options.left_out) canvas->paragraph(left_out, 2, Style::kDim);
}

void draw_left_out(const Profile& profile, TextCanvas* canvas) {
    const std::vector<LeftOutSite>& left_out = profile.sites.left_out;
    canvas->title(fmt::format("Without probes ({})", left_out.size()));
    const bool utf8 = canvas->utf8();
    for (const LeftOutSite& site : left_out) {
        Line line;
        line.add("  " + pad_right(site.reason, 14), Style::kDim);
        ProfileNode place;
        place.file = site.file;
        place.line = site.line;
        const std::string where = place_text(place, utf8);
        const int room = canvas->width() - line.width() - display_width(where) - 2;
        line.add(cut_name(short_name(site.name, utf8), std::max(room, 10), utf8), Style::kName);
        line.add("  ").add(where);
        canvas->put(line);
    }
    if (left_out.empty()) {
        canvas->paragraph(profile.sites.procedures == 0
                              ? "  Nothing in this job was compiled with probes."
                              : "  Every procedure and loop has probes.",
                          2);
    }
}

}  // namespace dwell
