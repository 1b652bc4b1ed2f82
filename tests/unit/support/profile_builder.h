// Builds profiles by hand, for the tests of the writers. Figures are given for each rank; sums over
// ranks, threads and children are plain additions here, so a test can compare a writer's output
// with its input.
#ifndef DWELL_TESTS_UNIT_PROFILE_BUILDER_H_
#define DWELL_TESTS_UNIT_PROFILE_BUILDER_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/model/profile.h"
#include "tests/unit/support/call_numbers.h"

namespace dwell::samples {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

// Calls of one thread of one rank at one communication node.
struct Calls {
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t max_ns = 0;
    int slot = kSendReady;     // where all calls go, but for:
    uint64_t other_count = 0;  // calls in the next slot
    uint64_t other_ns = 0;
    uint64_t sync_ns = 0;  // of blocked_ns, known
    uint64_t late_sender_ns = 0;
    uint64_t late_receiver_ns = 0;
};

// Calls whose waiting is all known.
inline Calls known_wait(uint64_t count, uint64_t time_ns, uint64_t waited_ns) {
    return {count, time_ns, waited_ns, 0, 0, time_ns, 0, 0, 0, waited_ns, 0, 0};
}

class Builder {
  public:
    explicit Builder(uint32_t ranks, const std::string& program) {
        profile_.version = "0.1.0";
        profile_.job = "4711";
        profile_.world_size = ranks;
        for (uint32_t r = 0; r < ranks; ++r) {
            ProfileRank rank;
            rank.rank = r;
            rank.pid = 1000 + static_cast<int>(r);
            rank.host = r < (ranks + 1) / 2 ? "node01" : "node02";
            rank.program = "/home/ada/bin/" + program;
            rank.command = program + " 512 512 2000";
            rank.threads = 1;
            rank.start_unix_ns = 1'700'000'000LL * 1'000'000'000LL + r * 1'000'000LL;
            rank.record_bytes = 65536;
            rank.call_cost_ns = 41.5;
            rank.threads_served = 1;
            profile_.ranks.push_back(rank);
        }
        add(SiteKind::kProgram, program, "", 0, kNoNode);
    }

    uint32_t add(SiteKind kind, const std::string& name, const std::string& file, int line,
                 uint32_t parent) {
        ProfileNode node;
        node.kind = kind;
        node.name = name;
        node.file = file;
        node.line = line;
        node.parent = parent;
        node.totals.min_ns = UINT64_MAX;
        if (kind == SiteKind::kCommunication) node.call = call_number(name);
        if (kind == SiteKind::kProcedure || kind == SiteKind::kCall) node.labels = kLabelEstimated;
        profile_.nodes.push_back(node);
        const auto index = static_cast<uint32_t>(profile_.nodes.size() - 1);
        if (parent != kNoNode) profile_.nodes[parent].children.push_back(index);
        return index;
    }
    uint32_t proc(const std::string& name, const std::string& file, int line, uint32_t parent) {
        return add(SiteKind::kProcedure, name, file, line, parent);
    }
    // A call statement and the procedure that it calls.
    uint32_t call(const std::string& name, const std::string& file, int line, uint32_t parent,
                  int begins = 1) {
        return proc(name, file, begins, add(SiteKind::kCall, name, file, line, parent));
    }
    uint32_t comm(const std::string& name, const std::string& file, int line, uint32_t parent) {
        return add(SiteKind::kCommunication, name, file, line, parent);
    }

    void calls(uint32_t node, uint32_t rank, const Calls& calls, uint32_t thread = 0) {
        ProfileRow& row = row_of(node, rank, thread);
        Totals& totals = row.totals;
        totals.count += calls.count;
        totals.time_ns += calls.time_ns;
        totals.blocked_ns += calls.blocked_ns;
        totals.sync_ns += calls.sync_ns;
        totals.late_sender_ns += calls.late_sender_ns;
        totals.late_receiver_ns += calls.late_receiver_ns;
        if (calls.sync_ns == 0) totals.unknown_waits += calls.count;
        totals.bytes_sent += calls.sent;
        totals.bytes_received += calls.received;
        totals.min_ns = calls.count ? calls.time_ns / calls.count / 2 : UINT64_MAX;
        totals.max_ns = calls.max_ns;
        totals.event_count[calls.slot] += calls.count - calls.other_count;
        totals.event_ns[calls.slot] += calls.time_ns - calls.other_ns;
        if (calls.other_count != 0) {
            totals.event_count[calls.slot + 1] += calls.other_count;
            totals.event_ns[calls.slot + 1] += calls.other_ns;
        }
    }
    // Entries seen by a probe: `node` was entered from its call statement, if it has one.
    void entered(uint32_t node, uint32_t rank, uint64_t count, uint64_t longest_ns = 0,
                 uint64_t iterations = 0) {
        profile_.nodes[node].labels |= kLabelProbed;
        profile_.nodes[node].labels &= ~uint32_t{kLabelEstimated};
        Totals& totals = row_of(node, rank, 0).totals;
        totals.count += count;
        totals.min_ns = count == 1 ? longest_ns : longest_ns / 2;
        totals.max_ns = longest_ns;
        totals.iterations += iterations;
        const uint32_t parent = profile_.nodes[node].parent;
        if (profile_.nodes[parent].kind != SiteKind::kCall) return;
        profile_.nodes[parent].labels &= ~uint32_t{kLabelEstimated};
        row_of(parent, rank, 0).totals.count += count;
    }
    uint32_t openmp(OmpConstruct construct, const std::string& file, int line, uint32_t parent) {
        const auto call = static_cast<uint16_t>(construct);
        const uint32_t node = add(SiteKind::kOpenMp, omp_construct_name(call), file, line, parent);
        profile_.nodes[node].call = call;
        profile_.nodes[node].labels |= kLabelProbed;
        return node;
    }
    // Own time of a thread in a construct, and its waiting in it; `idle`: without work.
    Totals& spent(uint32_t node, uint32_t rank, uint32_t thread, uint64_t count, uint64_t own_ns,
                  uint64_t wait_ns, bool idle = false) {
        ProfileRow& row = row_of(node, rank, thread);
        row.computation_ns += own_ns;
        row.totals.count += count;
        (idle ? row.totals.omp_idle_ns : row.totals.omp_wait_ns) += wait_ns;
        profile_.computation_ns -= wait_ns;
        (idle ? profile_.omp_idle_ns : profile_.omp_wait_ns) += wait_ns;
        return row.totals;
    }
    Totals& totals_of(uint32_t node, uint32_t rank) { return row_of(node, rank, 0).totals; }
    void compute(uint32_t node, uint32_t rank, uint64_t ns, uint32_t thread = 0) {
        row_of(node, rank, thread).computation_ns += ns;
    }
    Profile& profile() { return profile_; }

    Profile finish() {
        // Children stand behind their parents, so one walk from the end reaches every ancestor.
        std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, ProfileRow>> threads;
        for (const auto& [key, row] : rows_) threads[{row.rank, row.thread}][row.node] = row;
        for (auto& [thread, rows] : threads) {
            for (auto i = static_cast<uint32_t>(profile_.nodes.size()); i-- > 0;) {
                if (rows.count(i) == 0) continue;
                const ProfileRow row = rows[i];
                const SiteKind kind = profile_.nodes[i].kind;
                const bool is_io = kind == SiteKind::kIo;
                const bool is_statement = is_io || kind == SiteKind::kCommunication;
                rows[i].totals.time_ns += is_statement ? 0 : row.computation_ns;
                const uint32_t parent = profile_.nodes[i].parent;
                if (parent == kNoNode) continue;
                if (rows.count(parent) == 0) {
                    rows[parent] = ProfileRow{parent, thread.first, thread.second, {}, 0};
                    rows[parent].totals.min_ns = UINT64_MAX;
                }
                Totals& up = rows[parent].totals;
                up.time_ns += rows[i].totals.time_ns;
                up.blocked_ns += rows[i].totals.blocked_ns;
                up.sync_ns += rows[i].totals.sync_ns;
                up.late_sender_ns += rows[i].totals.late_sender_ns;
                up.late_receiver_ns += rows[i].totals.late_receiver_ns;
                if (is_io) continue;
                up.bytes_sent += rows[i].totals.bytes_sent;
                up.bytes_received += rows[i].totals.bytes_received;
                up.omp_wait_ns += rows[i].totals.omp_wait_ns;
                up.omp_idle_ns += rows[i].totals.omp_idle_ns;
            }
            for (auto& [node, row] : rows) profile_.rows.push_back(row);
        }
        for (const ProfileRow& row : profile_.rows) add_row(row);
        finish_ranks();
        for (ProfileNode& node : profile_.nodes) {
            std::stable_sort(
                node.children.begin(), node.children.end(), [this](uint32_t a, uint32_t b) {
                    return profile_.nodes[a].totals.time_ns > profile_.nodes[b].totals.time_ns;
                });
        }
        return profile_;
    }

  private:
    ProfileRow& row_of(uint32_t node, uint32_t rank, uint32_t thread) {
        ProfileRow& row = rows_[{node, rank, thread}];
        if (row.totals.min_ns == 0) row.totals.min_ns = UINT64_MAX;
        row.node = node;
        row.rank = rank;
        row.thread = thread;
        return row;
    }
    void add_row(const ProfileRow& row) {
        ProfileNode& node = profile_.nodes[row.node];
        Totals& sum = node.totals;
        sum.count += row.totals.count;
        sum.time_ns += row.totals.time_ns;
        sum.min_ns = std::min(sum.min_ns, row.totals.min_ns);
        sum.max_ns = std::max(sum.max_ns, row.totals.max_ns);
        sum.blocked_ns += row.totals.blocked_ns;
        sum.sync_ns += row.totals.sync_ns;
        sum.late_sender_ns += row.totals.late_sender_ns;
        sum.late_receiver_ns += row.totals.late_receiver_ns;
        sum.unknown_waits += row.totals.unknown_waits;
        sum.bytes_sent += row.totals.bytes_sent;
        sum.bytes_received += row.totals.bytes_received;
        for (int slot = 0; slot < kEventSlots; ++slot) {
            sum.event_count[slot] += row.totals.event_count[slot];
            sum.event_ns[slot] += row.totals.event_ns[slot];
        }
        sum.iterations += row.totals.iterations;
        sum.untimed += row.totals.untimed;
        sum.abandoned += row.totals.abandoned;
        sum.off_entries += row.totals.off_entries;
        sum.off_error += row.totals.off_error;
        sum.estimated_ns += row.totals.estimated_ns;
        sum.volume += row.totals.volume;
        sum.omp_wait_ns += row.totals.omp_wait_ns;
        sum.omp_idle_ns += row.totals.omp_idle_ns;
        sum.omp_start_ns += row.totals.omp_start_ns;
        sum.omp_overhead_ns += row.totals.omp_overhead_ns;
        sum.created += row.totals.created;
        sum.chunks += row.totals.chunks;
        node.computation_ns += row.computation_ns;
        profile_.computation_ns += row.computation_ns;
        if (node.kind == SiteKind::kCommunication) {
            profile_.blocked_ns += row.totals.blocked_ns;
            profile_.sync_ns += row.totals.sync_ns;
            profile_.transfer_ns += row.totals.time_ns - row.totals.blocked_ns;
        }
        if (node.kind == SiteKind::kIo) profile_.io_ns += row.totals.time_ns;
        if (row.node == 0) profile_.total_ns += row.totals.time_ns;
    }
    void finish_ranks() {
        std::map<std::pair<uint32_t, uint32_t>, uint64_t> time_ns;  // node, rank
        for (const ProfileRow& row : profile_.rows) {
            time_ns[{row.node, row.rank}] += row.totals.time_ns;
        }
        for (const auto& [key, ns] : time_ns) {
            ProfileNode& node = profile_.nodes[key.first];
            if (node.ranks == 0 || ns > node.rank_max_ns) {
                node.rank_max_ns = ns;
                node.rank_max = key.second;
            }
            if (node.ranks == 0 || ns < node.rank_min_ns) {
                node.rank_min_ns = ns;
                node.rank_min = key.second;
            }
            ++node.ranks;
        }
        for (ProfileRank& rank : profile_.ranks) {
            const uint64_t lived = time_ns[{0, rank.rank}];
            rank.intrusion_ns = lived / 1000;
            rank.own_ns = rank.intrusion_ns;
            rank.real_ns = lived + rank.intrusion_ns;
        }
    }
    Profile profile_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, ProfileRow> rows_;
};

}  // namespace dwell::samples

#endif  // DWELL_TESTS_UNIT_PROFILE_BUILDER_H_
