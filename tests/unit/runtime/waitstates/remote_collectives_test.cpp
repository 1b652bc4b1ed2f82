// Collectives between hosts: the choice of instances for notices, which is the same for all
// members, and the analysis with and without notices.
#include "runtime/waitstates/remote_collectives.h"

#include <algorithm>
#include <vector>

#include "runtime/waitstates/collectives.h"
#include "tests/unit/support/recording.h"

namespace dwell {

TEST(RemoteChoice, ASmallerShiftChoosesASuperset) {
    for (uint32_t number = 1; number <= 100'000; ++number) {
        for (uint32_t shift = 1; shift <= 12; ++shift) {
            if (is_chosen(number, shift)) {
                EXPECT_TRUE(is_chosen(number, shift - 1)) << number;
            }
        }
    }
}

// A loop of several collectives has each of them at numbers with the same remainder.
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

// A member whose notices cost as much as `spacing`, with a call every 1000 ticks.
std::vector<uint32_t> choose_all(uint64_t spacing, uint32_t calls) {
    std::vector<uint32_t> chosen;
    RemoteChoice choice{};
    for (uint32_t number = 1; number <= calls; ++number) {
        if (!is_chosen(number, choice.shift)) continue;
        count_chosen(&choice, number, number * 1000, spacing, false);
        chosen.push_back(number);
    }
    return chosen;
}

TEST(RemoteChoice, NoMoreThanTheSpacingAllows) {
    constexpr uint32_t kCalls = 200'000;
    for (uint64_t spacing : {uint64_t{500}, uint64_t{5'000}, uint64_t{70'000}}) {
        const auto count = static_cast<double>(choose_all(spacing, kCalls).size());
        const double most = kCalls * 1000.0 / static_cast<double>(spacing);
        EXPECT_LE(count, 1.1 * most + kUsuallyChosen + 8) << spacing;
        EXPECT_GE(count, std::min<double>(kCalls, most) * 0.4) << spacing;
    }
}

// Two close instances followed by a long pause: all can have notices.
TEST(RemoteChoice, PairsAreChosen) {
    RemoteChoice choice{};
    uint32_t chosen = 0;
    for (uint32_t number = 1; number <= 1000; ++number) {
        if (!is_chosen(number, choice.shift)) continue;
        count_chosen(&choice, number, number / 2 * 20'000 + number % 2 * 100, 5'000, false);
        ++chosen;
    }
    EXPECT_GE(chosen, 950u);
}

TEST(RemoteChoice, MembersWithOtherCostsChooseTheSameOnes) {
    const std::vector<uint32_t> cheap = choose_all(4'000, 100'000);
    const std::vector<uint32_t> expensive = choose_all(60'000, 100'000);
    ASSERT_GT(expensive.size(), 50u);
    EXPECT_GT(cheap.size(), expensive.size());
    uint32_t both = 0;
    for (uint32_t number : expensive) {
        both += std::find(cheap.begin(), cheap.end(), number) != cheap.end() ? 1 : 0;
    }
    EXPECT_GE(both, expensive.size() * 95 / 100);
}

TEST(RemoteChoice, FewerWhenOverBudget) {
    RemoteChoice choice{};
    for (uint32_t i = 1; i <= kAlwaysChosen; ++i) count_chosen(&choice, i, i * 1'000'000, 10, true);
    EXPECT_EQ(choice.shift, 0u);
    count_chosen(&choice, 10, 10'000'000, 10, true);
    EXPECT_EQ(choice.shift, 1u);
    choice.chosen_count = kUsuallyChosen;
    count_chosen(&choice, 20, 20'000'000, 10, false);
    EXPECT_EQ(choice.shift, 0u);
}

// Rank 0 of four, each on its own host, enters at kEntered and leaves at kLeft.
class RemoteCollectives : public Records {
  protected:
    static constexpr uint64_t kEntered = 10'000;
    static constexpr uint64_t kLost = 400;
    static constexpr uint64_t kLeft = 20'000;
    static constexpr int kRanks = 4;
    static constexpr MpiCall kCall = MpiCall::kAllreduce;

    void SetUp() override {
        Records::SetUp();
        // Each test has its own statements, because what is usual for one is kept.
        static uint32_t cells = 0;
        cells += 16;
        take_cells(t_thread, cells);
        static bool opened = open_channels(kRanks);
        ASSERT_TRUE(opened);
        remote_ = RemoteMembers{};
        remote_.count = kRanks - 1;
        remote_.empty_table.shared = &nobody_;
        remote_.empty_table.members = kRanks;
        for (int rank = 1; rank < kRanks; ++rank) {
            remote_.members[rank - 1].peer = static_cast<uint32_t>(rank);
            remote_.members[rank - 1].place = static_cast<uint32_t>(rank) << 1;
        }
        definition_ = CommDefinition{};
        definition_.members = definition_.size = kRanks;
        definition_.remote_state = RemoteState::kKnown;
        definition_.remote = &remote_;
    }
    void enter(int rank, uint64_t real, uint64_t lost, uint32_t number = 1, MpiCall call = kCall,
               uint32_t send_ticks = 0) {
        RemoteMember* member = &remote_.members[rank - 1];
        const EnterStamp stamp{{real, real - lost}, 77, kNoPeer, 0, 0};
        const auto which = static_cast<uint16_t>(call);
        member->notices[member->notice_count++ % kKeptNotices] = {stamp, 0, number,    which,
                                                                  0,     0, send_ticks};
    }
    void all_enter(uint64_t real, uint32_t number) {
        for (int rank = 1; rank < kRanks; ++rank) enter(rank, real, kLost, number);
    }
    struct Classified {
        uint64_t ticks;
        uint64_t sync;
        uint32_t unknown;
        uint32_t estimated;
        uint32_t peer;
    };
    Classified classify(uint32_t number, const Depends& depends, int rank = 0,
                        uint64_t left = kLeft, uint64_t place = 100) {
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
        definition_.rank = remote_.empty_table.rank = rank;
        const WaitPart none{};
        const WaitPart before = call.part->wait != 0 ? *cell_at<WaitPart>(call.part->wait) : none;
        const uint64_t sync = call.part->sync_ticks;
        classify_collective(&call, {&definition_, nullptr, kCall, number, false}, depends);
        Classified classified{call.ticks, call.part->sync_ticks - sync, 0, 0, kNoPeer};
        if (call.part->wait != 0) {
            const auto* wait = cell_at<WaitPart>(call.part->wait);
            classified.unknown = wait->unknown - before.unknown;
            classified.estimated = wait->estimated - before.estimated;
            if (classified.sync != 0) {
                classified.peer = cell_at<WaitPeerRecord>(wait->last_partner)->peer;
            }
        }
        record_event(&call, kSendReady);
        leave(&call);
        return classified;
    }

    SharedTable nobody_{};
    RemoteMembers remote_;
    CommDefinition definition_;
};

constexpr Depends kOnAll{Dependence::kAll, 0, nullptr};

TEST_F(RemoteCollectives, AllWaitForTheLast) {
    enter(1, 12'000, kLost);
    enter(2, 15'000, kLost);
    enter(3, 9'000, kLost);
    const Classified classified = classify(1, kOnAll);
    EXPECT_EQ(classified.sync, 5'000u);
    EXPECT_EQ(classified.ticks, 10'000u);
    EXPECT_EQ(classified.peer, 2u);
    EXPECT_EQ(classified.unknown, 0u);
    EXPECT_EQ(classified.estimated, 0u);
}

TEST_F(RemoteCollectives, TheLatestOnTheVirtualClockDecides) {
    enter(1, 15'000, kLost + 3'000);
    enter(2, 14'000, kLost);
    enter(3, 11'000, kLost);
    const Classified classified = classify(1, kOnAll);
    EXPECT_EQ(classified.sync, 4'000u);
    EXPECT_EQ(classified.ticks, 9'000u);
    EXPECT_EQ(classified.peer, 2u);
}

TEST_F(RemoteCollectives, MembersWithoutNoticesAreUnknownAtFirst) {
    enter(1, 12'000, kLost);
    enter(2, 12'000, kLost);
    enter(3, 12'000, kLost, 1, MpiCall::kBarrier);  // not in step
    EXPECT_EQ(classify(1, kOnAll, 0, kLeft, 200).unknown, 1u);
    enter(3, 12'000, kLost, 2);  // of the next instance
    EXPECT_EQ(classify(1, kOnAll, 0, kLeft, 200).unknown, 1u);
}

TEST_F(RemoteCollectives, MissingNoticesAreEstimatedFromEarlierCalls) {
    all_enter(19'000, 1);
    EXPECT_EQ(classify(1, kOnAll).sync, 9'000u);  // the time after the last entered is 1000
    const Classified longer = classify(2, kOnAll, 0, 14'000);
    EXPECT_EQ(longer.sync, 3'000u);
    EXPECT_EQ(longer.estimated, 1u);
    EXPECT_EQ(longer.unknown, 0u);
    EXPECT_EQ(longer.ticks, 4'000u);
    // The usual time with all present: it waited for nobody.
    const Classified prompt = classify(3, kOnAll, 0, 11'000);
    EXPECT_EQ(prompt.sync, 0u);
    EXPECT_EQ(prompt.estimated, 0u);
    EXPECT_EQ(prompt.unknown, 0u);
    // Nothing is known yet of another statement.
    EXPECT_EQ(classify(4, kOnAll, 0, kLeft, 300).unknown, 1u);
}

TEST_F(RemoteCollectives, AKnownLastMemberIsNotEstimated) {
    all_enter(19'000, 1);
    classify(1, kOnAll);
    enter(1, 18'800, kLost, 2);  // no notices of the others
    const Classified classified = classify(2, kOnAll);
    EXPECT_EQ(classified.sync, 8'800u);
    EXPECT_EQ(classified.peer, 1u);
    EXPECT_EQ(classified.estimated, 0u);
    enter(1, 12'000, kLost, 3);
    EXPECT_EQ(classify(3, kOnAll).sync, 9'000u);
}

// A notice may announce that its sender chooses fewer instances from now on.
TEST_F(RemoteCollectives, ANoticeCountsWhateverIsChosenNext) {
    all_enter(15'000, 1);
    for (uint32_t i = 0; i < remote_.count; ++i) remote_.members[i].shift = kMostShift;
    EXPECT_EQ(classify(1, kOnAll).sync, 5'000u);
}

TEST_F(RemoteCollectives, AFailedCallsNumberIsUsedAgain) {
    all_enter(11'000, 1);
    enter(2, 16'000, kLost, 1);
    EXPECT_EQ(classify(1, kOnAll).sync, 6'000u);
}

TEST_F(RemoteCollectives, WithdrawnNoticesAreUnknown) {
    all_enter(11'000, 1);
    enter(2, 0, 0, 1, static_cast<MpiCall>(kRejected));
    EXPECT_EQ(classify(1, kOnAll).unknown, 1u);
    enter(2, 16'000, kLost, 1);
    EXPECT_EQ(classify(1, kOnAll).sync, 6'000u);
}

TEST_F(RemoteCollectives, RootedOnes) {
    enter(2, 15'000, kLost);
    EXPECT_EQ(classify(1, {Dependence::kRoot, 2, nullptr}).sync, 5'000u);
    EXPECT_EQ(classify(1, {Dependence::kRoot, 2, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(1, {Dependence::kRoot, 0, nullptr}).unknown, 0u);  // its own
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 2, nullptr}).sync, 0u);   // has no part in it
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 2, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 0, nullptr}, 0, kLeft, 400).unknown, 1u);
    enter(1, 12'000, kLost);
    enter(3, 17'000, kLost);
    EXPECT_EQ(classify(1, {Dependence::kToRoot, 0, nullptr}).sync, 7'000u);
}

TEST_F(RemoteCollectives, MembersThatContributeNothingAreNotWaitedFor) {
    enter(1, 12'000, kLost);
    enter(2, 15'000, kLost);
    const int counts[] = {1, 1, 0, 0};
    const Classified classified = classify(1, {Dependence::kAll, 0, counts});
    EXPECT_EQ(classified.sync, 2'000u);
    EXPECT_EQ(classified.unknown, 0u);
}

// Ranks 0 and 1 are one group, 2 and 3 the other.
TEST_F(RemoteCollectives, OfTheOtherGroupOfAnInterCommunicator) {
    remote_.empty_table.inter = true;
    remote_.empty_table.others = 2;
    remote_.members[1].place = 0 << 1 | 1;
    remote_.members[2].place = 1 << 1 | 1;
    enter(1, 18'000, kLost);
    enter(2, 12'000, kLost);
    enter(3, 15'000, kLost);
    const Classified all = classify(1, kOnAll);
    EXPECT_EQ(all.sync, 5'000u);
    EXPECT_EQ(all.peer, 3u);
    EXPECT_EQ(all.unknown, 0u);
    const Classified root = classify(1, {Dependence::kRoot, 0, nullptr});
    EXPECT_EQ(root.sync, 2'000u);
    EXPECT_EQ(root.peer, 2u);
    EXPECT_EQ(classify(1, {Dependence::kRoot, MPI_ROOT, nullptr}).sync, 0u);
    EXPECT_EQ(classify(1, {Dependence::kToRoot, MPI_ROOT, nullptr}).sync, 5'000u);
    EXPECT_EQ(classify(1, {Dependence::kEverybody, 0, nullptr}).sync, 8'000u);
}

TEST_F(RemoteCollectives, OfNeighbours) {
    remote_.empty_table.sources = {3, true, {2, 3, 2}};
    enter(1, 18'000, kLost);
    enter(2, 15'000, kLost);
    enter(3, 12'000, kLost);
    const Classified classified = classify(1, {Dependence::kSources, 0, nullptr});
    EXPECT_EQ(classified.sync, 5'000u);
    EXPECT_EQ(classified.unknown, 0u);
    const int second_alone[] = {0, 1, 0};
    EXPECT_EQ(classify(1, {Dependence::kSources, 0, second_alone}).sync, 2'000u);
    remote_.empty_table.sources.known = false;
    EXPECT_EQ(classify(1, {Dependence::kSources, 0, nullptr}).unknown, 1u);
}

// The first messages to a rank also connect, and take a thousand times as long.
TEST_F(RemoteCollectives, LongSendTimesDoNotDelayTheEntry) {
    enter(1, 12'000, kLost, 1, kCall, 40'000'000);
    enter(2, 15'000, kLost, 1, kCall, 40'000'000);
    enter(3, 9'000, kLost, 1, kCall, 40'000'000);
    const Classified classified = classify(1, kOnAll);
    EXPECT_EQ(classified.sync, 5'000u);
    EXPECT_EQ(classified.peer, 2u);
}

TEST_F(RemoteCollectives, MembersThatEnterAfterTheEndAreNotWaitedFor) {
    all_enter(kLeft + 1, 1);
    const Classified classified = classify(1, kOnAll);
    EXPECT_EQ(classified.sync, 0u);
    EXPECT_EQ(classified.unknown, 0u);
}

}  // namespace dwell
