// Where threads are, out of a record file that its process changes meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "summarize/merge/merged.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

constexpr uint64_t kEpoch = 1'000;  // start_ticks; one tick is a nanosecond

template <typename T>
void store(T* field, T value) {
    __atomic_store_n(field, value, __ATOMIC_RELEASE);
}

// A process in which one thread goes from statement to statement; everything that belongs to the
// k-th is k.
class ChangingRecords : public testing::Test {
  protected:
    ChangingRecords() : file_(0, 1) {
        file_.header().state = FileState::kRunning;
        file_.header().start_ticks = kEpoch;
        file_.header().start_unix_ns = 0;
        const CellIndex root = file_.add_thread(0, {});
        for (uint64_t i = 0; i < kNodes; ++i) {
            nodes_[i] = file_.add_communication(root, 0, i, "MPI_Recv", {});
        }
        for (uint64_t i = 0; i < kEntries; ++i) file_.add_request(0, kReceiveRequest, 0, 0, 0);
    }

    // Calls `change` of 1, 2, 3 … in a thread of its own while `look` reads.
    template <typename Change, typename Look>
    void while_changing(Change change, Look look) {
        std::thread writer([&] {
            for (uint64_t k = 1; !ends_; ++k) change(k);
        });
        for (int i = 0; i < 200'000; ++i) {
            Merged merged;
            EXPECT_TRUE(add_places(&merged, file_.data(), file_.bytes()));
            look(merged);
            ++readings_;
            if (HasFailure()) break;
        }
        ends_ = true;
        writer.join();
    }
    // Every 1024th change stays for a whole reading, which must find it.
    void stay(uint64_t k) const {
        const uint64_t begun = readings_;
        while (k % 1024 == 0 && !ends_ && readings_ < begun + 2) std::this_thread::yield();
    }

    static constexpr uint64_t kNodes = 64;
    static constexpr uint64_t kEntries = 4;
    static constexpr uint64_t kHandle = 64;
    RecordFile file_;
    CellIndex nodes_[kNodes];
    std::atomic<bool> ends_{false};
    std::atomic<uint64_t> readings_{0};
};

// In the order of enter(), expect_…(), start() and leave().
TEST_F(ChangingRecords, OfOneStatementStayTogether) {
    ThreadRecord& thread = file_.last_thread();
    size_t open = 0;
    while_changing(
        [&](uint64_t k) {
            const auto number = static_cast<int32_t>(k & 0x7fffffff);
            store(&thread.open_depth, 1u);
            store(&thread.open.node, nodes_[k % kNodes]);
            store(&thread.open.handle, k);
            store(&thread.open.peer, number);
            store(&thread.open.tag, number);
            store(&thread.open.destination, number);
            store(&thread.open.requests, static_cast<uint32_t>(number));
            store(&thread.open.entry_ticks, kEpoch + 2 * k);
            stay(k);
            store(&thread.last_ticks, kEpoch + 2 * k + 1);
            store(&thread.open_depth, 0u);
        },
        [&](const Merged& merged) {
            ASSERT_EQ(merged.open.size(), 1u);
            const MergedOpen& at = merged.open[0];
            const auto since = static_cast<uint64_t>(at.since_unix_ns);
            if (at.statement == kNoNode) return;  // between two statements
            const uint64_t node = merged.nodes[at.statement].offset;
            if (!at.is_in_call) {
                EXPECT_EQ(node, (since - 1) / 2 % kNodes);
                return;
            }
            ++open;
            EXPECT_EQ(since, 2 * at.handle);
            EXPECT_EQ(node, at.handle % kNodes);
            const auto number = static_cast<int32_t>(at.handle & 0x7fffffff);
            EXPECT_EQ(at.peer, number);
            EXPECT_EQ(at.tag, number);
            EXPECT_EQ(at.destination, number);
            EXPECT_EQ(at.requests, static_cast<uint32_t>(number));
        });
    EXPECT_GT(open, 0u);
}

// In the order of add_request(), also where MPI used a handle again before its request was dropped.
TEST_F(ChangingRecords, OfOneRequestStayTogether) {
    auto* record = &file_.at<RequestRecord>(file_.header().first_requests + 1);
    const auto grow = [record] { store(&record->generation, record->generation + 2); };
    size_t found = 0;
    while_changing(
        [&](uint64_t k) {
            const auto number = static_cast<int32_t>(k & 0xffff);
            store(&record->handle, uint64_t{0});
            if (k % 3 == 0) grow();  // it was dropped
            store(&record->kind, static_cast<uint8_t>(k % 2 + 1));
            store(&record->active, uint8_t{1});
            const ShownRequest shown = shown_request(k, number, number);
            store(&record->shown.comm, shown.comm);
            store(&record->shown.peer_awaited, shown.peer_awaited);
            store(&record->shown.tag, shown.tag);
            grow();
            __builtin_ia32_pause();
            store(&record->handle, kHandle);
            stay(k);
        },
        [&](const Merged& merged) {
            for (const MergedRequest& request : merged.open_requests) {
                ++found;
                EXPECT_EQ(request.handle, kHandle);
                EXPECT_EQ(request.kind, request.comm % 2 + 1);
                EXPECT_EQ(request.peer, static_cast<int32_t>(request.comm & 0xffff));
                EXPECT_EQ(request.tag, request.peer);
            }
        });
    EXPECT_GT(found, 0u);
}

TEST(RecordPlaces, HaveOnlyNodesOfOpenPaths) {
    RecordFile file(0, 2);
    file.add_module(1, "/bin/app", std::string(20, 'b'));
    const CellIndex root = file.add_thread(0, {});
    const CellIndex main = file.add_call(root, 1, 0x10, {});
    for (uint64_t i = 0; i < 100; ++i) file.add_communication(main, 1, 0x100 + i, "MPI_Send", {});
    const CellIndex open = file.add_communication(main, 1, 0x20, "MPI_Recv", {});
    file.open_call(open, 500, 1, 1, 7);
    Merged merged;
    ASSERT_TRUE(add_places(&merged, file.data(), file.bytes()));
    EXPECT_EQ(merged.nodes.size(), 3u);
    EXPECT_EQ(merged.nodes[merged.open[0].statement].offset, 0x20u);
    EXPECT_EQ(merged.nodes[merged.nodes[merged.open[0].statement].parent].offset, 0x10u);
    EXPECT_EQ(merged.modules[merged.nodes[merged.open[0].statement].module].build_id[0], 'b');
}

TEST(RecordPlaces, OfADamagedPathAreLeftOut) {
    RecordFile file(0, 2);
    const CellIndex root = file.add_thread(0, {});
    const CellIndex one = file.add_call(root, 0, 0x10, {});
    const CellIndex open = file.add_communication(one, 0, 0x20, "MPI_Recv", {});
    file.at<Node>(one).parent = open;  // a circle
    file.open_call(open, 500, 1, 1, 7);
    Merged merged;
    EXPECT_TRUE(add_places(&merged, file.data(), file.bytes()));
    EXPECT_FALSE(merged.open[0].is_in_call);
}

TEST(RecordPlaces, OfAnOlderLayoutAreNotRead) {
    RecordFile file(0, 2);
    file.header().version = kRecordLayoutVersion - 1;
    Merged merged;
    EXPECT_FALSE(add_places(&merged, file.data(), file.bytes()));
}

// Outside of MPI: the innermost of the open procedures, since when it is open in real time.
TEST(RecordPlaces, AreInTheInnermostProcedure) {
    RecordFile file(0, 2);
    file.header().state = FileState::kRunning;
    const CellIndex root = file.add_thread(0, {});
    const CellIndex outer = file.add_probe(root, SiteKind::kProcedure, 0, 0x10, {});
    const CellIndex inner = file.add_probe(outer, SiteKind::kOpenMp, 0, 0x20, {});
    file.open_probe(outer, 100);
    file.open_probe(inner, 200);
    file.last_thread().last_ticks = 90;
    file.last_thread().intrusion_ticks = 7;
    Merged merged;
    ASSERT_TRUE(add_places(&merged, file.data(), file.bytes()));
    ASSERT_EQ(merged.open.size(), 1u);
    EXPECT_FALSE(merged.open[0].is_in_call);
    EXPECT_EQ(merged.nodes[merged.open[0].node].offset, 0x20u);
    EXPECT_EQ(merged.open[0].probe_unix_ns, 207);
    EXPECT_EQ(merged.open[0].since_unix_ns, 90);
}

TEST(RecordPlaces, HoldLocks) {
    RecordFile file(0, 2);
    const CellIndex root = file.add_thread(3, {});
    const CellIndex lock = file.add_communication(root, 0, 0x20, "MPI_Win_lock", {});
    file.header().state = FileState::kRunning;
    file.last_thread().held[1] = {77, 0, lock, 5};
    file.last_thread().wanted = {88, 0x1234, 0, 0, 0};
    Merged merged;
    ASSERT_TRUE(add_places(&merged, file.data(), file.bytes()));
    ASSERT_EQ(merged.open_locks.size(), 2u);
    EXPECT_FALSE(merged.open_locks[0].held);
    EXPECT_EQ(merged.open_locks[0].what, 88u);
    EXPECT_TRUE(merged.open_locks[1].held);
    EXPECT_EQ(merged.open_locks[1].target, 5);
    EXPECT_EQ(merged.nodes[merged.open_locks[1].node].offset, 0x20u);
}

// The same places come out of a file that is read with its figures.
TEST(RecordPlaces, AreInARecordFileReadWhole) {
    RecordFile file(0, 2);
    const CellIndex root = file.add_thread(0, {});
    const CellIndex main = file.add_call(root, 0, 0x10, {});
    file.open_call(file.add_communication(main, 0, 0x20, "MPI_Recv", {}), 500, 9, 1, 7);
    file.add_comm(9, 99, 0, 2, 4);
    file.add_request(64, kSendRequest, 9, 1, 7);
    Merged whole;
    ASSERT_TRUE(add_record_file(&whole, file.data(), file.bytes()));
    ASSERT_EQ(whole.open.size(), 1u);
    EXPECT_TRUE(whole.open[0].is_in_call);
    EXPECT_EQ(whole.nodes[whole.open[0].statement].offset, 0x20u);
    EXPECT_EQ(whole.open_comms[0].entered, 4u);
    EXPECT_EQ(whole.open_requests[0].tag, 7);
    EXPECT_EQ(whole.processes[0].requests, 1u);
}

}  // namespace
}  // namespace dwell
