// The runtime's records, written by enter() and leave() with durations set by hand, so that every
// expected number is arithmetic.
#include "runtime/calls/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/contract/thread_names.h"
#include "runtime/io/io_records.h"
#include "runtime/measure/processor_time.h"
#include "runtime/mpi/requests.h"
#include "runtime/wrappers/mpi_semantics.h"
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

    // Reached by the send: from the start of the thread, then from the receive.
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

// Of more kinds of long computations than a thread keeps, those that come late are counted.
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
    note(kMostStalls - 1, kMostStalls + 4);  // two that are known, three that are not
    note(kMostStalls + 1, kMostStalls + 3);
    EXPECT_EQ(t_thread->record->stalls_dropped, 5u);
    EXPECT_EQ(kept(), kMostStalls + 2);
    forget();
    EXPECT_EQ(t_thread->record->stalls_dropped, 0u);
    EXPECT_EQ(kept(), 0u);
}

TEST_F(Records, SlowWorkIsIntrusionAndNoComputation) {
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) forget();
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
        t_thread->slow_ticks += 400;
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
            book_message(&call, peer, 100 + peer, 0, 7);
            end(&call, 2000, 2007);
        }
    }
    const auto* part = cell_at<CommPart>(node_at(16)->part);
    EXPECT_EQ(part->peer_count, 3u);
    EXPECT_EQ(part->folded_peers, 4u);                                // peers 3 and 4, twice
    EXPECT_EQ(part->bytes_sent, 2u * (5 * 100 + 0 + 1 + 2 + 3 + 4));  // the folded ones too
    uint32_t expected_peer = 0;
    for (CellIndex at = part->first_peer; at != 0; at = cell_at<PeerRecord>(at)->next) {
        const auto* record = cell_at<PeerRecord>(at);
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
    for (int i = 0; i < 3; ++i) book_message(&call, 1, 8, 0, 7);
    end(&call, 2000, 2007);
    EXPECT_EQ(part->folded_peers, kCounterFull);
    uint32_t counter = kCounterFull - 5;
    count_up(&counter, 4);
    EXPECT_EQ(counter, kCounterFull - 1);
    count_up(&counter, 7);
    EXPECT_EQ(counter, kCounterFull);
}

// Handles that lie as far apart as MPI's objects do get places of their own.
TEST(Places, SpreadStrides) {
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

TEST_F(Records, CallInsideACallOnlyPasses) {
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
    // Left without return: the stack below was used again since.
    memset(old_frame, 0x5a, sizeof(old_frame));
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kRecv, 32));
    end(&call, 1100, 1200);
    EXPECT_EQ(node_at(32)->count, 1u);
}

TEST_F(Records, ForgetsEverythingOnReset) {
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    book_message(&call, 3, 10, 0, 5);
    end(&call, 1100, 1200);
    live_.resets += 1;
    live_.epoch += 1;
    ASSERT_TRUE(begin(&call, MpiCall::kSend, 16));
    book_message(&call, 3, 4, 0, 5);
    const uint64_t from = t_thread->last_ticks + 110;
    end(&call, from, from + 25);
    const Node* send = node_at(16);
    EXPECT_EQ(send->count, 1u);
    EXPECT_EQ(send->ticks, 25u);
    EXPECT_EQ(cell_at<CommPart>(send->part)->bytes_sent, 4u);
    EXPECT_EQ(cell_at<PeerRecord>(cell_at<CommPart>(send->part)->first_peer)->count, 1u);
}

TEST_F(Records, PausedTimeIsNeitherComputationNorIntrusion) {
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

// What of an I/O statement lies in another thread's pause is paused, as computation is.
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

// Another thread pauses the process from 2 000 to 7 000 while a call of this one is under way. What
// of the pause comes after the call is paused.
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

// One MiB holds some thousand call sites at most: beyond, calls fold or are dropped, each is
// counted, and nothing is written outside the file.
TEST_F(Records, AFullFileFoldsAndCounts) {
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
    EXPECT_EQ(static_cast<uint64_t>(kSites - recorded), record->dropped);
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

TEST_F(Records, EndedThreadsLeaveTheirRecordToTheNext) {
    for (int i = 0; i < 50; ++i) {
        std::thread([i] {
            pthread_setname_np(pthread_self(), ("pool-" + std::to_string(i)).c_str());
            Call call;
            const Frame frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + 64};
            if (enter(&call, MpiCall::kSend, &frame, kMpiForm)) {
                start(&call);
                stop(&call);
                leave(&call);
            }
        }).join();
    }
    EXPECT_EQ(g_process.thread_count.load(), 2u);  // this one, and all the others in turn
    uint64_t calls = 0;
    uint64_t served = 0;
    for (CellIndex at = g_process.header->first_thread; at != 0;
         at = cell_at<ThreadRecord>(at)->next) {
        const auto* record = cell_at<ThreadRecord>(at);
        if (record == t_thread->record) continue;
        served = record->threads_served;
        EXPECT_STREQ(record->name, "pool-*");
        for (CellIndex node = cell_at<Node>(record->root)->first_child; node != 0;
             node = cell_at<Node>(node)->next_sibling) {
            calls += cell_at<Node>(node)->count;
        }
    }
    EXPECT_EQ(calls, 50u);
    EXPECT_EQ(served, 50u);
    g_process.free_threads = nullptr;
}

// A thread is observed from when it is seen first, and making its record is slow work: all of its
// time is in a call, an interval or intrusion. The second thread gets the first one's record.
TEST_F(Records, AttachingIsTheFirstSlowWorkOfAThread) {
    live_.ticket = 1;
    uint64_t computed_before = 0;
    uint64_t called_before = 0;
    for (int i = 0; i < 2; ++i) {
        std::thread([i, &computed_before, &called_before] {
            const uint64_t before = now_ticks();
            Thread* const thread = attach_thread();
            const uint64_t after = now_ticks();
            ASSERT_NE(thread, nullptr);
            const uint64_t born = thread->last_ticks;
            const uint64_t attached = born + thread->slow_ticks;
            EXPECT_GE(born, before);
            EXPECT_GT(attached, born);
            EXPECT_LE(attached, after);
            const ThreadRecord* const record = thread->record;
            EXPECT_TRUE(i != 0 || record->start_ticks == born);
            const uint64_t intrusion = record->intrusion_ticks;
            Call call;
            const Frame frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + 64};
            ASSERT_TRUE(enter(&call, MpiCall::kSend, &frame, kMpiForm));
            start(&call);
            stop(&call);
            leave(&call);
            const Node* const node = call.node;
            const Node* const interval = cell_at<Node>(node->first_child);
            const uint64_t computed = interval->ticks - computed_before;
            const uint64_t called = node->ticks - called_before;
            EXPECT_EQ(computed + called + record->intrusion_ticks - intrusion,
                      call.end_ticks - born);
            EXPECT_LE(computed, call.start_ticks - attached);
            computed_before = interval->ticks;
            called_before = node->ticks;
        }).join();
    }
    EXPECT_EQ(g_process.thread_count.load(), 2u);
    g_process.free_threads = nullptr;
}

// Its life ends with the thread, or where recording was paused before, and no pause is part of it.
// One that calls nothing has none.
TEST_F(Records, LivesOfThreadsThatCallAreCounted) {
    uint64_t lived = 0;
    for (const char how : {'c', 'n', 'p', 'o'}) {
        uint64_t from = 0;
        uint64_t to = 0;
        std::thread([&] {
            attach_thread();
            const ThreadRecord* const record = t_thread->record;
            EXPECT_EQ(record->life_start, 0u);
            if (how == 'n') return;
            Call call;
            ASSERT_TRUE(begin(&call, MpiCall::kSend, 64));
            start(&call);
            stop(&call);
            leave(&call);
            from = record->life_start;
            EXPECT_NE(from, 0u);
            if (how == 'o') {  // a pause came and went, of which the thread has seen nothing
                live_.paused_ticks += 800'000;
                live_.resumed_ticks = now_ticks() + 800'000;
                live_.epoch += 1;
            }
            if (how == 'p') {
                live_.pause_start = now_ticks();
                live_.paused = 1;
                to = live_.pause_start - record->intrusion_ticks - t_thread->slow_ticks;
            } else {
                to = now_ticks() - record->intrusion_ticks - t_thread->slow_ticks;
            }
            const uint64_t until = now_ticks() + 1'000'000;
            while (now_ticks() < until) continue;
        }).join();
        live_.paused = 0;
        ASSERT_NE(g_process.free_threads, nullptr);
        const ThreadRecord* const record = g_process.free_threads->record;
        EXPECT_EQ(record->life_start, 0u);
        if (how == 'c' || how == 'o') {
            const uint64_t paused = how == 'o' ? 800'000 : 0;
            EXPECT_GE(record->lived_ticks - lived, to - from + 1'000'000 - paused);
            EXPECT_LE(record->lived_ticks - lived, now_ticks() - from - paused);
        } else {
            EXPECT_EQ(record->lived_ticks - lived, to - from);
        }
        lived = record->lived_ticks;
    }
    EXPECT_EQ(t_thread->record->lived_ticks, 0u);  // the first one has the process's time
    g_process.free_threads = nullptr;
}

TEST_F(Records, ThreadsHaveTheNameThatTheyEndWith) {
    std::thread([] {
        attach_thread();
        pthread_setname_np(pthread_self(), "late name");
    }).join();
    ASSERT_NE(g_process.free_threads, nullptr);
    EXPECT_STREQ(g_process.free_threads->record->name, "late name");
    g_process.free_threads = nullptr;
}

TEST_F(Records, ThoseThatRunOnHaveTheNameOfTheProcessEnd) {
    std::atomic<int> step{0};
    std::thread other([&step] {
        attach_thread();
        step = 1;
        while (step != 2) std::this_thread::yield();
    });
    while (step != 1) std::this_thread::yield();
    pthread_setname_np(other.native_handle(), "given later");
    pthread_setname_np(pthread_self(), "first one");
    detach_threads(now_ticks(), false);
    EXPECT_STREQ(g_process.threads.load()->record->name, "given later");
    EXPECT_STREQ(t_thread->record->name, "first one");
    step = 2;
    other.join();
    g_process.free_threads = nullptr;
}

TEST_F(Records, ThoseThatRunOnAreLookedAtAtTheEnd) {
    std::atomic<int> step{0};
    std::thread other([&step] {
        attach_thread();
        t_thread->record->intrusion_ticks = 300;
        t_thread->slow_ticks = 40;
        step = 1;
        while (step != 2) std::this_thread::yield();
        t_thread->in_dwell.begin();
        step = 3;
        while (step != 4) std::this_thread::yield();
        t_thread->in_dwell.end();
    });
    while (step != 1) std::this_thread::yield();
    const ThreadRecord* const record = g_process.threads.load()->record;
    detach_threads(10'000, false);
    EXPECT_EQ(record->end_virtual, 0u);
    detach_threads(10'000, true);
    EXPECT_EQ(record->end_virtual, 10'000u - 300 - 40);
    EXPECT_EQ(record->late_ticks, 40u);
    EXPECT_EQ(record->intrusion_ticks, 300u);  // the thread's own
    step = 2;
    while (step != 3) std::this_thread::yield();
    detach_threads(10'000, true);
    EXPECT_EQ(record->end_virtual, kNotReadable);
    EXPECT_EQ(t_thread->record->end_virtual, 0u);
    step = 4;
    other.join();
    g_process.free_threads = nullptr;
}

TEST(ThreadNames, WhatTheyHaveInCommon) {
    const auto joined = [](std::initializer_list<const char*> names) {
        char kept[kThreadNameBytes] = {};
        strncpy(kept, *names.begin(), sizeof(kept) - 1);
        for (const char* name : names) join_thread_name(kept, name);
        return std::string(kept);
    };
    EXPECT_EQ(joined({"worker", "worker"}), "worker");
    EXPECT_EQ(joined({"pool-1", "pool-12", "pool-2"}), "pool-*");
    EXPECT_EQ(joined({"pool-19", "pool-18"}), "pool-*");
    EXPECT_EQ(joined({"pool", "pool-1"}), "pool*");
    EXPECT_EQ(joined({"pool-1", "poll-1", "pool-2"}), "po*");
    EXPECT_EQ(joined({"io", "compute"}), "*");
    EXPECT_EQ(joined({"io", "compute", "io"}), "*");
    EXPECT_EQ(joined({"", "compute"}), "*");
    EXPECT_EQ(joined({"fifteen letters", "fifteen letterz"}), "fifteen letter*");
    EXPECT_EQ(joined({"fifteen letters", "fifteen letters"}), "fifteen letters");
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
                book_message(&call, static_cast<uint32_t>(t), 1, 0, call.ticks);
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

Request with_bytes(uint64_t bytes, RequestKind kind) {
    Request content{};
    content.bytes = bytes;
    content.kind = kind;
    content.active = true;
    return content;
}

// Where several threads may be inside MPI at a time, and where not.
class Requests : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override { g_process.concurrent = GetParam(); }
    void TearDown() override { g_process.concurrent = true; }
};
INSTANTIATE_TEST_SUITE_P(Both, Requests, testing::Bool());

TEST_P(Requests, AreFoundUntilTheyAreDropped) {
    constexpr uintptr_t kMany = 50'000;  // several times the table's buckets
    for (uintptr_t i = 1; i <= kMany; ++i) {
        ASSERT_TRUE(
            add_request(i * 64, with_bytes(i, i % 2 == 0 ? kSendRequest : kReceiveRequest)));
    }
    for (uintptr_t i = 1; i <= kMany; ++i) {
        const FoundRequest found = find_request(i * 64);
        ASSERT_NE(found.entry, nullptr);
        EXPECT_EQ(found.copy.bytes, i);
        EXPECT_EQ(found.copy.kind, i % 2 == 0 ? kSendRequest : kReceiveRequest);
        if (i % 3 == 0) drop_request(found);
    }
    for (uintptr_t i = 1; i <= kMany; ++i) {
        EXPECT_EQ(find_request(i * 64).entry == nullptr, i % 3 == 0);
        if (i % 3 != 0) forget_request(i * 64);
    }
    EXPECT_EQ(find_request(64).entry, nullptr);
}

TEST_P(Requests, AReusedHandleBeginsAnew) {
    Request first = with_bytes(77, kSendRequest);
    first.persistent = true;
    ASSERT_TRUE(add_request(4096, first));
    ASSERT_TRUE(add_request(4096, with_bytes(5, kReceiveRequest)));
    const FoundRequest found = find_request(4096);
    EXPECT_EQ(found.copy.kind, kReceiveRequest);
    EXPECT_FALSE(found.copy.persistent);
    EXPECT_EQ(found.copy.bytes, 5u);
    forget_request(4096);
    EXPECT_EQ(find_request(4096).entry, nullptr);
}

long resident_pages() {
    long all = 0;
    long resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == nullptr || fscanf(file, "%ld %ld", &all, &resident) != 2) resident = -1;
    if (file != nullptr) fclose(file);
    return resident;
}

// Whatever lies between two handles; and those that come back take no more memory.
TEST_P(Requests, OfEveryStrideAreFoundInTheSameMemory) {
    long own_pages = 64;
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
    own_pages = 1'000'000;  // its shadow of the same memory comes bit by bit
#endif
#endif
    constexpr uintptr_t kMany = 20'000;
    for (const uintptr_t stride : {64ul, 704ul, 832ul, 4096ul, 65536ul}) {
        const uintptr_t base = (uintptr_t{0x7f00} << 32) + 16;
        long pages = 0;
        for (int round = 0; round < 3; ++round) {
            for (uintptr_t i = 0; i < kMany; ++i) {
                ASSERT_TRUE(add_request(base + i * stride, with_bytes(i, kSendRequest)));
            }
            if (round == 0) pages = resident_pages();
            for (uintptr_t i = 0; i < kMany; ++i) {
                const FoundRequest found = find_request(base + i * stride);
                ASSERT_NE(found.entry, nullptr);
                ASSERT_EQ(found.copy.bytes, i);
                drop_request(found);
            }
        }
        EXPECT_LT(resident_pages(), pages + own_pages) << stride;
    }
}

// Another request in the same 64 bytes would be another MPI's: it is not followed, and not
// mistaken.
TEST_P(Requests, TooCloseTogetherTheSecondIsLeftOut) {
    constexpr uintptr_t kFirst = 0x12340040;
    ASSERT_TRUE(add_request(kFirst, with_bytes(1, kSendRequest)));
    EXPECT_FALSE(add_request(kFirst + 8, with_bytes(2, kSendRequest)));
    EXPECT_EQ(find_request(kFirst + 8).entry, nullptr);
    EXPECT_EQ(find_request(kFirst).copy.bytes, 1u);
    EXPECT_FALSE(add_request(UINTPTR_MAX - 63, with_bytes(3, kSendRequest)));  // no address
    EXPECT_EQ(find_request(UINTPTR_MAX - 63).entry, nullptr);
    forget_request(kFirst);
    EXPECT_TRUE(add_request(kFirst + 8, with_bytes(2, kSendRequest)));
    forget_request(kFirst + 8);
}

// Their tables grow, page by page, at dwell's own cost.
TEST_F(Records, WhatManyRequestsTakeIsIntrusion) {
    const uint64_t before = t_thread->slow_ticks;
    constexpr uintptr_t kBase = uintptr_t{0x7e00} << 32;
    for (uintptr_t i = 0; i < 10'000; ++i) {
        ASSERT_TRUE(add_request(kBase + i * 704, with_bytes(i, kSendRequest)));
    }
    const uint64_t after = t_thread->slow_ticks;
    EXPECT_GT(after, before);
    for (uintptr_t i = 0; i < 10'000; ++i) forget_request(kBase + i * 704);
    for (uintptr_t i = 0; i < 10'000; ++i) {
        ASSERT_TRUE(add_request(kBase + i * 704, with_bytes(i, kSendRequest)));
    }
    EXPECT_EQ(t_thread->slow_ticks, after);  // all of it is there
    for (uintptr_t i = 0; i < 10'000; ++i) forget_request(kBase + i * 704);
}

// MPI may reuse a handle before the thread that completed it gets to drop it: the new one stays.
TEST_P(Requests, DroppingLateLeavesTheNextOne) {
    ASSERT_TRUE(add_request(8192, with_bytes(1, kSendRequest)));
    const FoundRequest completed = find_request(8192);
    ASSERT_TRUE(add_request(8192, with_bytes(2, kReceiveRequest)));
    drop_request(completed);
    const FoundRequest next = find_request(8192);
    ASSERT_NE(next.entry, nullptr);
    EXPECT_EQ(next.copy.bytes, 2u);
    drop_request(next);
    EXPECT_EQ(find_request(8192).entry, nullptr);
}

TEST(RequestsOfThreads, ShareTheTable) {
    std::vector<std::thread> threads;
    for (uintptr_t t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            for (int round = 0; round < 20; ++round) {
                for (uintptr_t i = 1; i <= 500; ++i)
                    add_request((t * 1000 + i) * 64, with_bytes(i, kSendRequest));
                for (uintptr_t i = 1; i <= 500; ++i) forget_request((t * 1000 + i) * 64);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (uintptr_t i = 1; i <= 4000; ++i) EXPECT_EQ(find_request(i * 64).entry, nullptr);
}

}  // namespace
}  // namespace dwell
