// The wait analysis of collectives: the partners of each instance, and waiting beyond the
// collective rule.
#include "runtime/waitstates/collectives.h"

#include "runtime/calls/call_order.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/exchange/timeline.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/mpi/profiled_ranks.h"
#include "runtime/process/free_list.h"
#include "runtime/process/shared_words.h"
#include "runtime/waitstates/latest.h"

namespace dwell {

namespace {

// A collective instance as its request or the call itself knows it.
struct Entered {
    CollectiveTable* table;
    MpiCall call;
    uint32_t number;
    CollectiveRole role;
    RemoteMembers* remote = nullptr;  // members on other hosts
    CellIndex node = 0;  // of the statement, if the call is this collective and nothing else
};

CollectiveRole role_on(const CollectiveTable& table, Dependence rule, int root) {
    return {rule, root, table.rank, table.side, table.inter, &table.sources, nullptr};
}

// A source may be listed twice.
uint32_t count_sources(const CollectiveTable& table, const Contributors& contributors) {
    const FewRanks& list = table.sources;
    uint32_t count = 0;
    for (uint32_t k = 0; k < list.count; ++k) {
        const int rank = list.ranks[k];
        bool counts = rank >= 0 && rank != table.rank && contributors.contributes(k);
        for (uint32_t before = 0; counts && before < k; ++before) {
            counts = list.ranks[before] != rank || !contributors.contributes(before);
        }
        count += counts ? 1 : 0;
    }
    return count;
}

// The number of members that the rank depends on, without itself.
uint32_t count_partners(const Entered& entered, const Contributors& contributors) {
    const CollectiveTable& table = *entered.table;
    const int root = entered.role.root;
    const uint32_t group = table.inter ? table.others : table.members;
    switch (entered.role.rule) {
        case Dependence::kRoot:
            return root >= 0 && (table.inter || root != table.rank) ? 1 : 0;
        case Dependence::kUpTo:
            return static_cast<uint32_t>(table.rank);
        case Dependence::kToRoot:
            if (table.inter ? root != MPI_ROOT : table.rank != root) return 0;
            break;
        case Dependence::kAll:
            break;
        case Dependence::kSources:
            return count_sources(table, contributors);
        case Dependence::kProfiled:
            return static_cast<uint32_t>(g_profiled.count) - 1;
        default:
            return table.members - 1;
    }
    if (contributors.all()) return table.inter ? group : group - 1;
    uint32_t count = 0;
    for (uint32_t k = 0; k < group; ++k) {
        if (contributors.contributes(k) && (table.inter || k != static_cast<uint32_t>(table.rank)))
            ++count;
    }
    return count;
}

// Adds the members on other hosts, `missing` of which the rank depends on. Returns how many are
// known or estimated.
uint32_t add_remote_members(const Entered& entered, const Contributors& contributors,
                            uint32_t missing, Latest* latest) {
    const Waiting& waiting = latest->waiting();
    const RemoteMatch match =
        match_remote(waiting.thread(), entered.remote,
                     {entered.number, entered.call, entered.role, contributors}, waiting.left());
    latest->add_remote(match);
    if (match.partners != missing) return 0;  // some members of this host have no stamp yet
    if (match.count == missing) {
        const uint64_t rest = latest->rest();
        if (entered.node != 0 && match.found && rest < UINT32_MAX) {
            note_usual({entered.node, static_cast<uint32_t>(rest), match.peer, match.last.path});
        }
        return missing;
    }
    RemoteUsual usual{};
    if (!usual_of(entered.node, &usual)) return match.count;
    // Nobody was waited for, or only known partners: such times differ a little from call to call.
    const DualTime& begun = waiting.entered();
    const uint64_t until = beyond(waiting.left(), usual.ticks);
    const uint64_t last = latest->real();
    if (until <= begun.real || (last > begun.real && until <= last + usual.ticks / 2)) {
        return missing;
    }
    latest->add_estimated(estimate_remote(usual, waiting.left(), begun.real - begun.virt),
                          usual.peer);
    return missing;
}

void add_members(const Entered& entered, const Contributors& contributors, Latest* latest) {
    const CollectiveTable& table = *entered.table;
    const uint32_t row = entered.number % kGenerations;
    const uint32_t places = places_of(&table);
    uint32_t found = 0;
    for (uint32_t place = 0; place < places; ++place) {
        const TableMember& member = table.places[place];
        if (place == table.own || !waits_for(entered.role, contributors, member.place)) continue;
        latest->add_slot(slot_at(&table, row, place), entered.number, entered.call, member.peer);
        ++found;
    }
    const uint32_t partners = count_partners(entered, contributors);
    if (found < partners && entered.remote != nullptr) {
        found += add_remote_members(entered, contributors, partners - found, latest);
    }
    // A member without a place has not entered; on another host it may have.
    if (found < partners && !(latest->may() && world_is_on_host())) {
        latest->add_unknown();
    }
}

// After all members that MPI makes the rank depend on.
void add_own_group(const Entered& entered, Latest* latest) {
    const CollectiveTable& table = *entered.table;
    const auto call = static_cast<uint32_t>(entered.call);
    const uint64_t after = later(latest->waiting().entered().real, latest->real());
    const uint32_t places = places_of(&table);
    for (uint32_t place = 0; place < places; ++place) {
        const TableMember& member = table.places[place];
        if (place == table.own || !may_wait_for(entered.role, member.place)) continue;
        EnterStamp stamp;
        const InstanceSlot* slot = slot_at(&table, entered.number % kGenerations, place);
        const SlotState state = read_slot(slot, entered.number, call, &stamp);
        if (state == SlotState::kThis) latest->add_open(stamp, member.peer, after);
        if (state == SlotState::kLater) latest->add_later();
    }
}

bool is_root(const CollectiveTable& table, int root) {
    return table.inter ? root == MPI_ROOT : root == table.rank;
}

bool waits_for_all(const Entered& entered, const Contributors& contributors) {
    const Dependence rule = entered.role.rule;
    return contributors.all() &&
           (rule == Dependence::kEverybody || (rule == Dependence::kAll && !entered.role.inter));
}

void add_partners(const Entered& entered, const Contributors& contributors, Waiting* waiting) {
    const Dependence rule = entered.role.rule;
    Latest latest(waiting, rule == Dependence::kMay);
    if (rule == Dependence::kSources && !entered.table->sources.known) {
        latest.add_unknown();
    } else {
        add_members(entered, contributors, &latest);
    }
    if (rule == Dependence::kAll && entered.role.inter) [[unlikely]]
        add_own_group(entered, &latest);
    if (rule == Dependence::kSome) latest.add_unknown();
    if (rule == Dependence::kMay) waiting->add_open();
    latest.finish();
}

void read_sources(Call* call, const EnteredCollective& collective, Dependence rule) {
    if (rule != Dependence::kSources || collective.table->sources.known) return;
    const ToolWork look(call->thread);
    read_neighbours(reinterpret_cast<MPI_Comm>(collective.definition->handle),
                    collective.table->rank, &collective.table->sources, &collective.table->targets);
}

// The nonzero counts as bits; false when there are too many.
bool bits_of(const CollectiveTable& table, const Depends& depends, uint64_t* bits) {
    *bits = UINT64_MAX;
    if (depends.counts == nullptr) return true;
    uint32_t count = table.inter ? table.others : table.members;
    if (depends.rule == Dependence::kSources) count = table.sources.known ? table.sources.count : 0;
    if (depends.rule == Dependence::kToRoot && !is_root(table, depends.root)) count = 0;
    if (count > 64) return false;
    *bits = 0;
    for (uint32_t k = 0; k < count; ++k) *bits |= uint64_t{depends.counts[k] != 0} << k;
    return true;
}

// Whether members on other hosts get notices of the call.
bool needs_notice(MpiCall call, Dependence rule) {
    const MpiCallInfo& info = kMpiCalls[static_cast<int>(call)];
    return (info.call_class == CallClass::kCollective || info.waits) && rule != Dependence::kSome &&
           rule != Dependence::kProfiled;
}

}  // namespace

EnteredCollective enter_collective(Call* call, MpiCall number, uintptr_t handle, Dependence rule,
                                   int root) {
    CommDefinition* definition = find_definition(handle);
    if (definition == nullptr) return {};
    EnteredCollective collective{definition, nullptr, number, ++definition->collectives, false};
    show_entered(definition);
    if (definition->members < 2) return collective;
    const uint64_t slow_overhead = call->thread->slow_overhead;
    CollectiveTable* table = table_of(call->thread, definition);
    // The call begins only now, as nothing of it was published before.
    if (call->thread->slow_overhead != slow_overhead) start(call);
    log_late_progress(call);
    if (g_process.preserve_order) [[unlikely]] {
        g_call_order->enter_collective_wait(call, *definition, collective.number, rule, root,
                                            kMpiCalls[static_cast<int>(number)].waits);
    }
    if (definition->remote_state == RemoteState::kKnown && needs_notice(number, rule))
        [[unlikely]] {
        const CollectiveRole role{rule,
                                  root,
                                  definition->rank,
                                  definition->side,
                                  definition->inter,
                                  nullptr,
                                  &definition->remote->empty_table.targets};
        collective.remote_notified =
            stamp_remote(call, definition, {collective.number, number, role, kAllContribute});
    }
    if (table == nullptr) return collective;
    EnterStamp stamp = make_enter_stamp(call);
    stamp.at.real = now_ticks();
    write_slot(slot_at(table, collective.number % kGenerations, table->own), collective.number,
               static_cast<uint32_t>(number), stamp);
    // Prefetches the next slot, which other members have read since it was last written.
    fetch_to_write(slot_at(table, (collective.number + 1) % kGenerations, table->own));
    begin_work(call, now_ticks());
    collective.table = table;
    return collective;
}

// Arguments that MPI rejects make no instance of the call; a message that is too long does.
void withdraw_collective(const EnteredCollective& collective, int result) {
    if (collective.definition == nullptr || result == MPI_ERR_TRUNCATE) return;
    collective.definition->collectives -= 1;
    show_entered(collective.definition);
    if (collective.remote_notified)
        withdraw_remote(collective.definition->remote, collective.number);
}

void skip_collective(uintptr_t handle) {
    if (!waits_are_open() || g_live->on == 0) return;
    CommDefinition* definition = find_definition(handle);
    if (definition == nullptr) return;
    definition->collectives += 1;
    show_entered(definition);
}

namespace {

// Whether the handle of the communicator, window or file is valid after the call.
bool leaves_handle(MpiCall call) {
    const CallClass call_class = kMpiCalls[static_cast<int>(call)].call_class;
    return call != MpiCall::kFile_close &&
           (call_class == CallClass::kCollective || call_class == CallClass::kRma ||
            call_class == CallClass::kFile);
}

// The members on other hosts that exchange notices about this call.
RemoteMembers* remote_members(Call* call, const EnteredCollective& collective, Dependence rule) {
    CommDefinition* definition = collective.definition;
    if (definition == nullptr || definition->remote_state == RemoteState::kNone) [[likely]]
        return nullptr;
    if (!needs_notice(collective.call, rule)) return nullptr;
    if (is_not_looked_up(definition->remote_state) && leaves_handle(collective.call)) {
        const ToolWork look(call->thread);
        find_remote_members(call->thread, definition);
    }
    return definition->remote_state == RemoteState::kKnown ? definition->remote : nullptr;
}

// A member that the call may have waited for, although the collective rule does not require it.
struct LastMember {
    EnterStamp stamp{};
    const TableMember* member = nullptr;
};

// The last member, among those that `may` accepts, that entered before the call ended.
template <typename May>
LastMember find_last_member(const Entered& entered, const Waiting& waiting, May may) {
    const CollectiveTable& table = *entered.table;
    const uint32_t places = places_of(&table);
    LastMember last;
    for (uint32_t place = 0; place < places; ++place) {
        const TableMember& member = table.places[place];
        if (place == table.own || !may(member)) continue;
        EnterStamp stamp;
        const InstanceSlot* slot = slot_at(&table, entered.number % kGenerations, place);
        const auto number = static_cast<uint32_t>(entered.call);
        if (read_slot(slot, entered.number, number, &stamp) != SlotState::kThis) continue;
        if (stamp.at.real > waiting.left() || stamp.at.real <= last.stamp.at.real) continue;
        last = {stamp, &member};
    }
    return last;
}

// With more than two members the actual partner is not known. The call is taken to have waited for
// the last member if it ended soon after that one entered: within a usual call's duration, or soon
// compared with the wait (with more ranks than processors nobody continues at once).
bool left_soon_after(const EnterStamp& entered, const Waiting& waiting, uint64_t usual) {
    constexpr uint64_t kSoon = 8;  // part of the wait
    const uint64_t waited = entered.at.real - waiting.entered().real;
    return waiting.left() - entered.at.real <= later(usual, waited / kSoon);
}

// Consumers that cannot continue without the caller's data may hold up the caller: except for the
// shortest messages, Open MPI leaves data in place until the receiver comes. If the call took long,
// a consumer that entered meanwhile was waited for. In a tree the caller sends to some consumers
// only, so with several it is an estimate.
void add_consumers(const Entered& entered, uint64_t usual, Waiting* waiting) {
    const LastMember last =
        find_last_member(entered, *waiting, [&entered](const TableMember& member) {
            return is_awaited_by(entered.role, member.place);
        });
    if (last.stamp.at.real <= waiting->entered().real) return;
    if (entered.table->members > 2) {
        if (!left_soon_after(last.stamp, *waiting, usual)) return;
        waiting->add_open();
    }
    waiting->add_collective(WaitKind::kLateCollectiveReceiver, last.member->peer, last.stamp);
}

// MPI may pass the root's data through other members. If the call took longer than the root
// explains and ended soon after another member entered, it waited for that one: an estimate.
void add_intermediate(const Entered& entered, uint64_t usual, Waiting* waiting) {
    const LastMember last =
        find_last_member(entered, *waiting, [](const TableMember&) { return true; });
    if (last.stamp.at.real <= waiting->entered().real) return;
    if (static_cast<int>(last.member->place >> 1) == entered.role.root) return;
    if (!left_soon_after(last.stamp, *waiting, usual)) return;
    waiting->add_open();
    waiting->add_collective(WaitKind::kCollective, last.member->peer, last.stamp);
}

bool only_contributes(const CollectiveTable& table, const CollectiveRole& role) {
    switch (role.rule) {
        case Dependence::kRoot:
            return is_root(table, role.root);
        case Dependence::kToRoot:
            return !is_root(table, role.root);
        case Dependence::kUpTo:
            return true;
        default:
            return false;
    }
}

// Waiting beyond the collective rule. `bytes`: for each consumer or contributor of the caller.
void add_others(const Entered& entered, const Call* call, uint64_t bytes, Waiting* waiting) {
    const CollectiveTable& table = *entered.table;
    if (table.slots == nullptr || bytes == 0) return;
    const CollectiveRole& role = entered.role;
    const bool gives = bytes > g_eager_limits.copy_limit && only_contributes(table, role);
    const bool has_root = role.rule == Dependence::kRoot || role.rule == Dependence::kToRoot;
    const bool is_between =
        has_root && !table.inter && table.members > 2 && !is_root(table, role.root);
    if (!gives && !is_between) return;
    const uint32_t places = places_of(&table);
    const uint64_t usual = most_unblocked_ticks(call, places, places * bytes);
    if (call->ticks <= usual) return;
    if (gives) add_consumers(entered, usual, waiting);
    if (is_between) add_intermediate(entered, usual, waiting);
}

void classify_on(CollectiveTable* table, Call* call, const EnteredCollective& collective,
                 const Depends& depends, uint64_t bytes, RemoteMembers* remote, Waiting* waiting) {
    const Entered entered{
        table,  collective.call, collective.number, role_on(*table, depends.rule, depends.root),
        remote, call->index};
    add_partners(entered, {depends.counts, UINT64_MAX}, waiting);
    add_others(entered, call, bytes, waiting);
    classify(call, waiting);
    if (waits_for_all(entered, {depends.counts, UINT64_MAX})) {
        note_together(call->thread, call->start_virtual + call->ticks,
                      table->is_world ? kWorldTogether : collective.definition->short_id);
    }
}

}  // namespace

void classify_collective(Call* call, const EnteredCollective& collective, const Depends& depends,
                         uint64_t bytes) {
    if (!waits_are_open()) return;
    if (collective.definition != nullptr && collective.definition->members < 2) return;
    Waiting waiting(call);
    RemoteMembers* remote = remote_members(call, collective, depends.rule);
    if (collective.table != nullptr) {
        read_sources(call, collective, depends.rule);
        classify_on(collective.table, call, collective, depends, bytes, remote, &waiting);
    } else if (remote != nullptr) {
        classify_on(&remote->empty_table, call, collective, depends, bytes, remote, &waiting);
    } else {
        waiting.add_unknown();
        classify(call, &waiting);
    }
}

void keep_collective(Call* call, const EnteredCollective& collective, const Depends& depends,
                     Request* content) {
    content->dependence = Dependence::kUnknown;
    if (collective.definition != nullptr && collective.definition->members < 2)
        content->dependence = Dependence::kNobody;
    const RemoteMembers* remote = remote_members(call, collective, depends.rule);
    uint64_t bits = UINT64_MAX;
    if (collective.table != nullptr) {
        read_sources(call, collective, depends.rule);
        if (!bits_of(*collective.table, depends, &bits)) return;
        hold_table(collective.table);
    } else if (remote == nullptr || !bits_of(remote->empty_table, depends, &bits)) {
        return;
    }
    content->table = collective.table;
    content->remote = remote != nullptr ? remote->serial : kNoPeer;
    content->contributors = bits;
    content->call = collective.call;
    content->number = collective.number;
    content->root = depends.root;
    content->dependence = depends.rule;
}

namespace {
PersistentCollective* g_free_persistent = nullptr;  // with StateLock held
}

PersistentCollective* make_persistent(Call* call, MPI_Comm comm, uintptr_t handle, MpiCall number,
                                      const Depends& depends) {
    const ToolWork look(call->thread);
    PersistentCollective* made = nullptr;
    {
        const StateLock lock;
        made = take_from(&g_free_persistent);
    }
    if (made == nullptr) return nullptr;
    *made = PersistentCollective{};
    made->handle = handle;
    made->call = number;
    made->rule = Dependence::kUnknown;
    made->root = depends.root;
    made->contributors = UINT64_MAX;
    CommDefinition* definition = waits_are_open() ? find_definition(handle) : nullptr;
    if (definition == nullptr) return made;
    CollectiveTable* table = table_of(call->thread, definition);
    if (table == nullptr) {
        made->rule = depends.rule;
        return made;
    }
    if (depends.rule == Dependence::kSources) {
        read_neighbours(comm, table->rank, &table->sources, &table->targets);
    }
    if (bits_of(*table, depends, &made->contributors)) made->rule = depends.rule;
    return made;
}

void release_collective(const Request& content) {
    if (!content.persistent) {
        release_table(content.table);
        return;
    }
    PersistentCollective* persistent_collective = content.persistent_collective;
    if (persistent_collective == nullptr) return;
    end_persistent(persistent_collective);
    forget_definition(persistent_collective->handle);
    const StateLock lock;
    give_back_to(&g_free_persistent, persistent_collective);
}

void stamp_persistent(Call* call, PersistentCollective* persistent_collective) {
    const Depends depends{persistent_collective->rule, persistent_collective->root, nullptr};
    persistent_collective->collective =
        enter_collective(call, persistent_collective->call, persistent_collective->handle,
                         persistent_collective->rule, persistent_collective->root);
    keep_collective(call, persistent_collective->collective, depends,
                    &persistent_collective->started);
    if (persistent_collective->started.dependence == persistent_collective->rule)
        persistent_collective->started.contributors = persistent_collective->contributors;
}

void forget_definition(uintptr_t handle) {
    CommDefinition gone;
    if (!waits_are_open() || handle == 0 || !take_definition(handle, &gone)) return;
    forget_remote_members(gone.remote);
    release_table(gone.table);
}

void withdraw_persistent(PersistentCollective* persistent_collective) {
    withdraw_collective(persistent_collective->collective, MPI_ERR_OTHER);
    end_persistent(persistent_collective);
}

void end_persistent(PersistentCollective* persistent_collective) {
    release_table(persistent_collective->started.table);
    persistent_collective->started = Request{};
}

void add_collective_to(Waiting* waiting, const Request& request) {
    if (request.dependence == Dependence::kNobody) return;
    RemoteMembers* remote = remote_members_with(request.remote);
    if (request.dependence == Dependence::kUnknown ||
        (request.table == nullptr && remote == nullptr)) {
        waiting->add_unknown();
        return;
    }
    CollectiveTable* table = request.table != nullptr ? request.table : &remote->empty_table;
    add_partners({table, request.call, request.number,
                  role_on(*table, request.dependence, request.root), remote},
                 {nullptr, request.contributors}, waiting);
}

}  // namespace dwell
