// How many messages of one rank another one has not received, by the records of both.
#include "report/live/traffic.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

class WhereTraffic : public testing::Test {
  protected:
    WhereTraffic() : sender_(0, 2), receiver_(1, 2) {
        char name[] = "/tmp/where-traffic-XXXXXX";
        directory_ = mkdtemp(name);
        sender_root_ = sender_.add_thread(0, {});
        receiver_root_ = receiver_.add_thread(0, {});
    }
    ~WhereTraffic() override { std::filesystem::remove_all(directory_); }

    CellIndex count(RecordFile* file, const char* call, uint64_t messages) {
        const bool sends = file == &sender_;
        const CellIndex node =
            file->add_communication(sends ? sender_root_ : receiver_root_, 0, ++offset_, call, {});
        file->add_peer(node, sends ? 1 : 0, {messages});
        return node;
    }
    std::optional<uint64_t> left() {
        return messages_between(mapped(sender_, "sender"), mapped(receiver_, "receiver"));
    }
    MappedRecords mapped(RecordFile& file, const std::string& name) {
        const std::string path = directory_ + "/" + name;
        std::ofstream(path, std::ios::binary)
            .write(static_cast<const char*>(file.data()),
                   static_cast<std::streamsize>(file.bytes()));
        return MappedRecords(path);
    }

    RecordFile sender_;
    RecordFile receiver_;
    CellIndex sender_root_;
    CellIndex receiver_root_;
    uint64_t offset_ = 0;
    std::string directory_;
};

// Both stand still: rank 1 waits for `receives` messages of rank 0, which waits in a send.
class WhereFindings : public WhereTraffic {
  protected:
    const Position& found(size_t receives, std::vector<AwaitedMessage> sends = {}) {
        mapped(sender_, "rank.0");
        mapped(receiver_, "rank.1");
        positions_.threads.assign(2, Position{});
        for (uint32_t rank = 0; rank < 2; ++rank) {
            positions_.threads[rank].rank = rank;
            positions_.threads[rank].is_in_call = true;
        }
        positions_.threads[0].messages = std::move(sends);
        positions_.threads[1].messages.assign(receives, {false, true, 0, 7, kComm, "rank 0"});
        add_findings(directory_, Merged(), &positions_);
        return positions_.threads[1];
    }
    static constexpr uint64_t kComm = 5;
    static constexpr bool kRequest = true;

  private:
    Positions positions_;
};

TEST_F(WhereFindings, NameASenderThatHasSentNothing) {
    count(&sender_, "MPI_Send", 5);
    count(&receiver_, "MPI_Waitall", 5);
    const Position& receiver = found(2);
    EXPECT_EQ(receiver.finding,
              "all messages of rank 0 were received: none of these has been sent");
    EXPECT_EQ(receiver.waits.sure, std::vector<uint32_t>{0});
}

TEST_F(WhereFindings, CountWhereSomeAreMissing) {
    count(&sender_, "MPI_Isend", 6);
    count(&receiver_, "MPI_Waitall", 5);
    const Position& receiver = found(2);
    EXPECT_EQ(receiver.finding, "rank 0 has sent 1 of these 2 messages");
    EXPECT_EQ(receiver.waits.sure, std::vector<uint32_t>{0});
}

// One of them may have come, and the thread waits for something else.
TEST_F(WhereFindings, BlameNobodyWhereAllWereSent) {
    count(&sender_, "MPI_Isend", 2);
    const Position& receiver = found(2);
    EXPECT_EQ(receiver.finding, "");
    EXPECT_TRUE(receiver.waits.sure.empty());
}

TEST_F(WhereFindings, NameTheOtherTagOfARequest) {
    count(&sender_, "MPI_Isend", 1);
    EXPECT_EQ(found(1, {{true, kRequest, 1, 8, kComm, "rank 1, tag 8"}}).finding,
              "rank 0 sends to rank 1, tag 8");
}

// A send that blocks is counted when it ends.
TEST_F(WhereFindings, NameTheOtherTagOfASendThatBlocks) {
    const Position& receiver = found(1, {{true, !kRequest, 1, 8, kComm, "rank 1, tag 8"}});
    EXPECT_EQ(receiver.finding, "rank 0 sends to rank 1, tag 8");
    EXPECT_EQ(receiver.waits.sure, std::vector<uint32_t>{0});
}

TEST_F(WhereFindings, SayNothingOfASendThatMatches) {
    const Position& receiver = found(1, {{true, !kRequest, 1, 7, kComm, "rank 1, tag 7"}});
    EXPECT_EQ(receiver.finding,
              "1 message of rank 0 was not received: it has another tag or communicator");
    EXPECT_TRUE(receiver.waits.sure.empty());
}

TEST_F(WhereTraffic, CountsEveryWayToSendAndReceive) {
    count(&sender_, "MPI_Send", 5);
    count(&sender_, "MPI_Isend", 3);
    count(&sender_, "MPI_Startall", 2);
    count(&receiver_, "MPI_Recv", 4);
    count(&receiver_, "MPI_Waitall", 3);
    count(&receiver_, "MPI_Test", 1);
    EXPECT_EQ(left(), 2u);
}

TEST_F(WhereTraffic, IsNoneWhereAllAreReceived) {
    count(&sender_, "MPI_Send", 5);
    count(&receiver_, "MPI_Recv", 5);
    EXPECT_EQ(left(), 0u);
}

// Its count is of both directions.
TEST_F(WhereTraffic, IsNotKnownWithSendReceive) {
    count(&sender_, "MPI_Send", 5);
    count(&receiver_, "MPI_Sendrecv", 5);
    EXPECT_EQ(left(), std::nullopt);
}

TEST_F(WhereTraffic, IsNotKnownWhereCountsAreMissing) {
    const CellIndex node = count(&sender_, "MPI_Send", 5);
    EXPECT_EQ(left(), 5u);
    sender_.part(node).folded_peers = 1;
    EXPECT_EQ(left(), std::nullopt);
    sender_.part(node).folded_peers = 0;
    receiver_.header().reset_ticks = 9;
    EXPECT_EQ(left(), std::nullopt);
    receiver_.header().reset_ticks = 0;
    sender_.header().paused_since = 1;
    EXPECT_EQ(left(), std::nullopt);
    sender_.header().paused_since = 0;
    sender_.last_thread().dropped = 1;
    EXPECT_EQ(left(), std::nullopt);
    sender_.last_thread().dropped = 0;
    EXPECT_EQ(left(), 5u);
}

// A message that is received before its sender's count is read.
TEST_F(WhereTraffic, IsNotKnownWhereMoreAreReceived) {
    count(&receiver_, "MPI_Recv", 1);
    EXPECT_EQ(left(), std::nullopt);
}

TEST_F(WhereTraffic, IsNotKnownWithoutAFile) {
    count(&sender_, "MPI_Send", 5);
    EXPECT_EQ(messages_between(mapped(sender_, "sender"), MappedRecords(directory_ + "/none")),
              std::nullopt);
}

}  // namespace
}  // namespace dwell
