// Computes the figures about waiting for the text report; see wait_figures.h.
#include "report/figures/wait_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/figures/figures.h"
#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kAlmostAll = 0.95;  // part of a computation's delay that is one rank's alone

// The calls of one kind of wait state, by a part of their names.
struct KindOfCall {
    const char* part;
    const char* name;
};
// The first match counts: MPI_Allreduce is no reduce.
constexpr KindOfCall kKindsOfCalls[] = {
    {"arrier", "wait at barrier"},  {"Win_", "wait in window"},
    {"llreduce", "wait at N to N"}, {"llgather", "wait at N to N"},
    {"lltoall", "wait at N to N"},  {"educe_scatter", "wait at N to N"},
    {"eighbor_", "wait at N to N"}, {"cast", "late broadcaster"},
    {"catter", "late scatterer"},   {"educe", "early reduce"},
    {"ather", "early gather"},      {"can", "early scan"},
};

std::string kind_of_call(uint16_t call) {
    const char* const name = call < kMpiCallCount ? kMpiCalls[call].name : "";
    for (const KindOfCall& kind : kKindsOfCalls) {
        if (std::strstr(name, kind.part) != nullptr) return kind.name;
    }
    return "wait for partners";
}

// Computations that a person cannot distinguish are one. With `Ways::kOne`, for a sentence about a
// procedure, computations on one call path that makes none of the surrounding MPI calls are one,
// too.
enum class Ways { kEach, kOne };
using ComputationKey = std::tuple<std::string, int, std::string, int, OwnerKey, bool>;

class Computations {
  public:
    Computations(const Profile& profile, Ways ways)
        : profile_(profile), ways_(ways), asleep_ns_(profile.intervals.size(), 0) {
        for (const ProfileStall& stall : profile.stalls) {
            asleep_ns_[stall.interval] += stall.asleep_ns;
        }
    }

    ComputationKey key(uint32_t interval) const {
        if (interval == kNoNode) return {};
        const ProfileInterval& is = profile_.intervals[interval];
        if (!calls_tell(is)) {
            const auto path = static_cast<int>(is.booked_on);
            return {"", path, "", path, owner_key(profile_, is.booked_on), is.or_after};
        }
        const ProfileNode start;
        const ProfileNode& from = is.from == kNoNode ? start : profile_.nodes[is.from];
        const ProfileNode& to = profile_.nodes[is.to];
        return {from.name + '\n' + from.file,      from.line,  to.name + '\n' + to.file, to.line,
                owner_key(profile_, is.booked_on), is.or_after};
    }

    // Intervals with equal keys; the first represents them. `stall`: of the rank described.
    Computation describe(const std::vector<uint32_t>& intervals, const Stall& stall) const {
        Computation computation;
        if (intervals.empty() || intervals[0] == kNoNode) return computation;
        const ProfileInterval& is = profile_.intervals[intervals[0]];
        computation.interval = intervals[0];
        computation.calls_tell = calls_tell(is);
        computation.procedure = profile_.nodes[procedure_around(profile_, is.booked_on)].name;
        if (stall.kind == StallKind::kIo) computation.io_node = stall.times.io_node;
        if (is_unsampled(stall.kind)) {
            const ProfileNode& owner = profile_.nodes[is.booked_on];
            const bool sampled = std::any_of(
                intervals.begin(), intervals.end(),
                [this](uint32_t interval) { return !profile_.intervals[interval].lines.empty(); });
            computation.unsampled = sampled && !is_probed(owner) && !is_openmp(owner);
            if (computation.unsampled) computation.calls_tell = true;
            return computation;
        }
        if (is_asleep(intervals)) return computation;  // samples only show the remaining time
        describe_samples(procedure_around(profile_, is.booked_on), intervals, &computation);
        return computation;
    }

  private:
    using Samples = std::map<std::string, uint64_t>;  // by function or place

    // The line of the owner with most samples. Those of procedures that it calls say nothing of it:
    // others may have computed as much there. Samples without a call path name their function.
    void describe_samples(uint32_t owner, const std::vector<uint32_t>& intervals,
                          Computation* computation) const {
        Samples functions;
        std::map<std::string, Samples> places;
        Samples of_system;
        uint64_t all = 0;
        for (const uint32_t interval : intervals) {
            for (const SampledLine& line : profile_.intervals[interval].lines) {
                if (is_called(owner, line)) continue;
                const SampledLine user = own_line(profile_, line);
                all += line.samples;
                functions[user.function] += line.samples;
                places[user.function][place_of(user)] += line.samples;
                if (line.system) of_system[called(line)] += line.samples;
            }
        }
        const std::string most = all < kTellingSamples ? "" : more_than_half(functions, all);
        if (most.empty()) {
            places[computation->procedure].erase("");
            computation->own_place = largest(places[computation->procedure]);
            return;
        }
        if (most != computation->procedure) computation->sampled = most;
        computation->sampled_place = largest(places[most]);
        computation->called = more_than_half(of_system, all);
    }

    // Whether another procedure of the program, called by `owner`, has the sample.
    bool is_called(uint32_t owner, const SampledLine& line) const {
        const uint32_t inner = procedure_around(profile_, own_code(profile_, line.node));
        return inner != owner && is_around(profile_.nodes, owner, inner);
    }

    // Whether it is most of the time.
    bool is_asleep(const std::vector<uint32_t>& intervals) const {
        uint64_t asleep_ns = 0;
        uint64_t all_ns = 0;
        for (const uint32_t interval : intervals) {
            asleep_ns += asleep_ns_[interval];
            all_ns += profile_.intervals[interval].time_ns;
        }
        return 2 * asleep_ns > all_ns;
    }

    static std::string place_of(const SampledLine& line) {
        ProfileNode place;
        place.file = line.file;
        place.line = line.line;
        return line.line == 0 ? "" : place_text(place, true);
    }

    // The system function that the program called, where known: exp(), not its callees.
    const std::string& called(const SampledLine& line) const {
        const std::string* name = &line.function;
        for (uint32_t at = line.node; at != kNoNode; at = profile_.nodes[at].parent) {
            const ProfileNode& node = profile_.nodes[at];
            if ((node.labels & kLabelSystem) != 0) {
                if (node.kind == SiteKind::kProcedure) name = &node.name;
            } else if (node.kind != SiteKind::kCall) {
                break;
            }
        }
        return *name;
    }

    // Empty without samples.
    static std::string largest(const Samples& samples) {
        const auto most =
            std::max_element(samples.begin(), samples.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        return most == samples.end() ? "" : most->first;
    }

    // Empty if that has no name.
    static std::string more_than_half(const Samples& samples, uint64_t all) {
        const std::string most = largest(samples);
        const bool has_name = most.find("+0x") == std::string::npos;
        return !most.empty() && has_name && 2 * samples.at(most) > all ? most : "";
    }

    bool calls_tell(const ProfileInterval& interval) const {
        return ways_ == Ways::kEach ||
               is_around(profile_.nodes, interval.booked_on, interval.from) ||
               is_around(profile_.nodes, interval.booked_on, interval.to);
    }

    const Profile& profile_;
    const Ways ways_;
    std::vector<uint64_t> asleep_ns_;  // by interval
};

std::vector<uint32_t> longest_first(const std::map<uint32_t, uint64_t>& times) {
    std::vector<uint32_t> intervals;
    for (const auto& [interval, time_ns] : times) intervals.push_back(interval);
    std::stable_sort(intervals.begin(), intervals.end(),
                     [&](uint32_t a, uint32_t b) { return times.at(a) > times.at(b); });
    return intervals;
}

std::map<ComputationKey, LongParts> long_parts_of(const Profile& profile,
                                                  const Computations& computations) {
    std::map<ComputationKey, LongParts> parts;
    std::map<ComputationKey, uint64_t> long_ns;
    for (const ProfileStall& stall : profile.stalls) {
        const ComputationKey key = computations.key(stall.interval);
        parts[key].add(stall);
        long_ns[key] += stall.time_ns;
    }
    for (uint32_t i = 0; i < profile.intervals.size(); ++i) {
        const auto known = parts.find(computations.key(i));
        if (known != parts.end()) known->second.beside_ns += profile.intervals[i].time_ns;
    }
    for (auto& [key, of_it] : parts) of_it.beside_ns -= std::min(of_it.beside_ns, long_ns[key]);
    return parts;
}

// The delay that one rank caused with one computation.
struct RankDelay {
    uint64_t part_ns = 0;
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t passed_on_ns = 0;
    std::map<uint32_t, uint64_t> intervals;
};
using RankDelays = std::map<uint32_t, RankDelay>;  // by peer

// One line for each activity that made ranks late: writing files, computing and so on.
std::vector<CauseLine> lines_of(const RankDelays& ranks, const LongParts& parts,
                                const Profile& profile, const Computations& computations) {
    std::map<StallKind, CauseLine> by_kind;
    std::map<StallKind, std::map<uint32_t, uint64_t>> intervals;
    const auto add = [&](StallKind kind, const RankDelay& delay) -> CauseLine& {
        CauseLine& line = by_kind[kind];
        line.count += delay.count;
        line.time_ns += delay.time_ns;
        line.passed_on_ns += delay.passed_on_ns;
        for (const auto& [interval, ns] : delay.intervals) intervals[kind][interval] += ns;
        return line;
    };
    const CauseLine* longest = nullptr;
    for (const auto& [peer, delay] : ranks) {
        if (peer == kNoPeer) continue;
        Stall stall;
        if (peer < 1u << kPeerRankBits && delay.time_ns != 0) {
            stall = stall_of_cause(parts, profile.ranks.size(), peer, delay.count, delay.time_ns);
        }
        CauseLine& line = add(stall.kind, delay);
        if (delay.part_ns == 0) continue;
        line.others += line.peer != kNoPeer ? 1 : 0;
        if (delay.part_ns <= line.peer_ns) continue;
        line.peer = peer;
        line.peer_ns = delay.part_ns;
        line.stall = stall;
        if (longest == nullptr || line.peer_ns > longest->peer_ns) longest = &line;
    }
    if (const auto rest = ranks.find(kNoPeer); rest != ranks.end()) {
        CauseLine& line =
            add(longest != nullptr ? longest->stall.kind : StallKind::kNone, rest->second);
        line.more = rest->second.part_ns != 0;
    }
    std::vector<CauseLine> lines;
    for (auto& [kind, line] : by_kind) {
        // Of the rank that delayed longest: others may have computed something else there.
        const auto of_rank = ranks.find(line.peer);
        line.computation = computations.describe(
            longest_first(of_rank != ranks.end() ? of_rank->second.intervals : intervals[kind]),
            line.stall);
        lines.push_back(std::move(line));
    }
    return lines;
}

// The ranks of each computation are compared by `part`.
std::vector<CauseLine> lines_by(uint64_t ProfileCause::*part, const Profile& profile,
                                const std::vector<ProfileCause>& causes, Ways ways) {
    const Computations computations(profile, ways);
    std::map<ComputationKey, RankDelays> by_key;
    for (const ProfileCause& cause : causes) {
        RankDelay& delay = by_key[computations.key(cause.interval)][cause.peer];
        delay.part_ns += cause.*part;
        delay.count += cause.count;
        delay.time_ns += cause.time_ns;
        delay.passed_on_ns += cause.passed_on_ns;
        delay.intervals[cause.interval] += cause.time_ns;
    }
    std::map<ComputationKey, LongParts> parts = long_parts_of(profile, computations);
    std::vector<CauseLine> lines;
    for (const auto& [key, ranks] : by_key) {
        std::vector<CauseLine> of_it = lines_of(ranks, parts[key], profile, computations);
        std::move(of_it.begin(), of_it.end(), std::back_inserter(lines));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const CauseLine& a, const CauseLine& b) {
        const bool a_known = a.computation.interval != kNoNode;
        const bool b_known = b.computation.interval != kNoNode;
        if (a_known != b_known) return a_known;
        return a.time_ns > b.time_ns;
    });
    return lines;
}

}  // namespace

uint64_t estimated_ns(const Totals& totals) {
    return totals.blocked_ns - std::min(totals.sync_ns, totals.blocked_ns);
}

std::vector<WaitKindTime> wait_kinds(uint16_t call, const Totals& totals) {
    const uint64_t between_two =
        std::min(totals.late_sender_ns + totals.late_receiver_ns, totals.sync_ns);
    const std::vector<WaitKindTime> all = {{"late sender", totals.late_sender_ns},
                                           {"late receiver", totals.late_receiver_ns},
                                           {kind_of_call(call), totals.sync_ns - between_two}};
    std::vector<WaitKindTime> kinds;
    for (const WaitKindTime& kind : all) {
        if (kind.time_ns != 0) kinds.push_back(kind);
    }
    std::stable_sort(kinds.begin(), kinds.end(), [](const WaitKindTime& a, const WaitKindTime& b) {
        return a.time_ns > b.time_ns;
    });
    return kinds;
}

Partners partners_of(const Profile& profile, const CommLine& line, size_t limit) {
    const Computations computations(profile, Ways::kEach);
    std::map<std::pair<uint32_t, ComputationKey>, PartnerShare> shares;
    Partners partners;
    uint64_t lost_ns = 0;
    const std::set<uint32_t> nodes(line.nodes.begin(), line.nodes.end());
    for (const ProfilePartner& partner : profile.partners) {
        if (nodes.count(partner.node) == 0) continue;
        partners.all_ns += partner.time_ns;
        if (partner.peer == kNoPeer) {
            partners.rest_ns += partner.time_ns;
            lost_ns += partner.lost_ns;
            continue;
        }
        const auto [entry, is_new] =
            shares.try_emplace({partner.peer, computations.key(partner.interval)});
        PartnerShare& share = entry->second;
        if (is_new) share.doing.interval = partner.interval;
        share.peer = partner.peer;
        share.count += partner.count;
        share.time_ns += partner.time_ns;
        share.max_ns = std::max(share.max_ns, partner.max_ns);
        share.passed_on_ns += partner.passed_on_ns;
    }
    const std::map<ComputationKey, LongParts> parts = long_parts_of(profile, computations);
    for (auto& [key, share] : shares) {
        const auto known = parts.find(key.second);
        Stall stall;
        if (known != parts.end() && share.peer < 1u << kPeerRankBits) {
            stall = stall_of_cause(known->second, profile.ranks.size(), share.peer, share.count,
                                   share.time_ns);
        }
        share.doing = computations.describe({share.doing.interval}, stall);
        partners.heaviest.push_back(share);
    }
    std::stable_sort(
        partners.heaviest.begin(), partners.heaviest.end(),
        [](const PartnerShare& a, const PartnerShare& b) { return a.time_ns > b.time_ns; });
    uint64_t next_ns = 0;
    for (size_t i = limit; i < partners.heaviest.size(); ++i) {
        next_ns = std::max(next_ns, partners.heaviest[i].time_ns);
        partners.rest_ns += partners.heaviest[i].time_ns;
    }
    if (partners.heaviest.size() > limit) partners.heaviest.resize(limit);
    const uint64_t last_ns = partners.heaviest.empty() ? 0 : partners.heaviest.back().time_ns;
    partners.certain = lost_ns == 0 || last_ns >= next_ns + lost_ns;
    return partners;
}

std::vector<CauseLine> cause_lines(const Profile& profile) {
    return lines_by(&ProfileCause::time_ns, profile, profile.causes, Ways::kEach);
}

std::vector<CauseLine> causes_outside_setup(const Profile& profile) {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> setup_ns;  // interval, peer
    for (const ProfilePartner& partner : profile.partners) {
        if (!is_setup(profile.nodes[partner.node])) continue;
        setup_ns[{partner.interval, partner.peer}] +=
            partner.time_ns - std::min(partner.time_ns, partner.passed_on_ns);
    }
    std::vector<ProfileCause> causes = profile.causes;
    for (ProfileCause& cause : causes) {
        uint64_t& left_ns = setup_ns[{cause.interval, cause.peer}];
        const uint64_t direct_ns = cause.time_ns - std::min(cause.time_ns, cause.passed_on_ns);
        const uint64_t taken_ns = std::min(left_ns, direct_ns);
        cause.time_ns -= taken_ns;
        left_ns -= taken_ns;
    }
    std::erase_if(causes, [](const ProfileCause& cause) { return cause.time_ns == 0; });
    return lines_by(&ProfileCause::time_ns, profile, causes, Ways::kOne);
}

const CommLine* line_waiting_for(const Profile& profile, const std::vector<CommLine>& lines,
                                 const CauseLine& cause) {
    const Computations computations(profile, Ways::kOne);
    const ComputationKey wanted = computations.key(cause.computation.interval);
    std::map<uint32_t, size_t> line_of;
    for (size_t i = 0; i < lines.size(); ++i) {
        for (const uint32_t node : lines[i].nodes) line_of[node] = i;
    }
    std::vector<uint64_t> waited_ns(lines.size());
    const CommLine* most = nullptr;
    uint64_t most_ns = 0;
    for (const ProfilePartner& partner : profile.partners) {
        const auto line = line_of.find(partner.node);
        if (line == line_of.end() || lines[line->second].setup) continue;
        if (computations.key(partner.interval) != wanted) continue;
        const uint64_t so_far = waited_ns[line->second] += partner.time_ns;
        if (so_far <= most_ns) continue;
        most = &lines[line->second];
        most_ns = so_far;
    }
    return most;
}

std::optional<CauseLine> main_passed_on(const Profile& profile) {
    std::optional<CauseLine> most;
    uint64_t all_ns = 0;
    for (CauseLine& line :
         lines_by(&ProfileCause::passed_on_ns, profile, profile.causes, Ways::kOne)) {
        all_ns += line.passed_on_ns;
        if (line.computation.interval == kNoNode || line.passed_on_ns == 0) continue;
        if (!most || line.passed_on_ns > most->passed_on_ns) most = std::move(line);
    }
    if (most && 2 * most->passed_on_ns <= all_ns) most.reset();
    return most;
}

std::string culprits_text(const CauseLine& line, uint64_t whole_ns) {
    const std::string first = rank_text(line.peer);
    const auto peer_ns = static_cast<double>(line.peer_ns);
    const auto all_ns = static_cast<double>(whole_ns);
    const bool alone = peer_ns >= kAlmostAll * all_ns || (line.others == 0 && !line.more);
    if (line.peer == kNoPeer || alone) return first;
    const std::string others =
        line.more ? "other ranks"
                  : fmt::format("{} other rank{}", line.others, line.others == 1 ? "" : "s");
    return fmt::format("{}{} (and {})", 2 * peer_ns > all_ns ? "mostly " : "", first, others);
}

bool is_late_without_computing(const Profile& profile, uint32_t rank) {
    for (const CauseLine& cause : causes_outside_setup(profile)) {
        if (cause.peer == rank) return is_unsampled(cause.stall.kind);
    }
    return false;
}

std::string rank_text(uint32_t peer) {
    if (peer == kNoPeer) return "other ranks";
    const uint32_t world = peer >> kPeerRankBits;
    const uint32_t rank = peer & ((1u << kPeerRankBits) - 1);
    if (world == 0) return fmt::format("rank {}", rank);
    if (world == kParentWorld) return fmt::format("rank {} of the parent", rank);
    return fmt::format("rank {} of world {}", rank, world);
}

}  // namespace dwell
