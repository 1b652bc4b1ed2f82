// The table of requests: all threads find requests by their handles until they are dropped.
#include "runtime/calls/records.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/measure/processor_time.h"
#include "runtime/mpi/requests.h"
#include "runtime/wrappers/mpi_semantics.h"
#include "tests/unit/support/recording.h"
#include "tests/unit/support/thread_sanitizer.h"

namespace dwell {
namespace {

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
            add_request(i * 64, with_bytes(i, i % 2 == 0 ? kSendRequest : kReceiveRequest), {}));
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
    ASSERT_TRUE(add_request(4096, first, {}));
    ASSERT_TRUE(add_request(4096, with_bytes(5, kReceiveRequest), {}));
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

// For any distance of handles; reused handles take no more memory.
TEST_P(Requests, OfEveryStrideAreFoundInTheSameMemory) {
    // The sanitizer's shadow memory grows step by step.
    constexpr long kOwnPages = kThreadSanitizer ? 1'000'000 : 64;
    constexpr uintptr_t kMany = 20'000;
    for (const uintptr_t stride : {64ul, 704ul, 832ul, 4096ul, 65536ul}) {
        const uintptr_t base = (uintptr_t{0x7f00} << 32) + 16;
        long pages = 0;
        for (int round = 0; round < 3; ++round) {
            for (uintptr_t i = 0; i < kMany; ++i) {
                ASSERT_TRUE(add_request(base + i * stride, with_bytes(i, kSendRequest), {}));
            }
            if (round == 0) pages = resident_pages();
            for (uintptr_t i = 0; i < kMany; ++i) {
                const FoundRequest found = find_request(base + i * stride);
                ASSERT_NE(found.entry, nullptr);
                ASSERT_EQ(found.copy.bytes, i);
                drop_request(found);
            }
        }
        EXPECT_LT(resident_pages(), pages + kOwnPages) << stride;
    }
}

// Another request in the same 64 bytes belongs to another MPI library: it is neither followed nor
// confused.
TEST_P(Requests, TooCloseTogetherTheSecondIsLeftOut) {
    constexpr uintptr_t kFirst = 0x12340040;
    ASSERT_TRUE(add_request(kFirst, with_bytes(1, kSendRequest), {}));
    EXPECT_FALSE(add_request(kFirst + 8, with_bytes(2, kSendRequest), {}));
    EXPECT_EQ(find_request(kFirst + 8).entry, nullptr);
    EXPECT_EQ(find_request(kFirst).copy.bytes, 1u);
    EXPECT_FALSE(add_request(UINTPTR_MAX - 63, with_bytes(3, kSendRequest), {}));  // no address
    EXPECT_EQ(find_request(UINTPTR_MAX - 63).entry, nullptr);
    forget_request(kFirst);
    EXPECT_TRUE(add_request(kFirst + 8, with_bytes(2, kSendRequest), {}));
    forget_request(kFirst + 8);
}

// The growth of the tables counts as overhead.
TEST_F(Records, CostOfManyRequestsIsOverhead) {
    const uint64_t before = t_thread->slow_overhead;
    constexpr uintptr_t kBase = uintptr_t{0x7e00} << 32;
    for (uintptr_t i = 0; i < 10'000; ++i) {
        ASSERT_TRUE(add_request(kBase + i * 704, with_bytes(i, kSendRequest), {}));
    }
    const uint64_t after = t_thread->slow_overhead;
    EXPECT_GT(after, before);
    for (uintptr_t i = 0; i < 10'000; ++i) forget_request(kBase + i * 704);
    for (uintptr_t i = 0; i < 10'000; ++i) {
        ASSERT_TRUE(add_request(kBase + i * 704, with_bytes(i, kSendRequest), {}));
    }
    EXPECT_EQ(t_thread->slow_overhead, after);  // all of it is there
    for (uintptr_t i = 0; i < 10'000; ++i) forget_request(kBase + i * 704);
}

// MPI may reuse a handle before the thread that completed it drops it: the new request stays.
TEST_P(Requests, DroppingLateLeavesTheNextOne) {
    ASSERT_TRUE(add_request(8192, with_bytes(1, kSendRequest), {}));
    const FoundRequest completed = find_request(8192);
    ASSERT_TRUE(add_request(8192, with_bytes(2, kReceiveRequest), {}));
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
                    add_request((t * 1000 + i) * 64, with_bytes(i, kSendRequest), {});
                for (uintptr_t i = 1; i <= 500; ++i) forget_request((t * 1000 + i) * 64);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (uintptr_t i = 1; i <= 4000; ++i) EXPECT_EQ(find_request(i * 64).entry, nullptr);
}

}  // namespace
}  // namespace dwell
