#include "runtime/waitstates/meetings.h"

#include "runtime/calls/call_order.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/exchange/timeline.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/mpi/observed.h"
#include "runtime/process/free_list.h"
#include "runtime/process/shared_words.h"
#include "runtime/waitstates/latest.h"

namespace dwell {

namespace {

// A collective as its request, or the call itself, knows it.
struct Entered {
    Board* board;
    MpiCall call;
    uint32_t number;
    Role role;
    FarMembers* far = nullptr;  // its members on other hosts
    CellIndex node = 0;         // of the statement, where that is this collective and nothing else
};

Role role_on(const Board& board, Meets rule, int root) {
    return {rule, root, board.rank, board.side, board.inter, &board.sources, nullptr};
}

// Sources may be named twice.
uint32_t count_sources(const Board& board, const Givers& givers) {
    const FewRanks& list = board.sources;
    uint32_t count = 0;
    for (uint32_t k = 0; k < list.count; ++k) {
        const int rank = list.ranks[k];
        bool counts = rank >= 0 && rank != board.rank && givers.gives(k);
        for (uint32_t before = 0; counts && before < k; ++before) {
            counts = list.ranks[before] != rank || !givers.gives(before);
        }
        count += counts ? 1 : 0;
    }
    return count;
}

// Members that the rank depends on, itself left out.
uint32_t count_partners(const Entered& entered, const Givers& givers) {
    const Board& board = *entered.board;
    const int root = entered.role.root;
    const uint32_t group = board.inter ? board.others : board.members;
    switch (entered.role.rule) {
        case Meets::kRoot:
            return root >= 0 && (board.inter || root != board.rank) ? 1 : 0;
        case Meets::kUpTo:
            return static_cast<uint32_t>(board.rank);
        case Meets::kToRoot:
            if (board.inter ? root != MPI_ROOT : board.rank != root) return 0;
            break;
        case Meets::kAll:
            break;
        case Meets::kSources:
            return count_sources(board, givers);
        case Meets::kObserved:
            return static_cast<uint32_t>(g_observed.count) - 1;
        default:
            return board.members - 1;
    }
    if (givers.all()) return board.inter ? group : group - 1;
    uint32_t count = 0;
    for (uint32_t k = 0; k < group; ++k) {
        if (givers.gives(k) && (board.inter || k != static_cast<uint32_t>(board.rank))) ++count;
    }
    return count;
}

// The members on other hosts, `missing` of which the rank depends on: how many are known, or
// estimated.
uint32_t add_far_members(const Entered& entered, const Givers& givers, uint32_t missing,
                         Latest* latest) {
    const Waiting& waiting = latest->waiting();
    const FarHeard heard =
        hear_far(waiting.thread(), entered.far,
                 {entered.number, entered.call, entered.role, givers}, waiting.left());
    latest->add_far(heard);
    if (heard.partners != missing) return 0;  // some on this host have said nothing
    if (heard.count == missing) {
        const uint64_t rest = latest->rest();
        if (entered.node != 0 && heard.found && rest < UINT32_MAX) {
            note_usual({entered.node, static_cast<uint32_t>(rest), heard.peer, heard.last.path});
        }
        return missing;
    }
    FarUsual usual{};
    if (!usual_of(entered.node, &usual)) return heard.count;
    // Nobody was waited for, or one of those that are known: times like these differ a little.
    const Instant& begun = waiting.entered();
    const uint64_t until = beyond(waiting.left(), usual.ticks);
    const uint64_t last = latest->real();
    if (until <= begun.real || (last > begun.real && until <= last + usual.ticks / 2)) {
        return missing;
    }
    latest->add_estimated(estimate_far(usual, waiting.left(), begun.real - begun.virt), usual.peer);
    return missing;
}

void add_members(const Entered& entered, const Givers& givers, Latest* latest) {
    const Board& board = *entered.board;
    const uint32_t row = entered.number % kGenerations;
    const uint32_t places = places_of(&board);
    uint32_t met = 0;
    for (uint32_t place = 0; place < places; ++place) {
        const BoardMember& member = board.places[place];
        if (place == board.own || !waits_for(entered.role, givers, member.place)) continue;
        latest->add_slot(slot_at(&board, row, place), entered.number, entered.call, member.peer);
        ++met;
    }
    const uint32_t partners = count_partners(entered, givers);
    if (met < partners && entered.far != nullptr) {
        met += add_far_members(entered, givers, partners - met, latest);
    }
    // Who has no place yet has not come; on another node it may have.
    if (met < partners && !(latest->may() && world_is_here())) {
        latest->add_unknown();
    }
}

// After all whom MPI makes the rank depend on.
void add_own_group(const Entered& entered, Latest* latest) {
    const Board& board = *entered.board;
    const auto call = static_cast<uint32_t>(entered.call);
    const uint64_t after = later(latest->waiting().entered().real, latest->real());
    const uint32_t places = places_of(&board);
    for (uint32_t place = 0; place < places; ++place) {
        const BoardMember& member = board.places[place];
        if (place == board.own || !may_wait_for(entered.role, member.place)) continue;
        Moment said;
        const BoardSlot* slot = slot_at(&board, entered.number % kGenerations, place);
        switch (read_slot(slot, entered.number, call, &said)) {
            case Said::kThis:
                latest->add_open(said, member.peer, after);
                break;
            case Said::kLater:
                latest->add_later();
                break;
            case Said::kNothingYet:
                break;
        }
    }
}

bool is_root(const Board& board, int root) {
    return board.inter ? root == MPI_ROOT : root == board.rank;
}

bool waits_for_all(const Entered& entered, const Givers& givers) {
    const Meets rule = entered.role.rule;
    return givers.all() &&
           (rule == Meets::kEverybody || (rule == Meets::kAll && !entered.role.inter));
}

void add_partners(const Entered& entered, const Givers& givers, Waiting* waiting) {
    const Meets rule = entered.role.rule;
    Latest latest(waiting, rule == Meets::kMay);
    if (rule == Meets::kSources && !entered.board->sources.known) {
        latest.add_unknown();
    } else {
        add_members(entered, givers, &latest);
    }
    if (rule == Meets::kAll && entered.role.inter) [[unlikely]]
        add_own_group(entered, &latest);
    if (rule == Meets::kSome) latest.add_unknown();
    if (rule == Meets::kMay) waiting->add_open();
    latest.finish();
}

void know_sources(Call* call, const Meeting& meeting, Meets rule) {
    if (rule != Meets::kSources || meeting.board->sources.known) return;
    const MeasuredLook look(call);
    read_neighbours(reinterpret_cast<MPI_Comm>(meeting.name->handle), meeting.board->rank,
                    &meeting.board->sources, &meeting.board->targets);
}

// Which of the counts are not 0, as bits; false when there are too many.
bool bits_of(const Board& board, const Depends& depends, uint64_t* bits) {
    *bits = UINT64_MAX;
    if (depends.counts == nullptr) return true;
    uint32_t count = board.inter ? board.others : board.members;
    if (depends.rule == Meets::kSources) count = board.sources.known ? board.sources.count : 0;
    if (depends.rule == Meets::kToRoot && !is_root(board, depends.root)) count = 0;
    if (count > 64) return false;
    *bits = 0;
    for (uint32_t k = 0; k < count; ++k) *bits |= uint64_t{depends.counts[k] != 0} << k;
    return true;
}

// Members on other hosts hear of it.
bool is_told(MpiCall call, Meets rule) {
    const MpiCallInfo& info = kMpiCalls[static_cast<int>(call)];
    return (info.call_class == CallClass::kCollective || info.waits) && rule != Meets::kSome &&
           rule != Meets::kObserved;
}

// On the board of what the members have in common.
Meeting enter_board(Call* call, CommName* name, MpiCall number, Meets rule, int root) {
    Meeting meeting{name, nullptr, number, ++name->collectives, false};
    if (name->members < 2) return meeting;
    const uint64_t slow_ticks = call->thread->slow_ticks;
    Board* board = board_of(call->thread, name);
    // Only now it begins: nothing of it has been noted so far.
    if (call->thread->slow_ticks != slow_ticks) start(call);
    say_late_arrival(call);
    if (g_process.preserve_order) [[unlikely]] {
        g_call_order->say_meeting(call, *name, meeting.number, rule, root,
                                  kMpiCalls[static_cast<int>(number)].waits);
    }
    if (name->far_state == FarState::kKnown && is_told(number, rule)) [[unlikely]] {
        const Role role{
            rule, root, name->rank, name->side, name->inter, nullptr, &name->far->alone.targets};
        meeting.far_told = tell_far(call, name, {meeting.number, number, role, kAllGive});
    }
    if (board == nullptr) return meeting;
    Moment said = moment_of(call);
    said.at.real = now_ticks();
    write_slot(slot_at(board, meeting.number % kGenerations, board->own), meeting.number,
               static_cast<uint32_t>(number), said);
    // The next one's: others have looked at it since it was written last.
    fetch_to_write(slot_at(board, (meeting.number + 1) % kGenerations, board->own));
    begin_work(call, now_ticks());
    meeting.board = board;
    return meeting;
}

}  // namespace

Meeting enter_meeting(Call* call, MpiCall number, uintptr_t handle, Meets rule, int root) {
    CommName* name = find_name(handle);
    return name != nullptr ? enter_board(call, name, number, rule, root) : Meeting{};
}

MembersMeeting::MembersMeeting(Call* call, MPI_Comm comm, MPI_Group group, int tag) {
    if (!waits_are_open() || !name_before_made(comm, group, tag, &name_)) return;
    start(call);
    meeting_ = enter_board(call, &name_, MpiCall::kComm_create_group, Meets::kEverybody, 0);
}

void MembersMeeting::settle(Call* call) const {
    settle_meeting(call, meeting_, {Meets::kEverybody, 0, nullptr});
}

void MembersMeeting::hand_over(MPI_Comm from, const MPI_Comm* made, int tag) {
    Board* board = take_board();
    if (!name_made_by_members(from, made, tag, board)) release_board(board);
}

Board* MembersMeeting::take_board() {
    Board* board = meeting_.board;
    meeting_.board = nullptr;
    return board;
}

// Arguments that MPI rejects make no collective of the call; a message that is too long does.
void untell_meeting(const Meeting& meeting, int result) {
    if (meeting.name == nullptr || result == MPI_ERR_TRUNCATE) return;
    meeting.name->collectives -= 1;
    if (meeting.far_told) untell_far(meeting.name->far, meeting.number);
}

void pass_meeting(uintptr_t handle) {
    if (!waits_are_open() || g_live->on == 0) return;
    CommName* name = find_name(handle);
    if (name != nullptr) name->collectives += 1;
}

namespace {

// After it the handle of what its members have in common is good.
bool leaves_handle(MpiCall call) {
    const CallClass call_class = kMpiCalls[static_cast<int>(call)].call_class;
    return call != MpiCall::kFile_close &&
           (call_class == CallClass::kCollective || call_class == CallClass::kRma ||
            call_class == CallClass::kFile);
}

// The members on other hosts that are told of it, and tell of it.
FarMembers* far_members(Call* call, const Meeting& meeting, Meets rule) {
    CommName* name = meeting.name;
    if (name == nullptr || name->far_state == FarState::kNone) [[likely]]
        return nullptr;
    if (!is_told(meeting.call, rule)) return nullptr;
    if (is_not_looked(name->far_state) && leaves_handle(meeting.call)) {
        const MeasuredLook look(call);
        find_far_members(call->thread, name);
    }
    return name->far_state == FarState::kKnown ? name->far : nullptr;
}

// A member that the collective rule does not make the caller wait for, and that it may have waited
// for all the same.
struct Comer {
    Moment said{};
    const BoardMember* member = nullptr;
};

// The last of those that `may` be meant which came before the call was over.
template <typename May>
Comer last_comer(const Entered& entered, const Waiting& waiting, May may) {
    const Board& board = *entered.board;
    const uint32_t places = places_of(&board);
    Comer last;
    for (uint32_t place = 0; place < places; ++place) {
        const BoardMember& member = board.places[place];
        if (place == board.own || !may(member)) continue;
        Moment said;
        const BoardSlot* slot = slot_at(&board, entered.number % kGenerations, place);
        const auto number = static_cast<uint32_t>(entered.call);
        if (read_slot(slot, entered.number, number, &said) != Said::kThis) continue;
        if (said.at.real > waiting.left() || said.at.real <= last.said.at.real) continue;
        last = {said, &member};
    }
    return last;
}

// Among more than two it is not known whom the caller gives to or gets from: it is taken to have
// waited for the last that came, if it left as soon as a call like this takes, or soon against the
// time that it waited (with more ranks than processors nobody goes on at once).
bool left_soon_after(const Moment& came, const Waiting& waiting, uint64_t usual) {
    constexpr uint64_t kSoon = 8;  // part of the waiting
    const uint64_t waited = came.at.real - waiting.entered().real;
    return waiting.left() - came.at.real <= later(usual, waited / kSoon);
}

// The collective rule knows who cannot go on without the caller's data. MPI may also keep the
// caller until others take it: Open MPI leaves a message where it is, but for the shortest, until
// its receiver comes. So where a call took long, those who depend on the caller came meanwhile. In
// a tree it gives to some of them alone: of several one is an estimate.
void add_takers(const Entered& entered, uint64_t usual, Waiting* waiting) {
    const Comer last = last_comer(entered, *waiting, [&entered](const BoardMember& member) {
        return is_awaited_by(entered.role, member.place);
    });
    if (last.said.at.real <= waiting->entered().real) return;
    if (entered.board->members > 2) {
        if (!left_soon_after(last.said, *waiting, usual)) return;
        waiting->add_open();
    }
    waiting->add_meeting(WaitKind::kLateTaker, last.member->peer, last.said);
}

// Through whom MPI passes on what the root gives or gets is up to it: where a call took longer than
// the root explains, and ended soon after another one had come, it waited for that one. That is an
// estimate.
void add_between(const Entered& entered, uint64_t usual, Waiting* waiting) {
    const Comer last = last_comer(entered, *waiting, [](const BoardMember&) { return true; });
    if (last.said.at.real <= waiting->entered().real) return;
    if (static_cast<int>(last.member->place >> 1) == entered.role.root) return;
    if (!left_soon_after(last.said, *waiting, usual)) return;
    waiting->add_open();
    waiting->add_meeting(WaitKind::kCollective, last.member->peer, last.said);
}

bool gives_alone(const Board& board, const Role& role) {
    switch (role.rule) {
        case Meets::kRoot:
            return is_root(board, role.root);
        case Meets::kToRoot:
            return !is_root(board, role.root);
        case Meets::kUpTo:
            return true;
        default:
            return false;
    }
}

// The waiting that the collective rule does not know of. `bytes`: for each of those that the caller
// gives to or gets from.
void add_others(const Entered& entered, const Call* call, uint64_t bytes, Waiting* waiting) {
    const Board& board = *entered.board;
    if (board.slots == nullptr || bytes == 0) return;
    const Role& role = entered.role;
    const bool gives = bytes > g_eager_limits.copied && gives_alone(board, role);
    const bool has_root = role.rule == Meets::kRoot || role.rule == Meets::kToRoot;
    const bool is_between =
        has_root && !board.inter && board.members > 2 && !is_root(board, role.root);
    if (!gives && !is_between) return;
    const uint32_t places = places_of(&board);
    const uint64_t usual = most_found_ticks(call, places, places * bytes);
    if (call->ticks <= usual) return;
    if (gives) add_takers(entered, usual, waiting);
    if (is_between) add_between(entered, usual, waiting);
}

void settle_on(Board* board, Call* call, const Meeting& meeting, const Depends& depends,
               uint64_t bytes, FarMembers* far, Waiting* waiting) {
    const Entered entered{
        board, meeting.call, meeting.number, role_on(*board, depends.rule, depends.root),
        far,   call->index};
    add_partners(entered, {depends.counts, UINT64_MAX}, waiting);
    add_others(entered, call, bytes, waiting);
    settle(call, waiting);
    if (waits_for_all(entered, {depends.counts, UINT64_MAX})) {
        note_together(call->thread, call->start_virtual + call->ticks,
                      board->is_world ? kWorldTogether : meeting.name->name);
    }
}

}  // namespace

void settle_meeting(Call* call, const Meeting& meeting, const Depends& depends, uint64_t bytes) {
    if (!waits_are_open()) return;
    if (meeting.name != nullptr && meeting.name->members < 2) return;
    Waiting waiting(call);
    FarMembers* far = far_members(call, meeting, depends.rule);
    if (meeting.board != nullptr) {
        know_sources(call, meeting, depends.rule);
        settle_on(meeting.board, call, meeting, depends, bytes, far, &waiting);
    } else if (far != nullptr) {
        settle_on(&far->alone, call, meeting, depends, bytes, far, &waiting);
    } else {
        waiting.add_unknown();
        settle(call, &waiting);
    }
}

void remember_meeting(Call* call, const Meeting& meeting, const Depends& depends,
                      Request* content) {
    content->meets = Meets::kUnknown;
    if (meeting.name != nullptr && meeting.name->members < 2) content->meets = Meets::kNobody;
    const FarMembers* far = far_members(call, meeting, depends.rule);
    uint64_t bits = UINT64_MAX;
    if (meeting.board != nullptr) {
        know_sources(call, meeting, depends.rule);
        if (!bits_of(*meeting.board, depends, &bits)) return;
        hold_board(meeting.board);
    } else if (far == nullptr || !bits_of(far->alone, depends, &bits)) {
        return;
    }
    content->board = meeting.board;
    content->far = far != nullptr ? far->ticket : kNoPeer;
    content->givers = bits;
    content->call = meeting.call;
    content->number = meeting.number;
    content->root = depends.root;
    content->meets = depends.rule;
}

namespace {
Standing* g_free_standing = nullptr;  // with SlowLock held
}

Standing* make_standing(Call* call, MPI_Comm comm, uintptr_t handle, MpiCall number,
                        const Depends& depends) {
    const MeasuredLook look(call);
    Standing* made = nullptr;
    {
        const SlowLock lock;
        made = take_from(&g_free_standing);
    }
    if (made == nullptr) return nullptr;
    *made = Standing{};
    made->handle = handle;
    made->call = number;
    made->rule = Meets::kUnknown;
    made->root = depends.root;
    made->givers = UINT64_MAX;
    CommName* name = waits_are_open() ? find_name(handle) : nullptr;
    if (name == nullptr) return made;
    Board* board = board_of(call->thread, name);
    if (board == nullptr) {
        made->rule = depends.rule;
        return made;
    }
    if (depends.rule == Meets::kSources) {
        read_neighbours(comm, board->rank, &board->sources, &board->targets);
    }
    if (bits_of(*board, depends, &made->givers)) made->rule = depends.rule;
    return made;
}

void release_collective(const Request& content) {
    if (!content.persistent) {
        release_board(content.board);
        return;
    }
    Standing* standing = content.standing;
    if (standing == nullptr) return;
    end_standing(standing);
    forget_name(standing->handle);
    const SlowLock lock;
    give_back_to(&g_free_standing, standing);
}

void tell_standing(Call* call, Standing* standing) {
    const Depends depends{standing->rule, standing->root, nullptr};
    standing->meeting =
        enter_meeting(call, standing->call, standing->handle, standing->rule, standing->root);
    remember_meeting(call, standing->meeting, depends, &standing->started);
    if (standing->started.meets == standing->rule) standing->started.givers = standing->givers;
}

void forget_name(uintptr_t handle) {
    CommName gone;
    if (!waits_are_open() || handle == 0 || !take_name(handle, &gone)) return;
    forget_far_members(gone.far);
    release_board(gone.board);
}

void untell_standing(Standing* standing) {
    untell_meeting(standing->meeting, MPI_ERR_OTHER);
    end_standing(standing);
}

void end_standing(Standing* standing) {
    release_board(standing->started.board);
    standing->started = Request{};
}

void add_meeting_to(Waiting* waiting, const Request& request) {
    if (request.meets == Meets::kNobody) return;
    FarMembers* far = far_members_with(request.far);
    if (request.meets == Meets::kUnknown || (request.board == nullptr && far == nullptr)) {
        waiting->add_unknown();
        return;
    }
    Board* board = request.board != nullptr ? request.board : &far->alone;
    add_partners(
        {board, request.call, request.number, role_on(*board, request.meets, request.root), far},
        {nullptr, request.givers}, waiting);
}

}  // namespace dwell
