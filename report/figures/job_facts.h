// Facts about a job as a whole, for the head of the report and the verdict: sums over its ranks,
// and the limits of the trust in its figures.
#ifndef DWELL_REPORT_FIGURES_JOB_FACTS_H_
#define DWELL_REPORT_FIGURES_JOB_FACTS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

struct Job {
    uint64_t threads = 0;
    std::set<std::string> hosts;
    std::set<std::string> programs;
    int64_t start_unix_ns = INT64_MAX;
    int64_t end_unix_ns = INT64_MIN;
    uint64_t real_ns = 0;
    uint64_t intrusion_ns = 0;
    uint64_t own_ns = 0;
    uint64_t samples = 0;
    uint32_t sample_hz = 0;
    uint64_t folded = 0, dropped = 0, guessed = 0, clock_errors = 0, samples_lost = 0;
    uint64_t unfinished = 0, cut_short = 0;  // cut_short: only programs without MPI
    uint64_t without_unwinder = 0, with_few_files = 0;
    uint64_t damaged = 0;
    bool modules_full = false;
    uint64_t probes_dropped = 0, off_entries = 0, off_uncertain = 0;
    uint64_t probed = 0, counted = 0, split = 0, estimated = 0;  // procedures, loops and blocks
    // Statements that call MPI, each counted once over all call paths.
    uint64_t folded_lines = 0, unknown_lines = 0, without_line = 0;
};

Job job_of(const Profile& profile);

// "1 rank", "4 ranks".
std::string counted(uint64_t count, const std::string& one, const std::string& many);

// The limits of the figures, most important first; empty when there are none.
std::vector<std::string> reservations(const Profile& profile, const Job& job);
// Counts may be exact even where times and names are limited.
bool counts_are_exact(const Profile& profile, const Job& job);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_JOB_FACTS_H_
