// What the merge costs on rank 0: the binomial tree reduction of MPI_Finalize over synthetic ranks,
// played in one process. Leaves are made when the reduction reaches them, so at most one tree for
// each level is alive; the peak memory printed is therefore above that of a real rank 0.
//
//     merge_bench [ranks]        (default 100000)
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "summarize/merge/merged.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

constexpr int kRanksPerHost = 64;
constexpr int kNeighbours[] = {1, -1, 100, -100};

// One call statement for every two communication statements, each with an interval and four peers.
class Leaves {
  public:
    Leaves(int nodes, int world_size) : file_(0, world_size), world_size_(world_size) {
        file_.add_module(1, "/opt/app/bin/solver", "abcdefghij0123456789");
        const CellIndex root = file_.add_thread(0, {1, 1'000'000'000, 1, 1});
        CellIndex call = root;
        CellIndex left = 0;
        uint64_t offset = 0x1000;
        for (int made = 1; made < nodes;) {
            if (made % 5 == 1) {
                call =
                    file_.add_call(made % 50 == 1 ? root : call, 1, offset += 16, {1, 500, 1, 1});
                made++;
                continue;
            }
            const CellIndex comm =
                file_.add_communication(call, 1, offset += 16, "MPI_Recv", {1000, 90'000, 10, 400});
            for (int i = 0; i < 4; i++) peers_.push_back(file_.add_peer(comm, 0, {250, 900, 1, 9}));
            comms_.push_back(comm);
            made++;
            if (made < nodes) file_.add_interval(comm, left, root, {1000, 50'000, 10, 99});
            made++;
            left = comm;
        }
    }

    uint32_t world_size() const { return static_cast<uint32_t>(world_size_); }

    bool add(int rank, Merged* into) {
        FileHeader& header = file_.header();
        header.rank = rank;
        header.pid = 1000 + rank;
        snprintf(header.host, sizeof(header.host), "node%05d.cluster", rank / kRanksPerHost);
        for (CellIndex comm : comms_) {
            file_.at<Node>(comm).ticks = 90'000 + static_cast<uint64_t>(rank * 7919L % 1000);
        }
        for (size_t i = 0; i < peers_.size(); i++) {
            const int peer = (rank + kNeighbours[i % 4] + world_size_) % world_size_;
            file_.at<TrafficPeerRecord>(peers_[i]).peer = static_cast<uint32_t>(peer);
        }
        return add_record_file(into, file_.data(), file_.bytes());
    }

  private:
    RecordFile file_;
    int world_size_;
    std::vector<CellIndex> comms_;
    std::vector<CellIndex> peers_;
};

struct Level {
    std::vector<double> times_ms;  // of reading the message and joining it
    size_t message_bytes = 0;
};

void reduce(Leaves* leaves, int first, int count, Merged* merged, std::vector<Level>* levels) {
    merged->expected_ranks = leaves->world_size();
    if (count == 1) {
        if (!leaves->add(first, merged)) exit(1);
        return;
    }
    int lower = 1;
    size_t level = 0;
    while (lower * 2 < count) {
        lower *= 2;
        level++;
    }
    reduce(leaves, first, lower, merged, levels);
    GrowArray<char> head, ranks;
    {
        Merged upper;
        reduce(leaves, first + lower, count - lower, &upper, levels);
        if (!serialize_head(upper, &head)) exit(1);
        const auto receive = [&](const char* bytes, size_t size) {
            return ranks.append(bytes, size);
        };
        if (!upper.ranks.each_piece(receive)) exit(1);
    }
    const size_t message_bytes = head.size() + ranks.size();
    const auto begin = std::chrono::steady_clock::now();
    Merged received;
    if (!deserialize(head.data(), head.size(), &ranks, &received) ||
        !join(merged, std::move(received))) {
        exit(1);
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (levels->size() <= level) levels->resize(level + 1);
    (*levels)[level].times_ms.push_back(time.count());
    (*levels)[level].message_bytes = std::max((*levels)[level].message_bytes, message_bytes);
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

void run(int ranks, int nodes) {
    const auto begin = std::chrono::steady_clock::now();
    Leaves leaves(nodes, ranks);
    Merged merged;
    std::vector<Level> levels;
    reduce(&leaves, 0, ranks, &merged, &levels);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "\n%d ranks of %d nodes: %zu merged nodes, %u ranks, all steps of all ranks %.1f s, "
        "peak memory %.0f MB\n",
        ranks, nodes, merged.nodes.size(), merged.ranks.size(), time.count(),
        static_cast<double>(usage.ru_maxrss) / 1024);
    printf("%6s %12s %14s %14s %16s\n", "step", "ranks after", "median ms", "ns per node",
           "message kB");
    for (size_t i = 0; i < levels.size(); i++) {
        const double time_ms = median(levels[i].times_ms);
        printf("%6zu %12d %14.3f %14.0f %16.1f\n", i + 1, std::min(2 << i, ranks), time_ms,
               time_ms * 1e6 / nodes, static_cast<double>(levels[i].message_bytes) / 1e3);
    }
    fflush(stdout);
}

}  // namespace
}  // namespace dwell

int main(int argc, char** argv) {
    const int ranks = argc > 1 ? atoi(argv[1]) : 100'000;
    if (ranks < 1) {
        fprintf(stderr, "usage: merge_bench [ranks]\n");
        return 2;
    }
#ifndef NDEBUG
    printf("built with assertions: times are too long\n");
#endif
    // Each in a process of its own, for its own peak. The others show how time grows with nodes.
    const int sizes[][2] = {{ranks, 500},
                            {std::min(ranks, 4096), 500},
                            {std::min(ranks, 4096), 1000},
                            {std::min(ranks, 4096), 2000}};
    int failed = 0;
    for (const auto& [count, nodes] : sizes) {
        const pid_t child = fork();
        if (child == 0) {
            dwell::run(count, nodes);
            _exit(0);
        }
        int status = 0;
        failed |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    return failed;
}
