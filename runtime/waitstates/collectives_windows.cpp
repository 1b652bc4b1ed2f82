// The wait analysis of window synchronisation: epochs between some members, and locks.
#include "runtime/mpi/mpi_handles.h"
#include "runtime/waitstates/collectives.h"
#include "runtime/waitstates/latest.h"

namespace dwell {

namespace {

// The ranks in the window of a group's members.
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

// Adds the last stamps of members of this host in a row. `all_entered`: each must have one.
void add_row(const CollectiveTable* table, const FewRanks& list, TableRow row, MpiCall call,
             bool all_entered, Latest* latest) {
    for (uint32_t k = 0; k < list.count; ++k) {
        if (list.ranks[k] == table->rank) continue;
        const TableMember* member = find_member(*table, list.ranks[k]);
        const InstanceSlot* slot =
            member != nullptr ? slot_at(table, row, static_cast<uint32_t>(member - table->places))
                              : nullptr;
        const uint32_t number =
            slot != nullptr ? __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) : 0;
        if (number != 0) {
            latest->add_slot(slot, number, call, member->peer);
        } else if (all_entered) {
            latest->add_unknown();
        }
    }
}

bool begins(Epoch epoch) { return epoch == Epoch::kPost || epoch == Epoch::kStart; }
bool has_stamp(Epoch epoch) { return epoch == Epoch::kPost || epoch == Epoch::kComplete; }

// Keeps the partners of an epoch that begins, for its end.
void keep_partners(CollectiveTable* table, Epoch epoch, MPI_Win win, MPI_Group group) {
    read_group(win, group, epoch == Epoch::kPost ? &table->origins : &table->targets);
}

// `all_entered`: the call could not end before its partners were there. MPI_Win_start may wait for
// them or leave that to later calls.
void add_epoch(const CollectiveTable* table, Epoch epoch, bool all_entered, Waiting* waiting) {
    const bool for_posts = epoch != Epoch::kWait;
    const FewRanks& list = for_posts ? table->targets : table->origins;
    if (!list.known) {
        waiting->add_unknown();
        return;
    }
    Latest latest(waiting);
    add_row(table, list, for_posts ? kPostRow : kCompleteRow,
            for_posts ? MpiCall::kWin_post : MpiCall::kWin_complete, all_entered, &latest);
    latest.finish();
}

}  // namespace

CollectiveTable* enter_epoch(Call* call, Epoch epoch, MPI_Win win) {
    CommDefinition* definition = find_definition(reinterpret_cast<uintptr_t>(win));
    if (definition == nullptr || definition->members < 2) return nullptr;
    const uint64_t slow_overhead = call->thread->slow_overhead;
    CollectiveTable* table = table_of(call->thread, definition);
    if (call->thread->slow_overhead != slow_overhead) start(call);
    if (table == nullptr) return nullptr;
    EnterStamp stamp = make_enter_stamp(call);
    stamp.at.real = now_ticks();
    begin_work(call, stamp.at.real);
    if (!has_stamp(epoch)) return table;
    const bool posts = epoch == Epoch::kPost;
    InstanceSlot* slot = slot_at(table, posts ? kPostRow : kCompleteRow, table->own);
    const uint32_t number = slot->number + 1;
    write_slot(slot, number != 0 ? number : 1,
               static_cast<uint32_t>(posts ? MpiCall::kWin_post : MpiCall::kWin_complete), stamp);
    begin_work(call, now_ticks());
    return table;
}

void classify_epoch(Call* call, CollectiveTable* table, Epoch epoch, MPI_Win win, MPI_Group group) {
    if (!waits_are_open()) return;
    Waiting waiting(call);
    if (table == nullptr) {
        waiting.add_unknown();
    } else {
        if (begins(epoch)) keep_partners(table, epoch, win, group);
        const bool all_entered = epoch != Epoch::kStart || !is_unblocked_receive(call, 0);
        if (epoch != Epoch::kPost) add_epoch(table, epoch, all_entered, &waiting);
    }
    classify(call, &waiting);
}

namespace {

// Several threads may lock different targets of a window.
void note_lock(CollectiveTable* table, int32_t target) {
    const StateLock lock;
    FewRanks* locked = &table->locked;
    if (locked->count < kMostRanks && !is_among(*locked, target)) {
        locked->ranks[locked->count++] = target;
    }
}

bool forget_lock(CollectiveTable* table, int32_t target) {
    const StateLock lock;
    FewRanks* locked = &table->locked;
    for (uint32_t k = 0; k < locked->count; ++k) {
        if (locked->ranks[k] != target) continue;
        locked->ranks[k] = locked->ranks[--locked->count];
        return true;
    }
    return false;
}

// At most one of two conflicting locks of a target is held; shared locks do not conflict.
bool stands_in_way(const Release& release, const LockCall& lock) {
    const bool same = release.target == lock.target || release.target == kAllTargets ||
                      lock.target == kAllTargets;
    return same && (release.exclusive || lock.exclusive);
}

// Adds the last release of a member that the call may have waited for. If all known releases lie
// within the call and none conflicts, an earlier one may have been the cause.
void add_releases(const LockCall& lock, uint32_t place, uint64_t entered, Latest* latest) {
    const uint32_t peer = lock.table->places[place].peer;
    const uint64_t left = latest->waiting().left();
    Release last{};
    bool found = false;
    uint32_t within = 0;
    for (uint32_t which = 0; which < kReleases; ++which) {
        Release release{};
        if (!read_release(lock.table, place, which, &release)) continue;
        if (release.stamp.at.real > entered) ++within;
        if (!stands_in_way(release, lock)) continue;
        found = true;
        if (release.stamp.at.real > left || release.stamp.at.real < last.stamp.at.real) continue;
        last = release;
    }
    if (last.stamp.at.real != 0) {
        latest->add(last.stamp, peer);
    }
    if (!found && within == kReleases) latest->add_unknown();
}

}  // namespace

LockCall enter_lock(Call* call, Locking what, MPI_Win win, int32_t target, bool exclusive) {
    CommDefinition* definition = find_definition(reinterpret_cast<uintptr_t>(win));
    if (definition == nullptr) return {};
    if (definition->members < 2) return {&g_no_table, what, target, false};
    const uint64_t slow_overhead = call->thread->slow_overhead;
    CollectiveTable* table = table_of(call->thread, definition);
    if (table == nullptr) return {};
    if (call->thread->slow_overhead != slow_overhead) start(call);
    begin_work(call, now_ticks());
    if (what == Locking::kLock) return {table, what, target, exclusive};
    const LockCall lock{table, what, target, is_among(table->locked, target)};
    if (what == Locking::kFlush) return lock;
    EnterStamp stamp = make_enter_stamp(call);
    stamp.at.real = now_ticks();
    forget_lock(table, target);
    write_release(table, {stamp, target, lock.exclusive});
    begin_work(call, now_ticks());
    return lock;
}

void classify_lock(Call* call, const LockCall& lock) {
    if (!waits_are_open() || lock.table == &g_no_table) return;
    const bool blocked = !is_unblocked_receive(call, 0);
    if (lock.table != nullptr && lock.what == Locking::kLock && lock.exclusive) {
        note_lock(lock.table, lock.target);
    }
    if (!blocked) return;
    Waiting waiting(call);
    if (lock.table == nullptr || !world_is_on_host()) {
        waiting.add_unknown();
    } else {
        Latest latest(&waiting);
        const uint32_t places = places_of(lock.table);
        for (uint32_t place = 0; place < places; ++place) {
            if (place != lock.table->own) add_releases(lock, place, call->start_ticks, &latest);
        }
        latest.finish();
    }
    waiting.classify(call, blocked);
}

}  // namespace dwell
