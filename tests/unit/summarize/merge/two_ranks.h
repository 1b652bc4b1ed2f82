// Record files of two ranks, small enough to be merged by hand.
#ifndef DWELL_TESTS_UNIT_TWO_RANKS_H_
#define DWELL_TESTS_UNIT_TWO_RANKS_H_

#include <gtest/gtest.h>

#include <string>

#include "summarize/merge/merged.h"
#include "tests/unit/support/merged_view.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {

inline const std::string kBuildId = "abcdefghij0123456789";

inline Merged read(const RecordFile& file) {
    Merged merged;
    EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    return merged;
}

// Rank 0 has two threads in recv, rank 1 one; rank 1 has its modules with other numbers and
// addresses, in reverse order, and an additional node.
inline RecordFile first_rank() {
    RecordFile file(0, 2);
    file.add_module(1, "/bin/app", kBuildId, 0x1000);
    file.add_module(2, "/lib/plain.so", "", 0x7000);
    const uint64_t times[] = {100, 30};
    for (uint32_t thread = 0; thread < 2; thread++) {
        const CellIndex root = file.add_thread(thread, {1, 1000, 1000, 1000});
        strcpy(file.last_thread().name, thread == 0 ? "app" : "helper");
        const CellIndex call = file.add_call(root, 2, 0x40, {1, 500, 500, 500});
        const CellIndex recv =
            file.add_communication(call, 1, 0x50, "MPI_Recv", {2, times[thread], 10, 20});
        file.part(recv).bytes_received = 8;
        file.part(recv).blocked_ticks = 5;
        file.histogram(recv).messages[4] = 2;
        file.add_peer(recv, 1, {2, times[thread], 10, 20}, 0, 8);
        file.add_interval(recv, 0, root, {1, 7, 7, 7});
    }
    return file;
}

inline RecordFile second_rank() {
    RecordFile file(1, 2);
    file.add_module(1, "/lib/plain.so", "", 0x9000);
    file.add_module(2, "/bin/app", kBuildId, 0x3000);
    const CellIndex root = file.add_thread(0, {1, 800, 800, 800});
    strcpy(file.last_thread().name, "other");
    file.last_thread().threads_served = 3;
    const CellIndex extra = file.add_communication(root, 2, 0x99, "MPI_Send", {1, 6, 6, 6});
    const CellIndex call = file.add_call(root, 1, 0x40, {1, 300, 300, 300});
    const CellIndex recv = file.add_communication(call, 2, 0x50, "MPI_Recv", {1, 150, 150, 150});
    file.part(recv).bytes_received = 16;
    file.histogram(recv).messages[5] = 1;
    file.add_peer(recv, 0, {1, 150, 150, 150}, 0, 16);
    file.add_interval(recv, extra, call, {1, 9, 9, 9});
    file.add_interval(recv, 0, root, {1, 2, 2, 2});
    return file;
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_TWO_RANKS_H_
