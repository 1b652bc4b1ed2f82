// What the text report derives from a profile before it draws: sums per rank, communication lines
// over all paths, intervals over all paths.
#ifndef DWELL_REPORT_FIGURES_FIGURES_H_
#define DWELL_REPORT_FIGURES_FIGURES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// Calls that start and end MPI or create and free its objects. The report shows their time, waiting
// included, as set-up, apart from that of communication. MPI_Finalize is none of them where ranks
// wait in it for late ones: that is waiting like any other, and the rest of its time is set-up.
bool is_setup(const ProfileNode& node);
// What of `totals` is set-up: those of the node, or of one rank there.
uint64_t setup_part_ns(const ProfileNode& node, const Totals& totals);

// A program that never called MPI: sampled from outside.
bool is_serial(const Profile& profile);

// That ranks waited for a processor: sums over ranks, in what would else be computation and
// transfer, and of no rank more than that. 0 where it is hardly anything.
struct QueuedTimes {
    uint64_t work_ns = 0;
    uint64_t call_ns = 0;
};
QueuedTimes queued_times(const Profile& profile);

// Without what ranks waited for a processor.
uint64_t computed_ns(const Profile& profile);

// How the report divides the time in MPI; sums over ranks.
struct MpiTimes {
    uint64_t transfer_ns = 0;
    uint64_t blocked_ns = 0;    // waiting
    uint64_t estimated_ns = 0;  // of blocked_ns
    uint64_t setup_ns = 0;
    uint64_t setup_sync_ns = 0;  // of setup_ns: waiting for other ranks, as far as that is known
};
MpiTimes mpi_times(const Profile& profile);

// Set-up without waiting for ranks that start late: what the quickest rank takes, for all of them.
uint64_t own_setup_ns(const Profile& profile);

// What decides whether something is long enough to be shown: the time of all ranks outside set-up,
// so that a short run is shown as a long one is. All of it where there is nothing else.
double time_outside_setup(const Profile& profile);

// What all shares of the run's time are of: the time of all ranks without set-up and pauses.
double judged_time(const Profile& profile);

// "12.3 %" of `judged_ns`; of what is set-up, which is no part of those, "set-up".
std::string run_share_text(double ns, double judged_ns, bool setup = false);

// One rank, threads summed. Waiting and idle time in OpenMP are no computation.
struct RankFigures {
    uint32_t rank = 0;
    uint64_t computation_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t queued_ns = 0;       // waited for a processor; part of neither
    uint64_t queued_work_ns = 0;  // of it: in what would else be computation
    uint64_t blocked_ns = 0;      // waiting: known_ns and estimated_ns
    uint64_t known_ns = 0;
    uint64_t estimated_ns = 0;
    uint64_t setup_ns = 0;
    uint64_t omp_wait_ns = 0;  // of OpenMP's threads, in constructs
    uint64_t omp_idle_ns = 0;  // outside of regions
    uint64_t io_ns = 0;
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

// What partners are weighed by: their time, unless hardly any of the line's has a partner, as with
// polls that mostly find nothing.
enum class PairMeasure { kTime, kBytes, kMessages };

// A pair of ranks, or a distance between ranks, and its part of a communication line's time, or of
// the bytes or messages of all pairs. A pair stands once for each direction of its messages, or
// once for both where these are not told apart; time is that of both ranks, a message that both saw
// counts once.
struct PairShare {
    std::string text;  // "0→3", "0↔3", "0→w1:2", "+1"
    double share = 0;
};
struct HeaviestPairs {
    std::vector<PairShare> pairs;  // heaviest first
    size_t others = 0;             // beyond the limit
    PairMeasure measure = PairMeasure::kTime;
};

// A communication statement over all call paths that reach it.
struct CommLine {
    uint32_t node = 0;   // the costliest of its nodes
    uint32_t place = 0;  // where that stands: itself, or a call of the program around it
    bool setup = false;
    uint64_t setup_ns = 0;  // of the time
    std::vector<uint32_t> nodes;
    Totals totals{};
    std::optional<Peak> worst;  // unknown when several nodes and no rows
};
inline uint64_t without_setup_ns(const CommLine& line) {
    return line.totals.time_ns - std::min(line.totals.time_ns, line.setup_ns);
}
// Communication before set-up, longest time first.
std::vector<CommLine> comm_lines(const Profile& profile);
// I/O statements, likewise. One in the code of a library's header, which the compiler put into the
// program (a stream of C++, a checked form of the C library), stands where the program calls that.
std::vector<CommLine> io_lines(const Profile& profile);
HeaviestPairs heaviest_pairs(const Profile& profile, const CommLine& line, bool utf8, size_t limit);

// A procedure, loop or block with probes, over all call paths that reach it.
struct SiteLine {
    uint32_t node = 0;  // the one of its nodes with most own time
    std::vector<uint32_t> nodes;
    Totals totals{};
    uint64_t own_ns = 0;
    uint32_t labels = 0;
    std::optional<Peak> worst;  // of own time; unknown without rows
};
inline uint64_t weight_ns(const SiteLine& line) { return line.own_ns + line.totals.estimated_ns; }
// Longest own time first, with what is estimated of entries without time. Of markers there are
// none: they take no time.
std::vector<SiteLine> site_lines(const Profile& profile);

// What probes know beside time and count, such as "2000 iterations, recursive"; often empty. Counts
// are sums, times means of `ranks`.
std::string probe_text(const ProfileNode& node, double ranks, bool utf8);

// "0 to 19", or "0 to 19, only to 17 on rank 3" where not all came as far; empty when no numbers
// were given.
std::string iterations_text(const PhaseNumbers& phase);

// Computation between two communication statements, over all call paths.
struct IntervalLine {
    uint32_t from = kNoNode;
    uint32_t to = 0;
    uint32_t booked_on = 0;
    bool or_after = false;  // see ProfileInterval
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t max_ns = 0;
    uint64_t samples = 0;
    std::vector<SampledLine> lines;  // most samples first
};
// Longest time first.
std::vector<IntervalLine> interval_lines(const Profile& profile);

// Where samples of a node's own computation fell, over all intervals that it owns.
struct SampledPlaces {
    uint64_t samples = 0;
    std::vector<SampledLine> lines;  // most samples first
};
// By node; empty for those without samples.
std::vector<SampledPlaces> sampled_places(const Profile& profile);
// Of the whole profile.
SampledPlaces all_sampled_places(const Profile& profile);

// What a sample counts for: of one in a library of the system the line that called that.
SampledLine own_line(const Profile& profile, SampledLine line);
// By that, of the whole profile.
SampledPlaces own_sampled_places(const Profile& profile);

// The procedure that holds a loop or block; without one that itself.
uint32_t procedure_around(const Profile& profile, uint32_t node);

// "relax jacobi.cpp:81 26 %, :79 18 %": as many lines, at most `limit`, as fit; empty when not even
// the first one does. A name is left out where it is that of the line before.
std::string places_text(const SampledPlaces& places, size_t limit, int width, bool utf8);

// Of each node's own computation: the rank that has most. Empty without rows.
std::vector<std::optional<Peak>> computation_peaks(const Profile& profile);

// The innermost node that holds more than half of what rank `rank` computes beyond the mean,
// waiting of OpenMP's threads left out; kNoNode: only the program does.
uint32_t extra_computation(const Profile& profile, uint32_t rank);

// "file.c:88", or the module where there is no line; empty when nothing is known.
std::string place_text(const ProfileNode& node, bool utf8);

// The place of a statement below the procedure that holds it: as place_text, but "+0x2bb" where all
// that is known is the offset in that procedure, or in its module when it has no name.
std::string place_in_procedure(const Profile& profile, uint32_t node, bool utf8);

// The short name of a procedure. What a block is called is up to the user, whatever C++ would make
// of it.
std::string shown_name(const ProfileNode& node, bool utf8);

// The name of a procedure, or of the one that holds a statement or block; of a block in none its
// own.
std::string procedure_name(const Profile& profile, uint32_t node, bool utf8);

// The name of the procedure that holds this statement.
std::string procedure_of(const Profile& profile, uint32_t node, bool utf8);

// Tells apart what computation is booked on: name and place of a procedure, loop or block.
using OwnerKey = std::tuple<std::string, std::string, int>;
OwnerKey owner_key(const Profile& profile, uint32_t node);

// What stands before the owner of a computation: "in", or "in or after" where the owner may have
// returned meanwhile.
std::string in_words(bool or_after);

// What computation is booked on, in at most `room` columns: "relax", "relax, loop heat.c:12",
// "main, assembly" (a block).
std::string owner_text(const Profile& profile, uint32_t node, int room, bool utf8);

// How many ranks a mean is taken over; at least 1.
double rank_count(const Profile& profile);

// "204 ms a rank" of a sum over ranks; "204 ms" where there is one.
std::string per_rank_text(const Profile& profile, uint64_t ns, bool utf8);

// Whether a rank's part is worth comparing with the mean: where that is next to nothing, ranks
// without any are no imbalance.
bool is_telling_mean(const Profile& profile, double mean_ns);

// "out.dat", "out.dat and others"; empty where no file is known.
std::string io_file_text(const ProfileNode& node, bool utf8);
// Of all nodes of a line the file of the one that took most time, and whether there are others.
std::string io_files_text(const Profile& profile, const CommLine& line, bool utf8);

// A ratio of the largest to the mean from here on is worth a colour.
constexpr double kNotableImbalance = 1.5;
// Below this one the ranks are alike, and which of them had most is chance.
constexpr double kLeastImbalance = 1.05;
// What a rank has above the mean is worth a sentence from this part of the mean total on.
constexpr double kNotableExtra = 0.01;

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_FIGURES_H_
