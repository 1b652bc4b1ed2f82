// Tests joining merged records: sums by hand, equal figures for any order and shape of the
// reduction, rejection of damaged messages, and the row limit.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <set>

#include "summarize/merge/merged.h"
#include "tests/unit/summarize/merge/two_ranks.h"
#include "tests/unit/support/merged_view.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

std::string comm(const char* name, const std::string& module, int offset) {
    return "/5#" + std::to_string(call_number(name)) + " " + module + ":" + std::to_string(offset);
}

TEST(Merge, TwoRanksThreeThreadsByHand) {
    for (const bool first_into_second : {false, true}) {
        Merged merged = read(first_into_second ? second_rank() : first_rank());
        ASSERT_TRUE(join(&merged, read(first_into_second ? first_rank() : second_rank())));
        const auto nodes = nodes_by_path(merged);
        // program, call, recv, send, start -> recv, send -> recv
        ASSERT_EQ(merged.nodes.size(), 6u);
        EXPECT_EQ(merged.modules.size(), 2u);
        const std::string path = "program/4 /lib/plain.so:64" + comm("MPI_Recv", "/bin/app", 0x50);
        const MergedNode& recv = merged.nodes[nodes.at(path)];
        EXPECT_EQ(recv.totals.count, 5u);
        EXPECT_EQ(recv.totals.time_ns, 280u);
        EXPECT_EQ(recv.totals.min_ns, 10u);
        EXPECT_EQ(recv.totals.max_ns, 150u);
        EXPECT_EQ(recv.totals.blocked_ns, 10u);
        EXPECT_EQ(recv.totals.bytes_received, 32u);
        EXPECT_EQ(recv.ranks, 2u);
        EXPECT_EQ(recv.rank_min, 0u);
        EXPECT_EQ(recv.rank_min_ns, 130u);  // both threads
        EXPECT_EQ(recv.rank_max, 1u);
        EXPECT_EQ(recv.rank_max_ns, 150u);
        EXPECT_EQ(merged.histograms[recv.histogram].messages[4], 4u);
        EXPECT_EQ(merged.histograms[recv.histogram].messages[5], 1u);

        std::set<std::string> threads;
        for (const MergedThread& thread : merged.threads) {
            threads.insert(std::to_string(thread.rank) + '.' + std::to_string(thread.thread) + ' ' +
                           std::to_string(thread.served) + ' ' +
                           (merged.text.data() + thread.name));
        }
        EXPECT_EQ(threads, (std::set<std::string>{"0.0 1 app", "0.1 1 helper", "1.0 3 other"}));

        const std::string send = "program" + comm("MPI_Send", "/bin/app", 0x99);
        EXPECT_EQ(merged.nodes[nodes.at(send)].ranks, 1u);
        const std::string met = "> ^program/4 /lib/plain.so:64";
        EXPECT_EQ(merged.nodes[nodes.at(path + "/10 <" + send + met)].totals.time_ns, 9u);
        EXPECT_EQ(merged.nodes[nodes.at(path + "/10 <-> ^program")].totals.time_ns, 16u);

        const auto figures = all_figures(merged);
        EXPECT_EQ(figures.at("peer " + path + " 0 to 1"), (FigureList{4, 130, 0, 0, 16, 10, 20}));
        EXPECT_EQ(figures.at("peer " + path + " 1 to 0"), (FigureList{1, 150, 0, 0, 16, 150, 150}));
        EXPECT_EQ(merged.rows.size(), 8u + 6u);
        EXPECT_EQ(merged.flags, 0u);
        EXPECT_TRUE(is_well_formed(merged));
    }
}

TEST(Merge, ModulesAreOneByBuildIdElseByPath) {
    RecordFile a(0, 3), b(1, 3), c(2, 3);
    a.add_module(1, "/scratch/1/app", kBuildId);
    b.add_module(1, "/scratch/2/app", kBuildId);  // copied, but the same program
    c.add_module(1, "/scratch/1/app", "other build id 12345");
    for (RecordFile* file : {&a, &b, &c}) file->add_call(file->add_thread(0, {}), 1, 5, {});
    Merged merged = read(a);
    ASSERT_TRUE(join(&merged, read(b)));
    EXPECT_EQ(merged.modules.size(), 1u);
    EXPECT_EQ(merged.nodes.size(), 2u);
    ASSERT_TRUE(join(&merged, read(c)));
    EXPECT_EQ(merged.modules.size(), 2u);
    EXPECT_EQ(merged.nodes.size(), 3u);
}

// Without build-id the file decides: inode and time on one host; on several hosts equal size may
// mean a copy, which is uncertain.
TEST(Merge, ModulesWithoutBuildIdAreOneByFile) {
    struct File {
        const char* host;
        uint64_t size, inode;
        int64_t modified_ns;
    };
    const auto modules_of = [](const File& one, const File& other) {
        Merged merged;
        for (const File& of : {one, other}) {
            RecordFile file(merged.ranks.empty() ? 0 : 1, 2);
            auto& module = file.at<ModuleRecord>(file.add_module(1, "/home/app", ""));
            module.size = of.size;
            module.inode = of.inode;
            module.modified_ns = of.modified_ns;
            snprintf(file.header().host, sizeof file.header().host, "%s", of.host);
            file.add_call(file.add_thread(0, {}), 1, 5, {});
            Merged next = read(file);
            EXPECT_TRUE(merged.ranks.empty() ? (merged = static_cast<Merged&&>(next), true)
                                             : join(&merged, static_cast<Merged&&>(next)));
        }
        return std::pair(merged.modules.size(), merged.modules[0].mixed != 0);
    };
    const File one = {"a", 100, 7, 1000};
    EXPECT_EQ(modules_of(one, one), std::pair(size_t{1}, false));
    EXPECT_EQ(modules_of(one, {"b", 100, 7, 1000}), std::pair(size_t{1}, false));
    EXPECT_EQ(modules_of(one, {"a", 100, 8, 1000}), std::pair(size_t{2}, false));
    EXPECT_EQ(modules_of(one, {"a", 100, 7, 1001}), std::pair(size_t{2}, false));
    EXPECT_EQ(modules_of(one, {"b", 100, 8, 2000}), std::pair(size_t{1}, true));
    EXPECT_EQ(modules_of(one, {"b", 101, 8, 2000}), std::pair(size_t{2}, false));
    EXPECT_EQ(modules_of(one, {"a", 100, 0, 0}), std::pair(size_t{1}, false));  // unknown
}

TEST(Merge, ForeignAndFoldedNodesStayApart) {
    RecordFile file(0, 1);
    const CellIndex root = file.add_thread(0, {});
    file.add_call(root, 0, 5, {});
    file.at<Node>(file.add_call(root, 0, 5, {})).site.flags = kNodeForeign;
    file.at<Node>(file.add_call(root, 0, 5, {})).site.flags = kNodeFolded;
    EXPECT_EQ(read(file).nodes.size(), 4u);
}

// Names are compared by their text, wherever it is in the text of either side.
TEST(Merge, ProbesAddUpAndNamesMeet) {
    Merged merged;
    for (int rank = 0; rank < 2; rank++) {
        RecordFile file(rank, 2);
        file.add_module(1, "/bin/app", kBuildId);
        const CellIndex root = file.add_thread(0, {1, 0, 0, 0});
        if (rank == 1) file.add_named(root, SiteKind::kBlock, "only here", {1, 1, 1, 1});
        const CellIndex loop = file.add_probe(root, SiteKind::kLoop, 1, 0x20, {2, 30, 10, 20});
        file.probe_part(loop).iterations = 10;
        file.probe_part(loop).abandoned = 1;
        const CellIndex block = file.add_named(loop, SiteKind::kBlock, "solve", {3, 9, 3, 3});
        file.probe_part(block).volume = 5;
        file.probe_part(block).counted = 1;  // the other two took 9: one more would take 4.5
        ASSERT_TRUE(join(&merged, read(file)));
    }
    const auto nodes = nodes_by_path(merged);
    ASSERT_EQ(merged.nodes.size(), 4u);
    const MergedNode& loop = merged.nodes[nodes.at("program/3 /bin/app:32")];
    EXPECT_EQ(loop.totals.count, 4u);
    EXPECT_EQ(loop.totals.iterations, 20u);
    EXPECT_EQ(loop.totals.abandoned, 2u);
    EXPECT_EQ(loop.ranks, 2u);
    const MergedNode& block = merged.nodes[nodes.at("program/3 /bin/app:32/8!4 solve")];
    EXPECT_EQ(block.totals.count, 6u);
    EXPECT_EQ(block.totals.time_ns, 18u);
    EXPECT_EQ(block.totals.volume, 10u);
    EXPECT_EQ(block.totals.untimed, 2u);
    EXPECT_EQ(block.totals.estimated_ns, 8u);
    EXPECT_EQ(merged.nodes[nodes.at("program/8!4 only here")].totals.count, 1u);
    EXPECT_TRUE(is_well_formed(merged));
}

// Ranks 0 and 2 write to one file, rank 1 to another: the first file has more bytes, in any order.
TEST(Merge, TheFileWithMostBytesNamesAnIoNode) {
    for (const auto& order : {std::array{0, 1, 2}, std::array{1, 0, 2}, std::array{2, 1, 0}}) {
        Merged merged;
        for (const int rank : order) {
            RecordFile file(rank, 3);
            const CellIndex root = file.add_thread(0, {});
            const CellIndex write =
                file.add_io(root, 0, 9, IoCall::kWrite, {1, 10, 10, 10}, 0, 100);
            file.add_file(write, rank == 1 ? "/own" : "/shared", 1, rank == 1 ? 60 : 100);
            Merged one;
            ASSERT_TRUE(add_record_file(&one, file.data(), file.bytes()));
            EXPECT_EQ(one.nodes[1].other_files, 0u);
            ASSERT_TRUE(join(&merged, std::move(one)));
        }
        ASSERT_EQ(merged.nodes.size(), 2u);
        const MergedNode& node = merged.nodes[1];
        EXPECT_STREQ(merged.text.data() + node.file, "/shared");
        EXPECT_EQ(node.other_files, 1u);
        EXPECT_EQ(node.totals.bytes_sent, 300u);
        EXPECT_GE(node.file_bytes, 100u);
        const Merged back = sent(merged);
        EXPECT_STREQ(back.text.data() + back.nodes[1].file, "/shared");
    }
}

TEST(Merge, PartialUntilEveryRankIsIn) {
    Merged merged = read(first_rank());
    EXPECT_EQ(merged.flags, static_cast<uint32_t>(kMergedPartial));
    ASSERT_TRUE(join(&merged, read(second_rank())));
    EXPECT_EQ(merged.flags, 0u);
}

TEST(Merge, TheSameRankTwiceIsHarmless) {
    Merged merged = read(second_rank());
    ASSERT_TRUE(join(&merged, read(second_rank())));
    EXPECT_EQ(merged.nodes[0].totals.time_ns, 1600u);
    EXPECT_EQ(merged.ranks.size(), 2u);
    EXPECT_TRUE(is_well_formed(merged));
}

// A random tree that depends on the rank; about `nodes` nodes, some shared with other ranks.
RecordFile random_rank(int rank, int world_size, int nodes) {
    std::mt19937 random(static_cast<uint32_t>(rank) + 1);
    RecordFile file(rank, world_size);
    const bool swapped = random() % 2 != 0;
    file.add_module(swapped ? 2 : 1, "/bin/app", kBuildId, random());
    file.add_module(swapped ? 1 : 2, "/lib/plain.so", "", random());
    const uint16_t app = swapped ? 2 : 1;
    for (uint32_t thread = 0; thread < 1 + random() % 2; thread++) {
        std::vector<CellIndex> calls = {file.add_thread(thread, {1, 1000, 1000, 1000})};
        std::vector<CellIndex> comms = {0};
        for (int i = 0; i < nodes; i++) {
            const CellIndex parent = calls[random() % calls.size()];
            const uint16_t module = random() % 3 == 0 ? static_cast<uint16_t>(3 - app) : app;
            const uint64_t offset = random() % 5;
            const uint64_t time = random() % 1000;
            if (random() % 2 != 0) {
                calls.push_back(file.add_call(parent, module, offset, {1, time, time, time}));
                continue;
            }
            const CellIndex recv = file.add_communication(parent, module, offset, "MPI_Recv",
                                                          {2, time * 2, time, time});
            file.histogram(recv).messages[random() % kSizeBuckets] = random() % 9;
            file.histogram(recv).untimed = random() % 9;
            file.histogram(recv).event_count[random() % kEventSlots] = random() % 9;
            file.part(recv).bytes_received = random();
            file.add_peer(recv, static_cast<uint32_t>(random()) % static_cast<uint32_t>(world_size),
                          {2, time * 2, 1, time});
            const CellIndex left = comms[random() % comms.size()];
            const CellIndex interval = file.add_interval(recv, left, calls[random() % calls.size()],
                                                         {1, time, time, time});
            file.add_node(interval, SiteKind::kSample, app, random() % 50, {random() % 4 + 1});
            comms.push_back(recv);
        }
        const uint64_t number = random() % 1000;
        file.add_phase(calls[0], "step", number, number + random() % 9, {1, 1, 1, 1});
    }
    if (rank % 5 != 0) file.add_grid("cart", {20, world_size}, 2, {rank % 20, rank});
    if (rank % 2 != 0) file.add_grid("other", {world_size, 1 + rank % 3}, 0, {rank, 0});
    return file;
}

// As over MPI: the upper half of the ranks joins the lower half, each as bytes.
Merged binomial(int first, int count, int world_size, uint32_t row_limit) {
    if (count == 1) {
        Merged leaf;
        leaf.row_limit = row_limit;
        const RecordFile file = random_rank(first, world_size, 12);
        EXPECT_TRUE(add_record_file(&leaf, file.data(), file.bytes()));
        return leaf;
    }
    int lower = 1;
    while (lower * 2 < count) lower *= 2;
    Merged merged = binomial(first, lower, world_size, row_limit);
    const Merged other = binomial(first + lower, count - lower, world_size, row_limit);
    EXPECT_TRUE(join(&merged, sent(other)));
    return merged;
}

Merged sequential(int world_size, uint32_t row_limit, bool backwards) {
    Merged merged;
    merged.row_limit = row_limit;
    for (int i = 0; i < world_size; i++) {
        const RecordFile file = random_rank(backwards ? world_size - 1 - i : i, world_size, 12);
        EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    }
    return merged;
}

TEST(Merge, AThousandRanksInAnyOrderGiveTheSameFigures) {
    const Merged forwards = sequential(1000, kDefaultRowLimit, false);
    const auto expected = all_figures(forwards);
    EXPECT_EQ(forwards.ranks.size(), 1000u);
    EXPECT_EQ(forwards.flags, 0u);
    EXPECT_GT(forwards.rows.size(), 10'000u);
    EXPECT_EQ(all_figures(sequential(1000, kDefaultRowLimit, true)), expected);
    EXPECT_EQ(all_figures(binomial(0, 1000, 1000, kDefaultRowLimit)), expected);
}

TEST(Merge, ColumnsOfTheMergedTreeAddUpToItsRows) {
    const Merged merged = binomial(0, 100, 100, kDefaultRowLimit);
    std::vector<Totals> sums(merged.nodes.size());
    for (const MergedRow& row : merged.rows) {
        sums[row.node].count += row.totals.count;
        sums[row.node].time_ns += row.totals.time_ns;
        sums[row.node].bytes_received += row.totals.bytes_received;
    }
    for (size_t i = 0; i < sums.size(); i++) {
        if (merged.nodes[i].kind == static_cast<uint8_t>(SiteKind::kSample)) continue;
        EXPECT_EQ(sums[i].count, merged.nodes[i].totals.count);
        EXPECT_EQ(sums[i].time_ns, merged.nodes[i].totals.time_ns);
        EXPECT_EQ(sums[i].bytes_received, merged.nodes[i].totals.bytes_received);
    }
}

// A ring: every rank sends to the next one, and all to rank 0. Time is the rank number.
RecordFile ring_rank(int rank, int world_size) {
    RecordFile file(rank, world_size);
    const uint64_t time = static_cast<uint64_t>(rank);
    const CellIndex send =
        file.add_communication(file.add_thread(0, {}), 0, 1, "MPI_Send", {2, 2 * time, time, time});
    const uint32_t next = static_cast<uint32_t>((rank + 1) % world_size);
    file.add_peer(send, next, {1, time, time, time}, 10);
    file.add_peer(send, kParentWorld << kPeerRankBits, {1, time, time, time}, 1);
    return file;
}

// 64 ranks, 2 rows each.
TEST(Merge, PastTheRowLimitPeersMergeByDistance) {
    constexpr int kRanks = 64;
    for (const uint32_t row_limit : {0u, 1u, 2u, 31u, 100u, 127u, 128u}) {
        Merged merged;
        merged.row_limit = row_limit;
        for (int rank = 0; rank < kRanks; rank++) {
            const RecordFile file = ring_rank(rank, kRanks);
            ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        }
        ASSERT_TRUE(is_well_formed(merged));
        EXPECT_EQ(merged.nodes[1].totals.time_ns, 2u * 63 * 64 / 2);
        EXPECT_EQ(merged.nodes[1].rank_max, 63u);
        if (row_limit == 128) {
            EXPECT_EQ(merged.flags, 0u);
            EXPECT_EQ(merged.rows.size(), 128u);
            EXPECT_EQ(merged.peers.size(), 128u);
            EXPECT_TRUE(merged.distances.empty());
            continue;
        }
        EXPECT_EQ(merged.flags, static_cast<uint32_t>(kMergedRowsDropped));
        EXPECT_TRUE(merged.rows.empty());
        EXPECT_TRUE(merged.threads.empty());
        const auto figures = all_figures(merged);
        const std::string send = "program/5#" + std::to_string(call_number("MPI_Send")) + ":1";
        ASSERT_EQ(merged.distances.size(), 2u);
        EXPECT_EQ(figures.at("distance " + send + " 1"), (FigureList{64, 64, 2016, 0, 640, 0}));
        EXPECT_EQ(figures.at("distance " + send + " " + std::to_string(kNoPeer)),
                  (FigureList{64, 64, 2016, 0, 64, 0}));
        ASSERT_EQ(merged.peers.size(), kHeaviestPeers);
        for (const uint32_t rank : {63u, 62u, 61u, 60u}) {
            EXPECT_EQ(figures.count("peer " + send + " " + std::to_string(rank) + " to " +
                                    std::to_string((rank + 1) % kRanks)),
                      1u);
        }
    }
}

// 8 ranks of one sample node each: their limit is kSampleRowsPerRow times that of rows.
TEST(Merge, SampleRowsHaveALimitOfTheirOwn) {
    for (const bool passed : {false, true}) {
        Merged merged;
        merged.row_limit = 2;
        for (int rank = 0; rank < (passed ? 9 : 8); rank++) {
            RecordFile file(rank, 9);
            file.add_module(1, "/bin/app", kBuildId);
            const CellIndex root = file.add_thread(0, {});
            file.add_node(root, SiteKind::kSample, 1, 0x2a, {7, 0, 0, 0});
            Merged one = read(file);
            one.rows = {};  // their limit is not passed
            ASSERT_TRUE(join(&merged, std::move(one)));
        }
        EXPECT_EQ((merged.flags & kMergedSamplesDropped) != 0, passed);
        EXPECT_EQ(merged.flags & kMergedRowsDropped, 0u);
        ASSERT_EQ(merged.sample_rows.size(), passed ? 0u : 8u);
        for (const MergedSamples& row : merged.sample_rows) EXPECT_EQ(row.count, 7u);
        EXPECT_TRUE(is_well_formed(merged));
    }
}

// 64 ranks of 2 rows make 128, which is more than 4 * 31 and no more than 4 * 32.
TEST(Merge, RowsAreDroppedAsSoonAsTheEndIsForeseen) {
    for (const bool far_past : {false, true}) {
        Merged merged;
        merged.row_limit = far_past ? 31 : 32;
        merged.expected_ranks = 64;
        for (int rank = 0; rank < 16; rank++) {
            EXPECT_EQ(merged.flags & kMergedRowsDropped, 0u) << rank;
            const RecordFile file = ring_rank(rank, 64);
            ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        }
        EXPECT_EQ((merged.flags & kMergedRowsDropped) != 0, far_past);
        EXPECT_EQ(merged.distances.size(), far_past ? 2u : 0u);
    }
}

TEST(Merge, OneSidePastTheLimitIsEnough) {
    const RecordFile first = ring_rank(1, 3);
    for (const bool folded_first : {false, true}) {
        Merged merged, folded;
        folded.row_limit = 0;
        ASSERT_TRUE(add_record_file(&folded, first.data(), first.bytes()));
        Merged whole = read(ring_rank(2, 3));
        ASSERT_TRUE(join(&merged, std::move(folded_first ? folded : whole)));
        ASSERT_TRUE(join(&merged, std::move(folded_first ? whole : folded)));
        EXPECT_EQ(merged.flags, static_cast<uint32_t>(kMergedRowsDropped | kMergedPartial));
        const auto figures = all_figures(merged);
        const std::string send = "program/5#" + std::to_string(call_number("MPI_Send")) + ":1";
        EXPECT_EQ(figures.at("distance " + send + " 1"), (FigureList{2, 2, 3, 0, 20, 0}));
        EXPECT_EQ(merged.peers.size(), 4u);
        EXPECT_TRUE(merged.rows.empty());
    }
}

TEST(Merge, ManyDistancesKeepTheHeaviestAndTheSum) {
    constexpr uint32_t kPeers = 1000;
    Merged merged;
    merged.row_limit = 0;
    for (int rank = 0; rank < 3; rank++) {
        RecordFile file(rank, 2000);
        const CellIndex send =
            file.add_communication(file.add_thread(0, {}), 0, 1, "MPI_Send", {kPeers, 1, 1, 1});
        for (uint32_t distance = 0; distance < kPeers; distance++) {
            file.add_peer(send, distance + static_cast<uint32_t>(rank), {1, distance, 0, 0}, 3);
        }
        ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    }
    EXPECT_EQ(merged.distances.size(), kDistancesPerNode + 1);
    uint64_t pairs = 0, time_ns = 0, bytes = 0;
    for (const MergedDistance& distance : merged.distances) {
        pairs += distance.pairs;
        time_ns += distance.time_ns;
        bytes += distance.bytes_sent;
        if (distance.distance == kOtherDistances) continue;
        EXPECT_GE(distance.distance, kPeers - kDistancesPerNode);
        EXPECT_EQ(distance.pairs, 3u);
        EXPECT_EQ(distance.time_ns, 3u * distance.distance);
    }
    EXPECT_EQ(pairs, 3u * kPeers);
    EXPECT_EQ(time_ns, 3u * 999 * 1000 / 2);
    EXPECT_EQ(bytes, 9u * kPeers);
}

TEST(Merge, SumsPastTheLimitDoNotDependOnTheOrder) {
    const auto expected = all_figures(sequential(200, 500, false));
    EXPECT_EQ(all_figures(sequential(200, 500, true)), expected);
    EXPECT_EQ(all_figures(binomial(0, 200, 200, 500)), expected);
}

size_t occurrences(const std::string& text, const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) count++;
    return count;
}

// Two ranks on each host; the ends of the list are stored once more.
TEST(Merge, WhatRanksShareTravelsOnce) {
    const std::string bytes = bytes_of(binomial(0, 100, 100, kDefaultRowLimit));
    EXPECT_EQ(occurrences(bytes, "host"), 50u + 1);
    EXPECT_EQ(occurrences(bytes, "app -x"), 1u + 1);
    EXPECT_EQ(occurrences(bytes, "/bin/app"), 1u + 1 + 1);  // the module
}

TEST(MergeBytes, RoundTrip) {
    const Merged merged = binomial(0, 20, 20, kDefaultRowLimit);
    const std::string bytes = bytes_of(merged);
    Merged copy;
    ASSERT_TRUE(deserialize(bytes.data(), bytes.size(), &copy));
    EXPECT_EQ(bytes_of(copy), bytes);
    EXPECT_EQ(all_figures(copy), all_figures(merged));
    EXPECT_EQ(copy.row_limit, merged.row_limit);
    EXPECT_STREQ(copy.job, "job");
    const std::string nothing = bytes_of(Merged());
    EXPECT_EQ(nothing.size(), sizeof(MergedHeader));
    EXPECT_TRUE(deserialize(nothing.data(), nothing.size(), &copy));
    EXPECT_TRUE(copy.nodes.empty());
}

TEST(MergeBytes, EveryTruncationIsRefused) {
    Merged merged = read(first_rank());
    ASSERT_TRUE(join(&merged, read(second_rank())));
    const std::string bytes = bytes_of(merged);
    Merged out;
    for (size_t size = 0; size < bytes.size(); size++) {
        const std::unique_ptr<char[]> cut(new char[size]);
        memcpy(cut.get(), bytes.data(), size);
        ASSERT_FALSE(deserialize(cut.get(), size, &out)) << size;
    }
    EXPECT_FALSE(deserialize((bytes + "12345678").data(), bytes.size() + 8, &out));
    EXPECT_TRUE(out.nodes.empty());
}

TEST(MergeBytes, WrongIndicesAreRefused) {
    Merged good = read(first_rank());
    ASSERT_TRUE(join(&good, read(second_rank())));
    const std::string bytes = bytes_of(good);
    const auto refused = [&](auto damage) {
        Merged merged, out;
        EXPECT_TRUE(deserialize(bytes.data(), bytes.size(), &merged));
        damage(&merged);
        return !is_well_formed(merged);
    };
    EXPECT_FALSE(refused([](Merged*) {}));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[0].parent = 0; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].parent = 2; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].parent = kNoNode; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].kind = 1; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].kind = 12; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].module = 2; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].meet = 6; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].histogram = 2; }));
    EXPECT_TRUE(refused([](Merged* m) { m->nodes[2].call = 0xffff; }));
    EXPECT_TRUE(refused([](Merged* m) {
        for (MergedNode& node : m->nodes) {
            if (node.kind == static_cast<uint8_t>(SiteKind::kInterval)) node.offset = 6;
        }
    }));
    EXPECT_TRUE(refused([](Merged* m) {
        m->nodes[2].kind = static_cast<uint8_t>(SiteKind::kBlock);
        m->nodes[2].flags = kNodeNamed;
        m->nodes[2].offset = m->text.size();
    }));
    EXPECT_TRUE(refused([](Merged* m) { m->modules[1].path = 1000; }));
    EXPECT_TRUE(refused([](Merged* m) { m->modules[1].build_id_bytes = 21; }));
    EXPECT_TRUE(refused([](Merged* m) { m->rows[0].node = 6; }));
    EXPECT_TRUE(refused([](Merged* m) { m->peers[0].node = 6; }));
    EXPECT_TRUE(refused([](Merged* m) {
        m->distances.push(MergedDistance{6, 0, 0, 0, 0, 0, 0, 0});
    }));
    EXPECT_TRUE(refused([](Merged* m) { m->text[m->text.size() - 1] = 'x'; }));
    EXPECT_TRUE(refused([](Merged* m) { memset(m->job, 'x', sizeof(m->job)); }));
}

// As on arrival of a message: the head is checked, the ranks are taken unread.
bool receive(const std::string& head, const std::string& ranks, Merged* out) {
    GrowArray<char> bytes;
    return bytes.append(ranks.data(), ranks.size()) &&
           deserialize(head.data(), head.size(), &bytes, out);
}

TEST(MergeBytes, DamagedMessagesNeverHarm) {
    std::mt19937 random(7);
    const std::string original = bytes_of(read(second_rank()));
    const size_t head_bytes = original.size() - read(second_rank()).ranks.bytes();
    const std::string base_bytes = bytes_of(read(first_rank()));
    int taken = 0;
    int refused = 0;  // the ranks could not be joined
    for (int round = 0; round < 20'000; round++) {
        std::string bytes = original;
        for (int i = 0; i < 3; i++) {
            // Small numbers pass more checks than random ones.
            const char value = static_cast<char>(random() % 2 != 0 ? random() : random() % 8);
            bytes[random() % bytes.size()] = value;
        }
        for (const bool received_first : {true, false}) {
            Merged received, base;
            if (!receive(bytes.substr(0, head_bytes), bytes.substr(head_bytes), &received)) break;
            taken++;
            ASSERT_TRUE(deserialize(base_bytes.data(), base_bytes.size(), &base));
            Merged* into = received_first ? &received : &base;
            if (!join(into, std::move(received_first ? base : received))) refused++;
            into->ranks.keep_readable();
            ASSERT_TRUE(is_well_formed(*into)) << round;
        }
    }
    EXPECT_GT(taken, 1'000);
    EXPECT_GT(taken, refused * 2);
}

}  // namespace
}  // namespace dwell
