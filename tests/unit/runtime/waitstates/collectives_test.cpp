// The collective rule (runtime/waitstates/collectives.h): whom a member waits for, and how long, by
// arithmetic. Members within one process stand for processes; each publishes its enter stamp, and
// one classifies its call.
#include "tests/unit/runtime/waitstates/collective_members.h"

namespace dwell {

TEST_F(Collectives, AllWaitForTheLast) {
    CommDefinition* own = member(0);
    const uint64_t reals[] = {0, 12'000, 15'000, 9'000};
    for (int rank = 1; rank < kRanks; ++rank) enter(member(rank), reals[rank], kLost);
    const Classified classified = classify(own, kOnAll);
    EXPECT_EQ(classified.sync, 5'000u);    // until rank 2 entered
    EXPECT_EQ(classified.ticks, 10'000u);  // all have lost the same
    EXPECT_EQ(classified.peer, 102u);
    EXPECT_EQ(classified.unknown, 0u);
}

TEST_F(Collectives, TheLatestOnTheVirtualClockDecides) {
    // Rank 1 entered last, but only because it lost 3 000; without overhead rank 2 would have been
    // last. The time after rank 1 entered is 5 000.
    CommDefinition* own = member(0);
    enter(member(1), 15'000, kLost + 3'000);
    enter(member(2), 14'000, kLost);
    enter(member(3), 11'000, kLost);
    const Classified classified = classify(own, kOnAll);
    EXPECT_EQ(classified.sync, 4'000u);
    EXPECT_EQ(classified.ticks, 9'000u);
    EXPECT_EQ(classified.peer, 102u);
}

// The time for publishing is not part of the call.
TEST_F(Collectives, MpiBeginsAfterTheStampIsPublished) {
    CommDefinition* own = member(0);
    const CollectiveTable* table = member(1)->table;
    own->handle = 4096;
    Call call;
    begin_at_virtual(&call);
    const EnteredCollective collective = enter_named(&call, own, Dependence::kAll, 0);
    EnterStamp stamp{};
    EXPECT_EQ(read_slot(slot_at(table, collective.number % kGenerations, own->table->own),
                        collective.number, static_cast<uint32_t>(kCall), &stamp),
              SlotState::kThis);
    EXPECT_LT(stamp.at.real, kEntered + call.pre_overhead);
    EXPECT_GE(now_ticks(), kEntered + call.pre_overhead);
    EXPECT_EQ(stamp.at.virt, kEntered - kLost);
    figures(&call);
}

TEST_F(Collectives, TheFirstMemberMakesNobodyWait) {
    CommDefinition* own = member(0);
    for (int rank = 1; rank < kRanks; ++rank) enter(member(rank), 9'000, kLost);
    EXPECT_EQ(classify(own, kOnAll).sync, 0u);
    // Nor does a member that entered after the call.
    for (int rank = 1; rank < kRanks; ++rank) enter(&joined[rank], 21'000, kLost);
    const Classified classified = classify(own, kOnAll);
    EXPECT_EQ(classified.sync, 0u);
    EXPECT_EQ(classified.ticks, 10'000u);
}

TEST_F(Collectives, MissingMembersAreUnknown) {
    CommDefinition* own = member(0);
    enter(member(1), 12'000, kLost);
    member(2);  // has a place but no stamp; rank 3 is on another host
    const Classified classified = classify(own, kOnAll);
    EXPECT_EQ(classified.sync, 2'000u);
    EXPECT_EQ(classified.unknown, 1u);
    EXPECT_EQ(classify(own, {Dependence::kRoot, 1, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(own, {Dependence::kRoot, 2, nullptr}).unknown, 1u);
    EXPECT_EQ(classify(own, {Dependence::kRoot, 3, nullptr}).unknown, 1u);
}

TEST_F(Collectives, MembersOutOfStepAreUnknown) {
    CommDefinition* own = member(0);
    for (int rank = 1; rank < kRanks; ++rank) enter(member(rank), 12'000, kLost);
    CollectiveTable* table = joined[1].table;
    write_slot(slot_at(table, 1, table->own), 1, static_cast<uint32_t>(MpiCall::kBarrier),
               {{12'000, 11'000}, 77, kNoPeer, 0, 0});
    EXPECT_EQ(classify(own, kOnAll).unknown, 1u);
}

TEST_F(Collectives, RootedOnes) {
    const uint64_t reals[] = {13'000, 12'000, 15'000, 14'000};
    for (int rank = 0; rank < kRanks; ++rank) enter(member(rank), reals[rank], kLost);
    for (int root = 0; root < kRanks; ++root) {
        for (int rank = 0; rank < kRanks; ++rank) {
            const uint64_t waits_for_root = rank == root ? 0 : reals[root] - kEntered;
            EXPECT_EQ(classify(&joined[rank], {Dependence::kRoot, root, nullptr}).sync,
                      waits_for_root);
            const uint64_t last = rank == 2 ? 14'000 : 15'000;
            EXPECT_EQ(classify(&joined[rank], {Dependence::kToRoot, root, nullptr}).sync,
                      rank == root ? last - kEntered : 0);
            EXPECT_EQ(classify_request(&joined[rank], {Dependence::kToRoot, root, nullptr}).sync,
                      rank == root ? last - kEntered : 0);
        }
    }
}

// MPI may hold a contributor until its data are taken.
class Contributors : public Collectives {
  protected:
    static constexpr uint64_t kLarge = 4000;
    bool is_contributor = true;  // then late consumers are late receivers
    // Ranks enter at these times, and the call ends at `left`. Figures: the waiting, for whom, and
    // whether it is an estimate.
    struct Given {
        uint64_t sync;
        uint32_t peer;
        uint32_t estimated;
    };
    Given contributes(const std::vector<uint64_t>& reals, int rank, const Depends& depends,
                      uint64_t bytes, uint64_t left) {
        for (const auto& [key, definition] : joined) release_table(definition.table);
        joined.clear();
        const auto ranks = static_cast<int>(reals.size());
        for (int other = 0; other < ranks; ++other) {
            CommDefinition* definition = member(other);
            definition->table->members = static_cast<uint32_t>(ranks);
            enter(definition, reals[static_cast<size_t>(other)], kLost);
        }
        Call call;
        begin_at_virtual(&call);
        call.end_ticks = left;
        call.ticks = left - kEntered;
        CommDefinition* own = &joined[rank];
        classify_collective(&call, {own, own->table, kCall, 1, false}, depends, bytes);
        const uint32_t estimated =
            call.part->wait != 0 ? cell_at<WaitPart>(call.part->wait)->estimated : 0;
        const uint64_t late_receiver =
            call.part->wait != 0 ? cell_at<WaitPart>(call.part->wait)->late_receiver_ticks : 0;
        const Classified classified = figures(&call);
        EXPECT_EQ(classified.unknown, 0u);
        EXPECT_EQ(late_receiver, is_contributor ? classified.sync : 0);
        return {classified.sync, classified.peer, estimated};
    }
};

constexpr Depends kOnRank0{Dependence::kRoot, 0, nullptr};
constexpr uint64_t kLateTicks = 10'000'000;

TEST_F(Contributors, WaitForConsumers) {
    const uint64_t entered = kEntered + kLateTicks;
    const uint64_t left = entered + 5'000;
    const Depends to_rank_1{Dependence::kToRoot, 1, nullptr};
    const Depends on_lower{Dependence::kUpTo, 0, nullptr};
    for (const Depends& depends : {kOnRank0, to_rank_1, on_lower}) {
        const Given given = contributes({kEntered, entered}, 0, depends, kLarge, left);
        EXPECT_EQ(given.sync, kLateTicks);
        EXPECT_EQ(given.peer, 101u);
        EXPECT_EQ(given.estimated, 0u);
        // A short message is copied at once. A member that entered before the call or after its end
        // is not waited for.
        EXPECT_EQ(contributes({kEntered, entered}, 0, depends, 256, left).sync, 0u);
        EXPECT_EQ(contributes({kEntered, kEntered - 1}, 0, depends, kLarge, left).sync, 0u);
        EXPECT_EQ(contributes({kEntered, left + 1}, 0, depends, kLarge, left).sync, 0u);
    }
    // The late member consumes nothing of the caller.
    EXPECT_EQ(contributes({entered, kEntered}, 1, on_lower, kLarge, entered - 1).sync, 0u);
}

// The usual duration of a call with all members present is not measured here: 0.
TEST_F(Contributors, OfSeveralWaitForTheLastConsumer) {
    const uint64_t entered = kEntered + kLateTicks;
    const Given given =
        contributes({kEntered, entered - 9, entered, entered + 9}, 0, kOnRank0, kLarge, entered);
    EXPECT_EQ(given.sync, kLateTicks);
    EXPECT_EQ(given.peer, 102u);
    EXPECT_EQ(given.estimated, 1u);
    // The call continued long after that member entered, so for another reason.
    const uint64_t soon = entered + kLateTicks / 8;
    EXPECT_EQ(
        contributes({kEntered, entered - 9, entered, entered}, 0, kOnRank0, kLarge, soon).sync,
        kLateTicks);
    EXPECT_EQ(
        contributes({kEntered, entered - 9, entered, entered}, 0, kOnRank0, kLarge, soon + 1).sync,
        0u);
    const Depends to_rank_1{Dependence::kToRoot, 1, nullptr};
    EXPECT_EQ(
        contributes({kEntered, entered, entered - 9, 9'000}, 0, to_rank_1, kLarge, entered).peer,
        101u);
}

// The waiting contributor takes over the lost time of the late consumer.
TEST_F(Contributors, TakeOverTheConsumersIntrusion) {
    const uint64_t entered = kEntered + kLateTicks;
    Given given = contributes({kEntered, entered}, 0, kOnRank0, kLarge, entered + 5'000);
    EXPECT_EQ(given.sync, kLateTicks);
    Call call;
    enter(&joined[1], entered, kLost + 1'000'000);
    begin_at_virtual(&call);
    call.end_ticks = entered + 5'000;
    call.ticks = kLateTicks + 5'000;
    classify_collective(&call, {&joined[0], joined[0].table, kCall, 1, false}, kOnRank0, kLarge);
    EXPECT_EQ(figures(&call).ticks, kLateTicks + 5'000 - 1'000'000);
}

// A member other than the root, also with a short message, may wait for one that passes on the
// data.
TEST_F(Contributors, OthersThanTheRootWaitForIntermediateMembers) {
    const uint64_t entered = kEntered + kLateTicks;
    const uint64_t soon = entered + kLateTicks / 8;
    for (const Dependence rule : {Dependence::kRoot, Dependence::kToRoot}) {
        const Depends on_rank_0{rule, 0, nullptr};
        constexpr uint64_t kShort = 8;
        is_contributor = false;
        Given given = contributes({9'000, 9'000, entered, kEntered}, 3, on_rank_0, kShort, soon);
        EXPECT_EQ(given.sync, kLateTicks);
        EXPECT_EQ(given.peer, 102u);
        EXPECT_EQ(given.estimated, 1u);
        // Not for a member that entered before, after the end, or long before the end; nor if no
        // data are moved.
        EXPECT_EQ(contributes({9'000, 9'000, entered, kEntered}, 3, on_rank_0, 0, soon).sync, 0u);
        EXPECT_EQ(contributes({9'000, 9'000, kEntered, kEntered}, 3, on_rank_0, kShort, soon).sync,
                  0u);
        EXPECT_EQ(contributes({9'000, 9'000, soon + 1, kEntered}, 3, on_rank_0, kShort, soon).sync,
                  0u);
        EXPECT_EQ(
            contributes({9'000, 9'000, entered, kEntered}, 3, on_rank_0, kShort, soon + 1).sync,
            0u);
    }
    // For the root the collective rule already counts.
    const Given given = contributes({entered, 9'000, entered - 1, kEntered}, 3, kOnRank0, 8, soon);
    EXPECT_EQ(given.peer, 100u);
    EXPECT_EQ(given.estimated, 0u);
}

TEST_F(Collectives, ScansWaitForLowerRanks) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) enter(member(rank), reals[rank], kLost);
    const uint64_t waited[] = {0, 1'000, 5'000, 5'000};
    for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(classify(&joined[rank], {Dependence::kUpTo, 0, nullptr}).sync, waited[rank]);
    }
}

TEST_F(Collectives, MembersThatContributeNothingAreNotWaitedFor) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) enter(member(rank), reals[rank], kLost);
    const int counts[] = {5, 0, 1, 0};
    for (const bool request : {false, true}) {
        auto classified = [&](int rank, const Depends& depends) {
            return request ? classify_request(&joined[rank], depends)
                           : classify(&joined[rank], depends);
        };
        EXPECT_EQ(classified(0, {Dependence::kAll, 0, counts}).sync, 3'000u);
        EXPECT_EQ(classified(1, {Dependence::kAll, 0, counts}).sync, 3'000u);
        EXPECT_EQ(classified(2, {Dependence::kAll, 0, counts}).sync, 1'000u);
        EXPECT_EQ(classified(0, {Dependence::kToRoot, 0, counts}).sync, 3'000u);
        // Counts of a gather matter at its root only.
        EXPECT_EQ(classified(1, {Dependence::kToRoot, 0, nullptr}).sync, 0u);
        EXPECT_EQ(classified(0, {Dependence::kAll, 0, counts}).unknown, 0u);
    }
}

TEST_F(Collectives, SourcesOfATopology) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) enter(member(rank), reals[rank], kLost);
    FewRanks* sources = &joined[0].table->sources;
    *sources = {3, true, {2, MPI_PROC_NULL, 1}};
    EXPECT_EQ(classify(&joined[0], {Dependence::kSources, 0, nullptr}).sync, 5'000u);
    const int counts[] = {1, 1, 0};
    EXPECT_EQ(classify(&joined[0], {Dependence::kSources, 0, counts}).sync, 3'000u);
    EXPECT_EQ(classify_request(&joined[0], {Dependence::kSources, 0, counts}).sync, 3'000u);
}

TEST_F(Collectives, InterCommunicators) {
    // Ranks 0 and 1 on each side.
    const uint64_t reals[2][2] = {{11'000, 15'000}, {13'000, 19'000}};
    for (const uint8_t side : {uint8_t{0}, uint8_t{1}}) {
        for (const int rank : {0, 1}) enter(member(rank, true, side), reals[side][rank], kLost);
    }
    CommDefinition* low = &joined[0];            // rank 0 of side 0
    CommDefinition* high = &joined[kRanks + 1];  // rank 1 of side 1
    EXPECT_EQ(classify(low, kOnAll).sync, 9'000u);
    EXPECT_EQ(classify(high, kOnAll).sync, 5'000u);
    EXPECT_EQ(classify(high, kOnAll).unknown, 0u);
    EXPECT_EQ(classify(high, {Dependence::kEverybody, 0, nullptr}).sync, 5'000u);
    EXPECT_EQ(classify(high, {Dependence::kRoot, 0, nullptr}).sync, 1'000u);
    EXPECT_EQ(classify(high, {Dependence::kRoot, MPI_ROOT, nullptr}).sync, 0u);
    EXPECT_EQ(classify(high, {Dependence::kRoot, MPI_PROC_NULL, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(high, {Dependence::kToRoot, MPI_ROOT, nullptr}).sync, 5'000u);
    EXPECT_EQ(classify(high, {Dependence::kToRoot, 0, nullptr}).sync, 0u);
}

// MPI leaves open whether a member waits for its own group: it did if it left after one of them
// entered.
TEST_F(Collectives, OwnGroupOfAnInterCommunicator) {
    for (const int rank : {0, 1}) {
        enter(member(rank, true, 0), rank == 0 ? 9'000 : 15'000, kLost);
        enter(member(rank, true, 1), rank == 0 ? 12'000 : 11'000, kLost);
    }
    CommDefinition* own = &joined[0];
    for (const bool request : {false, true}) {
        const auto classified = [&] {
            return request ? classify_request(own, kOnAll) : classify(own, kOnAll);
        };
        enter(&joined[1], 15'000, kLost);
        Classified last = classified();
        EXPECT_EQ(last.sync, 5'000u);
        EXPECT_EQ(last.peer, 101u);
        EXPECT_EQ(last.estimated, 1u);
        EXPECT_EQ(last.unknown, 0u);
        // Entered before the other group was there, or after the call: only the required members
        // count.
        for (const uint64_t entered : {uint64_t{11'500}, kLeft + 1}) {
            enter(&joined[1], entered, kLost);
            last = classified();
            EXPECT_EQ(last.sync, 2'000u);
            EXPECT_EQ(last.peer, uint32_t{100 + kRanks});
            EXPECT_EQ(last.estimated, 0u);
        }
        // Nor in a broadcast, from the other group or the own one.
        enter(&joined[1], 15'000, kLost);
        EXPECT_EQ(classify(own, {Dependence::kRoot, 0, nullptr}).sync, 2'000u);
        EXPECT_EQ(classify(own, {Dependence::kRoot, MPI_PROC_NULL, nullptr}).sync, 0u);
    }
}

TEST_F(Collectives, ASingleMemberWaitsForNobody) {
    CommDefinition definition{};
    definition.members = 1;
    const Classified classified = classify(&definition, kOnAll);
    EXPECT_EQ(classified.ticks, kLeft - kEntered);
    EXPECT_EQ(classified.unknown, 0u);
}

TEST_F(Collectives, WithoutADefinitionNothingIsKnown) {
    Call call;
    begin_at_virtual(&call);
    classify_collective(&call, {}, kOnAll);
    EXPECT_EQ(figures(&call).unknown, 1u);
}

}  // namespace dwell
