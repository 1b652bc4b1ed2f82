// The time axis of ranks and of the job, from record files made by hand: one tick is a nanosecond.
#include "summarize/merge/merged_axis.h"

#include <atomic>
#include <thread>

#include "runtime/contract/omp_constructs.h"
#include "runtime/contract/record_layout.h"
#include "tests/unit/summarize/merge/two_ranks.h"

namespace dwell {
namespace {

constexpr uint32_t kShift = kFirstBinShift;
constexpr uint64_t kBin = uint64_t{1} << kShift;

// A rank with one thread, whose bins hold `computation` each and are of the width 2^shift.
RecordFile rank_with(int rank, uint32_t shift, uint64_t first,
                     const std::vector<uint64_t>& computation) {
    RecordFile file(rank, 2);
    file.add_thread(0, {1, 1000, 1000, 1000});
    const auto used = static_cast<uint32_t>(computation.size());
    AxisBin* bins = file.add_axis(first, shift, used, (first + used) << shift);
    for (uint32_t i = 0; i < used; ++i) bins[i].computation_ticks = computation[i];
    return file;
}

std::vector<uint64_t> numbers(const Merged& merged) {
    std::vector<uint64_t> all;
    for (const MergedAxisBin& bin : merged.axis) all.push_back(bin.bin);
    return all;
}
std::vector<uint64_t> computation(const Merged& merged, AxisFigures MergedAxisBin::*which) {
    std::vector<uint64_t> all;
    for (const MergedAxisBin& bin : merged.axis) all.push_back((bin.*which).computation_ns);
    return all;
}

using Numbers = std::vector<uint64_t>;

TEST(MergedAxis, HasSumLeastAndMostOfTheRanks) {
    Merged merged = read(rank_with(0, kShift, 10, {5, 6, 7}));
    ASSERT_TRUE(join(&merged, read(rank_with(1, kShift, 11, {60, 70, 80}))));
    EXPECT_EQ(merged.axis_shift, kShift);
    EXPECT_EQ(numbers(merged), (Numbers{10, 11, 12, 13}));
    EXPECT_EQ(computation(merged, &MergedAxisBin::sum), (Numbers{5, 66, 77, 80}));
    EXPECT_EQ(computation(merged, &MergedAxisBin::least), (Numbers{5, 6, 7, 80}));
    EXPECT_EQ(computation(merged, &MergedAxisBin::most), (Numbers{5, 60, 70, 80}));
    EXPECT_EQ(merged.axis[0].ranks, 1u);
    EXPECT_EQ(merged.axis[1].ranks, 2u);
    EXPECT_EQ(merged.axis_rows.size(), 6u);
}

// Bins 10, 11 | 12 at the width of one become 5 | 6 at the width of the other, in either order.
TEST(MergedAxis, TakesTheWidestBins) {
    for (const bool swapped : {false, true}) {
        const RecordFile narrow = rank_with(0, kShift, 10, {5, 6, 7});
        const RecordFile wide = rank_with(1, kShift + 1, 5, {20, 3});
        Merged merged = read(swapped ? wide : narrow);
        ASSERT_TRUE(join(&merged, read(swapped ? narrow : wide)));
        EXPECT_EQ(merged.axis_shift, kShift + 1);
        EXPECT_EQ(numbers(merged), (Numbers{5, 6}));
        EXPECT_EQ(computation(merged, &MergedAxisBin::sum), (Numbers{31, 10}));
        EXPECT_EQ(computation(merged, &MergedAxisBin::least), (Numbers{11, 3}));
        EXPECT_EQ(computation(merged, &MergedAxisBin::most), (Numbers{20, 7}));
    }
}

// The least of two bins together is that of one rank, not the sum of the least of each.
TEST(MergedAxis, LeastAndMostOfWiderBinsAreOfWholeRanks) {
    Merged merged = read(rank_with(0, kShift, 10, {1, 9}));
    ASSERT_TRUE(join(&merged, read(rank_with(1, kShift, 10, {8, 1}))));
    ASSERT_TRUE(join(&merged, read(rank_with(1, kShift + 1, 5, {20}))));
    EXPECT_EQ(computation(merged, &MergedAxisBin::least), (Numbers{9}));
    EXPECT_EQ(computation(merged, &MergedAxisBin::most), (Numbers{20}));
    EXPECT_EQ(computation(merged, &MergedAxisBin::sum), (Numbers{39}));
}

TEST(MergedAxis, StaysWithinItsNumberOfBins) {
    Merged merged = read(rank_with(0, kShift, 0, Numbers(256, 3)));
    ASSERT_TRUE(join(&merged, read(rank_with(1, kShift, 200, Numbers(256, 2)))));
    EXPECT_LE(merged.axis.size(), size_t{kAxisBins});
    EXPECT_EQ(merged.axis_shift, kShift + 1);
    uint64_t all = 0;
    for (const uint64_t part : computation(merged, &MergedAxisBin::sum)) all += part;
    EXPECT_EQ(all, 256u * 3 + 256u * 2);
}

TEST(MergedAxis, RowsAreDroppedOverTheLimit) {
    Merged merged;
    merged.row_limit = 5;
    ASSERT_TRUE(join(&merged, read(rank_with(0, kShift, 10, {5, 6, 7}))));
    EXPECT_EQ(merged.axis_rows.size(), 3u);
    ASSERT_TRUE(join(&merged, read(rank_with(1, kShift, 10, {5, 6, 7}))));
    EXPECT_EQ(merged.axis_rows.size(), 0u);
    EXPECT_NE(merged.flags & kMergedAxisDropped, 0u);
    EXPECT_EQ(computation(merged, &MergedAxisBin::sum), (Numbers{10, 12, 14}));
    EXPECT_EQ(merged.axis[2].ranks, 2u);
}

TEST(MergedAxis, TravelsAsBytes) {
    Merged merged = read(rank_with(0, kShift, 10, {5, 6, 7}));
    GrowArray<char> bytes;
    ASSERT_TRUE(serialize(merged, &bytes));
    Merged copy;
    ASSERT_TRUE(deserialize(bytes.data(), bytes.size(), &copy));
    EXPECT_EQ(computation(copy, &MergedAxisBin::sum), (Numbers{5, 6, 7}));
    EXPECT_EQ(copy.axis_rows.size(), 3u);
    EXPECT_EQ(copy.axis_shift, kShift);
}

TEST(TheRecordAxis, ThreadsAreSummedAtTheWiderWidth) {
    RecordFile file(0, 1);
    file.add_thread(0, {1, 1000, 1000, 1000});
    AxisBin* bins = file.add_axis(10, kShift, 2, 12 * kBin);
    bins[0].call_ticks = 50;
    bins[0].waiting_ticks = 20;
    bins[1].io_ticks = 7;
    file.add_thread(1, {1, 1000, 1000, 1000});
    bins = file.add_axis(5, kShift + 1, 1, 12 * kBin);
    bins[0].omp_wait_ticks = 9;
    bins[0].bytes_sent = 3;
    const Merged merged = read(file);
    ASSERT_EQ(merged.axis.size(), 1u);
    const AxisFigures& sum = merged.axis[0].sum;
    EXPECT_EQ(sum.transfer_ns, 30u);
    EXPECT_EQ(sum.waiting_ns, 20u);
    EXPECT_EQ(sum.io_ns, 7u);
    EXPECT_EQ(sum.omp_wait_ns, 9u);
    EXPECT_EQ(sum.bytes_sent, 3u);
    EXPECT_EQ(merged.axis[0].ranks, 1u);
}

// Finished calls that the bins have not got, then computation up to the end of the last call.
TEST(TheRecordAxis, WhatTheLastBinLacksIsAdded) {
    RecordFile file(0, 1);
    file.add_thread(0, {1, 1000, 1000, 1000});
    ThreadRecord& thread = file.last_thread();
    thread.open.node = 1;  // it has called
    thread.axis.bin_end = 11 * kBin;
    thread.axis.first_bin = 10;
    thread.axis.bin_shift = kShift;
    thread.axis.from = 10 * kBin;
    thread.axis.sums.call_ticks = 300;
    thread.axis.sums.bytes_sent = 5;
    thread.last_ticks = 10 * kBin + 1000;
    const Merged merged = read(file);
    EXPECT_EQ(numbers(merged), (Numbers{10}));
    EXPECT_EQ(merged.axis[0].sum.transfer_ns, 300u);
    EXPECT_EQ(merged.axis[0].sum.computation_ns, 700u);
    EXPECT_EQ(merged.axis[0].sum.bytes_sent, 5u);
}

// Of a killed process: computation up to the entry of the call that is open, then waiting up to the
// newest time in the record, here another thread's.
TEST(TheRecordAxis, AnOpenCallLastsUpToTheNewestTime) {
    RecordFile file(0, 1);
    file.header().state = FileState::kRunning;
    const CellIndex root = file.add_thread(0, {1, 1000, 1000, 1000});
    const CellIndex recv = file.add_communication(root, 0, 0x50, "MPI_Recv", {1, 10, 10, 10});
    ThreadRecord& thread = file.last_thread();
    thread.open.node = recv;
    thread.open_depth = 1;
    thread.open.entry_ticks = 10 * kBin + 400;
    thread.last_ticks = 10 * kBin + 100;
    thread.axis.bin_end = 11 * kBin;
    thread.axis.first_bin = 10;
    thread.axis.bin_shift = kShift;
    thread.axis.from = 10 * kBin + 100;
    file.add_thread(1, {1, 1000, 1000, 1000});
    file.last_thread().last_ticks = 12 * kBin + 70;
    const Merged merged = read(file);
    EXPECT_EQ(numbers(merged), (Numbers{10, 11, 12}));
    EXPECT_EQ(computation(merged, &MergedAxisBin::sum), (Numbers{300, 0, 0}));
    EXPECT_EQ(merged.axis[0].sum.waiting_ns, kBin - 400);
    EXPECT_EQ(merged.axis[1].sum.waiting_ns, kBin);
    EXPECT_EQ(merged.axis[2].sum.waiting_ns, 70u);
}

// A rank that computed from 10 bins on, went into `call` 400 ticks later, and died at 13 bins. With
// dwell's own 30 ticks, all before.
RecordFile died_in(const char* call) {
    RecordFile file(0, 1);
    file.header().state = FileState::kRunning;
    file.header().death_ticks = 13 * kBin + 30;
    const CellIndex root = file.add_thread(0, {1, 1000, 1000, 1000});
    const CellIndex node = file.add_communication(root, 0, 0x50, call, {0, 0, UINT64_MAX, 0});
    ThreadRecord& thread = file.last_thread();
    thread.intrusion_ticks = 30;
    thread.open.node = node;
    thread.open_depth = 1;
    thread.open.entry_ticks = 10 * kBin + 430;
    thread.last_ticks = 10 * kBin + 30;
    thread.axis.bin_end = 11 * kBin;
    thread.axis.first_bin = 10;
    thread.axis.bin_shift = kShift;
    thread.axis.from = 10 * kBin;
    return file;
}

uint64_t sum_of(const Merged& merged, uint64_t AxisFigures::*figure) {
    uint64_t sum = 0;
    for (const MergedAxisBin& bin : merged.axis) sum += bin.sum.*figure;
    return sum;
}

// As in the figures of its node.
TEST(TheRecordAxis, AnOpenCallLastsUntilItsProcessDied) {
    for (const char* call : {"MPI_Recv", "MPI_Comm_dup", "MPI_Init"}) {
        const Merged merged = read(died_in(call));
        EXPECT_EQ(numbers(merged), (Numbers{10, 11, 12})) << call;
        const Totals& totals = merged.nodes[1].totals;
        EXPECT_EQ(totals.unfinished_ns, 3 * kBin - 400) << call;
        EXPECT_EQ(sum_of(merged, &AxisFigures::computation_ns), 400u) << call;
        EXPECT_EQ(sum_of(merged, &AxisFigures::waiting_ns), totals.blocked_ns) << call;
        EXPECT_EQ(sum_of(merged, &AxisFigures::transfer_ns), totals.time_ns - totals.blocked_ns)
            << call;
    }
    EXPECT_EQ(read(died_in("MPI_Init")).nodes[1].totals.blocked_ns, 0u);
}

TEST(TheRecordAxis, WhoComputedWhenItDiedHasComputation) {
    RecordFile file = died_in("MPI_Recv");
    file.last_thread().open_depth = 0;
    const Merged merged = read(file);
    EXPECT_EQ(computation(merged, &MergedAxisBin::sum), (Numbers{kBin, kBin, kBin}));
}

// A thread of OpenMP that waited in a barrier from 11 bins on.
TEST(TheRecordAxis, AnOpenBarrierLastsUntilItsProcessDied) {
    RecordFile file = died_in("MPI_Recv");
    ThreadRecord& thread = file.last_thread();
    thread.open_depth = 0;
    const CellIndex barrier = file.add_probe(thread.root, SiteKind::kOpenMp, 0, 0x60, {});
    file.at<Node>(barrier).site.call = static_cast<uint16_t>(OmpConstruct::kBarrier);
    file.open_probe(barrier, 11 * kBin);
    const Merged merged = read(file);
    EXPECT_EQ(sum_of(merged, &AxisFigures::computation_ns), kBin);
    EXPECT_EQ(sum_of(merged, &AxisFigures::omp_wait_ns), 2 * kBin);
    uint64_t wait_ns = 0;
    for (const MergedNode& node : merged.nodes) wait_ns += node.totals.omp_wait_ns;
    EXPECT_EQ(wait_ns, 2 * kBin);
}

TEST(TheRecordAxis, AHangOfHoursWidensTheBins) {
    RecordFile file = rank_with(0, kShift, 10, {5, 6, 7});
    ThreadRecord& thread = file.last_thread();
    thread.life_start = 1;
    thread.last_ticks = 10'000'000'000'000;
    const Merged merged = read(file);
    EXPECT_LE(merged.axis.size(), size_t{kAxisBins});
    uint64_t all = 0;
    for (const uint64_t part : computation(merged, &MergedAxisBin::sum)) all += part;
    EXPECT_EQ(all, 18 + 10'000'000'000'000 - 13 * kBin);
}

// A thread stores what it did in its bins, a tick at a time, while they are read: in each reading
// all of it is there once.
TEST(TheRecordAxis, IsReadAsOfOneMoment) {
    constexpr uint64_t kAll = 1'000'000'000'000;
    RecordFile file = rank_with(0, kShift, 10, {0});
    file.header().state = FileState::kRunning;
    TimeAxis& axis = file.last_thread().axis;
    AxisBin* bin = &file.at<AxisBin>(axis.bins);
    axis.sums.call_ticks = kAll;
    int whole = 0;
    std::atomic<bool> ends{false};
    std::thread writer([&] {
        const auto change_version = [&axis] {
            __atomic_store_n(&axis.version, axis.version + 1, __ATOMIC_RELEASE);
        };
        while (!ends) {
            change_version();
            __atomic_store_n(&bin->call_ticks, bin->call_ticks + 1, __ATOMIC_RELEASE);
            __atomic_store_n(&axis.stored.call_ticks, bin->call_ticks, __ATOMIC_RELEASE);
            change_version();
            for (int i = 0; i < 200; ++i) __builtin_ia32_pause();
        }
    });
    for (int i = 0; i < 200'000 && !HasFailure(); ++i) {
        const Merged merged = read(file);
        const uint64_t ticks = merged.axis[0].sum.transfer_ns;
        // Where the thread lost its processor in the middle of a change: the bins alone.
        if (ticks < kAll / 2) continue;
        EXPECT_EQ(ticks, kAll);
        ++whole;
    }
    ends = true;
    writer.join();
    EXPECT_GT(whole, 0);
}

TEST(TheRecordAxis, PhasesAreNodes) {
    RecordFile file(0, 1);
    const CellIndex root = file.add_thread(0, {1, 1000, 1000, 1000});
    const CellIndex phase = file.add_phase(root, "solve", 1, 1, {1, 500, 500, 500});
    AxisBin* bins = file.add_axis(10, kShift, 2, 12 * kBin);
    bins[0].phase = phase;
    bins[0].phase_weight = 4;
    bins[0].computation_ticks = bins[1].computation_ticks = 1;
    const Merged merged = read(file);
    ASSERT_EQ(merged.axis.size(), 2u);
    ASSERT_NE(merged.axis[0].phase, kNoNode);
    const MergedNode& node = merged.nodes[merged.axis[0].phase];
    EXPECT_STREQ(merged.text.data() + node.offset, "solve");
    EXPECT_EQ(merged.axis[1].phase, kNoNode);
}

TEST(TheRecordAxis, DamageIsNoticed) {
    RecordFile file = rank_with(0, kShift, 10, {5, 6, 7});
    file.last_thread().axis.last_bin = kAxisBins;
    EXPECT_TRUE(read(file).axis.empty());
    file.last_thread().axis.last_bin = 0;
    file.last_thread().axis.bin_shift = 200;
    EXPECT_TRUE(read(file).axis.empty());
    file.last_thread().axis.bin_shift = kShift;
    file.last_thread().axis.bins = 0x7fffffff;
    EXPECT_TRUE(read(file).axis.empty());
}

bool is_damaged(const Merged& merged) {
    RankReader ranks(merged.ranks);
    MergedRank rank{};
    return ranks.next(&rank) && (rank.flags & kFileDamaged) != 0;
}

TEST(TheRecordAxis, BinsWithoutWhatWasStoredAreDamaged) {
    RecordFile file = rank_with(0, kShift, 10, {5, 6, 7});
    AxisBin* bins = &file.at<AxisBin>(file.last_thread().axis.bins);
    bins[1].bytes_sent = 100;
    file.last_thread().axis.stored.bytes_sent = 100;
    EXPECT_FALSE(is_damaged(read(file)));
    bins[1] = AxisBin{};
    EXPECT_TRUE(is_damaged(read(file)));
}

TEST(TheRecordAxis, ThreadsWithoutRoomAreCounted) {
    RecordFile file(0, 1);
    file.add_thread(0, {1, 1000, 1000, 1000});
    file.last_thread().axis.no_room = 1;
    file.last_thread().axis.bin_end = UINT64_MAX;
    EXPECT_EQ(read(file).axis_missing, 1u);
}

}  // namespace
}  // namespace dwell
