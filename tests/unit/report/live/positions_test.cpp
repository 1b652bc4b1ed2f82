// Whom threads wait for, out of record files whose content is known.
#include "report/live/positions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>

#include "runtime/contract/omp_constructs.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

constexpr uint64_t kWorld = 100;  // a handle
constexpr uint64_t kSecond = 1'000'000'000;

class WherePositions : public testing::Test {
  protected:
    // A rank of MPI_COMM_WORLD that has entered so many collectives of it.
    RecordFile& rank(int world_size, uint32_t entered = 1) {
        const int number = static_cast<int>(files_.size());
        RecordFile& file = files_.emplace_back(number, world_size);
        file.header().state = FileState::kRunning;
        file.header().pid = getpid();
        file.run_here();
        file.header().start_ticks = kSecond;
        file.header().start_unix_ns = 1'700'000'000 * int64_t{kSecond};
        file.add_module(1, "/home/u/app", std::string(20, 'b'));
        root_ = file.add_thread(0, {});
        file.last_thread().tid = getpid();
        file.last_thread().start_ticks = file.last_thread().last_ticks = kSecond;
        file.add_comm(kWorld, kWorldId, number, static_cast<uint32_t>(world_size), entered);
        return file;
    }
    OpenCall& in(RecordFile* file, const char* call, int32_t peer = kAnyRank, int32_t tag = 0,
                 uint64_t comm = kWorld) {
        const CellIndex main = file->add_call(root_, 1, 0x100, {});
        const CellIndex node = file->add_communication(main, 1, 0x200, call, {});
        return file->open_call(node, 3 * kSecond, comm, peer, tag);
    }
    Positions read(const Positions* before = nullptr) {
        Merged merged;
        for (RecordFile& file : files_) EXPECT_TRUE(add_places(&merged, file.data(), file.bytes()));
        return positions_of(merged, before, &lines_);
    }
    std::set<uint32_t> stuck(const Positions& positions) {
        return stuck_ranks(waits_of(positions), positions.gone);
    }

    std::deque<RecordFile> files_;
    CellIndex root_ = 0;
    KnownLines lines_;
};

using Numbers = std::vector<uint32_t>;

TEST_F(WherePositions, SayTheStatementAndItsTime) {
    in(&rank(2), "MPI_Recv", 1, 7);
    const Position at = read().threads.at(0);
    EXPECT_TRUE(at.is_in_call);
    EXPECT_EQ(at.since_unix_ns, 1'700'000'002 * int64_t{kSecond});
    EXPECT_EQ(at.path.back().substr(0, 8), "MPI_Recv");
    EXPECT_EQ(at.partner, "rank 1, tag 7");
    EXPECT_EQ(at.waits.ranks, Numbers{1});
}

TEST_F(WherePositions, OfAReceiveOfAnyRankNeedOneOfTheOthers) {
    in(&rank(3), "MPI_Recv", kAnyRank, kAnyTag);
    rank(3);
    rank(3);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.partner, "any rank, any tag");
    EXPECT_EQ(at.waits.needs, Needs::kAny);
    EXPECT_EQ(at.waits.ranks, (Numbers{1, 2}));
}

TEST_F(WherePositions, OfASubcommunicatorAreOfTheWorld) {
    RecordFile& first = rank(3);
    first.add_comm(200, 42, 0, 2);
    in(&first, "MPI_Recv", 1, 7, 200);
    rank(3);
    rank(3).add_comm(300, 42, 1, 2);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.waits.ranks, Numbers{2});
    EXPECT_EQ(at.partner, "rank 2, tag 7, in a communicator of ranks 0,2");
}

TEST_F(WherePositions, WaitForMembersThatHaveNotCome) {
    in(&rank(3, 5), "MPI_Allreduce");
    in(&rank(3, 5), "MPI_Allreduce");
    in(&rank(3, 4), "MPI_Recv", 0, 1);
    const Positions positions = read();
    EXPECT_EQ(positions.threads.at(0).partner, "rank 2, which has not come");
    EXPECT_EQ(positions.threads.at(0).waits.ranks, Numbers{2});
    EXPECT_EQ(stuck(positions), (std::set<uint32_t>{0, 1, 2}));
}

// The root of a broadcast leaves it before others have come.
TEST_F(WherePositions, AMemberThatHasLeftAgainHasCome) {
    in(&rank(3, 6), "MPI_Recv", 1, 1);  // the root, in the next phase
    in(&rank(3, 5), "MPI_Bcast", 0);
    in(&rank(3, 4), "MPI_Recv", 0, 1);
    const Positions positions = read();
    EXPECT_EQ(positions.threads.at(1).partner, "rank 2, which has not come");
    EXPECT_EQ(positions.threads.at(1).waits.ranks, Numbers{2});
}

TEST_F(WherePositions, NameAnotherCollective) {
    in(&rank(2, 5), "MPI_Allreduce");
    in(&rank(2, 5), "MPI_Barrier");
    EXPECT_EQ(read().threads.at(0).partner, "rank 1, which is in MPI_Barrier instead");
}

TEST_F(WherePositions, NameAnotherRoot) {
    in(&rank(3, 5), "MPI_Bcast", 0);
    in(&rank(3, 5), "MPI_Bcast", 1);
    in(&rank(3, 5), "MPI_Bcast", 1);
    const Positions positions = read();
    EXPECT_EQ(positions.threads.at(0).partner,
              "ranks 1,2, which are in MPI_Bcast with root 1 instead");
    EXPECT_EQ(positions.threads.at(2).partner, "rank 0, which is in MPI_Bcast with root 0 instead");
    EXPECT_EQ(stuck(positions), (std::set<uint32_t>{0, 1, 2}));
}

TEST_F(WherePositions, NameTheRequestOfAWait) {
    RecordFile& file = rank(2);
    in(&file, "MPI_Wait").requests = 1;
    file.last_thread().open.request = 4096;
    file.add_request(4096, kReceiveRequest, kWorld, 1, 7);
    file.add_request(8192, kSendRequest, kWorld, 1, 8);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.requests, std::vector<std::string>{"receive from rank 1, tag 7"});
    EXPECT_EQ(at.waits.ranks, Numbers{1});
    EXPECT_EQ(at.waits.needs, Needs::kAll);
}

TEST_F(WherePositions, OfANonblockingCollectiveWaitForMembersThatHaveNotCome) {
    for (const uint32_t entered : {6, 5}) {  // rank 0 has begun another one since
        RecordFile& file = rank(4, entered);
        in(&file, "MPI_Wait").requests = 1;
        file.last_thread().open.request = 4096;
        file.add_request(4096, kCollectiveRequest, kWorld, call_number("MPI_Iallreduce"), 5);
    }
    in(&rank(4, 4), "MPI_Recv", 0, 1);
    in(&rank(4, 5), "MPI_Barrier");
    Positions positions = read();
    for (const size_t waiting : {0, 1}) {
        const Position& at = positions.threads.at(waiting);
        EXPECT_EQ(at.requests, std::vector<std::string>{
                                   "MPI_Iallreduce with rank 3, which is in MPI_Barrier instead"});
        EXPECT_EQ(at.waits.ranks, Numbers{3});
    }
    files_.at(3).header().state = FileState::kExited;
    positions = read();
    EXPECT_EQ(positions.threads.at(1).waits.ranks, (Numbers{2, 3}));
    EXPECT_EQ(positions.threads.at(1).waits.needs, Needs::kAll);
    EXPECT_EQ(stuck(positions), (std::set<uint32_t>{0, 1, 2}));
}

TEST_F(WherePositions, NameAnotherNonblockingCollective) {
    for (const char* call : {"MPI_Iallreduce", "MPI_Ibcast"}) {
        RecordFile& file = rank(2, 5);
        in(&file, "MPI_Wait").requests = 1;
        file.last_thread().open.request = 4096;
        file.add_request(4096, kCollectiveRequest, kWorld, call_number(call), 5);
    }
    const Positions positions = read();
    EXPECT_EQ(
        positions.threads.at(0).requests,
        std::vector<std::string>{"MPI_Iallreduce with rank 1, which is in MPI_Ibcast instead"});
    EXPECT_EQ(positions.threads.at(1).waits.ranks, Numbers{0});
    EXPECT_EQ(stuck(positions), (std::set<uint32_t>{0, 1}));
}

TEST_F(WherePositions, OfANonblockingBroadcastMayNeedOneOfThoseThatAreMissing) {
    RecordFile& file = rank(3, 5);
    in(&file, "MPI_Wait").requests = 1;
    file.last_thread().open.request = 4096;
    file.add_request(4096, kCollectiveRequest, kWorld, call_number("MPI_Ibcast"), 5);
    rank(3, 4);
    rank(3, 4);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.waits.ranks, (Numbers{1, 2}));
    EXPECT_EQ(at.waits.needs, Needs::kAny);
}

TEST_F(WherePositions, OfANeighbourhoodMayNeedOneOfThoseThatAreMissing) {
    in(&rank(3, 5), "MPI_Neighbor_alltoall");
    rank(3, 4);
    rank(3, 4);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.waits.ranks, (Numbers{1, 2}));
    EXPECT_EQ(at.waits.needs, Needs::kAny);
}

TEST_F(WherePositions, WithoutProgressWaitWhereTheyPoll) {
    for (const char* call : {"MPI_Test", "MPI_Iprobe"}) {
        files_.clear();
        RecordFile& file = rank(2);
        in(&file, call);
        file.last_thread().open_depth = 0;  // between two polls
        file.last_thread().last_ticks = 4 * kSecond;
        file.add_request(4096, kReceiveRequest, kWorld, 1, 7);
        EXPECT_FALSE(read().threads.at(0).is_in_call);
        Merged merged;
        ASSERT_TRUE(add_places(&merged, file.data(), file.bytes()));
        const Positions still = positions_without_progress(merged, 2 * int64_t{kSecond});
        const Position& at = still.threads.at(0);
        ASSERT_TRUE(at.is_in_call);
        EXPECT_EQ(at.path.back().substr(0, 8), std::string(call).substr(0, 8));
        const bool tests = std::string(call) == "MPI_Test";
        EXPECT_EQ(at.partner, tests ? "1 request" : "");
        EXPECT_EQ(at.waits.ranks, tests ? Numbers{1} : Numbers{});
    }
}

TEST_F(WherePositions, NameTheRequestsThatWaitallFoundIncomplete) {
    RecordFile& file = rank(3);
    in(&file, "MPI_Waitall").requests = 3;
    set_awaited(&file.add_request(64, kReceiveRequest, kWorld, 1, 1).shown, kWasComplete);
    set_awaited(&file.add_request(128, kReceiveRequest, kWorld, 2, 2).shown, kAwaited);
    set_awaited(&file.add_request(192, kSendRequest, kWorld, 1, 3).shown, kAwaited);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.pending, 2u);
    EXPECT_EQ(at.partner, "3 requests, 2 of them pending");
    EXPECT_EQ(std::set<std::string>(at.requests.begin(), at.requests.end()),
              (std::set<std::string>{"receive from rank 2, tag 2", "send to rank 1, tag 3"}));
    EXPECT_EQ(at.waits.needs, Needs::kAny);
}

TEST_F(WherePositions, NameAtMostEightRequests) {
    RecordFile& file = rank(2);
    in(&file, "MPI_Waitany").requests = 20;
    for (uint64_t i = 1; i <= 20; ++i) file.add_request(64 * i, kReceiveRequest, kWorld, 1, 1);
    const Position at = read().threads.at(0);
    EXPECT_EQ(at.requests.size(), 8u);
    EXPECT_EQ(at.pending, 20u);
}

TEST_F(WherePositions, LeaveOutMatchedMessages) {
    RecordFile& file = rank(2);
    in(&file, "MPI_Waitany").requests = 1;
    file.add_request(64, kReceiveRequest, kWorld, 1, 1);
    file.add_request(128, kMessageHandle, kWorld, 1, 2);
    EXPECT_EQ(read().threads.at(0).pending, 1u);
}

TEST_F(WherePositions, AreNotKnownWhileRecordingIsOff) {
    rank(1).header().paused_since = 1;
    EXPECT_TRUE(read().threads.at(0).paused);
}

TEST_F(WherePositions, SayWhereNotAllRequestsAreKnown) {
    RecordFile& file = rank(2);
    in(&file, "MPI_Waitall").requests = 20;
    file.header().requests_unseen = 64;
    file.add_request(64, kReceiveRequest, kWorld, 1, 1);
    const Positions positions = read();
    EXPECT_EQ(positions.incomplete, std::set<uint32_t>{0});
    EXPECT_TRUE(positions.threads.at(0).waits.ranks.empty());  // others may complete
}

TEST_F(WherePositions, NameTheHolderOfAWindow) {
    constexpr uint64_t kWindow = 500;
    RecordFile& first = rank(3);
    first.add_comm(kWindow, 9, 0, 3);
    RecordFile& holder = rank(3);
    holder.add_comm(600, 9, 1, 3);
    in(&holder, "MPI_Barrier");
    holder.last_thread().held[0] = {600, 0, holder.last_thread().open.node, 0};
    RecordFile& waiter = rank(3);
    waiter.add_comm(700, 9, 2, 3);
    in(&waiter, "MPI_Win_lock", 0, 0, 700);
    const Position at = read().threads.at(2);
    EXPECT_EQ(at.partner, "rank 1, which holds the lock of rank 0");
    EXPECT_EQ(at.waits.ranks, Numbers{1});
}

TEST_F(WherePositions, OfThreadsNameTheHolderOfALock) {
    RecordFile& file = rank(1);
    file.last_thread().held[2] = {0xabc, 0x5000, 0, kAnyRank};
    file.add_thread(1, {});
    file.last_thread().tid = getpid();
    file.last_thread().wanted = {0xabc, 0x6000, 4 * kSecond,
                                 static_cast<uint32_t>(OmpConstruct::kLock), 0};
    const Position at = read().threads.at(1);
    EXPECT_EQ(at.waits.threads, Numbers{0});
    EXPECT_EQ(at.partner.substr(0, 25), "thread 0, which holds the");
}

TEST_F(WherePositions, OfAnotherPidNamespaceHaveNoState) {
    RecordFile& file = rank(1);
    in(&file, "MPI_Barrier");
    file.header().pid_namespace = 1;
    const Positions positions = read();
    EXPECT_EQ(positions.threads.at(0).state, kNotVisible);
    EXPECT_TRUE(positions.gone.empty());
}

// Its process ids mean nothing here.
TEST_F(WherePositions, OfAnotherHostHaveNoState) {
    RecordFile& file = rank(1);
    in(&file, "MPI_Barrier");
    strcpy(file.header().host, "elsewhere");
    file.header().pid = 0x3fffffff;
    const Positions positions = read();
    EXPECT_EQ(positions.threads.at(0).state, kNotVisible);
    EXPECT_TRUE(positions.gone.empty());
}

TEST_F(WherePositions, OfAnEndedProcessAreGone) {
    RecordFile& file = rank(2);
    in(&file, "MPI_Barrier");
    file.header().pid = 0x3fffffff;
    rank(2);
    EXPECT_EQ(read().gone, std::set<uint32_t>{0});
}

// Where nobody is left, those that ended with the others were there to the end.
TEST_F(WherePositions, OfADeadJobWereThereToItsEnd) {
    in(&rank(3, 5), "MPI_Allreduce");
    in(&rank(3, 5), "MPI_Allreduce");
    rank(3, 4);  // computed
    for (RecordFile& file : files_) {
        file.header().pid = 0x3fffffff;
        file.header().death_ticks = 9 * kSecond;
    }
    EXPECT_TRUE(read().gone.empty());
    EXPECT_TRUE(stuck(read()).empty());
    files_[2].header().death_ticks = 5 * kSecond;
    EXPECT_EQ(read().gone, std::set<uint32_t>{2});
    EXPECT_EQ(stuck(read()), (std::set<uint32_t>{0, 1}));
}

// One that has left MPI for good has no communicator any more.
TEST_F(WherePositions, WaitForARankThatHasExited) {
    in(&rank(2), "MPI_Barrier");
    rank(2).header().state = FileState::kExited;
    const Positions positions = read();
    EXPECT_EQ(positions.threads.at(0).waits.ranks, Numbers{1});
    EXPECT_EQ(stuck(positions), std::set<uint32_t>{0});
}

TEST_F(WherePositions, MoveWhenTheirStatementBeginsAgain) {
    RecordFile& file = rank(2);
    in(&file, "MPI_Barrier");
    const Positions before = read();
    EXPECT_FALSE(read(&before).threads.at(0).moved);
    file.last_thread().open.entry_ticks += 1'000'000;
    EXPECT_TRUE(read(&before).threads.at(0).moved);
}

TEST(RanksText, JoinsNeighbours) {
    EXPECT_EQ(ranks_text({2}), "rank 2");
    EXPECT_EQ(ranks_text({0, 1, 3, 4, 5, 17}), "ranks 0,1,3-5,17");
}

}  // namespace
}  // namespace dwell
