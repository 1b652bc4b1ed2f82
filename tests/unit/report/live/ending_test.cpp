// Who was where when a job died, out of record files whose content is known.
#include "report/live/ending.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

// Ranks of a job that ended at the same time, ten seconds after their start.
class Ending : public testing::Test {
  protected:
    // Calls `call` at `entered_s`; null: computes after a barrier.
    RecordFile& rank(const char* call, uint64_t entered_s, int32_t peer = kAnyRank) {
        constexpr uint64_t kWorld = 100;  // a handle
        const int number = static_cast<int>(files_.size());
        RecordFile& file = files_.emplace_back(number, kRanks);
        file.header().state = FileState::kRunning;
        file.header().start_ticks = kTicks;
        file.header().start_unix_ns = 1'700'000'000'000'000'000;
        file.header().death_ticks = 11 * kTicks;
        file.add_module(1, "/home/u/app", std::string(20, 'b'));
        const CellIndex root = file.add_thread(0, {});
        file.last_thread().last_ticks = 2 * kTicks;
        const bool entered = call != nullptr && peer == kAnyRank;
        file.add_comm(kWorld, kWorldId, number, kRanks, entered ? 1 : 0);
        const CellIndex node =
            file.add_communication(root, 1, 0x200, call != nullptr ? call : "MPI_Barrier", {});
        if (call != nullptr) {
            file.open_call(node, entered_s * kTicks, kWorld, peer, 7);
        } else {
            file.last_thread().open.node = node;
        }
        return file;
    }
    std::string ending() {
        Merged merged;
        for (RecordFile& file : files_) {
            EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        }
        return ending_of("/nowhere", merged);
    }

    static constexpr uint32_t kRanks = 3;
    static constexpr uint64_t kTicks = 1'000'000'000;
    std::deque<RecordFile> files_;
};

TEST_F(Ending, NamesWhoWaitsForWhomAndHowLong) {
    rank("MPI_Allreduce", 5);
    rank("MPI_Recv", 4, 0);
    rank("MPI_Allreduce", 8);
    const std::string text = ending();
    EXPECT_EQ(text.rfind("Nobody could go on: rank 1 waits for rank 0 in MPI_Recv", 0), 0u) << text;
    EXPECT_NE(text.find("; ranks 0,2 wait for rank 1 in MPI_Allreduce"), std::string::npos) << text;
    EXPECT_NE(text.find(", for the last 3.00 s."), std::string::npos) << text;
}

TEST_F(Ending, ARankThatComputedIsNamed) {
    rank("MPI_Allreduce", 5);
    rank(nullptr, 0);
    rank("MPI_Allreduce", 8);
    const std::string text = ending();
    EXPECT_EQ(text.rfind("At the end rank 1 computed after MPI_Barrier", 0), 0u) << text;
    EXPECT_NE(text.find("; ranks 0,2 wait for rank 1 in MPI_Allreduce"), std::string::npos) << text;
}

// Killed while messages were under way: each waits for the other, but not for long.
TEST_F(Ending, ShortWaitsAreNoDeadlock) {
    rank("MPI_Recv", 10, 1).last_thread().open.entry_ticks += 990'000'000;
    rank("MPI_Recv", 10, 0).last_thread().open.entry_ticks += 950'000'000;
    const std::string text = ending();
    EXPECT_EQ(text.rfind("At the end rank 0 waits for rank 1 in MPI_Recv", 0), 0u) << text;
}

// Who left early cannot release the others.
TEST_F(Ending, WhoHadEndedBeforeIsNamed) {
    rank("MPI_Recv", 5, 1);
    rank(nullptr, 0).header().state = FileState::kExited;
    rank("MPI_Recv", 6, 1);
    const std::string text = ending();
    EXPECT_EQ(text.rfind("Nobody could go on: ranks 0,2 wait for rank 1 in MPI_Recv", 0), 0u)
        << text;
    EXPECT_NE(text.find("; rank 1 had ended before"), std::string::npos) << text;
}

TEST_F(Ending, IsEmptyWhereAllFinishedOrTheEndIsUnknown) {
    rank("MPI_Recv", 5, 1).header().death_ticks = 0;
    EXPECT_EQ(ending(), "");
    files_[0].header().state = FileState::kFinalized;
    EXPECT_EQ(ending(), "");
}

}  // namespace
}  // namespace dwell
