// Figures that the text report derives from a profile before drawing: sums per rank, and lines of
// communication, I/O, computation and probes over all call paths.
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

// Calls that start and end MPI or create and free its objects. The report shows their time,
// including waiting, as set-up instead of communication. Exception: in MPI_Finalize ranks may wait
// for late ranks, which counts as waiting; the rest of its time is set-up.
bool is_setup(const ProfileNode& node);
// The set-up part of `totals`, which are those of the node, or of one rank there.
uint64_t setup_part_ns(const ProfileNode& node, const Totals& totals);

// Whether the program never called MPI and was sampled from outside.
bool is_serial(const Profile& profile);

// Time that ranks waited for a processor: sums over ranks, as parts of computation and transfer,
// limited to each rank's own. 0 where it is negligible.
struct QueuedTimes {
    uint64_t work_ns = 0;
    uint64_t call_ns = 0;
};
QueuedTimes queued_times(const Profile& profile);

// Computation without waiting for a processor.
uint64_t computed_ns(const Profile& profile);

// The parts of the time in MPI; sums over ranks.
struct MpiTimes {
    uint64_t transfer_ns = 0;
    uint64_t blocked_ns = 0;    // waiting
    uint64_t estimated_ns = 0;  // part of blocked_ns
    uint64_t setup_ns = 0;
    uint64_t setup_sync_ns = 0;  // part of setup_ns: measured waiting for other ranks
};
MpiTimes mpi_times(const Profile& profile);

// Set-up without waiting for late ranks: the quickest rank's time, multiplied by the number of
// ranks.
uint64_t own_setup_ns(const Profile& profile);

// The time that decides whether a line is long enough to be shown: that of all ranks outside
// set-up, so that short and long runs are shown alike. All time if there is none outside set-up.
double time_outside_setup(const Profile& profile);

// The whole of all shares: the time of all ranks without set-up and pauses.
double judged_time(const Profile& profile);

// "12.3 %" of `judged_ns`; "set-up" for set-up, which is not part of judged_ns.
std::string run_share_text(double ns, double judged_ns, bool setup = false);

// One rank, threads summed. Computation excludes waiting and idle time in OpenMP.
struct RankFigures {
    uint32_t rank = 0;
    uint64_t computation_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t queued_ns = 0;       // waited for a processor; included in neither
    uint64_t queued_work_ns = 0;  // part of queued_ns that would otherwise be computation
    uint64_t blocked_ns = 0;      // waiting: known_ns and estimated_ns
    uint64_t known_ns = 0;
    uint64_t estimated_ns = 0;
    uint64_t setup_ns = 0;
    uint64_t omp_wait_ns = 0;  // of OpenMP threads, in constructs
    uint64_t omp_idle_ns = 0;  // outside of regions
    uint64_t io_ns = 0;
    uint64_t bytes_sent = 0;
    uint64_t bytes_received = 0;
};
// In the order of profile.ranks; empty when the profile has no rows.
std::vector<RankFigures> rank_figures(const Profile& profile);

// The rank with most of a figure, and its value.
struct Peak {
    uint32_t rank = 0;
    double ns = 0;
};
std::optional<Peak> peak(const std::vector<RankFigures>& ranks, uint64_t RankFigures::*member);

// The weight of partners: their time, or another measure where hardly any of the line's time has a
// partner, as with polls without a message.
enum class PairMeasure { kTime, kBytes, kMessages };

// A pair of ranks, or a distance between ranks, and its part of a communication line's time, or of
// the bytes or messages of all pairs. A pair appears once for each direction of its messages, or
// once where the directions are unknown. Its time is that of both ranks; a message recorded by both
// counts once.
struct PairShare {
    std::string text;  // "0→3", "0↔3", "0→w1:2", "+1"
    double share = 0;
};
struct HeaviestPairs {
    std::vector<PairShare> pairs;  // heaviest first
    size_t others = 0;             // number of pairs beyond the limit
    PairMeasure measure = PairMeasure::kTime;
};

// A communication statement over all call paths that reach it.
struct CommLine {
    uint32_t node = 0;   // the node with most time
    uint32_t place = 0;  // the node whose place is shown: itself, or an enclosing call in the
                         // program
    bool setup = false;
    uint64_t setup_ns = 0;  // part of the time
    std::vector<uint32_t> nodes;
    Totals totals{};
    std::optional<Peak> worst;  // unknown with several nodes and no rows
};
inline uint64_t without_setup_ns(const CommLine& line) {
    return line.totals.time_ns - std::min(line.totals.time_ns, line.setup_ns);
}
// Communication before set-up, by decreasing time.
std::vector<CommLine> comm_lines(const Profile& profile);
// I/O statements, in the same way. For a statement in a library header inlined into the program (a
// C++ stream, a checked form of the C library) the place is the program's call.
std::vector<CommLine> io_lines(const Profile& profile);
HeaviestPairs heaviest_pairs(const Profile& profile, const CommLine& line, bool utf8, size_t limit);

// A procedure, loop or block with probes, over all call paths that reach it.
struct SiteLine {
    uint32_t node = 0;  // the node with most own time
    std::vector<uint32_t> nodes;
    Totals totals{};
    uint64_t own_ns = 0;
    uint32_t labels = 0;
    std::optional<Peak> worst;  // of own time; unknown without rows
};
inline uint64_t weight_ns(const SiteLine& line) { return line.own_ns + line.totals.estimated_ns; }
// By decreasing own time, including estimates for entries without time. Markers are left out,
// because they take no time.
std::vector<SiteLine> site_lines(const Profile& profile);

// Facts from probes besides time and count, such as "2000 iterations, recursive"; often empty.
// Counts are sums, times means of `ranks`.
std::string probe_text(const ProfileNode& node, double ranks, bool utf8);

// "0 to 19", or "0 to 19, only to 17 on rank 3" if some ranks stopped earlier; empty without
// numbers.
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
// By decreasing time.
std::vector<IntervalLine> interval_lines(const Profile& profile);

// Places of the samples in a node's own computation, over all intervals that it owns.
struct SampledPlaces {
    uint64_t samples = 0;
    std::vector<SampledLine> lines;  // most samples first
};
// By node; empty for nodes without samples.
std::vector<SampledPlaces> sampled_places(const Profile& profile);
// Of the whole profile.
SampledPlaces all_sampled_places(const Profile& profile);

// The line that a sample counts for: in a system library, the line that called the library.
SampledLine own_line(const Profile& profile, SampledLine line);
// The places of the whole profile, by own_line().
SampledPlaces own_sampled_places(const Profile& profile);

// The procedure that contains a loop or block; without one, the node itself.
uint32_t procedure_around(const Profile& profile, uint32_t node);

// "relax jacobi.cpp:81 26 %, :79 18 %": as many lines as fit, at most `limit`; empty when not even
// the first one does. A name equal to that of the line before is left out.
std::string places_text(const SampledPlaces& places, size_t limit, int width, bool utf8);

// For each node, the rank with most own computation. Empty without rows.
std::vector<std::optional<Peak>> computation_peaks(const Profile& profile);

// The innermost node with more than half of rank `rank`'s computation beyond the mean, without
// waiting of OpenMP threads; kNoNode: only the program has.
uint32_t extra_computation(const Profile& profile, uint32_t rank);

// "file.c:88", or the module without a line; empty when nothing is known.
std::string place_text(const ProfileNode& node, bool utf8);

// The place of a statement below its procedure: as place_text, but "+0x2bb" where only the offset
// in the procedure is known, or in its module when the procedure has no name.
std::string place_in_procedure(const Profile& profile, uint32_t node, bool utf8);

// The short name of a procedure. Names of blocks are unchanged, as they are not C++ names.
std::string shown_name(const ProfileNode& node, bool utf8);

// The name of a procedure, or of the procedure that contains a statement or block; of a block
// outside of procedures its own.
std::string procedure_name(const Profile& profile, uint32_t node, bool utf8);

// The name of the procedure that contains this statement.
std::string procedure_of(const Profile& profile, uint32_t node, bool utf8);

// Identifies an owner of computation: name and place of a procedure, loop or block.
using OwnerKey = std::tuple<std::string, std::string, int>;
OwnerKey owner_key(const Profile& profile, uint32_t node);

// The word before an owner of computation: "in", or "in or after" where the owner may have returned
// meanwhile.
std::string in_words(bool or_after);

// The owner of a computation, in at most `room` columns: "relax", "relax, loop heat.c:12", "main,
// assembly" (a block).
std::string owner_text(const Profile& profile, uint32_t node, int room, bool utf8);

// The number of ranks that a mean is taken over; at least 1.
double rank_count(const Profile& profile);

// "204 ms a rank" for a sum over ranks; "204 ms" for a single rank.
std::string per_rank_text(const Profile& profile, uint64_t ns, bool utf8);

// Whether the mean is large enough to compare a rank with: if it is negligible, ranks without any
// time are no imbalance.
bool is_telling_mean(const Profile& profile, double mean_ns);

// "3.1 s unfinished": the mean per rank of entries that had not ended when their process did; empty
// where there are none.
std::string unfinished_text(const Totals& totals, double ranks, bool utf8);

// "out.dat", "out.dat and others"; empty without a known file.
std::string io_file_text(const ProfileNode& node, bool utf8);
// The file of a line's node with most time, and whether there are others.
std::string io_files_text(const Profile& profile, const CommLine& line, bool utf8);

// From this ratio of largest to mean on, the figure is coloured.
constexpr double kNotableImbalance = 1.5;
// Below this ratio ranks count as equal; which one has most is chance.
constexpr double kLeastImbalance = 1.05;
// From this part of the mean total on, a rank's excess over the mean gets a sentence.
constexpr double kNotableExtra = 0.01;

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_FIGURES_H_
