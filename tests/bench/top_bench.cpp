// What a refresh of `dwell top` costs: record files of synthetic ranks that run, whose figures
// change between two readings.
//
//     top_bench [ranks [nodes]]        (default 64, 2000)
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "report/top/live_view.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

double processor_ms() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// One call statement for every two communication statements, each with an interval and four peers.
RecordFile records_of(int rank, int ranks, int nodes, const std::string& program) {
    RecordFile file(rank, ranks);
    file.header().state = FileState::kRunning;
    file.header().pid = getpid();
    file.header().ticks_per_second = 2'100'000'123;
    snprintf(file.header().host, sizeof file.header().host, "host");
    file.add_module(1, program, "");
    const CellIndex root = file.add_thread(0, {1, 0, 0, 0});
    CellIndex call = root;
    CellIndex left = 0;
    uint64_t offset = 0x1000;
    for (int made = 1; made < nodes;) {
        if (made % 5 == 1) {
            call = file.add_call(made % 50 == 1 ? root : call, 1, offset += 16, {1, 500, 1, 1});
            made++;
            continue;
        }
        const CellIndex comm =
            file.add_communication(call, 1, offset += 16, "MPI_Recv", {1000, 90'000, 10, 400});
        for (int i = 0; i < 4; i++) {
            file.add_peer(comm, static_cast<uint32_t>((rank + i + 1) % ranks), {250, 900, 1, 9});
        }
        made++;
        if (made < nodes) file.add_interval(comm, left, root, {1000, 50'000, 10, 99});
        made++;
        left = comm;
    }
    file.last_thread().open_depth = 1;
    file.last_thread().open.node = left;
    file.last_thread().open.entry_ticks = 1000;
    return file;
}

// A rank that counts, as its reader sees it.
class Rank {
  public:
    Rank(const std::string& path, const RecordFile& file) : bytes_(file.bytes()) {
        const int made = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (write(made, file.data(), bytes_) != static_cast<ssize_t>(bytes_)) exit(1);
        data_ =
            static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0));
        close(made);
    }
    void count() {
        for (size_t at = kHeaderCells * size_t{kCellBytes}; at < bytes_; at += kCellBytes) {
            auto* const node = reinterpret_cast<Node*>(data_ + at);
            if (node->count != 1000) continue;
            node->ticks += 100;
        }
    }

  private:
    size_t bytes_;
    char* data_;
};

long field_kb(const char* name) {
    FILE* const file = fopen("/proc/self/status", "r");
    char line[256];
    long value = 0;
    while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
        if (strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name));
    }
    if (file != nullptr) fclose(file);
    return value;
}

int run(int ranks, int nodes, const std::string& program) {
    char directory[] = "/dev/shm/top-bench-XXXXXX";
    if (mkdtemp(directory) == nullptr) return 1;
    std::vector<Rank> writers;
    size_t bytes = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const RecordFile file = records_of(rank, ranks, nodes, program);
        bytes += file.bytes();
        writers.emplace_back(std::string(directory) + "/rank." + std::to_string(rank), file);
    }
    // The writers' pages are not the reader's.
    const double begun = processor_ms();
    tl::expected<LiveView, std::string> view = LiveView::open(directory);
    if (!view) return 1;
    view->read();
    const double opened_ms = processor_ms() - begun;
    std::vector<double> costs;
    std::vector<double> with_ranks;
    for (int i = 0; i < 50; ++i) {
        for (Rank& rank : writers) rank.count();
        const double before = processor_ms();
        view->read(kAllRanks, i % 2 == 1);
        (i % 2 == 1 ? with_ranks : costs).push_back(processor_ms() - before);
    }
    std::sort(costs.begin(), costs.end());
    std::sort(with_ranks.begin(), with_ranks.end());
    printf(
        "%d ranks of %d nodes, %.1f MB of records: first reading %.1f ms, refresh %.1f ms "
        "(most %.1f), with sums of ranks %.1f ms, private memory %.0f MB, with records %.0f MB\n",
        ranks, nodes, static_cast<double>(bytes) / 1e6, opened_ms, costs[costs.size() / 2],
        costs.back(), with_ranks[with_ranks.size() / 2],
        static_cast<double>(field_kb("RssAnon:")) / 1024,
        static_cast<double>(field_kb("VmRSS:")) / 1024);
    std::filesystem::remove_all(directory);
    return 0;
}

}  // namespace
}  // namespace dwell

int main(int argc, char** argv) {
    return dwell::run(argc > 1 ? atoi(argv[1]) : 64, argc > 2 ? atoi(argv[2]) : 2000, argv[0]);
}
