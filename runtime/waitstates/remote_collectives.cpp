// Members on other hosts: choosing instances, sending and matching notices, and estimates without
// them.
#include "runtime/waitstates/remote_collectives.h"

#include "runtime/contract/mpi_calls.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/mpi/ranks.h"
#include "runtime/process/free_list.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

namespace {

// Notices may take this part of the time since MPI_Init, plus some milliseconds at once: the first
// notices show what is usual.
constexpr uint64_t kShare = 64;
constexpr uint64_t kFreeAtOnce = 250;  // of a second
constexpr uint32_t kFruitless = 4;     // vain looks before looks are spaced out
constexpr uint64_t kPatience = 4;      // costs of a notice to wait for one that is under way
constexpr uint64_t kBuckets = 256;
constexpr int kStatementBits = 8;
constexpr uint32_t kStatements = 1u << kStatementBits;

// With StateLock held.
RemoteMembers* g_remote[kBuckets];
RemoteMembers* g_free_remote = nullptr;
RemoteUsual g_usual[kStatements];

SharedTable g_nobody{};

// Ticks spent on sending and looking for notices so far.
std::atomic<uint64_t> g_spent_ticks{0};

RemoteMembers** bucket_of(uint64_t id) { return &g_remote[id >> 24 & (kBuckets - 1)]; }

void spend(uint64_t ticks) { g_spent_ticks.fetch_add(ticks, std::memory_order_relaxed); }

bool is_over_budget(uint64_t now) {
    const uint64_t spent = g_spent_ticks.load(std::memory_order_relaxed);
    const uint64_t free = g_process.header->ticks_per_second / kFreeAtOnce;
    return beyond(spent, free) * kShare > beyond(now, g_process.header->init_ticks);
}

// The rate of the caller's own overhead without notices, whose cost comes in jumps: other hosts
// extrapolate with it until the next notice.
uint8_t update_loss_rate(const Thread& thread, uint64_t now, RemoteMembers* remote) {
    const uint64_t passed = beyond(now, remote->loss_at);
    if (passed < kRateTicks) return remote->loss;
    const uint64_t lost =
        beyond(thread.record->own_ticks, g_spent_ticks.load(std::memory_order_relaxed));
    if (remote->loss_at != 0) {
        remote->loss =
            static_cast<uint8_t>(earlier(beyond(lost, remote->lost) * 256 / passed, 255));
    }
    remote->loss_at = now;
    remote->lost = lost;
    return remote->loss;
}

// The newest notice of a number: one that was withdrawn has its number used again.
const EntryNotice* notice_of(const RemoteMember& member, MpiCall call, uint32_t number) {
    for (uint32_t back = 1; back <= kKeptNotices && back <= member.notice_count; ++back) {
        const EntryNotice& notice = member.notices[(member.notice_count - back) % kKeptNotices];
        if (notice.number != number) continue;
        if (notice.call == static_cast<uint16_t>(call)) return &notice;
        if (notice.call == kRejected) return nullptr;
    }
    return nullptr;
}

bool is_awaited(const RemoteCall& enters, const RemoteMember& member) {
    return waits_for(enters.role, enters.contributors, member.place);
}

RemoteMatch gather(const RemoteMembers& remote, const RemoteCall& enters, uint64_t left) {
    const StateLock lock;
    RemoteMatch match{};
    match.peer = kNoPeer;
    uint64_t real = 0;
    for (uint32_t i = 0; i < remote.count; ++i) {
        const RemoteMember& member = remote.members[i];
        if (!is_awaited(enters, member)) continue;
        match.partners += 1;
        const EntryNotice* notice = notice_of(member, enters.call, enters.number);
        if (notice == nullptr) continue;
        match.count += 1;
        if (notice->stamp.at.real > left) continue;  // the call did not wait for it
        real = later(real, earlier(entered_at(*notice), left));
        if (match.found && notice->stamp.at.virt <= match.last.at.virt) continue;
        match.found = true;
        match.peer = member.peer;
        match.last = notice->stamp;
    }
    match.last.at.real = real;
    return match;
}

// Counts the partners. `all_stamped`: all of them have sent a notice, or will have by their choice.
uint32_t count_partners(const RemoteMembers& remote, const RemoteCall& enters, bool* all_stamped) {
    uint32_t partners = 0;
    *all_stamped = true;
    for (uint32_t i = 0; i < remote.count; ++i) {
        const RemoteMember& member = remote.members[i];
        if (!is_awaited(enters, member)) continue;
        partners += 1;
        if (member.notice_count == 0) continue;
        const EntryNotice& newest = member.notices[(member.notice_count - 1) % kKeptNotices];
        if (newest.number != enters.number && !is_chosen(enters.number, member.shift))
            *all_stamped = false;
    }
    return partners;
}

// Collects the world ranks of the members on other hosts, group by group in rank order; false: too
// many, or some cannot get notices.
class MemberList {
  public:
    MemberList(Thread* thread, const CommDefinition& definition, RemoteMembers* remote)
        : thread_(thread), definition_(definition), remote_(remote) {}

    bool fill() {
        remote_->count = 0;
        const auto comm = reinterpret_cast<MPI_Comm>(definition_.handle);
        MPI_Group group = nullptr;
        if (definition_.remote_state == RemoteState::kOfWindow) {
            group = group_of(reinterpret_cast<MPI_Win>(definition_.handle));
        } else if (definition_.remote_state == RemoteState::kOfFile) {
            group = group_of(reinterpret_cast<MPI_File>(definition_.handle));
        } else if (definition_.inter) {
            group = group_of(comm);
        }
        const int own =
            static_cast<int>(definition_.members) - (definition_.inter ? definition_.size : 0);
        bool filled = add(comm, group, own, definition_.side);
        free_group(&group);
        // The communicator's ranks are those of the other group.
        if (definition_.inter)
            filled = filled && add(comm, nullptr, definition_.size, definition_.side ^ 1u);
        return filled && remote_->count != 0 && all_are_profiled();
    }

  private:
    // By the group, or by the ranks of the communicator.
    bool add(MPI_Comm comm, MPI_Group group, int count, uint32_t side) {
        for (int rank = 0; rank < count; ++rank) {
            if (rank == definition_.rank && side == definition_.side) continue;
            const uint32_t peer = group != nullptr ? peer_of_group(thread_, group, rank)
                                                   : peer_of(thread_, comm, rank);
            if (peer >= g_channel_count) return false;
            if (is_same_host(peer)) continue;
            if (remote_->count == kMostRemote) return false;
            RemoteMember* member = &remote_->members[remote_->count++];
            member->peer = peer;
            member->place = static_cast<uint32_t>(rank) << 1 | side;
            member->shift = member->notice_count = 0;
        }
        return true;
    }
    bool all_are_profiled() const {
        for (uint32_t i = 0; i < remote_->count; ++i) {
            const Channel* channel = channel_with(thread_, remote_->members[i].peer);
            if (channel == nullptr || channel->remote == nullptr) return false;
        }
        return true;
    }

    Thread* thread_;
    const CommDefinition& definition_;
    RemoteMembers* remote_;
};

RemoteMembers* take_members() {
    const StateLock lock;
    return take_from(&g_free_remote);
}

}  // namespace

void open_remote_collectives() {
    CommDefinition* world = find_definition(reinterpret_cast<uintptr_t>(g_mpi.comm_world));
    if (world == nullptr) return;
    world->remote_state = RemoteState::kOfComm;
    if (t_thread != nullptr) find_remote_members(t_thread, world);
}

void find_remote_members(Thread* thread, CommDefinition* definition) {
    RemoteMembers* remote = take_members();
    bool listed = false;
    if (remote != nullptr) {
        remote->id = definition->id;
        remote->choice = {};
        remote->stamped_until = {};
        remote->loss_at = remote->lost = 0;
        remote->loss = 0;
        remote->fruitless = 0;
        remote->next_look = 0;
        remote->empty_table.shared = &g_nobody;
        set_members(&remote->empty_table, *definition);
        listed = MemberList(thread, *definition, remote).fill();
        if (listed && definition->remote_state == RemoteState::kOfComm && !definition->inter) {
            read_neighbours(reinterpret_cast<MPI_Comm>(definition->handle), definition->rank,
                            &remote->empty_table.sources, &remote->empty_table.targets);
        }
    }
    const StateLock lock;
    if (!is_not_looked_up(definition->remote_state) || !listed) {
        if (remote != nullptr) give_back_to(&g_free_remote, remote);
        if (is_not_looked_up(definition->remote_state))
            definition->remote_state = RemoteState::kNone;
        return;
    }
    static uint32_t last_serial = 0;
    remote->serial = ++last_serial;
    RemoteMembers** bucket = bucket_of(remote->id);
    remote->next = *bucket;
    *bucket = remote;
    definition->remote = remote;
    definition->remote_state = RemoteState::kKnown;
}

RemoteMembers* remote_members_with(uint32_t serial) {
    if (serial == kNoPeer) return nullptr;
    const StateLock lock;
    for (RemoteMembers* remote : g_remote) {
        while (remote != nullptr && remote->serial != serial) remote = remote->next;
        if (remote != nullptr) return remote;
    }
    return nullptr;
}

void forget_remote_members(RemoteMembers* remote) {
    if (remote == nullptr) return;
    const StateLock lock;
    RemoteMembers** at = bucket_of(remote->id);
    while (*at != nullptr && *at != remote) at = &(*at)->next;
    if (*at == nullptr) return;
    *at = remote->next;
    give_back_to(&g_free_remote, remote);
}

bool stamp_remote(Call* call, CommDefinition* definition, const RemoteCall& enters) {
    RemoteMembers* remote = definition->remote;
    if (!is_chosen(enters.number, remote->choice.shift)) return false;
    uint32_t dependents = 0;
    for (uint32_t i = 0; i < remote->count; ++i) {
        if (is_awaited_by(enters.role, remote->members[i].place)) ++dependents;
    }
    if (dependents == 0) return false;
    const uint64_t begin = now_ticks();
    const uint64_t cost = piggyback_cost();
    count_chosen(&remote->choice, enters.number, begin, kSpacing * cost * (definition->members - 1),
                 is_over_budget(begin));
    const uint64_t send_ticks = earlier(cost * dependents, UINT32_MAX);
    EntryNotice notice{make_enter_stamp(call),
                       remote->id,
                       enters.number,
                       static_cast<uint16_t>(enters.call),
                       static_cast<uint8_t>(remote->choice.shift),
                       update_loss_rate(*call->thread, begin, remote),
                       static_cast<uint32_t>(send_ticks)};
    add_delay(own_rank(), &remote->stamped_until, &notice.stamp);
    notice.stamp.at.real = begin;
    uint64_t took = 0;
    for (uint32_t i = 0; i < remote->count; ++i) {
        const RemoteMember& member = remote->members[i];
        if (!is_awaited_by(enters.role, member.place)) continue;
        const Channel* channel = channel_with(call->thread, member.peer);
        if (channel != nullptr) took += send_notice(channel->remote, notice);
    }
    spend(took);
    begin_work(call, now_ticks());
    return true;
}

// To all members: those that did not depend on it do not look.
void withdraw_remote(const RemoteMembers* remote, uint32_t number) {
    EntryNotice notice{};
    notice.id = remote->id;
    notice.number = number;
    notice.call = kRejected;
    notice.shift = static_cast<uint8_t>(remote->choice.shift);
    for (uint32_t i = 0; i < remote->count; ++i) {
        const Channel* channel = channel_with(t_thread, remote->members[i].peer);
        if (channel != nullptr) spend(send_notice(channel->remote, notice));
    }
}

void put_notice(uint32_t peer, const EntryNotice& notice) {
    const StateLock lock;
    RemoteMembers* remote = *bucket_of(notice.id);
    while (remote != nullptr && remote->id != notice.id) remote = remote->next;
    if (remote == nullptr) return;
    for (uint32_t i = 0; i < remote->count; ++i) {
        RemoteMember* member = &remote->members[i];
        if (member->peer != peer) continue;
        member->notices[member->notice_count % kKeptNotices] = notice;
        member->notice_count += 1;
        member->shift = notice.shift <= kMostShift ? notice.shift : kMostShift;
        return;
    }
}

RemoteMatch match_remote(Thread* thread, RemoteMembers* remote, const RemoteCall& enters,
                         uint64_t left) {
    RemoteMatch match{};
    bool all_stamped = false;
    match.partners = count_partners(*remote, enters, &all_stamped);
    if (!all_stamped) return match;
    match = gather(*remote, enters, left);
    if (match.count == match.partners) return match;
    const uint64_t begin = now_ticks();
    if (begin < remote->next_look) return match;
    const uint64_t until = begin + kPatience * piggyback_cost();
    while (match.count != match.partners) {
        const bool taken = take_one_piggyback(thread);
        if (!taken && now_ticks() >= until) break;
        match = gather(*remote, enters, left);
    }
    remote->fruitless = match.count == match.partners ? 0 : remote->fruitless + 1;
    const uint64_t took = now_ticks() - begin;
    if (remote->fruitless >= kFruitless) remote->next_look = begin + took * kSpacing;
    spend(took);
    return match;
}

void note_usual(const RemoteUsual& usual) {
    const StateLock lock;
    RemoteUsual* known = &g_usual[place_in(kStatementBits, usual.node)];
    const uint32_t before = known->node == usual.node ? known->ticks : usual.ticks;
    *known = usual;
    // Outliers (a lost processor) have little weight: the value falls fast and rises slowly.
    const uint32_t step = before / 8 + 1;
    known->ticks = usual.ticks < before
                       ? before - (before - usual.ticks) / 2
                       : before + (usual.ticks - before < step ? usual.ticks - before : step);
}

bool usual_of(CellIndex node, RemoteUsual* usual) {
    const StateLock lock;
    *usual = g_usual[place_in(kStatementBits, node)];
    return usual->node == node && node != 0;
}

EnterStamp estimate_remote(const RemoteUsual& usual, uint64_t left, uint64_t lost) {
    const uint64_t real = left - usual.ticks;
    const Channel* channel = usual.peer < g_channel_count ? g_channels[usual.peer] : nullptr;
    uint64_t its = 0;
    if (channel != nullptr && channel->remote != nullptr)
        lost_by_partner(*channel->remote, real, &its);
    return {{real, real - later(lost, its)}, usual.path, kNoPeer, 0, 0};
}

}  // namespace dwell
