// What `dwell where` costs on one host: reads synthetic record files of many ranks twice, the
// second time with all lines known, as at its second reading. The files lie in a directory of their
// own.
//
//     where_bench [ranks [nodes]]        (default 1000, 200)
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "report/console/output.h"
#include "report/live/live_job.h"
#include "report/live/traffic.h"
#include "report/live/where_text.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

constexpr uint64_t kWorld = 4096;  // a handle
constexpr uint32_t kRequests = 64;
constexpr uint64_t kSecond = 1'000'000'000;

// Most ranks are in a collective, every tenth in a wait, and one in a receive.
RecordFile records_of(int rank, int ranks, int nodes) {
    RecordFile file(rank, ranks);
    file.header().state = FileState::kRunning;
    file.header().pid = getpid();
    file.header().start_ticks = kSecond;
    file.add_module(1, "/proc/self/exe", "");
    const CellIndex root = file.add_thread(0, {});
    file.last_thread().tid = getpid();
    file.add_comm(kWorld, kWorldId, rank, static_cast<uint32_t>(ranks), rank == 1 ? 4 : 5);
    for (uint32_t i = 0; i < kRequests; ++i) {
        file.add_request(64 * (i + 1), kReceiveRequest, kWorld, (rank + 1) % ranks, 7);
    }
    CellIndex call = root;
    CellIndex statement = 0;
    for (int i = 0; i < nodes; ++i) {
        const auto offset = static_cast<uint64_t>(0x1000 + 16 * i);
        if (i % 10 == 0) call = file.add_call(i % 100 == 0 ? root : call, 1, offset, {});
        const char* name = rank == 1 ? "MPI_Recv" : rank % 10 == 2 ? "MPI_Waitall" : "MPI_Barrier";
        if (i % 10 != 0) statement = file.add_communication(call, 1, offset, name, {});
    }
    file.open_call(statement, 2 * kSecond, kWorld, rank == 1 ? 0 : kAnyRank, 7).requests =
        kRequests;
    return file;
}

double ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
}

int measure(int ranks, int nodes) {
    char directory[] = "/dev/shm/where-bench-XXXXXX";
    if (mkdtemp(directory) == nullptr) return 1;
    for (int rank = 0; rank < ranks; ++rank) {
        const RecordFile file = records_of(rank, ranks, nodes);
        const std::string path = std::string(directory) + "/rank." + std::to_string(rank);
        const std::string_view bytes(static_cast<const char*>(file.data()), file.bytes());
        if (!write_file(path, bytes)) return 1;
    }
    KnownLines lines;
    Positions before;
    for (const char* what : {"first, lines to be resolved", "again, lines known"}) {
        size_t left_out = 0;
        const auto begin = std::chrono::steady_clock::now();
        const tl::expected<Merged, std::string> merged = read_places(directory, &left_out);
        if (!merged || left_out != 0) return 1;
        const double read_ms = ms_since(begin);
        Positions positions = positions_of(*merged, &before, &lines);
        add_findings(directory, *merged, &positions);
        const double positions_ms = ms_since(begin) - read_ms;
        WhereOptions options;
        options.width = 80;
        const std::string text = where_text(positions, 0, options);
        printf("%s: %.1f ms (read %.1f, positions %.1f, text %.1f; %zu bytes)\n", what,
               ms_since(begin), read_ms, positions_ms, ms_since(begin) - read_ms - positions_ms,
               text.size());
        before = positions;
    }
    std::filesystem::remove_all(directory);
    return 0;
}

}  // namespace
}  // namespace dwell

int main(int argc, char** argv) {
    return dwell::measure(argc > 1 ? atoi(argv[1]) : 1000, argc > 2 ? atoi(argv[2]) : 200);
}
