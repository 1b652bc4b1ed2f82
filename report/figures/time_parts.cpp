// Divides the time of ranks into the report's parts (figures.h). All shares are computed here.
#include <algorithm>
#include <cstring>
#include <map>

#include "report/figures/figures.h"
#include "report/figures/text_style.h"
#include "report/figures/wait_figures.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr double kLeastQueued = 0.005;       // of all time
constexpr double kTellingMean = 0.001;       // of the time of a rank
constexpr uint64_t kTogetherNs = 5'000'000;  // mean wait in MPI_Finalize of ranks that end together

bool is_setup_call(const ProfileNode& node) {
    if (!is_communication(node) || node.call >= kMpiCallCount) return false;
    const CallClass call_class = kMpiCalls[node.call].call_class;
    return call_class == CallClass::kEnvironment || call_class == CallClass::kManage;
}

uint64_t blocked_in(const Totals& totals) { return std::min(totals.blocked_ns, totals.time_ns); }

uint64_t known_in(const Totals& totals) { return std::min(totals.sync_ns, blocked_in(totals)); }

bool waits_at_end(const ProfileNode& node) {
    return is_setup_call(node) && std::strcmp(kMpiCalls[node.call].name, "MPI_Finalize") == 0 &&
           known_in(node.totals) > kTogetherNs * node.totals.count;
}

// Transfer still includes time without a processor.
MpiTimes mpi_times_with_queued(const Profile& profile) {
    const uint64_t known_ns = std::min(profile.sync_ns, profile.blocked_ns);
    MpiTimes times{profile.transfer_ns, profile.blocked_ns, profile.blocked_ns - known_ns, 0, 0};
    for (const ProfileNode& node : profile.nodes) {
        const uint64_t part_ns = setup_part_ns(node, node.totals);
        if (part_ns == 0) continue;
        const uint64_t known = known_in(node.totals);
        const uint64_t blocked = blocked_in(node.totals) - (is_setup(node) ? 0 : known);
        times.setup_ns += part_ns;
        if (is_setup(node)) times.setup_sync_ns += known;
        times.blocked_ns -= std::min(times.blocked_ns, blocked);
        times.estimated_ns -= std::min(times.estimated_ns, estimated_ns(node.totals));
        times.transfer_ns -= std::min(times.transfer_ns, part_ns - std::min(part_ns, blocked));
    }
    return times;
}

// Computation and transfer still include time without a processor.
std::vector<RankFigures> figures_with_queued(const Profile& profile) {
    std::vector<RankFigures> figures;
    if (profile.rows.empty()) return figures;
    std::map<uint32_t, size_t> index_of;
    for (const ProfileRank& rank : profile.ranks) {
        index_of.emplace(rank.rank, figures.size());
        figures.emplace_back().rank = rank.rank;
    }
    for (const ProfileRow& row : profile.rows) {
        const auto found = index_of.find(row.rank);
        if (found == index_of.end()) continue;
        RankFigures& rank = figures[found->second];
        const ProfileNode& node = profile.nodes[row.node];
        rank.computation_ns += row.computation_ns;
        if (row.node == 0) {
            rank.omp_wait_ns += row.totals.omp_wait_ns;
            rank.omp_idle_ns += row.totals.omp_idle_ns;
        }
        if (is_io(node)) rank.io_ns += row.totals.time_ns;
        if (!is_communication(node)) continue;
        const uint64_t setup = setup_part_ns(node, row.totals);
        const uint64_t rest_ns = row.totals.time_ns - setup;
        const uint64_t blocked = std::min(row.totals.blocked_ns, rest_ns);
        const uint64_t known = std::min(row.totals.sync_ns, blocked);
        rank.setup_ns += setup;
        rank.blocked_ns += blocked;
        rank.known_ns += known;
        rank.estimated_ns += blocked - known;
        rank.transfer_ns += rest_ns - blocked;
        rank.bytes_sent += row.totals.bytes_sent;
        rank.bytes_received += row.totals.bytes_received;
    }
    for (RankFigures& rank : figures) {
        rank.computation_ns -= std::min(rank.computation_ns, rank.omp_wait_ns + rank.omp_idle_ns);
    }
    for (const ProfileRank& from : profile.ranks) {
        RankFigures& rank = figures[index_of[from.rank]];
        rank.queued_work_ns = std::min(from.queued_ns, rank.computation_ns);
        rank.queued_ns = rank.queued_work_ns + std::min(from.queued_call_ns, rank.transfer_ns);
    }
    return figures;
}

QueuedTimes queued_of(const Profile& profile, const std::vector<RankFigures>& figures) {
    QueuedTimes times;
    for (const RankFigures& rank : figures) {
        times.work_ns += rank.queued_work_ns;
        times.call_ns += rank.queued_ns - rank.queued_work_ns;
    }
    if (figures.empty()) {
        for (const ProfileRank& rank : profile.ranks) {
            times.work_ns += rank.queued_ns;
            times.call_ns += rank.queued_call_ns;
        }
    }
    times.work_ns = std::min(times.work_ns, profile.computation_ns);
    if (times.call_ns != 0) {
        times.call_ns = std::min(times.call_ns, mpi_times_with_queued(profile).transfer_ns);
    }
    const auto all_ns = static_cast<double>(times.work_ns + times.call_ns);
    return all_ns >= kLeastQueued * static_cast<double>(profile.total_ns) ? times : QueuedTimes{};
}

}  // namespace

bool is_setup(const ProfileNode& node) { return is_setup_call(node) && !waits_at_end(node); }

uint64_t setup_part_ns(const ProfileNode& node, const Totals& totals) {
    if (!is_setup_call(node)) return 0;
    return totals.time_ns - (waits_at_end(node) ? known_in(totals) : 0);
}

QueuedTimes queued_times(const Profile& profile) {
    const bool any = std::any_of(
        profile.ranks.begin(), profile.ranks.end(),
        [](const ProfileRank& rank) { return rank.queued_ns + rank.queued_call_ns != 0; });
    return any ? queued_of(profile, figures_with_queued(profile)) : QueuedTimes{};
}

uint64_t computed_ns(const Profile& profile) {
    return profile.computation_ns - queued_times(profile).work_ns;
}

MpiTimes mpi_times(const Profile& profile) {
    MpiTimes times = mpi_times_with_queued(profile);
    times.transfer_ns -= queued_times(profile).call_ns;
    return times;
}

uint64_t own_setup_ns(const Profile& profile) {
    const MpiTimes times = mpi_times(profile);
    uint64_t own_ns = times.setup_ns - times.setup_sync_ns;
    const std::vector<RankFigures> ranks = rank_figures(profile);
    for (const RankFigures& rank : ranks) own_ns = std::min(own_ns, rank.setup_ns * ranks.size());
    return own_ns;
}

double time_outside_setup(const Profile& profile) {
    const uint64_t in_setup = std::min(mpi_times_with_queued(profile).setup_ns, profile.total_ns);
    return static_cast<double>(in_setup == profile.total_ns ? in_setup
                                                            : profile.total_ns - in_setup);
}

double judged_time(const Profile& profile) {
    const double active_ns = time_outside_setup(profile);
    const auto paused_ns = static_cast<double>(profile.paused_ns);
    return paused_ns < active_ns ? active_ns - paused_ns : active_ns;
}

std::string run_share_text(double ns, double judged_ns, bool setup) {
    return setup ? "set-up" : share_text(ns, judged_ns);
}

std::vector<RankFigures> rank_figures(const Profile& profile) {
    std::vector<RankFigures> figures = figures_with_queued(profile);
    const QueuedTimes queued = queued_of(profile, figures);
    const bool counts = queued.work_ns + queued.call_ns != 0;
    for (RankFigures& rank : figures) {
        if (!counts) rank.queued_ns = rank.queued_work_ns = 0;
        rank.computation_ns -= rank.queued_work_ns;
        rank.transfer_ns -= rank.queued_ns - rank.queued_work_ns;
    }
    return figures;
}

bool is_telling_mean(const Profile& profile, double mean_ns) {
    const double run_ns = static_cast<double>(profile.total_ns) / rank_count(profile);
    return mean_ns > 0 && mean_ns >= kTellingMean * run_ns;
}

std::string unfinished_text(const Totals& totals, double ranks, bool utf8) {
    if (totals.unfinished_ns == 0) return {};
    return time_text(static_cast<double>(totals.unfinished_ns) / ranks, utf8) + " unfinished";
}

}  // namespace dwell
