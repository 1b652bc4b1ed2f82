// Whatever was dropped, folded, guessed or not found, with its number (DESIGN 5.7).
#include "summarize/profile_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dwell {
namespace {

constexpr size_t kListed = 8;
constexpr size_t kModulesNamed = 3;
constexpr double kNotableOverrun = 0.001;  // part of all time
constexpr double kTimeTolerance = 0.01;

// "rank 3", "ranks 0, 2 and 5", "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 92 more". `ranks` holds the first
// kListed + 1 or more of `count`.
std::string rank_list(const std::vector<uint32_t>& ranks, size_t count) {
    if (count == 1) return fmt::format("rank {}", ranks[0]);
    std::string text = "ranks ";
    const size_t listed = count <= kListed + 1 ? count - 1 : kListed;
    for (size_t i = 0; i < listed; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    return count == listed + 1 ? text + fmt::format(" and {}", ranks[listed])
                               : text + fmt::format(" and {} more", count - listed);
}

std::string rank_list(const std::vector<uint32_t>& ranks) { return rank_list(ranks, ranks.size()); }

const char* plural(uint64_t count) { return count == 1 ? "" : "s"; }

class Notes {
  public:
    explicit Notes(const Profile& profile) : profile_(profile) {}

    void add_missing_ranks() {
        if ((profile_.merged_flags & kMergedPartial) == 0) return;
        // The ranks are sorted, so the missing ones are the gaps between them. A job of 2^24 ranks
        // costs no more than those that are here.
        std::vector<uint32_t> first_missing;
        uint64_t missing = 0;
        uint64_t next = 0;
        const auto add_gap = [&](uint64_t end) {
            for (uint64_t i = next; i < end && first_missing.size() <= kListed; ++i) {
                first_missing.push_back(static_cast<uint32_t>(i));
            }
            missing += end - next;
        };
        for (const ProfileRank& rank : profile_.ranks) {
            if (rank.rank >= profile_.world_size) break;
            if (rank.rank > next) add_gap(rank.rank);
            next = uint64_t{rank.rank} + 1;
        }
        if (next < profile_.world_size) add_gap(profile_.world_size);
        if (missing == 0) {
            add("not all records of this job are included");
        } else {
            add(fmt::format("{} of {} ranks {} not included: {}", missing, profile_.world_size,
                            missing == 1 ? "is" : "are", rank_list(first_missing, missing)));
        }
    }

    void add_unfinished_ranks() {
        std::map<FileState, std::vector<uint32_t>> by_state;
        for (const ProfileRank& rank : profile_.ranks) {
            if (rank.state == FileState::kFinalized) continue;
            if (rank.state == FileState::kExited && (rank.flags & kFileSerial) != 0) continue;
            by_state[rank.state].push_back(rank.rank);
        }
        for (const auto& [state, ranks] : by_state) {
            const std::string who = rank_list(ranks);
            if (state == FileState::kAborted) {
                add(who + " called MPI_Abort: figures up to then");
            } else if (state == FileState::kExited) {
                add(who + " exited without MPI_Finalize: figures up to the last call");
            } else {
                add(who +
                    " did not reach MPI_Finalize (killed, crashed or still running): figures "
                    "up to the last finished call");
            }
        }
    }

    void add_flag(uint32_t flag, const char* sentence) {
        std::vector<uint32_t> ranks;
        for (const ProfileRank& rank : profile_.ranks) {
            if ((rank.flags & flag) != 0) ranks.push_back(rank.rank);
        }
        if (!ranks.empty()) add(fmt::format("{}: {}", rank_list(ranks), sentence));
    }

    // "12 calls on 2 ranks were not recorded: ..."
    void add_count(uint64_t ProfileRank::*member, const char* thing, const char* sentence) {
        uint64_t sum = 0;
        uint64_t ranks = 0;
        for (const ProfileRank& rank : profile_.ranks) {
            sum += rank.*member;
            ranks += rank.*member != 0 ? 1 : 0;
        }
        if (sum == 0) return;
        add(fmt::format("{} {}{} on {} rank{} {}", sum, thing, plural(sum), ranks, plural(ranks),
                        sentence));
    }

    void add_folded_peers() {
        uint64_t messages = 0;
        for (const ProfileNode& node : profile_.nodes) {
            if (node.kind == SiteKind::kCommunication) messages += node.totals.folded_peers;
        }
        if (messages == 0) return;
        add(
            fmt::format("{} message{} to partners beyond the limit on partners of one statement "
                        "are in its totals only",
                        messages, plural(messages)));
    }

    void add_spawned() {
        const auto spawns = [](const ProfileNode& node) {
            return node.kind == SiteKind::kCommunication &&
                   (node.name == "MPI_Comm_spawn" || node.name == "MPI_Comm_spawn_multiple") &&
                   node.totals.count > node.totals.failed;
        };
        if (std::none_of(profile_.nodes.begin(), profile_.nodes.end(), spawns)) return;
        add("processes that MPI_Comm_spawn started are not in this profile; they have one of their "
            "own where the library reached them, as it does with dwell run around the launcher");
    }

    // "500 calls of MPI_Iprobe, MPI_Test, that ...": of runtime/polls.h.
    void add_untimed() {
        std::map<std::string, uint64_t> by_function;
        uint64_t calls = 0;
        for (const ProfileNode& node : profile_.nodes) {
            if (node.kind != SiteKind::kCommunication || node.totals.untimed == 0) continue;
            by_function[node.name] += node.totals.untimed;
            calls += node.totals.untimed;
        }
        if (calls == 0) return;
        std::string names;
        for (const auto& entry : by_function) {
            names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.first);
        }
        add(
            fmt::format("{} call{} of {} repeated an unsuccessful one and {} not timed one by one: "
                        "the time is estimated from those that were",
                        calls, plural(calls), names, calls == 1 ? "was" : "were"));
    }

    // Entries that probes counted without time, to keep their own cost low.
    void add_untimed_sites() {
        uint64_t places = 0;
        uint64_t entries = 0;
        uint64_t off = 0;
        for (const ProfileNode& node : profile_.nodes) {
            if ((node.labels & (kLabelReduced | kLabelCounted)) == 0) continue;
            ++places;
            entries += node.totals.untimed;
            off += node.totals.off_entries;
        }
        if (places == 0) return;
        const std::string more = off == 0 ? "" : fmt::format(", and about {} more not at all", off);
        add(
            fmt::format("{} {} of {} short procedures, loops or blocks {} counted without time, to "
                        "save cost{}; their time is part of what is around them",
                        entries, entries == 1 ? "entry" : "entries", places,
                        entries == 1 ? "was" : "were", more));
    }

    void add_overruns(const Overruns& overruns) {
        const auto total_ns = static_cast<double>(profile_.total_ns);
        if (static_cast<double>(overruns.ns) <= kNotableOverrun * total_ns) return;
        add(
            fmt::format("in {} place{} what lies inside took longer than the probes around it say, "
                        "in all {:.2g} % of the time: the larger time is shown",
                        overruns.count, plural(overruns.count),
                        100 * static_cast<double>(overruns.ns) / total_ns));
    }

    void add_modules(const LineResolver& lines, const std::set<uint32_t>& used) {
        std::vector<std::string> bare;
        for (const uint32_t module : used) {
            const std::string& path = lines.path(module);
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

    // What the nodes of a rank's first thread add up to, against the clock of the process.
    void add_time_gap() {
        if (profile_.rows.empty()) return;
        std::map<uint32_t, uint64_t> accounted;
        for (const ProfileRow& row : profile_.rows) {
            if (row.node == 0 && row.thread == 0) accounted[row.rank] += row.totals.time_ns;
        }
        uint64_t ranks = 0;
        double worst = 0;
        uint32_t worst_rank = 0;
        for (const ProfileRank& rank : profile_.ranks) {
            if (rank.state != FileState::kFinalized || rank.real_ns == 0) continue;
            const double real = static_cast<double>(rank.real_ns);
            const double known = static_cast<double>(accounted[rank.rank] + rank.paused_ns) +
                                 static_cast<double>(rank.intrusion_ns);
            const double gap = (real - known) / real;
            if (gap < kTimeTolerance && gap > -kTimeTolerance) continue;
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

    void add(std::string sentence) { notes_.push_back(std::move(sentence)); }
    std::vector<std::string> take() { return std::move(notes_); }

  private:
    const Profile& profile_;
    std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> notes_of(const Profile& profile, const LineResolver& lines,
                                  const std::set<uint32_t>& modules_used,
                                  const Overruns& overruns) {
    Notes notes(profile);
    notes.add_missing_ranks();
    notes.add_unfinished_ranks();
    notes.add_spawned();
    notes.add_flag(kFileNoUnwinder, "libunwind is missing, so call paths have one level");
    notes.add_flag(kFileNoSampling, "sampling was asked for and is not available");
    notes.add_flag(kFileFull, "the space for records was used up");
    notes.add_count(&ProfileRank::folded_paths, "call",
                    "are booked without their call path: no space for new paths");
    notes.add_count(&ProfileRank::dropped, "call", "are not counted: no space for new statements");
    notes.add_count(&ProfileRank::guessed, "request", "were completed whose start was not seen");
    notes.add_count(&ProfileRank::clock_errors, "negative duration", "were stored as 0");
    notes.add_count(&ProfileRank::samples_lost, "sample", "were lost");
    notes.add_folded_peers();
    notes.add_untimed();
    notes.add_count(&ProfileRank::probes_missed, "probe",
                    "were met in signal handlers or after vfork: what they enter is not shown");
    notes.add_count(&ProfileRank::probes_dropped, "probe",
                    "were nested deeper than open ones are kept: what they enter is not shown");
    notes.add_untimed_sites();
    notes.add_overruns(overruns);
    if ((profile.merged_flags & kMergedRowsDropped) != 0) {
        notes.add(
            "the job is over the limit for figures of single ranks: partners are merged by "
            "distance; of procedures and call statements, ranks and maxima are lower bounds "
            "and minima are not known (0)");
    }
    notes.add_time_gap();
    notes.add_modules(lines, modules_used);
    return notes.take();
}

}  // namespace dwell
