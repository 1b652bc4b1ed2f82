// The order rule: which processes can still send before a virtual time (DESIGN 4, "Order rule").
#include "runtime/order/order.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace dwell {
namespace {

constexpr uint64_t kNow = 1000;
constexpr uint32_t kComm = 5;
constexpr uint32_t kAnybody = kNoPeer;

// The processes of a host; process 0 has to choose.
class Host {
  public:
    explicit Host(uint32_t count) : states_(count), ranks_(count), woken_(count) {
        for (uint32_t i = 0; i < count; ++i) {
            ranks_[i] = i + 10;  // world ranks differ from places
            states_[i].doing = Doing::kFinished;
            states_[i].partner = kNoPeer;
        }
    }
    void runs(uint32_t which, uint64_t virt) { set(which, Doing::kRuns, kNow - virt, kAnybody); }
    void works_in_tool(uint32_t which, uint64_t virt) {
        set(which, Doing::kInTool, virt, kAnybody);
    }
    void receives(uint32_t which, uint64_t virt, uint32_t from, uint64_t candidate = 0) {
        set(which, Doing::kReceives, virt, from == kAnybody ? kAnybody : from + 10);
        states_[which].candidate = candidate;
    }
    void waits(uint32_t which, uint64_t virt, uint64_t candidate = 0) {
        set(which, Doing::kWaits, virt, kAnybody);
        states_[which].candidate = candidate;
    }
    void in_collective(uint32_t which, uint64_t virt, uint32_t number, uint32_t root = kAnybody) {
        set(which, Doing::kInCollective, virt, root == kAnybody ? kAnybody : root + 10);
        states_[which].comm = kComm;
        states_[which].is_world = 1;
        has_entered(which, number);
    }
    void has_entered(uint32_t which, uint32_t number) {
        states_[which].entered_comm = kComm;
        states_[which].entered_number = number;
    }
    void wake(uint32_t which) { woken_[which] = 1; }

    std::vector<uint32_t> earlier(uint64_t limit) const {
        const auto count = static_cast<uint32_t>(states_.size());
        const auto woken = std::make_unique<bool[]>(count);
        const auto reached = std::make_unique<bool[]>(count);
        for (uint32_t i = 0; i < count; ++i) woken[i] = woken_[i] != 0;
        find_earlier({states_.data(), ranks_.data(), woken.get(), count}, 0, limit, kNow,
                     reached.get());
        std::vector<uint32_t> found;
        for (uint32_t i = 0; i < count; ++i) {
            if (reached[i]) found.push_back(i);
        }
        return found;
    }

  private:
    void set(uint32_t which, Doing doing, uint64_t ticks, uint32_t partner) {
        states_[which] = ProcessState{};
        states_[which].doing = doing;
        states_[which].ticks = ticks;
        states_[which].partner = partner;
    }
    std::vector<ProcessState> states_;
    std::vector<uint32_t> ranks_;
    std::vector<int> woken_;
};
using Places = std::vector<uint32_t>;

TEST(Order, ARunningProcessMaySendUntilItIsPastTheLimit) {
    Host host(3);
    host.runs(1, 299);
    host.runs(2, 300);
    EXPECT_EQ(host.earlier(300), Places{1});
    EXPECT_EQ(host.earlier(299), Places{});
    host.works_in_tool(1, 200);
    EXPECT_EQ(host.earlier(300), Places{1});
}

TEST(Order, FinishedProcessesSendNothing) { EXPECT_EQ(Host(4).earlier(UINT64_MAX), Places{}); }

// Figure 4 of the paper: P0 has sent at 30; P3 waits for P2, and P2 for P1, which has to choose.
TEST(Order, IndirectWaitersForTheReceiverCannotSend) {
    Host host(4);
    host.runs(1, 31);
    host.receives(2, 5, 0);
    host.receives(3, 7, 2);
    EXPECT_EQ(host.earlier(30), Places{});
}

TEST(Order, WaitersForARunningProcessMaySend) {
    Host host(4);
    host.runs(1, 20);
    host.receives(2, 5, 1);
    host.receives(3, 7, 2);
    EXPECT_EQ(host.earlier(30), (Places{1, 2, 3}));
    host.receives(3, 30, 2);  // and for a later time itself
    EXPECT_EQ(host.earlier(30), (Places{1, 2}));
    host.waits(3, 7);  // for any
    EXPECT_EQ(host.earlier(30), (Places{1, 2, 3}));
}

TEST(Order, AMessageUnderWayWakes) {
    Host host(2);
    host.receives(1, 5, 0);
    EXPECT_EQ(host.earlier(30), Places{});
    host.wake(1);
    EXPECT_EQ(host.earlier(30), Places{1});
    EXPECT_EQ(host.earlier(5), Places{});
}

TEST(Order, OfTwoReceiversOneContinues) {
    Host host(2);
    host.receives(1, 5, kAnybody, 20);
    EXPECT_EQ(host.earlier(10), Places{});   // the other takes its message only after this one
    EXPECT_EQ(host.earlier(21), Places{1});  // the other goes first
    EXPECT_EQ(host.earlier(20), Places{});
}

// A wait for some of several requests takes what was complete when it began, so not before that.
TEST(Order, AWaitForSomeRequestsContinuesWithTheCompleteOnes) {
    Host host(2);
    host.waits(1, 5, 20);
    EXPECT_EQ(host.earlier(20), Places{});
    EXPECT_EQ(host.earlier(21), Places{1});
    host.waits(1, 25, 20);
    EXPECT_EQ(host.earlier(25), Places{});
    EXPECT_EQ(host.earlier(26), Places{1});
}

TEST(Order, ACollectiveEndsWhenAllHaveEntered) {
    Host host(3);
    host.in_collective(1, 10, 4);
    host.in_collective(2, 12, 4);
    host.has_entered(0, 3);
    EXPECT_EQ(host.earlier(30), Places{});  // they wait for the one that has to choose
    host.has_entered(0, 4);
    EXPECT_EQ(host.earlier(30), (Places{1, 2}));  // about to leave
    host.runs(2, 15);
    host.has_entered(2, 3);
    EXPECT_EQ(host.earlier(30), (Places{1, 2}));  // 1 waits for 2, which runs
}

// The root's data may reach one rank through another.
TEST(Order, WaitersForAnEnteredRootMayWaitForTheReceiver) {
    Host host(3);
    host.in_collective(1, 10, 4, 2);
    host.runs(2, 15);
    host.has_entered(2, 3);
    EXPECT_EQ(host.earlier(30), (Places{1, 2}));  // 1 waits for 2, which runs
    host.runs(2, 40);
    EXPECT_EQ(host.earlier(30), Places{});
    host.has_entered(2, 4);
    host.has_entered(0, 3);
    EXPECT_EQ(host.earlier(30), Places{});
    host.wake(1);  // it may be about to leave
    EXPECT_EQ(host.earlier(30), Places{1});
}

// Whatever processes wait for: the receiver with the earliest candidate may take it.
TEST(Order, TheEarliestReceiverIsNeverDeferred) {
    std::minstd_rand engine(7);
    const auto random = [&] { return static_cast<uint32_t>(engine()); };
    for (int round = 0; round < 2000; ++round) {
        const uint32_t count = 2 + random() % 7;
        const uint64_t own = 100 + random() % 100;
        Host host(count);
        for (uint32_t i = 1; i < count; ++i) {
            const uint64_t virt = random() % 150;
            switch (random() % 4) {
                case 0:
                    host.receives(i, virt, random() % count);
                    break;
                case 1:
                    host.receives(i, virt, kAnybody, own + random() % 50);
                    break;
                case 2:
                    host.waits(i, virt, random() % 2 == 0 ? 0 : own + random() % 50);
                    break;
                default:
                    host.runs(i, own + random() % 50);
            }
        }
        EXPECT_EQ(host.earlier(own), Places{}) << round;
    }
}

}  // namespace
}  // namespace dwell
