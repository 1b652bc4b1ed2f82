// What partners in a window's epochs say of their waiting (runtime/window_debts.h): what is new to
// whom, by arithmetic.
#include "runtime/window_debts.h"

#include "tests/unit/recording.h"

namespace dwell {

class WindowDebts : public Records {
  protected:
    static constexpr uint64_t kUnit = uint64_t{1} << kDebtShift;

    void SetUp() override {
        Records::SetUp();
        for (LevelPartner& level : board_.level) level = {kNoPeer, 0};
        g_process.header->rank = 0;
        t_thread->blame = {};
    }
    void wait_for(uint64_t units, uint32_t cause_peer) {
        Blame* blame = &t_thread->blame;
        if (blame->cause_peer != cause_peer) blame->debt_ticks = 0;
        blame->cause_peer = cause_peer;
        blame->debt_ticks += units * kUnit;
        blame->owed_ticks += units * kUnit;
    }
    // Units of debt in what is said now, and of these new to rank 0.
    uint64_t said() {
        Moment moment{{1, 1}, 0, kNoPeer, 0, 0};
        owe(t_thread, board_, &moment);
        return ticks_of(moment.debt) / kUnit;
    }
    uint64_t heard(uint32_t peer, const WindowDebt& owing, uint64_t debt, uint32_t cause_peer = 9) {
        Moment moment{{1, 1}, 0, cause_peer, 0, short_ticks(debt * kUnit)};
        hear_partner(*t_thread, &board_, peer, owing, &moment);
        return ticks_of(moment.debt) / kUnit;
    }

    Board board_{};
};

TEST_F(WindowDebts, AllIsSaidUntilAllMembersHaveHeard) {
    wait_for(5, 3);
    EXPECT_EQ(said(), 5u);
    EXPECT_EQ(said(), 5u);
    board_.debt_told = 2 * kUnit;
    EXPECT_EQ(said(), 3u);
    board_.debt_told = t_thread->blame.owed_ticks;
    EXPECT_EQ(said(), 0u);
}

TEST_F(WindowDebts, WhoWasWaitedForHearsWhatCameAfter) {
    for (const uint32_t peer : {4u, 5u}) {
        const Level level = level_with(&board_, peer);
        wait_for(5, 3);
        *level.told = t_thread->blame.owed_ticks;
    }
    wait_for(2, 3);
    const auto news = [&](uint32_t peer) {
        Moment moment{{1, 1}, 0, kNoPeer, 0, 0};
        const WindowDebt owing = owe(t_thread, board_, &moment);
        EXPECT_EQ(owing.owed, 12u);
        for (uint32_t i = 0; i < kLevelPartners; ++i) {
            if (owing.peers[i] == peer) return ticks_of(owing.news[i]) / kUnit;
        }
        return ticks_of(moment.debt) / kUnit;
    };
    EXPECT_EQ(news(4), 7u);
    EXPECT_EQ(news(5), 2u);
    EXPECT_EQ(news(6), 12u);
    // The next one takes the place of the one that knows least, also where it is not waited for.
    level_with(&board_, 6);
    EXPECT_EQ(news(4), 12u);
    EXPECT_EQ(news(5), 2u);
    EXPECT_EQ(news(6), 12u);
}

TEST_F(WindowDebts, EachPartnerIsHeardByItself) {
    EXPECT_EQ(heard(4, {6, {}, {kNoPeer, kNoPeer}}, 6), 6u);
    EXPECT_EQ(heard(4, {6, {}, {kNoPeer, kNoPeer}}, 6), 0u);
    EXPECT_EQ(heard(5, {9, {}, {kNoPeer, kNoPeer}}, 6), 6u);
    EXPECT_EQ(heard(4, {8, {}, {kNoPeer, kNoPeer}}, 6), 2u);
    // It had waited for rank 0, 3 units ago; or for somebody else.
    EXPECT_EQ(heard(4, {18, {0, short_ticks(3 * kUnit)}, {kNoPeer, 0}}, 6), 3u);
    EXPECT_EQ(heard(4, {28, {0, short_ticks(3 * kUnit)}, {kNoPeer, 1}}, 6), 6u);
}

TEST_F(WindowDebts, TheHearersOwnIsLeftOutAsFarAsItIsNew) {
    wait_for(2, 9);
    EXPECT_EQ(heard(4, {6, {}, {kNoPeer, kNoPeer}}, 6), 4u);
    EXPECT_EQ(heard(4, {12, {}, {kNoPeer, kNoPeer}}, 6), 6u);
    EXPECT_EQ(heard(5, {6, {}, {kNoPeer, kNoPeer}}, 6), 4u);
    EXPECT_EQ(heard(6, {6, {}, {kNoPeer, kNoPeer}}, 6, 8), 6u);  // another cause
    wait_for(1, 9);
    board_.debt_told = 2 * kUnit;
    EXPECT_EQ(heard(7, {6, {}, {kNoPeer, kNoPeer}}, 6), 5u);
}

// More partners than it keeps apart: some hear all again, and nothing else happens.
TEST_F(WindowDebts, ManyPartners) {
    for (int round = 0; round < 3; ++round) {
        for (uint32_t peer = 0; peer < 3 * kWindowPartners; ++peer) {
            const uint64_t news = heard(peer, {6, {}, {kNoPeer, kNoPeer}}, 6);
            EXPECT_TRUE(news == 6 || (round != 0 && news == 0));
        }
    }
}

}  // namespace dwell
