// The collective rule (runtime/waitstates/collectives.h): who is waited for, and how long, by
// arithmetic. Members of one process stand for processes; each writes when it entered, and one
// settles.
#include "tests/unit/runtime/waitstates/collective_members.h"

namespace dwell {

TEST_F(Collectives, AllWaitForTheLast) {
    CommDefinition* own = member(0);
    const uint64_t reals[] = {0, 12'000, 15'000, 9'000};
    for (int rank = 1; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    const Settled settled = classify(own, kOnAll);
    EXPECT_EQ(settled.sync, 5'000u);    // until rank 2 came
    EXPECT_EQ(settled.ticks, 10'000u);  // all lost the same
    EXPECT_EQ(settled.peer, 102u);
    EXPECT_EQ(settled.unknown, 0u);
}

TEST_F(Collectives, TheLatestOnTheVirtualClockDecides) {
    // Rank 1 came last, but only because it lost 3 000: unobserved, rank 2 would have. All met when
    // rank 1 came; what came after that took 5 000.
    CommDefinition* own = member(0);
    says(member(1), 15'000, kLost + 3'000);
    says(member(2), 14'000, kLost);
    says(member(3), 11'000, kLost);
    const Settled settled = classify(own, kOnAll);
    EXPECT_EQ(settled.sync, 4'000u);
    EXPECT_EQ(settled.ticks, 9'000u);
    EXPECT_EQ(settled.peer, 102u);
}

// What the caller tells the others takes none of MPI's time.
TEST_F(Collectives, MpiBeginsOnceTheOthersHaveBeenTold) {
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

TEST_F(Collectives, WhoCameFirstDoesNotMakeWait) {
    CommDefinition* own = member(0);
    for (int rank = 1; rank < kRanks; ++rank) says(member(rank), 9'000, kLost);
    EXPECT_EQ(classify(own, kOnAll).sync, 0u);
    // Nor does who came when the call was over.
    for (int rank = 1; rank < kRanks; ++rank) says(&joined[rank], 21'000, kLost);
    const Settled settled = classify(own, kOnAll);
    EXPECT_EQ(settled.sync, 0u);
    EXPECT_EQ(settled.ticks, 10'000u);
}

TEST_F(Collectives, WhoIsNotThereIsUnknown) {
    CommDefinition* own = member(0);
    says(member(1), 12'000, kLost);
    member(2);  // has a place, but said nothing; rank 3 is on another node
    const Settled settled = classify(own, kOnAll);
    EXPECT_EQ(settled.sync, 2'000u);
    EXPECT_EQ(settled.unknown, 1u);
    EXPECT_EQ(classify(own, {Dependence::kRoot, 1, nullptr}).unknown, 0u);
    EXPECT_EQ(classify(own, {Dependence::kRoot, 2, nullptr}).unknown, 1u);
    EXPECT_EQ(classify(own, {Dependence::kRoot, 3, nullptr}).unknown, 1u);
}

TEST_F(Collectives, MembersOutOfStepAreUnknown) {
    CommDefinition* own = member(0);
    for (int rank = 1; rank < kRanks; ++rank) says(member(rank), 12'000, kLost);
    CollectiveTable* table = joined[1].table;
    write_slot(slot_at(table, 1, table->own), 1, static_cast<uint32_t>(MpiCall::kBarrier),
               {{12'000, 11'000}, 77, kNoPeer, 0, 0});
    EXPECT_EQ(classify(own, kOnAll).unknown, 1u);
}

TEST_F(Collectives, RootedOnes) {
    const uint64_t reals[] = {13'000, 12'000, 15'000, 14'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
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

// MPI may keep who gives something until it is taken.
class Contributors : public Collectives {
  protected:
    static constexpr uint64_t kLarge = 4000;
    bool is_contributor = true;  // late who takes it are late receivers
    // Ranks come at these times, and the call ends at `left`; how long it waited, for whom, and
    // whether that is an estimate.
    struct Given {
        uint64_t sync;
        uint32_t peer;
        uint32_t estimated;
    };
    Given gives(const std::vector<uint64_t>& reals, int rank, const Depends& depends,
                uint64_t bytes, uint64_t left) {
        for (const auto& [key, name] : joined) release_table(name.table);
        joined.clear();
        const auto ranks = static_cast<int>(reals.size());
        for (int other = 0; other < ranks; ++other) {
            CommDefinition* name = member(other);
            name->table->members = static_cast<uint32_t>(ranks);
            says(name, reals[static_cast<size_t>(other)], kLost);
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
        const Settled settled = figures(&call);
        EXPECT_EQ(settled.unknown, 0u);
        EXPECT_EQ(late_receiver, is_contributor ? settled.sync : 0);
        return {settled.sync, settled.peer, estimated};
    }
};

constexpr Depends kOnRank0{Dependence::kRoot, 0, nullptr};
constexpr uint64_t kLateTicks = 10'000'000;

TEST_F(Contributors, WaitForWhoTakes) {
    const uint64_t came = kEntered + kLateTicks;
    const uint64_t left = came + 5'000;
    const Depends to_rank_1{Dependence::kToRoot, 1, nullptr};
    const Depends on_lower{Dependence::kUpTo, 0, nullptr};
    for (const Depends& depends : {kOnRank0, to_rank_1, on_lower}) {
        const Given given = gives({kEntered, came}, 0, depends, kLarge, left);
        EXPECT_EQ(given.sync, kLateTicks);
        EXPECT_EQ(given.peer, 101u);
        EXPECT_EQ(given.estimated, 0u);
        // A short message is copied. Who came before did not make it wait, nor who came after it
        // was over.
        EXPECT_EQ(gives({kEntered, came}, 0, depends, 256, left).sync, 0u);
        EXPECT_EQ(gives({kEntered, kEntered - 1}, 0, depends, kLarge, left).sync, 0u);
        EXPECT_EQ(gives({kEntered, left + 1}, 0, depends, kLarge, left).sync, 0u);
    }
    // Who gives nothing to the late one.
    EXPECT_EQ(gives({came, kEntered}, 1, on_lower, kLarge, came - 1).sync, 0u);
}

// What a call takes when all are there has not been measured here: it is nothing.
TEST_F(Contributors, OfSeveralWaitForTheLastThatCame) {
    const uint64_t came = kEntered + kLateTicks;
    const Given given = gives({kEntered, came - 9, came, came + 9}, 0, kOnRank0, kLarge, came);
    EXPECT_EQ(given.sync, kLateTicks);
    EXPECT_EQ(given.peer, 102u);
    EXPECT_EQ(given.estimated, 1u);
    // It went on when that one had come: not for that reason.
    const uint64_t soon = came + kLateTicks / 8;
    EXPECT_EQ(gives({kEntered, came - 9, came, came}, 0, kOnRank0, kLarge, soon).sync, kLateTicks);
    EXPECT_EQ(gives({kEntered, came - 9, came, came}, 0, kOnRank0, kLarge, soon + 1).sync, 0u);
    const Depends to_rank_1{Dependence::kToRoot, 1, nullptr};
    EXPECT_EQ(gives({kEntered, came, came - 9, 9'000}, 0, to_rank_1, kLarge, came).peer, 101u);
}

// What it lost by being observed the late one gives to who waits for it.
TEST_F(Contributors, TakeOverTheTakersIntrusion) {
    const uint64_t came = kEntered + kLateTicks;
    Given given = gives({kEntered, came}, 0, kOnRank0, kLarge, came + 5'000);
    EXPECT_EQ(given.sync, kLateTicks);
    Call call;
    says(&joined[1], came, kLost + 1'000'000);
    begin_at_virtual(&call);
    call.end_ticks = came + 5'000;
    call.ticks = kLateTicks + 5'000;
    classify_collective(&call, {&joined[0], joined[0].table, kCall, 1, false}, kOnRank0, kLarge);
    EXPECT_EQ(figures(&call).ticks, kLateTicks + 5'000 - 1'000'000);
}

// Who is no root, of a short message too, may wait for one through whom MPI passes on what it
// moves.
TEST_F(Contributors, OthersThanTheRootWaitForWhoIsBetween) {
    const uint64_t came = kEntered + kLateTicks;
    const uint64_t soon = came + kLateTicks / 8;
    for (const Dependence rule : {Dependence::kRoot, Dependence::kToRoot}) {
        const Depends on_rank_0{rule, 0, nullptr};
        constexpr uint64_t kShort = 8;
        is_contributor = false;
        Given given = gives({9'000, 9'000, came, kEntered}, 3, on_rank_0, kShort, soon);
        EXPECT_EQ(given.sync, kLateTicks);
        EXPECT_EQ(given.peer, 102u);
        EXPECT_EQ(given.estimated, 1u);
        // Not who came before, or after the call was over, or long before its end; nor where
        // nothing is moved.
        EXPECT_EQ(gives({9'000, 9'000, came, kEntered}, 3, on_rank_0, 0, soon).sync, 0u);
        EXPECT_EQ(gives({9'000, 9'000, kEntered, kEntered}, 3, on_rank_0, kShort, soon).sync, 0u);
        EXPECT_EQ(gives({9'000, 9'000, soon + 1, kEntered}, 3, on_rank_0, kShort, soon).sync, 0u);
        EXPECT_EQ(gives({9'000, 9'000, came, kEntered}, 3, on_rank_0, kShort, soon + 1).sync, 0u);
    }
    // Of the root it is known that it was waited for.
    const Given given = gives({came, 9'000, came - 1, kEntered}, 3, kOnRank0, 8, soon);
    EXPECT_EQ(given.peer, 100u);
    EXPECT_EQ(given.estimated, 0u);
}

TEST_F(Collectives, ScansWaitForLowerRanks) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    const uint64_t waited[] = {0, 1'000, 5'000, 5'000};
    for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(classify(&joined[rank], {Dependence::kUpTo, 0, nullptr}).sync, waited[rank]);
    }
}

TEST_F(Collectives, NothingIsWaitedForFromThoseWhoGiveNothing) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    const int counts[] = {5, 0, 1, 0};
    for (const bool request : {false, true}) {
        auto settled = [&](int rank, const Depends& depends) {
            return request ? classify_request(&joined[rank], depends)
                           : classify(&joined[rank], depends);
        };
        EXPECT_EQ(settled(0, {Dependence::kAll, 0, counts}).sync, 3'000u);
        EXPECT_EQ(settled(1, {Dependence::kAll, 0, counts}).sync, 3'000u);
        EXPECT_EQ(settled(2, {Dependence::kAll, 0, counts}).sync, 1'000u);
        EXPECT_EQ(settled(0, {Dependence::kToRoot, 0, counts}).sync, 3'000u);
        // Counts of a gather matter at its root alone.
        EXPECT_EQ(settled(1, {Dependence::kToRoot, 0, nullptr}).sync, 0u);
        EXPECT_EQ(settled(0, {Dependence::kAll, 0, counts}).unknown, 0u);
    }
}

TEST_F(Collectives, SourcesOfATopology) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
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
        for (const int rank : {0, 1}) says(member(rank, true, side), reals[side][rank], kLost);
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

// Whether it waits for its own group MPI leaves open: it did if it left after one of them had come.
TEST_F(Collectives, OwnGroupOfAnInterCommunicator) {
    for (const int rank : {0, 1}) {
        says(member(rank, true, 0), rank == 0 ? 9'000 : 15'000, kLost);
        says(member(rank, true, 1), rank == 0 ? 12'000 : 11'000, kLost);
    }
    CommDefinition* own = &joined[0];
    for (const bool request : {false, true}) {
        const auto settled = [&] {
            return request ? classify_request(own, kOnAll) : classify(own, kOnAll);
        };
        says(&joined[1], 15'000, kLost);
        Settled last = settled();
        EXPECT_EQ(last.sync, 5'000u);
        EXPECT_EQ(last.peer, 101u);
        EXPECT_EQ(last.estimated, 1u);
        EXPECT_EQ(last.unknown, 0u);
        // Before the other group was there, or not before it had left: those who must be waited
        // for are.
        for (const uint64_t came : {uint64_t{11'500}, kLeft + 1}) {
            says(&joined[1], came, kLost);
            last = settled();
            EXPECT_EQ(last.sync, 2'000u);
            EXPECT_EQ(last.peer, uint32_t{100 + kRanks});
            EXPECT_EQ(last.estimated, 0u);
        }
        // Nor in a broadcast, from the other group or its own.
        says(&joined[1], 15'000, kLost);
        EXPECT_EQ(classify(own, {Dependence::kRoot, 0, nullptr}).sync, 2'000u);
        EXPECT_EQ(classify(own, {Dependence::kRoot, MPI_PROC_NULL, nullptr}).sync, 0u);
    }
}

TEST_F(Collectives, AloneNobodyIsMet) {
    CommDefinition name{};
    name.members = 1;
    const Settled settled = classify(&name, kOnAll);
    EXPECT_EQ(settled.ticks, kLeft - kEntered);
    EXPECT_EQ(settled.unknown, 0u);
}

TEST_F(Collectives, WithoutANameNothingIsKnown) {
    Call call;
    begin_at_virtual(&call);
    classify_collective(&call, {}, kOnAll);
    EXPECT_EQ(figures(&call).unknown, 1u);
}

}  // namespace dwell
