// What a reader of the record file sees of calls and requests while the process goes on.
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/mpi/requests.h"
#include "summarize/merge/merged.h"
#include "tests/unit/support/recording.h"
#include "tests/unit/support/thread_sanitizer.h"

namespace dwell {
namespace {

class OpenPlaces : public Records {
  protected:
    Merged read() const {
        Merged merged;
        const size_t bytes = size_t{g_process.header->cells_used} * kCellBytes;
        EXPECT_TRUE(add_places(&merged, g_process.cells, bytes));
        return merged;
    }
    void SetUp() override {
        Records::SetUp();
        g_process.header->header_cells = kHeaderCells;
        g_process.header->magic = kRecordMagic;
        g_process.header->version = kRecordLayoutVersion;
        g_process.header->ticks_per_second = 1'000'000'000;
        g_process.header->world_size = 1;
        g_process.header->state = FileState::kRunning;
    }
};

Request receive_request() {
    Request content{};
    content.kind = kReceiveRequest;
    content.active = true;
    return content;
}

TEST_F(OpenPlaces, HoldWhomACallWaitsFor) {
    Call call;
    ASSERT_TRUE(begin(&call, MpiCall::kRecv, 100));
    expect_rank(&call, 77, 3, 9);
    start(&call);
    const Merged merged = read();
    ASSERT_EQ(merged.open.size(), 1u);
    EXPECT_TRUE(merged.open[0].is_in_call);
    EXPECT_EQ(merged.open[0].handle, 77u);
    EXPECT_EQ(merged.open[0].peer, 3);
    EXPECT_EQ(merged.open[0].tag, 9);
    end(&call, call.start_ticks, now_ticks());
    EXPECT_FALSE(read().open[0].is_in_call);
}

// The process makes calls as fast as it can; a reader never sees parts of two of them.
TEST_F(OpenPlaces, AreOfOneCall) {
    if (kThreadSanitizer) GTEST_SKIP() << "records are read while they change";
    g_process.header->start_ticks = 0;
    std::atomic<bool> ends{false};
    std::atomic<int> seen{0};
    std::thread reader([&] {
        while (!ends) {
            const Merged merged = read();
            for (const MergedOpen& at : merged.open) {
                if (!at.is_in_call) continue;
                ++seen;
                EXPECT_EQ(at.handle, static_cast<uint64_t>(at.peer));
                EXPECT_EQ(at.tag, at.peer);
                EXPECT_EQ(at.destination, at.peer);
            }
        }
    });
    for (int k = 1; k < 2'000'000 && (k < 100'000 || seen < 1000); ++k) {
        Call call;
        ASSERT_TRUE(begin(&call, MpiCall::kSendrecv, 100 + 8 * (k % 4)));
        expect_ranks(&call, static_cast<uintptr_t>(k), k, k, k);
        start(&call);
        end(&call, call.start_ticks, now_ticks());
    }
    ends = true;
    reader.join();
    EXPECT_GT(seen, 0);
}

TEST_F(OpenPlaces, HoldActiveRequests) {
    g_process.concurrent = false;
    ASSERT_TRUE(add_request(64, receive_request(), shown_request(77, 3, 9)));
    Request inactive = receive_request();
    inactive.active = false;
    ASSERT_TRUE(add_request(128, inactive, shown_request(77, 4, 9)));
    const Merged merged = read();
    ASSERT_EQ(merged.open_requests.size(), 1u);
    EXPECT_EQ(merged.open_requests[0].handle, 64u);
    EXPECT_EQ(merged.open_requests[0].comm, 77u);
    EXPECT_EQ(merged.open_requests[0].peer, 3);
    EXPECT_EQ(merged.open_requests[0].tag, 9);
    EXPECT_EQ(merged.open_requests[0].awaited, kNotAwaited);
    set_awaited(find_request(64), kAwaited);
    EXPECT_EQ(read().open_requests[0].awaited, kAwaited);
    EXPECT_EQ(read().open_requests[0].peer, 3);
    forget_request(64);
    forget_request(128);
    EXPECT_EQ(read().open_requests.size(), 0u);
    g_process.concurrent = true;
}

// Beyond 1 MiB of the record file they are kept elsewhere, and the file says so.
TEST_F(OpenPlaces, OfVeryManyRequestsSayThatSomeAreMissing) {
    constexpr uintptr_t kMany = 30'000;
    for (uintptr_t i = 1; i <= kMany; ++i) {
        ASSERT_TRUE(add_request(i * 64, receive_request(), shown_request(0, 1, 1)));
    }
    const Merged merged = read();
    ASSERT_EQ(merged.processes.size(), 1u);
    EXPECT_GT(merged.processes[0].requests_unseen, 0u);
    EXPECT_EQ(merged.open_requests.size(), kRequestsShown);
    for (uintptr_t i = 1; i <= kMany; ++i) forget_request(i * 64);
    EXPECT_EQ(read().open_requests.size(), 0u);
}

}  // namespace
}  // namespace dwell
