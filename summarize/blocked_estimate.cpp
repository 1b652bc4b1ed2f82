#include "summarize/blocked_estimate.h"

#include "runtime/mpi_calls.h"

namespace dwell {

namespace {

bool may_wait(const MergedNode& node) {
    return node.kind == static_cast<uint8_t>(SiteKind::kCommunication) &&
           node.call < kMpiCallCount && kMpiCalls[node.call].waits && node.totals.count != 0;
}

uint64_t above_shortest(const Totals& totals, uint64_t shortest_ns) {
    const auto least = static_cast<unsigned __int128>(totals.count) * shortest_ns;
    return least < totals.time_ns ? totals.time_ns - static_cast<uint64_t>(least) : 0;
}

}  // namespace

void estimate_blocked(Merged* merged) {
    for (MergedNode& node : merged->nodes) {
        if (may_wait(node)) {
            node.totals.blocked_ns = above_shortest(node.totals, node.totals.min_ns);
        }
    }
    for (MergedRow& row : merged->rows) {
        const MergedNode& node = merged->nodes[row.node];
        if (may_wait(node)) {
            row.totals.blocked_ns = above_shortest(row.totals, node.totals.min_ns);
        }
    }
}

}  // namespace dwell
