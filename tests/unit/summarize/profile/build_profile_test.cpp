// Merged records made by hand, over addresses of a fixture with known lines: the tree must have the
// shape of its source, and every time must be the sum of the numbers below.
#include <gtest/gtest.h>

#include "tests/unit/summarize/profile/phases_records.h"

namespace dwell {
namespace {

TEST_F(Phases, TreeTimesAndRows) {
    const uint32_t init = records_.communication(start_, app_, after("main", "MPI_Init"),
                                                 "MPI_Init", totals(2, 1000));
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a", 0));
    const uint32_t send = records_.communication(in_a, app_, after("phase_a", "MPI_Send"),
                                                 "MPI_Send", totals(20, 300, 0, 160));
    const uint32_t receive = records_.communication(in_a, app_, after("phase_a", "MPI_Recv"),
                                                    "MPI_Recv", totals(20, 500, 400));
    const uint32_t in_b = records_.call(start_, app_, after("main", "phase_b"));
    const uint32_t barrier = records_.communication(in_b, app_, after("phase_b", "MPI_Barrier"),
                                                    "MPI_Barrier", totals(2, 70, 60));
    const uint32_t to_init = records_.interval(kNoNode, init, 0, 2, 11);
    const uint32_t to_send = records_.interval(init, send, start_, 2, 20);
    const uint32_t to_receive = records_.interval(send, receive, in_a, 20, 4000);
    const uint32_t again = records_.interval(receive, send, in_a, 18, 900);
    const uint32_t to_barrier = records_.interval(receive, barrier, start_, 2, 31);
    // Rank 0 has everything but the barrier in one thread; rank 1 has two threads.
    records_.row(init, 0, 0, totals(1, 600));
    records_.row(init, 1, 0, totals(1, 400));
    records_.row(send, 0, 0, totals(20, 300, 0, 160));
    records_.row(receive, 0, 0, totals(18, 450, 400));
    records_.row(receive, 1, 0, totals(1, 20));
    records_.row(receive, 1, 1, totals(1, 30));
    records_.row(barrier, 1, 0, totals(2, 70, 60));
    records_.row(to_init, 0, 0, totals(1, 5));
    records_.row(to_init, 1, 0, totals(1, 6));
    records_.row(to_send, 0, 0, totals(2, 20));
    records_.row(to_receive, 0, 0, totals(20, 4000));
    records_.row(again, 0, 0, totals(18, 900));
    records_.row(to_barrier, 1, 0, totals(2, 31));
    records_.rank(1, [](MergedRank* rank) { rank->paused_ns = 7; });
    records_.rank(0);

    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    EXPECT_EQ(profile.computation_ns, 11u + 20 + 4000 + 900 + 31);
    EXPECT_EQ(profile.blocked_ns, 460u);
    EXPECT_EQ(profile.transfer_ns, 1000u + 300 + 500 + 70 - 460);
    EXPECT_EQ(profile.paused_ns, 7u);
    EXPECT_EQ(profile.ranks[0].rank, 0u);
    EXPECT_EQ(profile.nodes[0].name, "phases");

    ASSERT_EQ(profile.nodes[0].children.size(), 1u);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(main, kNoNode);
    EXPECT_EQ(profile.nodes[main].line, line("begin main"));
    EXPECT_EQ(profile.nodes[main].file, source_);
    EXPECT_EQ(profile.nodes[main].computation_ns, 11u + 20 + 31);
    EXPECT_EQ(profile.nodes[main].labels, kLabelEstimated);
    EXPECT_EQ(profile.nodes[main].totals.count, 0u);

    const uint32_t init_node = child(profile, main, SiteKind::kCommunication, "MPI_Init");
    ASSERT_NE(init_node, kNoNode);
    EXPECT_EQ(profile.nodes[init_node].line, line("init"));
    EXPECT_EQ(profile.nodes[init_node].ranks, 2u);
    EXPECT_EQ(profile.nodes[init_node].rank_max, 0u);
    EXPECT_EQ(profile.nodes[init_node].rank_max_ns, 600u);
    EXPECT_EQ(profile.nodes[init_node].rank_min, 1u);
    EXPECT_EQ(profile.nodes[init_node].rank_min_ns, 400u);

    const uint32_t call_a = child(profile, main, SiteKind::kCall, "phase_a");
    ASSERT_NE(call_a, kNoNode);
    EXPECT_EQ(profile.nodes[call_a].line, line("call phase_a"));
    const uint32_t a = child(profile, call_a, SiteKind::kProcedure, "phase_a");
    ASSERT_NE(a, kNoNode);
    EXPECT_EQ(profile.nodes[a].computation_ns, 4900u);
    EXPECT_EQ(profile.nodes[a].totals.time_ns, 4900u + 300 + 500);
    EXPECT_EQ(profile.nodes[a].totals.blocked_ns, 400u);
    EXPECT_EQ(profile.nodes[a].totals.bytes_sent, 160u);
    EXPECT_EQ(profile.nodes[a].ranks, 2u);
    EXPECT_EQ(profile.nodes[a].rank_max_ns, 4900u + 300 + 450);
    EXPECT_EQ(profile.nodes[a].rank_min_ns, 50u);
    const uint32_t send_node = child(profile, a, SiteKind::kCommunication, "MPI_Send");
    ASSERT_NE(send_node, kNoNode);
    EXPECT_EQ(profile.nodes[send_node].line, line("send in a"));
    EXPECT_EQ(profile.nodes[send_node].file, source_);
    EXPECT_EQ(profile.nodes[send_node].totals.count, 20u);
    EXPECT_EQ(profile.nodes[send_node].labels, 0u);
    // Sorted: phase_a (5700) before MPI_Init (1000) before phase_b (70).
    EXPECT_EQ(profile.nodes[main].children[0], call_a);
    EXPECT_EQ(profile.nodes[main].children[1], init_node);
    ASSERT_EQ(profile.intervals.size(), 5u);
    EXPECT_EQ(profile.intervals[0].time_ns, 4000u);
    EXPECT_EQ(profile.intervals[0].from, send_node);
    EXPECT_EQ(profile.intervals[0].booked_on, a);
    EXPECT_FALSE(has_note(profile, "debug information"));
}

// Its time is separate from computation and communication; its bytes are no messages.
TEST_F(Phases, InputAndOutputBetweenCommunication) {
    const uint32_t init = records_.communication(start_, app_, after("main", "MPI_Init"),
                                                 "MPI_Init", totals(1, 1000));
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a", 0));
    const uint32_t send = records_.communication(in_a, app_, after("phase_a", "MPI_Send"),
                                                 "MPI_Send", totals(20, 300, 0, 160));
    // The statement has the place of MPI_Recv in the source.
    const uint32_t write = records_.io(in_a, app_, after("phase_a", "MPI_Recv"), IoCall::kWrite,
                                       totals(20, 700, 0, 4096));
    const uint32_t to_send = records_.interval(init, send, start_, 1, 50);
    records_.row(init, 0, 0, totals(1, 1000));
    records_.row(send, 0, 0, totals(20, 300, 0, 160));
    records_.row(write, 0, 0, totals(20, 700, 0, 4096));
    records_.row(to_send, 0, 0, totals(1, 50));
    records_.rank(0);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    EXPECT_EQ(profile.io_ns, 700u);
    EXPECT_EQ(profile.computation_ns, 50u);
    EXPECT_EQ(profile.transfer_ns, 1300u);
    EXPECT_EQ(profile.total_ns, 2050u);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(main, kNoNode);
    const uint32_t call_a = child(profile, main, SiteKind::kCall, "phase_a");
    ASSERT_NE(call_a, kNoNode);
    const uint32_t a = child(profile, call_a, SiteKind::kProcedure, "phase_a");
    ASSERT_NE(a, kNoNode);
    const uint32_t written = child(profile, a, SiteKind::kIo, "write");
    ASSERT_NE(written, kNoNode);
    EXPECT_EQ(profile.nodes[written].totals.time_ns, 700u);
    EXPECT_EQ(profile.nodes[written].totals.bytes_sent, 4096u);
    EXPECT_EQ(profile.nodes[written].computation_ns, 0u);
    EXPECT_NE(profile.nodes[written].line, 0);
    EXPECT_EQ(profile.nodes[a].totals.time_ns, 1000u);
    EXPECT_EQ(profile.nodes[a].totals.bytes_sent, 160u);
}

TEST_F(Phases, TwoCallsOnOneLine) {
    const uint32_t first = records_.call(start_, app_, after("main", "phase_a", 1));
    const uint32_t send_1 = records_.communication(first, app_, after("phase_a", "MPI_Send"),
                                                   "MPI_Send", totals(1, 10));
    const uint32_t receive_1 = records_.communication(first, app_, after("phase_a", "MPI_Recv"),
                                                      "MPI_Recv", totals(1, 20));
    const uint32_t second = records_.call(start_, app_, after("main", "phase_a", 2));
    const uint32_t send_2 = records_.communication(second, app_, after("phase_a", "MPI_Send"),
                                                   "MPI_Send", totals(2, 30));
    records_.interval(send_1, receive_1, first, 1, 100);
    // Between two activations: the interval is main's, although both are the same statement.
    records_.interval(receive_1, send_2, start_, 1, 1000);
    records_.interval(send_2, send_2, second, 1, 10000);
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    const uint32_t call = child(profile, main, SiteKind::kCall, "phase_a");
    ASSERT_NE(call, kNoNode);
    EXPECT_EQ(profile.nodes[call].line, line("call phase_a twice"));
    const uint32_t a = child(profile, call, SiteKind::kProcedure, "phase_a");
    ASSERT_NE(a, kNoNode);
    EXPECT_EQ(profile.nodes[main].computation_ns, 1000u);
    EXPECT_EQ(profile.nodes[a].computation_ns, 10100u);
    const uint32_t send = child(profile, a, SiteKind::kCommunication, "MPI_Send");
    ASSERT_NE(send, kNoNode);
    EXPECT_EQ(profile.nodes[send].totals.count, 3u);
    EXPECT_EQ(profile.nodes[send].totals.time_ns, 40u);
    EXPECT_EQ(profile.nodes[send].totals.min_ns, 10u);
    EXPECT_EQ(profile.nodes[send].totals.max_ns, 30u);
}

TEST_F(Phases, FramesOfMpiAndDwellAreLeftOut) {
    const uint32_t mpi = records_.module("/usr/lib/libmpi.so.40");
    const uint32_t glue = records_.module("/usr/lib/libmpi_mpifh.so.40");
    const uint32_t dwell = records_.module("/opt/lib/libdwell.so");
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a"));
    const uint32_t below = records_.call(in_a, dwell, 0x100);
    const uint32_t callback = records_.call(below, mpi, 0x200);
    const uint32_t in_b = records_.call(callback, app_, after("phase_b", "MPI_Barrier"));
    records_.communication(in_b, glue, 0x300, "MPI_Barrier", totals(1, 10));
    const Profile profile = build_profile(records_.merged);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    const uint32_t call = child(profile, main, SiteKind::kCall, "phase_b");
    ASSERT_NE(call, kNoNode);
    EXPECT_EQ(profile.nodes[call].line, line("call phase_a"));
    const uint32_t b = child(profile, call, SiteKind::kProcedure, "phase_b");
    ASSERT_NE(b, kNoNode);
    const uint32_t barrier = child(profile, b, SiteKind::kCommunication, "MPI_Barrier");
    ASSERT_NE(barrier, kNoNode);
    EXPECT_EQ(profile.nodes[barrier].line, line("barrier in b"));
    EXPECT_EQ(profile.nodes.size(), 5u);
}

// By the call paths alone, exchange would own what main did between two calls of it.
TEST(BuildProfile, CodeProvesThatAProcedureWasLeft) {
#ifndef __x86_64__
    GTEST_SKIP() << "machine code is read on x86-64 alone";
#endif
    for (const std::string level : {"-O0", "-O2"}) {
        SCOPED_TRACE(level);
        ScratchFolder folder;
        const std::string file = folder / "halo.so";
        ASSERT_EQ(
            run("gcc " + level + " -g -shared -fPIC -o '" + file + "' '" + fixture("halo.c") + "'"),
            "");
        MergedBuilder records;
        const uint32_t app = records.module(file);
        const uint32_t in_exchange =
            records.call(0, app, Disassembly(file, "main").return_from("exchange"));
        const uint32_t in_barriers =
            records.call(0, app, Disassembly(file, "main").return_from("barriers"));
        const Disassembly exchange(file, "exchange");
        const uint32_t send = records.communication(
            in_exchange, app, exchange.return_from("MPI_Send"), "MPI_Send", totals(5, 10));
        const uint32_t receive = records.communication(
            in_exchange, app, exchange.return_from("MPI_Recv"), "MPI_Recv", totals(5, 10));
        const uint32_t barrier = records.communication(
            in_barriers, app, Disassembly(file, "barriers").return_from("MPI_Barrier"),
            "MPI_Barrier", totals(20, 10));
        records.interval(send, receive, in_exchange, 5, 400);
        records.interval(receive, send, in_exchange, 4, 300);
        records.interval(barrier, barrier, in_barriers, 19, 200);
        records.interval(receive, barrier, 0, 5, 100);
        const Profile profile = build_profile(records.merged);
        expect_conservation(profile);
        ASSERT_EQ(profile.intervals.size(), 4u);
        const auto owner = [&profile](int interval) {
            return profile.nodes[profile.intervals[interval].booked_on];
        };
        EXPECT_EQ(owner(0).name, "exchange");
        EXPECT_EQ(owner(1).name, "main");
        EXPECT_EQ(owner(2).name, "barriers");
        EXPECT_EQ(owner(3).name, "main");
        for (int i = 0; i < 4; ++i) EXPECT_EQ(profile.intervals[i].or_after, i == 2) << i;
        EXPECT_EQ(owner(0).labels & kLabelOrAfter, 0u);
        EXPECT_NE(owner(2).labels & kLabelOrAfter, 0u);
    }
}

TEST_F(Phases, OverTheRowLimitBoundsOnly) {
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a"));
    const uint32_t send =
        records_.communication(in_a, app_, after("phase_a", "MPI_Send"), "MPI_Send", totals(9, 90));
    records_.merged.nodes[send].ranks = 3;
    records_.merged.nodes[send].rank_max = 2;
    records_.merged.nodes[send].rank_max_ns = 50;
    records_.merged.nodes[send].rank_min = 1;
    records_.merged.nodes[send].rank_min_ns = 15;
    records_.merged.flags = kMergedRowsDropped;
    const Profile profile = build_profile(records_.merged);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(main, kNoNode);
    EXPECT_TRUE(profile.rows.empty());
    EXPECT_EQ(profile.nodes[main].ranks, 3u);
    EXPECT_EQ(profile.nodes[main].rank_max_ns, 50u);
    EXPECT_EQ(profile.nodes[main].rank_max, 2u);
    EXPECT_EQ(profile.nodes[main].rank_min_ns, 0u);
    EXPECT_TRUE(has_note(profile, "lower bounds"));
}

TEST_F(Phases, RebuiltSinceTheRun) {
    std::string id = build_id_of(file_);
    id[0] = static_cast<char>(id[0] ^ 1);
    const uint32_t old = records_.module(file_, id);
    const uint64_t address = after("phase_a", "MPI_Send");
    records_.communication(0, old, address, "MPI_Send", totals(1, 10));
    const Profile profile = build_profile(records_.merged);
    ASSERT_EQ(profile.nodes.size(), 3u);
    EXPECT_EQ(profile.nodes[2].line, 0);
    EXPECT_EQ(profile.nodes[2].file, "phases+" + hex(address));
    EXPECT_EQ(profile.nodes[2].labels, kLabelNoLine);
    EXPECT_TRUE(has_note(profile, file_ + " was rebuilt since the run"));
}

// Without build-id the lines of another file are shown, labelled uncertain.
TEST_F(Phases, ReplacedWithoutBuildId) {
    const uint32_t other = records_.module(file_);
    const uint32_t certain = records_.module(file_ + "-gone");
    records_.merged.modules[other].inode = records_.merged.modules[certain].inode = 1;
    const uint32_t call = records_.call(0, other, after("main", "phase_a"));
    records_.communication(call, other, after("phase_a", "MPI_Send"), "MPI_Send", totals(1, 10));
    const Profile profile = build_profile(records_.merged);
    ASSERT_EQ(profile.nodes.size(), 5u);
    for (size_t i = 1; i < profile.nodes.size(); ++i) {
        EXPECT_NE(profile.nodes[i].line, 0);
        EXPECT_EQ(profile.nodes[i].labels & kLabelLineUnknown, uint32_t{kLabelLineUnknown}) << i;
    }
    EXPECT_TRUE(has_note(profile, "its lines and names are uncertain"));
}

// Start code of a stripped program: _start, then the C library, then a function without a name.
TEST_F(Phases, MainOfAStrippedProgram) {
    const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
    const std::string symbol = output_of("nm -D " + libc + " | grep ' T __libc_start_main'");
    if (symbol.starts_with("failed")) GTEST_SKIP() << "no " << libc;
    const uint64_t main_call = after("main", "phase_b");
    const uint64_t send = after("main", "MPI_Init");
    const uint64_t start_code = Disassembly(file_, "_start").start() + 8;
    ASSERT_EQ(run("strip " + file_), "");
    const uint32_t real_libc = records_.module(libc);
    const uint32_t one = records_.call(0, app_, start_code);
    const uint32_t two =
        records_.call(one, real_libc, strtoull(symbol.c_str(), nullptr, 16) + 0x10);
    records_.communication(two, app_, send, "MPI_Init", totals(1, 10));
    const uint32_t gone = records_.module("/nonexistent/libwork.so");
    const uint32_t work = records_.call(two, app_, main_call);
    records_.communication(work, gone, 0x1234, "MPI_Send", totals(1, 20));
    const Profile profile = build_profile(records_.merged);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    ASSERT_NE(main, kNoNode);
    EXPECT_EQ(profile.nodes[0].children.size(), 1u);
    EXPECT_EQ(profile.nodes[main].labels, kLabelNoLine);
    EXPECT_EQ(profile.nodes[main].module, file_);
    const uint32_t call = child(profile, main, SiteKind::kCall, "libwork.so+0x1234");
    ASSERT_NE(call, kNoNode);
    EXPECT_EQ(profile.nodes[call].file, "phases+" + hex(main_call));
    EXPECT_TRUE(has_note(profile, "no debug information"));
    EXPECT_TRUE(has_note(profile, "/nonexistent/libwork.so cannot be read any more"));
}

TEST(BuildProfile, FortranMainProgramStandsForMain) {
    if (!have_command("gfortran")) GTEST_SKIP() << "gfortran is not installed";
    ScratchFolder folder;
    const std::string source = fixture("heat.f90");
    const std::string file = folder / "heat.so";
    ASSERT_EQ(run("cd '" + (folder / "") + "' && gfortran -O0 -g -shared -fPIC -o '" + file +
                  "' '" + source + "'"),
              "");
    MergedBuilder records;
    const uint32_t app = records.module(file);
    const uint32_t start = records.call(0, records.module("/nonexistent/libc.so.6"), 0x80);
    const uint32_t main_call =
        records.call(start, app, Disassembly(file, "main").return_from("MAIN__"));
    const uint32_t step =
        records.call(main_call, app, Disassembly(file, "MAIN__").return_from("__heat_MOD_step"));
    records.communication(step, app, Disassembly(file, "__heat_MOD_step").return_from("mpi_send_"),
                          "MPI_Send", totals(1, 10));
    const Profile profile = build_profile(records.merged);
    const uint32_t rod = child(profile, 0, SiteKind::kProcedure, "rod");
    ASSERT_NE(rod, kNoNode);
    const uint32_t call = child(profile, rod, SiteKind::kCall, "heat::step");
    ASSERT_NE(call, kNoNode);
    EXPECT_EQ(profile.nodes[call].line, marked_line(source, "call step"));
    const uint32_t procedure = child(profile, call, SiteKind::kProcedure, "heat::step");
    const uint32_t send = child(profile, procedure, SiteKind::kCommunication, "MPI_Send");
    ASSERT_NE(send, kNoNode);
    EXPECT_EQ(profile.nodes[send].line, marked_line(source, "send in step"));
}

// 400 threads, 10 of which fit in the kernel's locked memory; a spawn of 3 and one of 1.
TEST(BuildProfile, NotesHowManyThreadsAndProcessesAreUnseen) {
    MergedBuilder records;
    records.rank(0, [](MergedRank* rank) {
        rank->flags = kFileNoSampling;
        rank->threads = 400;
    });
    const uint32_t gone = records.module("/nonexistent/app");
    records.communication(0, gone, 0x10, "MPI_Comm_spawn", totals(2, 90));
    records.merged.threads_unsampled = 390;
    records.merged.spawned_unseen = 4;
    const Profile profile = build_profile(records.merged);
    EXPECT_TRUE(has_note(profile, "390 of 400 threads were not sampled"));
    EXPECT_TRUE(has_note(profile, "4 spawned processes were not observed; put dwell run around"));
}

TEST(BuildProfile, Notes) {
    MergedBuilder records;
    records.rank(0, [](MergedRank* rank) {
        rank->dropped = 12;
        rank->guessed = 1;
        rank->clock_errors = 5;
        rank->order_kept = 40;
        rank->order_remote = 2;
    });
    records.rank(2, [](MergedRank* rank) {
        rank->dropped = 3;
        rank->order_kept = 1;
        rank->order_posted = 6;
        rank->order_unknown = 7;
    });
    const auto ended = [](FileState state) {
        return [state](MergedRank* rank) { rank->state = static_cast<uint32_t>(state); };
    };
    records.rank(3, ended(FileState::kRunning));
    records.rank(4, ended(FileState::kAborted));
    records.rank(5, [](MergedRank* rank) {
        rank->flags = kFileNoUnwinder | kFileNoSampling;
        rank->folded_paths = 8;
        rank->files_unnamed = 5;
    });
    records.rank(6, [](MergedRank* rank) {
        rank->samples_lost = 9;
        rank->stalls_dropped = 1;
        rank->threads_cut = 1;
    });
    Totals polls = totals(9, 90);
    polls.untimed = 7;
    const uint32_t gone = records.module("/nonexistent/app");
    records.communication(0, gone, 0x10, "MPI_Test", polls);
    polls.untimed = 1;
    records.communication(0, gone, 0x20, "MPI_Iprobe", polls);
    records.merged.world_size = 8;
    records.merged.flags = kMergedPartial;
    const Profile profile = build_profile(records.merged);
    EXPECT_TRUE(has_note(profile, "2 of 8 ranks are not included: ranks 1 and 7"));
    EXPECT_TRUE(has_note(profile, "15 calls on 2 ranks are not counted"));
    EXPECT_TRUE(has_note(profile, "sampling was asked for and is not available"));
    EXPECT_TRUE(has_note(profile, "1 request on 1 rank"));
    EXPECT_TRUE(has_note(profile, "5 negative durations on 1 rank"));
    EXPECT_TRUE(has_note(profile, "41 choices on 2 ranks between messages fell in the order"));
    EXPECT_TRUE(has_note(profile, "2 choices on 1 rank between messages took what came: some"));
    EXPECT_TRUE(has_note(profile, "6 choices on 1 rank between messages took what came: receives"));
    EXPECT_TRUE(has_note(profile, "7 choices on 1 rank between messages took what came: what"));
    EXPECT_TRUE(has_note(profile, "8 calls on 1 rank without a call path"));
    EXPECT_TRUE(has_note(profile, "5 opened files on 1 rank are nameless"));
    EXPECT_TRUE(has_note(profile, "9 samples on 1 rank were lost"));
    EXPECT_TRUE(has_note(profile, "1 long computation on 1 rank was not examined for I/O"));
    EXPECT_TRUE(has_note(profile, "rank 3 did not reach the end of MPI_Finalize"));
    EXPECT_TRUE(has_note(profile, "rank 4 called MPI_Abort"));
    EXPECT_TRUE(has_note(profile, "rank 5: libunwind is missing"));
    EXPECT_TRUE(has_note(profile, "rank 5: sampling"));
    EXPECT_TRUE(has_note(profile, "8 calls of MPI_Iprobe, MPI_Test repeated an unsuccessful one"));
    EXPECT_TRUE(
        has_note(profile, "waiting for ranks that are not included counts as MPI transfer"));
    EXPECT_TRUE(has_note(profile, "1 thread on 1 rank was in the middle of a probe"));
    EXPECT_EQ(profile.notes.size(), 20u);  // with one for the missing module
}

TEST(BuildProfile, FewOfManyRanks) {
    MergedBuilder records;
    records.rank(3);
    records.rank(1);
    records.merged.world_size = 1u << 24;
    records.merged.flags = kMergedPartial;
    const Profile profile = build_profile(records.merged);
    EXPECT_TRUE(has_note(profile,
                         "16777214 of 16777216 ranks are not included: ranks 0, 2, 4, 5, 6, 7, 8, "
                         "9 and 16777206 more"));
}

TEST(BuildProfile, NothingToNote) {
    MergedBuilder records;
    records.rank(0);
    EXPECT_TRUE(build_profile(records.merged).notes.empty());
}

// Two ranks of 1000 units each; the rows of rank 0 are 5 % short.
Profile profile_with_time_missing(uint64_t unit_ns) {
    MergedBuilder records;
    const uint32_t gone = records.module("/nonexistent/app");
    const uint32_t send =
        records.communication(0, gone, 0x10, "MPI_Send", totals(2, 1895 * unit_ns));
    records.row(send, 0, 0, totals(1, 900 * unit_ns));
    records.row(send, 1, 0, totals(1, 995 * unit_ns));
    for (const uint32_t number : {0u, 1u}) {
        records.rank(number, [number, unit_ns](MergedRank* rank) {
            rank->real_ns = 1000 * unit_ns;
            rank->intrusion_ns = number == 0 ? 50 * unit_ns : 0;
        });
    }
    return build_profile(records.merged);
}

// The rows of a rank's first thread compared with its clock: 900 + 50 of 1000 ms are 5 % short.
TEST(BuildProfile, NotesWhatTheStatementsDoNotCover) {
    const Profile profile = profile_with_time_missing(1'000'000);
    EXPECT_TRUE(has_note(profile, "on 1 rank the statements add up"));
    EXPECT_TRUE(has_note(profile, "on rank 0: 5.0 % missing"));
}

TEST(BuildProfile, LessThanAMillisecondIsNoteworthyInNoRun) {
    EXPECT_TRUE(has_note(profile_with_time_missing(20'000), "on 1 rank the statements add up"));
    EXPECT_FALSE(has_note(profile_with_time_missing(19'999), "add up"));
    EXPECT_FALSE(has_note(profile_with_time_missing(1), "add up"));
}

TEST(BuildProfile, PeersOfEqualStatementsAreSummed) {
    MergedBuilder records;
    const uint32_t gone = records.module("/nonexistent/app");
    const uint32_t send = records.communication(0, gone, 0x10, "MPI_Send", totals(3, 30));
    records.merged.peers.push({send, 0, 1, 0, 1, 10, 0, 8, 0, 10, 10});
    records.merged.peers.push({send, 0, 1, 0, 2, 20, 0, 16, 0, 5, 15});
    records.merged.peers.push({send, 1, 0, 0, 1, 100, 0, 0, 4, 100, 100});
    const Profile profile = build_profile(records.merged);
    ASSERT_EQ(profile.peers.size(), 2u);
    EXPECT_EQ(profile.peers[0].time_ns, 100u);
    EXPECT_EQ(profile.peers[1].count, 3u);
    EXPECT_EQ(profile.peers[1].bytes_sent, 24u);
    EXPECT_EQ(profile.peers[1].min_ns, 5u);
    EXPECT_EQ(profile.peers[1].max_ns, 15u);
    EXPECT_EQ(profile.nodes[profile.peers[1].node].name, "MPI_Send");
}

TEST(BuildProfile, UnknownAndFoldedPlaces) {
    MergedBuilder records;
    const uint32_t foreign = records.communication(0, kNoNode, 0x7f00, "MPI_Send", totals(1, 10));
    records.merged.nodes[foreign].flags = kNodeForeign;
    const uint32_t gone = records.module("/nonexistent/app");
    const uint32_t folded = records.communication(0, gone, 0x10, "MPI_Recv", totals(1, 20));
    records.merged.nodes[folded].flags = kNodeFolded;
    const Profile profile = build_profile(records.merged);
    const uint32_t raw = child(profile, 0, SiteKind::kProcedure, "0x7f00");
    ASSERT_NE(raw, kNoNode);
    EXPECT_NE(child(profile, raw, SiteKind::kCommunication, "MPI_Send"), kNoNode);
    const uint32_t procedure = child(profile, 0, SiteKind::kProcedure, "app+0x10");
    const uint32_t receive = child(profile, procedure, SiteKind::kCommunication, "MPI_Recv");
    ASSERT_NE(receive, kNoNode);
    EXPECT_EQ(profile.nodes[receive].labels, kLabelFolded | kLabelNoLine);
}

TEST(BuildProfile, DamagedIndicesDoNoHarm) {
    MergedBuilder records;
    const uint32_t gone = records.module("/nonexistent/app");
    const uint32_t send = records.communication(0, gone, 0x10, "MPI_Send", totals(1, 10));
    const uint32_t lost = records.communication(99, 77, 0x20, "MPI_Send", totals(1, 20));
    records.merged.nodes[lost].call = 60000;
    records.merged.nodes[lost].histogram = 5;
    records.interval(4711, send, 4712, 1, 100);
    records.interval(send, 4713, 0, 1, 1000);
    records.sample(4714, gone, 0x30, 1);
    records.row(4715, 0, 0, totals(1, 1));
    records.merged.peers.push({4716, 0, 1, 0, 1, 10, 0, 8, 0, 10, 10});
    const Profile profile = build_profile(records.merged);
    EXPECT_EQ(profile.nodes[0].totals.time_ns, 130u);
    EXPECT_EQ(profile.intervals.size(), 1u);
    EXPECT_TRUE(profile.peers.empty());
    const Merged nothing;
    EXPECT_EQ(build_profile(nothing).nodes.size(), 1u);
}

}  // namespace
}  // namespace dwell
