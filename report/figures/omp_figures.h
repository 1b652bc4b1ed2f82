// OpenMP constructs over all call paths, and the computation during which threads are idle.
#ifndef DWELL_REPORT_FIGURES_OMP_FIGURES_H_
#define DWELL_REPORT_FIGURES_OMP_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// A construct over all call paths that reach it.
struct OmpLine {
    uint32_t node = kNoNode;  // the node with most time
    Totals totals{};
    size_t threads = 0;    // that took part
    uint64_t work_ns = 0;  // time without waiting, of all threads
    uint64_t most_ns = 0;  // of one thread
    uint32_t most_rank = 0;
    uint32_t most_thread = 0;
};

// By decreasing time, including regions.
std::vector<OmpLine> omp_lines(const Profile& profile);
bool is_region(const ProfileNode& node);
// Mean over the threads that took part.
double mean_work_ns(const OmpLine& line);
// "thread 1 of rank 2": the thread that worked longest.
std::string thread_name(const Profile& profile, const OmpLine& line);
// ": thread 1 works 1.42 times the mean"; empty if threads are balanced.
std::string uneven_text(const Profile& profile, const OmpLine& line);

// "the region at a.c:20 in relax: thread 1 works 1.42 times the mean", for the region whose threads
// wait longest for each other; empty without waiting.
std::string omp_wait_text(const Profile& profile, int room, bool utf8);
// The code with most computation outside of regions, and the total of such computation. For a
// procedure that regions also execute: its caller, and the place of the call.
struct SerialCode {
    uint32_t node = kNoNode;
    uint32_t call = kNoNode;
    uint64_t all_ns = 0;
    uint64_t most_ns = 0;  // of the rank with most of it
    uint32_t most_rank = 0;
};
SerialCode serial_code(const Profile& profile);
// Activity of threads outside of regions while other threads are idle; sums over ranks, without
// set-up.
struct SerialTime {
    uint64_t computed_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t io_ns = 0;
};
SerialTime serial_time(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_OMP_FIGURES_H_
