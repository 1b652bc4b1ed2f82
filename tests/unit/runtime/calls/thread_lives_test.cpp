// Records of threads: their time spans, their names, and the reuse of their records.
#include "runtime/calls/records.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "runtime/process/thread_names.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

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
    EXPECT_EQ(g_process.thread_count.load(), 2u);  // this one, and one for all others in succession
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

// A thread is observed from its first call, and making its record is slow work: all of its time is
// in a call, an interval or overhead. The second thread reuses the first one's record.
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
            const uint64_t span_begin = thread->last_ticks;
            const uint64_t attached = span_begin + thread->slow_overhead;
            EXPECT_GE(span_begin, before);
            EXPECT_GT(attached, span_begin);
            EXPECT_LE(attached, after);
            const ThreadRecord* const record = thread->record;
            EXPECT_TRUE(i != 0 || record->start_ticks == span_begin);
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
                      call.end_ticks - span_begin);
            EXPECT_LE(computed, call.start_ticks - attached);
            computed_before = interval->ticks;
            called_before = node->ticks;
        }).join();
    }
    EXPECT_EQ(g_process.thread_count.load(), 2u);
    g_process.free_threads = nullptr;
}

// A span ends with the thread, or earlier at a pause, and contains no pause. A thread without calls
// has no span.
TEST_F(Records, SpansOfThreadsThatCallAreCounted) {
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
            if (how == 'o') {  // a pause that the thread has not noticed
                live_.paused_ticks += 800'000;
                live_.resumed_ticks = now_ticks() + 800'000;
                live_.epoch += 1;
            }
            if (how == 'p') {
                live_.pause_start = now_ticks();
                live_.paused = 1;
                to = live_.pause_start - record->intrusion_ticks - t_thread->slow_overhead;
            } else {
                to = now_ticks() - record->intrusion_ticks - t_thread->slow_overhead;
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
            EXPECT_GE(record->span_ticks - lived, to - from + 1'000'000 - paused);
            EXPECT_LE(record->span_ticks - lived, now_ticks() - from - paused);
        } else {
            EXPECT_EQ(record->span_ticks - lived, to - from);
        }
        lived = record->span_ticks;
    }
    EXPECT_EQ(t_thread->record->span_ticks, 0u);  // the first thread's span is that of the process
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

TEST_F(Records, RunningThreadsKeepTheirNameAtTheProcessEnd) {
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

TEST_F(Records, RunningThreadsAreReadAtTheEnd) {
    std::atomic<int> step{0};
    std::thread other([&step] {
        attach_thread();
        t_thread->record->intrusion_ticks = 300;
        t_thread->slow_overhead = 40;
        step = 1;
        while (step != 2) std::this_thread::yield();
        t_thread->in_tool.begin();
        step = 3;
        while (step != 4) std::this_thread::yield();
        t_thread->in_tool.end();
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

TEST(ThreadNames, HaveTheCommonBeginning) {
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

}  // namespace
}  // namespace dwell
