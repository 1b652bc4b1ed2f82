// Computes the losses of a run and words the sentences about them; see losses.h.
#include "report/figures/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "report/figures/figures.h"
#include "report/figures/names.h"
#include "report/figures/omp_figures.h"
#include "report/figures/text_style.h"
#include "report/figures/wait_figures.h"
#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr int kBriefRoom = 43;              // columns of names: from here on a sentence is brief
constexpr int kRoomForCalls = 32;           // part of these, for MPI calls beside their lines
constexpr double kMostly = 0.5;             // part of a line's waiting, for one rank
constexpr double kNotableCause = 0.2;       // part of the waiting that makes a main cause
constexpr double kNotableSetupWait = 0.05;  // of set-up
constexpr double kNotableOfAll = 0.01;      // of the time that is judged

// Whether the last place in `preceding`, such as "heat.c:78" or "heat.c:29 and :35", is in `file`.
bool names_last(std::string_view preceding, const std::string& file) {
    for (size_t colon; (colon = preceding.rfind(':')) != preceding.npos;
         preceding = preceding.substr(0, colon)) {
        const bool number = colon + 1 < preceding.size() &&
                            isdigit(static_cast<unsigned char>(preceding[colon + 1])) != 0;
        const bool named = colon != 0 && preceding[colon - 1] != ' ';
        if (!number || !named) continue;
        const std::string_view before = preceding.substr(0, colon);
        return before.ends_with(" " + file) || before.ends_with("(" + file);
    }
    return false;
}

// "halo.c:88 MPI_Recv in exchange"; with little room, after a text `preceding` that ends with a
// place in the same file, ":88 MPI_Recv in exchange".
std::string statement_text(const Profile& profile, const CommLine& line, int room, bool utf8,
                           const std::string& preceding = "") {
    const ProfileNode& node = profile.nodes[line.node];
    const ProfileNode& place = profile.nodes[line.place];
    std::string text = cut_place(place_text(place, utf8), room, utf8);
    const std::string file = printable(base_name(place.file), utf8);
    if (room != kAllOfIt && place.line != 0 && names_last(preceding, file)) {
        text = fmt::format(":{}", place.line);
    }
    text += (text.empty() ? "" : " ") + printable(node.name, utf8);
    const std::string procedure = procedure_of(profile, line.place, utf8);
    const bool named = place_in_procedure(profile, line.place, utf8).starts_with("+0x");
    if (!procedure.empty() && !named) text += " in " + cut_name(procedure, room, utf8);
    return text;
}

// The lines of the owner before and after its computation; empty where they are unknown.
std::string between_text(const Profile& profile, const ProfileInterval& interval, int room,
                         bool utf8) {
    const uint32_t to = step_below(profile, interval.booked_on, interval.to);
    if (to == kNoNode) return "";
    const std::string end = cut_place(place_text(profile.nodes[to], utf8), room, utf8);
    if (interval.from == kNoNode) return "before " + end;
    const uint32_t from = step_below(profile, interval.booked_on, interval.from);
    if (from == kNoNode) return "";
    const ProfileNode& first = profile.nodes[from];
    const ProfileNode& last = profile.nodes[to];
    const std::string start = cut_place(place_text(first, utf8), room, utf8);
    // A single line does not limit the computation, so the calls are named.
    if (start == end) {
        const std::string before = cut_name(shown_name(first, utf8), room, utf8);
        const std::string after = cut_name(shown_name(last, utf8), room, utf8);
        // Of a procedure all that it does outside of MPI may be meant.
        const std::string calls = last.kind == SiteKind::kCall ? "MPI calls of " : "calls of ";
        return before == after ? "between " + calls + after : "between " + before + " and " + after;
    }
    return "between " + start + " and " +
           (first.file == last.file ? fmt::format(":{}", last.line) : end);
}

// "between heat.c:29 MPI_Barrier and :35 MPI_Barrier", with little room "between heat.c:29 and
// :35"; "between calls of MPI_Barrier (heat.c:35)".
std::string calls_text(const Profile& profile, const ProfileInterval& interval, int room,
                       bool utf8) {
    const ProfileNode& to = profile.nodes[interval.to];
    const auto place = [&](const ProfileNode& node) {
        return cut_place(place_text(node, utf8), room, utf8);
    };
    const std::string name = shown_name(to, utf8);
    if (interval.from == kNoNode) return "before " + place(to) + " " + name;
    const ProfileNode& from = profile.nodes[interval.from];
    const std::string first = shown_name(from, utf8);
    const bool same_place = from.file == to.file && from.line == to.line;
    if (same_place && first == name) {
        return fmt::format("between calls of {} ({})", name, place(to));
    }
    const bool named = same_place || room >= kRoomForCalls;
    const bool same_file = from.file == to.file && to.line != 0;
    return "between " + place(from) + (named ? " " + first : "") + " and " +
           (same_file ? fmt::format(":{}", to.line) : place(to)) + (named ? " " + name : "");
}

std::string with_place(const std::string& name, const std::string& place) {
    return place.empty() ? name : name + " (" + place + ")";
}

// A procedure, loop or block with the line of most samples in it, else its own line.
std::string code_text(const Profile& profile, uint32_t node, std::string place, int room,
                      bool utf8) {
    const ProfileNode& owner = profile.nodes[node];
    const bool is_loop = owner.kind == SiteKind::kLoop;
    if (is_loop && !place.empty()) {
        return with_place(cut_name(procedure_name(profile, node, utf8), room, utf8), place);
    }
    if (place.empty() && !is_loop) place = place_text(owner, utf8);
    return with_place(owner_text(profile, node, room, utf8), cut_place(place, room, utf8));
}

// "in relax (heat.c:78)".
std::string doing_text(const Profile& profile, const Computation& doing, int room, bool utf8) {
    const ProfileInterval& interval = profile.intervals[doing.interval];
    if (doing.unsampled) return calls_text(profile, interval, room, utf8);
    std::string place = cut_place(printable(doing.sampled_place, utf8), room, utf8);
    if (!doing.sampled.empty()) {
        return "in " + with_place(cut_name(short_name(doing.sampled, utf8), room, utf8), place);
    }
    const bool probed = is_probed(profile.nodes[interval.booked_on]);
    if (place.empty() && !probed) place = between_text(profile, interval, room, utf8);
    if (place.empty()) place = cut_place(printable(doing.own_place, utf8), room, utf8);
    if (!place.empty() && profile.nodes[interval.booked_on].kind == SiteKind::kProcedure) {
        return in_words(interval.or_after) + " " +
               with_place(owner_text(profile, interval.booked_on, room, utf8), place);
    }
    return in_words(interval.or_after) + " " +
           code_text(profile, interval.booked_on, place, room, utf8);
}

// ", as ranks share processors"; empty where this is unknown.
std::string holder_text(const Profile& profile) {
    switch (holders_of_processors(profile).who) {
        case Holder::kRanks:
            return ", as ranks share processors";
        case Holder::kOtherPrograms:
            return ", as other programs hold the processors";
        case Holder::kUnknown:
            return "";
    }
    return "";
}

template <typename Measure>
const CommLine* longest(const std::vector<CommLine>& lines, Measure measure) {
    const CommLine* most = nullptr;
    for (const CommLine& line : lines) {
        if (line.setup || measure(line) == 0) continue;
        if (most == nullptr || measure(line) > measure(*most)) most = &line;
    }
    return most;
}

uint64_t blocked_of(const CommLine& line) {
    return std::min(line.totals.blocked_ns, without_setup_ns(line));
}

// For waiting at some nodes: the part with a known partner, and the partner waited for most;
// kNoPeer: none.
struct Late {
    uint64_t known_ns = 0;
    uint32_t peer = kNoPeer;
};
template <typename Counts>
Late late_ranks(const Profile& profile, double waited_ns, Counts counts) {
    Late late;
    std::map<uint32_t, uint64_t> by_peer;
    for (const ProfilePartner& partner : profile.partners) {
        if (!counts(partner.node)) continue;
        late.known_ns += partner.time_ns;
        by_peer[partner.peer] += partner.time_ns;
    }
    by_peer.erase(kNoPeer);
    for (const auto& [peer, ns] : by_peer) {
        if (static_cast<double>(ns) >= kMostly * waited_ns) late.peer = peer;
    }
    return late;
}

// Where ranks wait, when the cause is unknown.
std::string waiting_line_text(const Profile& profile, const std::vector<CommLine>& lines, int room,
                              bool utf8) {
    const CommLine* const line = longest(lines, blocked_of);
    if (line == nullptr) return "";
    std::string text = fmt::format("Main loss: ranks wait {} at {}",
                                   per_rank_text(profile, blocked_of(*line), utf8),
                                   statement_text(profile, *line, room, utf8));
    const auto waited_ns = static_cast<double>(line->totals.blocked_ns);
    const std::set<uint32_t> nodes(line->nodes.begin(), line->nodes.end());
    const Late late =
        late_ranks(profile, waited_ns, [&nodes](uint32_t node) { return nodes.count(node) != 0; });
    if (late.peer != kNoPeer) text += ", mostly for " + rank_text(late.peer);
    // A rank without a processor in a call is also late, but no computation is the cause.
    const QueuedTimes queued = queued_times(profile);
    const uint64_t queued_ns = queued.work_ns + queued.call_ns;
    const std::string holder =
        2 * queued_ns >= mpi_times(profile).blocked_ns ? holder_text(profile) : "";
    if (!holder.empty()) return text + holder + ".";
    if (late.peer != kNoPeer) return text + "; no single cause is known.";
    const bool known = static_cast<double>(late.known_ns) >= kMostly * waited_ns;
    return text + (known ? ", for several ranks." : "; the late rank is not known.");
}

// The root cause of most waiting; nothing where that is little.
std::optional<CauseLine> main_cause(const Profile& profile) {
    const std::vector<CauseLine> causes = causes_outside_setup(profile);
    const double waited_ns = static_cast<double>(mpi_times(profile).blocked_ns);
    const bool known = !causes.empty() && causes[0].computation.interval != kNoNode &&
                       static_cast<double>(causes[0].time_ns) >= kNotableCause * waited_ns;
    if (!known) return std::nullopt;
    return causes[0];
}

std::string waiting_cause_text(const Profile& profile, const std::vector<CommLine>& lines, int room,
                               bool utf8) {
    const std::optional<CauseLine> cause = main_cause(profile);
    if (!cause) return waiting_line_text(profile, lines, room, utf8);
    const CauseLine& first = *cause;
    std::string text =
        fmt::format("Main cause: {}, and others wait {}", cause_words(profile, first, room, utf8),
                    per_rank_text(profile, first.time_ns, utf8));
    // The sentence omits where others wait if it is long: that line does not contain the cause.
    const bool is_long = !stall_words(profile, first.stall).verb.empty() || room <= kBriefRoom;
    const CommLine* const line = line_waiting_for(profile, lines, first);
    if (line != nullptr && !is_long) {
        text += ", mostly at " + statement_text(profile, *line, room, utf8, text);
    }
    return text + ".";
}

std::string transfer_cause_text(const Profile& profile, const std::vector<CommLine>& lines,
                                int room, bool utf8) {
    const auto transfer_of = [](const CommLine& line) {
        return without_setup_ns(line) - blocked_of(line);
    };
    const CommLine* const line = longest(lines, transfer_of);
    if (line == nullptr) return "";
    const Totals& totals = line->totals;
    std::string text = fmt::format(
        "Main cause: {} takes {}, in {} calls", statement_text(profile, *line, room, utf8),
        per_rank_text(profile, transfer_of(*line), utf8), count_text(totals.count));
    const uint64_t bytes = totals.bytes_sent + totals.bytes_received;
    if (bytes != 0 && totals.count != 0) {
        text += " of " +
                bytes_text(static_cast<double>(bytes) / static_cast<double>(totals.count)) +
                " on average";
    }
    return text + ".";
}

std::string io_cause_text(const Profile& profile, int room, bool utf8) {
    const std::vector<CommLine> lines = io_lines(profile);
    if (lines.empty()) return "";
    const CommLine& line = lines.front();
    const auto time_ns = static_cast<double>(line.totals.time_ns);
    std::string text =
        fmt::format("Main cause: {} takes {}", statement_text(profile, line, room, utf8),
                    per_rank_text(profile, line.totals.time_ns, utf8));
    const std::string files = io_files_text(profile, line, utf8);
    if (!files.empty()) text += " for file " + cut_middle(files, room, utf8);
    const bool uneven = line.worst && profile.ranks.size() > 1 &&
                        line.worst->ns * rank_count(profile) >= kLeastImbalance * time_ns;
    if (uneven) {
        text +=
            fmt::format(", most on rank {}: {}", line.worst->rank, time_text(line.worst->ns, utf8));
    }
    return text + ".";
}

// "Main cause: 4 ranks share 2 processors: ranks have one in 52 % of the time needed, rank 3 in
// 40 %. Run fewer ranks or use more processors."
std::string queued_cause_text(const Profile& profile) {
    const QueuedTimes queued = queued_times(profile);
    const Holders holders = holders_of_processors(profile);
    std::string text = "Main cause: ";
    switch (holders.who) {
        case Holder::kRanks:
            text += fmt::format("{} rank{}", holders.ranks, holders.ranks == 1 ? "" : "s");
            if (holders.threads > holders.ranks) {
                text += fmt::format(" with {} threads", holders.threads);
            }
            text += fmt::format(" share{} {} processor{}", holders.ranks == 1 ? "s" : "",
                                holders.processors, holders.processors == 1 ? "" : "s");
            break;
        case Holder::kOtherPrograms:
            text += "other programs hold the processors";
            break;
        case Holder::kUnknown:
            text += "too few processors, or other programs hold them";
            break;
    }
    const auto share = [](uint64_t on_ns, uint64_t queued_ns) {
        const auto on = static_cast<double>(on_ns);
        return share_text(on, on + static_cast<double>(queued_ns));
    };
    const auto mean_ns = static_cast<double>(computed_ns(profile)) / rank_count(profile);
    if (queued.call_ns > queued.work_ns) {
        text += ": ranks have none, mostly inside of MPI calls";
    } else if (is_telling_mean(profile, mean_ns)) {
        text += fmt::format(": ranks have one in {} of the time needed",
                            share(computed_ns(profile), queued.work_ns));
        const std::vector<RankFigures> ranks = rank_figures(profile);
        const auto most = std::max_element(ranks.begin(), ranks.end(),
                                           [](const RankFigures& a, const RankFigures& b) {
                                               return a.queued_work_ns < b.queued_work_ns;
                                           });
        if (ranks.size() > 1 &&
            is_telling_mean(profile, static_cast<double>(most->computation_ns))) {
            text += fmt::format(", rank {} in {}", most->rank,
                                share(most->computation_ns, most->queued_work_ns));
        }
    }
    if (holders.who != Holder::kRanks) return text + ".";
    return text + (holders.threads > holders.ranks ? ". Run fewer threads."
                                                   : ". Run fewer ranks or use more processors.");
}

// Of a rank, beside the one that called MPI.
uint64_t most_other_threads(const Profile& profile) {
    uint64_t most = 0;
    for (const ProfileRank& rank : profile.ranks) {
        most = std::max(most, rank.threads - std::min<uint64_t>(rank.threads, 1));
    }
    return most;
}

// Whether computation outside of regions takes too little time to be the cause of the idle time.
bool is_idle_otherwise(const Profile& profile, const SerialCode& code) {
    for (const Loss& loss : losses(profile)) {
        if (loss.kind != LossKind::kOmpIdle) continue;
        return 2 * code.all_ns * most_other_threads(profile) < loss.ns;
    }
    return false;
}

std::string omp_idle_cause_text(const Profile& profile, int room, bool utf8) {
    const SerialCode code = serial_code(profile);
    if (code.node == kNoNode) return "";
    // Threads that get no processor enter their regions late.
    const bool shared = holders_of_processors(profile).who == Holder::kRanks;
    if (shared && is_idle_otherwise(profile, code)) return queued_cause_text(profile);
    const SampledPlaces places = sampled_places(profile)[code.node];
    std::string place;
    std::string where;
    if (code.call != kNoNode) {
        place = place_text(profile.nodes[code.call], utf8);
    } else if (places.samples >= kTellingSamples) {
        ProfileNode line;
        line.file = places.lines[0].file;
        line.line = places.lines[0].line;
        const std::string function = short_name(places.lines[0].function, utf8);
        place = place_text(line, utf8);
        if (function != procedure_name(profile, code.node, utf8)) {
            where = with_place(cut_name(function, room, utf8), cut_place(place, room, utf8));
        }
    }
    if (where.empty()) where = code_text(profile, code.node, place, room, utf8);
    std::string text =
        fmt::format("Main cause: {} of computation outside of OpenMP regions, most in {}",
                    per_rank_text(profile, code.all_ns, utf8), where);
    const auto most_ns = static_cast<double>(code.most_ns);
    const auto all_ns = static_cast<double>(code.all_ns);
    if (profile.ranks.size() > 1 && most_ns * rank_count(profile) >= kLeastImbalance * all_ns) {
        text += fmt::format(", longest on rank {}: {}", code.most_rank, time_text(most_ns, utf8));
    }
    return text + ".";
}

}  // namespace

std::string cause_words(const Profile& profile, const CauseLine& cause, int room, bool utf8) {
    const std::string who = culprits_text(cause, cause.time_ns);
    const std::string io = io_stall_text(profile, cause.stall, room, utf8);
    if (!io.empty()) return who + " " + io;
    const StallWords words = stall_words(profile, cause.stall);
    std::string where = doing_text(profile, cause.computation, room, utf8);
    if (words.verb.empty()) {
        return (cause.peer == kNoPeer ? "ranks compute " : who + " computes ") + where;
    }
    const bool has_place = where.ends_with(')');
    if (has_place) where.pop_back();
    // Names are more important than reasons.
    const bool queued = cause.stall.kind == StallKind::kQueued;
    const std::string reason = queued && room == kAllOfIt ? holder_text(profile) : "";
    return fmt::format("{} {} {}{}{})", who, words.verb, where, has_place ? "; " : " (",
                       words.share + reason);
}

std::string next_options(const Profile& profile) {
    const std::optional<CauseLine> cause = main_cause(profile);
    if (!cause) return "";
    if (stall_words(profile, cause->stall).try_io) return "--io on";
    if (is_unsampled(cause->stall.kind)) return "";
    const ProfileInterval& interval = profile.intervals[cause->computation.interval];
    const bool named = !cause->computation.sampled_place.empty() || !interval.lines.empty();
    const auto unsampled = [](const ProfileRank& rank) {
        return rank.sample_hz == 0 && (rank.flags & kFileNoSampling) == 0;
    };
    const bool possible = std::all_of(profile.ranks.begin(), profile.ranks.end(), unsampled);
    return !named && possible ? "--sample 100" : "";
}

std::vector<Loss> losses(const Profile& profile) {
    const MpiTimes mpi = mpi_times(profile);
    const QueuedTimes queued = queued_times(profile);
    const SerialTime serial = serial_time(profile);
    const double serial_ns = static_cast<double>(serial.computed_ns + serial.blocked_ns) +
                             static_cast<double>(serial.transfer_ns + serial.io_ns);
    uint64_t idle_ns = profile.omp_idle_ns;
    const uint64_t most_others = most_other_threads(profile);
    // Idle time of threads is divided in proportion to other threads' activity outside of regions.
    const auto with_idle = [&](LossKind kind, uint64_t own_ns, uint64_t outside_ns) {
        const double share = serial_ns > 0 ? static_cast<double>(outside_ns) / serial_ns : 0;
        auto part_ns = static_cast<uint64_t>(share * static_cast<double>(profile.omp_idle_ns));
        // Meanwhile all other threads of the rank are idle, which limits the idle time.
        part_ns = std::min(part_ns, outside_ns * most_others);
        idle_ns -= std::min(idle_ns, part_ns);
        return Loss{kind, own_ns, part_ns};
    };
    std::vector<Loss> all = {with_idle(LossKind::kWaiting, mpi.blocked_ns, serial.blocked_ns),
                             with_idle(LossKind::kTransfer, mpi.transfer_ns, serial.transfer_ns),
                             with_idle(LossKind::kIo, profile.io_ns, serial.io_ns)};
    all.push_back({LossKind::kOmpWait, profile.omp_wait_ns});
    all.push_back({LossKind::kOmpIdle, idle_ns});
    all.push_back({LossKind::kQueued, queued.work_ns + queued.call_ns});
    std::erase_if(all, [](const Loss& loss) { return loss.all_ns() == 0; });
    std::stable_sort(all.begin(), all.end(),
                     [](const Loss& a, const Loss& b) { return a.all_ns() > b.all_ns(); });
    return all;
}

std::string cause_text(const Profile& profile, const std::vector<CommLine>& lines, LossKind kind,
                       int room, bool utf8) {
    switch (kind) {
        case LossKind::kWaiting:
            return waiting_cause_text(profile, lines, room, utf8);
        case LossKind::kTransfer:
            return transfer_cause_text(profile, lines, room, utf8);
        case LossKind::kIo:
            return io_cause_text(profile, room, utf8);
        case LossKind::kQueued:
            return queued_cause_text(profile);
        case LossKind::kOmpIdle:
            return omp_idle_cause_text(profile, room, utf8);
        case LossKind::kOmpWait: {
            const std::string text = omp_wait_text(profile, room, utf8);
            return text.empty() ? text : "Main cause: " + text + ".";
        }
    }
    return "";
}

std::string computation_text(const Profile& profile, int room, bool utf8) {
    const SampledPlaces places = own_sampled_places(profile);
    if (places.samples >= kTellingSamples) {
        const std::string text = places_text(places, 3, 2 * room, utf8);
        return text.empty() ? "" : "Most computation, by samples: " + text + ".";
    }
    uint32_t most = kNoNode;
    uint64_t most_ns = 0;
    for (const SiteLine& line : site_lines(profile)) {
        if (weight_ns(line) <= most_ns) continue;
        most_ns = weight_ns(line);
        most = line.node;
    }
    if (most == kNoNode || !has_source_probes(profile)) return "";
    return fmt::format("Most {}: {}, {}.", off_processor_ns(profile) != 0 ? "time" : "computation",
                       code_text(profile, most, "", room, utf8),
                       per_rank_text(profile, most_ns, utf8));
}

std::string setup_wait_text(const Profile& profile, bool utf8) {
    const MpiTimes mpi = mpi_times(profile);
    const auto waited_ns = static_cast<double>(mpi.setup_sync_ns);
    if (waited_ns < kNotableSetupWait * static_cast<double>(mpi.setup_ns) ||
        waited_ns < kNotableOfAll * judged_time(profile)) {
        return "";
    }
    const Late late = late_ranks(
        profile, waited_ns, [&profile](uint32_t node) { return is_setup(profile.nodes[node]); });
    return fmt::format(", {} waiting for {}", time_text(waited_ns / rank_count(profile), utf8),
                       rank_text(late.peer));
}

}  // namespace dwell
