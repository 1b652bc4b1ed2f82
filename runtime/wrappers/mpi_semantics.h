// What the wrappers record after a call of MPI: the properties of mpi_calls.table in C++. There is
// a function for each kind of call, which asks the wait analysis for the call's times.
#ifndef DWELL_RUNTIME_WRAPPERS_MPI_SEMANTICS_H_
#define DWELL_RUNTIME_WRAPPERS_MPI_SEMANTICS_H_

#include "runtime/calls/matched_receive.h"
#include "runtime/calls/records.h"
#include "runtime/events/events.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/mpi/datatypes.h"
#include "runtime/mpi/ranks.h"
#include "runtime/mpi/requests.h"
#include "runtime/order/deferred_receives.h"
#include "runtime/waitstates/collectives.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// MPI freed the handle; its value may be reused for another object.
inline void end_comm(uintptr_t handle) {
    if (g_process.preserve_order) detach_deferred(&handle);
    forget_definition(handle);
    forget_comm(handle);
}
inline void end_window(uintptr_t handle) {
    forget_definition(handle);
    forget_windows();
}
inline void end_request(uintptr_t handle) {
    if (g_process.preserve_order) forget_deferred(handle);
    forget_request(handle);
    // A persistent collective has an identifier even where it was not recorded.
    if (waits_are_open() && find_definition(handle) != nullptr) forget_definition(handle);
}
inline void forget_types() {
    g_process.type_epoch.fetch_add(1, std::memory_order_relaxed);
    if (g_process.preserve_order) [[unlikely]]
        detach_deferred(nullptr);
}

// MPI made a communicator that may reach another world: a process that is alone may wait for that
// world, which is not observed.
inline void note_world(MPI_Comm comm) {
    if (number_world(comm) && !waits_are_open()) g_process.header->flags &= ~uint32_t{kFileWaits};
}

inline void record_plain(Call* call, int slot) { record_event(call, slot); }
inline void record_failed(Call* call) { call->part->failed += 1; }

// Full events of messages, collectives and requests (message_events.cpp). A send has the time at
// which the call began, all else that of its end.
void write_message(Call* call, EventKind kind, uint32_t peer, MPI_Comm comm, int tag,
                   uint64_t bytes);
void write_message_of(Call* call, uint32_t comm, EventKind kind, uint32_t peer, int tag,
                      uint64_t bytes);  // `comm`: id
void write_one_sided(Call* call, uint32_t peer, uint64_t put, uint64_t got);
void write_collective(Call* call, const EnteredCollective& collective, int root, uint64_t sent,
                      uint64_t received);
void write_request(Call* call, EventKind kind, const Request* entry);
inline bool writes_events_of(const Call* call) {
    return writes_events(call->thread) && has_events(call->index);
}
inline void note_message(Call* call, EventKind kind, uint32_t peer, MPI_Comm comm, int tag,
                         uint64_t bytes) {
    if (writes_events_of(call)) [[unlikely]]
        write_message(call, kind, peer, comm, tag, bytes);
}
inline void note_collective(Call* call, const EnteredCollective& collective, int root,
                            uint64_t sent, uint64_t received) {
    if (writes_events_of(call)) [[unlikely]]
        write_collective(call, collective, root, sent, received);
}
inline void note_request(Call* call, EventKind kind, const Request* entry) {
    if (writes_events_of(call)) [[unlikely]]
        write_request(call, kind, entry);
}

// A send that took much longer than moving its bytes waited for the receiver (synchronous or
// rendezvous) or for buffer space. PICL has one event type for both.
inline void record_send(Call* call, int dest, int tag, MPI_Comm comm, uint64_t bytes, bool blocking,
                        const SendStamp& sent_stamp) {
    const bool sends = blocking && dest != MPI_PROC_NULL;
    const bool blocked = sends && !is_unblocked_receive(call, bytes);
    if (sends && (blocked || sent_stamp.may_wait) &&
        !classify_send(call, sent_stamp, bytes, blocked) && blocked) {
        add_blocked(call, bytes);
    }
    record_event(call, kSendReady);
    if (dest == MPI_PROC_NULL) return;
    const uint32_t peer = peer_of(call->thread, comm, dest);
    record_message(call, peer, bytes, 0, call->ticks);
    note_message(call, EventKind::kSend, peer, comm, tag, bytes);
}

// `classify(status, &blocked)` as classify_receive().
template <typename Classify>
inline void record_received(Call* call, MPI_Comm comm, int source, const MPI_Status* status,
                            const Classify& classify) {
    if (source == MPI_PROC_NULL || status->MPI_SOURCE == MPI_PROC_NULL) {
        record_event(call, kRecvReady);
        return;
    }
    const uint64_t bytes = bytes_of(status);
    bool blocked = !is_unblocked_receive(call, bytes);
    if (!classify(status, &blocked) && blocked) add_blocked(call, bytes);
    record_event(call, blocked ? kRecvBlocked : kRecvReady);
    const uint32_t peer = peer_of(call->thread, comm, status->MPI_SOURCE);
    record_message(call, peer, 0, bytes, call->ticks);
    note_message(call, EventKind::kReceive, peer, comm, status->MPI_TAG, bytes);
}

inline void record_receive(Call* call, MPI_Comm comm, int source, const MPI_Status* status) {
    record_received(call, comm, source, status, [=](const MPI_Status* of, bool* blocked) {
        return classify_receive(call, comm, source, of, blocked);
    });
}

inline void record_matched(Call* call, const Matched& matched, const MPI_Status* status) {
    record_received(call, matched.comm, MPI_ANY_SOURCE, status,
                    [=, &matched](const MPI_Status* of, bool* blocked) {
                        return classify_matched(call, matched, of, blocked);
                    });
}

// The send counts as an event without time: the call's time belongs to its receive.
inline void record_send_receive(Call* call, int dest, int tag, uint64_t sent, MPI_Comm comm,
                                int source, const MPI_Status* status, const SendStamp& sent_stamp) {
    call->histogram->event_count[kSendReady] += 1;
    const bool sends = dest != MPI_PROC_NULL;
    const bool receives = source != MPI_PROC_NULL && status->MPI_SOURCE != MPI_PROC_NULL;
    const uint64_t moved = (receives ? bytes_of(status) : 0) + (sends ? sent : 0);
    bool blocked = !is_unblocked_receive(call, moved);
    if (!classify_send_receive(call, sent_stamp, sent, comm, source, status, &blocked) && blocked &&
        receives) {
        add_blocked(call, moved);
    }
    if (sends) {
        const uint32_t peer = peer_of(call->thread, comm, dest);
        record_message(call, peer, sent, 0, receives ? 0 : call->ticks);
        note_message(call, EventKind::kSend, peer, comm, tag, sent);
    }
    if (!receives) {
        record_event(call, kRecvReady);
        return;
    }
    const uint64_t bytes = bytes_of(status);
    record_event(call, blocked ? kRecvBlocked : kRecvReady);
    const uint32_t peer = peer_of(call->thread, comm, status->MPI_SOURCE);
    record_message(call, peer, 0, bytes, call->ticks);
    note_message(call, EventKind::kReceive, peer, comm, status->MPI_TAG, bytes);
}

inline void record_failed_receive(Call* call, int error, MPI_Comm comm, int source,
                                  const MPI_Status* status) {
    record_failed(call);
    classify_failed_receive(call, error, comm, source, status);
}

inline void record_failed_matched(Call* call, int error, const Matched& matched,
                                  const MPI_Status* status) {
    give_up_matched(matched);
    record_failed_receive(call, error, matched.comm, MPI_ANY_SOURCE, status);
}

// After a failed send-receive: the message of the send has gone if the receive failed.
inline bool is_taken(int error) { return after_error(error) == AfterError::kTaken; }
inline void record_failed_send_receive(Call* call, int error, int dest, uint64_t sent,
                                       MPI_Comm comm, int source, const MPI_Status* status,
                                       const SendStamp& sent_stamp) {
    record_failed_receive(call, error, comm, source, status);
    if (after_error(error) != AfterError::kTaken) {
        withdraw_stamp(sent_stamp);
    } else if (dest != MPI_PROC_NULL) {
        record_message(call, peer_of(call->thread, comm, dest), sent, 0, 0);
    }
}

// A probe moves no message; its time goes to the partner's record.
inline void record_probe(Call* call, MPI_Comm comm, bool found, const MPI_Status* status,
                         bool immediate) {
    int slot = found ? kRecvReady : kRecvBlocked;
    if (!immediate) {
        bool blocked = !is_unblocked_receive(call, 0);
        const bool known = status->MPI_SOURCE >= 0 && classify_probe(call, comm, status, &blocked);
        if (blocked && !known) add_blocked(call, 0);
        slot = blocked ? kRecvBlocked : kRecvReady;
    } else if (!found) {
        record_blocked(call, call->ticks);  // waiting in the program's polling loop
    } else if (status->MPI_SOURCE >= 0) {
        // The waiting of such a loop, without dwell's own time, ends here and not in the receive
        // that follows.
        bool blocked = false;
        classify_probe(call, comm, status, &blocked);
    }
    record_event(call, slot);
    if (!found || status->MPI_SOURCE < 0) return;
    const uint32_t peer = peer_of(call->thread, comm, status->MPI_SOURCE);
    if (peer != kNoPeer) record_peer(call, peer, 0, 0, call->ticks);
}

inline void record_collective(Call* call, uint64_t sent, uint64_t received) {
    record_event(call, kSendReady);
    record_bytes(call, sent, received);
    call->histogram->messages[size_bucket(sent > received ? sent : received)] += 1;
}

inline void record_rma(Call* call, MPI_Win win, int target, uint64_t sent, uint64_t received) {
    record_event(call, kSendReady);
    if (target == MPI_PROC_NULL) return;
    const uint32_t peer = peer_in_window(call->thread, win, target);
    record_message(call, peer, sent, received, call->ticks);
    if (writes_events_of(call)) [[unlikely]]
        write_one_sided(call, peer, sent, received);
}

inline void record_file(Call* call, bool writes, const MPI_Status* status) {
    record_event(call, kSendReady);
    const uint64_t bytes = bytes_of(status);
    record_message(call, kNoPeer, writes ? bytes : 0, writes ? 0 : bytes, call->ticks);
}

// Locks of a window that the thread holds, for `dwell where`.
inline void hold_window(Call* call, MPI_Win win, int target) {
    for (HeldLock& held : call->thread->record->held) {
        if (held.what != 0) continue;
        held.place = 0;
        held.node = call->index;
        held.target = target;
        __atomic_store_n(&held.what, reinterpret_cast<uintptr_t>(win), __ATOMIC_RELEASE);
        return;
    }
}
inline void leave_window(Call* call, MPI_Win win, int target) {
    for (HeldLock& held : call->thread->record->held) {
        if (held.what != reinterpret_cast<uintptr_t>(win) || held.target != target) continue;
        __atomic_store_n(&held.what, 0, __ATOMIC_RELEASE);
        return;
    }
}

// Requests: requests_complete.cpp.
// Called once, when MPI is known: decides whether waits may test first.
void choose_tests_first();
void follow_request(Call* call, MPI_Request request, RequestKind kind, Dependence dependence);
void follow_collective(Call* call, MPI_Request request, MPI_Comm comm,
                       const EnteredCollective& collective, const Depends& depends);
void follow_persistent(Call* call, MPI_Request request, MpiCall number, MPI_Comm comm,
                       const Depends& depends, uint64_t sent, uint64_t received);
void follow_send(Call* call, MPI_Request request, MPI_Comm comm, int dest, int tag,
                 const SendStamp& sent_stamp);
void follow_receive(Call* call, MPI_Request request, MPI_Comm comm, int source, int tag);
void follow_persistent(Call* call, MPI_Request request, RequestKind kind, MPI_Comm comm, int peer,
                       int tag, uint64_t bytes, SendMode mode);
void record_start(Call* call, int count, const MPI_Request* requests);
// The start succeeded but was not recorded.
void pass_start(int count, const MPI_Request* requests);
void remember_message(Call* call, MPI_Message message, MPI_Comm comm, const MPI_Status* status);
// The call will consume a matched message.
Matched take_message(const MPI_Message* message);
void follow_message(Call* call, MPI_Request request, const Matched& matched);

// Whether a failed call has completed requests nevertheless, and tells which.
inline bool reports_completed(int result) {
    return result == MPI_ERR_IN_STATUS || after_error(result) == AfterError::kTaken;
}

// Invalid list of requests.
inline bool is_no_list(int count, const MPI_Request* requests) {
    return count < 0 || (requests == nullptr && count != 0);
}
// Passes on a call that MPI will refuse.
template <typename Next>
DWELL_COLD int refuse(Call* call, Next next) {
    start(call);
    const int result = next();
    stop(call);
    if (result != MPI_SUCCESS) record_failed(call);
    leave(call);
    return result;
}

// Each function stamps and makes the call, records the completed requests and returns MPI's result.
// Pointer arguments are not null, except statuses and an empty list of requests.
int complete_Wait(Call* call, decltype(&PMPI_Wait) next, MPI_Request* request, MPI_Status* status);
int complete_Waitall(Call* call, decltype(&PMPI_Waitall) next, int count, MPI_Request* requests,
                     MPI_Status* statuses);
int complete_Waitany(Call* call, decltype(&PMPI_Waitany) next, int count, MPI_Request* requests,
                     int* index, MPI_Status* status);
int complete_Waitsome(Call* call, decltype(&PMPI_Waitsome) next, int count, MPI_Request* requests,
                      int* completed, int* indices, MPI_Status* statuses);
int complete_Test(Call* call, decltype(&PMPI_Test) next, MPI_Request* request, int* flag,
                  MPI_Status* status);
int complete_Testall(Call* call, decltype(&PMPI_Testall) next, int count, MPI_Request* requests,
                     int* flag, MPI_Status* statuses);
int complete_Testany(Call* call, decltype(&PMPI_Testany) next, int count, MPI_Request* requests,
                     int* index, int* flag, MPI_Status* status);
int complete_Testsome(Call* call, decltype(&PMPI_Testsome) next, int count, MPI_Request* requests,
                      int* completed, int* indices, MPI_Status* statuses);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WRAPPERS_MPI_SEMANTICS_H_
