// Collectives between hosts: which of them are told of, so that all members choose the same ones,
// and what follows from what was told, and from what was not.
#include "runtime/waitstates/remote_collectives.h"

#include <algorithm>
#include <vector>

#include "runtime/waitstates/collectives.h"
#include "tests/unit/support/recording.h"

namespace dwell {

TEST(RemoteChoice, WhatOneChoosesAllWithASmallerShiftChoose) {
    for (uint32_t number = 1; number <= 100'000; ++number) {
        for (uint32_t shift = 1; shift <= 12; ++shift) {
            if (is_chosen(number, shift)) {
                EXPECT_TRUE(is_chosen(number, shift - 1)) << number;
            }
        }
    }
}

// A loop of several collectives has each of them at numbers of one remainder.
TEST(RemoteChoice, NoStatementOfALoopIsLeftOut) {
    constexpr uint32_t kNumbers = 240'000;
    for (uint32_t statements : {2u, 3u, 4u, 8u}) {
        for (uint32_t shift : {1u, 3u, 6u}) {
            std::vector<uint32_t> chosen(statements);
            for (uint32_t number = 1; number <= kNumbers; ++number) {
                if (is_chosen(number, shift)) chosen[number % statements] += 1;
            }
            const double expected = static_cast<double>(kNumbers) / statements / (1u << shift);
            for (uint32_t count : chosen) EXPECT_NEAR(count / expected, 1, 0.15);
        }
    }
}

// A member for whom telling is as dear as `spacing` says, and a call every 1000 ticks.
std::vector<uint32_t> told_by(uint64_t spacing, uint32_t calls) {
    std::vector<uint32_t> sent_stamp;
    RemoteChoice choice{};
    for (uint32_t number = 1; number <= calls; ++number) {
        if (!is_chosen(number, choice.shift)) continue;
        count_chosen(&choice, number, number * 1000, spacing, false);
        sent_stamp.push_back(number);
    }
    return sent_stamp;
}

TEST(RemoteChoice, NoMoreThanTheSpacingAllows) {
    constexpr uint32_t kCalls = 200'000;
    for (uint64_t spacing : {uint64_t{500}, uint64_t{5'000}, uint64_t{70'000}}) {
        const auto count = static_cast<double>(told_by(spacing, kCalls).size());
        const double most = kCalls * 1000.0 / static_cast<double>(spacing);
        EXPECT_LE(count, 1.1 * most + kGladlyTold + 8) << spacing;
        EXPECT_GE(count, std::min<double>(kCalls, most) * 0.4) << spacing;
    }
}

// Two that follow each other at once, and then a long time none: all can be told of.
TEST(RemoteChoice, PairsAreToldOf) {
    RemoteChoice choice{};
    uint32_t sent_stamp = 0;
    for (uint32_t number = 1; number <= 1000; ++number) {
        if (!is_chosen(number, choice.shift)) continue;
        count_chosen(&choice, number, number / 2 * 20'000 + number % 2 * 100, 5'000, false);
        ++sent_stamp;
    }
    EXPECT_GE(sent_stamp, 950u);
}

TEST(RemoteChoice, MembersWithOtherCostsTellOfTheSameOnes) {
    const std::vector<uint32_t> cheap = told_by(4'000, 100'000);
    const std::vector<uint32_t> dear = told_by(60'000, 100'000);
    ASSERT_GT(dear.size(), 50u);
    EXPECT_GT(cheap.size(), dear.size());
    uint32_t both = 0;
    for (uint32_t number : dear) {
        both += std::find(cheap.begin(), cheap.end(), number) != cheap.end() ? 1 : 0;
    }
    EXPECT_GE(both, dear.size() * 95 / 100);
}

TEST(RemoteChoice, FewerWhenAllOfItIsTooDear) {
    RemoteChoice choice{};
    for (uint32_t i = 1; i <= kAlwaysTold; ++i) count_chosen(&choice, i, i * 1'000'000, 10, true);
    EXPECT_EQ(choice.shift, 0u);
    count_chosen(&choice, 10, 10'000'000, 10, true);
    EXPECT_EQ(choice.shift, 1u);
    choice.sent_stamp = kGladlyTold;
    count_chosen(&choice, 20, 20'000'000, 10, false);
    EXPECT_EQ(choice.shift, 0u);
}

// Rank 0 of four, each on a host of its own, enters at kEntered and leaves at kLeft.
class RemoteCollectives : public Records {
  protected:
    static constexpr uint64_t kEntered = 10'000;
    static constexpr uint64_t kLost = 400;
    static constexpr uint64_t kLeft = 20'000;
    static constexpr int kRanks = 4;
    static constexpr MpiCall kCall = MpiCall::kAllreduce;

    void SetUp() override {
        Records::SetUp();
        // Statements of their own: what is known of them outlives a test.
        static uint32_t cells = 0;
        cells += 16;
        take_cells(t_thread, cells);
        static bool opened = open_channels(kRanks);
        ASSERT_TRUE(opened);
        remote_ = RemoteMembers{};
        remote_.count = kRanks - 1;
        remote_.alone.shared = &nobody_;
        remote_.alone.members = kRanks;
        for (int rank = 1; rank < kRanks; ++rank) {
            remote_.members[rank - 1].peer = static_cast<uint32_t>(rank);
            remote_.members[rank - 1].place = static_cast<uint32_t>(rank) << 1;
        }
        name_ = CommDefinition{};
        name_.members = name_.size = kRanks;
        name_.remote_state = RemoteState::kKnown;
        name_.remote = &remote_;
    }
    void says(int rank, uint64_t real, uint64_t lost, uint32_t number = 1, MpiCall call = kCall,
              uint32_t telling = 0) {
        RemoteMember* member = &remote_.members[rank - 1];
        const EnterStamp stamp{{real, real - lost}, 77, kNoPeer, 0, 0};
        const auto which = static_cast<uint16_t>(call);
        member->notes[member->matched_stamp++ % kKeptNotes] = {stamp, 0, number, which,
                                                               0,     0, telling};
    }
    void all_say(uint64_t real, uint32_t number) {
        for (int rank = 1; rank < kRanks; ++rank) says(rank, real, kLost, number);
    }
    struct Settled {
        uint64_t ticks;
        uint64_t sync;
        uint32_t unknown;
        uint32_t estimated;
        uint32_t peer;
    };
    Settled classify(uint32_t number, const Depends& depends, int rank = 0, uint64_t left = kLeft,
                     uint64_t place = 100) {
        Call call;
        forget();
        EXPECT_TRUE(begin(&call, kCall, place));
        t_thread->slow_overhead = 0;
        g_process.call_cost_ticks = 0;
        t_thread->record->intrusion_ticks = kLost;
        t_thread->last_ticks = kEntered;
        call.start_ticks = kEntered;
        call.end_ticks = left;
        call.ticks = left - kEntered;
        name_.rank = remote_.alone.rank = rank;
        const WaitPart none{};
        const WaitPart before = call.part->wait != 0 ? *cell_at<WaitPart>(call.part->wait) : none;
        const uint64_t sync = call.part->sync_ticks;
        classify_collective(&call, {&name_, nullptr, kCall, number, false}, depends);
        Settled settled{call.ticks, call.part->sync_ticks - sync, 0, 0, kNoPeer};
        if (call.part->wait != 0) {
            const auto* wait = cell_at<WaitPart>(call.part->wait);
            settled.unknown = wait->unknown - before.unknown;
            settled.estimated = wait->estimated - before.estimated;
            if (settled.sync != 0) {
                settled.peer = cell_at<WaitPeerRecord>(wait->last_partner)->peer;
            }
        }
        record_event(&call, kSendReady);
        leave(&call);
        return settled;
    }

    SharedTable nobody_{};
    RemoteMembers remote_;
    CommDefinition name_;
};

constexpr Depends kOnAll{Dependence::kAll, 0, nullptr};

TEST_F(RemoteCollectives, AllWaitForTheLast) {
    says(1, 12'000, kLost);
    says(2, 15'000, kLost);
    says(3, 9'000, kLost);
    const Settled settled = classify(1, kOnAll);
    EXPECT_EQ(settled.sync, 5'000u);
    EXPECT_EQ(settled.ticks, 10'000u);
    EXPECT_EQ(settled.peer, 2u);
    EXPECT_EQ(settled.unknown, 0u);
    EXPECT_EQ(settled.estimated, 0u);
}

TEST_F(RemoteCollectives, TheLatestOnTheVirtualClockDecides) {
    says(1, 15'000, kLost + 3'000);
    says(2, 14'000, kLost);
    says(3, 11'000, kLost);
    const Settled settled = classify(1, kOnAll);
    EXPECT_EQ(settled.sync, 4'000u);
    EXPECT_EQ(settled.ticks, 9'000u);
    EXPECT_EQ(settled.peer, 2u);
}

TEST_F(RemoteCollectives, WhoDoesNotTellIsUnknownAtFirst) {
    says(1, 12'000, kLost);
    says(2, 12'000, kLost);
    says(3, 12'000, kLost, 1, MpiCall::kBarrier);  // not in step
    EXPECT_EQ(classify(1, kOnAll, 0, kLeft, 200).unknown, 1u);
    says(3, 12'000, kLost, 2);  // of the next one
    EXPECT_EQ(classify(1, kOnAll, 0, kLeft, 200).unknown, 1u);
}

TEST_F(RemoteCollectives, WhatIsNotToldIsEstimatedByWhatWas) {
    all_say(19'000, 1);
    EXPECT_EQ(classify(1, kOnAll).sync, 9'000u);  // what came after that took 1000
    const Settled longer = classify(2, kOnAll, 0, 14'000);
    EXPECT_EQ(longer.sync, 3'000u);
    EXPECT_EQ(longer.estimated, 1u);
    EXPECT_EQ(longer.unknown, 0u);
    EXPECT_EQ(longer.ticks, 4'000u);
    // As long as when all are there: it waited for nobody.
    const Settled prompt = classify(3, kOnAll, 0, 11'000);
    EXPECT_EQ(prompt.sync, 0u);
    EXPECT_EQ(prompt.estimated, 0u);
    EXPECT_EQ(prompt.unknown, 0u);
    // Another statement has shown nothing yet.
    EXPECT_EQ(classify(4, kOnAll, 0, kLeft, 300).unknown, 1u);
}

TEST_F(RemoteCollectives, WhoIsKnownToHaveComeLastIsNotGuessed) {
    all_say(19'000, 1);
    classify(1, kOnAll);
    says(1, 18'800, kLost, 2);  // the others say nothing
    const Settled settled = classify(2, kOnAll);
    EXPECT_EQ(settled.sync, 8'800u);
    EXPECT_EQ(settled.peer, 1u);
    EXPECT_EQ(settled.estimated, 0u);
    says(1, 12'000, kLost, 3);
    EXPECT_EQ(classify(3, kOnAll).sync, 9'000u);
}

// With the note of a collective its sender may say that it chooses fewer from now on.
TEST_F(RemoteCollectives, WhatWasToldCountsWhateverIsChosenNext) {
    all_say(15'000, 1);
    for (uint32_t i = 0; i < remote_.count; ++i) remote_.members[i].shift = kMostShift;
    EXPECT_EQ(classify(1, kOnAll).sync, 5'000u);
}

TEST_F(RemoteCollectives, AFailedCallIsToldOfAgain) {
    all_say(11'000, 1);
    says(2, 16'000, kLost, 1);
    EXPECT_EQ(classify(1, kOnAll).sync, 6'000u);
}

TEST_F(RemoteCollectives, WhatWasTakenBackIsUnknown) {
    all_say(11'000, 1);
    says(2, 0, 0, 1, static_cast<MpiCall>(kRejected));
    EXPECT_EQ(classify(1, kOnAll).unknown, 1u);
    says(2, 16'000, kLost, 1);
    EXPECT_EQ(classify(1, kOnAll).sync, 6'000u);
}

TEST_F(RemoteCollectives, RootedOnes) {
    says(2, 15'000, kLost);
    EXPECT_EQ(classify(1, {Dependence::kRoot, 2, nullptr}).sync, 5'000u);
    EXPECT_EQ(classify(1, {Dependence::kRoot, 2, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(1, {Dependence::kRoot, 0, nullptr}).unknown, 0u);  // its own
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 2, nullptr}).sync, 0u);   // it has no part in it
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 2, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 0, nullptr}, 0, kLeft, 400).unknown, 1u);
    says(1, 12'000, kLost);
    says(3, 17'000, kLost);
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 0, nullptr}).sync, 7'000u);
}

TEST_F(RemoteCollectives, NothingIsWaitedForFromThoseWhoGiveNothing) {
    says(1, 12'000, kLost);
    says(2, 15'000, kLost);
    const int counts[] = {1, 1, 0, 0};
    const Settled settled = classify(1, {Dependence::kAll, 0, counts});
    EXPECT_EQ(settled.sync, 2'000u);
    EXPECT_EQ(settled.unknown, 0u);
}

// Ranks 0 and 1 are one group, 2 and 3 the other.
TEST_F(RemoteCollectives, OfTheOtherGroupOfAnInterCommunicator) {
    remote_.alone.inter = true;
    remote_.alone.others = 2;
    remote_.members[1].place = 0 << 1 | 1;
    remote_.members[2].place = 1 << 1 | 1;
    says(1, 18'000, kLost);
    says(2, 12'000, kLost);
    says(3, 15'000, kLost);
    const Settled all = classify(1, kOnAll);
    EXPECT_EQ(all.sync, 5'000u);
    EXPECT_EQ(all.peer, 3u);
    EXPECT_EQ(all.unknown, 0u);
    const Settled root = classify(1, {Dependence::kRoot, 0, nullptr});
    EXPECT_EQ(root.sync, 2'000u);
    EXPECT_EQ(root.peer, 2u);
    EXPECT_EQ(classify(1, {Dependence::kRoot, MPI_ROOT, nullptr}).sync, 0u);
    EXPECT_EQ(classify(1, {Dependence::kToRoot, MPI_ROOT, nullptr}).sync, 5'000u);
    EXPECT_EQ(classify(1, {Dependence::kEverybody, 0, nullptr}).sync, 8'000u);
}

TEST_F(RemoteCollectives, OfNeighbours) {
    remote_.alone.sources = {3, true, {2, 3, 2}};
    says(1, 18'000, kLost);
    says(2, 15'000, kLost);
    says(3, 12'000, kLost);
    const Settled settled = classify(1, {Dependence::kSources, 0, nullptr});
    EXPECT_EQ(settled.sync, 5'000u);
    EXPECT_EQ(settled.unknown, 0u);
    const int second_alone[] = {0, 1, 0};
    EXPECT_EQ(classify(1, {Dependence::kSources, 0, second_alone}).sync, 2'000u);
    remote_.alone.sources.known = false;
    EXPECT_EQ(classify(1, {Dependence::kSources, 0, nullptr}).unknown, 1u);
}

// The second access to rank 2, which exposed its memory to another rank as well: what it said of
// the first, of a fence and of the end of an access of its own is nothing of it.
TEST_F(RemoteCollectives, OfAnEpoch) {
    const FewRanks partners{1, true, {2}};
    remote_.alone.targets = partners;
    count_epoch(&remote_, Epoch::kStart, partners);
    count_epoch(&remote_, Epoch::kStart, partners);
    says(2, 11'000, kLost, 1, MpiCall::kWin_post);
    says(1, 17'000, kLost, 2, MpiCall::kWin_post);
    EXPECT_EQ(match_epoch_remote(t_thread, &remote_, Epoch::kComplete, kLeft).count, 0u);
    says(2, 15'000, kLost, 2, MpiCall::kWin_post);
    says(2, 16'000, kLost, 2, MpiCall::kWin_fence);
    says(2, 18'000, kLost, 2, MpiCall::kWin_complete);
    const RemoteMatch matched_stamp =
        match_epoch_remote(t_thread, &remote_, Epoch::kComplete, kLeft);
    EXPECT_EQ(matched_stamp.partners, 1u);
    EXPECT_EQ(matched_stamp.count, 1u);
    EXPECT_EQ(matched_stamp.peer, 2u);
    EXPECT_EQ(matched_stamp.last.at.real, 15'000u);
    // Nobody accesses the caller's memory.
    EXPECT_EQ(match_epoch_remote(t_thread, &remote_, Epoch::kWait, kLeft).partners, 0u);
    remote_.alone.origins = partners;
    count_epoch(&remote_, Epoch::kPost, partners);
    says(2, 19'000, kLost, 1, MpiCall::kWin_complete);
    EXPECT_EQ(match_epoch_remote(t_thread, &remote_, Epoch::kWait, kLeft).last.at.real, 19'000u);
}

// The first letters connect, and take a thousand times as long as others.
TEST_F(RemoteCollectives, WhoExpectedToTellForLongHasComeAllTheSame) {
    says(1, 12'000, kLost, 1, kCall, 40'000'000);
    says(2, 15'000, kLost, 1, kCall, 40'000'000);
    says(3, 9'000, kLost, 1, kCall, 40'000'000);
    const Settled settled = classify(1, kOnAll);
    EXPECT_EQ(settled.sync, 5'000u);
    EXPECT_EQ(settled.peer, 2u);
}

TEST_F(RemoteCollectives, WhoCameWhenTheCallWasOverIsNotWaitedFor) {
    all_say(kLeft + 1, 1);
    const Settled settled = classify(1, kOnAll);
    EXPECT_EQ(settled.sync, 0u);
    EXPECT_EQ(settled.unknown, 0u);
}

}  // namespace dwell
