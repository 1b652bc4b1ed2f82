// Estimates waiting of calls without measured waiting; the method is described in
// blocked_estimate.h.
#include "summarize/profile/blocked_estimate.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "runtime/contract/mpi_calls.h"

namespace dwell {

namespace {

constexpr uint64_t kLargeBytes = 64 * 1024;
constexpr uint64_t kTransferBytesPerNs = 1;

bool communicates(const MergedNode& node) {
    return node.kind == static_cast<uint8_t>(SiteKind::kCommunication) &&
           node.call < kMpiCallCount && node.totals.count != 0;
}

bool may_wait(const MergedNode& node) { return communicates(node) && kMpiCalls[node.call].waits; }

bool receives_much(const MergedNode& node) {
    if (!communicates(node)) return false;
    const CallClass what = kMpiCalls[node.call].call_class;
    if (what != CallClass::kReceive && what != CallClass::kWait) return false;
    return node.totals.bytes_received / node.totals.count >= kLargeBytes;
}

// The key of calls that are compared: the function, and the message size as a power of two.
using Operation = std::pair<uint16_t, int>;
Operation operation_of(const MergedNode& node) {
    const Totals& totals = node.totals;
    const uint64_t bytes = (totals.bytes_sent + totals.bytes_received) / totals.count;
    return {node.call, std::bit_width(bytes)};
}

// The shortest call of each operation, over nodes that some ranks do not have.
std::map<Operation, uint64_t> shortest_of_partial(const Merged& merged) {
    std::map<Operation, uint64_t> shortest;
    for (const MergedNode& node : merged.nodes) {
        if (!may_wait(node) || node.ranks >= merged.ranks.size()) continue;
        const auto [at, added] = shortest.try_emplace(operation_of(node), node.totals.min_ns);
        if (!added) at->second = std::min(at->second, node.totals.min_ns);
    }
    return shortest;
}

uint64_t above(const Totals& totals, uint64_t transfer_ns) {
    const auto least = static_cast<unsigned __int128>(totals.count) * transfer_ns;
    return least < totals.time_ns ? totals.time_ns - static_cast<uint64_t>(least) : 0;
}

// The part of `all` that belongs to the calls with unknown waiting.
uint64_t unknown_part(const Totals& totals, uint64_t all) {
    const uint64_t unknown = std::min(totals.unknown_waits, totals.count);
    if (totals.count == 0 || unknown == totals.count) return all;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(all) * unknown / totals.count);
}

// Limits the estimate: measured and estimated waiting together never exceed the calls' time.
void set_estimate(uint64_t estimate_ns, Totals* totals) {
    const uint64_t known = std::min(totals->sync_ns, totals->time_ns);
    totals->blocked_ns = known + std::min(estimate_ns, totals->time_ns - known);
}

}  // namespace

void estimate_blocked(Merged* merged) {
    const std::map<Operation, uint64_t> partial = shortest_of_partial(*merged);
    const auto estimated = [](const MergedNode& node) {
        return may_wait(node) || receives_much(node);
    };
    const auto estimate_finished = [&](const MergedNode& node, Totals* totals) {
        if (may_wait(node)) {
            const bool everywhere = node.ranks >= merged->ranks.size();
            const uint64_t all =
                above(*totals, everywhere ? node.totals.min_ns : partial.at(operation_of(node)));
            set_estimate(unknown_part(*totals, all), totals);
        } else if (totals->blocked_ns > totals->sync_ns) {
            const uint64_t bytes = node.totals.bytes_received / node.totals.count;
            const uint64_t transfer = std::min(node.totals.min_ns, bytes / kTransferBytesPerNs);
            const uint64_t recorded = totals->blocked_ns - totals->sync_ns;
            set_estimate(std::min(recorded, above(*totals, transfer)), totals);
        }
    };
    // A call that never ended has waited, as far as anybody knows.
    const auto estimate = [&](const MergedNode& node, Totals* totals) {
        Totals finished = *totals;
        const uint64_t unfinished_ns = std::min(totals->unfinished_ns, totals->time_ns);
        finished.time_ns -= unfinished_ns;
        finished.blocked_ns -= std::min(unfinished_ns, finished.blocked_ns);
        estimate_finished(node, &finished);
        totals->blocked_ns = finished.blocked_ns + unfinished_ns;
    };
    const bool has_rows = !merged->rows.empty();
    for (MergedNode& node : merged->nodes) {
        if (!estimated(node)) continue;
        if (has_rows) {
            node.totals.blocked_ns = 0;
        } else {
            estimate(node, &node.totals);
        }
    }
    for (MergedRow& row : merged->rows) {
        MergedNode& node = merged->nodes[row.node];
        if (!estimated(node)) continue;
        estimate(node, &row.totals);
        node.totals.blocked_ns += row.totals.blocked_ns;
    }
}

}  // namespace dwell
