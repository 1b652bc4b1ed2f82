// The collective rule (runtime/meetings.h): who is waited for, and how long, by arithmetic. Members
// of one process stand for processes; each writes when it entered, and one settles.
#include "runtime/meetings.h"

#include <map>
#include <vector>

#include "tests/unit/recording.h"

namespace dwell {

class Meetings : public Records {
  protected:
    // The rank that settles enters at kEntered and leaves at kLeft; what it lost before is 400.
    static constexpr uint64_t kEntered = 10'000;
    static constexpr uint64_t kLost = 400;
    static constexpr uint64_t kLeft = 20'000;
    static constexpr int kRanks = 4;
    static constexpr MpiCall kCall = MpiCall::kAllreduce;

    void SetUp() override {
        Records::SetUp();
        strcpy(g_process.record_dir, directory_.c_str());
        static bool opened = open_exchange(kRanks) && open_channels(kRanks);
        if (!opened) GTEST_SKIP() << "no invariant TSC";
        unlink_exchange();
        g_process.header->world_size = kRanks;
        g_mpi.comm_world = reinterpret_cast<MPI_Comm>(uintptr_t{64});
        g_mpi.comm_self = reinterpret_cast<MPI_Comm>(uintptr_t{128});
    }
    void TearDown() override {
        for (const auto& [rank, name] : joined) release_board(name.board);
        Records::TearDown();
    }

    CommName* member(int rank, bool inter = false, uint8_t side = 0) {
        static uint64_t id = 0;
        if (joined.empty()) ++id;
        CommName name{};
        name.id = 5000 + id;
        name.members = kRanks;
        name.size = inter ? kRanks / 2 : kRanks;
        name.rank = rank;
        name.inter = inter;
        name.side = side;
        const int key = rank + kRanks * side;
        joined[key] = name;
        g_process.header->rank = 100 + key;
        board_of(t_thread, &joined[key]);
        return &joined[key];
    }
    // It entered collective number 1 at `real`, having lost `lost` to observation.
    static void says(const CommName* name, uint64_t real, uint64_t lost, uint32_t number = 1) {
        const Board* board = name->board;
        write_slot(slot_at(board, number % kGenerations, board->own), number,
                   static_cast<uint32_t>(kCall), {{real, real - lost}, 77, kNoPeer, 0, 0});
    }
    struct Settled {
        uint64_t ticks;
        uint64_t sync;
        uint32_t unknown;
        uint32_t peer;
        uint32_t estimated;
    };
    Settled settle(CommName* name, const Depends& depends) {
        Call call;
        begin_at_virtual(&call);
        settle_meeting(&call, {name, name->board, kCall, 1, false}, depends);
        return figures(&call);
    }
    // A request that was posted as collective number 1, and waited for at the same time.
    Settled settle_request(CommName* name, const Depends& depends) {
        Call call;
        Request content{};
        begin_at_virtual(&call);
        remember_meeting(&call, {name, name->board, kCall, 1, false}, depends, &content);
        Waiting waiting(&call);
        add_meeting_to(&waiting, content);
        waiting.settle(&call, false);
        if (content.board != nullptr) release_board(content.board);
        return figures(&call);
    }
    // As its wrapper does, by the handle.
    Meeting enter_named(Call* call, CommName* name, Meets rule, int root) {
        CommName* known = find_name(name->handle);
        if (known == nullptr) {
            name_first_comms(kRanks);
            known = find_name(reinterpret_cast<uintptr_t>(g_mpi.comm_world));
            known->board = name->board;
            name->handle = known->handle;
            hold_board(name->board);
        }
        return enter_meeting(call, kCall, known->handle, rule, root);
    }
    void begin_at_virtual(Call* call) {
        forget();
        ASSERT_TRUE(begin(call, kCall, 100));
        t_thread->slow_ticks = 0;
        g_process.call_cost_ticks = 0;
        t_thread->record->intrusion_ticks = kLost;
        t_thread->last_ticks = kEntered;
        call->start_ticks = kEntered;
        call->end_ticks = kLeft;
        call->ticks = kLeft - kEntered;
    }
    Settled figures(Call* call) {
        Settled settled{call->ticks, call->part->sync_ticks, 0, kNoPeer, 0};
        if (call->part->wait != 0) {
            const auto* wait = cell_at<WaitPart>(call->part->wait);
            settled.unknown = wait->unknown;
            settled.estimated = wait->estimated;
            if (settled.sync != 0) {
                settled.peer = cell_at<PartnerRecord>(wait->last_partner)->peer;
            }
        }
        book_event(call, kSendReady);
        leave(call);
        return settled;
    }

    std::map<int, CommName> joined;
};

constexpr Depends kOnAll{Meets::kAll, 0, nullptr};

TEST_F(Meetings, AllWaitForTheLast) {
    CommName* own = member(0);
    const uint64_t reals[] = {0, 12'000, 15'000, 9'000};
    for (int rank = 1; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    const Settled settled = settle(own, kOnAll);
    EXPECT_EQ(settled.sync, 5'000u);    // until rank 2 came
    EXPECT_EQ(settled.ticks, 10'000u);  // all lost the same
    EXPECT_EQ(settled.peer, 102u);
    EXPECT_EQ(settled.unknown, 0u);
}

TEST_F(Meetings, TheLatestOnTheVirtualClockDecides) {
    // Rank 1 came last, but only because it lost 3 000: unobserved, rank 2 would have. All met when
    // rank 1 came; what came after that took 5 000.
    CommName* own = member(0);
    says(member(1), 15'000, kLost + 3'000);
    says(member(2), 14'000, kLost);
    says(member(3), 11'000, kLost);
    const Settled settled = settle(own, kOnAll);
    EXPECT_EQ(settled.sync, 4'000u);
    EXPECT_EQ(settled.ticks, 9'000u);
    EXPECT_EQ(settled.peer, 102u);
}

TEST_F(Meetings, WhoCameFirstDoesNotMakeWait) {
    CommName* own = member(0);
    for (int rank = 1; rank < kRanks; ++rank) says(member(rank), 9'000, kLost);
    EXPECT_EQ(settle(own, kOnAll).sync, 0u);
    // Nor does who came when the call was over.
    for (int rank = 1; rank < kRanks; ++rank) says(&joined[rank], 21'000, kLost);
    const Settled settled = settle(own, kOnAll);
    EXPECT_EQ(settled.sync, 0u);
    EXPECT_EQ(settled.ticks, 10'000u);
}

TEST_F(Meetings, WhoIsNotThereIsUnknown) {
    CommName* own = member(0);
    says(member(1), 12'000, kLost);
    member(2);  // has a place, but said nothing; rank 3 is on another node
    const Settled settled = settle(own, kOnAll);
    EXPECT_EQ(settled.sync, 2'000u);
    EXPECT_EQ(settled.unknown, 1u);
    EXPECT_EQ(settle(own, {Meets::kRoot, 1, nullptr}).unknown, 0u);
    EXPECT_EQ(settle(own, {Meets::kRoot, 2, nullptr}).unknown, 1u);
    EXPECT_EQ(settle(own, {Meets::kRoot, 3, nullptr}).unknown, 1u);
}

TEST_F(Meetings, MembersOutOfStepAreUnknown) {
    CommName* own = member(0);
    for (int rank = 1; rank < kRanks; ++rank) says(member(rank), 12'000, kLost);
    Board* board = joined[1].board;
    write_slot(slot_at(board, 1, board->own), 1, static_cast<uint32_t>(MpiCall::kBarrier),
               {{12'000, 11'000}, 77, kNoPeer, 0, 0});
    EXPECT_EQ(settle(own, kOnAll).unknown, 1u);
}

TEST_F(Meetings, RootedOnes) {
    const uint64_t reals[] = {13'000, 12'000, 15'000, 14'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    for (int root = 0; root < kRanks; ++root) {
        for (int rank = 0; rank < kRanks; ++rank) {
            const uint64_t waits_for_root = rank == root ? 0 : reals[root] - kEntered;
            EXPECT_EQ(settle(&joined[rank], {Meets::kRoot, root, nullptr}).sync, waits_for_root);
            const uint64_t last = rank == 2 ? 14'000 : 15'000;
            EXPECT_EQ(settle(&joined[rank], {Meets::kToRoot, root, nullptr}).sync,
                      rank == root ? last - kEntered : 0);
            EXPECT_EQ(settle_request(&joined[rank], {Meets::kToRoot, root, nullptr}).sync,
                      rank == root ? last - kEntered : 0);
        }
    }
}

// MPI may keep who gives something until it is taken.
class Givers : public Meetings {
  protected:
    static constexpr uint64_t kLarge = 4000;
    bool is_giver = true;  // late who takes it are late receivers
    // Ranks come at these times, and the call ends at `left`; how long it waited, for whom, and
    // whether that is an estimate.
    struct Given {
        uint64_t sync;
        uint32_t peer;
        uint32_t estimated;
    };
    Given gives(const std::vector<uint64_t>& reals, int rank, const Depends& depends,
                uint64_t bytes, uint64_t left) {
        for (const auto& [key, name] : joined) release_board(name.board);
        joined.clear();
        const auto ranks = static_cast<int>(reals.size());
        for (int other = 0; other < ranks; ++other) {
            CommName* name = member(other);
            name->board->members = static_cast<uint32_t>(ranks);
            says(name, reals[static_cast<size_t>(other)], kLost);
        }
        Call call;
        begin_at_virtual(&call);
        call.end_ticks = left;
        call.ticks = left - kEntered;
        CommName* own = &joined[rank];
        settle_meeting(&call, {own, own->board, kCall, 1, false}, depends, bytes);
        const uint32_t estimated =
            call.part->wait != 0 ? cell_at<WaitPart>(call.part->wait)->estimated : 0;
        const uint64_t late_receiver =
            call.part->wait != 0 ? cell_at<WaitPart>(call.part->wait)->late_receiver_ticks : 0;
        const Settled settled = figures(&call);
        EXPECT_EQ(settled.unknown, 0u);
        EXPECT_EQ(late_receiver, is_giver ? settled.sync : 0);
        return {settled.sync, settled.peer, estimated};
    }
};

constexpr Depends kOnRank0{Meets::kRoot, 0, nullptr};
constexpr uint64_t kLateTicks = 10'000'000;

TEST_F(Givers, WaitForWhoTakes) {
    const uint64_t came = kEntered + kLateTicks;
    const uint64_t left = came + 5'000;
    const Depends to_rank_1{Meets::kToRoot, 1, nullptr};
    const Depends on_lower{Meets::kUpTo, 0, nullptr};
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
TEST_F(Givers, OfSeveralWaitForTheLastThatCame) {
    const uint64_t came = kEntered + kLateTicks;
    const Given given = gives({kEntered, came - 9, came, came + 9}, 0, kOnRank0, kLarge, came);
    EXPECT_EQ(given.sync, kLateTicks);
    EXPECT_EQ(given.peer, 102u);
    EXPECT_EQ(given.estimated, 1u);
    // It went on when that one had come: not for that reason.
    const uint64_t soon = came + kLateTicks / 8;
    EXPECT_EQ(gives({kEntered, came - 9, came, came}, 0, kOnRank0, kLarge, soon).sync, kLateTicks);
    EXPECT_EQ(gives({kEntered, came - 9, came, came}, 0, kOnRank0, kLarge, soon + 1).sync, 0u);
    const Depends to_rank_1{Meets::kToRoot, 1, nullptr};
    EXPECT_EQ(gives({kEntered, came, came - 9, 9'000}, 0, to_rank_1, kLarge, came).peer, 101u);
}

// What it lost by being observed the late one gives to who waits for it.
TEST_F(Givers, TakeOverTheTakersIntrusion) {
    const uint64_t came = kEntered + kLateTicks;
    Given given = gives({kEntered, came}, 0, kOnRank0, kLarge, came + 5'000);
    EXPECT_EQ(given.sync, kLateTicks);
    Call call;
    says(&joined[1], came, kLost + 1'000'000);
    begin_at_virtual(&call);
    call.end_ticks = came + 5'000;
    call.ticks = kLateTicks + 5'000;
    settle_meeting(&call, {&joined[0], joined[0].board, kCall, 1, false}, kOnRank0, kLarge);
    EXPECT_EQ(figures(&call).ticks, kLateTicks + 5'000 - 1'000'000);
}

// Who is no root, of a short message too, may wait for one through whom MPI passes on what it
// moves.
TEST_F(Givers, OthersThanTheRootWaitForWhoIsBetween) {
    const uint64_t came = kEntered + kLateTicks;
    const uint64_t soon = came + kLateTicks / 8;
    for (const Meets rule : {Meets::kRoot, Meets::kToRoot}) {
        const Depends on_rank_0{rule, 0, nullptr};
        constexpr uint64_t kShort = 8;
        is_giver = false;
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

TEST_F(Meetings, ScansWaitForLowerRanks) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    const uint64_t waited[] = {0, 1'000, 5'000, 5'000};
    for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(settle(&joined[rank], {Meets::kUpTo, 0, nullptr}).sync, waited[rank]);
    }
}

TEST_F(Meetings, NothingIsWaitedForFromThoseWhoGiveNothing) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    const int counts[] = {5, 0, 1, 0};
    for (const bool request : {false, true}) {
        auto settled = [&](int rank, const Depends& depends) {
            return request ? settle_request(&joined[rank], depends)
                           : settle(&joined[rank], depends);
        };
        EXPECT_EQ(settled(0, {Meets::kAll, 0, counts}).sync, 3'000u);
        EXPECT_EQ(settled(1, {Meets::kAll, 0, counts}).sync, 3'000u);
        EXPECT_EQ(settled(2, {Meets::kAll, 0, counts}).sync, 1'000u);
        EXPECT_EQ(settled(0, {Meets::kToRoot, 0, counts}).sync, 3'000u);
        // Counts of a gather matter at its root alone.
        EXPECT_EQ(settled(1, {Meets::kToRoot, 0, nullptr}).sync, 0u);
        EXPECT_EQ(settled(0, {Meets::kAll, 0, counts}).unknown, 0u);
    }
}

TEST_F(Meetings, SourcesOfATopology) {
    const uint64_t reals[] = {11'000, 15'000, 13'000, 19'000};
    for (int rank = 0; rank < kRanks; ++rank) says(member(rank), reals[rank], kLost);
    FewRanks* sources = &joined[0].board->sources;
    *sources = {3, true, {2, MPI_PROC_NULL, 1}};
    EXPECT_EQ(settle(&joined[0], {Meets::kSources, 0, nullptr}).sync, 5'000u);
    const int counts[] = {1, 1, 0};
    EXPECT_EQ(settle(&joined[0], {Meets::kSources, 0, counts}).sync, 3'000u);
    EXPECT_EQ(settle_request(&joined[0], {Meets::kSources, 0, counts}).sync, 3'000u);
}

TEST_F(Meetings, InterCommunicators) {
    // Ranks 0 and 1 on each side.
    const uint64_t reals[2][2] = {{11'000, 15'000}, {13'000, 19'000}};
    for (const uint8_t side : {uint8_t{0}, uint8_t{1}}) {
        for (const int rank : {0, 1}) says(member(rank, true, side), reals[side][rank], kLost);
    }
    CommName* low = &joined[0];            // rank 0 of side 0
    CommName* high = &joined[kRanks + 1];  // rank 1 of side 1
    EXPECT_EQ(settle(low, kOnAll).sync, 9'000u);
    EXPECT_EQ(settle(high, kOnAll).sync, 5'000u);
    EXPECT_EQ(settle(high, kOnAll).unknown, 0u);
    EXPECT_EQ(settle(high, {Meets::kEverybody, 0, nullptr}).sync, 5'000u);
    EXPECT_EQ(settle(high, {Meets::kRoot, 0, nullptr}).sync, 1'000u);
    EXPECT_EQ(settle(high, {Meets::kRoot, MPI_ROOT, nullptr}).sync, 0u);
    EXPECT_EQ(settle(high, {Meets::kRoot, MPI_PROC_NULL, nullptr}).unknown, 0u);
    EXPECT_EQ(settle(high, {Meets::kToRoot, MPI_ROOT, nullptr}).sync, 5'000u);
    EXPECT_EQ(settle(high, {Meets::kToRoot, 0, nullptr}).sync, 0u);
}

// Whether it waits for its own group MPI leaves open: it did if it left after one of them had come.
TEST_F(Meetings, OwnGroupOfAnInterCommunicator) {
    for (const int rank : {0, 1}) {
        says(member(rank, true, 0), rank == 0 ? 9'000 : 15'000, kLost);
        says(member(rank, true, 1), rank == 0 ? 12'000 : 11'000, kLost);
    }
    CommName* own = &joined[0];
    for (const bool request : {false, true}) {
        const auto settled = [&] {
            return request ? settle_request(own, kOnAll) : settle(own, kOnAll);
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
        EXPECT_EQ(settle(own, {Meets::kRoot, 0, nullptr}).sync, 2'000u);
        EXPECT_EQ(settle(own, {Meets::kRoot, MPI_PROC_NULL, nullptr}).sync, 0u);
    }
}

TEST_F(Meetings, DebtIsToldOnceAndToThoseWhoHearIt) {
    CommName* own = member(0);
    const Board* board = member(1)->board;
    own->handle = 4096;
    auto debt_told = [&](Meets rule, int root) {
        Call call;
        begin_at_virtual(&call);
        t_thread->blame = {};
        t_thread->blame.debt_ticks = t_thread->blame.owed_ticks = 512u << kDebtShift;
        t_thread->blame.cause_peer = 3;
        const Meeting meeting = enter_named(&call, own, rule, root);
        Moment said;
        EXPECT_EQ(read_slot(slot_at(board, meeting.number % kGenerations, own->board->own),
                            meeting.number, static_cast<uint32_t>(kCall), &said),
                  Said::kThis);
        // MPI's work begins behind what dwell did since the call began.
        EXPECT_LT(said.at.real, kEntered + call.before_ticks);
        EXPECT_GE(now_ticks(), kEntered + call.before_ticks);
        EXPECT_EQ(said.at.virt, kEntered - kLost);
        figures(&call);
        return said.debt;
    };
    // Who may look at what this rank says has not been told.
    EXPECT_EQ(debt_told(Meets::kRoot, 1), 512u);
    EXPECT_EQ(debt_told(Meets::kToRoot, 0), 512u);
    EXPECT_EQ(debt_told(Meets::kToRoot, 1), 512u);
    EXPECT_EQ(debt_told(Meets::kToRoot, 1), 0u);  // the root has heard of it
    EXPECT_EQ(debt_told(Meets::kAll, 0), 512u);   // but nobody else
    EXPECT_EQ(debt_told(Meets::kAll, 0), 0u);
    EXPECT_EQ(debt_told(Meets::kToRoot, 1), 0u);
}

// What the neighbours in a topology have heard the other members have not.
TEST_F(Meetings, DebtIsToldToNeighboursAndToAll) {
    CommName* own = member(0);
    const Board* board = member(1)->board;
    own->handle = 4096;
    auto debt_told = [&](Meets rule) {
        Call call;
        begin_at_virtual(&call);
        t_thread->blame = {};
        t_thread->blame.debt_ticks = t_thread->blame.owed_ticks = 512u << kDebtShift;
        t_thread->blame.cause_peer = 3;
        const Meeting meeting = enter_named(&call, own, rule, 0);
        Moment said{};
        read_slot(slot_at(board, meeting.number % kGenerations, own->board->own), meeting.number,
                  static_cast<uint32_t>(kCall), &said);
        figures(&call);
        return said.debt;
    };
    EXPECT_EQ(debt_told(Meets::kSources), 512u);
    EXPECT_EQ(debt_told(Meets::kSources), 0u);
    EXPECT_EQ(debt_told(Meets::kAll), 512u);
    EXPECT_EQ(debt_told(Meets::kAll), 0u);
    EXPECT_EQ(debt_told(Meets::kSources), 0u);
}

// Rank 3 made rank 1 wait 3 units, and the one that settles 2; that one then waits 3 units for
// rank 1.
class Debts : public Meetings {
  protected:
    static constexpr uint64_t kUnit = uint64_t{1} << kDebtShift;
    static constexpr uint32_t kPath = 55;

    void SetUp() override {
        Meetings::SetUp();
        if (IsSkipped()) return;
        own_ = member(0);
        for (int rank = 1; rank < kRanks; ++rank) says(member(rank), 9'000, kLost);
        g_process.header->rank = 100;
        say(joined[1], kEntered + 3 * kUnit, cause_);
    }
    static void say(const CommName& name, uint64_t real, const Debt& debt) {
        const Board* board = name.board;
        write_slot(
            slot_at(board, 1, board->own), 1, static_cast<uint32_t>(kCall),
            {{real, real - kLost}, 77, debt.cause_peer, debt.cause_path, short_ticks(debt.ticks)});
    }
    // Of the 3 units, how many are passed on; the caller is late by `own` itself, of which the
    // members have heard of `told` before.
    uint64_t passed_on(const Depends& depends, const Debt& own, uint64_t told = 0,
                       bool request = false) {
        Call call;
        Request content{};
        begin_at_virtual(&call);
        Blame* blame = &t_thread->blame;
        *blame = {};
        blame->cause_peer = own.cause_peer;
        blame->cause_path = own.cause_path;
        blame->debt_ticks = blame->owed_ticks = own.ticks;
        own_->board->debt_told = told;
        const Meeting meeting{own_, own_->board, kCall, 1, false};
        if (request) {
            remember_meeting(&call, meeting, depends, &content);
            Waiting waiting(&call);
            add_meeting_to(&waiting, content);
            waiting.settle(&call, false);
            release_board(content.board);
        } else {
            settle_meeting(&call, meeting, depends);
        }
        const uint64_t passed = cell_at<WaitPart>(call.part->wait)->passed_on_ticks;
        EXPECT_EQ(figures(&call).sync, 3 * kUnit);
        return passed / kUnit;
    }
    uint64_t untold() const { return t_thread->blame.owed_ticks - own_->board->debt_told; }

    CommName* own_ = nullptr;
    Debt cause_{103, kPath, 3 * kUnit};
};

TEST_F(Debts, ArePassedOnAsFarAsTheHearerIsNotAsLate) {
    const Depends on_root{Meets::kRoot, 1, nullptr};
    const Debt two{103, kPath, 2 * kUnit};
    EXPECT_EQ(passed_on(on_root, {}), 3u);
    EXPECT_EQ(untold(), 0u);  // all heard the root's
    EXPECT_EQ(passed_on(on_root, two), 1u);
    EXPECT_EQ(untold(), 3 * kUnit);  // what the root caused itself; the two have been told
    // All know that they had been made late before.
    EXPECT_EQ(passed_on(on_root, two, 2 * kUnit), 3u);
    // Another computation of rank 3, or another rank.
    EXPECT_EQ(passed_on(on_root, {103, kPath + 1, 2 * kUnit}), 3u);
    EXPECT_EQ(passed_on(on_root, {102, kPath, 2 * kUnit}), 3u);
}

TEST_F(Debts, OfTheHearersOwnComputationAreNotPassedOn) {
    const Depends on_root{Meets::kRoot, 1, nullptr};
    say(joined[1], kEntered + 3 * kUnit, {100, kPath, 3 * kUnit});
    for (const bool request : {false, true}) {
        EXPECT_EQ(passed_on(on_root, {}, 0, request), 0u);
        EXPECT_EQ(passed_on(kOnAll, {}, 0, request), 0u);
        EXPECT_EQ(t_thread->blame.cause_peer, 101u);  // it is late because of rank 1 now
    }
}

TEST_F(Debts, AreLevelAfterWhatWaitsForAll) {
    const Debt two{103, kPath, 2 * kUnit};
    for (const bool request : {false, true}) {
        say(*own_, kEntered, two);  // as it told on entering
        EXPECT_EQ(passed_on(kOnAll, two, 2 * kUnit, request), 1u);
        EXPECT_EQ(untold(), 0u);
        say(*own_, kEntered, {kNoPeer, 0, 0});
        EXPECT_EQ(passed_on(kOnAll, two, 2 * kUnit, request), 3u);
    }
    // Who waits for some does not know of the others.
    own_->board->sources = {1, true, {1}};
    say(*own_, kEntered, {kNoPeer, 0, 0});
    EXPECT_EQ(passed_on({Meets::kSources, 0, nullptr}, {}), 3u);
    EXPECT_EQ(untold(), 3 * kUnit);
}

// The caller told its neighbours of its waiting as it entered. That was for rank 1, so it is not as
// late as rank 1 will be after the next waiting.
TEST_F(Debts, OfNeighboursAreComparedWithEachOfThem) {
    const Depends on_sources{Meets::kSources, 0, nullptr};
    const Debt two{103, kPath, 2 * kUnit};
    own_->board->sources = {2, true, {2, 1}};
    uint64_t* heard_of = own_->board->heard_of;
    say(*own_, kEntered, two);
    EXPECT_EQ(passed_on(on_sources, two), 1u);  // of rank 1 it had not heard since
    EXPECT_EQ(heard_of[0], 2 * kUnit);          // of rank 2 it has, before it waited
    EXPECT_EQ(heard_of[1], 5 * kUnit);          // for rank 1
    heard_of[1] = 2 * kUnit;
    EXPECT_EQ(passed_on(on_sources, two, 0, true), 3u);
}

// Rank 1's moment is for all whom it posted to: what it owes is new to the caller once.
TEST_F(Debts, OfEpochsAreHeardOnceByEachPartner) {
    Board* board = own_->board;
    board->targets = {1, true, {1}};
    uint64_t waited = 0;
    const auto passed = [&](uint32_t owed, uint64_t level, uint64_t own) {
        const WindowDebt owing{
            owed, {short_ticks(level), 0}, {level != 0 ? 100 : kNoPeer, kNoPeer}};
        write_slot(slot_at(board, kPostRow, joined[1].board->own), 1,
                   static_cast<uint32_t>(MpiCall::kWin_post),
                   {{kEntered + 3 * kUnit, kEntered + 3 * kUnit - kLost},
                    77,
                    cause_.cause_peer,
                    cause_.cause_path,
                    short_ticks(cause_.ticks)},
                   &owing);
        Call call;
        begin_at_virtual(&call);
        Blame* blame = &t_thread->blame;
        *blame = {};
        blame->cause_peer = cause_.cause_peer;
        blame->cause_path = kPath;
        blame->debt_ticks = own;
        blame->owed_ticks = waited + own;
        settle_epoch(&call, {own_, board, {}}, Epoch::kComplete, nullptr, nullptr);
        const uint64_t ticks = cell_at<WaitPart>(call.part->wait)->passed_on_ticks;
        waited = blame->owed_ticks;
        EXPECT_EQ(figures(&call).sync, 3 * kUnit);
        return ticks / kUnit;
    };
    EXPECT_EQ(passed(7, 0, 0), 3u);
    EXPECT_EQ(passed(7, 0, 0), 0u);           // it has heard that
    EXPECT_EQ(passed(9, 0, 0), 2u);           // of these two units not
    EXPECT_EQ(passed(12, kUnit, 0), 1u);      // for two of these rank 1 waited for the caller
    EXPECT_EQ(passed(15, 0, 2 * kUnit), 1u);  // as late for the same cause since it waited for it
    EXPECT_EQ(board->level[0].peer, 101u);
    EXPECT_EQ(board->level[0].told, waited);
    EXPECT_EQ(board->debt_told, 0u);
}

TEST_F(Debts, OfAReductionAreNotKnownToOthersThanTheRoot) {
    const Depends to_root{Meets::kToRoot, 0, nullptr};
    EXPECT_EQ(passed_on(to_root, {}), 3u);
    EXPECT_EQ(untold(), 3 * kUnit);
}

TEST_F(Meetings, AloneNobodyIsMet) {
    CommName name{};
    name.members = 1;
    const Settled settled = settle(&name, kOnAll);
    EXPECT_EQ(settled.ticks, kLeft - kEntered);
    EXPECT_EQ(settled.unknown, 0u);
}

TEST_F(Meetings, WithoutANameNothingIsKnown) {
    Call call;
    begin_at_virtual(&call);
    settle_meeting(&call, {}, kOnAll);
    EXPECT_EQ(figures(&call).unknown, 1u);
}

}  // namespace dwell
