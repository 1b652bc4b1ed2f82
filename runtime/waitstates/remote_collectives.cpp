#include "runtime/waitstates/remote_collectives.h"

#include "runtime/contract/mpi_calls.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/mpi/ranks.h"
#include "runtime/process/free_list.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

namespace {

// All notes may take this part of the time since MPI_Init, and some milliseconds at once: only what
// is told in the beginning shows what to expect of the rest.
constexpr uint64_t kShare = 64;
constexpr uint64_t kFreeAtOnce = 250;  // of a second
constexpr uint32_t kFruitless = 4;     // looks before the next one waits
constexpr uint64_t kPatience = 4;      // letters' costs, for one that is on its way
constexpr uint64_t kBuckets = 256;
constexpr int kStatementBits = 8;
constexpr uint32_t kStatements = 1u << kStatementBits;

// With StateLock held.
RemoteMembers* g_remote[kBuckets];
RemoteMembers* g_free_remote = nullptr;
RemoteUsual g_usual[kStatements];

SharedTable g_nobody{};

// What telling and looking took so far.
std::atomic<uint64_t> g_spent_ticks{0};

RemoteMembers** bucket_of(uint64_t id) { return &g_remote[id >> 24 & (kBuckets - 1)]; }

void spend(uint64_t ticks) { g_spent_ticks.fetch_add(ticks, std::memory_order_relaxed); }

bool is_dear(uint64_t now) {
    const uint64_t spent = g_spent_ticks.load(std::memory_order_relaxed);
    const uint64_t free = g_process.header->ticks_per_second / kFreeAtOnce;
    return beyond(spent, free) * kShare > beyond(now, g_process.header->init_ticks);
}

// How fast the caller's own cost grows but for telling, which grows by leaps: what others may
// expect of it until it tells again.
uint8_t look_at_loss(const Thread& thread, uint64_t now, RemoteMembers* remote) {
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

// The newest: a call that MPI rejected is taken back, and its number is told of again.
const EntryNotice* notice_of(const RemoteMember& member, MpiCall call, uint32_t number) {
    for (uint32_t back = 1; back <= kKeptNotes && back <= member.matched_stamp; ++back) {
        const EntryNotice& notice = member.notes[(member.matched_stamp - back) % kKeptNotes];
        if (notice.number != number) continue;
        if (notice.call == static_cast<uint16_t>(call)) return &notice;
        if (notice.call == kRejected) return nullptr;
    }
    return nullptr;
}

// Whose calls the rank waits for: of each member that with this number; 0: none.
struct OfCollective {
    const RemoteCall& enters;
    MpiCall call() const { return enters.call; }
    uint32_t number(const RemoteMember& member) const {
        return waits_for(enters.role, enters.contributors, member.place) ? enters.number : 0;
    }
};
struct OfEpoch {
    const RemoteMembers& remote;
    Epoch epoch;
    bool exposes() const { return epoch == Epoch::kPost || epoch == Epoch::kWait; }
    MpiCall call() const {
        return epoch == Epoch::kWait ? MpiCall::kWin_complete : MpiCall::kWin_post;
    }
    uint32_t number(const RemoteMember& member) const {
        const FewRanks& partners = exposes() ? remote.alone.origins : remote.alone.targets;
        if (!is_among(partners, static_cast<int>(member.place >> 1))) return 0;
        return exposes() ? member.exposed : member.accessed;
    }
};

template <class Awaited>
RemoteMatch gather(const RemoteMembers& remote, const Awaited& awaited, uint64_t left) {
    const StateLock lock;
    RemoteMatch matched_stamp{};
    matched_stamp.peer = kNoPeer;
    uint64_t real = 0;
    for (uint32_t i = 0; i < remote.count; ++i) {
        const RemoteMember& member = remote.members[i];
        const uint32_t number = awaited.number(member);
        if (number == 0) continue;
        matched_stamp.partners += 1;
        const EntryNotice* notice = notice_of(member, awaited.call(), number);
        if (notice == nullptr) continue;
        matched_stamp.count += 1;
        if (notice->stamp.at.real > left) continue;  // the call did not wait for it
        real = later(real, earlier(came_at(*notice), left));
        if (matched_stamp.found && notice->stamp.at.virt <= matched_stamp.last.at.virt) continue;
        matched_stamp.found = true;
        matched_stamp.peer = member.peer;
        matched_stamp.last = notice->stamp;
    }
    matched_stamp.last.at.real = real;
    return matched_stamp;
}

// Those whom the rank waits for; and whether all of them have told of it, or will have, as far as
// they said what they choose.
template <class Awaited>
uint32_t count_partners(const RemoteMembers& remote, const Awaited& awaited, bool* sent_stamp) {
    uint32_t partners = 0;
    *sent_stamp = true;
    for (uint32_t i = 0; i < remote.count; ++i) {
        const RemoteMember& member = remote.members[i];
        const uint32_t number = awaited.number(member);
        if (number == 0) continue;
        partners += 1;
        if (member.matched_stamp == 0) continue;
        const EntryNotice& newest = member.notes[(member.matched_stamp - 1) % kKeptNotes];
        if (newest.number != number && !is_chosen(number, member.shift)) *sent_stamp = false;
    }
    return partners;
}

template <class Awaited>
RemoteMatch match_stamp(Thread* thread, RemoteMembers* remote, const Awaited& awaited,
                        uint64_t left) {
    RemoteMatch matched_stamp{};
    bool sent_stamp = false;
    matched_stamp.partners = count_partners(*remote, awaited, &sent_stamp);
    if (!sent_stamp) return matched_stamp;
    matched_stamp = gather(*remote, awaited, left);
    if (matched_stamp.count == matched_stamp.partners) return matched_stamp;
    const uint64_t begin = now_ticks();
    if (begin < remote->next_look) return matched_stamp;
    const uint64_t until = begin + kPatience * piggyback_cost();
    while (matched_stamp.count != matched_stamp.partners) {
        const bool taken = take_one_piggyback(thread);
        if (!taken && now_ticks() >= until) break;
        matched_stamp = gather(*remote, awaited, left);
    }
    remote->fruitless = matched_stamp.count == matched_stamp.partners ? 0 : remote->fruitless + 1;
    const uint64_t took = now_ticks() - begin;
    if (remote->fruitless >= kFruitless) remote->next_look = begin + took * kSpacing;
    spend(took);
    return matched_stamp;
}

// World ranks of the members on other hosts, group by group, ascending by their rank; false: there
// are too many, or they cannot all be told.
class MemberList {
  public:
    MemberList(Thread* thread, const CommDefinition& name, RemoteMembers* remote)
        : thread_(thread), name_(name), remote_(remote) {}

    bool fill() {
        remote_->count = 0;
        const auto comm = reinterpret_cast<MPI_Comm>(name_.handle);
        MPI_Group group = nullptr;
        if (name_.remote_state == RemoteState::kOfWindow) {
            group = group_of(reinterpret_cast<MPI_Win>(name_.handle));
        } else if (name_.remote_state == RemoteState::kOfFile) {
            group = group_of(reinterpret_cast<MPI_File>(name_.handle));
        } else if (name_.inter) {
            group = group_of(comm);
        }
        const int own = static_cast<int>(name_.members) - (name_.inter ? name_.size : 0);
        bool filled = add(comm, group, own, name_.side);
        free_group(&group);
        // The ranks that an inter-communicator names are those of the other group.
        if (name_.inter) filled = filled && add(comm, nullptr, name_.size, name_.side ^ 1u);
        return filled && remote_->count != 0 && all_are_profiled();
    }

  private:
    // By the group, or by the ranks that the communicator names.
    bool add(MPI_Comm comm, MPI_Group group, int count, uint32_t side) {
        for (int rank = 0; rank < count; ++rank) {
            if (rank == name_.rank && side == name_.side) continue;
            const uint32_t peer = group != nullptr ? peer_of_group(thread_, group, rank)
                                                   : peer_of(thread_, comm, rank);
            if (peer >= g_channel_count) return false;
            if (is_same_host(peer)) continue;
            if (remote_->count == kMostRemote) return false;
            RemoteMember* member = &remote_->members[remote_->count++];
            member->peer = peer;
            member->place = static_cast<uint32_t>(rank) << 1 | side;
            member->shift = member->exposed = member->accessed = member->matched_stamp = 0;
            member->sent_stamp = {};
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
    const CommDefinition& name_;
    RemoteMembers* remote_;
};

RemoteMembers* take_members() {
    const StateLock lock;
    return take_from(&g_free_remote);
}

}  // namespace

void open_remote_collectives() {
    CommDefinition* world = find_name(reinterpret_cast<uintptr_t>(g_mpi.comm_world));
    if (world == nullptr) return;
    world->remote_state = RemoteState::kOfComm;
    if (t_thread != nullptr) find_remote_members(t_thread, world);
}

void find_remote_members(Thread* thread, CommDefinition* name) {
    RemoteMembers* remote = take_members();
    bool listed = false;
    if (remote != nullptr) {
        remote->id = name->id;
        remote->choice = {};
        remote->sent_stamp = {};
        remote->loss_at = remote->lost = 0;
        remote->loss = 0;
        remote->fruitless = 0;
        remote->next_look = 0;
        remote->epochs = 0;
        remote->alone = CollectiveTable{};
        remote->alone.shared = &g_nobody;
        remote->alone.members = name->members;
        remote->alone.others = name->inter ? static_cast<uint32_t>(name->size) : 0;
        remote->alone.side = name->side;
        remote->alone.inter = name->inter;
        remote->alone.is_world = name->is_world;
        remote->alone.rank = name->rank;
        listed = MemberList(thread, *name, remote).fill();
        if (listed && name->remote_state == RemoteState::kOfComm && !name->inter) {
            read_neighbours(reinterpret_cast<MPI_Comm>(name->handle), name->rank,
                            &remote->alone.sources, &remote->alone.targets);
        }
    }
    const StateLock lock;
    if (!is_not_looked(name->remote_state) || !listed) {
        if (remote != nullptr) give_back_to(&g_free_remote, remote);
        if (is_not_looked(name->remote_state)) name->remote_state = RemoteState::kNone;
        return;
    }
    static uint32_t post_orders = 0;
    remote->post_order = ++post_orders;
    RemoteMembers** bucket = bucket_of(remote->id);
    remote->next = *bucket;
    *bucket = remote;
    name->remote = remote;
    name->remote_state = RemoteState::kKnown;
}

RemoteMembers* remote_members_with(uint32_t post_order) {
    if (post_order == kNoPeer) return nullptr;
    const StateLock lock;
    for (RemoteMembers* remote : g_remote) {
        while (remote != nullptr && remote->post_order != post_order) remote = remote->next;
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

bool stamp_remote(Call* call, CommDefinition* name, const RemoteCall& enters) {
    RemoteMembers* remote = name->remote;
    if (!is_chosen(enters.number, remote->choice.shift)) return false;
    uint32_t listeners = 0;
    for (uint32_t i = 0; i < remote->count; ++i) {
        if (is_awaited_by(enters.role, remote->members[i].place)) ++listeners;
    }
    if (listeners == 0) return false;
    const uint64_t begin = now_ticks();
    const uint64_t cost = piggyback_cost();
    count_chosen(&remote->choice, enters.number, begin, kSpacing * cost * (name->members - 1),
                 is_dear(begin));
    const uint64_t telling = earlier(cost * listeners, UINT32_MAX);
    EntryNotice notice{make_enter_stamp(call),
                       remote->id,
                       enters.number,
                       static_cast<uint16_t>(enters.call),
                       static_cast<uint8_t>(remote->choice.shift),
                       look_at_loss(*call->thread, begin, remote),
                       static_cast<uint32_t>(telling)};
    add_delay(own_rank(), &remote->sent_stamp, &notice.stamp);
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

// All of them: who did not depend on it does not look.
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
        member->notes[member->matched_stamp % kKeptNotes] = notice;
        member->matched_stamp += 1;
        member->shift = notice.shift <= kMostShift ? notice.shift : kMostShift;
        return;
    }
}

RemoteMatch match_remote(Thread* thread, RemoteMembers* remote, const RemoteCall& enters,
                         uint64_t left) {
    return match_stamp(thread, remote, OfCollective{enters}, left);
}

void count_epoch(RemoteMembers* remote, Epoch epoch, const FewRanks& partners) {
    for (uint32_t i = 0; i < remote->count; ++i) {
        RemoteMember* member = &remote->members[i];
        if (!is_among(partners, static_cast<int>(member->place >> 1))) continue;
        (epoch == Epoch::kPost ? member->exposed : member->accessed) += 1;
    }
}

void stamp_epoch_remote(Call* call, RemoteMembers* remote, Epoch epoch, const EnterStamp& entered) {
    const OfEpoch own{*remote, epoch};
    const uint32_t shift = remote->choice.shift;
    uint32_t listeners = 0;
    remote->epochs += 1;
    for (uint32_t i = 0; i < remote->count; ++i) {
        const uint32_t number = own.number(remote->members[i]);
        if (number != 0 && is_chosen(number, shift)) ++listeners;
    }
    if (listeners == 0) return;
    const uint64_t begin = now_ticks();
    const uint64_t cost = piggyback_cost() * listeners;
    count_chosen(&remote->choice, remote->choice.last_number + remote->epochs, begin,
                 kSpacing * cost, is_dear(begin));
    remote->epochs = 0;
    const bool posts = epoch == Epoch::kPost;  // told when it is over
    EntryNotice notice{entered,
                       remote->id,
                       0,
                       static_cast<uint16_t>(posts ? MpiCall::kWin_post : MpiCall::kWin_complete),
                       static_cast<uint8_t>(remote->choice.shift),
                       look_at_loss(*call->thread, begin, remote),
                       posts ? 0 : static_cast<uint32_t>(earlier(cost, UINT32_MAX))};
    uint64_t took = 0;
    for (uint32_t i = 0; i < remote->count; ++i) {
        RemoteMember& member = remote->members[i];
        notice.number = own.number(member);
        if (notice.number == 0 || !is_chosen(notice.number, shift)) continue;
        const Channel* channel = channel_with(call->thread, member.peer);
        if (channel == nullptr) continue;
        notice.stamp = entered;
        if (remote->sent_stamp.round > member.sent_stamp.round)
            member.sent_stamp = remote->sent_stamp;
        add_delay(member.peer, &member.sent_stamp, &notice.stamp);
        took += send_notice(channel->remote, notice);
    }
    spend(took);
}

RemoteMatch match_epoch_remote(Thread* thread, RemoteMembers* remote, Epoch epoch, uint64_t left) {
    return match_stamp(thread, remote, OfEpoch{*remote, epoch}, left);
}

bool is_remote_member(const RemoteMembers& remote, int rank) {
    for (uint32_t i = 0; i < remote.count; ++i) {
        if (static_cast<int>(remote.members[i].place >> 1) == rank) return true;
    }
    return false;
}

void note_usual(const RemoteUsual& usual) {
    const StateLock lock;
    RemoteUsual* known = &g_usual[place_in(kStatementBits, usual.node)];
    const uint32_t before = known->node == usual.node ? known->ticks : usual.ticks;
    *known = usual;
    // Calls that lost their processor have little weight: it falls fast and rises slowly.
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
