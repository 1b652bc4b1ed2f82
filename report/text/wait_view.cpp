// Draws who waited for whom: partners under each communication line, and the root causes of
// waiting.
#include <fmt/format.h>

#include <algorithm>

#include "report/figures/losses.h"
#include "report/figures/wait_figures.h"
#include "report/text/views.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr size_t kPartners = 4;            // of a line, before the sum of the rest
constexpr double kNotablePartner = 0.2;    // of a line's waiting
constexpr double kNotableSync = 0.01;      // of all time: from here on a sentence
constexpr double kLeastCause = 0.001;      // of the waiting: from here on a line
constexpr double kNotableUnknown = 0.1;    // of the known waiting, without a known cause
constexpr double kAlmostAll = 0.95;        // part of a line's waiting that is for one rank
constexpr double kNotableEstimate = 0.01;  // of a line's waiting

// " in work", " in or after work" or " in work, loop a.c:9", after the rank; empty when nothing is
// known.
std::string owner_text_of(const Profile& profile, const Computation& doing, int room, bool utf8) {
    if (doing.io_node != kNoNode) {
        const std::string procedure = procedure_of(profile, doing.io_node, utf8);
        return procedure.empty() ? "" : " in " + cut_name(procedure, room - 4, utf8);
    }
    if (doing.interval == kNoNode || doing.unsampled) return "";
    const ProfileInterval& interval = profile.intervals[doing.interval];
    const std::string in = fmt::format(" {} ", in_words(interval.or_after));
    const uint32_t owner = interval.booked_on;
    return in + owner_text(profile, owner, room - display_width(in), utf8);
}

// "mostly in sum a.c:12"; "mostly at a.c:12" for the procedure itself; "mostly at a.c:12 in exp";
// often empty.
std::string sampled_text(const Profile& profile, const Computation& doing, bool utf8) {
    std::string text;
    const std::string name = short_name(doing.sampled, utf8);
    // The code of a region has the name of the enclosing procedure.
    const bool is_said =
        doing.interval != kNoNode &&
        name == procedure_name(profile, profile.intervals[doing.interval].booked_on, utf8);
    if (!name.empty() && !is_said) text = " in " + name;
    const std::string place = printable(doing.sampled_place, utf8);
    if (!place.empty()) text += (text.empty() ? " at " : " ") + place;
    if (!doing.called.empty()) text += " in " + short_name(doing.called, utf8);
    return text.empty() ? text : "mostly" + text;
}

// "from a.c:8 MPI_Recv to a.c:10 MPI_Send".
std::string way_text(const Profile& profile, const Computation& doing, int room, bool utf8) {
    if (doing.interval == kNoNode) return "computation not known";
    const ProfileInterval& interval = profile.intervals[doing.interval];
    const std::string words[] = {"from ", " to "};
    const auto place = [&](uint32_t node, int columns) {
        return node == kNoNode ? "the start" : identity_text(profile, node, columns, utf8);
    };
    if (place(interval.from, kAllOfIt) == place(interval.to, kAllOfIt)) {
        const std::string between = "between calls of ";
        return between + place(interval.to, room - display_width(between));
    }
    const std::vector<int> rooms = share_room({display_width(place(interval.from, kAllOfIt)),
                                               display_width(place(interval.to, kAllOfIt))},
                                              room - display_width(words[0] + words[1]));
    return words[0] + place(interval.from, rooms[0]) + words[1] + place(interval.to, rooms[1]);
}

// "called at a.c:8": the statement that called the procedure.
std::string called_text(const Profile& profile, const Computation& doing, bool utf8) {
    const uint32_t owner = profile.intervals[doing.interval].booked_on;
    const uint32_t caller = profile.nodes[owner].parent;
    if (caller == kNoNode || profile.nodes[caller].kind != SiteKind::kCall) return "";
    const std::string place = place_text(profile.nodes[caller], utf8);
    return place.empty() ? "" : "called at " + place;
}

// The rank and its procedure, or if that is unknown the surrounding calls. For a sentence.
std::string short_doing_text(const Profile& profile, const std::string& who,
                             const Computation& doing, bool utf8) {
    const std::string owner = owner_text_of(profile, doing, kAllOfIt, utf8);
    if (owner.empty()) return who + ", " + way_text(profile, doing, kAllOfIt, utf8);
    const std::string sampled = sampled_text(profile, doing, utf8);
    return who + owner + (sampled.empty() ? "" : " (" + sampled + ")");
}

// The rank, and everything known of its activity.
std::string doing_text(const Profile& profile, const std::string& who, const Computation& doing,
                       bool utf8) {
    std::string text = short_doing_text(profile, who, doing, utf8);
    if (owner_text_of(profile, doing, kAllOfIt, utf8).empty()) return text;
    if (doing.calls_tell) return text + ", " + way_text(profile, doing, kAllOfIt, utf8);
    const std::string called = called_text(profile, doing, utf8);
    return called.empty() ? text : text + ", " + called;
}

std::string kinds_text(const CommLine& line, uint16_t call) {
    std::string text;
    for (const WaitKindTime& kind : wait_kinds(call, line.totals)) {
        const std::string share =
            share_text(static_cast<double>(kind.time_ns), static_cast<double>(line.totals.time_ns));
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind.name, share);
    }
    return text;
}

// Draws rank and activity after the figures of `line`, in one or two lines.
void draw_doing(const Profile& profile, Line* line, const std::string& who,
                const Computation& doing, const std::string& more, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const int indent = line->width();
    const std::string whole = doing_text(profile, who, doing, utf8) + more;
    if (indent + display_width(whole) <= canvas->width()) {
        canvas->put(line->add(whole));
        return;
    }
    std::string owner = owner_text_of(profile, doing, kAllOfIt, utf8);
    const int room = canvas->width() - indent - display_width(who + more);
    constexpr int kLeastIndent = kNumberWidth + 4;
    std::vector<std::string> rest;
    // A name is not cut if it fits in a line of its own.
    if (display_width(owner) > room) {
        rest.push_back(owner_text_of(profile, doing, canvas->width() - kLeastIndent, utf8));
        rest.back().erase(0, 1);  // " in"
        owner.clear();
    }
    owner = owner.empty() ? "" : owner_text_of(profile, doing, room, utf8);
    canvas->put(line->add(cut_middle(who + owner + more, canvas->width() - indent, utf8)));
    if (const std::string sampled = sampled_text(profile, doing, utf8); !sampled.empty()) {
        rest.push_back(sampled);
    }
    rest.push_back(way_text(profile, doing, kAllOfIt, utf8));
    // In one line, or in one line each if that is too narrow.
    std::string all = fmt::format("{}", fmt::join(rest, ", "));
    if (kLeastIndent + display_width(all) <= canvas->width()) {
        const bool fits = indent + display_width(all) <= canvas->width();
        canvas->put(Line().pad_to(fits ? indent : kLeastIndent).add(all, Style::kDim));
        return;
    }
    rest.back() = way_text(profile, doing, canvas->width() - kLeastIndent, utf8);
    for (const std::string& text : rest) {
        canvas->put(Line()
                        .pad_to(kLeastIndent)
                        .add(cut_middle(text, canvas->width() - kLeastIndent, utf8), Style::kDim));
    }
}

// "rank 0 writes ck.dat in checkpoint (ck.c:33 write): 800 ms", "rank 1 does I/O or sleeps, on a
// processor 8 % of the time"; "" for computation.
std::string stall_text(const Profile& profile, const CauseLine& cause, bool utf8) {
    const std::string io = io_stall_text(profile, cause.stall, kAllOfIt, utf8);
    if (!io.empty()) return rank_text(cause.peer) + " " + io;
    const StallWords words = stall_words(profile, cause.stall);
    if (words.verb.empty()) return "";
    return fmt::format("{} {}, {}", rank_text(cause.peer), words.verb, words.share);
}

void draw_partner(const Profile& profile, const PartnerShare& partner, double all_ns,
                  TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const auto time_ns = static_cast<double>(partner.time_ns);
    Line line;
    line.pad_to(kNumberWidth).add(pad_left(share_text(time_ns, all_ns), 9));
    line.add(pad_left(time_text(time_ns / rank_count(profile), utf8), 9)).add("  ");
    const std::string more = fmt::format("; {} {}, longest {}", count_text(partner.count),
                                         partner.count == 1 ? "time" : "times",
                                         time_text(static_cast<double>(partner.max_ns), utf8));
    draw_doing(profile, &line, "for " + rank_text(partner.peer), partner.doing, more, canvas);
}

void draw_cause(const Profile& profile, const CauseLine& cause, int number, double all_ns,
                TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const auto time_ns = static_cast<double>(cause.time_ns);
    const double ranks = rank_count(profile);
    const auto passed_on_ns = static_cast<double>(cause.passed_on_ns);
    Line figures;
    figures.add(pad_left(fmt::format("{}", number), 2) + "  ", Style::kDim);
    figures.add(pad_left(share_text(time_ns, all_ns), 7), Style::kName);
    figures.add(pad_left(time_text(time_ns / ranks, utf8), 9), Style::kBlocked);
    figures.add(pad_left(time_text((time_ns - passed_on_ns) / ranks, utf8), 9));
    figures.add(pad_left(time_text(passed_on_ns / ranks, utf8), 11));
    figures.add("  ");
    draw_doing(profile, &figures, culprits_text(cause, cause.time_ns), cause.computation, "",
               canvas);
    const std::string stall = stall_text(profile, cause, utf8);
    const int indent = kNumberWidth + 4;
    if (!stall.empty()) {
        canvas->paragraph(std::string(static_cast<size_t>(indent), ' ') + stall, indent,
                          Style::kWarm);
    }
}

bool is_notably_estimated(const Totals& totals) {
    return static_cast<double>(estimated_ns(totals)) >=
           kNotableEstimate * static_cast<double>(totals.blocked_ns);
}

}  // namespace

std::string sync_text(const Totals& totals) {
    if (totals.blocked_ns == 0) return "none";
    return (is_notably_estimated(totals) ? "~" : "") +
           share_text(static_cast<double>(totals.blocked_ns), static_cast<double>(totals.time_ns));
}

std::string wait_headline(const Profile& profile, const CommLine& line, bool utf8) {
    std::string text = (is_notably_estimated(line.totals) ? "~" : "") +
                       per_rank_text(profile, line.totals.blocked_ns, utf8);
    const std::vector<WaitKindTime> kinds = wait_kinds(profile.nodes[line.node].call, line.totals);
    if (kinds.empty()) {
        const bool polls = is_poll(profile.nodes[line.node].call);
        return text + (polls ? " (estimated: polls that found nothing)" : "");
    }
    // Estimated waiting has no kind and no known partner.
    if (!is_notably_estimated(line.totals)) {
        text += " (" + kinds[0].name + ")";
    } else {
        text += fmt::format(
            " (known: {}, {})",
            time_text(static_cast<double>(line.totals.sync_ns) / rank_count(profile), utf8),
            kinds[0].name);
    }
    const Partners partners = partners_of(profile, line, 1);
    if (partners.heaviest.empty()) return text;
    const PartnerShare& first = partners.heaviest[0];
    const auto time_ns = static_cast<double>(first.time_ns);
    const auto all_ns = static_cast<double>(partners.all_ns);
    if (time_ns < kNotablePartner * all_ns) return text;
    text += time_ns >= kAlmostAll * all_ns
                ? ", almost all "
                : ", with " + time_text(time_ns / rank_count(profile), utf8) + " ";
    // That rank was late only because it had waited itself.
    if (2 * first.passed_on_ns > first.time_ns) {
        text += "passed on by " + rank_text(first.peer);
        const std::optional<CauseLine> root = main_passed_on(profile);
        if (!root) return text;
        return text + ". Origin of this delay: " +
               short_doing_text(profile, culprits_text(*root, root->passed_on_ns),
                                root->computation, utf8);
    }
    return text + "for " + short_doing_text(profile, rank_text(first.peer), first.doing, utf8);
}

void draw_waits(const Profile& profile, const CommLine& line, TextCanvas* canvas) {
    const std::string kinds = kinds_text(line, profile.nodes[line.node].call);
    if (kinds.empty()) return;
    const Partners partners = partners_of(profile, line, kPartners);
    const auto all_ns = static_cast<double>(partners.all_ns);
    const std::string indent(kNumberWidth + 2, ' ');
    canvas->paragraph(indent + kinds + " of the line's time" +
                          (partners.heaviest.empty() ? "" : "; waiting by late rank:"),
                      kNumberWidth + 2, Style::kBlocked);
    for (const PartnerShare& partner : partners.heaviest) {
        if (static_cast<double>(partner.time_ns) < kLeastCause * all_ns) break;
        draw_partner(profile, partner, all_ns, canvas);
    }
    const auto rest_ns = static_cast<double>(partners.rest_ns);
    if (rest_ns < kLeastCause * all_ns) return;
    Line rest;
    rest.pad_to(kNumberWidth).add(pad_left(share_text(rest_ns, all_ns), 9));
    rest.add(pad_left(time_text(rest_ns / rank_count(profile), canvas->utf8()), 9));
    rest.add(partners.certain ? "  for others" : "  for others, some of them perhaps longer");
    canvas->put(rest);
}

void draw_main_cause(const Profile& profile, TextCanvas* canvas) {
    const MpiTimes mpi = mpi_times(profile);
    if (static_cast<double>(mpi.blocked_ns - mpi.estimated_ns) <
        kNotableSync * time_outside_setup(profile)) {
        return;
    }
    const std::vector<CauseLine> causes = causes_outside_setup(profile);
    if (causes.empty() || causes[0].computation.interval == kNoNode) return;
    const bool utf8 = canvas->utf8();
    const CauseLine& first = causes[0];
    const auto a_rank = [&](uint64_t ns) {
        return time_text(static_cast<double>(ns) / rank_count(profile), utf8);
    };
    uint64_t unknown_ns = 0;
    for (const CauseLine& cause : causes) {
        if (cause.computation.interval == kNoNode) unknown_ns += cause.time_ns;
    }
    std::string text = "Main cause of waiting: " + cause_words(profile, first, kAllOfIt, utf8);
    const Computation& doing = first.computation;
    if (!doing.calls_tell) {
        const std::string called = called_text(profile, doing, utf8);
        if (!called.empty()) text += ", " + called;
    } else if (doing.sampled_place.empty() && !doing.unsampled && doing.io_node == kNoNode) {
        text += ", " + way_text(profile, doing, kAllOfIt, utf8);
    }
    text += fmt::format(", and others wait {} a rank", a_rank(first.time_ns));
    const auto all_ns = static_cast<double>(mpi.blocked_ns);
    if (static_cast<double>(unknown_ns) >= kNotableUnknown * all_ns) {
        text += fmt::format(". Waiting without a known cause: {} a rank", a_rank(unknown_ns));
    }
    if (static_cast<double>(mpi.estimated_ns) >= kNotableEstimate * all_ns) {
        text += fmt::format(". Estimated waiting, its late ranks not known: {} a rank",
                            a_rank(mpi.estimated_ns));
    }
    if (stall_words(profile, first.stall).try_io) {
        text += ". Next: dwell run --io on, which names files and procedures";
    }
    canvas->paragraph(text + ".", 2, Style::kWarm);
}

void draw_causes(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const std::vector<CauseLine> all = cause_lines(profile);
    if (all.empty()) return;
    uint64_t all_ns = 0;
    for (const CauseLine& cause : all) all_ns += cause.time_ns;
    std::vector<CauseLine> shown;
    for (const CauseLine& cause : all) {
        const bool counts =
            static_cast<double>(cause.time_ns) >= kLeastCause * static_cast<double>(all_ns);
        if (counts && shown.size() < static_cast<size_t>(options.lines)) shown.push_back(cause);
    }
    canvas->title(fmt::format("Causes of waiting ({} of {})", shown.size(), all.size()),
                  "waiting of all ranks by its cause; time: mean per rank");
    put_heads({{"share", 7}, {"time", 9}, {"directly", 9}, {"passed on", 11}}, kNumberWidth,
              canvas);
    int number = 0;
    for (const CauseLine& cause : shown) {
        draw_cause(profile, cause, ++number, static_cast<double>(all_ns), canvas);
    }
    canvas->paragraph(
        "  Directly: ranks waited for the late rank itself. Passed on: they waited for a rank that "
        "the late rank had delayed.",
        2, Style::kDim);
}

void draw_clocks(const Profile& profile, TextCanvas* canvas) {
    const bool utf8 = canvas->utf8();
    const bool injected = std::any_of(profile.ranks.begin(), profile.ranks.end(),
                                      [](const auto& rank) { return rank.injected_ns != 0; });
    canvas->title("Clocks", "virtual time: real time less intrusion");
    std::vector<Column> columns = {
        {"rank", 6}, {"real", 10}, {"virtual", 10}, {"intrusion", 11}, {"own cost", 10}};
    if (injected) columns.push_back({"injected", 10});
    put_heads(columns, 0, canvas);
    for (const ProfileRank& rank : profile.ranks) {
        const auto time = [utf8](uint64_t ns) { return time_text(static_cast<double>(ns), utf8); };
        Line line;
        line.add(pad_left(fmt::format("{}", rank.rank), 6), Style::kName);
        line.add(pad_left(time(rank.real_ns), 10));
        line.add(pad_left(time(rank.real_ns - std::min(rank.real_ns, rank.intrusion_ns)), 10));
        line.add(pad_left(time(rank.intrusion_ns), 11)).add(pad_left(time(rank.own_ns), 10));
        if (injected) line.add(pad_left(time(rank.injected_ns), 10));
        canvas->put(line);
    }
}

}  // namespace dwell
