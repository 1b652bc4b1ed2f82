// Finds causes of waiting that are no computation; see stalls.h.
#include "report/figures/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "report/figures/figures.h"
#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kLeastOff = 0.25;  // of the time that would otherwise be computation
constexpr double kAlmostAll = 0.8;  // part of the time in I/O, for one statement

struct Part {
    StallKind kind;
    uint64_t ProfileStall::*ns;
};
constexpr Part kParts[] = {{StallKind::kIo, &ProfileStall::io_ns},
                           {StallKind::kAsleep, &ProfileStall::asleep_ns},
                           {StallKind::kQueued, &ProfileStall::queued_ns},
                           {StallKind::kKernel, &ProfileStall::kernel_ns}};

bool is_flagged(const Profile& profile, FileFlags flag) {
    return std::any_of(profile.ranks.begin(), profile.ranks.end(),
                       [flag](const ProfileRank& rank) { return (rank.flags & flag) != 0; });
}

// The user's procedure, loop or block around a statement, also where the library executes it.
uint32_t code_around(const Profile& profile, uint32_t statement) {
    return own_code(profile, profile.nodes[statement].parent);
}

// Of a procedure's I/O statements the one with most time of the rank: the record has the statement
// that was longest at once.
struct Statement {
    uint32_t node = kNoNode;
    uint64_t time_ns = 0;  // of the rank; 0: unknown
};
Statement costliest_beside(const Profile& profile, uint32_t io_node, uint32_t rank) {
    std::map<uint32_t, uint64_t> time_ns;
    const uint32_t code = code_around(profile, io_node);
    const auto add = [&](uint32_t node, uint64_t ns) {
        const bool beside = is_io(profile.nodes[node]) && code_around(profile, node) == code;
        if (beside) time_ns[node] += ns;
    };
    for (const ProfileRow& row : profile.rows) {
        if (row.rank == rank) add(row.node, row.totals.time_ns);
    }
    uint32_t most = io_node;
    for (const auto& [node, ns] : time_ns) {
        if (ns > time_ns[most]) most = node;
    }
    return {most, time_ns[most]};
}

std::string verb_of(const ProfileNode& node) {
    const auto names = [&](const char* part) {
        return std::strstr(node.name.c_str(), part) != nullptr;
    };
    if (names("open") || names("creat")) return "opens";
    if (names("close")) return "closes";
    if (names("sync") || names("flush")) return "writes";
    return node.totals.bytes_received > node.totals.bytes_sent ? "reads" : "writes";
}

double on_of(const ProfileStall& stall) {
    const uint64_t off_ns = stall.io_ns + stall.asleep_ns + stall.queued_ns;
    return static_cast<double>(stall.time_ns - std::min(stall.time_ns, off_ns));
}

struct Others {
    double on_ns = 0;  // time on a processor
    double queued_ns = 0;
};
Others others_than(uint32_t rank, const std::map<uint32_t, ProfileStall>& by_rank) {
    Others others;
    for (const auto& [number, other] : by_rank) {
        if (number == rank) continue;
        others.on_ns += on_of(other);
        others.queued_ns += static_cast<double>(other.queued_ns);
    }
    return others;
}

// The part of a rank's excess over the others that comes from longer computation, with the same
// share of a processor as theirs.
double longer_by_computing(const std::map<uint32_t, ProfileStall>& by_rank, uint32_t rank) {
    const auto [on_ns, queued_ns] = others_than(rank, by_rank);
    if (on_ns == 0) return 0;
    const double mean_ns = on_ns / static_cast<double>(by_rank.size() - 1);
    return (on_of(by_rank.at(rank)) - mean_ns) * (on_ns + queued_ns) / on_ns;
}

// The time without a processor beyond the time expected from the others' share: a rank that
// computes longer also waits longer for a processor.
uint64_t beyond_share(const std::map<uint32_t, ProfileStall>& by_rank, uint32_t rank) {
    const auto [on_ns, queued_ns] = others_than(rank, by_rank);
    const ProfileStall& own = by_rank.at(rank);
    const double usual_ns = on_ns > 0 ? on_of(own) * queued_ns / on_ns : 0;
    const auto all_ns = static_cast<double>(own.queued_ns);
    return usual_ns < all_ns ? static_cast<uint64_t>(all_ns - usual_ns) : 0;
}

}  // namespace

void LongParts::add(const ProfileStall& stall) {
    add_stall(stall, &most_io_ns_[stall.rank], &by_rank[stall.rank]);
}

Stall stall_of_cause(const LongParts& parts, size_t ranks, uint32_t rank, uint64_t count,
                     uint64_t waited_ns) {
    const std::map<uint32_t, ProfileStall>& by_rank = parts.by_rank;
    const auto own = by_rank.find(rank);
    if (own == by_rank.end() || own->second.count == 0) return {};
    const ProfileStall& times = own->second;
    const uint64_t others = std::max<uint64_t>(ranks, 2) - 1;
    const uint64_t waiters = std::clamp<uint64_t>(count / times.count, 1, others);
    // Some ranks wait once for several delays of the rank: then more ranks wait than `waiters`, and
    // the quotient is limited by the computation's time.
    const uint64_t delay_ns = std::min(waited_ns / waiters, times.time_ns + parts.beside_ns);
    const bool all_known = by_rank.size() >= ranks;
    Stall cause;
    uint64_t most_ns = 0;
    const auto more_than_others = [&](uint64_t ProfileStall::*part) {
        uint64_t least_ns = all_known ? times.*part : 0;
        for (const auto& [number, other] : by_rank) least_ns = std::min(least_ns, other.*part);
        return times.*part - least_ns;
    };
    for (const Part& part : kParts) {
        const uint64_t more_ns = part.kind == StallKind::kQueued ? beyond_share(by_rank, rank)
                                                                 : more_than_others(part.ns);
        if (more_ns <= most_ns || 2 * more_ns < delay_ns) continue;
        most_ns = more_ns;
        cause = {part.kind, times};
    }
    // Ranks with equal computation that lose their processors in turn are late in turn, none of
    // them longer in total.
    const auto in_turn = [&] {
        double on_ns = 0;
        for (const auto& [number, other] : by_rank) on_ns += on_of(other);
        const auto delay = static_cast<double>(delay_ns);
        return all_known && static_cast<double>(parts.beside_ns) < 0.1 * on_ns &&
               2 * static_cast<double>(times.queued_ns) >= delay &&
               2 * longer_by_computing(by_rank, rank) < delay;
    };
    if (most_ns == 0 && in_turn()) return {StallKind::kQueued, times};
    // Writing files is both sleep and kernel time, in parts.
    const uint64_t asleep_ns = more_than_others(&ProfileStall::asleep_ns);
    const uint64_t kernel_ns = more_than_others(&ProfileStall::kernel_ns);
    const uint64_t both_ns = asleep_ns + kernel_ns;
    if (both_ns > most_ns && 2 * both_ns >= delay_ns) {
        cause = {asleep_ns >= kernel_ns ? StallKind::kAsleep : StallKind::kKernel, times};
    }
    cause.maybe_io = cause.kind == StallKind::kQueued && 4 * both_ns >= delay_ns;
    return cause;
}

std::string io_stall_text(const Profile& profile, const Stall& stall, int room, bool utf8) {
    if (stall.kind != StallKind::kIo || stall.times.io_node == kNoNode) return "";
    const Statement most = costliest_beside(profile, stall.times.io_node, stall.times.rank);
    const ProfileNode& node = profile.nodes[most.node];
    const auto all_ns = static_cast<double>(stall.times.io_ns);
    const bool others =
        most.time_ns != 0 && static_cast<double>(most.time_ns) < kAlmostAll * all_ns;
    const std::string files = io_file_text(node, utf8);
    std::string text =
        verb_of(node) + " " + (files.empty() ? "files" : cut_middle(files, room, utf8));
    const uint32_t code = code_around(profile, most.node);
    const std::string procedure = procedure_name(profile, code, utf8);
    if (!procedure.empty()) text += " in " + cut_name(procedure, room, utf8);
    const uint32_t line = step_below(profile, code, most.node);
    const ProfileNode& step = profile.nodes[line == kNoNode ? most.node : line];
    const std::string place = cut_place(place_text(step, utf8), room, utf8);
    return text + fmt::format(" ({}{}{}{}): {}", place, place.empty() ? "" : " ", node.name,
                              others ? " and others" : "", time_text(all_ns, utf8));
}

StallWords stall_words(const Profile& profile, const Stall& stall) {
    const ProfileStall& times = stall.times;
    const auto share = [&](uint64_t ns) {
        return share_text(static_cast<double>(ns), static_cast<double>(times.time_ns)) +
               " of the time";
    };
    const uint64_t off_ns = times.io_ns + times.asleep_ns + times.queued_ns;
    const std::string on =
        "on a processor " + share(times.time_ns - std::min(times.time_ns, off_ns));
    const bool no_queue = is_flagged(profile, kFileNoQueue);
    const bool with_io = is_flagged(profile, kFileIo);
    switch (stall.kind) {
        case StallKind::kAsleep:
            if (no_queue) return {"sleeps, does I/O or has no processor", on, !with_io};
            return {with_io ? "sleeps or waits outside of MPI" : "does I/O or sleeps", on,
                    !with_io};
        case StallKind::kQueued:
            return {"has no processor", on, stall.maybe_io && !with_io};
        case StallKind::kKernel:
            return {"does I/O or gets memory", "in the kernel " + share(times.kernel_ns), !with_io};
        case StallKind::kIo:
        case StallKind::kNone:
            return {};
    }
    return {};
}

ProcessorUse processor_use(const Profile& profile) {
    ProcessorUse use;
    for (const ProfileRank& rank : profile.ranks) {
        if (rank.usage_ns == 0) return {};
        use.on_ns += processor_ns(rank);
        use.real_ns += rank.usage_ns;
    }
    return use;
}

uint64_t beyond_processor_ns(const Profile& profile) {
    const ProcessorUse use = processor_use(profile);
    if (use.real_ns == 0) return 0;
    const uint64_t all_ns = computed_ns(profile);
    return all_ns - std::min(all_ns, use.on_ns);
}

uint64_t off_processor_ns(const Profile& profile) {
    if (!is_serial(profile) && profile.ranks.size() != 1) return 0;
    const uint64_t off_ns = beyond_processor_ns(profile);
    const auto all_ns = static_cast<double>(computed_ns(profile));
    return static_cast<double>(off_ns) > kLeastOff * all_ns ? off_ns : 0;
}

// Ranks with equal processors are taken together, and all ranks of a host. Partly overlapping sets
// of processors are treated as separate.
Holders holders_of_processors(const Profile& profile) {
    using Set = std::pair<uint32_t, uint32_t>;  // number of processors, and the first
    std::map<std::string, std::map<Set, Holders>> hosts;
    for (const ProfileRank& rank : profile.ranks) {
        if (rank.processors == 0) return {};
        Holders& bound = hosts[rank.host][{rank.processors, rank.first_processor}];
        bound.who = Holder::kRanks;
        bound.ranks += 1;
        bound.threads += std::max<uint64_t>(rank.threads, 1);
        bound.processors = rank.processors;
    }
    Holders most{Holder::kOtherPrograms};
    const auto crowd = [](const Holders& these) {
        return static_cast<double>(these.threads) / static_cast<double>(these.processors);
    };
    const auto look_at = [&](const Holders& these) {
        if (these.threads <= these.processors) return;
        if (most.who != Holder::kRanks || crowd(these) > crowd(most)) most = these;
    };
    for (const auto& [host, sets] : hosts) {
        Holders all{Holder::kRanks};
        for (const auto& [set, bound] : sets) {
            look_at(bound);
            all.ranks += bound.ranks;
            all.threads += bound.threads;
            all.processors += bound.processors;
        }
        look_at(all);
    }
    return most;
}

}  // namespace dwell
