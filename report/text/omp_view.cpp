// Draws OpenMP regions, loops and other constructs, with work, waiting and balance over threads.
#include <fmt/format.h>

#include <algorithm>

#include "report/figures/omp_figures.h"
#include "report/text/views.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kLeastShare = 0.0005;  // of all time, as for procedures
constexpr double kNotableWait = 0.05;   // of all time: from here on the construct is named

// Constructs for waiting, or for one thread at a time, have no balance.
bool is_shared_work(const ProfileNode& node) {
    const uint16_t call = node.call;
    return is_omp_loop(call) || is_omp_region(call) ||
           call == static_cast<uint16_t>(OmpConstruct::kSections) ||
           call == static_cast<uint16_t>(OmpConstruct::kTask) ||
           call == static_cast<uint16_t>(OmpConstruct::kTaskloop) ||
           call == static_cast<uint16_t>(OmpConstruct::kDistribute) ||
           call == static_cast<uint16_t>(OmpConstruct::kWorkshare);
}

// "thread 1: 0.60 s work, 1.50x mean"
std::string balance_text(const Profile& profile, const OmpLine& line, bool utf8) {
    const double mean_ns = mean_work_ns(line);
    const auto most_ns = static_cast<double>(line.most_ns);
    if (line.threads < 2 || mean_ns <= 0 || !is_shared_work(profile.nodes[line.node])) return "";
    if (most_ns < kLeastImbalance * mean_ns) return "all threads alike";
    return fmt::format("{}: {} work, {}x mean", thread_name(profile, line),
                       time_text(most_ns, utf8), ratio_text(most_ns, mean_ns));
}

void draw_line(const Profile& profile, const OmpLine& line, size_t number, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const ProfileNode& node = profile.nodes[line.node];
    Line identity;
    identity.add(pad_left(fmt::format("{}", number), 2) + "  ", Style::kDim);
    const std::string balance = balance_text(profile, line, utf8);
    const int room = canvas->width() - identity.width() - display_width(balance) - 2;
    const std::string place = place_text(node, utf8);
    const std::string name = printable(node.name, utf8);
    const std::vector<int> rooms =
        share_room({display_width(place) + 2, display_width(name)}, room);
    if (!place.empty()) {
        identity.add(cut_place(place, rooms[0] - 2, utf8) + "  ", Style::kComputation);
    }
    identity.add(cut_name(name, rooms[1], utf8), Style::kName);
    identity.pad_to(canvas->width() - display_width(balance));
    const bool uneven = static_cast<double>(line.most_ns) >= kNotableImbalance * mean_work_ns(line);
    identity.add(balance, uneven && line.threads > 1 ? Style::kHot : Style::kPlain);
    canvas->put(identity);

    const double ranks = rank_count(profile);
    const auto time = [&](uint64_t ns) { return time_text(static_cast<double>(ns) / ranks, utf8); };
    const bool region = is_region(node);
    Line figures;
    figures.pad_to(kNumberWidth);
    figures.add(
        pad_left(share_text(static_cast<double>(line.totals.time_ns), judged_time(profile)), 7),
        Style::kName);
    figures.add(pad_left(time(line.totals.time_ns), 9));
    figures.add(pad_left(count_text(region ? line.totals.created : line.totals.count), 9));
    figures.add(pad_left(line.threads != 0 ? fmt::format("{}", line.threads) : "", 9));
    figures.add(pad_left(time(line.work_ns), 9));
    figures.add(pad_left(time(line.totals.omp_wait_ns), 9), Style::kBlocked);
    ProfileNode sum;
    sum.kind = node.kind;
    sum.call = node.call;
    sum.totals = line.totals;
    sum.totals.omp_wait_ns = 0;  // shown in its own column
    if (region) sum.totals.created = 0;
    const std::string more = probe_text(sum, ranks, utf8);
    const int left = canvas->width() - figures.width() - 2;
    if (!more.empty() && display_width(more) <= left) figures.add("  " + more, Style::kDim);
    canvas->put(figures);
}

}  // namespace

void draw_omp_headline(const Profile& profile, TextCanvas* canvas) {
    if (!has_openmp(profile)) return;
    const bool utf8 = canvas->utf8();
    uint64_t regions = 0;
    for (const ProfileNode& node : profile.nodes) {
        if (is_region(node)) regions += node.totals.created;
    }
    const uint64_t serial = serial_code(profile).all_ns;
    // A log does not tell how many there were.
    const std::string count =
        regions == 0 ? "" : count_text(regions) + (regions == 1 ? " region; " : " regions; ");
    std::string text = fmt::format(
        "OpenMP: {}{} of the computation is outside of regions, {} a rank", count,
        share_text(static_cast<double>(serial), static_cast<double>(profile.computation_ns)),
        time_text(static_cast<double>(serial) / rank_count(profile), utf8));
    for (const OmpLine& line : omp_lines(profile)) {
        const ProfileNode& node = profile.nodes[line.node];
        const bool region = is_region(node);
        const auto wait_ns = static_cast<double>(line.totals.omp_wait_ns);
        if (!region || wait_ns < kNotableWait * static_cast<double>(profile.total_ns)) continue;
        text += fmt::format(". In the region at {} threads wait {} of their time",
                            place_text(node, utf8),
                            share_text(wait_ns, static_cast<double>(line.totals.time_ns)));
        text += uneven_text(profile, line);
        break;
    }
    canvas->blank();
    canvas->paragraph("  " + text + ".", 2, Style::kWarm);
}

void draw_omp(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    std::vector<OmpLine> lines = omp_lines(profile);
    if (lines.empty()) return;
    const size_t all = lines.size();
    const double least_ns = kLeastShare * static_cast<double>(profile.total_ns);
    size_t shown = 0;
    while (shown < std::min(all, static_cast<size_t>(options.lines)) &&
           static_cast<double>(lines[shown].totals.time_ns) >= least_ns) {
        ++shown;
    }
    lines.resize(std::max<size_t>(shown, 1));
    canvas->title(fmt::format("OpenMP constructs ({} of {})", lines.size(), all),
                  profile.ranks.size() > 1
                      ? "times: sum over threads, mean per rank; work is what is no waiting"
                      : "times: sum over threads; work is what is no waiting");
    put_heads({{"share", 7}, {"time", 9}, {"calls", 9}, {"threads", 9}, {"work", 9}, {"wait", 9}},
              kNumberWidth, canvas);
    for (size_t i = 0; i < lines.size(); ++i) draw_line(profile, lines[i], i + 1, canvas);
}

}  // namespace dwell
