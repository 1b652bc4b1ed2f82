#include "runtime/window_debts.h"

namespace dwell {

namespace {

uint32_t owed_units(uint64_t ticks) { return static_cast<uint32_t>(ticks >> kDebtShift); }

// Its entry, made when there is none. The table is never searched for longer than it is.
WindowPartner* partner_of(Board* board, uint32_t peer) {
    for (uint32_t tried = 0; tried < kWindowPartners; ++tried) {
        WindowPartner* partner = &board->partners[(peer + tried) % kWindowPartners];
        if (partner->peer == peer + 1) return partner;
        if (partner->peer != 0) continue;
        *partner = {peer + 1, 0, 0};
        return partner;
    }
    WindowPartner* partner = &board->partners[peer % kWindowPartners];
    *partner = {peer + 1, 0, 0};
    return partner;
}

// It makes the caller wait as far as that is not as late by itself.
void leave_out_own(const Thread& thread, const Board& board, WindowPartner* partner, Moment* said) {
    const uint64_t told = later(partner->waited, board.debt_told);
    leave_out_common(debt_since(thread.blame, told), said);
    partner->waited = thread.blame.owed_ticks;
}

}  // namespace

WindowDebt owe(Thread* thread, const Board& board, Moment* said) {
    Blame* blame = &thread->blame;
    const Debt all = debt_since(*blame, board.debt_told);
    if (all.ticks != 0) blame->debt_is_told = true;
    show_debt(all, said);
    WindowDebt owing{owed_units(blame->owed_ticks), {}, {}};
    for (uint32_t i = 0; i < kLevelPartners; ++i) {
        const LevelPartner& level = board.level[i];
        owing.peers[i] = level.peer;
        owing.news[i] = short_ticks(debt_since(*blame, later(level.told, board.debt_told)).ticks);
    }
    return owing;
}

void hear_partner(const Thread& thread, Board* board, uint32_t peer, const WindowDebt& owing,
                  Moment* said) {
    WindowPartner* partner = partner_of(board, peer);
    uint64_t news = uint64_t{owing.owed - partner->owed} << kDebtShift;
    for (uint32_t i = 0; i < kLevelPartners; ++i) {
        if (owing.peers[i] == static_cast<uint32_t>(g_process.header->rank)) {
            news = earlier(news, ticks_of(owing.news[i]));
        }
    }
    partner->owed = owing.owed;
    said->debt = short_ticks(earlier(news, ticks_of(said->debt)));
    leave_out_own(thread, *board, partner, said);
}

void hear_far_partner(const Thread& thread, Board* board, uint32_t peer, Moment* said) {
    leave_out_own(thread, *board, partner_of(board, peer), said);
}

// Of those that it waited for before the one that knows least gives way.
Level level_with(Board* board, uint32_t peer) {
    LevelPartner* least = &board->level[0];
    for (LevelPartner& level : board->level) {
        if (level.peer == peer) {
            least = &level;
            break;
        }
        if (level.told < least->told) least = &level;
    }
    if (least->peer != peer) *least = {peer, 0};
    return {&least->told, true, &partner_of(board, peer)->waited};
}

}  // namespace dwell
