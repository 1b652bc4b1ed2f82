#include "runtime/waitstates/far_meetings.h"

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

// With SlowLock held.
FarMembers* g_far[kBuckets];
FarMembers* g_free_far = nullptr;
FarUsual g_usual[kStatements];

SharedBoard g_nobody{};

// What telling and looking took so far.
std::atomic<uint64_t> g_spent_ticks{0};

FarMembers** bucket_of(uint64_t id) { return &g_far[id >> 24 & (kBuckets - 1)]; }

void spend(uint64_t ticks) { g_spent_ticks.fetch_add(ticks, std::memory_order_relaxed); }

bool is_dear(uint64_t now) {
    const uint64_t spent = g_spent_ticks.load(std::memory_order_relaxed);
    const uint64_t free = g_process.header->ticks_per_second / kFreeAtOnce;
    return beyond(spent, free) * kShare > beyond(now, g_process.header->init_ticks);
}

// How fast the caller's own cost grows but for telling, which grows by leaps: what others may
// expect of it until it tells again.
uint8_t look_at_loss(const Thread& thread, uint64_t now, FarMembers* far) {
    const uint64_t passed = beyond(now, far->loss_at);
    if (passed < kRateTicks) return far->loss;
    const uint64_t lost =
        beyond(thread.record->own_ticks, g_spent_ticks.load(std::memory_order_relaxed));
    if (far->loss_at != 0) {
        far->loss = static_cast<uint8_t>(earlier(beyond(lost, far->lost) * 256 / passed, 255));
    }
    far->loss_at = now;
    far->lost = lost;
    return far->loss;
}

// The newest: a call that MPI rejected is taken back, and its number is told of again.
const FarNote* note_of(const FarMember& member, MpiCall call, uint32_t number) {
    for (uint32_t back = 1; back <= kKeptNotes && back <= member.heard; ++back) {
        const FarNote& note = member.notes[(member.heard - back) % kKeptNotes];
        if (note.number != number) continue;
        if (note.call == static_cast<uint16_t>(call)) return &note;
        if (note.call == kRejected) return nullptr;
    }
    return nullptr;
}

// Whose calls the rank waits for: of each member that with this number; 0: none.
struct OfCollective {
    const FarCall& enters;
    MpiCall call() const { return enters.call; }
    uint32_t number(const FarMember& member) const {
        return waits_for(enters.role, enters.givers, member.place) ? enters.number : 0;
    }
};
struct OfEpoch {
    const FarMembers& far;
    Epoch epoch;
    bool exposes() const { return epoch == Epoch::kPost || epoch == Epoch::kWait; }
    MpiCall call() const {
        return epoch == Epoch::kWait ? MpiCall::kWin_complete : MpiCall::kWin_post;
    }
    uint32_t number(const FarMember& member) const {
        const FewRanks& partners = exposes() ? far.alone.origins : far.alone.targets;
        if (!is_among(partners, static_cast<int>(member.place >> 1))) return 0;
        return exposes() ? member.exposed : member.accessed;
    }
};

template <class Awaited>
FarHeard gather(const FarMembers& far, const Awaited& awaited, uint64_t left) {
    const SlowLock lock;
    FarHeard heard{};
    heard.peer = kNoPeer;
    uint64_t real = 0;
    for (uint32_t i = 0; i < far.count; ++i) {
        const FarMember& member = far.members[i];
        const uint32_t number = awaited.number(member);
        if (number == 0) continue;
        heard.partners += 1;
        const FarNote* note = note_of(member, awaited.call(), number);
        if (note == nullptr) continue;
        heard.count += 1;
        if (note->said.at.real > left) continue;  // the call did not wait for it
        real = later(real, earlier(came_at(*note), left));
        if (heard.found && note->said.at.virt <= heard.last.at.virt) continue;
        heard.found = true;
        heard.peer = member.peer;
        heard.last = note->said;
    }
    heard.last.at.real = real;
    return heard;
}

// Those whom the rank waits for; and whether all of them have told of it, or will have, as far as
// they said what they choose.
template <class Awaited>
uint32_t count_partners(const FarMembers& far, const Awaited& awaited, bool* told) {
    uint32_t partners = 0;
    *told = true;
    for (uint32_t i = 0; i < far.count; ++i) {
        const FarMember& member = far.members[i];
        const uint32_t number = awaited.number(member);
        if (number == 0) continue;
        partners += 1;
        if (member.heard == 0) continue;
        const FarNote& newest = member.notes[(member.heard - 1) % kKeptNotes];
        if (newest.number != number && !is_chosen(number, member.shift)) *told = false;
    }
    return partners;
}

template <class Awaited>
FarHeard hear(Thread* thread, FarMembers* far, const Awaited& awaited, uint64_t left) {
    FarHeard heard{};
    bool told = false;
    heard.partners = count_partners(*far, awaited, &told);
    if (!told) return heard;
    heard = gather(*far, awaited, left);
    if (heard.count == heard.partners) return heard;
    const uint64_t begin = now_ticks();
    if (begin < far->next_look) return heard;
    const uint64_t until = begin + kPatience * letter_cost();
    while (heard.count != heard.partners) {
        const bool taken = take_one_letter(thread);
        if (!taken && now_ticks() >= until) break;
        heard = gather(*far, awaited, left);
    }
    far->fruitless = heard.count == heard.partners ? 0 : far->fruitless + 1;
    const uint64_t took = now_ticks() - begin;
    if (far->fruitless >= kFruitless) far->next_look = begin + took * kSpacing;
    spend(took);
    return heard;
}

// World ranks of the members on other hosts, group by group, ascending by their rank; false: there
// are too many, or they cannot all be told.
class MemberList {
  public:
    MemberList(Thread* thread, const CommName& name, FarMembers* far)
        : thread_(thread), name_(name), far_(far) {}

    bool fill() {
        far_->count = 0;
        const auto comm = reinterpret_cast<MPI_Comm>(name_.handle);
        MPI_Group group = nullptr;
        if (name_.far_state == FarState::kOfWindow) {
            group = group_of(reinterpret_cast<MPI_Win>(name_.handle));
        } else if (name_.far_state == FarState::kOfFile) {
            group = group_of(reinterpret_cast<MPI_File>(name_.handle));
        } else if (name_.inter) {
            group = group_of(comm);
        }
        const int own = static_cast<int>(name_.members) - (name_.inter ? name_.size : 0);
        bool filled = add(comm, group, own, name_.side);
        free_group(&group);
        // The ranks that an inter-communicator names are those of the other group.
        if (name_.inter) filled = filled && add(comm, nullptr, name_.size, name_.side ^ 1u);
        return filled && far_->count != 0 && all_are_observed();
    }

  private:
    // By the group, or by the ranks that the communicator names.
    bool add(MPI_Comm comm, MPI_Group group, int count, uint32_t side) {
        for (int rank = 0; rank < count; ++rank) {
            if (rank == name_.rank && side == name_.side) continue;
            const uint32_t peer = group != nullptr ? peer_of_group(thread_, group, rank)
                                                   : peer_of(thread_, comm, rank);
            if (peer >= g_channel_count) return false;
            if (is_neighbour(peer)) continue;
            if (far_->count == kMostFar) return false;
            FarMember* member = &far_->members[far_->count++];
            member->peer = peer;
            member->place = static_cast<uint32_t>(rank) << 1 | side;
            member->shift = member->exposed = member->accessed = member->heard = 0;
            member->told = {};
        }
        return true;
    }
    bool all_are_observed() const {
        for (uint32_t i = 0; i < far_->count; ++i) {
            const Channel* channel = channel_with(thread_, far_->members[i].peer);
            if (channel == nullptr || channel->far == nullptr) return false;
        }
        return true;
    }

    Thread* thread_;
    const CommName& name_;
    FarMembers* far_;
};

FarMembers* take_members() {
    const SlowLock lock;
    return take_from(&g_free_far);
}

}  // namespace

void open_far_meetings() {
    CommName* world = find_name(reinterpret_cast<uintptr_t>(g_mpi.comm_world));
    if (world == nullptr) return;
    world->far_state = FarState::kOfComm;
    if (t_thread != nullptr) find_far_members(t_thread, world);
}

void find_far_members(Thread* thread, CommName* name) {
    FarMembers* far = take_members();
    bool listed = false;
    if (far != nullptr) {
        far->id = name->id;
        far->choice = {};
        far->told = {};
        far->loss_at = far->lost = 0;
        far->loss = 0;
        far->fruitless = 0;
        far->next_look = 0;
        far->epochs = 0;
        far->alone = Board{};
        far->alone.shared = &g_nobody;
        far->alone.members = name->members;
        far->alone.others = name->inter ? static_cast<uint32_t>(name->size) : 0;
        far->alone.side = name->side;
        far->alone.inter = name->inter;
        far->alone.is_world = name->is_world;
        far->alone.rank = name->rank;
        listed = MemberList(thread, *name, far).fill();
        if (listed && name->far_state == FarState::kOfComm && !name->inter) {
            read_neighbours(reinterpret_cast<MPI_Comm>(name->handle), name->rank,
                            &far->alone.sources, &far->alone.targets);
        }
    }
    const SlowLock lock;
    if (!is_not_looked(name->far_state) || !listed) {
        if (far != nullptr) give_back_to(&g_free_far, far);
        if (is_not_looked(name->far_state)) name->far_state = FarState::kNone;
        return;
    }
    static uint32_t tickets = 0;
    far->ticket = ++tickets;
    FarMembers** bucket = bucket_of(far->id);
    far->next = *bucket;
    *bucket = far;
    name->far = far;
    name->far_state = FarState::kKnown;
}

FarMembers* far_members_with(uint32_t ticket) {
    if (ticket == kNoPeer) return nullptr;
    const SlowLock lock;
    for (FarMembers* far : g_far) {
        while (far != nullptr && far->ticket != ticket) far = far->next;
        if (far != nullptr) return far;
    }
    return nullptr;
}

void forget_far_members(FarMembers* far) {
    if (far == nullptr) return;
    const SlowLock lock;
    FarMembers** at = bucket_of(far->id);
    while (*at != nullptr && *at != far) at = &(*at)->next;
    if (*at == nullptr) return;
    *at = far->next;
    give_back_to(&g_free_far, far);
}

bool tell_far(Call* call, CommName* name, const FarCall& enters) {
    FarMembers* far = name->far;
    if (!is_chosen(enters.number, far->choice.shift)) return false;
    uint32_t listeners = 0;
    for (uint32_t i = 0; i < far->count; ++i) {
        if (is_awaited_by(enters.role, far->members[i].place)) ++listeners;
    }
    if (listeners == 0) return false;
    const uint64_t begin = now_ticks();
    const uint64_t cost = letter_cost();
    count_chosen(&far->choice, enters.number, begin, kSpacing * cost * (name->members - 1),
                 is_dear(begin));
    const uint64_t telling = earlier(cost * listeners, UINT32_MAX);
    FarNote note{moment_of(call),
                 far->id,
                 enters.number,
                 static_cast<uint16_t>(enters.call),
                 static_cast<uint8_t>(far->choice.shift),
                 look_at_loss(*call->thread, begin, far),
                 static_cast<uint32_t>(telling)};
    add_delay(own_rank(), &far->told, &note.said);
    note.said.at.real = begin;
    uint64_t took = 0;
    for (uint32_t i = 0; i < far->count; ++i) {
        const FarMember& member = far->members[i];
        if (!is_awaited_by(enters.role, member.place)) continue;
        const Channel* channel = channel_with(call->thread, member.peer);
        if (channel != nullptr) took += send_note(channel->far, note);
    }
    spend(took);
    begin_work(call, now_ticks());
    return true;
}

// All of them: who did not depend on it does not look.
void untell_far(const FarMembers* far, uint32_t number) {
    FarNote note{};
    note.id = far->id;
    note.number = number;
    note.call = kRejected;
    note.shift = static_cast<uint8_t>(far->choice.shift);
    for (uint32_t i = 0; i < far->count; ++i) {
        const Channel* channel = channel_with(t_thread, far->members[i].peer);
        if (channel != nullptr) spend(send_note(channel->far, note));
    }
}

void put_note(uint32_t peer, const FarNote& note) {
    const SlowLock lock;
    FarMembers* far = *bucket_of(note.id);
    while (far != nullptr && far->id != note.id) far = far->next;
    if (far == nullptr) return;
    for (uint32_t i = 0; i < far->count; ++i) {
        FarMember* member = &far->members[i];
        if (member->peer != peer) continue;
        member->notes[member->heard % kKeptNotes] = note;
        member->heard += 1;
        member->shift = note.shift <= kMostShift ? note.shift : kMostShift;
        return;
    }
}

FarHeard hear_far(Thread* thread, FarMembers* far, const FarCall& enters, uint64_t left) {
    return hear(thread, far, OfCollective{enters}, left);
}

void count_epoch(FarMembers* far, Epoch epoch, const FewRanks& partners) {
    for (uint32_t i = 0; i < far->count; ++i) {
        FarMember* member = &far->members[i];
        if (!is_among(partners, static_cast<int>(member->place >> 1))) continue;
        (epoch == Epoch::kPost ? member->exposed : member->accessed) += 1;
    }
}

void tell_epoch_far(Call* call, FarMembers* far, Epoch epoch, const Moment& entered) {
    const OfEpoch own{*far, epoch};
    const uint32_t shift = far->choice.shift;
    uint32_t listeners = 0;
    far->epochs += 1;
    for (uint32_t i = 0; i < far->count; ++i) {
        const uint32_t number = own.number(far->members[i]);
        if (number != 0 && is_chosen(number, shift)) ++listeners;
    }
    if (listeners == 0) return;
    const uint64_t begin = now_ticks();
    const uint64_t cost = letter_cost() * listeners;
    count_chosen(&far->choice, far->choice.last_number + far->epochs, begin, kSpacing * cost,
                 is_dear(begin));
    far->epochs = 0;
    const bool posts = epoch == Epoch::kPost;  // told when it is over
    FarNote note{entered,
                 far->id,
                 0,
                 static_cast<uint16_t>(posts ? MpiCall::kWin_post : MpiCall::kWin_complete),
                 static_cast<uint8_t>(far->choice.shift),
                 look_at_loss(*call->thread, begin, far),
                 posts ? 0 : static_cast<uint32_t>(earlier(cost, UINT32_MAX))};
    uint64_t took = 0;
    for (uint32_t i = 0; i < far->count; ++i) {
        FarMember& member = far->members[i];
        note.number = own.number(member);
        if (note.number == 0 || !is_chosen(note.number, shift)) continue;
        const Channel* channel = channel_with(call->thread, member.peer);
        if (channel == nullptr) continue;
        note.said = entered;
        if (far->told.round > member.told.round) member.told = far->told;
        add_delay(member.peer, &member.told, &note.said);
        took += send_note(channel->far, note);
    }
    spend(took);
}

FarHeard hear_epoch_far(Thread* thread, FarMembers* far, Epoch epoch, uint64_t left) {
    return hear(thread, far, OfEpoch{*far, epoch}, left);
}

bool is_far_member(const FarMembers& far, int rank) {
    for (uint32_t i = 0; i < far.count; ++i) {
        if (static_cast<int>(far.members[i].place >> 1) == rank) return true;
    }
    return false;
}

void note_usual(const FarUsual& usual) {
    const SlowLock lock;
    FarUsual* known = &g_usual[place_in(kStatementBits, usual.node)];
    const uint32_t before = known->node == usual.node ? known->ticks : usual.ticks;
    *known = usual;
    // Calls that lost their processor have little weight: it falls fast and rises slowly.
    const uint32_t step = before / 8 + 1;
    known->ticks = usual.ticks < before
                       ? before - (before - usual.ticks) / 2
                       : before + (usual.ticks - before < step ? usual.ticks - before : step);
}

bool usual_of(CellIndex node, FarUsual* usual) {
    const SlowLock lock;
    *usual = g_usual[place_in(kStatementBits, node)];
    return usual->node == node && node != 0;
}

Moment estimate_far(const FarUsual& usual, uint64_t left, uint64_t lost) {
    const uint64_t real = left - usual.ticks;
    const Channel* channel = usual.peer < g_channel_count ? g_channels[usual.peer] : nullptr;
    uint64_t its = 0;
    if (channel != nullptr && channel->far != nullptr) lost_by_partner(*channel->far, real, &its);
    return {{real, real - later(lost, its)}, usual.path, kNoPeer, 0, 0};
}

}  // namespace dwell
