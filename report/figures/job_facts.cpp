// Sums facts over the job and words its reservations; see job_facts.h.
#include "report/figures/job_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/figures/figures.h"
#include "report/figures/stalls.h"
#include "report/figures/text_style.h"
#include "summarize/merge/saturating.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// Part of a probe's cost overlaps with the program if the probe runs often: up to that part too
// much is subtracted. With entries of 70 ns this was two thirds (46 instead of 20 %).
constexpr double kDistorting = 0.1;
constexpr double kNotableOff = 0.05;  // of the time counted as computation

}  // namespace

std::string counted(uint64_t count, const std::string& one, const std::string& many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

Job job_of(const Profile& profile) {
    Job job;
    for (const ProfileRank& rank : profile.ranks) {
        job.threads += std::max<uint64_t>(rank.threads, rank.threads_served);  // records are reused
        job.hosts.insert(rank.host);
        job.programs.insert(rank.program);
        job.start_unix_ns = std::min(job.start_unix_ns, rank.start_unix_ns);
        const int64_t end = later_by(rank.start_unix_ns, rank.real_ns);
        job.end_unix_ns = std::max(job.end_unix_ns, end);
        job.real_ns += rank.real_ns;
        job.intrusion_ns += rank.intrusion_ns;
        job.own_ns += rank.own_ns;
        job.samples += rank.samples;
        job.sample_hz = std::max(job.sample_hz, rank.sample_hz);
        job.folded += rank.folded_paths;
        job.dropped += rank.dropped;
        job.probes_dropped += rank.probes_dropped;
        job.guessed += rank.guessed;
        job.clock_errors += rank.clock_errors;
        job.samples_lost += rank.samples_lost;
        const bool serial = (rank.flags & kFileSerial) != 0;
        job.unfinished += rank.state != FileState::kFinalized && !serial ? 1 : 0;
        job.cut_short += rank.state == FileState::kRunning && serial ? 1 : 0;
        job.without_unwinder += rank.flags & kFileNoUnwinder ? 1 : 0;
        job.with_few_files += rank.flags & kFileFewFiles ? 1 : 0;
        job.damaged += rank.flags & kFileDamaged ? 1 : 0;
        job.modules_full = job.modules_full || (rank.flags & kFileModulesFull) != 0;
    }
    for (const ProfileNode& node : profile.nodes) {
        job.off_entries += node.totals.off_entries;
        job.off_uncertain += node.totals.off_uncertain;
        job.probed += is_probed(node) && !is_openmp(node) ? 1 : 0;
        job.estimated +=
            node.kind == SiteKind::kProcedure && (node.labels & kLabelEstimated) != 0 ? 1 : 0;
    }
    for (const SiteLine& line : site_lines(profile)) {
        job.counted += (line.labels & (kLabelReduced | kLabelCounted)) != 0 ? 1 : 0;
        const bool at_least = (line.labels & kLabelAtLeast) != 0;
        job.split += at_least && line.totals.off_uncertain == 0 ? 1 : 0;
    }
    for (const CommLine& line : comm_lines(profile)) {
        const auto any_is = [&](uint32_t label) {
            return std::any_of(line.nodes.begin(), line.nodes.end(), [&](uint32_t node) {
                return (profile.nodes[node].labels & label) != 0;
            });
        };
        job.folded_lines += any_is(kLabelFolded) ? 1 : 0;
        job.unknown_lines += any_is(kLabelLineUnknown) ? 1 : 0;
        // A call outside of all procedures of the program has no line, such as an interpreter's
        // MPI_Finalize.
        const ProfileNode& first = profile.nodes[line.nodes[0]];
        const bool of_program = first.parent != 0 || !first.file.empty();
        job.without_line += of_program && any_is(kLabelNoLine) ? 1 : 0;
    }
    return job;
}

std::vector<std::string> reservations(const Profile& profile, const Job& job) {
    std::vector<std::string> limits;
    const auto limit = [&limits](uint64_t count, const char* one, const char* many,
                                 const std::string& what) {
        if (count != 0) limits.push_back(counted(count, one, many) + " " + what);
    };
    if (profile.merged_flags & kMergedEventsMissing)
        limits.emplace_back("the event log lacks a part of the run");
    if (profile.ranks.size() < profile.world_size) {
        limits.push_back(
            fmt::format("{} of {} ranks observed", profile.ranks.size(), profile.world_size));
    }
    limit(job.unfinished, "rank", "ranks", "did not reach the end of MPI_Finalize");
    if (job.cut_short != 0) limits.emplace_back("the program did not reach its end");
    if (job.damaged != 0) {
        limits.push_back("records of " + counted(job.damaged, "rank", "ranks") + " damaged");
    }
    limit(job.dropped, "call", "calls", "not counted");
    limit(job.probes_dropped, "entry", "entries", "of procedures, loops or blocks not counted");
    if (job.without_unwinder != 0) limits.emplace_back("no call paths (libunwind missing)");
    if (job.with_few_files != 0) limits.emplace_back("no call paths (few files may be open)");
    limit(job.without_line, "MPI statement", "MPI statements",
          job.modules_full ? fmt::format("without line (more than {} modules)", kModuleLimit)
                           : "without line (compile with -g)");
    limit(job.unknown_lines, "MPI statement", "MPI statements", "of uncertain line");
    limit(job.folded, "call", "calls", "on folded paths");
    if (job.folded == 0) {
        limit(job.folded_lines, "MPI line stands", "MPI lines stand", "for folded paths");
    }
    const double lost =
        static_cast<double>(job.intrusion_ns) / static_cast<double>(job.real_ns + 1);
    if (job.probed != 0 && lost > kDistorting) {
        limits.push_back("probes took " + share_text(lost, 1) +
                         " of the time: short procedures may be shown too short");
    }
    const auto computed = static_cast<double>(computed_ns(profile));
    const auto off_ns = static_cast<double>(beyond_processor_ns(profile));
    if (off_processor_ns(profile) == 0 && off_ns > kNotableOff * computed) {
        limits.push_back("at least " + share_text(off_ns, computed) +
                         " of the computation is off processor");
    }
    limit(job.split, "procedure", "procedures", "counted without early returns, which gcc inlined");
    if (job.counted != 0 && job.off_entries != 0) {
        limits.push_back("counts are exact except for " +
                         counted(job.counted, "short place", "short places") + ", marked ~");
    } else {
        if (job.counted != 0) {
            limits.push_back(
                "time of " +
                counted(job.counted, "short procedure or loop", "short procedures or loops") +
                " partly estimated");
        }
        if (job.off_entries != 0) {
            limits.push_back("about " + count_text(job.off_entries) + " entries estimated");
        }
    }
    limit(job.off_uncertain, "path", "paths", "with entries seen too seldom to be counted");
    limit(job.guessed, "request", "requests", "completed whose start was not seen");
    limit(job.clock_errors, "duration", "durations", "cut to 0 by clock errors");
    if (profile.merged_flags & kMergedRowsDropped) {
        limits.emplace_back("too many ranks for figures of each rank");
    }
    return limits;
}

bool counts_are_exact(const Profile& profile, const Job& job) {
    const uint64_t missing = job.dropped + job.probes_dropped + job.guessed + job.split +
                             job.off_entries + job.off_uncertain + job.damaged + job.unfinished +
                             job.cut_short;
    return missing == 0 && (profile.merged_flags & kMergedEventsMissing) == 0 &&
           profile.ranks.size() >= profile.world_size && !is_serial(profile);
}

}  // namespace dwell
