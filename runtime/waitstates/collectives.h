// The wait analysis of collectives (DESIGN 4, collective rule) and of window synchronisation: the
// wrappers call one function on entry, and one on exit that classifies the call's time. Partners of
// one host exchange enter stamps by collective_table.h.
//
// The calling thread's own, as waits.h. Before MPI has checked a communicator, only its handle is
// used. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_COLLECTIVES_H_
#define DWELL_RUNTIME_WAITSTATES_COLLECTIVES_H_

#include "runtime/exchange/collective_table.h"
#include "runtime/mpi/dependence.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// Whom a collective depends on. `root` is the program's argument. With `counts`, members whose
// count is 0 do not contribute (by rank, or by index among the sources).
struct Depends {
    Dependence rule;
    int root;
    const int* counts;
};

// A collective instance that the caller has entered.
struct EnteredCollective {
    CommDefinition* definition;  // null: not known
    CollectiveTable* table;      // null: no other member, or no table
    MpiCall call;
    uint32_t number;
    bool remote_notified;  // enter stamps were sent to ranks on other hosts
};

// Before a collective, after start().
EnteredCollective enter_collective(Call* call, MpiCall number, uintptr_t handle, Dependence rule,
                                   int root);
inline EnteredCollective announce_collective(Call* call, MpiCall number, uintptr_t handle,
                                             Dependence rule, int root) {
    if (!waits_are_open()) return {};
    return enter_collective(call, number, handle, rule, root);
}
// At the end of the call: prefetches what classify_collective() will read.
inline void prefetch_slots(const EnteredCollective& collective) {
    if (collective.table == nullptr) return;
    const uint32_t places = places_of(collective.table);
    for (uint32_t place = 0; place < places && place < 4; ++place) {
        __builtin_prefetch(slot_at(collective.table, collective.number % kGenerations, place));
    }
}
// The call failed.
void withdraw_collective(const EnteredCollective& collective, int result);
// The call succeeded, but is not recorded and had no stamp.
void skip_collective(uintptr_t handle);

// At completion: sets the call's virtual duration. `bytes` of rooted collectives and scans: what
// the caller sends to each consumer or receives.
void classify_collective(Call* call, const EnteredCollective& collective, const Depends& depends,
                         uint64_t bytes = 0);
// The bytes for each member of a scatter.
inline uint64_t for_each_member(const EnteredCollective& collective, uint64_t bytes) {
    return collective.definition != nullptr ? bytes / later(collective.definition->members, 1) : 0;
}

// A persistent collective (MPI-4.0 6.13), from its creation until its request is freed.
struct PersistentCollective {
    uintptr_t handle;  // of its request, which identifies it
    MpiCall call;
    Dependence rule;  // kUnknown if there was no room for the counts
    int root;
    uint64_t contributors;  // as in Request
    uint64_t sent;          // by each start
    uint64_t received;
    EnteredCollective collective;  // of the last start
    Request started;               // what the completion of the last start must know
    PersistentCollective* next;    // in the free list
};
// MPI freed the communicator, window, file or persistent collective: its definition and collective
// table are given up.
void forget_definition(uintptr_t handle);

// Null when there is no memory. Slow, as is release_collective().
PersistentCollective* make_persistent(Call* call, MPI_Comm comm, uintptr_t handle, MpiCall number,
                                      const Depends& depends);
// Releases what a collective's request held, persistent or not.
void release_collective(const Request& content);
// Before a start; after a failed start; after completion.
void stamp_persistent(Call* call, PersistentCollective* persistent_collective);
void withdraw_persistent(PersistentCollective* persistent_collective);
void end_persistent(PersistentCollective* persistent_collective);

// For nonblocking collectives: what the request must know, and the completion.
void keep_collective(Call* call, const EnteredCollective& collective, const Depends& depends,
                     Request* content);
void add_collective_to(Waiting* waiting, const Request& request);

// An epoch of a window (dependence.h) begins or ends: the window's table; null: not known, or no
// other member on this host. Partners on other hosts are not known.
CollectiveTable* enter_epoch(Call* call, Epoch epoch, MPI_Win win);
inline CollectiveTable* announce_epoch(Call* call, Epoch epoch, MPI_Win win) {
    return waits_are_open() ? enter_epoch(call, epoch, win) : nullptr;
}
void classify_epoch(Call* call, CollectiveTable* table, Epoch epoch, MPI_Win win, MPI_Group group);

// Locks of a window (MPI-3.1 11.5.3): a lock waits for its last holder. An implementation may
// acquire the lock late, so that a flush or the unlock waits.
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
