// Two record files with known contents.
#ifndef DWELL_TESTS_UNIT_EXAMPLE_RECORDS_H_
#define DWELL_TESTS_UNIT_EXAMPLE_RECORDS_H_

#include <gtest/gtest.h>

#include <string>

#include "summarize/merge/merged.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {

inline const std::string kExampleBuildId = "abcdefghij0123456789";

// main calls solve; solve has a send (100 ns, 4 calls) and an allreduce (3 calls: 10, 20, 60 ns).
struct Example {
    RecordFile file{0, 1};
    CellIndex root, call, send, allreduce, start, interval, sample;

    Example() {
        file.add_module(1, "/bin/app", kExampleBuildId, 0x5555'0000);
        root = file.add_thread(0, {1, 1000, 1000, 1000});
        call = file.add_call(root, 1, 0x10, {1, 190, 190, 190});
        send = file.add_communication(call, 1, 0x20, "MPI_Send", {4, 100, 10, 40});
        allreduce = file.add_communication(call, 1, 0x30, "MPI_Allreduce", {3, 90, 10, 60});
        start = file.add_interval(send, 0, root, {1, 500, 500, 500});
        interval = file.add_interval(allreduce, send, call, {3, 300, 50, 150});
        sample = file.add_node(interval, SiteKind::kSample, 1, 0x2a, {7, 0, 0, 0});
        file.part(send).bytes_sent = 4096;
        file.part(send).blocked_ticks = 33;
        file.part(send).failed = 1;
        file.part(allreduce).blocked_ticks = 5;
        file.histogram(send).messages[11] = 4;
        file.histogram(send).untimed = 3;
        file.histogram(send).event_count[kSendReady] = 4;
        file.histogram(send).event_ticks[kSendReady] = 100;
    }
    Merged merged() {
        Merged result;
        EXPECT_TRUE(add_record_file(&result, file.data(), file.bytes()));
        return result;
    }
};

// main (row 0x100) has a loop (row 0x120) with a call of work (row 0x140, called 12 times, 3 of
// them only counted and 1 still open), a block and a marker.
struct Probed {
    RecordFile file{0, 1};
    CellIndex root, main, loop, work, block, marker;

    Probed() {
        file.header().ticks_per_second = 2'000'000'000;
        file.add_module(1, "/bin/app", kExampleBuildId, 0x5555'0000);
        root = file.add_thread(0, {1, 0, 0, 0});
        const CellIndex start = file.add_call(root, 1, 0x10, {0, 0, 0, 0});
        main = file.add_probe(start, SiteKind::kProcedure, 1, 0x100, {1, 0, UINT64_MAX, 0});
        loop = file.add_probe(main, SiteKind::kLoop, 1, 0x120, {2, 600, 200, 400});
        const CellIndex call = file.add_call(loop, 1, 0x20, {0, 0, 0, 0});
        work = file.add_probe(call, SiteKind::kProcedure, 1, 0x140, {12, 400, 20, 80});
        block = file.add_named(main, SiteKind::kBlock, "read input\nmain.c:7", {1, 50, 50, 50});
        marker = file.add_named(main, SiteKind::kMarker, "step", {5, 0, UINT64_MAX, 0});
        file.probe_part(loop).iterations = 200;
        file.probe_part(work).untimed = 1;
        file.probe_part(work).counted = 3;
        file.probe_part(work).off_entries = 60;
        file.probe_part(work).off_squares = 1;
        file.probe_part(work).abandoned = 1;
        file.probe_part(marker).volume = 77;
        file.probe_part(marker).untimed = 5;
        file.last_thread().probes = 21;
        file.last_thread().probes_missed = 3;
        file.last_thread().probes_dropped = 2;
        file.last_thread().stalls_dropped = 4;
    }
    Merged merged() {
        Merged result;
        EXPECT_TRUE(add_record_file(&result, file.data(), file.bytes()));
        return result;
    }
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_EXAMPLE_RECORDS_H_
