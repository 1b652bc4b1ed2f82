// Copies ranks, threads and process grids from merged records to the profile.
#include "summarize/profile/job_profile.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/contract/version.h"

namespace dwell {
namespace {

void describe_job(const Merged& merged, Profile* profile) {
    profile->job = std::string(merged.job, strnlen(merged.job, sizeof merged.job));
    profile->world_size = merged.world_size;
    profile->merged_flags = merged.flags;
    profile->threads_unsampled = merged.threads_unsampled;
    profile->spawned_unseen = merged.spawned_unseen;
    profile->version = DWELL_VERSION;
}

void add_ranks(const Merged& merged, Profile* profile) {
    RankReader reader(merged.ranks);
    for (MergedRank from; reader.next(&from);) {
        ProfileRank rank;
        rank.rank = from.rank;
        rank.pid = from.pid;
        rank.host = from.host;
        rank.program = from.program;
        rank.command = from.command;
        rank.state = static_cast<FileState>(from.state);
        rank.flags = from.flags;
        rank.exit_code = from.exit_code;
        rank.threads = from.threads;
        rank.sample_hz = from.sample_hz;
        rank.callpath_depth = from.callpath_depth;
        rank.processors = from.processors;
        rank.first_processor = from.first_processor;
        rank.start_unix_ns = from.start_unix_ns;
        rank.real_ns = from.real_ns;
        rank.intrusion_ns = from.intrusion_ns;
        rank.own_ns = from.own_ns;
        rank.injected_ns = from.injected_ns;
        rank.paused_ns = from.paused_ns;
        rank.call_cost_ns = static_cast<double>(from.call_cost_ns_q8) / 256;
        rank.record_bytes = from.record_bytes;
        rank.samples = from.samples;
        rank.samples_in_calls = from.samples_in_calls;
        rank.samples_lost = from.samples_lost;
        rank.folded_paths = from.folded_paths;
        rank.files_unnamed = from.files_unnamed;
        rank.io_unobserved = from.io_unobserved;
        rank.process_thread = from.process_thread;
        rank.dropped = from.dropped;
        rank.guessed = from.guessed;
        rank.clock_errors = from.clock_errors;
        rank.clock_offset_ns = from.clock_offset_ns;
        rank.clock_drift_ns = from.clock_drift_ns;
        rank.clock_bound_ns = from.clock_bound_ns;
        rank.order_kept = from.order_kept;
        rank.order_remote = from.order_remote;
        rank.order_posted = from.order_posted;
        rank.order_unknown = from.order_unknown;
        rank.queued_ns = from.queued_ns;
        rank.queued_call_ns = from.queued_call_ns;
        rank.stalls_dropped = from.stalls_dropped;
        rank.usage_ns = from.usage_ns;
        rank.usage = from.usage;
        rank.threads_served = from.threads_served;
        rank.probes = from.probes;
        rank.probes_missed = from.probes_missed;
        rank.probes_dropped = from.probes_dropped;
        rank.threads_cut = from.threads_cut;
        profile->ranks.push_back(std::move(rank));
    }
    std::stable_sort(profile->ranks.begin(), profile->ranks.end(),
                     [](const auto& a, const auto& b) { return a.rank < b.rank; });
}

void add_threads(const Merged& merged, Profile* profile) {
    for (const MergedThread& from : merged.threads) {
        profile->threads.push_back(
            {from.rank, from.thread, from.served, merged.text.data() + from.name});
    }
    std::sort(profile->threads.begin(), profile->threads.end(),
              [](const ProfileThread& a, const ProfileThread& b) {
                  return std::tie(a.rank, a.thread) < std::tie(b.rank, b.thread);
              });
}

void add_grids(const Merged& merged, Profile* profile) {
    for (const MergedGrid& from : merged.grids) {
        ProfileGrid grid;
        if (from.name < merged.text.size()) grid.name = merged.text.data() + from.name;
        for (uint32_t i = 0; i < from.dimensions; ++i) {
            grid.sizes.push_back(from.size[i]);
            grid.periodic.push_back((from.periodic >> i & 1) != 0);
        }
        grid.by_mpi = (from.periodic & kGridByMpi) != 0;
        grid.ranks = from.ranks;
        profile->grids.push_back(std::move(grid));
    }
    for (const MergedPlace& from : merged.places) {
        if (from.grid >= profile->grids.size()) continue;
        ProfileGrid& grid = profile->grids[from.grid];
        const auto dimensions = static_cast<ptrdiff_t>(grid.sizes.size());
        grid.places.push_back({from.rank, {from.coordinate, from.coordinate + dimensions}});
    }
    for (ProfileGrid& grid : profile->grids) {
        std::stable_sort(grid.places.begin(), grid.places.end(),
                         [](const auto& a, const auto& b) { return a.rank < b.rank; });
    }
    std::stable_sort(profile->grids.begin(), profile->grids.end(),
                     [](const auto& a, const auto& b) {
                         return std::tie(a.by_mpi, b.ranks) < std::tie(b.by_mpi, a.ranks);
                     });
}

}  // namespace

void add_job(const Merged& merged, Profile* profile) {
    describe_job(merged, profile);
    add_ranks(merged, profile);
    add_threads(merged, profile);
    add_grids(merged, profile);
}

}  // namespace dwell
