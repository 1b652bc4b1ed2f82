// The runtime's records, written by enter() and leave() with durations set by hand, so that every
// expected number is arithmetic.
#include "runtime/calls/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "runtime/io/io_records.h"
#include "runtime/measure/processor_time.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

TEST_F(Records, TwoCallsAndTheComputationBetweenThem) {
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) forget();
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        end(&call, 1510,
            1600);  // 500 of computation and 10 of cost since tick 1000, 90 in the call
        ASSERT_TRUE(begin(&call, MpiCall::kRecv, 32));
        end(&call, 2610, 2900);  // 1000 and 10 since tick 1600, 290 in the call
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        end(&call, 3110, 3120);  // 200 and 10, 10
    }
    const Node* send = node_at(16);
    const Node* receive = node_at(32);
    ASSERT_NE(send, nullptr);
    ASSERT_NE(receive, nullptr);
    EXPECT_EQ(send->count, 2u);
    EXPECT_EQ(send->ticks, 100u);
    EXPECT_EQ(send->min_ticks, 10u);
    EXPECT_EQ(send->max_ticks, 90u);
    EXPECT_EQ(receive->count, 1u);
    EXPECT_EQ(receive->ticks, 290u);

    // Predecessors of the send: the start of the thread, then the receive.
    std::set<std::pair<uint64_t, uint64_t>> intervals;
    for (CellIndex at = send->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        intervals.insert(
            {static_cast<CellIndex>(cell_at<Node>(at)->site.offset), cell_at<Node>(at)->ticks});
    }
    const std::set<std::pair<uint64_t, uint64_t>> expected = {{0, 500}, {index_of(receive), 200}};
    EXPECT_EQ(intervals, expected);
    EXPECT_EQ(t_thread->record->intrusion_ticks, 30u);
    EXPECT_EQ(t_thread->record->last_ticks, 3120u);
}

// Beyond the limit of intervals with long computations, further ones are counted.
TEST_F(Records, LongComputationsWithoutRoomAreCounted) {
    t_thread->last = 1;
    g_process.header->ticks_per_second = 1'000'000'000;
    const uint64_t ticks = 10'000'000;
    const auto note = [&](CellIndex first, CellIndex end) {
        for (CellIndex interval = first; interval < end; ++interval) {
            note_long_work(t_thread, interval, ticks);
        }
    };
    const auto kept = [] {
        uint64_t count = 0;
        for (CellIndex at = t_thread->record->first_stall; at != 0;
             at = cell_at<StallRecord>(at)->next) {
            count += cell_at<StallRecord>(at)->count;
        }
        return count;
    };
    note(1, kMostStalls + 1);
    EXPECT_EQ(t_thread->record->stalls_dropped, 0u);
    note(kMostStalls - 1, kMostStalls + 4);  // two known and three new intervals
    note(kMostStalls + 1, kMostStalls + 3);
    EXPECT_EQ(t_thread->record->stalls_dropped, 5u);
    EXPECT_EQ(kept(), kMostStalls + 2);
    forget();
    EXPECT_EQ(t_thread->record->stalls_dropped, 0u);
    EXPECT_EQ(kept(), 0u);
}

TEST_F(Records, SlowWorkIsOverheadAndNoComputation) {
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) forget();
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        t_thread->slow_overhead += 400;
        end(&call, 1510, 1520);
    }
    EXPECT_EQ(cell_at<Node>(node_at(16)->first_child)->ticks, 100u);
    EXPECT_EQ(t_thread->record->intrusion_ticks, 410u);
}

TEST_F(Records, CostNeverMakesComputationNegative) {
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    end(&call, 1100, 1110);
    forget();
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    end(&call, 1004, 1010);  // only 4 ticks since the last call, less than the cost
    EXPECT_EQ(cell_at<Node>(node_at(16)->first_child)->ticks, 0u);
    EXPECT_EQ(t_thread->record->intrusion_ticks, 4u);
}

TEST_F(Records, OneRecordForEachPeerUpToTheLimit) {
    g_process.options.peer_limit = 3;
    for (int round = 0; round < 2; ++round) {
        for (uint32_t peer = 0; peer < 5; ++peer) {
            Call call;
            ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
            call.ticks = 7;
            record_message(&call, peer, 100 + peer, 0, 7);
            end(&call, 2000, 2007);
        }
    }
    const auto* part = cell_at<CommPart>(node_at(16)->part);
    EXPECT_EQ(part->peer_count, 3u);
    EXPECT_EQ(part->folded_peers, 4u);                                // peers 3 and 4, twice
    EXPECT_EQ(part->bytes_sent, 2u * (5 * 100 + 0 + 1 + 2 + 3 + 4));  // the folded ones too
    uint32_t expected_peer = 0;
    for (CellIndex at = part->first_peer; at != 0; at = cell_at<TrafficPeerRecord>(at)->next) {
        const auto* record = cell_at<TrafficPeerRecord>(at);
        EXPECT_EQ(record->peer, expected_peer);
        EXPECT_EQ(record->count, 2u);
        EXPECT_EQ(record->ticks, 14u);
        EXPECT_EQ(record->bytes_sent, 2 * (100u + expected_peer));
        EXPECT_EQ(record->min_ticks, 7u);
        ++expected_peer;
    }
    EXPECT_EQ(expected_peer, 3u);
}

// One message a microsecond fills 32 bits in 72 minutes.
TEST_F(Records, CountersOf32BitsStayFull) {
    g_process.options.peer_limit = 0;
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    auto* part = cell_at<CommPart>(node_at(16)->part);
    part->folded_peers = kCounterFull - 1;
    for (int i = 0; i < 3; ++i) record_message(&call, 1, 8, 0, 7);
    end(&call, 2000, 2007);
    EXPECT_EQ(part->folded_peers, kCounterFull);
    uint32_t counter = kCounterFull - 5;
    count_up(&counter, 4);
    EXPECT_EQ(counter, kCounterFull - 1);
    count_up(&counter, 7);
    EXPECT_EQ(counter, kCounterFull);
}

// Handles at the distances of MPI's objects get different slots.
TEST(HashSlots, SpreadStrides) {
    for (const uint64_t stride : {64u, 512u, 1024u, 4096u, 16384u, 65536u}) {
        std::set<uint32_t> places;
        for (uint64_t i = 0; i < 64; ++i) places.insert(place_in(8, 0x7f0012340000 + i * stride));
        EXPECT_GT(places.size(), 40u) << stride;
    }
}

TEST(SizeBuckets, ArePowersOfTwo) {
    EXPECT_EQ(size_bucket(0), 0);
    EXPECT_EQ(size_bucket(1), 1);
    EXPECT_EQ(size_bucket(2), 2);
    EXPECT_EQ(size_bucket(3), 2);
    EXPECT_EQ(size_bucket(4), 3);
    EXPECT_EQ(size_bucket(1023), 10);
    EXPECT_EQ(size_bucket(1024), 11);
    EXPECT_EQ(size_bucket(1025), 11);
    EXPECT_EQ(size_bucket(1ull << 44), 45);
    EXPECT_EQ(size_bucket(1ull << 45), 46);
    EXPECT_EQ(size_bucket(1ull << 46), 46);
    EXPECT_EQ(size_bucket(UINT64_MAX), 46);
}

TEST_F(Records, CallInsideACallIsPassedOn) {
    Call outer;
    ASSERT_TRUE(begin(&outer, MpiCall::kSend, 16));
    // The inner wrapper's frame lies deeper in the stack than the outer Call.
    Call inner;
    struct Deeper {
        static bool enter_from(const Frame* frame, Call* call) {
            return enter(call, MpiCall::kRecv, frame, kMpiForm);
        }
    };
    const auto* deeper = reinterpret_cast<const Frame*>(reinterpret_cast<uintptr_t>(&outer) - 256);
    EXPECT_FALSE(Deeper::enter_from(deeper, &inner));
    end(&outer, 1100, 1200);
    EXPECT_EQ(node_at(16)->count, 1u);
}

TEST_F(Records, CallAfterALongjmpOutOfACallIsRecorded) {
    alignas(16) char old_frame[sizeof(Call)] = {};
    auto* left = reinterpret_cast<Call*>(old_frame);
    ASSERT_TRUE(begin(left, MpiCall::kSend, 16));
    // Left without a return: the stack below was reused since.
    memset(old_frame, 0x5a, sizeof(old_frame));
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kRecv, 32));
    end(&call, 1100, 1200);
    EXPECT_EQ(node_at(32)->count, 1u);
}

TEST_F(Records, ForgetsEverythingOnReset) {
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    record_message(&call, 3, 10, 0, 5);
    end(&call, 1100, 1200);
    live_.resets += 1;
    live_.epoch += 1;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    record_message(&call, 3, 4, 0, 5);
    const uint64_t from = t_thread->last_ticks + 110;
    end(&call, from, from + 25);
    const Node* send = node_at(16);
    EXPECT_EQ(send->count, 1u);
    EXPECT_EQ(send->ticks, 25u);
    EXPECT_EQ(cell_at<CommPart>(send->part)->bytes_sent, 4u);
    EXPECT_EQ(cell_at<TrafficPeerRecord>(cell_at<CommPart>(send->part)->first_peer)->count, 1u);
}

TEST_F(Records, PausedTimeIsNeitherComputationNorOverhead) {
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) forget();
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        end(&call, 1010, 1100);
        live_.paused = 1;
        Call unseen;
        EXPECT_FALSE(begin(&unseen, MpiCall::kRecv, 32));
        live_.paused = 0;
        live_.resumed_ticks = 6250;
        live_.paused_ticks += 5000;
        live_.epoch += 1;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        end(&call, 6310, 6320);  // 5210 since the last: 5000 paused, 10 cost, 200 computation
    }
    EXPECT_EQ(t_thread->record->paused_ticks, 5000u);
    uint64_t computation = 0;
    for (CellIndex at = node_at(16)->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        computation += cell_at<Node>(at)->ticks;
    }
    EXPECT_EQ(computation, 200u);
    EXPECT_EQ(node_at(32), nullptr);
}

// The part of an I/O statement inside another thread's pause is paused time, as for computation.
TEST_F(Records, AnIoStatementUnderWayDoesNotCountInAPause) {
    const Frame frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + 48};
    IoStatement statement{};
    ASSERT_TRUE(begin_observed_io(&statement, IoCall::kRead, &frame, kNoDescriptor));
    const Node* node = statement.node;
    statement.start_ticks -= 1'000'000;
    live_.resumed_ticks = now_ticks();
    live_.paused_ticks += 900'000;
    live_.epoch += 1;
    end_io(&statement, 0, 0, false);
    const uint64_t most = now_ticks() - statement.start_ticks - 900'000;
    EXPECT_LE(node->ticks, most);
    EXPECT_GE(node->ticks + g_process.io.inner, 100'000u);
    // It ends in the pause.
    const uint64_t before = node->ticks;
    ASSERT_TRUE(begin_observed_io(&statement, IoCall::kRead, &frame, kNoDescriptor));
    live_.pause_start = statement.start_ticks;
    live_.paused = 1;
    statement.start_ticks -= 1'000'000;
    end_io(&statement, 0, 0, false);
    EXPECT_LE(node->ticks - before, 1'000'000u);
    EXPECT_GE(node->ticks - before + g_process.io.inner, 1'000'000u);
}

// Another thread pauses the process from 2 000 to 7 000 during a call of this one. The part of the
// pause after the call is paused time.
TEST_F(Records, ACallUnderWayCountsToItsEndInAPause) {
    for (const uint64_t until : {1'500, 2'000, 4'000, 7'000, 8'000}) {
        for (int pass = 0; pass < 2; ++pass) {
            if (pass == 1) forget();
            Call call;
            ASSERT_TRUE(begin(&call, MpiCall::kRecv, 16));
            end(&call, 1'010, until);
            live_.resumed_ticks = 7'000;
            live_.paused_ticks += 5'000;
            live_.epoch += 1;
            ASSERT_TRUE(begin(&call, MpiCall::kRecv, 16));
            const uint64_t on = std::max(until, uint64_t{7'000}) + 310;
            end(&call, on, on + 10);
        }
        const uint64_t paused = 7'000 - std::clamp<uint64_t>(until, 2'000, 7'000);
        EXPECT_EQ(t_thread->record->paused_ticks, paused) << until;
        const uint64_t before = until < 2'000 ? 2'000 - until : 0;
        uint64_t computation = 0;
        for (CellIndex at = node_at(16)->first_child; at != 0;
             at = cell_at<Node>(at)->next_sibling) {
            computation += cell_at<Node>(at)->ticks;
        }
        EXPECT_EQ(computation, before + 310 - 10) << until;  // less the call's cost
    }
}

// One MiB holds at most some thousand call sites: beyond, calls collapse or are dropped, each is
// counted, and nothing is written outside the file.
TEST_F(Records, AFullFileCollapsesPathsAndCounts) {
    constexpr int kSites = 4000;
    int recorded = 0;
    for (int i = 0; i < kSites; ++i) {
        Call call;
        if (!begin(&call, MpiCall::kSend, static_cast<uint64_t>(i))) continue;
        ++recorded;
        end(&call, 2000, 2010);
    }
    const ThreadRecord* record = t_thread->record;
    EXPECT_LT(recorded, kSites);
    // Of the last one that has room its interval may have none.
    const auto unrecorded = static_cast<uint64_t>(kSites - recorded);
    EXPECT_GE(record->dropped, unrecorded);
    EXPECT_LE(record->dropped, unrecorded + 1);
    EXPECT_GT(record->folded_paths, 0u);
    EXPECT_NE(g_process.header->flags & kFileFull, 0u);
    EXPECT_LE(g_process.header->cells_reserved, (1u << 20) / kCellBytes);
    uint64_t counted = 0;
    for (CellIndex at = cell_at<Node>(record->root)->first_child; at != 0;
         at = cell_at<Node>(at)->next_sibling) {
        counted += cell_at<Node>(at)->count;
    }
    EXPECT_EQ(counted, static_cast<uint64_t>(recorded));
}

TEST_F(Records, ThreadsRecordSideBySide) {
    constexpr int kThreads = 8;
    constexpr int kCalls = 2000;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([t] {
            for (int i = 0; i < kCalls; ++i) {
                Call call;
                const Frame frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + 64 +
                                         static_cast<uint64_t>(i % 10) * 8};
                if (!enter(&call, MpiCall::kSend, &frame, kMpiForm)) continue;
                start(&call);
                stop(&call);
                record_message(&call, static_cast<uint32_t>(t), 1, 0, call.ticks);
                leave(&call);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t calls = 0;
    uint64_t bytes = 0;
    for (CellIndex at = g_process.header->first_thread; at != 0;
         at = cell_at<ThreadRecord>(at)->next) {
        const auto* record = cell_at<ThreadRecord>(at);
        for (CellIndex node = cell_at<Node>(record->root)->first_child; node != 0;
             node = cell_at<Node>(node)->next_sibling) {
            calls += cell_at<Node>(node)->count;
            bytes += cell_at<CommPart>(cell_at<Node>(node)->part)->bytes_sent;
        }
    }
    EXPECT_EQ(calls, static_cast<uint64_t>(kThreads) * kCalls);
    EXPECT_EQ(bytes, calls);
    g_process.free_threads = nullptr;
}

}  // namespace
}  // namespace dwell
