// The wait analysis of a window's synchronisation: epochs of some of its members, and locks.
#include "runtime/mpi/mpi_handles.h"
#include "runtime/waitstates/latest.h"
#include "runtime/waitstates/meetings.h"

namespace dwell {

namespace {

// The ranks in the window of those in the group.
void read_group(MPI_Win win, MPI_Group group, FewRanks* list) {
    int every[kMostRanks];
    list->known = false;
    const int size = size_of(group);
    if (size > static_cast<int>(kMostRanks)) return;
    MPI_Group all = group_of(win);
    for (int i = 0; i < size; ++i) every[i] = i;
    list->known = translate(group, size, every, all, list->ranks);
    list->count = static_cast<uint32_t>(size);
    free_group(&all);
}

// A partner's slot, as far as it had come before the end.
void add_partner(const BoardSlot* slot, uint32_t number, MpiCall call, uint32_t peer,
                 Latest* latest) {
    Moment said;
    switch (read_slot(slot, number, static_cast<uint32_t>(call), &said)) {
        case Said::kThis:
            if (said.at.real > latest->waiting().left()) break;
            latest->add(said, peer);
            break;
        case Said::kLater:
            latest->add_later();
            break;
        case Said::kNothingYet:
            latest->add_unknown();
            break;
    }
}

// What members of this host said last in this row. With `all_came`, they must have.
void add_row(const Board* board, const FewRanks& list, const FarMembers* far, BoardRow row,
             MpiCall call, bool all_came, Latest* latest) {
    for (uint32_t k = 0; k < list.count; ++k) {
        if (list.ranks[k] == board->rank) continue;
        const BoardMember* member = find_member(*board, list.ranks[k]);
        const BoardSlot* slot =
            member != nullptr ? slot_at(board, row, static_cast<uint32_t>(member - board->places))
                              : nullptr;
        const uint32_t number =
            slot != nullptr ? __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) : 0;
        if (number != 0) {
            add_partner(slot, number, call, member->peer, latest);
        } else if (all_came && (far == nullptr || !is_far_member(*far, list.ranks[k]))) {
            latest->add_unknown();
        }
    }
}

FarMembers* far_of(const CommName* name) {
    return name != nullptr && name->far_state == FarState::kKnown ? name->far : nullptr;
}

bool begins(Epoch epoch) { return epoch == Epoch::kPost || epoch == Epoch::kStart; }
bool is_heard(Epoch epoch) { return epoch == Epoch::kPost || epoch == Epoch::kComplete; }

void set_partners(Board* board, bool posts, const FewRanks& list) {
    (posts ? board->origins : board->targets) = list;
}

// Partners of the epoch that begins, where they are looked for when it ends.
void know_partners(const EpochCall& told, Epoch epoch, MPI_Win win, MPI_Group group) {
    FewRanks list{};
    read_group(win, group, &list);
    const bool posts = epoch == Epoch::kPost;
    if (told.board != nullptr) set_partners(told.board, posts, list);
    FarMembers* far = far_of(told.name);
    if (far == nullptr) return;
    set_partners(&far->alone, posts, list);
    count_epoch(far, epoch, list);
}

// With `all_came`, the call could not end before its partners were there. MPI_Win_start may wait
// for them or leave that to what follows.
void add_epoch(const EpochCall& told, Epoch epoch, bool all_came, Waiting* waiting) {
    const bool for_posts = epoch != Epoch::kWait;
    FarMembers* far = far_of(told.name);
    Board* board = told.board != nullptr ? told.board : &far->alone;
    const FewRanks& list = for_posts ? board->targets : board->origins;
    if (!list.known) {
        waiting->add_unknown();
        return;
    }
    Latest latest(waiting);
    add_row(board, list, far, for_posts ? kPostRow : kCompleteRow,
            for_posts ? MpiCall::kWin_post : MpiCall::kWin_complete, all_came, &latest);
    if (far != nullptr && all_came) {
        FarHeard heard = hear_epoch_far(waiting->thread(), far, epoch, waiting->left());
        latest.add_far(heard);
        if (heard.count < heard.partners) latest.add_unknown();
    }
    latest.finish();
}

}  // namespace

EpochCall enter_epoch(Call* call, Epoch epoch, MPI_Win win) {
    CommName* name = find_name(reinterpret_cast<uintptr_t>(win));
    if (name == nullptr || name->members < 2) return {};
    const uint64_t slow_ticks = call->thread->slow_ticks;
    Board* board = board_of(call->thread, name);
    FarMembers* far = far_of(name);
    if (call->thread->slow_ticks != slow_ticks) start(call);
    EpochCall told{name, board, {}};
    if (board == nullptr && far == nullptr) return told;
    told.entered = moment_of(call);
    told.entered.at.real = now_ticks();
    begin_work(call, told.entered.at.real);
    if (!is_heard(epoch)) return told;
    if (far != nullptr && epoch == Epoch::kComplete) {
        tell_epoch_far(call, far, epoch, told.entered);
        begin_work(call, now_ticks());
    }
    if (board == nullptr) return told;
    const bool posts = epoch == Epoch::kPost;
    BoardSlot* slot = slot_at(board, posts ? kPostRow : kCompleteRow, board->own);
    const uint32_t number = slot->number + 1;
    write_slot(slot, number != 0 ? number : 1,
               static_cast<uint32_t>(posts ? MpiCall::kWin_post : MpiCall::kWin_complete),
               told.entered);
    begin_work(call, now_ticks());
    return told;
}

void pass_epoch(Epoch epoch, MPI_Win win, MPI_Group group) {
    if (!waits_are_open() || g_live->on == 0) return;
    const EpochCall told{find_name(reinterpret_cast<uintptr_t>(win)), nullptr, {}};
    if (begins(epoch) && far_of(told.name) != nullptr) know_partners(told, epoch, win, group);
}

void settle_epoch(Call* call, const EpochCall& told, Epoch epoch, MPI_Win win, MPI_Group group) {
    if (!waits_are_open()) return;
    Waiting waiting(call);
    CommName* name = told.name;
    if (name != nullptr && is_not_looked(name->far_state)) {
        const MeasuredLook look(call);
        find_far_members(call->thread, name);
    }
    if (told.board == nullptr && far_of(name) == nullptr) {
        waiting.add_unknown();
    } else {
        if (begins(epoch)) know_partners(told, epoch, win, group);
        if (epoch == Epoch::kPost && told.entered.at.real != 0 && far_of(name) != nullptr) {
            tell_epoch_far(call, name->far, epoch, told.entered);
        }
        const bool all_came = epoch != Epoch::kStart || !took_found_message(call, 0);
        if (epoch != Epoch::kPost) add_epoch(told, epoch, all_came, &waiting);
    }
    settle(call, &waiting);
}

namespace {

// Several threads may lock different targets of a window.
void note_lock(Board* board, int32_t target) {
    const SlowLock lock;
    FewRanks* locked = &board->locked;
    if (locked->count < kMostRanks && !is_among(*locked, target)) {
        locked->ranks[locked->count++] = target;
    }
}

bool forget_lock(Board* board, int32_t target) {
    const SlowLock lock;
    FewRanks* locked = &board->locked;
    for (uint32_t k = 0; k < locked->count; ++k) {
        if (locked->ranks[k] != target) continue;
        locked->ranks[k] = locked->ranks[--locked->count];
        return true;
    }
    return false;
}

// Of two locks of a target at most one may be held, unless both are shared.
bool stands_in_way(const Release& release, const LockCall& lock) {
    const bool same = release.target == lock.target || release.target == kAllTargets ||
                      lock.target == kAllTargets;
    return same && (release.exclusive || lock.exclusive);
}

// The last of a member that the call may have waited for. When all that are known of it lie within
// the call and none stands in the way, an earlier one may have.
void add_releases(const LockCall& lock, uint32_t place, uint64_t entered, Latest* latest) {
    const uint32_t peer = lock.board->places[place].peer;
    const uint64_t left = latest->waiting().left();
    Release last{};
    bool found = false;
    uint32_t within = 0;
    for (uint32_t which = 0; which < kReleases; ++which) {
        Release release{};
        if (!read_release(lock.board, place, which, &release)) continue;
        if (release.said.at.real > entered) ++within;
        if (!stands_in_way(release, lock)) continue;
        found = true;
        if (release.said.at.real > left || release.said.at.real < last.said.at.real) continue;
        last = release;
    }
    if (last.said.at.real != 0) {
        latest->add(last.said, peer);
    }
    if (!found && within == kReleases) latest->add_unknown();
}

}  // namespace

LockCall enter_lock(Call* call, Locking what, MPI_Win win, int32_t target, bool exclusive) {
    CommName* name = find_name(reinterpret_cast<uintptr_t>(win));
    if (name == nullptr) return {};
    if (name->members < 2) return {&g_no_board, what, target, false};
    const uint64_t slow_ticks = call->thread->slow_ticks;
    Board* board = board_of(call->thread, name);
    if (board == nullptr) return {};
    if (call->thread->slow_ticks != slow_ticks) start(call);
    begin_work(call, now_ticks());
    if (what == Locking::kLock) return {board, what, target, exclusive};
    const LockCall lock{board, what, target, is_among(board->locked, target)};
    if (what == Locking::kFlush) return lock;
    Moment said = moment_of(call);
    said.at.real = now_ticks();
    forget_lock(board, target);
    write_release(board, {said, target, lock.exclusive});
    begin_work(call, now_ticks());
    return lock;
}

void settle_lock(Call* call, const LockCall& lock) {
    if (!waits_are_open() || lock.board == &g_no_board) return;
    const bool blocked = !took_found_message(call, 0);
    if (lock.board != nullptr && lock.what == Locking::kLock && lock.exclusive) {
        note_lock(lock.board, lock.target);
    }
    if (!blocked) return;
    Waiting waiting(call);
    if (lock.board == nullptr || !world_is_here()) {
        waiting.add_unknown();
    } else {
        Latest latest(&waiting);
        const uint32_t places = places_of(lock.board);
        for (uint32_t place = 0; place < places; ++place) {
            if (place != lock.board->own) add_releases(lock, place, call->start_ticks, &latest);
        }
        latest.finish();
    }
    waiting.settle(call, blocked);
}

}  // namespace dwell
