// Reads positions out of merged records; see positions.h.
#include "report/live/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/live/kernel_view.h"
#include "report/live/partners.h"
#include "report/live/path_texts.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "runtime/process/clock.h"
#include "summarize/attribution/call_paths.h"
#include "summarize/model/script_name.h"

namespace dwell {
namespace {

bool is_region_end(uint16_t construct) {
    return construct == static_cast<uint16_t>(OmpConstruct::kImplicitBarrier);
}

bool is_barrier(uint16_t construct) {
    return construct == static_cast<uint16_t>(OmpConstruct::kBarrier) || is_region_end(construct);
}

// Whether a thread whose innermost entry this is waits for others.
bool waits_in(const MergedNode& node) {
    if (!is_openmp(node.kind)) return false;
    return is_omp_meeting(node.call) || node.call == static_cast<uint16_t>(OmpConstruct::kIdle);
}

class Reader {
  public:
    Reader(const Merged& merged, KnownLines* lines, CallPaths* paths, int64_t still_ns)
        : merged_(merged),
          lines_(lines),
          still_since_unix_ns_(still_ns != 0 ? unix_ns() - still_ns : INT64_MAX),
          paths_(merged, paths),
          partners_(merged, [this](const MergedLock& lock) { return place_of(lock); }) {
        RankReader ranks(merged.ranks);
        for (MergedRank rank; ranks.next(&rank);) {
            if (!is_visible(rank.host, 0)) invisible_.insert(rank.rank);
        }
        for (const MergedProcess& process : merged.processes) {
            if (!is_visible("", process.pid_namespace)) invisible_.insert(process.rank);
            if (process.paused) paused_.insert(process.rank);
        }
    }

    Position read(const MergedOpen& as_recorded) {
        MergedOpen open = as_recorded;
        Position position;
        position.rank = open.rank;
        position.thread = open.thread;
        position.pid = open.pid;
        position.tid = open.tid;
        position.state = open.has_ended                     ? '\0'
                         : invisible_.count(open.rank) != 0 ? kNotVisible
                                                            : thread_state(open.pid, open.tid);
        position.end_unix_ns = open.has_ended ? open.end_unix_ns : 0;
        const bool polls = still_since_unix_ns_ != INT64_MAX && position.state == 'R' &&
                           open.statement != kNoNode && is_poll(merged_.nodes[open.statement].call);
        if (polls) {
            open.is_in_call = true;
            open.node = open.statement;
        }
        position.is_in_call = open.is_in_call;
        position.paused = paused_.count(open.rank) != 0 && !open.is_in_call;
        position.since_unix_ns = std::min(open.since_unix_ns, still_since_unix_ns_);
        position.path = paths_.path_to(open.node);
        if (!open.is_in_call) read_outside(open, &position);
        partners_.find(open, polls, &position);
        return position;
    }

  private:
    void read_outside(const MergedOpen& open, Position* position) {
        const MergedNode& node = merged_.nodes[open.node];
        const MergedLock* wanted = partners_.wanted_by(open);
        position->at_barrier = is_openmp(node.kind) && is_barrier(node.call);
        position->at_region_end = is_openmp(node.kind) && is_region_end(node.call);
        position->in_openmp = wanted != nullptr || waits_in(node);
        if (is_openmp(node.kind) && open.probe_unix_ns > position->since_unix_ns) {
            position->since_unix_ns = open.probe_unix_ns;
        }
        if (open.statement != kNoNode) {
            const std::vector<std::string> path = paths_.path_to(open.statement);
            if (!path.empty()) position->last = path.back();
        }
        if (wanted == nullptr || wanted->since_unix_ns == 0) return;
        position->since_unix_ns = wanted->since_unix_ns;  // a lock has no entry of its own
        position->path.push_back("omp_set_lock " + place_of(*wanted));
    }

    std::string place_of(const MergedLock& lock) {
        if (lock.node != kNoNode) {
            const std::vector<std::string> path = paths_.path_to(lock.node);
            return path.empty() ? "" : path.back();
        }
        if (lock.module >= merged_.modules.size()) return "";
        const MergedModule& module = merged_.modules[lock.module];
        const std::string build_id(reinterpret_cast<const char*>(module.build_id),
                                   module.build_id_bytes);
        const ResolvedAddress& resolved =
            lines_->call_in(merged_.text.data() + module.path, build_id, lock.offset);
        const SourceFrame& frame = resolved.frames.back();
        return frame.line != 0 ? place_text(frame.file, frame.line) : resolved.place;
    }

    const Merged& merged_;
    KnownLines* lines_;
    int64_t still_since_unix_ns_;  // INT64_MAX: not known
    PathTexts paths_;
    Partners partners_;
    std::set<uint32_t> invisible_;
    std::set<uint32_t> paused_;
};

// A worker stays in the implicit barrier of a region that its rank has left until the next region
// begins: it is without work.
void leave_ended_regions(std::vector<Position>* threads) {
    for (Position& worker : *threads) {
        if (worker.thread == 0 || !worker.at_region_end || worker.path.empty()) continue;
        const auto region_end = worker.path.end() - 1;
        const bool is_alive =
            std::any_of(threads->begin(), threads->end(), [&](const Position& one) {
                const bool inside = one.rank == worker.rank &&
                                    one.path.size() >= worker.path.size() &&
                                    std::equal(worker.path.begin(), region_end, one.path.begin());
                return inside && (one.thread == 0 || one.path.back() != worker.path.back());
            });
        if (is_alive) continue;
        worker.path.clear();
        worker.at_barrier = worker.at_region_end = false;
    }
}

// Of a job that has ended: ranks that were not there any more when the last ones ended.
void add_gone_before_end(const Merged& merged, Positions* positions) {
    constexpr int64_t kEndOfAll_ns = 500'000'000;  // a launcher takes part of it to end the others
    std::set<uint32_t> guessed;
    RankReader reader(merged.ranks);
    for (MergedRank rank{}; reader.next(&rank);) {
        if ((rank.flags & kFileEndGuessed) != 0) guessed.insert(rank.rank);
    }
    int64_t last_ns = 0;
    for (const Position& one : positions->threads) last_ns = std::max(last_ns, one.end_unix_ns);
    for (const Position& one : positions->threads) {
        const bool known = one.end_unix_ns != 0 && guessed.count(one.rank) == 0;
        if (known && one.end_unix_ns + kEndOfAll_ns < last_ns) positions->gone.insert(one.rank);
    }
}

// A rank goes on as long as one of its threads does. Threads without work wait for the others.
void add_threads(const Positions& positions, uint32_t rank, const std::vector<size_t>& threads,
                 std::map<uint32_t, WaitsFor>* waits) {
    WaitsFor any{Needs::kAny, {}};
    for (const size_t index : threads) {
        const Position& position = positions.threads[index];
        any.ranks.push_back(thread_key(index));
        WaitsFor of_thread = position.waits;
        for (const size_t other : threads) {
            const Position& holder = positions.threads[other];
            const std::vector<uint32_t>& needed = position.waits.threads;
            if (std::find(needed.begin(), needed.end(), holder.thread) == needed.end()) continue;
            of_thread.ranks.push_back(thread_key(other));
        }
        const std::string inside = position.path.empty() ? "" : position.path.back();
        const bool without_work = position.path.empty() && position.thread != 0;
        for (const size_t other : threads) {
            if (other == index || !(position.at_barrier || without_work)) continue;
            const Position& one = positions.threads[other];
            const bool waits_too = one.path.empty() ? one.thread != 0 : one.path.back() == inside;
            if (!waits_too) of_thread.ranks.push_back(thread_key(other));
        }
        if (!of_thread.ranks.empty()) (*waits)[thread_key(index)] = of_thread;
    }
    (*waits)[rank] = any;
}

Positions read_positions(const Merged& merged, const Positions* before, KnownLines* lines,
                         CallPaths* paths, int64_t still_ns) {
    Positions positions;
    positions.still_ns = still_ns;
    positions.world_size = merged.world_size;
    std::set<std::string> hosts;
    RankReader ranks(merged.ranks);
    for (MergedRank rank; ranks.next(&rank);) {
        if (positions.program.empty()) {
            positions.program = shown_program(rank.program, rank.command);
        }
        hosts.insert(rank.host);
        const bool first =
            positions.start_unix_ns == 0 || rank.start_unix_ns < positions.start_unix_ns;
        if (first) positions.start_unix_ns = rank.start_unix_ns;
        if (rank.state != static_cast<uint32_t>(FileState::kRunning)) {
            positions.gone.insert(rank.rank);
        }
    }
    positions.host = hosts_text(hosts);
    for (const MergedProcess& process : merged.processes) {
        const bool incomplete = process.requests_unseen != 0 || process.requests > kRequestsShown;
        if (incomplete) positions.incomplete.insert(process.rank);
    }
    Reader reader(merged, lines, paths, still_ns);
    for (const MergedOpen& open : merged.open) positions.threads.push_back(reader.read(open));
    std::stable_sort(positions.threads.begin(), positions.threads.end(),
                     [](const Position& a, const Position& b) {
                         return std::tie(a.rank, a.thread) < std::tie(b.rank, b.thread);
                     });
    leave_ended_regions(&positions.threads);
    const bool is_dead = std::all_of(positions.threads.begin(), positions.threads.end(),
                                     [](const Position& one) { return one.state == '\0'; });
    if (is_dead) add_gone_before_end(merged, &positions);
    std::map<std::pair<uint32_t, uint32_t>, const Position*> earlier;
    if (before != nullptr) {
        for (const Position& one : before->threads) earlier[{one.rank, one.thread}] = &one;
    }
    for (Position& position : positions.threads) {
        const bool ended = position.state == '\0' && position.thread == 0;
        if (ended && !is_dead) positions.gone.insert(position.rank);
        if (before == nullptr) continue;
        const auto same = earlier.find({position.rank, position.thread});
        position.moved = same == earlier.end() ||
                         same->second->since_unix_ns != position.since_unix_ns ||
                         same->second->path != position.path;
    }
    return positions;
}

}  // namespace

std::string numbers_text(const std::set<uint32_t>& numbers) {
    std::string text;
    for (auto at = numbers.begin(); at != numbers.end();) {
        const uint32_t first = *at;
        uint32_t last = first;
        while (++at != numbers.end() && *at == last + 1) last = *at;
        text += fmt::format("{}{}", text.empty() ? "" : ",", first);
        if (last != first) text += fmt::format("{}{}", last == first + 1 ? ',' : '-', last);
    }
    return text;
}

std::string ranks_text(const std::set<uint32_t>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + numbers_text(ranks);
}

std::string hosts_text(const std::set<std::string>& hosts) {
    return hosts.size() == 1 ? *hosts.begin() : fmt::format("{} hosts", hosts.size());
}

std::string ended_text(const std::set<uint32_t>& ranks) {
    if (ranks.empty()) return "";
    return fmt::format("; {} {} ended", ranks_text(ranks), ranks.size() == 1 ? "has" : "have");
}

int64_t oldest_snapshot_ns(const Positions& positions) {
    int64_t oldest_ns = 0;
    for (const auto& [host, age_ns] : positions.snapshot_age_ns) {
        oldest_ns = std::max(oldest_ns, age_ns);
    }
    return oldest_ns;
}

Positions positions_of(const Merged& merged, const Positions* before, KnownLines* lines) {
    KnownLines own_lines;
    if (lines == nullptr) lines = &own_lines;
    CallPaths paths(merged, lines->of(merged));
    return positions_of(merged, before, lines, &paths);
}

Positions positions_of(const Merged& merged, const Positions* before, KnownLines* lines,
                       CallPaths* paths) {
    return read_positions(merged, before, lines, paths, 0);
}

Positions positions_without_progress(const Merged& merged, int64_t still_ns) {
    KnownLines lines;
    CallPaths paths(merged, lines.of(merged));
    return read_positions(merged, nullptr, &lines, &paths, still_ns);
}

std::map<uint32_t, WaitsFor> waits_of(const Positions& positions) {
    std::map<uint32_t, std::vector<size_t>> threads;
    for (size_t i = 0; i < positions.threads.size(); ++i) {
        std::vector<size_t>* own = &threads[positions.threads[i].rank];
        // Threads that ended before their process did.
        const bool has_ended = !own->empty() && positions.threads[i].state == '\0' &&
                               positions.threads[own->front()].state != '\0';
        if (!has_ended) own->push_back(i);
    }
    std::map<uint32_t, WaitsFor> waits;
    for (const auto& [rank, own] : threads) {
        // A stopped process goes on when it is told to.
        if (is_stopped(positions.threads[own.front()])) continue;
        if (own.size() > 1) {
            add_threads(positions, rank, own, &waits);
        } else if (!positions.threads[own.front()].waits.ranks.empty()) {
            waits[rank] = positions.threads[own.front()].waits;
        }
    }
    return waits;
}

}  // namespace dwell
