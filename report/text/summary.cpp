// Draws the top of the report: program, ranks and hosts, the trust in the figures, and the division
// of time.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "report/figures/job_facts.h"
#include "report/figures/stalls.h"
#include "report/figures/wait_figures.h"
#include "report/text/views.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kNotableSetup = 0.1;       // part of all time
constexpr double kNotableSetupWait = 0.05;  // of set-up
constexpr double kWaitingSend = 5;          // mean over shortest call
constexpr double kNotablePair = 0.2;        // part of a line's time
constexpr size_t kHeadlinePlaces = 4;

std::string local_time(int64_t unix_ns) {
    const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
    struct tm local {};
    char text[64] = "";
    if (localtime_r(&seconds, &local) == nullptr) return "";
    if (strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &local) == 0) return "";
    return text;
}

std::string hosts_text(const Job& job) {
    std::string names;
    size_t named = 0;
    for (const std::string& host : job.hosts) {
        if (named == 3) break;
        names += (named == 0 ? "" : ", ") + host;
        ++named;
    }
    if (job.hosts.size() > named) names += ", ...";
    if (job.hosts.size() == 1) return "on " + names;
    return fmt::format("on {} hosts ({})", job.hosts.size(), names);
}

// The cost is above the limit of probe control, in a run of less than a second.
constexpr double kControlLimit = 0.01;  // the default of --probe-limit
constexpr double kShortRun_ns = 1e9;
bool is_above_limit(const Profile& profile, const Job& job) {
    const auto real_ns = static_cast<double>(job.real_ns);
    return has_source_probes(profile) &&
           real_ns < kShortRun_ns * static_cast<double>(profile.ranks.size()) &&
           static_cast<double>(job.intrusion_ns) > kControlLimit * real_ns;
}

// Sums over ranks.
std::string clocks_text(const Profile& profile, const Job& job, bool utf8) {
    const auto real_ns = static_cast<double>(job.real_ns);
    const auto intrusion_ns = static_cast<double>(job.intrusion_ns);
    // The value is recorded only from the first MPI call or the program's end on.
    if (job.cut_short != 0 && job.intrusion_ns == 0) {
        return "intrusion not known, of " + time_text(real_ns, utf8) + " real time";
    }
    const double share = real_ns == 0 ? 0 : 100 * intrusion_ns / real_ns;
    const std::string digits =
        share < 10 ? fmt::format("{:.2g}", share) : fmt::format("{:.0f}", share);
    std::string text = fmt::format("intrusion {} % taken out: {} of {} real time", digits,
                                   time_text(intrusion_ns, utf8), time_text(real_ns, utf8));
    if (is_above_limit(profile, job)) text += ", dwell's start included";
    if (job.own_ns != job.intrusion_ns) {
        text += fmt::format(" (own cost {})", time_text(static_cast<double>(job.own_ns), utf8));
    }
    return text;
}

void draw_trust(const Profile& profile, const Job& job, TextCanvas* canvas) {
    const std::vector<std::string> limits = reservations(profile, job);
    const bool guesses = mpi_times(profile).estimated_ns != 0;
    std::string text = guesses ? "Trust: counts and bytes are exact, computation per procedure and "
                                 "waiting marked ~ are estimated"
                               : "Trust: counts and bytes are exact, computation per procedure is "
                                 "estimated";
    if (is_serial(profile)) {
        text = has_openmp(profile) ? "Trust: regions, loops and tasks of OpenMP are measured"
                                   : "Trust: the time is that of the whole process";
    }
    if (job.probed != 0) {
        text = "Trust: counts and bytes are exact, procedures and loops are timed by probes";
        if (job.estimated != 0) text += ", those without probes estimated";
        if (guesses) text += "; waiting marked ~ is estimated";
    }
    if (!limits.empty()) {
        text = counts_are_exact(profile, job) ? "Trust: counts are exact, " : "Trust: ";
        for (size_t i = 0; i < limits.size(); ++i) text += (i == 0 ? "" : ", ") + limits[i];
    }
    if (!profile.notes.empty()) {
        text += "; " + counted(profile.notes.size(), "note", "notes") + " in the report";
    }
    canvas->paragraph(text + ".", 7, limits.empty() ? Style::kDim : Style::kWarm);
}

struct Part {
    const char* name;
    uint64_t ns;
    uint64_t RankFigures::*member;  // null: unknown for single ranks
    Style style;
    bool shown;
    bool in_shares = true;
};

void draw_part(const Profile& profile, const Part& part, const std::vector<RankFigures>& ranks,
               double judged_ns, TextCanvas* canvas) {
    const int bar_width = canvas->width() - 60;
    const double mean_ns = static_cast<double>(part.ns) / rank_count(profile);
    const auto part_ns = static_cast<double>(part.ns);
    const double share = judged_ns > 0 && part.in_shares ? part_ns / judged_ns : 0;
    Line line;
    line.add("  " + pad_right(part.name, 13), Style::kName);
    line.add(pad_left(time_text(mean_ns, canvas->utf8()), 9));
    line.add(pad_left(part.in_shares ? share_text(part_ns, judged_ns) : "", 9), Style::kName);
    line.add("  ").add(bar_text(share, bar_width, canvas->utf8()), part.style);
    line.pad_to(35 + bar_width);
    std::optional<Peak> most;
    if (part.member != nullptr) most = peak(ranks, part.member);
    if (most && mean_ns > 0 && profile.ranks.size() > 1) {
        const Style style =
            most->ns / mean_ns >= kNotableImbalance && share >= 0.01 ? Style::kWarm : Style::kPlain;
        line.add(pad_left(time_text(most->ns, canvas->utf8()), 9), style);
        const bool names_rank = most->ns >= kLeastImbalance * mean_ns;
        line.add(pad_left(names_rank ? fmt::format("{}", most->rank) : "all", 7), style);
        line.add(pad_left(ratio_text(most->ns, mean_ns), 9), style);
    }
    canvas->put(line);
}

// Time of a send is not divided into waiting and transfer; the shortest call shows which of them it
// is.
std::string long_send_text(const ProfileNode& node, const Totals& totals, bool utf8) {
    if (node.call >= kMpiCallCount || kMpiCalls[node.call].call_class != CallClass::kSend)
        return "";
    if (totals.count < 2 || totals.blocked_ns != 0 || totals.unknown_waits == 0) return "";
    const double mean_ns = static_cast<double>(totals.time_ns) / static_cast<double>(totals.count);
    const auto shortest_ns = static_cast<double>(totals.min_ns);
    if (mean_ns < kWaitingSend * shortest_ns) return "";
    return fmt::format(
        ". A call takes {}, the shortest one {}: the difference may be waiting for the receiver",
        time_text(mean_ns, utf8), time_text(shortest_ns, utf8));
}

void draw_costliest_line(const Profile& profile, const CommLine& line, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const auto time_ns = static_cast<double>(line.totals.time_ns);
    const double mean_ns = time_ns / rank_count(profile);
    const ProfileNode& node = profile.nodes[line.node];
    std::string text =
        line.setup ? "No MPI communication but set-up, most in: " : "Costliest MPI line: ";
    text += fmt::format("{} {}", place_text(node, utf8), printable(node.name, utf8));
    const std::string procedure = procedure_of(profile, line.node, utf8);
    const bool named = place_in_procedure(profile, line.node, utf8).starts_with("+0x");
    if (!procedure.empty() && !named) text += " in " + procedure;
    text += " takes " + per_rank_text(profile, line.totals.time_ns, utf8);
    if (!line.setup) {
        const auto outside_ns = static_cast<double>(without_setup_ns(line));
        text += ", " + share_text(outside_ns, judged_time(profile)) + " of the time";
    }
    if (line.totals.blocked_ns != 0) text += ". Waiting: " + wait_headline(profile, line, utf8);
    if (line.worst && profile.ranks.size() > 1 && line.worst->ns >= kLeastImbalance * mean_ns) {
        text += fmt::format(". Rank {} takes longest: {}, {} times the mean",
                            GridPlaces(profile).name_of(line.worst->rank),
                            time_text(line.worst->ns, utf8), ratio_text(line.worst->ns, mean_ns));
    }
    const HeaviestPairs heaviest = heaviest_pairs(profile, line, utf8, 1);
    const bool is_one = profile.distances.empty() ||
                        (!heaviest.pairs.empty() && !heaviest.pairs[0].text.starts_with("other"));
    if (heaviest.others != 0 && is_one && heaviest.pairs[0].share >= kNotablePair) {
        constexpr const char* kWhole[] = {"time", "bytes", "messages"};
        text += fmt::format(". Heaviest {}: {}, {:.0f} % of the line's {}",
                            profile.distances.empty() ? "pair" : "rank distance",
                            heaviest.pairs[0].text, 100 * heaviest.pairs[0].share,
                            kWhole[static_cast<int>(heaviest.measure)]);
    }
    text += long_send_text(node, line.totals, utf8);
    canvas->paragraph(text + ".", 2, Style::kHot);
}

// A run that is short compared with the start of MPI says little about the program.
void draw_setup(const Profile& profile, TextCanvas* canvas) {
    const MpiTimes times = mpi_times(profile);
    const auto setup_ns = static_cast<double>(times.setup_ns);
    const auto waits_ns = static_cast<double>(times.setup_sync_ns);
    const auto own_ns = static_cast<double>(own_setup_ns(profile));
    const auto total_ns = static_cast<double>(profile.total_ns);
    if (setup_ns < kNotableSetup * total_ns) return;
    const double ranks = rank_count(profile);
    const std::string waiting = waits_ns < kNotableSetupWait * setup_ns
                                    ? ""
                                    : ", with " + time_text(waits_ns / ranks, canvas->utf8()) +
                                          " of waiting for other ranks";
    canvas->paragraph(
        fmt::format("Set-up (start and end of MPI, its communicators and files; not in the "
                    "shares): {} a rank{}.{}",
                    time_text(setup_ns / ranks, canvas->utf8()), waiting,
                    own_ns < kNotableSetup * total_ns ? "" : " A longer run tells more."),
        2, Style::kWarm);
}

void draw_uneven_computation(const Profile& profile, const std::vector<RankFigures>& ranks,
                             TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const std::optional<Peak> most = peak(ranks, &RankFigures::computation_ns);
    const double mean_ns = static_cast<double>(computed_ns(profile)) / rank_count(profile);
    const double extra_ns = most ? most->ns - mean_ns : 0;
    const double least_ns = kNotableExtra * static_cast<double>(profile.total_ns);
    if (!is_telling_mean(profile, mean_ns)) return;
    if (ranks.size() < 2 || extra_ns < 0.1 * mean_ns || extra_ns < least_ns / rank_count(profile)) {
        return;
    }
    std::string text = fmt::format("Computation is uneven: rank {} computes {}, {} times the mean",
                                   GridPlaces(profile).name_of(most->rank),
                                   time_text(most->ns, utf8), ratio_text(most->ns, mean_ns));
    const uint32_t node = extra_computation(profile, most->rank);
    if (is_late_without_computing(profile, most->rank)) {
        text += ", I/O or sleep included";
    } else if (node != kNoNode) {
        const bool or_after = (profile.nodes[node].labels & kLabelOrAfter) != 0;
        text += fmt::format(", most of the surplus {} {}", in_words(or_after),
                            procedure_name(profile, node, utf8));
    }
    const auto blocked_less = [](const RankFigures& a, const RankFigures& b) {
        return a.blocked_ns < b.blocked_ns;
    };
    const auto least = std::min_element(ranks.begin(), ranks.end(), blocked_less);
    text += fmt::format(". Other ranks {} for rank {}.",
                        least->rank == most->rank ? "wait" : "may wait", most->rank);
    canvas->paragraph(text, 2, Style::kWarm);
}

// In a command that is too long the program's name has priority: its path is cut first, then the
// middle of the rest.
std::string command_text(const std::string& command, int room, bool utf8) {
    const size_t path_end = std::min(command.find(' '), command.size());
    const std::string path = command.substr(0, path_end);
    const std::string name(base_name(path));
    if (display_width(command) <= room || name.size() == path.size()) {
        return cut_middle(command, room, utf8);
    }
    const std::string start = std::string(glyphs(utf8).ellipsis) + "/" + name;
    const int rest = room - display_width(start);
    if (rest < room / 2) return cut_middle(start + command.substr(path_end), room, utf8);
    return start + cut_middle(command.substr(path_end), rest, utf8);
}

}  // namespace

void draw_header(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const Job job = job_of(profile);
    const bool utf8 = options.utf8;
    std::string command = profile.ranks.empty() ? "" : profile.ranks.front().command;
    if (command.empty() && !profile.ranks.empty()) command = profile.ranks.front().program;
    if (job.programs.size() > 1) {
        command +=
            fmt::format(" (and {} more)", counted(job.programs.size() - 1, "program", "programs"));
    }
    const std::string head = "dwell " + printable(profile.version, utf8) + "  ";
    Line title;
    title.add(head, Style::kDim);
    title.add(command_text(printable(command, utf8), canvas->width() - title.width(), utf8),
              Style::kName);
    canvas->put(title);
    if (profile.ranks.empty()) return;

    const auto duration_ns = static_cast<double>(static_cast<uint64_t>(job.end_unix_ns) -
                                                 static_cast<uint64_t>(job.start_unix_ns));
    const uint64_t ranks = profile.ranks.size();
    std::vector<std::string> facts = {
        counted(ranks, "rank", "ranks") +
            (job.threads > ranks ? ", " + counted(job.threads, "thread", "threads") : "") + " " +
            printable(hosts_text(job), utf8),
        time_text(duration_ns, utf8)};
    // Imported traces have no date.
    constexpr int64_t kDay_ns = 86'400'000'000'000;
    if (job.start_unix_ns > kDay_ns) facts.insert(facts.begin() + 1, local_time(job.start_unix_ns));
    if (job.threads > ranks) facts.emplace_back("times of threads are added up");
    canvas->items(facts, 0);
    if (!profile.ending.empty()) {
        canvas->paragraph(printable(profile.ending, utf8), 2, Style::kHot);
    }
    std::vector<std::string> means = {clocks_text(profile, job, utf8)};
    if (job.samples != 0) {
        means.push_back(
            fmt::format("computation sampled at {} Hz: {}{}", job.sample_hz,
                        counted(job.samples, "sample", "samples"),
                        job.samples_lost != 0 ? fmt::format(", {} lost", job.samples_lost) : ""));
    } else {
        means.push_back("no samples");
    }
    if (profile.sites.procedures != 0) {
        means.push_back(fmt::format("probes in {} of {} procedures and {} of {} loops",
                                    profile.sites.procedures_probed, profile.sites.procedures,
                                    profile.sites.loops_probed, profile.sites.loops));
    }
    const GridPlaces places(profile);
    if (places.grid() != nullptr) {
        means.push_back("grid " + printable(places.grid()->name, utf8) + " " +
                        shape_text(*places.grid()));
    }
    canvas->items(means, 0, Style::kDim);
    draw_trust(profile, job, canvas);
}

void draw_overview(const Profile& profile, TextCanvas* canvas) {
    const std::vector<RankFigures> ranks = rank_figures(profile);
    const bool several = profile.ranks.size() > 1 && !ranks.empty();
    canvas->blank();
    Line head;
    head.add(profile.ranks.size() > 1 ? "Time per rank" : "Time", Style::kTitle);
    head.pad_to(24 - 9).add(pad_left(profile.ranks.size() > 1 ? "mean" : "time", 24 - head.width()),
                            Style::kDim);
    head.add(pad_left("share", 9), Style::kDim);
    if (several) {
        head.pad_to(canvas->width() - 25).add(pad_left("highest", 9), Style::kDim);
        head.add(pad_left("rank", 7), Style::kDim).add(pad_left("max/mean", 9), Style::kDim);
    }
    canvas->put(head);
    const MpiTimes mpi = mpi_times(profile);
    const bool with_mpi = !is_serial(profile);
    const bool with_omp = has_openmp(profile);
    const QueuedTimes queued = queued_times(profile);
    const uint64_t queued_ns = queued.work_ns + queued.call_ns;
    const double judged_ns = judged_time(profile);
    const uint64_t off_ns = off_processor_ns(profile);
    const Part parts[] = {
        {"computation", computed_ns(profile) - off_ns, &RankFigures::computation_ns,
         Style::kComputation, true},
        {"off processor", off_ns, nullptr, Style::kHot, off_ns != 0},
        {"no processor", queued_ns, &RankFigures::queued_ns, Style::kHot, queued_ns != 0},
        {"MPI transfer", mpi.transfer_ns, &RankFigures::transfer_ns, Style::kTransfer, with_mpi},
        {"waiting", mpi.blocked_ns - mpi.estimated_ns, &RankFigures::known_ns, Style::kBlocked,
         with_mpi && (mpi.blocked_ns > mpi.estimated_ns || mpi.blocked_ns == 0)},
        {"waiting ~", mpi.estimated_ns, &RankFigures::estimated_ns, Style::kBlocked,
         with_mpi && mpi.estimated_ns != 0},
        {"OpenMP wait", profile.omp_wait_ns, &RankFigures::omp_wait_ns, Style::kBlocked, with_omp},
        {"OpenMP idle", profile.omp_idle_ns, &RankFigures::omp_idle_ns, Style::kDim, with_omp},
        {"I/O", profile.io_ns, &RankFigures::io_ns, Style::kName, profile.io_ns != 0},
        {"MPI set-up", mpi.setup_ns, &RankFigures::setup_ns, Style::kDim, with_mpi, false},
        {"paused", profile.paused_ns, nullptr, Style::kDim, profile.paused_ns != 0, false},
    };
    for (const Part& part : parts) {
        if (part.shown) draw_part(profile, part, ranks, judged_ns, canvas);
    }
    draw_memory(profile, canvas);
}

void draw_headline(const Profile& profile, const std::vector<CommLine>& lines, TextCanvas* canvas) {
    if (profile.total_ns == 0) return;
    draw_omp_headline(profile, canvas);
    if (is_serial(profile)) return;
    canvas->blank();
    if (!lines.empty()) draw_costliest_line(profile, lines.front(), canvas);
    draw_setup(profile, canvas);
    const std::vector<RankFigures> ranks = rank_figures(profile);
    draw_uneven_computation(profile, ranks, canvas);
    draw_grid_trend(profile, ranks, canvas);
    draw_main_cause(profile, canvas);
    const SampledPlaces places = own_sampled_places(profile);
    if (places.samples < kTellingSamples) return;
    const std::string start = "Computation, sampled: ";
    const int room = 2 * (canvas->width() - 2) - display_width(start);
    const std::string where = places_text(places, kHeadlinePlaces, room, canvas->utf8());
    if (!where.empty()) canvas->paragraph(start + where + ".", 2, Style::kComputation);
}

}  // namespace dwell
