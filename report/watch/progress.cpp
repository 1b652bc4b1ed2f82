// Compares two readings of a job; see progress.h.
#include "report/watch/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "report/live/kernel_view.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"

namespace dwell {
namespace {

constexpr uint64_t kLeastUse = 10;              // who computes has a tenth of the time
constexpr uint64_t kLeastPerPoll_ns = 100'000;  // who polls more often only waits

bool waits_in_openmp(const MergedNode& node) {
    if (!is_openmp(node.kind)) return false;
    const auto construct = static_cast<OmpConstruct>(node.call);
    return is_omp_meeting(node.call) || construct == OmpConstruct::kLock ||
           construct == OmpConstruct::kNestLock || construct == OmpConstruct::kIdle;
}

void add_row(const MergedNode& node, const Totals& totals, ThreadProgress* progress) {
    const auto kind = static_cast<SiteKind>(node.kind);
    if (kind == SiteKind::kCommunication && is_poll(node.call)) {
        const uint64_t found =
            std::min(totals.event_count[kSendReady] + totals.event_count[kRecvReady], totals.count);
        progress->done += found;
        progress->polls += totals.count - found;
    } else if (kind == SiteKind::kCommunication || kind == SiteKind::kIo ||
               is_measured_kind(node.kind)) {
        progress->done += totals.count;
    }
}

}  // namespace

std::optional<uint64_t> processor_ns(int32_t pid, int32_t tid) {
    if (thread_state(pid, tid) == '\0') return 0;
    std::ifstream file(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
    uint64_t ns = 0;
    // A kernel that does not count has no such file, or zeros in it.
    if (!(file >> ns) || ns == 0) return std::nullopt;
    return ns;
}

std::set<uint32_t> invisible_ranks(const Merged& merged) {
    std::set<uint32_t> ranks;
    for (const MergedProcess& process : merged.processes) {
        if (!is_visible("", process.pid_namespace)) ranks.insert(process.rank);
    }
    return ranks;
}

Progress progress_of(const Merged& merged, const ProcessorTime& processor_ns_of) {
    Progress progress;
    const std::set<uint32_t> invisible = invisible_ranks(merged);
    // Threads that have ended, or left MPI, make no progress any more.
    for (const MergedOpen& open : merged.open) {
        if (open.has_ended) continue;
        ThreadProgress& thread = progress[{open.rank, open.thread}];
        thread.waits = open.is_in_call ? !is_poll(merged.nodes[open.statement].call)
                                       : waits_in_openmp(merged.nodes[open.node]);
        thread.processor_ns =
            invisible.count(open.rank) != 0 ? std::nullopt : processor_ns_of(open.pid, open.tid);
    }
    for (const MergedLock& lock : merged.open_locks) {
        const auto thread = progress.find({lock.rank, lock.thread});
        if (!lock.held && thread != progress.end()) thread->second.waits = true;
    }
    for (const MergedRow& row : merged.rows) {
        const auto thread = progress.find({row.rank, row.thread});
        if (thread == progress.end()) continue;
        add_row(merged.nodes[row.node], row.totals, &thread->second);
    }
    return progress;
}

bool has_progress(const Progress& before, const Progress& now, uint64_t elapsed_ns) {
    if (before.size() != now.size()) return true;
    for (const auto& [who, thread] : now) {
        const auto same = before.find(who);
        if (same == before.end()) return true;
        const ThreadProgress& earlier = same->second;
        if (thread.done != earlier.done) return true;
        if (thread.waits) continue;
        if (!earlier.processor_ns || !thread.processor_ns) return true;
        const uint64_t used_ns =
            *thread.processor_ns - std::min(*earlier.processor_ns, *thread.processor_ns);
        const uint64_t polls = thread.polls - std::min(earlier.polls, thread.polls);
        if (used_ns >= elapsed_ns / kLeastUse && polls < used_ns / kLeastPerPoll_ns) return true;
    }
    return false;
}

}  // namespace dwell
