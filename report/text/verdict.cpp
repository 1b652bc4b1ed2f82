// Writes the end of a run in at most ten lines (DESIGN 6): the lost part of the time and its kinds,
// the main cause, load balance, the trust in the figures, and what to type next.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/figures/job_facts.h"
#include "report/figures/losses.h"
#include "report/figures/stalls.h"
#include "report/figures/wait_figures.h"
#include "report/text/views.h"
#include "summarize/model/profile_walk.h"
#include "summarize/model/script_name.h"

namespace dwell {
namespace {

constexpr double kNotableLoss = 0.05;  // of the time: from here on a loss is named
constexpr double kLeastShare = 0.005;  // of the time: from here on a part is shown in the line of
                                       // shares
constexpr size_t kRanksNamed = 3;
constexpr int kSentenceLines = 2;
constexpr int kLongestProgram = 24;
constexpr int kRoomForSecond = 32;  // of kRooms
constexpr int kRoomForTime = 13;
// Columns of names, in decreasing order. Text that fits with the least is never cut.
constexpr int kRooms[] = {kAllOfIt, 60, 44, 43, 32, 24, 18, 12};
constexpr int kLegibleRoom = 44;  // with less room, a sentence rather takes one more line

int line_count(const TextCanvas& like, const std::string& text, int indent) {
    TextCanvas trial(like.width(), like.utf8(), false);
    trial.paragraph(text, indent);
    const std::string lines = trial.take();
    return static_cast<int>(std::count(lines.begin(), lines.end(), '\n'));
}

// A sentence in at most so many lines, or in `most` if its names would be illegible: names are
// shortened first, then its end.
void put_sentence(const std::function<std::string(int room)>& sentence, int lines, int most,
                  Style style, TextCanvas* canvas) {
    constexpr int kIndent = 2;
    std::string text;
    const auto fits = [&](int room) {
        text = sentence(room);
        return text.empty() || line_count(*canvas, text, kIndent) <= lines;
    };
    for (const int least : {kLegibleRoom, 0}) {
        if (least == 0) lines = most;
        const auto room = std::find_if(std::begin(kRooms), std::end(kRooms), [&](int columns) {
            return columns < least || fits(columns);
        });
        if (room != std::end(kRooms) && *room >= least) break;
    }
    if (text.empty()) return;
    for (int columns = canvas->width() * lines; line_count(*canvas, text, kIndent) > lines;) {
        text = cut_middle(text, --columns, canvas->utf8());
    }
    canvas->paragraph(text, kIndent, style);
}

std::string program_name(const Profile& profile, int room, bool utf8) {
    if (profile.ranks.empty()) return "the program";
    const ProfileRank& first = profile.ranks.front();
    const std::string name = shown_program(first.program, first.command);
    room = std::min(room, kLongestProgram);
    return name.empty() ? "the program" : cut_middle(printable(name, utf8), room, utf8);
}

// "ranks 0, 2 and 5 did not finish MPI_Finalize"; empty when all ranks ended normally.
std::string end_text(const Profile& profile, const Job& job) {
    if (job.cut_short != 0) return "it did not reach its end";
    if (job.unfinished == 0) return "";
    std::vector<uint32_t> missing;
    for (const ProfileRank& rank : profile.ranks) {
        if (rank.state == FileState::kAborted) {
            return fmt::format("rank {} called MPI_Abort", rank.rank);
        }
        if (rank.state != FileState::kFinalized) missing.push_back(rank.rank);
    }
    std::string text;
    if (missing.size() > kRanksNamed) {
        text = fmt::format("{} of {} ranks", missing.size(), profile.ranks.size());
    } else {
        text = missing.size() == 1 ? "rank " : "ranks ";
        for (size_t i = 0; i < missing.size(); ++i) {
            const char* const before = i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ";
            text += fmt::format("{}{}", before, missing[i]);
        }
    }
    return text + " did not finish MPI_Finalize";
}

std::string ending_text(const Profile& profile, const Job& job, bool utf8) {
    return "dwell verdict: " + program_name(profile, kLongestProgram, utf8) +
           " broke off: " + end_text(profile, job) + ". " + printable(profile.ending, utf8);
}

struct LossWords {
    const char* name;
    const char* to_what;  // after "loses 20 % of its time"
    const char* is_what;  // after "another 10 % of the time"
};
LossWords words_of(LossKind kind) {
    switch (kind) {
        case LossKind::kWaiting:
            return {"waiting", "to waiting for late ranks", "is waiting for late ranks"};
        case LossKind::kTransfer:
            return {"MPI transfer", "to MPI transfer", "is MPI transfer"};
        case LossKind::kIo:
            return {"I/O", "to reading and writing files", "is I/O"};
        case LossKind::kOmpWait:
            return {"OpenMP wait", "to OpenMP threads that wait for each other", "is OpenMP wait"};
        case LossKind::kOmpIdle:
            return {"OpenMP idle", "to OpenMP threads idle outside of regions", "is OpenMP idle"};
        case LossKind::kQueued:
            return {"no processor", "because ranks have no processor",
                    "passes without a processor"};
    }
    return {"", "", ""};
}

bool is_mostly_estimated(const Profile& profile, LossKind kind) {
    const MpiTimes mpi = mpi_times(profile);
    return kind == LossKind::kWaiting && 2 * mpi.estimated_ns > mpi.blocked_ns;
}

struct Judgement {
    std::vector<Loss> losses;
    double whole_ns = 0;
    bool is_notable(size_t which) const {
        return which < losses.size() &&
               static_cast<double>(losses[which].all_ns()) >= kNotableLoss * whole_ns;
    }
    std::string share(uint64_t ns) const { return share_text(static_cast<double>(ns), whole_ns); }
};

// With little room the second loss is dropped first, then the time.
std::string verdict_text(const Profile& profile, const Job& job, const Judgement& judgement,
                         int room, bool utf8) {
    const std::string end = end_text(profile, job);
    std::string text;
    if (profile.ending.empty()) {  // else ending_text() has said so
        text = "dwell verdict: " + program_name(profile, room, utf8);
        if (!end.empty()) text += " broke off: " + end + ". ";
    }
    if (!judgement.is_notable(0)) {
        const uint64_t off_ns = off_processor_ns(profile);
        const std::string share = judgement.share(computed_ns(profile) - off_ns);
        if (off_ns != 0 && end.empty() && !is_serial(profile)) {
            return text + fmt::format(
                              " computes {} of its time, and sleeps, does I/O or has no "
                              "processor in {}.",
                              share, judgement.share(off_ns));
        }
        if (off_ns != 0) {
            return text +
                   (end.empty() ? " was on a processor " + share + " of its time"
                                : "It was on a processor " + share + " of the time") +
                   ": else it sleeps, does I/O or has no processor.";
        }
        if (!end.empty()) return text + share + " of the time until then was computation.";
        if (is_serial(profile) && !has_openmp(profile)) {
            // Of all threads of the process, including those that dwell does not know.
            const ProcessorUse use = processor_use(profile);
            if (use.real_ns != 0) {
                return text + fmt::format(" takes {} of processor time in {}.",
                                          time_text(static_cast<double>(use.on_ns), utf8),
                                          time_text(static_cast<double>(use.real_ns), utf8));
            }
        }
        text += fmt::format(" computes {} of its time", share);
        return text + (profile.ranks.size() > 1 ? "; no rank waits long." : ".");
    }
    Loss first = judgement.losses[0];
    if (first.kind == LossKind::kOmpIdle) first.ns = profile.omp_idle_ns;
    const std::string share = (is_mostly_estimated(profile, first.kind) ? "an estimated " : "") +
                              judgement.share(first.ns);
    text += end.empty()
                ? fmt::format(" loses {} of its time {}", share, words_of(first.kind).to_what)
                : fmt::format("Until then {} of the time was lost {}", share,
                              words_of(first.kind).to_what);
    if (room >= kRoomForTime) text += ", " + per_rank_text(profile, first.ns, utf8);
    if (first.idle_ns != 0) {
        text += fmt::format(", and {} to OpenMP threads idle meanwhile",
                            judgement.share(first.idle_ns));
    }
    text += ".";
    if (room >= kRoomForSecond && judgement.is_notable(1)) {
        const Loss& second = judgement.losses[1];
        text += fmt::format(" Another {} of the time {}.", judgement.share(second.ns),
                            words_of(second.kind).is_what);
    }
    return text;
}

// "Main cause: rank 0 ..." of the second loss.
std::string second_cause(const std::string& text) {
    const size_t colon = text.find(": ");
    return colon == std::string::npos ? "" : text.substr(colon + 2);
}

std::string balance_text(const Profile& profile, const std::vector<RankFigures>& ranks, bool utf8) {
    const std::optional<Peak> most = peak(ranks, &RankFigures::computation_ns);
    const double mean_ns = static_cast<double>(computed_ns(profile)) / rank_count(profile);
    if (ranks.size() < 2 || !most || most->ns <= 0 || !is_telling_mean(profile, mean_ns)) {
        return "";
    }
    const std::string share = fmt::format("Load balance: {:.0f} %, ", 100 * mean_ns / most->ns);
    if (most->ns < kLeastImbalance * mean_ns) return share + "all ranks compute alike.";
    const bool computes = !is_late_without_computing(profile, most->rank);
    return share + fmt::format("rank {}{} {}{}, the mean is {}.",
                               GridPlaces(profile).name_of(most->rank),
                               computes ? " computes" : ":", time_text(most->ns, utf8),
                               computes ? "" : " with I/O or sleep", time_text(mean_ns, utf8));
}

// Shares that do not fit in the line are dropped, smallest first.
std::string shares_text(const Profile& profile, const Job& job, const Judgement& judgement,
                        const TextCanvas& canvas) {
    std::string text = profile.ranks.size() > 1 ? "Time per rank" : "Time";
    if (job.threads > profile.ranks.size()) text += ", threads added up";
    text += ": " + time_text(judgement.whole_ns / rank_count(profile), canvas.utf8());
    const uint64_t off_ns = off_processor_ns(profile);
    std::vector<std::pair<uint64_t, std::string>> parts = {
        {computed_ns(profile) - off_ns, "computation"}, {off_ns, "off processor"}};
    for (const Loss& loss : judgement.losses) {
        if (loss.kind != LossKind::kOmpIdle) parts.emplace_back(loss.ns, words_of(loss.kind).name);
    }
    parts.emplace_back(profile.omp_idle_ns, words_of(LossKind::kOmpIdle).name);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [ns, name] : parts) {
        if (static_cast<double>(ns) < kLeastShare * judgement.whole_ns) break;
        const std::string next = ", " + name + " " + judgement.share(ns);
        if (display_width(text + next) >= canvas.width()) break;
        text += next;
    }
    return text + ".";
}

std::string setup_text(const Profile& profile, const Judgement& judgement, bool utf8) {
    const uint64_t setup_ns = mpi_times(profile).setup_ns;
    if (setup_ns == 0) return "";
    std::string more = setup_wait_text(profile, utf8);
    const auto own_ns = static_cast<double>(own_setup_ns(profile));
    if (more.empty() && own_ns > judgement.whole_ns) more = "; a longer run tells more";
    return "Set-up of MPI (not in the shares): " + per_rank_text(profile, setup_ns, utf8) + more +
           ".";
}

// Whether set-up is the largest part of the run.
bool is_mostly_setup(const Profile& profile, const Judgement& judgement) {
    const uint64_t most_ns = judgement.losses.empty() ? 0 : judgement.losses[0].all_ns();
    return mpi_times(profile).setup_ns > std::max(most_ns, computed_ns(profile));
}

// At most two reservations; if two do not fit, one.
std::string trust_text(const Profile& profile, const Job& job, bool both) {
    Job but_for_ends = job;  // the verdict already names the ends of ranks
    but_for_ends.unfinished = but_for_ends.cut_short = 0;
    const std::vector<std::string> limits = reservations(profile, but_for_ends);
    const bool estimated = mpi_times(profile).estimated_ns != 0;
    if (limits.empty()) {
        if (is_serial(profile) && job.probed == 0) {
            return has_openmp(profile) ? "Trust: regions, loops and tasks of OpenMP are measured."
                                       : "Trust: the time is that of the whole process.";
        }
        if (job.unfinished != 0 || job.cut_short != 0) {
            return "Trust: counts end where the program broke off.";
        }
        if (estimated) return "Trust: counts are exact, part of the waiting is estimated.";
        return job.probed != 0 ? "Trust: counts are exact, procedures are timed by probes."
                               : "Trust: counts are exact, computation by procedure is estimated.";
    }
    const std::string begin = "Trust: ";
    const bool exact = counts_are_exact(profile, job);
    if (both && exact) return begin + "counts are exact, " + limits[0] + ".";
    if (both && limits.size() > 1) return begin + limits[0] + ", " + limits[1] + ".";
    return begin + limits[0] + ".";
}

std::string draw_verdict(const Profile& profile, const TextOptions& options,
                         const std::string& directory, int cause_lines) {
    const int width = std::max(options.width, kLeastWidth);
    TextCanvas canvas(width, options.utf8, options.color);
    const bool utf8 = options.utf8;
    const auto always = [](const std::string& text) { return [text](int) { return text; }; };
    if (profile.nodes.empty()) {
        put_sentence(always("dwell verdict: nothing of " +
                            program_name(profile, kLongestProgram, utf8) + " was recorded."),
                     1, 1, Style::kHot, &canvas);
        if (directory.empty()) return canvas.take();
        return canvas.take() + "Next: dwell report " + directory + "\n";
    }
    const Job job = job_of(profile);
    const Judgement judgement{losses(profile), judged_time(profile)};
    const bool lost = judgement.is_notable(0);
    const std::vector<CommLine> lines = comm_lines(profile);
    const auto cause = [&](size_t which, int room) {
        return cause_text(profile, lines, judgement.losses[which].kind, room, utf8);
    };
    const bool broke_off = !profile.ending.empty();
    if (broke_off) {
        put_sentence(always(ending_text(profile, job, utf8)), kSentenceLines + 1,
                     kSentenceLines + 1, Style::kHot, &canvas);
    }
    put_sentence([&](int room) { return verdict_text(profile, job, judgement, room, utf8); },
                 kSentenceLines, kSentenceLines, lost ? Style::kHot : Style::kName, &canvas);
    put_sentence(
        [&](int room) { return lost ? cause(0, room) : computation_text(profile, room, utf8); },
        kSentenceLines, cause_lines, lost ? Style::kWarm : Style::kPlain, &canvas);
    // Time taken by other programs is not this program's fault.
    const bool of_others = lost && judgement.losses[0].kind == LossKind::kQueued &&
                           holders_of_processors(profile).who != Holder::kRanks;
    const bool second = of_others && judgement.is_notable(1);
    const bool mostly_setup = is_mostly_setup(profile, judgement);
    const bool late = lost && judgement.losses[second ? 1 : 0].kind == LossKind::kWaiting;
    const std::string more = late && !directory.empty() ? next_options(profile) : "";
    if (second) {
        const int besides_lines = mostly_setup && !more.empty() ? 1 : kSentenceLines;
        put_sentence(
            [&](int room) {
                const std::string text = second_cause(cause(1, room));
                return text.empty() ? text : "Besides: " + text;
            },
            besides_lines, besides_lines, Style::kWarm, &canvas);
    }
    // If there is no room beside a second cause, the balance is dropped first: a rank without a
    // processor computes less. Set-up is shown there only if it is the largest part of the run.
    if (!broke_off && (!second || (!mostly_setup && more.empty()))) {
        put_sentence(always(balance_text(profile, rank_figures(profile), utf8)), 1, 1,
                     Style::kPlain, &canvas);
    }
    put_sentence(always(shares_text(profile, job, judgement, canvas)), 1, 1, Style::kPlain,
                 &canvas);
    if (!broke_off && (!second || mostly_setup)) {
        put_sentence(always(setup_text(profile, judgement, utf8)), 1, 1, Style::kPlain, &canvas);
    }
    const int trust_lines = broke_off || second || !more.empty() ? 1 : kSentenceLines;
    put_sentence([&](int room) { return trust_text(profile, job, room == kRooms[0]); }, trust_lines,
                 trust_lines, Style::kDim, &canvas);
    if (directory.empty()) return canvas.take();
    if (more.empty()) return canvas.take() + "Next: dwell report " + directory + "\n";
    const char* const why = more == "--io on" ? "names the files, if any" : "names the line";
    // The path is never cut, so that it can be copied.
    return canvas.take() + fmt::format("Next: dwell run {} ... ({}).\nReport: dwell report {}\n",
                                       more, why, directory);
}

}  // namespace

std::string write_verdict(const Profile& profile, const TextOptions& options,
                          const std::string& directory) {
    const std::string text = draw_verdict(profile, options, directory, kSentenceLines + 1);
    if (std::count(text.begin(), text.end(), '\n') <= kVerdictLines) return text;
    return draw_verdict(profile, options, directory, kSentenceLines);
}

}  // namespace dwell
