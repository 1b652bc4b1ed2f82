// Writes a note for everything that was dropped, estimated, guessed or not found, with its number
// (DESIGN 5.7).
#include "summarize/profile/profile_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/contract/mpi_calls.h"
#include "summarize/model/grid_places.h"
#include "summarize/model/profile_walk.h"
#include "summarize/profile/note_writer.h"
#include "summarize/profile/wait_notes.h"

namespace dwell {
namespace {

constexpr size_t kModulesNamed = 3;
constexpr double kNotableOvercount = 0.001;  // part of all time
constexpr double kTimeTolerance = 0.01;
constexpr double kLeastTimeGap_ns = 1e6;  // a smaller gap means nothing for any run

// An estimate without insignificant digits: 1655545 as 1700000.
uint64_t two_digits(uint64_t count) {
    uint64_t unit = 1;
    while (count / unit >= 100) unit *= 10;
    return (count + unit / 2) / unit * unit;
}

class Notes : public NoteWriter {
  public:
    using NoteWriter::NoteWriter;

    void add_axis() {
        const ProfileAxis& axis = profile().axis;
        uint64_t shown_ns = 0;
        for (const ProfileBin& bin : axis.bins) {
            for (uint64_t AxisFigures::*figure : kAxisFigures) {
                if (figure != &AxisFigures::bytes_sent) shown_ns += bin.sum.*figure;
            }
        }
        const uint64_t all_ns = profile().total_ns - profile().paused_ns;
        const uint64_t lacking_ns = all_ns > shown_ns ? all_ns - shown_ns : 0;
        const bool notable =
            static_cast<double>(lacking_ns) >
            std::max(kTimeTolerance * static_cast<double>(all_ns), kLeastTimeGap_ns);
        if (axis.missing_threads != 0 || (notable && !axis.bins.empty())) {
            add(fmt::format("the run over time lacks {:.3g} s: {}",
                            static_cast<double>(lacking_ns) / 1e9,
                            axis.missing_threads != 0
                                ? "no room for all threads in the record files"
                                : "time of threads without calls, or of regions that are not "
                                  "recorded"));
        }
    }

    void add_missing_ranks() {
        if ((profile().merged_flags & kMergedPartial) == 0) return;
        // The ranks are sorted, so missing ranks are gaps between them. The cost follows the ranks
        // that are present, even in a job of 2^24 ranks.
        std::vector<uint32_t> first_missing;
        uint64_t missing = 0;
        uint64_t next = 0;
        const auto add_gap = [&](uint64_t end) {
            for (uint64_t i = next; i < end && first_missing.size() <= kListedRanks; ++i) {
                first_missing.push_back(static_cast<uint32_t>(i));
            }
            missing += end - next;
        };
        for (const ProfileRank& rank : profile().ranks) {
            if (rank.rank >= profile().world_size) break;
            if (rank.rank > next) add_gap(rank.rank);
            next = uint64_t{rank.rank} + 1;
        }
        if (next < profile().world_size) add_gap(profile().world_size);
        if (missing == 0) {
            add("not all records of this job are included");
        } else {
            add(fmt::format("{} of {} ranks {} not included: {}", missing, profile().world_size,
                            missing == 1 ? "is" : "are", first_ranks(first_missing, missing)));
        }
        add("waiting for ranks that are not included counts as MPI transfer where nothing tells "
            "how long it was");
    }

    void add_unfinished_ranks() {
        std::map<FileState, std::vector<uint32_t>> by_state;
        for (const ProfileRank& rank : profile().ranks) {
            if (rank.state == FileState::kFinalized) continue;
            const bool serial = (rank.flags & kFileSerial) != 0;
            if (serial && rank.state == FileState::kRunning) {
                add(std::string("the program did not reach its end (killed, crashed, replaced by "
                                "exec or still running): figures ") +
                    reach_of({rank.rank}));
            }
            if (!serial) by_state[rank.state].push_back(rank.rank);
        }
        for (const auto& [state, ranks] : by_state) {
            const std::string who = rank_list(ranks);
            if (state == FileState::kAborted) {
                add(who + " called MPI_Abort: figures up to then");
            } else if (state == FileState::kExited) {
                add(who + " exited without MPI_Finalize: figures up to then");
            } else {
                add(who +
                    " did not reach the end of MPI_Finalize (killed, crashed, replaced by exec or "
                    "still running): figures " +
                    reach_of(ranks));
            }
        }
    }

    // How far the figures of killed ranks reach.
    std::string reach_of(const std::vector<uint32_t>& ranks) const {
        uint32_t seen = 0;
        uint32_t guessed = 0;
        for (const ProfileRank& rank : profile().ranks) {
            if (!std::binary_search(ranks.begin(), ranks.end(), rank.rank)) continue;
            seen += (rank.flags & kFileEndSeen) != 0 ? 1 : 0;
            guessed += (rank.flags & kFileEndGuessed) != 0 ? 1 : 0;
        }
        const std::string newest = "the newest time in any record of their host";
        if (seen == ranks.size()) return "up to their end, which dwell run saw";
        if (guessed == ranks.size()) return "up to " + newest + ", as nobody saw their end";
        if (seen + guessed != ranks.size()) return "up to the last finished call";
        return fmt::format(
            "up to their end, which dwell run saw of {} of them; of the others up to {}", seen,
            newest);
    }

    void add_spawned() {
        const auto spawns = [](const ProfileNode& node) {
            return node.kind == SiteKind::kCommunication &&
                   (node.name == "MPI_Comm_spawn" || node.name == "MPI_Comm_spawn_multiple") &&
                   node.totals.count > node.totals.failed;
        };
        if (std::none_of(profile().nodes.begin(), profile().nodes.end(), spawns)) return;
        if (const uint32_t unseen = profile().spawned_unseen; unseen != 0) {
            return add(fmt::format("{} spawned process{} not observed; put dwell run around mpirun",
                                   unseen, unseen == 1 ? " was" : "es were"));
        }
        add("processes that MPI_Comm_spawn started are not in this profile; they have one of their "
            "own where the library reached them, as it does with dwell run around the launcher");
    }

    void add_unsampled() {
        const uint32_t unsampled = profile().threads_unsampled;
        if (unsampled == 0) {
            return add_flag(kFileNoSampling, "sampling was asked for and is not available");
        }
        uint64_t threads = 0;
        for (const ProfileRank& rank : profile().ranks) threads += rank.threads;
        add(fmt::format(
            "{} of {} thread{} not sampled: the kernel gives no samples or no locked "
            "memory for them (dwell info says what it takes), or they run Python and `dwell run` "
            "cannot read it",
            unsampled, std::max<uint64_t>(threads, unsampled), threads == 1 ? " was" : "s were"));
    }

    void add_failed_calls() {
        uint64_t failed = 0;
        const ProfileNode* worst = nullptr;
        for (const ProfileNode& node : profile().nodes) {
            if (!is_communication(node) || node.totals.failed == 0) continue;
            failed += node.totals.failed;
            if (worst == nullptr || node.totals.failed > worst->totals.failed) worst = &node;
        }
        if (worst == nullptr) return;
        const std::string where =
            worst->file.empty()
                ? ""
                : fmt::format(" at {}:{}", worst->file.substr(worst->file.rfind('/') + 1),
                              worst->line);
        add(fmt::format(
            "{} MPI call{} returned an error{}{}{}: counted with {} time, without bytes", failed,
            plural(failed),
            failed == 1 || failed == worst->totals.failed ? ", " : ", most of them ", worst->name,
            where, failed == 1 ? "its" : "their"));
    }

    // Entries that probes counted without time, to keep their own cost low.
    void add_untimed_sites() {
        using Place = std::tuple<SiteKind, std::string_view, std::string_view, uint32_t>;
        std::set<Place> met;
        uint64_t entries = 0;
        uint64_t off = 0;
        uint64_t uncertain = 0;
        for (const ProfileNode& node : profile().nodes) {
            if ((node.labels & (kLabelReduced | kLabelCounted)) == 0) continue;
            met.emplace(node.kind, node.name, node.file, node.line);
            entries += node.totals.untimed;
            off += node.totals.off_entries;
            uncertain += node.totals.off_uncertain;
        }
        const size_t places = met.size();
        if (places == 0) return;
        std::string more;
        if (off != 0) more = fmt::format(", and about {} more not at all", two_digits(off));
        if (uncertain != 0) {
            more += fmt::format(
                "; on {} {} to them the counts are lower bounds, as too few entries were seen to "
                "tell how many more there were",
                uncertain, uncertain == 1 ? "path" : "paths");
        }
        add(fmt::format(
            "{} {} of {} {} counted without time, to save cost, as an enabling profile wants or "
            "deeper than open entries are kept{}; what is estimated of their time (~) was measured "
            "as part of what is around them",
            entries, entries == 1 ? "entry" : "entries",
            places == 1 ? std::string("a short procedure, loop or block")
                        : fmt::format("{} short procedures, loops or blocks", places),
            entries == 1 ? "was" : "were", more));
    }

    void add_grids() {
        std::set<std::string> told;
        for (const ProfileGrid& grid : profile().grids) {
            if (is_contradicted(profile(), grid) && told.insert(grid.name).second) {
                add_contradiction(grid.name);
            }
            const auto [one, other] = ranks_at_one_place(grid);
            if (one == other || grid.by_mpi) continue;
            add(
                fmt::format("ranks {} and {} are both at the same place in grid {}: no rank is "
                            "named by its place there",
                            one, other, grid.name));
        }
    }

    // "grid cart is described in 2 ways (2 x 2 by ranks 0, 1 and 2; 4 x 1 by rank 3): ..."
    void add_contradiction(const std::string& name) {
        std::string ways;
        size_t count = 0;
        for (const ProfileGrid& grid : profile().grids) {
            if (grid.name != name || grid.by_mpi) continue;
            std::vector<uint32_t> ranks;
            for (const ProfilePlace& place : grid.places) ranks.push_back(place.rank);
            const std::string who = ranks.empty()
                                        ? fmt::format("{} rank{}", grid.ranks, plural(grid.ranks))
                                        : rank_list(ranks);
            ways += fmt::format("{}{} by {}", count++ == 0 ? "" : "; ", shape_text(grid), who);
        }
        add(fmt::format("grid {} is described in {} ways ({}): no rank is named by its place there",
                        name, count, ways));
    }

    void add_overcount(const Overcount& overcount) {
        const auto total_ns = static_cast<double>(profile().total_ns);
        if (static_cast<double>(overcount.ns) <= kNotableOvercount * total_ns) return;
        // Calls that a log holds in part have no time, those inside of them have.
        if ((profile().merged_flags & kMergedEventsMissing) != 0) return;
        add(fmt::format(
            "in {} place{} what lies inside took longer than the probes around it say, "
            "in all {} of the time: the larger time is shown",
            overcount.count, plural(overcount.count), percent(overcount.ns, profile().total_ns)));
    }

    void add_modules(const LineResolver& lines, const std::set<uint32_t>& used) {
        std::vector<std::string> bare;
        for (const uint32_t module : used) {
            const std::string& path = lines.path(module);
            if (lines.is_uncertain(module) && lines.state(module) != ModuleState::kMissing) {
                add(path +
                    " is not, or not on all ranks, the file that ran, and has no build-id "
                    "(-Wl,--build-id): its lines and names are uncertain");
            }
            switch (lines.state(module)) {
                case ModuleState::kSymbols:
                    bare.push_back(path);
                    break;
                case ModuleState::kMissing:
                    add(path + " cannot be read any more: its places are shown as offsets");
                    break;
                case ModuleState::kChanged:
                    add(path + " was rebuilt since the run: its places are shown as offsets");
                    break;
                default:
                    break;
            }
        }
        if (bare.empty()) return;
        std::string names;
        for (size_t i = 0; i < std::min(bare.size(), kModulesNamed); ++i) {
            names += (i == 0 ? "" : ", ") + bare[i];
        }
        if (bare.size() > kModulesNamed) {
            names += fmt::format(" and {} more", bare.size() - kModulesNamed);
        }
        add("no debug information (compile with -g): places are shown as symbol and offset in " +
            names);
    }

    // Compares the sum over the nodes of the process's thread with its clock.
    void add_time_gap() {
        if (profile().rows.empty()) return;
        std::map<uint32_t, uint64_t> threads;
        for (const ProfileRank& rank : profile().ranks) threads[rank.rank] = rank.process_thread;
        std::map<uint32_t, uint64_t> accounted;
        for (const ProfileRow& row : profile().rows) {
            if (row.node == 0 && row.thread == threads[row.rank]) {
                accounted[row.rank] += row.totals.time_ns;
            }
        }
        uint64_t ranks = 0;
        double worst = 0;
        uint32_t worst_rank = 0;
        for (const ProfileRank& rank : profile().ranks) {
            if (rank.state != FileState::kFinalized || rank.real_ns == 0) continue;
            // Skips ranks whose MPI_Init ran in a thread that began after the process.
            if ((rank.flags & kFileSerial) == 0 && rank.process_thread != 0) continue;
            const double real = static_cast<double>(rank.real_ns);
            const double known = static_cast<double>(accounted[rank.rank] + rank.paused_ns) +
                                 static_cast<double>(rank.intrusion_ns);
            const double gap = (real - known) / real;
            if (std::abs(gap) < kTimeTolerance || std::abs(real - known) < kLeastTimeGap_ns) {
                continue;
            }
            ++ranks;
            if (gap * gap <= worst * worst) continue;
            worst = gap;
            worst_rank = rank.rank;
        }
        if (ranks == 0) return;
        add(fmt::format(
            "on {} rank{} the statements add up to another time than the run took (most "
            "on rank {}: {:.1f} % {})",
            ranks, plural(ranks), worst_rank, 100 * (worst < 0 ? -worst : worst),
            worst < 0 ? "too much" : "missing"));
    }

    void add_metrics() {
        const ProfileMetrics& metrics = profile().metrics;
        add_flag(kFileMultiplexed,
                 "more metrics than counters: each was counted a part of the time, its value is "
                 "an estimate");
        if (!metrics.missing.empty()) {
            add(fmt::format("metrics that could not be counted, on some rank or all: {}",
                            fmt::join(metrics.missing, ", ")));
        }
        if (metrics.unwatched_threads != 0) {
            add(
                fmt::format("{} thread{} came too fast to be counted, or met dwell in an I/O "
                            "statement: metrics "
                            "lack them",
                            metrics.unwatched_threads, plural(metrics.unwatched_threads)));
        }
        if (metrics.no_room_threads != 0) {
            add(fmt::format(
                "{} thread{} not counted: of the descriptors that the program may have (ulimit -n) "
                "a quarter, 16 at least, is to stay free. Metrics lack {}",
                metrics.no_room_threads, metrics.no_room_threads == 1 ? " was" : "s were",
                metrics.no_room_threads == 1 ? "it" : "them"));
        }
        if (metrics.lost_threads != 0) {
            add(
                fmt::format("the program closed the counters of {} thread{}, first {:.3f} s after "
                            "its start: metrics lack what they would have counted from then on",
                            metrics.lost_threads, plural(metrics.lost_threads),
                            static_cast<double>(metrics.lost_ns) * 1e-9));
        }
        if (metrics.left_out != 0) {
            add(
                fmt::format("to keep readings of metrics below 1 % of the time {} entr{} of places "
                            "{} not read: their counts are in those of what is around them",
                            metrics.left_out, metrics.left_out == 1 ? "y" : "ies",
                            metrics.left_out == 1 ? "was" : "were"));
        }
    }
};

}  // namespace

std::vector<std::string> notes_of(const Profile& profile, const LineResolver& lines,
                                  const std::set<uint32_t>& modules_used,
                                  const Overcount& overcount) {
    Notes notes(profile);
    notes.add_missing_ranks();
    notes.add_axis();
    notes.add_unfinished_ranks();
    notes.add_spawned();
    notes.add_flag(kFileNoUnwinder, "libunwind is missing, so call paths have one level");
    notes.add_flag(
        kFileFewFiles,
        "few files could be open at a time (ulimit -n), so call paths have one level, and "
        "there are no samples and causes of waiting");
    notes.add_flag(kFileCutPaths,
                   "call paths of more than 1000 frames are cut: the outermost ones are missing");
    notes.add_flag(
        kFilePairsFull,
        "more pairs of ranks on a node exchanged messages than dwell keeps times for (32 a rank, "
        "if the record directory has room): the waiting of those that began last is estimated");
    notes.add_unsampled();
    notes.add_flag(
        kFileShares,
        "not sampled: there are more ranks on the node than processors, and samples make "
        "each switch between them dearer (dwell run --sample 100 takes them all the same)");
    notes.add_flag(kFileGomp,
                   "OpenMP of libgomp was seen where the program calls it: not seen are static "
                   "loops, masked constructs and locks, and the barrier behind a static loop is "
                   "shown as one that was asked for");
    notes.add_flag(kFileExchanged,
                   "OpenMP ran on libomp in the place of libgomp (--omp ompt): times of regions, "
                   "loops and tasks are those of another runtime");
    notes.add_flag(kFileOmptOff,
                   "LLVM's OpenMP runtime (libomp) was loaded and OMP_TOOL, which is set, keeps it "
                   "from telling dwell of its constructs: none of them is shown (unset OMP_TOOL)");
    notes.add_flag(
        kFileOtherTool,
        "LLVM's OpenMP runtime (libomp) was loaded and tells another tool of OMPT, whose "
        "ompt_start_tool comes before dwell's: none of its constructs is shown");
    notes.add_flag(
        kFileNoHolds,
        "OpenMP was started by another thread than the program's first one: libomp could "
        "not be asked how long critical, ordered and atomic constructs are held, and their "
        "time is the waiting for them alone");
    notes.add_flag(kFileSitesOff,
                   "an enabling profile of the run switched sites off or has them only counted: "
                   "those that are off are not shown, and their time is part of what is around "
                   "them");
    notes.add_flag(kFileDamaged, "the records are damaged: figures lack what cannot be read there");
    notes.add_flag(kFileFull, "the space for records was used up");
    notes.add_count(&ProfileRank::folded_paths, "call",
                    "without a call path: no space for new paths");
    notes.add_count(&ProfileRank::files_unnamed, "opened file",
                    "are nameless: no space for new names");
    notes.add_count(&ProfileRank::io_unobserved, "I/O call",
                    "are not shown: their threads were ending or could not be observed, or signal "
                    "handlers with a stack of their own (sigaltstack) made or interrupted them");
    notes.add_count(&ProfileRank::dropped, "call", "are not counted: no space for new statements");
    notes.add_count(&ProfileRank::stalls_dropped, "long computation",
                    "were not examined for I/O, sleep and waiting for a processor: a thread had "
                    "more than 1024 kinds of them, or no space");
    notes.add_count(&ProfileRank::guessed, "request", "were completed whose start was not seen");
    notes.add_failed_calls();
    notes.add_count(&ProfileRank::clock_errors, "negative duration", "were stored as 0");
    notes.add_count(&ProfileRank::samples_lost, "sample", "were lost");
    add_wait_notes(&notes);
    notes.add_count(
        &ProfileRank::probes_missed, "probe",
        "were met in signal handlers, after vfork, or soon after a jump out of a handler that "
        "interrupted a probe: what they enter is not shown");
    notes.add_count(&ProfileRank::probes_dropped, "probe",
                    "had no room for what they enter: it is not counted");
    const std::string names_full = fmt::format(
        "the program gave blocks and markers more than {} different names: what has a "
        "later one is not shown, and is among these probes",
        kBlockNameLimit);
    notes.add_flag(kFileNamesFull, names_full.c_str());
    const std::string modules_full = fmt::format(
        "statements lie in more than {} modules (programs and libraries): of what lies in the "
        "others only the address is known",
        kModuleLimit);
    notes.add_flag(kFileModulesFull, modules_full.c_str());
    notes.add_count(&ProfileRank::threads_cut, "thread",
                    "were in the middle of a probe when another one ended the program: of what was "
                    "open there the time is cut");
    notes.add_untimed_sites();
    notes.add_overcount(overcount);
    notes.add_grids();
    if ((profile.merged_flags & kMergedPlacesDropped) != 0) {
        notes.add(
            "the job is over the limit for figures of single ranks: where each rank is in its "
            "grids is not kept");
    }
    if ((profile.merged_flags & kMergedGridsDropped) != 0) {
        notes.add(
            fmt::format("more than {} different grids were described: the others are not "
                        "shown",
                        kGridLimit));
    }
    if ((profile.merged_flags & kMergedRowsDropped) != 0) {
        notes.add(
            "the job is over the limit for figures of single ranks: partners are merged by "
            "distance; of procedures and call statements, ranks and maxima are lower bounds "
            "and minima are not known (0)");
    }
    if ((profile.merged_flags & kMergedSamplesDropped) != 0) {
        notes.add(
            "the samples are over the limit for figures of single ranks: what a rank computed is "
            "divided among procedures as the samples of all ranks are");
    }
    notes.add_metrics();
    notes.add_time_gap();
    notes.add_modules(lines, modules_used);
    return notes.take();
}

}  // namespace dwell
