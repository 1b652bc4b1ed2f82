// Records of threads that were running when another thread ended the program.
#include <gtest/gtest.h>

#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/merged.h"
#include "tests/unit/support/merged_view.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

// The second thread ended the program at tick 1000. The first one had entered a region at its
// virtual tick 300 and a barrier in it at 650. One tick is a nanosecond.
struct Ended {
    RecordFile file{0, 1};

    Ended(uint64_t end_virtual, uint64_t late_ticks) {
        file.header().end_ticks = 1000;
        file.add_module(1, "/bin/app", "id");
        const CellIndex root = file.add_thread(0, {});
        const CellIndex region = add(root, 64, OmpConstruct::kParallel);
        const CellIndex barrier = add(region, 80, OmpConstruct::kBarrier);
        file.open_probe(region, 300);
        file.open_probe(barrier, 650);
        file.last_thread().intrusion_ticks = 20;
        file.last_thread().own_ticks = 10;
        file.last_thread().end_virtual = end_virtual;
        file.last_thread().late_ticks = late_ticks;
        file.add_thread(1, {});
    }
    CellIndex add(CellIndex parent, uint64_t offset, OmpConstruct construct) {
        const CellIndex node =
            file.add_probe(parent, SiteKind::kOpenMp, 1, offset, {1, 0, UINT64_MAX, 0});
        file.at<Node>(node).site.call = static_cast<uint16_t>(construct);
        return node;
    }
    Merged merged() const {
        Merged merged;
        EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        EXPECT_TRUE(is_well_formed(merged));
        return merged;
    }
};

const Totals& of(const Merged& merged, OmpConstruct construct) {
    for (const MergedNode& node : merged.nodes) {
        if (is_openmp(node.kind) && node.call == static_cast<uint16_t>(construct)) {
            return node.totals;
        }
    }
    return merged.nodes[0].totals;
}

TEST(RecordEnd, WhatWasOpenEndsWithTheObservation) {
    const Ended ended(900, 80);
    const Merged merged = ended.merged();
    EXPECT_EQ(of(merged, OmpConstruct::kParallel).time_ns, 900u - 300);
    EXPECT_EQ(of(merged, OmpConstruct::kBarrier).time_ns, 900u - 650);
    EXPECT_EQ(of(merged, OmpConstruct::kBarrier).omp_wait_ns, 900u - 650);
    EXPECT_EQ(of(merged, OmpConstruct::kParallel).omp_wait_ns, 0u);
    MergedRank rank{};
    ASSERT_TRUE(RankReader(merged.ranks).next(&rank));
    EXPECT_EQ(rank.intrusion_ns, 100u);
    EXPECT_EQ(rank.own_ns, 90u);
    EXPECT_EQ(rank.threads_cut, 0u);
}

TEST(RecordEnd, WhoWasInTheMiddleOfAProbeIsCounted) {
    const Ended ended(kNotReadable, 0);
    const Merged merged = ended.merged();
    EXPECT_EQ(of(merged, OmpConstruct::kParallel).time_ns, 650u - 300);
    MergedRank rank{};
    ASSERT_TRUE(RankReader(merged.ranks).next(&rank));
    EXPECT_EQ(rank.intrusion_ns, 20u);
    EXPECT_EQ(rank.threads_cut, 1u);
}

// A job whose ranks call no MPI: main was entered at tick 100, its loop at 150, and inside the loop
// a procedure 4 times, for 600 ticks in total. Of these 200 were in earlier entries of the loop,
// which took 250.
struct Unfinished {
    RecordFile file{0, 2};

    explicit Unfinished(FileState state) {
        file.header().state = state;
        file.header().start_ticks = 40;
        file.add_module(1, "/bin/app", "id");
        const CellIndex root = file.add_thread(0, {});
        const CellIndex main = file.add_probe(root, SiteKind::kProcedure, 1, 64, {});
        const CellIndex loop = file.add_probe(main, SiteKind::kLoop, 1, 80, {2, 250, 100, 150});
        const CellIndex call = file.add_call(loop, 1, 88, {});
        file.add_probe(call, SiteKind::kProcedure, 1, 96, {4, 600, 100, 200});
        file.open_probe(main, 100);
        file.open_probe(loop, 150);
        file.last_thread().probes = 7;
    }
    MergedRank rank(Merged* merged) const {
        EXPECT_TRUE(add_record_file(merged, file.data(), file.bytes()));
        MergedRank rank{};
        EXPECT_TRUE(RankReader(merged->ranks).next(&rank));
        return rank;
    }
};

TEST(RecordEnd, WhatIsOpenTookNoLessThanWhatLiesInIt) {
    const Unfinished killed(FileState::kRunning);
    Merged merged;
    EXPECT_EQ(killed.rank(&merged).real_ns, 150u + (600 - 250) - 40);
    EXPECT_EQ(merged.nodes[1].totals.time_ns, 500u - 100);
    EXPECT_EQ(merged.nodes[2].totals.time_ns, 250u + 500 - 150);
}

TEST(RecordEnd, ProbesGoOnToTheEndOfTheProcess) {
    Unfinished exited(FileState::kExited);
    exited.file.header().end_ticks = 900;
    exited.file.last_thread().probe_depth = 0;
    exited.file.last_thread().intrusion_ticks = 70;
    Merged merged;
    const MergedRank rank = exited.rank(&merged);
    EXPECT_EQ(rank.real_ns, 900u - 40);
    EXPECT_EQ(rank.intrusion_ns, 70u);
}

// Two application threads used the second record one after the other, for 700 ticks in total; a
// third one has used it since its virtual tick 500. They spent 200 ticks in calls and 150 in
// intervals before calls. Beside them OpenMP's own threads served for `served` ticks.
uint64_t rest_of_lives(uint64_t end_virtual, uint64_t lived, uint64_t served = 0) {
    RecordFile file{0, 1};
    file.add_module(1, "/bin/app", "id");
    file.add_thread(0, {});
    const CellIndex root = file.add_thread(1, {});
    const CellIndex send = file.add_communication(root, 1, 0x20, "MPI_Send", {4, 200, 10, 40});
    file.add_interval(send, 0, root, {4, 150, 10, 60});
    file.last_thread().span_ticks = lived;
    file.last_thread().serving_ticks = served;
    file.last_thread().life_start = lived != 0 ? 500 : 0;
    file.last_thread().end_virtual = end_virtual;
    Merged merged;
    EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    EXPECT_TRUE(is_well_formed(merged));
    const auto nodes = nodes_by_path(merged);
    const auto found = nodes.find("program/10 <-> ^program");
    if (found == nodes.end()) return 0;
    for (const MergedRow& row : merged.rows) {
        if (row.node != found->second) continue;
        EXPECT_EQ(row.thread, 1u);
        EXPECT_EQ(row.totals.time_ns, merged.nodes[row.node].totals.time_ns);
        return row.totals.time_ns;
    }
    return 0;
}

TEST(RecordEnd, LivesAreComputationWhereNothingElseIsKnown) {
    EXPECT_EQ(rest_of_lives(600, 700), 700u + 100 - 200 - 150);
    EXPECT_EQ(rest_of_lives(0, 700),
              700u - 200 - 150);  // the third thread's duration is unknown
    EXPECT_EQ(rest_of_lives(0, 350), 0u);
    EXPECT_EQ(rest_of_lives(0, 300), 0u);
}

// What the record's threads of OpenMP did is in regions, which take no time of the program's own
// threads.
TEST(RecordEnd, ThreadsOfBothSortsMayHaveUsedARecord) {
    EXPECT_EQ(rest_of_lives(600, 700, 90), 700u + 100 + 90 - 200 - 150);
    EXPECT_EQ(rest_of_lives(600, 0, 400), 0u);
}

// A program without MPI ran 5000 ns, of which its first thread lost 300 to dwell and spent 200 in
// I/O. Another thread lived for 700. The first thread may have been registered after the other one,
// or not at all; then the other thread's times are the rank's.
TEST(RecordEnd, WithoutMpiTheProcessIsTheFirstThreadsLife) {
    for (const int place : {0, 1, 2}) {
        SCOPED_TRACE(place);
        RecordFile file{0, 1};
        file.header().flags |= kFileSerial;
        file.header().state = FileState::kFinalized;
        file.header().pid = 77;
        file.header().process_thread = place == 2 ? 0 : static_cast<uint32_t>(place);
        file.header().start_ticks = 1000;
        file.header().end_ticks = 6000;
        file.add_module(1, "/bin/app", "id");
        for (uint32_t number = 0; number < 2; ++number) {
            const CellIndex root = file.add_thread(number, {});
            ThreadRecord& thread = file.last_thread();
            const bool is_main = number == static_cast<uint32_t>(place);
            thread.tid = is_main ? 77 : 78 + static_cast<int32_t>(number);
            if (is_main || (place == 2 && number == 0)) {
                thread.intrusion_ticks = 300;
                file.add_probe(root, SiteKind::kIo, 1, 0x40, {1, 200, 200, 200});
            }
            if (!is_main) thread.span_ticks = 700;
            // Another thread ended the process: its span had not ended.
            if (is_main) thread.life_start = 1000;
            if (is_main) thread.end_virtual = 5700;
        }
        Merged merged;
        ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        EXPECT_TRUE(is_well_formed(merged));
        const uint32_t life = nodes_by_path(merged).at("program/10 <-> ^program");
        std::map<uint32_t, uint64_t> lived;
        for (const MergedRow& row : merged.rows) {
            if (row.node == life) lived[row.thread] = row.totals.time_ns;
        }
        const auto process = static_cast<uint32_t>(file.header().process_thread);
        EXPECT_EQ(lived, (std::map<uint32_t, uint64_t>{{process, 4500}, {1 - process, 700}}));
        MergedRank rank{};
        ASSERT_TRUE(RankReader(merged.ranks).next(&rank));
        EXPECT_EQ(rank.intrusion_ns, 300u);
        EXPECT_EQ(rank.real_ns, 5000u);
    }
}

// A rank that started at tick 1000 has left its third barrier, of 50 ticks each, at 2000, computed
// 200 between them, and entered a receive at 2300. It was inside `main` from 1100 on. Its clock has
// lost 30 ticks to dwell. One tick is a nanosecond.
struct Died {
    RecordFile file{0, 2};
    CellIndex receive;

    explicit Died(bool in_call = true) {
        file.header().state = FileState::kRunning;
        file.header().start_ticks = 1000;
        file.header().start_unix_ns = 7'000'001'000;
        file.add_module(1, "/bin/app", "id");
        const CellIndex root = file.add_thread(0, {});
        const CellIndex barrier =
            file.add_communication(root, 1, 0x20, "MPI_Barrier", {3, 150, 50, 50});
        file.add_interval(barrier, 0, root, {3, 200, 10, 100});
        receive = file.add_communication(root, 1, 0x30, "MPI_Recv", {0, 0, UINT64_MAX, 0});
        const CellIndex main = file.add_probe(root, SiteKind::kProcedure, 1, 64, {});
        file.open_probe(main, 1100);
        ThreadRecord& thread = file.last_thread();
        thread.last_ticks = 2000;
        thread.intrusion_ticks = 30;
        thread.open.node = in_call ? receive : barrier;
        thread.open.entry_ticks = in_call ? 2300 : 1950;
        thread.open_depth = in_call ? 1 : 0;
    }
    Merged merged(int64_t end_unix_ns = 0) const {
        Merged merged;
        EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes(), end_unix_ns));
        EXPECT_TRUE(is_well_formed(merged));
        return merged;
    }
};

const Totals& of_call(const Merged& merged, uint64_t offset) {
    for (const MergedNode& node : merged.nodes) {
        if (node.offset == offset && node.kind == static_cast<uint8_t>(SiteKind::kCommunication)) {
            return node.totals;
        }
    }
    return merged.nodes[0].totals;
}
uint64_t procedure_ns(const Merged& merged, uint64_t Totals::*figure) {
    for (const MergedNode& node : merged.nodes) {
        if (node.kind == static_cast<uint8_t>(SiteKind::kProcedure)) return node.totals.*figure;
    }
    return 0;
}
MergedRank only_rank(const Merged& merged) {
    MergedRank rank{};
    EXPECT_TRUE(RankReader(merged.ranks).next(&rank));
    return rank;
}
uint64_t rest_ns(const Merged& merged) {
    const auto nodes = nodes_by_path(merged);
    const auto found = nodes.find("program/10 <-> ^program");
    return found != nodes.end() ? merged.nodes[found->second].totals.time_ns : 0;
}

TEST(RecordEnd, AnOpenCallLastsUntilItsProcessDied) {
    Died died;
    died.file.header().death_ticks = 5000;
    const Merged merged = died.merged(7'000'009'000);  // what was seen counts more
    const Totals& receive = of_call(merged, 0x30);
    EXPECT_EQ(receive.count, 0u);
    EXPECT_EQ(receive.time_ns, 5000u - 2300);
    EXPECT_EQ(receive.unfinished_ns, 5000u - 2300);
    EXPECT_EQ(receive.blocked_ns, 5000u - 2300);
    EXPECT_EQ(receive.max_ns, 0u);
    EXPECT_EQ(of_call(merged, 0x20).count, 3u);
    EXPECT_EQ(of_call(merged, 0x20).unfinished_ns, 0u);
    // Virtual time: dwell's 30 ticks are not part of it.
    EXPECT_EQ(procedure_ns(merged, &Totals::unfinished_ns), 5000u - 30 - 1100);
    const MergedRank rank = only_rank(merged);
    EXPECT_EQ(rank.real_ns, 4000u);
    EXPECT_EQ(rank.flags & (kFileEndSeen | kFileEndGuessed), uint32_t{kFileEndSeen});
    // Between the last barrier and the receive, and what no record has.
    EXPECT_EQ(rest_ns(merged), 4000u - 30 - 150 - 200 - 2700);
    ASSERT_EQ(merged.open.size(), 1u);
    EXPECT_TRUE(merged.open[0].has_ended && merged.open[0].is_in_call);
    EXPECT_EQ(merged.open[0].end_unix_ns - merged.open[0].since_unix_ns, 2700);
}

TEST(RecordEnd, WhoseEndNobodySawLastsUntilTheNewestTimeOfAll) {
    const Died died;
    NewestTime newest;
    ASSERT_TRUE(newest_time_in(died.file.data(), died.file.bytes(), &newest));
    EXPECT_EQ(newest.unix_ns, 7'000'002'300);
    const Merged alone = died.merged(newest.unix_ns);
    EXPECT_EQ(of_call(alone, 0x30).unfinished_ns, 0u);
    const Merged merged = died.merged(7'000'004'000);
    EXPECT_EQ(of_call(merged, 0x30).unfinished_ns, 4000u - 2300);
    EXPECT_EQ(only_rank(merged).flags & (kFileEndSeen | kFileEndGuessed),
              uint32_t{kFileEndGuessed});
}

// In a damaged header: 2^63 ns before 1970.
TEST(RecordEnd, AStartLongAgoMakesALongLife) {
    Died died;
    died.file.header().start_unix_ns = INT64_MIN;
    EXPECT_EQ(only_rank(died.merged(4000)).real_ns, (uint64_t{1} << 63) + 4000);
}

TEST(RecordEnd, WhoComputedWhenItDiedHasComputation) {
    Died died(false);
    died.file.header().death_ticks = 5000;
    const Merged merged = died.merged();
    EXPECT_EQ(of_call(merged, 0x30).time_ns, 0u);
    EXPECT_EQ(rest_ns(merged), 4000u - 30 - 150 - 200);
    ASSERT_EQ(merged.open.size(), 1u);
    EXPECT_FALSE(merged.open[0].is_in_call);
}

// Its thread was one of the program's before MPI_Init made it the process's.
TEST(RecordEnd, TheSpanOfTheProcessCountsOnce) {
    Died died(false);
    died.file.header().death_ticks = 5000;
    died.file.header().pid = died.file.last_thread().tid = 77;
    died.file.last_thread().life_start = 1200;
    EXPECT_EQ(rest_ns(died.merged()), 4000u - 30 - 150 - 200);
}

TEST(RecordEnd, APauseThatGoesOnIsNoComputation) {
    Died died(false);
    died.file.header().paused_since = 2100;
    died.file.header().death_ticks = 5000;
    EXPECT_EQ(only_rank(died.merged()).real_ns, 2100u - 1000);
}

// Of a process that runs, or went on as another program, nothing is added.
TEST(RecordEnd, WhoHasNotEndedIsReadAsItIs) {
    Died died;
    EXPECT_EQ(of_call(died.merged(), 0x30).time_ns, 0u);
    EXPECT_FALSE(died.merged().open[0].has_ended);
    died.file.header().death_ticks = 5000;
    died.file.header().flags |= kFileReplaced;
    EXPECT_EQ(of_call(died.merged(), 0x30).time_ns, 0u);
}

}  // namespace
}  // namespace dwell
