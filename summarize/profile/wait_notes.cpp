// Writes the notes on waiting; see wait_notes.h.
#include "summarize/profile/wait_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "runtime/contract/mpi_calls.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kNotableRest = 0.01;  // part of all time

// Neither a message call nor a call that completes messages.
bool is_collective(const ProfileNode& node) {
    if (node.call >= kMpiCallCount) return false;
    const CallClass call_class = kMpiCalls[node.call].call_class;
    return call_class == CallClass::kCollective || call_class == CallClass::kManage;
}

// The text of a sum of counters that saturate at kCounterFull.
std::string counted(uint64_t sum) {
    return fmt::format("{}{}", sum < kCounterFull ? "" : "at least ", sum);
}

void add_folded_peers(const Profile& profile, NoteWriter* notes) {
    uint64_t messages = 0;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind == SiteKind::kCommunication) messages += node.totals.folded_peers;
    }
    if (messages == 0) return;
    notes->add(
        fmt::format("{} message{} to partners beyond the limit on partners of one statement "
                    "are in its totals only",
                    counted(messages), plural(messages)));
}

bool on_one_host(const Profile& profile) {
    const auto elsewhere = [&](const ProfileRank& rank) {
        return rank.host != profile.ranks.front().host;
    };
    return std::none_of(profile.ranks.begin(), profile.ranks.end(), elsewhere);
}

// The worst host whose clock was synchronised with the first host's.
void add_clocks(const Profile& profile, NoteWriter* notes) {
    std::set<std::string> hosts;
    uint64_t bound_ns = 0;
    for (const ProfileRank& rank : profile.ranks) {
        if (rank.clock_bound_ns == 0) continue;
        hosts.insert(rank.host);
        bound_ns = std::max(bound_ns, rank.clock_bound_ns);
    }
    if (hosts.empty()) return;
    notes->add(fmt::format("clocks of {} hosts related within {:.1f} us", hosts.size() + 1,
                           static_cast<double>(bound_ns) / 1e3));
}

// "500 calls of MPI_Iprobe, MPI_Test, that ...": the untimed calls of runtime/calls/polls.h.
void add_untimed(const Profile& profile, NoteWriter* notes) {
    std::map<std::string, uint64_t> by_function;
    uint64_t calls = 0;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind != SiteKind::kCommunication || node.totals.untimed == 0) continue;
        by_function[node.name] += node.totals.untimed;
        calls += node.totals.untimed;
    }
    if (calls == 0) return;
    std::string names;
    for (const auto& entry : by_function) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.first);
    }
    notes->add(
        fmt::format("{} call{} of {} repeated an unsuccessful one and {} not timed one by one: "
                    "the time is estimated from those that were",
                    calls, plural(calls), names, calls == 1 ? "was" : "were"));
}

// Calls whose waiting is not measured, by reason.
struct Unmeasured {
    std::map<std::string, uint64_t> unknown;  // by function: no time stamp of a partner
    std::map<std::string, uint64_t> open;     // by function: MPI does not define whether the call
                                              // waits
    uint64_t guessed = 0;                     // messages whose matching send is uncertain
    uint64_t messages = 0;                    // messages without a time stamp
    uint64_t collectives = 0;                 // collectives with ranks on other hosts, or of groups
    uint64_t contributors = 0;                // contributors that wait until their data are taken
};

Unmeasured unmeasured_waits(const Profile& profile) {
    Unmeasured calls;
    for (const ProfileNode& node : profile.nodes) {
        if (node.kind != SiteKind::kCommunication) continue;
        const Totals& totals = node.totals;
        if (totals.estimated_waits != 0 && node.name.starts_with("MPI_File_")) {
            calls.open[node.name] += totals.estimated_waits;
        } else if (!is_collective(node)) {
            calls.messages += totals.estimated_waits;
        } else if (totals.late_receiver_ns != 0) {
            calls.contributors += totals.estimated_waits;
        } else {
            calls.collectives += totals.estimated_waits;
        }
        calls.guessed += totals.guessed_waits;
        if (totals.unknown_waits != 0 && totals.blocked_ns > totals.sync_ns) {
            calls.unknown[node.name] += totals.unknown_waits;
        }
    }
    return calls;
}

// "500 calls of MPI_Bcast, MPI_Recv": the calls without a time stamp of a partner.
void add_unknown_waits(const Unmeasured& calls, NoteWriter* notes) {
    std::string names;
    uint64_t unknown = 0;
    for (const auto& [name, count] : calls.unknown) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
        unknown += count;
    }
    if (unknown != 0) {
        notes->add(
            fmt::format("of {} call{} of {} it is not known when the partners came: their "
                        "waiting is estimated",
                        counted(unknown), plural(unknown), names));
    }
    for (const auto& [name, count] : calls.open) {
        notes->add(
            fmt::format("{} need not wait for all ranks; {} call{} that ended after the "
                        "last one had come {} taken to have waited for it",
                        name, counted(count), plural(count), count == 1 ? "was" : "were"));
    }
}

void add_estimated_waits(const Profile& profile, const Unmeasured& calls, NoteWriter* notes) {
    const bool near = on_one_host(profile);
    // On one host every message has a time stamp, or is labelled.
    const uint64_t messages = near ? 0 : calls.messages;
    const uint64_t collectives = calls.collectives + (near ? calls.messages : 0);
    if (messages != 0) {
        notes->add(
            fmt::format("{} message{} from other hosts came without {} time: what it is was "
                        "taken from earlier ones",
                        counted(messages), plural(messages), messages == 1 ? "its" : "their"));
    }
    const uint64_t open = calls.contributors + (near ? collectives : 0);
    if (open != 0) {
        notes->add(
            fmt::format("{} collective call{} ended soon after a rank had come that MPI need "
                        "not wait for (it takes what the caller gives, passes on what the "
                        "call moves, or is of the caller's own group of two): taken to have "
                        "waited for that one",
                        counted(open), plural(open)));
    }
    if (collectives != 0 && !near) {
        notes->add(
            fmt::format("{} collective call{} met ranks of other hosts that did not tell "
                        "when they came, or ranks that MPI need not wait for: what was "
                        "waited is estimated",
                        counted(collectives), plural(collectives)));
    }
    if (calls.guessed != 0) {
        notes->add(
            fmt::format("{} message{} could have been one of several that dwell cannot tell "
                        "apart: when {} sent is a guess of dwell's",
                        counted(calls.guessed), plural(calls.guessed),
                        calls.guessed == 1 ? "it was" : "they were"));
    }
}

// "99 choices on 1 rank between messages were made ..." (--preserve-order).
void add_order(NoteWriter* notes) {
    notes->add_count(&ProfileRank::order_kept, "choice",
                     "between messages fell in the order of the run without dwell");
    notes->add_count(&ProfileRank::order_remote, "choice",
                     "between messages took what came: some sender may be on another node");
    notes->add_count(
        &ProfileRank::order_posted, "choice",
        "between messages took what came: receives of any source that MPI had already, "
        "or requests of other kinds");
    notes->add_count(&ProfileRank::order_unknown, "choice",
                     "between messages took what came: what some rank did was not known");
}

// Smaller amounts appear only in the lists of partners and causes.
bool is_notable(uint64_t time_ns, const Profile& profile) {
    double real_ns = 0;
    for (const ProfileRank& rank : profile.ranks) real_ns += static_cast<double>(rank.real_ns);
    return time_ns != 0 && static_cast<double>(time_ns) >= kNotableRest * real_ns;
}

// Reports waiting whose cause is no interval of this profile.
void add_unknown_paths(const Profile& profile, NoteWriter* notes) {
    uint64_t unknown_ns = 0;
    uint64_t places = 0;
    for (const ProfilePartner& partner : profile.partners) {
        if (partner.peer == kNoPeer || partner.interval != kNoNode) continue;
        unknown_ns += partner.time_ns;
        ++places;
    }
    if (!is_notable(unknown_ns, profile)) return;
    notes->add(
        fmt::format("what a partner was doing is not known in {} case{}, {} of the known "
                    "waiting",
                    places, plural(places), percent(unknown_ns, profile.sync_ns)));
}

// Each thread, and the merge, keeps a limited number of causes.
void add_rest_of_causes(const Profile& profile, NoteWriter* notes) {
    uint64_t waits = 0;
    uint64_t rest_ns = 0;
    uint64_t all_ns = 0;
    for (const ProfileCause& cause : profile.causes) {
        all_ns += cause.time_ns;
        if (cause.peer != kNoPeer) continue;
        waits += cause.count;
        rest_ns += cause.time_ns;
    }
    if (!is_notable(rest_ns, profile)) return;
    notes->add(fmt::format("what caused {} wait{} is not known or kept, {} of the known waiting",
                           waits, plural(waits), percent(rest_ns, all_ns)));
}

}  // namespace

void add_wait_notes(NoteWriter* notes) {
    const Profile& profile = notes->profile();
    const Unmeasured calls = unmeasured_waits(profile);
    add_clocks(profile, notes);
    add_folded_peers(profile, notes);
    add_untimed(profile, notes);
    add_unknown_waits(calls, notes);
    add_estimated_waits(profile, calls, notes);
    add_order(notes);
    add_unknown_paths(profile, notes);
    add_rest_of_causes(profile, notes);
}

}  // namespace dwell
