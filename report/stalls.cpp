// See stalls.h.
#include "report/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "report/figures.h"
#include "report/views.h"
#include "summarize/profile_walk.h"

namespace dwell {
namespace {

constexpr double kLeastQueued = 0.005;  // of all time

struct Part {
    StallKind kind;
    uint64_t ProfileStall::*ns;
};
constexpr Part kParts[] = {{StallKind::kIo, &ProfileStall::io_ns},
                           {StallKind::kAsleep, &ProfileStall::asleep_ns},
                           {StallKind::kQueued, &ProfileStall::queued_ns},
                           {StallKind::kKernel, &ProfileStall::kernel_ns}};

bool has_io(const Profile& profile) {
    return std::any_of(profile.nodes.begin(), profile.nodes.end(),
                       [](const ProfileNode& node) { return node.kind == SiteKind::kIo; });
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

}  // namespace

Stall stall_of_cause(const std::vector<ProfileStall>& stalls, size_t ranks, uint32_t rank,
                     uint64_t count, uint64_t waited_ns) {
    std::map<uint32_t, ProfileStall> by_rank;
    for (const ProfileStall& stall : stalls) {
        ProfileStall& sum = by_rank[stall.rank];
        if (stall.io_ns >= sum.io_ns && stall.io_node != kNoNode) sum.io_node = stall.io_node;
        sum.count += stall.count;
        sum.time_ns += stall.time_ns;
        sum.io_ns += stall.io_ns;
        sum.asleep_ns += stall.asleep_ns;
        sum.queued_ns += stall.queued_ns;
        sum.kernel_ns += stall.kernel_ns;
    }
    const auto own = by_rank.find(rank);
    if (own == by_rank.end() || own->second.count == 0) return {};
    const ProfileStall& times = own->second;
    const uint64_t others = std::max<uint64_t>(ranks, 2) - 1;
    const uint64_t waiters = std::clamp<uint64_t>(count / times.count, 1, others);
    const bool all_known = by_rank.size() >= ranks;
    Stall cause;
    uint64_t most_ns = 0;
    for (const Part& part : kParts) {
        uint64_t least_ns = times.*part.ns;
        for (const auto& [number, other] : by_rank) least_ns = std::min(least_ns, other.*part.ns);
        const uint64_t more_ns = times.*part.ns - (all_known ? least_ns : 0);
        if (more_ns <= most_ns || 2 * more_ns < waited_ns / waiters) continue;
        most_ns = more_ns;
        cause = {part.kind, times};
    }
    return cause;
}

std::string io_stall_text(const Profile& profile, const Stall& stall, int room, bool utf8) {
    if (stall.kind != StallKind::kIo || stall.times.io_node == kNoNode) return "";
    const uint32_t index = stall.times.io_node;
    const ProfileNode& node = profile.nodes[index];
    const std::string files = io_file_text(node, utf8);
    std::string text =
        verb_of(node) + " " + (files.empty() ? "files" : cut_middle(files, room, utf8));
    const std::string procedure = procedure_of(profile, index, utf8);
    if (!procedure.empty()) text += " in " + cut_name(procedure, room, utf8);
    const std::string place = cut_place(place_text(node, utf8), room, utf8);
    return text + fmt::format(" ({}{}{}): {}", place, place.empty() ? "" : " ", node.name,
                              time_text(static_cast<double>(stall.times.io_ns), utf8));
}

StallWords stall_words(const Profile& profile, const Stall& stall) {
    const ProfileStall& times = stall.times;
    const auto share = [&](uint64_t ns) {
        return share_text(static_cast<double>(ns), static_cast<double>(times.time_ns));
    };
    const uint64_t off_ns = times.io_ns + times.asleep_ns + times.queued_ns;
    const std::string on =
        "on a processor " + share(times.time_ns - std::min(times.time_ns, off_ns));
    const bool no_queue =
        std::any_of(profile.ranks.begin(), profile.ranks.end(),
                    [](const ProfileRank& rank) { return (rank.flags & kFileNoQueue) != 0; });
    const bool with_io = has_io(profile);
    const std::string advice = with_io ? "" : ", try --io on";
    switch (stall.kind) {
        case StallKind::kAsleep:
            if (no_queue) return {"sleeps, does I/O or has no processor", on, advice};
            return {with_io ? "sleeps or waits outside of MPI" : "does I/O or sleeps", on, advice};
        case StallKind::kQueued:
            return {"waits for a processor", on, ", as ranks share processors"};
        case StallKind::kKernel:
            return {"does I/O or gets memory", "in the kernel " + share(times.kernel_ns), advice};
        case StallKind::kIo:
        case StallKind::kNone:
            return {};
    }
    return {};
}

QueuedTimes queued_times(const Profile& profile) {
    QueuedTimes times;
    for (const ProfileRank& rank : profile.ranks) {
        times.work_ns += rank.queued_ns;
        times.call_ns += rank.queued_call_ns;
    }
    const auto all_ns = static_cast<double>(times.work_ns + times.call_ns);
    return all_ns >= kLeastQueued * static_cast<double>(profile.total_ns) ? times : QueuedTimes{};
}

}  // namespace dwell
