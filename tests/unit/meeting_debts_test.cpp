// What members of a collective owe one another of their waiting: whom they tell of it, and how much
// of the delay of those who wait for them it is.
#include "tests/unit/meeting_members.h"

namespace dwell {

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

}  // namespace dwell
