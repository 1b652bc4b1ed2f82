// Draws flat lists: communication lines and computation by decreasing time, and all ranks.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/figures/stalls.h"
#include "report/text/views.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kLeastShare = 0.0005;  // of all time; 0.0 % is not worth a line
constexpr size_t kFunctionLines = 3;    // of a sampled function
constexpr double kLeastPair = 0.005;    // 0 % is not worth a pair
constexpr int kLeastFunction = 24;      // minimum columns of a name, unless it is shorter

// "heat.c:88  MPI_Recv  in exchange", cut to `room`; the place is cut last. Without a line the
// place contains the procedure.
void add_identity(const Profile& profile, uint32_t node_index, int room, bool utf8, Line* line) {
    const ProfileNode& node = profile.nodes[node_index];
    const std::string name = printable(node.name, utf8);
    const bool names_procedure = place_in_procedure(profile, node_index, utf8).starts_with("+0x");
    const std::string procedure = names_procedure ? "" : procedure_of(profile, node_index, utf8);
    const int beside = display_width(name) + (procedure.empty() ? 2 : display_width(procedure) + 7);
    const int place_room = names_procedure ? room - beside : std::max(room / 2, room - beside);
    const std::string place = cut_place(place_text(node, utf8), place_room, utf8);
    int rest = room;
    if (!place.empty()) {
        line->add(place + "  ", Style::kHot);
        rest -= display_width(place) + 2;
    }
    line->add(cut_middle(name, rest, utf8), Style::kName);
    rest -= display_width(name) + 5;
    if (!procedure.empty() && rest >= 6) line->add("  in " + cut_name(procedure, rest, utf8));
}

struct SampledFunction {
    std::string name;
    uint64_t samples = 0;
    std::vector<SampledLine> lines;  // most samples first
};

// Most samples first.
std::vector<SampledFunction> sampled_functions(const SampledPlaces& places) {
    std::vector<SampledFunction> functions;
    std::map<std::string, size_t> numbers;
    for (const SampledLine& line : places.lines) {
        const auto [entry, is_new] = numbers.try_emplace(line.function, functions.size());
        if (is_new) functions.push_back({line.function, 0, {}});
        functions[entry->second].samples += line.samples;
        functions[entry->second].lines.push_back(line);
    }
    std::stable_sort(functions.begin(), functions.end(),
                     [](const auto& a, const auto& b) { return a.samples > b.samples; });
    return functions;
}

// "jacobi.cpp:81 44 %, :79 30 %, 3 more lines"; shares of the function's own samples.
std::string first_lines_text(const SampledFunction& function, size_t limit, bool utf8) {
    std::string text;
    std::string file;
    size_t shown = 0;
    for (const SampledLine& line : function.lines) {
        if (line.line == 0 || shown == limit) continue;
        const std::string own_file = printable(base_name(line.file), utf8);
        text += fmt::format("{}{}:{}", shown == 0 ? "" : ", ", own_file == file ? "" : own_file,
                            line.line);
        if (function.lines.size() > 1) {
            text += fmt::format(" {:.0f} %", 100 * static_cast<double>(line.samples) /
                                                 static_cast<double>(function.samples));
        }
        file = own_file;
        ++shown;
    }
    if (shown != 0 && function.lines.size() > shown) {
        const size_t others = function.lines.size() - shown;
        text += fmt::format(", {} more line{}", others, others == 1 ? "" : "s");
    }
    return text;
}

// As many lines as fit; a single line may lose its middle.
std::string function_lines_text(const SampledFunction& function, int room, bool utf8) {
    for (size_t limit = kFunctionLines; limit > 1; --limit) {
        std::string text = first_lines_text(function, limit, utf8);
        if (display_width(text) <= room) return text;
    }
    std::string text = first_lines_text(function, 1, utf8);
    if (display_width(text) > room) text.resize(std::min(text.find(", "), text.size()));
    if (display_width(text) > room) text.resize(std::min(text.find(' '), text.size()));
    return cut_place(text, room, utf8);
}

std::string pairs_text(const Profile& profile, const CommLine& line, bool utf8) {
    const HeaviestPairs heaviest = heaviest_pairs(profile, line, utf8, 4);
    if (heaviest.pairs.empty()) return "";
    constexpr const char* kMeasures[] = {"time", "bytes", "messages"};
    std::string text =
        fmt::format("partners by {}{}:", profile.distances.empty() ? "" : "rank distance and ",
                    kMeasures[static_cast<int>(heaviest.measure)]);
    size_t others = heaviest.others;
    for (size_t i = 0; i < heaviest.pairs.size(); ++i) {
        if (i != 0 && heaviest.pairs[i].share < kLeastPair) {
            ++others;
            continue;
        }
        text += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", heaviest.pairs[i].text,
                            100 * heaviest.pairs[i].share);
    }
    if (others != 0) text += fmt::format(", {} more", others);
    return text;
}

// The entries for a list of at most `limit`, without those below kLeastShare of `whole`.
template <typename Entry, typename PartOf>
std::vector<Entry> notable(const std::vector<Entry>& entries, size_t limit, double whole,
                           PartOf part_of) {
    std::vector<Entry> chosen;
    for (const Entry& entry : entries) {
        if (chosen.size() == limit) break;
        if (static_cast<double>(part_of(entry)) >= kLeastShare * whole) chosen.push_back(entry);
    }
    if (chosen.empty() && !entries.empty() && limit != 0) chosen.push_back(entries.front());
    return chosen;
}

// States how many of `all` entries a list of at most `limit` left out as too short.
void draw_left_out(size_t shown, size_t all, size_t limit, const char* whole, TextCanvas* canvas) {
    if (shown == std::min(all, limit)) return;
    canvas->paragraph(fmt::format("  {} {} more, each below {:.2g} % of {}",
                                  canvas->signs().ellipsis, all - shown, 100 * kLeastShare, whole),
                      2, Style::kDim);
}

void draw_sampled_lines(const IntervalLine& interval, TextCanvas* canvas) {
    constexpr size_t kLines = 3;
    const bool utf8 = canvas->utf8();
    const int counts_width = display_width(fmt::format("{0} of {0} samples", interval.samples)) + 2;
    for (size_t i = 0; i < std::min(kLines, interval.lines.size()); ++i) {
        const SampledLine& sampled = interval.lines[i];
        Line line;
        line.pad_to(kNumberWidth);
        line.add(pad_left(share_text(static_cast<double>(sampled.samples),
                                     static_cast<double>(interval.samples)),
                          8),
                 Style::kComputation);
        line.add(pad_left(fmt::format("{} of {} samples", sampled.samples, interval.samples),
                          counts_width));
        line.add("  ");
        ProfileNode place;
        place.file = sampled.file;
        place.line = sampled.line;
        const std::string where = place_text(place, utf8);
        const std::string name = short_name(sampled.function, utf8);
        const std::vector<int> rooms = share_room({display_width(where), display_width(name)},
                                                  canvas->width() - line.width() - 2);
        if (!where.empty()) line.add(cut_place(where, rooms[0], utf8) + "  ", Style::kComputation);
        line.add(cut_name(name, rooms[1], utf8));
        canvas->put(line);
    }
    if (interval.lines.size() <= kLines) return;
    uint64_t rest = interval.samples;
    for (size_t i = 0; i < kLines; ++i) rest -= interval.lines[i].samples;
    Line line;
    line.pad_to(kNumberWidth);
    line.add(
        pad_left(share_text(static_cast<double>(rest), static_cast<double>(interval.samples)), 8),
        Style::kDim);
    line.add(pad_left(fmt::format("{} of {} samples", rest, interval.samples), counts_width),
             Style::kDim);
    line.add(
        fmt::format("  {} {} more {}", canvas->signs().ellipsis, interval.lines.size() - kLines,
                    interval.lines.size() == kLines + 1 ? "line" : "lines"),
        Style::kDim);
    canvas->put(line);
}

}  // namespace

std::string identity_text(const Profile& profile, uint32_t node, int room, bool utf8) {
    return identity_text(profile, node, node, room, utf8);
}

std::string identity_text(const Profile& profile, uint32_t node, uint32_t place, int room,
                          bool utf8) {
    if (node == kNoNode) return "start";
    const std::string name = printable(profile.nodes[node].name, utf8);
    const int name_room = std::min(display_width(name), room / 2);
    const std::string where =
        cut_place(place_text(profile.nodes[place], utf8), room - name_room - 1, utf8);
    return cut_middle((where.empty() ? "" : where + " ") + name, room, utf8);
}

void put_heads(const std::vector<Column>& columns, int indent, TextCanvas* canvas) {
    Line line;
    line.pad_to(indent);
    for (const Column& column : columns) line.add(pad_left(column.name, column.width), Style::kDim);
    canvas->put(line);
}

std::string worst_text(const GridPlaces& places, const std::optional<Peak>& worst, double mean_ns,
                       bool utf8) {
    if (!worst || mean_ns <= 0) return "";
    if (worst->ns < kLeastImbalance * mean_ns) return "all ranks alike";
    return fmt::format("rank {}: {}, {}x mean", places.name_of(worst->rank),
                       time_text(worst->ns, utf8), ratio_text(worst->ns, mean_ns));
}

void put_with_worst(Line* identity, const std::string& text, const std::optional<Peak>& worst,
                    double mean_ns, TextCanvas* canvas) {
    identity->pad_to(canvas->width() - display_width(text));
    const bool uneven = worst && worst->ns >= kNotableImbalance * mean_ns;
    identity->add(text, uneven ? Style::kHot : Style::kPlain);
    canvas->put(*identity);
}

void draw_comm_lines(const Profile& profile, const std::vector<CommLine>& all,
                     const TextOptions& options, TextCanvas* canvas) {
    const bool several = profile.ranks.size() > 1;
    const bool utf8 = canvas->utf8();
    const double judged_ns = judged_time(profile);
    const size_t shown = std::min(all.size(), static_cast<size_t>(options.lines));
    const std::vector<CommLine> lines(all.begin(), all.begin() + static_cast<ptrdiff_t>(shown));
    canvas->title(
        fmt::format("Costliest MPI lines ({} of {})", shown, all.size()),
        several ? "all call paths together; time: mean per rank" : "all call paths together");
    if (shown == 0) {
        canvas->paragraph("  No MPI call was made.", 2);
        return;
    }
    const std::vector<Column> columns = {{"share", 7},  {"time", 9},     {"waiting", 11},
                                         {"calls", 8},  {"per call", 9}, {"longest", 9},
                                         {"bytes", 10}, {"per call", 10}};
    put_heads(columns, kNumberWidth, canvas);
    const GridPlaces places(profile);
    for (size_t i = 0; i < shown; ++i) {
        const CommLine& comm = lines[i];
        const Totals& totals = comm.totals;
        const auto time_ns = static_cast<double>(totals.time_ns);
        const double mean_ns = time_ns / rank_count(profile);
        const auto calls = static_cast<double>(std::max<uint64_t>(totals.count, 1));
        const auto bytes = static_cast<double>(totals.bytes_sent + totals.bytes_received);

        Line identity;
        identity.add(pad_left(fmt::format("{}", i + 1), 2) + "  ", Style::kDim);
        const std::string worst =
            several ? worst_text(places, comm.worst, mean_ns, utf8) : std::string();
        add_identity(profile, comm.node,
                     canvas->width() - identity.width() - display_width(worst) - 2, utf8,
                     &identity);
        put_with_worst(&identity, worst, comm.worst, mean_ns, canvas);

        Line figures;
        figures.pad_to(kNumberWidth);
        figures.add(pad_left(run_share_text(static_cast<double>(without_setup_ns(comm)), judged_ns,
                                            comm.setup),
                             7),
                    Style::kName);
        figures.add(pad_left(time_text(mean_ns, utf8), 9));
        figures.add(pad_left(sync_text(totals), 11), Style::kBlocked);
        figures.add(pad_left(count_text(totals.count), 8));
        const double finished_ns = time_ns - static_cast<double>(totals.unfinished_ns);
        figures.add(pad_left(time_text(std::max(finished_ns, 0.0) / calls, utf8), 9));
        figures.add(pad_left(time_text(static_cast<double>(totals.max_ns), utf8), 9));
        figures.add(pad_left(bytes_text(bytes), 10));
        figures.add(pad_left(bytes > 0 ? bytes_text(bytes / calls) : "", 10));
        canvas->put(figures);

        std::string partners = pairs_text(profile, comm, utf8);
        if (totals.failed != 0) {
            partners += fmt::format("{}{} call{} failed", partners.empty() ? "" : "; ",
                                    totals.failed, totals.failed == 1 ? "" : "s");
        }
        if (totals.untimed != 0) {
            partners +=
                fmt::format("{}{} call{} not timed one by one", partners.empty() ? "" : "; ",
                            totals.untimed, totals.untimed == 1 ? "" : "s");
        }
        const std::string unfinished = unfinished_text(totals, rank_count(profile), utf8);
        if (!unfinished.empty()) {
            partners = unfinished + (partners.empty() ? "" : "; ") + partners;
        }
        if (!partners.empty()) {
            canvas->paragraph(std::string(kNumberWidth + 2, ' ') + partners, kNumberWidth + 2,
                              Style::kDim);
        }
        draw_waits(profile, comm, canvas);
    }
}

void draw_intervals(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const std::vector<IntervalLine> all = interval_lines(profile);
    if (all.empty()) return;
    const bool utf8 = canvas->utf8();
    const bool several = profile.ranks.size() > 1;
    const double judged_ns = judged_time(profile);
    const std::vector<IntervalLine> intervals =
        notable(all, static_cast<size_t>(options.lines), time_outside_setup(profile),
                [](const IntervalLine& interval) { return interval.time_ns; });
    const size_t shown = intervals.size();
    canvas->title(fmt::format("Costliest computation ({} of {})", shown, all.size()),
                  several ? "from one MPI line to the next; time: mean per rank"
                          : "from one MPI line to the next");
    put_heads({{"share", 7}, {"time", 9}, {"times", 9}, {"mean", 9}, {"longest", 9}}, kNumberWidth,
              canvas);
    for (size_t i = 0; i < shown; ++i) {
        const IntervalLine& interval = intervals[i];
        const auto time_ns = static_cast<double>(interval.time_ns);
        const auto count = static_cast<double>(std::max<uint64_t>(interval.count, 1));
        Line identity;
        identity.add(pad_left(fmt::format("{}", i + 1), 2) + "  ", Style::kDim);
        const std::string arrow = " " + std::string(canvas->signs().arrow) + " ";
        const std::string in = fmt::format("  {} ", in_words(interval.or_after));
        const auto width = [](const std::string& text) { return display_width(text); };
        const int from = width(identity_text(profile, interval.from, kAllOfIt, utf8));
        const int to = width(identity_text(profile, interval.to, kAllOfIt, utf8));
        const std::string owner = owner_text(profile, interval.booked_on, kAllOfIt, utf8);
        const int room = canvas->width() - identity.width() - width(arrow);
        const bool fits = from + to + width(in + owner) <= room;
        const std::vector<int> rooms = share_room({from, to}, room);
        identity.add(identity_text(profile, interval.from, rooms[0], utf8), Style::kName);
        identity.add(arrow);
        identity.add(identity_text(profile, interval.to, rooms[1], utf8), Style::kName);
        if (fits) identity.add(in + owner);
        canvas->put(identity);

        Line figures;
        figures.pad_to(kNumberWidth);
        figures.add(pad_left(share_text(time_ns, judged_ns), 7), Style::kName);
        figures.add(pad_left(time_text(time_ns / rank_count(profile), utf8), 9));
        figures.add(pad_left(count_text(interval.count), 9));
        figures.add(pad_left(time_text(time_ns / count, utf8), 9));
        figures.add(pad_left(time_text(static_cast<double>(interval.max_ns), utf8), 9));
        const int rest = canvas->width() - figures.width() - width(in);
        if (!fits) figures.add(in + owner_text(profile, interval.booked_on, rest, utf8));
        canvas->put(figures);
        draw_sampled_lines(interval, canvas);
    }
    draw_left_out(shown, all.size(), static_cast<size_t>(options.lines), "the time outside set-up",
                  canvas);
}

void draw_sampled_code(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const SampledPlaces places = all_sampled_places(profile);
    if (places.samples == 0) return;
    const auto all = static_cast<double>(places.samples);
    const std::vector<SampledFunction> functions = sampled_functions(places);
    const std::vector<SampledFunction> chosen =
        notable(functions, static_cast<size_t>(options.lines), all,
                [](const SampledFunction& function) { return function.samples; });
    const size_t shown = chosen.size();
    uint32_t hz = 0;
    for (const ProfileRank& rank : profile.ranks) hz = std::max(hz, rank.sample_hz);
    canvas->title(fmt::format("Costliest functions ({} of {})", shown, functions.size()),
                  is_serial(profile) ? "sampled" : "sampled between MPI calls");
    put_heads({{"share", 7}, {"samples", 9}}, kNumberWidth, canvas);
    const bool utf8 = canvas->utf8();
    int number = 0;
    for (const SampledFunction& function : chosen) {
        Line line;
        line.add(pad_left(fmt::format("{}", ++number), 2) + "  ", Style::kDim);
        line.add(pad_left(share_text(static_cast<double>(function.samples), all), 7), Style::kName);
        line.add(pad_left(count_text(function.samples), 9)).add("  ");
        const std::string name = short_name(function.name, utf8);
        const int room = canvas->width() - line.width();
        const int least = std::min(display_width(name), kLeastFunction);
        const std::string lines = function_lines_text(function, room - least - 2, utf8);
        const int name_room = lines.empty() ? room : room - display_width(lines) - 2;
        line.add(cut_name(name, name_room, utf8), Style::kComputation);
        if (!lines.empty()) line.add("  " + lines);
        canvas->put(line);
    }
    draw_left_out(shown, functions.size(), static_cast<size_t>(options.lines), "the samples",
                  canvas);
    if (hz == 0) return;
    canvas->paragraph(
        fmt::format("  {} sample{} at {} Hz a thread: about {} of processor time. n samples mean "
                    "n/{} s, give or take the square root of n samples.",
                    places.samples, places.samples == 1 ? "" : "s", hz,
                    time_text(1e9 * all / hz, utf8), hz),
        2, Style::kDim);
}

void draw_ranks(const Profile& profile, TextCanvas* canvas) {
    const std::vector<RankFigures> figures = rank_figures(profile);
    canvas->title("Ranks");
    if (figures.empty()) {
        canvas->paragraph("  No figures of each rank: the job was over the row limit.", 2);
        return;
    }
    const bool utf8 = canvas->utf8();
    std::vector<Column> columns = {{"rank", 6},      {"total", 9},    {"computation", 13},
                                   {"transfer", 10}, {"waiting", 11}, {"set-up", 9},
                                   {"sent", 10},     {"received", 10}};
    const bool io = profile.io_ns != 0;
    if (io) columns.insert(columns.begin() + 5, Column{"I/O", 9});
    int width = 0;
    for (const Column& column : columns) width += column.width;
    const Column without{"no processor", 14};
    const bool queued = queued_times(profile).work_ns + queued_times(profile).call_ns != 0 &&
                        width + without.width <= canvas->width();
    if (queued) columns.insert(columns.begin() + 3, without);
    put_heads(columns, 0, canvas);
    for (size_t i = 0; i < figures.size(); ++i) {
        const RankFigures& rank = figures[i];
        const auto time = [utf8](uint64_t ns) { return time_text(static_cast<double>(ns), utf8); };
        Line line;
        line.add(pad_left(fmt::format("{}", rank.rank), 6), Style::kName);
        line.add(
            pad_left(time(rank.computation_ns + rank.transfer_ns + rank.blocked_ns + rank.io_ns +
                          rank.setup_ns + rank.omp_wait_ns + rank.omp_idle_ns + rank.queued_ns),
                     9));
        line.add(pad_left(time(rank.computation_ns), 13), Style::kComputation);
        if (queued) line.add(pad_left(time(rank.queued_ns), without.width), Style::kHot);
        line.add(pad_left(time(rank.transfer_ns), 10), Style::kTransfer);
        line.add(
            pad_left(
                (rank.estimated_ns * 100 >= rank.blocked_ns && rank.estimated_ns != 0 ? "~" : "") +
                    time(rank.blocked_ns),
                11),
            Style::kBlocked);
        if (io) line.add(pad_left(time(rank.io_ns), 9));
        line.add(pad_left(time(rank.setup_ns), 9), Style::kDim);
        line.add(pad_left(bytes_text(static_cast<double>(rank.bytes_sent)), 10));
        line.add(pad_left(bytes_text(static_cast<double>(rank.bytes_received)), 10));
        line.add("  ");
        const std::string host = printable(profile.ranks[i].host, utf8);
        line.add(cut_middle(host, canvas->width() - line.width(), utf8), Style::kDim);
        canvas->put(line);
    }
}

}  // namespace dwell
