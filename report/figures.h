// What the text report derives from a profile before it draws: sums per rank, communication lines
// over all paths, intervals over all paths.
#ifndef DWELL_REPORT_FIGURES_H_
#define DWELL_REPORT_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "summarize/profile.h"

namespace dwell {

// One rank, threads summed.
struct RankFigures {
    uint32_t rank = 0;
    uint64_t computation_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
};
// In the order of profile.ranks; empty when the profile has no rows.
std::vector<RankFigures> rank_figures(const Profile& profile);

// The rank that has most of something, and how much.
struct Peak {
    uint32_t rank = 0;
    double ns = 0;
};
std::optional<Peak> peak(const std::vector<RankFigures>& ranks, uint64_t RankFigures::*member);

// A pair of ranks, or a distance between ranks, and its part of a communication line's time.
struct PairShare {
    std::string text;  // "0→3", "w1:2→0", "+1"
    double share = 0;
};

// A communication statement over all call paths that reach it.
struct CommLine {
    uint32_t node = 0;  // the costliest of its nodes
    std::vector<uint32_t> nodes;
    Totals totals{};
    std::optional<Peak> worst;  // unknown when several nodes and no rows
};
// Longest time first.
std::vector<CommLine> comm_lines(const Profile& profile);
// Heaviest first, at most `limit`; `*others` is how many more there are.
std::vector<PairShare> heaviest_pairs(const Profile& profile, const CommLine& line, bool utf8,
                                      size_t limit, size_t* others);

// Computation between two communication statements, over all call paths.
struct IntervalLine {
    uint32_t from = kNoNode;
    uint32_t to = 0;
    uint32_t booked_on = 0;
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t max_ns = 0;
    uint64_t samples = 0;
    std::vector<SampledLine> lines;  // most samples first
};
// Longest time first.
std::vector<IntervalLine> interval_lines(const Profile& profile);

// "file.c:88", or the module where there is no line; empty when nothing is known.
std::string place_text(const ProfileNode& node, bool utf8);

// The name of the procedure that holds this statement.
std::string procedure_of(const Profile& profile, uint32_t node, bool utf8);

// How many ranks a mean is taken over; at least 1.
double rank_count(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_H_
