// The wait analysis of collectives (DESIGN 4, collective rule) and of a window's synchronisation:
// what wrappers say when they enter one, and settle when they leave it. collective_table.h is where
// the partners of a node find each other's times.
//
// Like waits.h: the calling thread's own; what is asked of a communicator before MPI has checked it
// is asked by its handle alone. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_COLLECTIVES_H_
#define DWELL_RUNTIME_WAITSTATES_COLLECTIVES_H_

#include "runtime/exchange/collective_table.h"
#include "runtime/mpi/dependence.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// Whom a collective depends on. `root` as the program gave it; where `counts` are given, nobody who
// has nothing to give, by rank or by place among the sources.
struct Depends {
    Dependence rule;
    int root;
    const int* counts;
};

// A collective that was entered.
struct EnteredCollective {
    CommDefinition* name;    // null: not known
    CollectiveTable* table;  // null: nobody to meet, or no board
    MpiCall call;
    uint32_t number;
    bool remote_notified;  // ranks on other hosts have been told
};

// A collective is about to begin. After start().
EnteredCollective enter_collective(Call* call, MpiCall number, uintptr_t handle, Dependence rule,
                                   int root);
inline EnteredCollective announce_collective(Call* call, MpiCall number, uintptr_t handle,
                                             Dependence rule, int root) {
    if (!waits_are_open()) return {};
    return enter_collective(call, number, handle, rule, root);
}
// The call is over: brings near what classify_collective() is going to read.
inline void look_ahead(const EnteredCollective& collective) {
    if (collective.table == nullptr) return;
    const uint32_t places = places_of(collective.table);
    for (uint32_t place = 0; place < places && place < 4; ++place) {
        __builtin_prefetch(slot_at(collective.table, collective.number % kGenerations, place));
    }
}
// It failed.
void withdraw_collective(const EnteredCollective& collective, int result);
// It succeeded, but nobody was told: it is not recorded.
void skip_collective(uintptr_t handle);

// It is complete: sets the call's virtual duration. `bytes`, of collectives with a root and of
// scans: what the caller gives to each of those who depend on it, or gets.
void classify_collective(Call* call, const EnteredCollective& collective, const Depends& depends,
                         uint64_t bytes = 0);
// The bytes for each member of what is scattered.
inline uint64_t for_each_member(const EnteredCollective& collective, uint64_t bytes) {
    return collective.name != nullptr ? bytes / later(collective.name->members, 1) : 0;
}

// The making of a communicator by the members of a group alone: they meet on the board of what they
// make, which hand_over() gives to that.
class GroupCollective {
  public:
    GroupCollective(Call* call, MPI_Comm comm, MPI_Group group, int tag);
    GroupCollective(const GroupCollective&) = delete;
    GroupCollective& operator=(const GroupCollective&) = delete;
    void classify(Call* call) const;
    CollectiveTable* take_table();  // which the caller releases
    void hand_over(MPI_Comm from, const MPI_Comm* made, int tag);

  private:
    CommDefinition name_{};
    EnteredCollective collective_{};
};

// A persistent collective (MPI-4.0 6.13), from the call that makes it until its request is freed.
struct Standing {
    uintptr_t handle;  // of its request, by which it is named
    MpiCall call;
    Dependence rule;  // kUnknown where that has no room here
    int root;
    uint64_t contributors;  // as in Request
    uint64_t sent;          // by each start
    uint64_t received;
    EnteredCollective collective;  // of the last start,
    Request started;               // and what its completion must know
    Standing* next;                // of the free ones
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
void stamp_standing(Call* call, Standing* standing);
void withdraw_standing(Standing* standing);
void end_standing(Standing* standing);

// It has only started: what its request must know, and its completion.
void keep_collective(Call* call, const EnteredCollective& collective, const Depends& depends,
                     Request* content);
void add_collective_to(Waiting* waiting, const Request& request);

// An epoch of a window (dependence.h) is about to begin or end.
struct EpochCall {
    CommDefinition* name;    // null: not known
    CollectiveTable* table;  // null: nobody on this host
    EnterStamp entered;
};
EpochCall enter_epoch(Call* call, Epoch epoch, MPI_Win win);
inline EpochCall announce_epoch(Call* call, Epoch epoch, MPI_Win win) {
    return waits_are_open() ? enter_epoch(call, epoch, win) : EpochCall{};
}
// It succeeded, but nobody was told: it is not recorded.
void pass_epoch(Epoch epoch, MPI_Win win, MPI_Group group);
void classify_epoch(Call* call, const EpochCall& sent_stamp, Epoch epoch, MPI_Win win,
                    MPI_Group group);

// Locks of a window (MPI-3.1 11.5.3): who waits for one waits for who had it last. An
// implementation may take the lock only when it needs it, so that a flush or the unlock waits.
enum class Locking : uint8_t { kLock, kFlush, kUnlock };
struct LockCall {
    CollectiveTable* table;  // null: not known
    Locking what;
    int32_t target;  // or kAllTargets
    bool exclusive;
};
LockCall enter_lock(Call* call, Locking what, MPI_Win win, int32_t target, bool exclusive);
inline LockCall announce_lock(Call* call, Locking what, MPI_Win win, int32_t target,
                              bool exclusive) {
    if (!waits_are_open()) return {};
    return enter_lock(call, what, win, target, exclusive);
}
void classify_lock(Call* call, const LockCall& lock);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_COLLECTIVES_H_
