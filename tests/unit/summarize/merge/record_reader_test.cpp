// Reads single record files and checks every figure.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/merged.h"
#include "tests/unit/summarize/merge/example_records.h"
#include "tests/unit/support/merged_view.h"

namespace dwell {
namespace {

std::string comm(const char* name, int offset) {
    return "/5#" + std::to_string(call_number(name)) + " /bin/app:" + std::to_string(offset);
}

TEST(RecordReader, ReadsEveryFigureOfANode) {
    Example example;
    const Merged merged = example.merged();
    const auto nodes = nodes_by_path(merged);
    ASSERT_EQ(merged.nodes.size(), 7u);
    const std::string solve = "program/4 /bin/app:16";
    const MergedNode& send = merged.nodes[nodes.at(solve + comm("MPI_Send", 0x20))];
    EXPECT_EQ(send.totals.count, 4u);
    EXPECT_EQ(send.totals.time_ns, 100u);
    EXPECT_EQ(send.totals.min_ns, 10u);
    EXPECT_EQ(send.totals.max_ns, 40u);
    EXPECT_EQ(send.totals.blocked_ns, 33u);
    EXPECT_EQ(send.totals.bytes_sent, 4096u);
    EXPECT_EQ(send.totals.failed, 1u);
    EXPECT_EQ(send.totals.untimed, 3u);
    EXPECT_EQ(send.totals.event_count[kSendReady], 4u);
    EXPECT_EQ(send.totals.event_ns[kSendReady], 100u);
    EXPECT_EQ(send.ranks, 1u);
    EXPECT_EQ(send.rank_min_ns, 100u);
    EXPECT_EQ(merged.histograms[send.histogram].messages[11], 4u);
    const MergedNode& allreduce = merged.nodes[nodes.at(solve + comm("MPI_Allreduce", 0x30))];
    EXPECT_EQ(allreduce.totals.blocked_ns, 5u);
    EXPECT_EQ(merged.flags, 0u);
    EXPECT_TRUE(is_well_formed(merged));
}

// 4 sends waited 60 ns in total: 50 for late receivers, 20 of them indirectly; 10 are unknown.
TEST(RecordReader, WaitingAndItsCauses) {
    Example example;
    RecordFile& file = example.file;
    file.header().flags |= kFileWaits;
    file.part(example.send).sync_ticks = 60;
    file.part(example.send).blocked_ticks = 10;
    file.wait(example.send).late_receiver_ticks = 60;
    file.wait(example.send).indirect_wait_ticks = 20;
    file.wait(example.send).unknown = 1;
    file.wait(example.send).guessed = 2;
    file.add_partner(example.send, 7, 0xabc, {2, 35, 0, 30}, 20);
    file.add_partner(example.send, 8, 0xabc, {1, 15, 0, 15});
    file.wait(example.send).rest_count = 1;
    file.wait(example.send).rest_ticks = 10;
    file.add_cause(7, 0xabc, 2, 15, 15);
    file.add_cause(3, 0xdef, 1, 20, 0);
    file.last_thread().rest_cause_ticks = 25;
    file.last_thread().rest_cause_count = 3;
    file.last_thread().intrusion_ticks = 100;
    file.last_thread().own_ticks = 80;
    file.last_thread().injected_ticks = 5;
    const Merged merged = example.merged();
    const auto nodes = nodes_by_path(merged);
    const std::string send = "program/4 /bin/app:16" + comm("MPI_Send", 0x20);
    const Totals& totals = merged.nodes[nodes.at(send)].totals;
    EXPECT_EQ(totals.sync_ns, 60u);
    EXPECT_EQ(totals.blocked_ns, 70u);
    EXPECT_EQ(totals.late_receiver_ns, 60u);
    EXPECT_EQ(totals.passed_on_ns, 20u);
    EXPECT_EQ(totals.unknown_waits, 1u);
    EXPECT_EQ(totals.guessed_waits, 2u);
    // This analysis follows messages, not collectives, whose waiting is unknown.
    const Totals& allreduce =
        merged.nodes[nodes.at("program/4 /bin/app:16" + comm("MPI_Allreduce", 0x30))].totals;
    EXPECT_EQ(allreduce.unknown_waits, kMpiCalls[call_number("MPI_Allreduce")].analysed ? 0u : 3u);
    const auto all = all_figures(merged);
    EXPECT_EQ(all.at("partner " + send + " 7 " + std::to_string(0xabc)),
              (FigureList{2, 35, 30, 20, 0}));
    EXPECT_EQ(all.at("partner " + send + " 8 " + std::to_string(0xabc)),
              (FigureList{1, 15, 15, 0, 0}));
    EXPECT_EQ(all.at("partner " + send + " " + std::to_string(kNoPeer) + " 0"),
              (FigureList{1, 10, 0, 0, 10}));
    EXPECT_EQ(all.at("cause " + std::to_string(0xabc) + " 7"), (FigureList{2, 15, 0, 0}));
    EXPECT_EQ(all.at("cause " + std::to_string(0xdef) + " 3"), (FigureList{1, 20, 20, 0}));
    EXPECT_EQ(all.at("cause 0 " + std::to_string(kNoPeer)), (FigureList{3, 25, 0, 25}));
    const MergedRank rank = ranks_of(merged).at(0);
    EXPECT_EQ(rank.intrusion_ns, 100u);
    EXPECT_EQ(rank.own_ns, 80u);
    EXPECT_EQ(rank.injected_ns, 5u);
    EXPECT_TRUE(is_well_formed(merged));
}

// Without analysis the waiting of all calls that may wait is unknown.
TEST(RecordReader, WithoutAnalysisAllWaitingIsUnknown) {
    Example example;
    const Merged merged = example.merged();
    const auto nodes = nodes_by_path(merged);
    const std::string solve = "program/4 /bin/app:16";
    EXPECT_EQ(merged.nodes[nodes.at(solve + comm("MPI_Send", 0x20))].totals.unknown_waits, 4u);
    EXPECT_EQ(merged.nodes[nodes.at(solve + comm("MPI_Allreduce", 0x30))].totals.unknown_waits, 3u);
    EXPECT_EQ(merged.nodes[0].totals.unknown_waits, 0u);
}

TEST(RecordReader, IntervalsNameMergedNodes) {
    Example example;
    const Merged merged = example.merged();
    const auto nodes = nodes_by_path(merged);
    const std::string solve = "program/4 /bin/app:16";
    const std::string send = solve + comm("MPI_Send", 0x20);
    const std::string allreduce = solve + comm("MPI_Allreduce", 0x30);
    const std::string interval = allreduce + "/10 <" + send + "> ^" + solve;
    ASSERT_EQ(nodes.count(interval), 1u);
    EXPECT_EQ(merged.nodes[nodes.at(interval)].totals.time_ns, 300u);
    ASSERT_EQ(nodes.count(send + "/10 <-> ^program"), 1u);
    ASSERT_EQ(nodes.count(interval + "/11 /bin/app:42"), 1u);
    EXPECT_EQ(merged.nodes[nodes.at(interval + "/11 /bin/app:42")].totals.count, 7u);
    EXPECT_EQ(merged.rows.size(), 6u);
    ASSERT_EQ(merged.sample_rows.size(), 1u);
    const MergedSamples& sample = merged.sample_rows[0];
    EXPECT_EQ(sample.node, nodes.at(interval + "/11 /bin/app:42"));
    EXPECT_EQ(std::make_tuple(sample.rank, sample.thread, sample.count),
              std::make_tuple(merged.rows[0].rank, merged.rows[0].thread, uint64_t{7}));
}

TEST(RecordReader, AnIntervalMayLeaveANodeThatStandsLater) {
    RecordFile file(0, 1);
    file.add_module(1, "/bin/app", kExampleBuildId);
    const CellIndex root = file.add_thread(0, {});
    const CellIndex first = file.add_communication(root, 1, 1, "MPI_Send", {});
    const CellIndex second = file.add_communication(root, 1, 2, "MPI_Recv", {});
    file.add_interval(first, second, root, {2, 20, 10, 10});
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    const auto nodes = nodes_by_path(merged);
    EXPECT_EQ(nodes.count("program" + comm("MPI_Send", 1) + "/10 <program" + comm("MPI_Recv", 2) +
                          "> ^program"),
              1u);
}

TEST(RecordReader, TicksBecomeNanosecondsWithoutOverflow) {
    RecordFile file(0, 1);
    file.header().ticks_per_second = 3'000'000'000;
    file.header().call_cost_ticks = 48;
    file.header().start_ticks = 100;
    file.header().end_ticks = 100 + 9'000'000'000;
    file.add_thread(0, {3, uint64_t{1} << 62, 30, 300});
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    EXPECT_EQ(merged.nodes[0].totals.time_ns, 1'537'228'672'809'129'301u);  // 2^62 / 3
    EXPECT_EQ(merged.nodes[0].totals.min_ns, 10u);
    EXPECT_EQ(merged.nodes[0].totals.max_ns, 100u);
    EXPECT_EQ(ranks_of(merged).at(0).call_cost_ns_q8, 16u * 256u);
    EXPECT_EQ(ranks_of(merged).at(0).real_ns, 3'000'000'000u);
}

TEST(RecordReader, ANodeNeverCalledHasNoMinimum) {
    RecordFile file(0, 1);
    file.add_thread(0, {0, 0, 0, 0});
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    EXPECT_EQ(merged.nodes[0].totals.min_ns, UINT64_MAX);
}

TEST(RecordReader, WhatARankSaysOfItself) {
    RecordFile file(5, 8);
    file.header().state = FileState::kRunning;
    file.header().start_ticks = 1000;
    file.header().flags = kFileNoUnwinder;
    // Thread 0 is between the others in the list.
    for (const uint32_t number : {1u, 0u, 2u}) {
        file.add_thread(number, {});
        file.last_thread().last_ticks = number == 1 ? 9000 : 4000;
        file.last_thread().intrusion_ticks = number == 0 ? 70 : 500;
        file.last_thread().paused_ticks = number == 0 ? 30 : 600;
        file.last_thread().guessed = 1 + number;
    }
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    ASSERT_EQ(merged.ranks.size(), 1u);
    const MergedRank rank = ranks_of(merged).at(0);
    EXPECT_EQ(rank.rank, 5u);
    EXPECT_EQ(rank.pid, 1005);
    EXPECT_STREQ(rank.host, "host2");
    EXPECT_STREQ(rank.program, "/bin/app");
    EXPECT_STREQ(rank.command, "app -x");
    EXPECT_EQ(rank.state, static_cast<uint32_t>(FileState::kRunning));
    EXPECT_EQ(rank.flags, static_cast<uint32_t>(kFileNoUnwinder));
    EXPECT_EQ(rank.threads, 3u);
    EXPECT_EQ(rank.real_ns, 8000u);  // without an end: up to the last finished call
    EXPECT_EQ(rank.intrusion_ns, 70u);
    EXPECT_EQ(rank.paused_ns, 30u);
    EXPECT_EQ(rank.guessed, 6u);
    EXPECT_EQ(rank.record_bytes, file.bytes());
    EXPECT_EQ(merged.world_size, 8u);
    EXPECT_EQ(merged.flags, static_cast<uint32_t>(kMergedPartial));
    EXPECT_STREQ(merged.job, "job");
}

// A tick is a nanosecond here. Values recorded before the observation restarted do not count.
TEST(RecordReader, FiguresOfTheOperatingSystem) {
    for (const uint64_t reset_ticks : {0u, 6000u, 9500u}) {
        RecordFile file(0, 1);
        file.header().start_ticks = 1000;
        file.header().end_ticks = 12'000;
        file.header().reset_ticks = reset_ticks;
        file.header().usage_ticks = 9000;
        file.header().usage.user_ns = 11;
        file.header().usage.major_faults = 12;
        file.header().usage.storage_written_bytes = 13;
        file.add_thread(0, {});
        Merged merged;
        ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        const MergedRank rank = ranks_of(merged).at(0);
        const bool known = reset_ticks < 9000;
        EXPECT_EQ(rank.usage_ns, reset_ticks == 0 ? 8000u : known ? 3000u : 0u);
        EXPECT_EQ(rank.usage.user_ns, known ? 11u : 0u);
        EXPECT_EQ(rank.usage.major_faults, known ? 12u : 0u);
        EXPECT_EQ(rank.usage.storage_written_bytes, known ? 13u : 0u);
    }
}

TEST(RecordReader, InputAndOutput) {
    RecordFile file(0, 1);
    const CellIndex root = file.add_thread(0, {});
    const CellIndex write = file.add_io(root, 0, 9, IoCall::kWrite, {3, 30, 5, 15}, 0, 700);
    file.add_file(write, "/small", 2, 200);
    file.add_file(write, "/large", 1, 500);
    const CellIndex open = file.add_io(root, 0, 11, IoCall::kOpen, {5, 10, 1, 4});
    file.add_file(open, "/seldom", 2, 0);
    file.add_file(open, "/often", 3, 0);
    const CellIndex unnamed = file.add_io(root, 0, 13, IoCall::kRead, {1, 2, 2, 2}, 64);
    file.at<IoPart>(file.at<Node>(unnamed).part).failed = 1;
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    ASSERT_EQ(merged.nodes.size(), 4u);
    const auto node_of = [&merged](IoCall call) {
        for (const MergedNode& node : merged.nodes) {
            if (node.call == static_cast<uint16_t>(call)) return node;
        }
        ADD_FAILURE();
        return MergedNode{};
    };
    const auto name_of = [&merged](const MergedNode& node) {
        return std::string(merged.text.data() + node.file);
    };
    const MergedNode written = node_of(IoCall::kWrite);
    EXPECT_EQ(written.kind, static_cast<uint8_t>(SiteKind::kIo));
    EXPECT_EQ(written.totals.bytes_sent, 700u);
    EXPECT_EQ(written.totals.bytes_received, 0u);
    EXPECT_EQ(written.totals.time_ns, 30u);
    EXPECT_EQ(name_of(written), "/large");
    EXPECT_EQ(written.file_bytes, 500u);
    EXPECT_EQ(written.other_files, 1u);
    EXPECT_EQ(name_of(node_of(IoCall::kOpen)), "/often");
    EXPECT_EQ(node_of(IoCall::kRead).file, 0u);
    EXPECT_EQ(node_of(IoCall::kRead).totals.bytes_received, 64u);
    EXPECT_EQ(node_of(IoCall::kRead).totals.failed, 1u);
}

TEST(RecordReader, EqualSitesOfOneThreadAreOneRow) {
    RecordFile file(0, 1);
    const CellIndex root = file.add_thread(0, {});
    file.add_call(root, 0, 9, {2, 20, 5, 15});
    file.add_call(root, 0, 9, {1, 7, 7, 7});
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    ASSERT_EQ(merged.nodes.size(), 2u);
    ASSERT_EQ(merged.rows.size(), 2u);
    EXPECT_EQ(merged.rows[1].totals.time_ns, 27u);
    EXPECT_EQ(merged.nodes[1].rank_max_ns, 27u);
}

TEST(RecordReader, ThreadsOfARankAreOneTowardsAPeer) {
    RecordFile file(0, 4);
    for (uint32_t thread = 0; thread < 3; thread++) {
        const CellIndex root = file.add_thread(thread, {});
        const CellIndex send = file.add_communication(root, 0, 8, "MPI_Send", {});
        file.add_peer(send, 3, {2, 10 + thread, 1 + thread, 5 + thread}, 100);
        file.add_peer(send, 1, {1, 4, 4, 4}, 8);
    }
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    const auto figures = all_figures(merged);
    EXPECT_EQ(merged.peers.size(), 2u);
    const std::string send = "program/5#" + std::to_string(call_number("MPI_Send")) + ":8";
    EXPECT_EQ(figures.at("peer " + send + " 0 to 3"), (FigureList{6, 33, 0, 300, 0, 1, 7}));
    EXPECT_EQ(figures.at("peer " + send + " 0 to 1"), (FigureList{3, 12, 0, 24, 0, 4, 4}));
    EXPECT_EQ(merged.rows.size(), 6u);
}

// A call of 100 ns completed three receives and waited 70 for rank 1; one of 40 waited 30 for the
// receiver of a send.
TEST(RecordReader, PartnersHaveTheTimeTheyWereWaitedFor) {
    RecordFile file(0, 4);
    const CellIndex root = file.add_thread(0, {});
    const CellIndex all = file.add_communication(root, 0, 8, "MPI_Waitall", {1, 100, 100, 100});
    for (const uint32_t peer : {1u, 2u, 3u}) file.add_peer(all, peer, {1, 33, 33, 33});
    const CellIndex one = file.add_communication(root, 0, 9, "MPI_Wait", {1, 40, 40, 40});
    const CellIndex sent = file.add_peer(one, 1, {0, 0, UINT64_MAX, 0});
    file.at<TrafficPeerRecord>(sent).sync_ticks = 30;
    for (CellIndex at = file.part(all).first_peer; at != 0;
         at = file.at<TrafficPeerRecord>(at).next) {
        auto& peer = file.at<TrafficPeerRecord>(at);
        if (peer.peer == 1) peer.sync_ticks = 70;
    }
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    uint64_t sum = 0;
    for (const MergedPeer& peer : merged.peers) {
        const bool waits_for_send = merged.nodes[peer.node].totals.time_ns == 40;
        if (waits_for_send) {
            EXPECT_EQ(peer.time_ns, 30u);
            continue;
        }
        sum += peer.time_ns;
        EXPECT_NEAR(static_cast<double>(peer.time_ns), peer.peer == 1 ? 70 : 14.5, 1);
        EXPECT_LE(peer.max_ns, peer.time_ns);
    }
    EXPECT_EQ(merged.peers.size(), 4u);
    EXPECT_NEAR(static_cast<double>(sum), 99, 2);
}

const std::string kProbedMain = "program/4 /bin/app:16/2 /bin/app:256";
const std::string kProbedLoop = kProbedMain + "/3 /bin/app:288";
const std::string kProbedWork = kProbedLoop + "/4 /bin/app:32/2 /bin/app:320";

TEST(RecordReader, ReadsEveryFigureOfAProbe) {
    Probed probed;
    const Merged merged = probed.merged();
    const auto nodes = nodes_by_path(merged);
    ASSERT_EQ(merged.nodes.size(), 8u);
    const Totals& loop = merged.nodes[nodes.at(kProbedLoop)].totals;
    EXPECT_EQ(loop.count, 2u);
    EXPECT_EQ(loop.time_ns, 300u);
    EXPECT_EQ(loop.iterations, 200u);
    EXPECT_EQ(loop.min_ns, 100u);
    EXPECT_EQ(loop.max_ns, 200u);
    const Totals& work = merged.nodes[nodes.at(kProbedWork)].totals;
    EXPECT_EQ(work.count, 12u);
    EXPECT_EQ(work.time_ns, 200u);
    EXPECT_EQ(work.untimed, 4u);
    EXPECT_EQ(work.off_entries, 60u);
    EXPECT_EQ(work.off_uncertain, 1u);
    EXPECT_EQ(work.volume, 0u);
    EXPECT_EQ(work.estimated_ns, 1408u)
        << "3 entries of 400 ticks / 8 timed ones, 60 of 400 / 9 that were timed or recursive";
    EXPECT_EQ(work.abandoned, 1u);
    EXPECT_EQ(work.blocked_ns, 0u);
    const Totals& marker = merged.nodes[nodes.at(kProbedMain + "/9!4 step")].totals;
    EXPECT_EQ(marker.volume, 77u);
    EXPECT_EQ(marker.min_ns, UINT64_MAX) << "never timed";
    EXPECT_EQ(merged.nodes[nodes.at(kProbedMain + "/8!4 read input\nmain.c:7")].totals.time_ns,
              25u);
    EXPECT_EQ(ranks_of(merged).at(0).probes, 21u);
    EXPECT_EQ(ranks_of(merged).at(0).probes_missed, 3u);
    EXPECT_EQ(ranks_of(merged).at(0).probes_dropped, 2u);
    EXPECT_EQ(ranks_of(merged).at(0).stalls_dropped, 4u);
    EXPECT_EQ(merged.rows.size(), 8u);
    EXPECT_TRUE(is_well_formed(merged));
}

// The root of the trials' squares, rounded up; all entries if the squares do not fit.
TEST(RecordReader, WhatIsUncertainOfEntriesNotCounted) {
    const std::pair<uint64_t, uint64_t> kUncertain[] = {{0, 0},
                                                        {1, 1},
                                                        {2, 2},
                                                        {4, 2},
                                                        {100, 10},
                                                        {101, 11},
                                                        {uint64_t{1} << 62, uint64_t{1} << 31},
                                                        {UINT64_MAX - 1, uint64_t{1} << 32},
                                                        {UINT64_MAX, 60}};
    for (const auto& [squares, uncertain] : kUncertain) {
        Probed probed;
        probed.file.probe_part(probed.work).off_squares = squares;
        const Merged merged = probed.merged();
        const Totals& work = merged.nodes[nodes_by_path(merged).at(kProbedWork)].totals;
        EXPECT_EQ(work.off_uncertain, uncertain) << squares;
    }
}

// 60 entries, with a standard error of 1 by the trials. In four stretches of equal length half of
// them are uncertain, in one all; in one beside 100 of a hundredth each a half.
TEST(RecordReader, EntriesInFewStretchesAreUncertain) {
    const std::tuple<double, double, uint64_t> kUncertain[] = {
        {4, 4, 31}, {1, 1, 61}, {2, 1.01, 31}, {100, 100, 7}, {0, 0, 61}};
    for (const auto& [stretches, squares, uncertain] : kUncertain) {
        Probed probed;
        probed.file.add_off_site(SiteKind::kProcedure, 1, 0x140, stretches, squares);
        const Merged merged = probed.merged();
        const Totals& work = merged.nodes[nodes_by_path(merged).at(kProbedWork)].totals;
        EXPECT_EQ(work.off_uncertain, uncertain) << stretches << " " << squares;
    }
}

// 60 entries in 1000000 stretches: where a fifth of the time has no estimate 15 more may be
// missing, where half or all of it has none as many again.
TEST(RecordReader, NoEstimateIncludesWhatFollowsACut) {
    const std::pair<double, uint64_t> kUncertain[] = {{0, 1}, {2e5, 16}, {5e5, 61}, {1e6, 61}};
    for (const auto& [cut, uncertain] : kUncertain) {
        Probed probed;
        probed.file.add_off_site(SiteKind::kProcedure, 1, 0x140, 1e6, 1e6, cut);
        const Merged merged = probed.merged();
        const Totals& work = merged.nodes[nodes_by_path(merged).at(kProbedWork)].totals;
        EXPECT_EQ(work.off_uncertain, uncertain) << cut;
    }
}

// If no trial observed an entry of a site that was off, its number of entries is unknown on all of
// its paths. Results of other trials, and of other sites, are unaffected.
TEST(RecordReader, ASiteThatWasOffWithoutATrialIsUncertain) {
    Probed probed;
    RecordFile& file = probed.file;
    const Figures kFew{5, 50, 10, 10};
    file.add_probe(probed.main, SiteKind::kProcedure, 1, 0x140, kFew);
    file.add_probe(probed.main, SiteKind::kLoop, 1, 0x160, kFew);
    file.add_probe(probed.main, SiteKind::kProcedure, 1, 0x180, kFew);
    file.add_off_site(SiteKind::kLoop, 1, 0x160);
    file.add_off_site(SiteKind::kProcedure, 1, 0x140);
    file.add_off_site(SiteKind::kLoop, 1, 0x180);
    file.add_off_site(SiteKind::kProcedure, 2, 0x180);
    const Merged merged = probed.merged();
    const auto nodes = nodes_by_path(merged);
    const auto uncertain = [&](const std::string& path) {
        return merged.nodes[nodes.at(path)].totals.off_uncertain;
    };
    EXPECT_EQ(uncertain(kProbedMain + "/2 /bin/app:320"), 1u);
    EXPECT_EQ(uncertain(kProbedMain + "/3 /bin/app:352"), 1u);
    EXPECT_EQ(uncertain(kProbedMain + "/2 /bin/app:384"), 0u) << "another kind, another module";
    EXPECT_EQ(uncertain(kProbedMain), 0u);
    EXPECT_EQ(uncertain(kProbedWork), 1u) << "as its trials tell";
}

// Ten entries of 40 ns by a thread that forked regions, in which another thread worked for 300 ns
// in total.
TEST(RecordReader, EntriesTakeWhatThoseWhoEnteredTook) {
    RecordFile file(0, 2);
    file.add_module(1, "/bin/app", kExampleBuildId, 0x5555'0000);
    file.add_node(file.add_thread(0, {}), SiteKind::kProcedure, 1, 0x10, {10, 400, 30, 50});
    file.add_node(file.add_thread(1, {}), SiteKind::kProcedure, 1, 0x10, {0, 300, UINT64_MAX, 0});
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    ASSERT_EQ(merged.nodes.size(), 2u);
    const Totals& both = merged.nodes[1].totals;
    EXPECT_EQ(both.time_ns, 700u);
    EXPECT_EQ(both.entered_ns, 400u);
    EXPECT_DOUBLE_EQ(mean_entry_ns(both), 40);
}

// A region of two threads with a barrier, a loop and a task, and the second thread's work before
// the region. One tick is half a nanosecond.
TEST(RecordReader, ReadsEveryFigureOfOpenMp) {
    RecordFile file(0, 1);
    file.header().ticks_per_second = 2'000'000'000;
    file.add_module(1, "/bin/app", "id");
    const auto add = [&file](CellIndex parent, uint64_t offset, OmpConstruct construct,
                             Figures figures, OmpPart part) {
        const CellIndex node = file.add_probe(parent, SiteKind::kOpenMp, 1, offset, figures);
        file.at<Node>(node).site.call = static_cast<uint16_t>(construct);
        file.at<OmpPart>(file.at<Node>(node).part) = part;
        return node;
    };
    for (uint32_t thread = 0; thread < 2; ++thread) {
        const CellIndex root = file.add_thread(thread, {});
        const CellIndex region = add(root, 64, OmpConstruct::kParallel, {2, 1000, 400, 600},
                                     {{0}, 0, 0, 0, 0, 2 - 2 * thread, {0}, 40});
        add(region, 80, OmpConstruct::kLoop, {2, 300, 100, 200}, {{50}, 0, 0, 0, 0, 0, {7}, 0});
        add(region, 96, OmpConstruct::kBarrier, {2, 200, 100, 100}, {{0}, 0, 0, 160, 0, 0, {0}, 0});
        add(region, 112, OmpConstruct::kTask, {3, 90, 30, 30}, {{0}, 1, 0, 0, 80, 4, {0}, 0});
        add(region, 128, OmpConstruct::kTarget, {1, 60, 60, 60}, {{4000}, 0, 0, 0, 0, 0, {24}, 0});
        if (thread == 1)
            add(root, 0, OmpConstruct::kIdle, {1, 500, 500, 500}, {{0}, 0, 0, 500, 0, 0, {0}, 0});
    }
    Merged merged;
    ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    ASSERT_TRUE(is_well_formed(merged));
    const auto of = [&merged](OmpConstruct construct) -> const Totals& {
        for (const MergedNode& node : merged.nodes) {
            if (is_openmp(node.kind) && node.call == static_cast<uint16_t>(construct)) {
                return node.totals;
            }
        }
        return merged.nodes[0].totals;
    };
    ASSERT_EQ(merged.nodes.size(), 7u);
    EXPECT_EQ(of(OmpConstruct::kTarget).bytes_sent, 8000u);
    EXPECT_EQ(of(OmpConstruct::kTarget).bytes_received, 48u);
    EXPECT_EQ(of(OmpConstruct::kTarget).iterations, 0u);
    const Totals& region = of(OmpConstruct::kParallel);
    EXPECT_EQ(region.count, 4u);
    EXPECT_EQ(region.time_ns, 1000u);
    EXPECT_EQ(region.min_ns, 200u);
    EXPECT_EQ(region.max_ns, 300u);
    EXPECT_EQ(region.created, 2u);
    EXPECT_EQ(region.omp_overhead_ns, 40u);
    EXPECT_EQ(of(OmpConstruct::kLoop).iterations, 100u);
    EXPECT_EQ(of(OmpConstruct::kLoop).chunks, 14u);
    EXPECT_EQ(of(OmpConstruct::kBarrier).omp_wait_ns, 160u);
    EXPECT_EQ(of(OmpConstruct::kTask).omp_start_ns, 80u);
    EXPECT_EQ(of(OmpConstruct::kTask).created, 8u);
    EXPECT_EQ(of(OmpConstruct::kTask).untimed, 2u);
    EXPECT_EQ(of(OmpConstruct::kIdle).omp_idle_ns, 250u);
    EXPECT_EQ(of(OmpConstruct::kIdle).omp_wait_ns, 0u);
    EXPECT_EQ(merged.rows.size(), 2u + 11);
}

// The file of a process that was killed at virtual tick 1000 - 100: main had been open from tick
// 100, the loop from 700, and inside of it work twice, the second time by recursion.
TEST(RecordReader, OpenProbesTookTheTimeUntilNow) {
    Probed probed;
    probed.file.last_thread().last_ticks = 1000;
    probed.file.last_thread().intrusion_ticks = 60;
    probed.file.last_thread().paused_ticks = 40;
    probed.file.open_probe(probed.main, 100);
    probed.file.open_probe(probed.loop, 700);
    probed.file.open_probe(probed.work, 750);
    probed.file.open_probe(probed.work, 760, kEntryUntimed);
    const Merged merged = probed.merged();
    const auto nodes = nodes_by_path(merged);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedMain)].totals.time_ns, (900u - 100) / 2);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedMain)].rank_max_ns, 400u);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedLoop)].totals.time_ns, (600u + 900 - 700) / 2);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedWork)].totals.time_ns, (400u + 900 - 750) / 2);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedWork)].totals.count, 12u);
    for (const MergedRow& row : merged.rows) {
        EXPECT_EQ(row.totals.time_ns, merged.nodes[row.node].totals.time_ns);
    }
}

// The loop had taken 50 ticks when a recursion inside it returned to main; 60 ticks of work had
// passed when the thread moved to another stack.
TEST(RecordReader, OpenProbesThatAreStoppedTookWhatTheyHad) {
    Probed probed;
    probed.file.last_thread().last_ticks = 1000;
    probed.file.open_probe(probed.main, 100);
    probed.file.open_probe(probed.loop, 50, kEntryUntimed | kEntryStopped);
    probed.file.open_probe(probed.work, 60, kEntryUntimed | kEntryAway);
    const Merged merged = probed.merged();
    const auto nodes = nodes_by_path(merged);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedMain)].totals.time_ns, (1000u - 100) / 2);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedLoop)].totals.time_ns, (600u + 50) / 2);
    EXPECT_EQ(merged.nodes[nodes.at(kProbedWork)].totals.time_ns, (400u + 60) / 2);
}

TEST(RecordReader, WithoutCommunicationOpenProbesEndWithTheLastEntry) {
    Probed probed;
    probed.file.open_probe(probed.main, 100);
    probed.file.open_probe(probed.loop, 700);
    const Merged merged = probed.merged();
    EXPECT_EQ(merged.nodes[nodes_by_path(merged).at(kProbedMain)].totals.time_ns, 300u);
    EXPECT_EQ(merged.nodes[nodes_by_path(merged).at(kProbedLoop)].totals.time_ns, 300u);
}

}  // namespace
}  // namespace dwell
