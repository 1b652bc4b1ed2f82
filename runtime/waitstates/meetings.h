// The wait analysis of collectives (DESIGN 4, collective rule) and of a window's synchronisation:
// what wrappers say when they enter one, and settle when they leave it. boards.h is where the
// partners of a node find each other's times.
//
// Like waits.h: the calling thread's own; what is asked of a communicator before MPI has checked it
// is asked by its handle alone. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_MEETINGS_H_
#define DWELL_RUNTIME_WAITSTATES_MEETINGS_H_

#include "runtime/exchange/boards.h"
#include "runtime/mpi/meets.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// Whom a collective depends on. `root` as the program gave it; where `counts` are given, nobody who
// has nothing to give, by rank or by place among the sources.
struct Depends {
    Meets rule;
    int root;
    const int* counts;
};

// A collective that was entered.
struct Meeting {
    CommName* name;  // null: not known
    Board* board;    // null: nobody to meet, or no board
    MpiCall call;
    uint32_t number;
    bool far_told;  // ranks on other hosts have been told
};

// A collective is about to begin. After start().
Meeting enter_meeting(Call* call, MpiCall number, uintptr_t handle, Meets rule, int root);
inline Meeting tell_meeting(Call* call, MpiCall number, uintptr_t handle, Meets rule, int root) {
    if (!waits_are_open()) return {};
    return enter_meeting(call, number, handle, rule, root);
}
// The call is over: brings near what settle_meeting() is going to read.
inline void look_ahead(const Meeting& meeting) {
    if (meeting.board == nullptr) return;
    const uint32_t places = places_of(meeting.board);
    for (uint32_t place = 0; place < places && place < 4; ++place) {
        __builtin_prefetch(slot_at(meeting.board, meeting.number % kGenerations, place));
    }
}
// It failed.
void untell_meeting(const Meeting& meeting, int result);
// It succeeded, but nobody was told: it is not recorded.
void pass_meeting(uintptr_t handle);

// It is complete: sets the call's virtual duration. `bytes`, of collectives with a root and of
// scans: what the caller gives to each of those who depend on it, or gets.
void settle_meeting(Call* call, const Meeting& meeting, const Depends& depends, uint64_t bytes = 0);
// The bytes for each member of what is scattered.
inline uint64_t for_each_member(const Meeting& meeting, uint64_t bytes) {
    return meeting.name != nullptr ? bytes / later(meeting.name->members, 1) : 0;
}

// The making of a communicator by the members of a group alone: they meet on the board of what they
// make, which hand_over() gives to that.
class MembersMeeting {
  public:
    MembersMeeting(Call* call, MPI_Comm comm, MPI_Group group, int tag);
    MembersMeeting(const MembersMeeting&) = delete;
    MembersMeeting& operator=(const MembersMeeting&) = delete;
    void settle(Call* call) const;
    Board* take_board();  // which the caller releases
    void hand_over(MPI_Comm from, const MPI_Comm* made, int tag);

  private:
    CommName name_{};
    Meeting meeting_{};
};

// A persistent collective (MPI-4.0 6.13), from the call that makes it until its request is freed.
struct Standing {
    uintptr_t handle;  // of its request, by which it is named
    MpiCall call;
    Meets rule;  // kUnknown where that has no room here
    int root;
    uint64_t givers;  // as in Request
    uint64_t sent;    // by each start
    uint64_t received;
    Meeting meeting;  // of the last start,
    Request started;  // and what its completion must know
    Standing* next;   // of the free ones
};
// MPI freed the communicator, window, file or persistent collective: its name ends, and with it
// what members of its kind share.
void forget_name(uintptr_t handle);

// Null when there is no memory. Slow, as is its end.
Standing* make_standing(Call* call, MPI_Comm comm, uintptr_t handle, MpiCall number,
                        const Depends& depends);
// What the request of a collective held, persistent or not.
void release_collective(const Request& content);
// It is about to start; the start failed; it is complete.
void tell_standing(Call* call, Standing* standing);
void untell_standing(Standing* standing);
void end_standing(Standing* standing);

// It has only started: what its request must know, and its completion.
void remember_meeting(Call* call, const Meeting& meeting, const Depends& depends, Request* content);
void add_meeting_to(Waiting* waiting, const Request& request);

// An epoch of a window (meets.h) is about to begin or end.
struct EpochCall {
    CommName* name;  // null: not known
    Board* board;    // null: nobody on this host
    Moment entered;
};
EpochCall enter_epoch(Call* call, Epoch epoch, MPI_Win win);
inline EpochCall tell_epoch(Call* call, Epoch epoch, MPI_Win win) {
    return waits_are_open() ? enter_epoch(call, epoch, win) : EpochCall{};
}
// It succeeded, but nobody was told: it is not recorded.
void pass_epoch(Epoch epoch, MPI_Win win, MPI_Group group);
void settle_epoch(Call* call, const EpochCall& told, Epoch epoch, MPI_Win win, MPI_Group group);

// Locks of a window (MPI-3.1 11.5.3): who waits for one waits for who had it last. An
// implementation may take the lock only when it needs it, so that a flush or the unlock waits.
enum class Locking : uint8_t { kLock, kFlush, kUnlock };
struct LockCall {
    Board* board;  // null: not known
    Locking what;
    int32_t target;  // or kAllTargets
    bool exclusive;
};
LockCall enter_lock(Call* call, Locking what, MPI_Win win, int32_t target, bool exclusive);
inline LockCall tell_lock(Call* call, Locking what, MPI_Win win, int32_t target, bool exclusive) {
    if (!waits_are_open()) return {};
    return enter_lock(call, what, win, target, exclusive);
}
void settle_lock(Call* call, const LockCall& lock);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_MEETINGS_H_
