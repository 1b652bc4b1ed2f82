// Start of requests (MPI-3.1 3.7.2, 3.9): what the wrappers of Isend, Recv_init, Start and similar
// record, and the handling of matched messages.
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

namespace {

uintptr_t as_handle(MPI_Request request) { return reinterpret_cast<uintptr_t>(request); }

void follow(Call* call, uintptr_t handle, const Request& content, const ShownRequest& shown) {
    if (add_request(handle, content, shown)) {
        if (content.active && content.kind != kMessageHandle && writes_events_of(call)) [[unlikely]]
            note_request(call, EventKind::kStart, find_request(handle).entry);
        return;
    }
    release(content);
    call->thread->record->dropped += 1;
}

// Sets the partner of a receive with a named source. A wildcard receive keeps how to translate the
// ranks of its communicator, which may be freed before completion.
void set_source(Call* call, Request* content, MPI_Comm comm, int source) {
    if (source >= 0) {
        content->peer = peer_of(call->thread, comm, source);
    } else if (source == MPI_ANY_SOURCE) {
        content->ranks = hold_ranks(comm);
    }
}

ShownRequest shown_as(MPI_Comm comm, int peer, int tag) {
    return shown_request(reinterpret_cast<uintptr_t>(comm), peer, tag);
}

// Records the bytes that a start sends and receives.
void record_moved(Call* call, const PersistentCollective& persistent_collective) {
    record_bytes(call, persistent_collective.sent, persistent_collective.received);
    call->histogram->messages[size_bucket(
        later(persistent_collective.sent, persistent_collective.received))] += 1;
}

Request active_request(RequestKind kind) {
    Request content{};
    content.peer = kNoPeer;
    content.kind = kind;
    content.active = true;
    return content;
}

// The request was complete when it was started, or is null.
bool is_over(MPI_Request request, RequestKind kind) {
    if (request == g_mpi.request_empty) {
        if (kind != kSendRequest) g_complete_receives += 1;
        return true;
    }
    return request == g_mpi.request_null;
}

}  // namespace

void follow_request(Call* call, MPI_Request request, RequestKind kind, Dependence dependence) {
    if (is_over(request, kind)) return;
    Request content = active_request(kind);
    content.dependence = dependence;
    follow(call, as_handle(request), content, shown_request(0, kAnyRank, kAnyTag));
}

void follow_collective(Call* call, MPI_Request request, MPI_Comm comm,
                       const EnteredCollective& collective, const Depends& depends) {
    if (is_over(request, kCollectiveRequest)) return;
    Request content = active_request(kCollectiveRequest);
    if (waits_are_open()) keep_collective(call, collective, depends, &content);
    follow(call, as_handle(request), content,
           shown_as(comm, static_cast<int>(collective.call), static_cast<int>(collective.number)));
}

void follow_persistent(Call* call, MPI_Request request, MpiCall number, MPI_Comm comm,
                       const Depends& depends, uint64_t sent, uint64_t received) {
    Request content = active_request(kCollectiveRequest);
    content.persistent = true;
    content.active = false;
    content.persistent_collective =
        make_persistent(call, comm, as_handle(request), number, depends);
    if (content.persistent_collective != nullptr) {
        content.persistent_collective->sent = sent;
        content.persistent_collective->received = received;
    }
    follow(call, as_handle(request), content, shown_as(comm, kAnyRank, 0));
}

void follow_send(Call* call, MPI_Request request, MPI_Comm comm, int dest, int tag,
                 const SendStamp& sent_stamp) {
    if (is_over(request, kSendRequest)) return;
    Request content = active_request(kSendRequest);
    if (sent_stamp.may_wait) {
        content.peer = sent_stamp.peer;
        content.entry = sent_stamp.announced.entry;
        content.number = sent_stamp.announced.number;
        content.bytes = sent_stamp.bytes;
        content.mode = sent_stamp.mode;
    }
    follow(call, as_handle(request), content, shown_as(comm, dest, tag));
}

void follow_receive(Call* call, MPI_Request request, MPI_Comm comm, int source, int tag) {
    if (is_over(request, kReceiveRequest)) return;
    Request content = active_request(kReceiveRequest);
    set_source(call, &content, comm, source);
    if (waits_are_open()) post_request(call, &content, comm, source, tag);
    follow(call, as_handle(request), content, shown_as(comm, source, tag));
}

void follow_persistent(Call* call, MPI_Request request, RequestKind kind, MPI_Comm comm, int peer,
                       int tag, uint64_t bytes, SendMode mode) {
    Request content = active_request(kind);
    content.persistent = true;
    content.active = false;
    content.bytes = bytes;
    content.mode = mode;
    set_source(call, &content, comm, peer);
    if (waits_are_open()) post_request(call, &content, comm, peer, tag);
    follow(call, as_handle(request), content, shown_as(comm, peer, tag));
}

void record_start(Call* call, int count, const MPI_Request* requests) {
    int sends = 0;
    for (int i = 0; i < count; ++i) {
        const FoundRequest found = find_request(as_handle(requests[i]));
        if (found.entry != nullptr && found.copy.kind == kSendRequest &&
            found.copy.peer != kNoPeer) {
            ++sends;
        }
    }
    const uint64_t ticks = sends > 0 ? call->ticks / static_cast<uint64_t>(sends) : 0;
    for (int i = 0; i < count; ++i) {
        const FoundRequest found = find_request(as_handle(requests[i]));
        if (found.entry == nullptr) continue;  // counted at its completion
        set_active(found, true);
        note_request(call, EventKind::kStart, found.entry);
        if (g_process.preserve_order) [[unlikely]]
            note_started(requests[i]);
        if (is_persistent_collective(found)) record_moved(call, *found.copy.persistent_collective);
        if (found.copy.kind != kSendRequest || found.copy.peer == kNoPeer) continue;
        record_message(call, found.copy.peer, found.copy.bytes, 0, ticks);
        const ShownRequest& shown = static_cast<RequestEntry*>(found.entry)->shown;
        note_message(call, EventKind::kSend, found.copy.peer,
                     reinterpret_cast<MPI_Comm>(shown.comm), shown.tag, found.copy.bytes);
    }
}

void pass_start(int count, const MPI_Request* requests) {
    if (requests == nullptr) return;
    for (int i = 0; i < count; ++i) skip_collective(as_handle(requests[i]));
}

// Until it is received, the handle of a matched message stands for its communicator and post order:
// no other receive gets the message any more, as if a receive had been posted for it.
void remember_message(Call* call, MPI_Message message, MPI_Comm comm, const MPI_Status* status) {
    Request content = active_request(kMessageHandle);
    content.bytes = reinterpret_cast<uintptr_t>(comm);
    if (waits_are_open() && status->MPI_SOURCE >= 0) {
        content.peer = peer_of(call->thread, comm, status->MPI_SOURCE);
        post_request(call, &content, comm, status->MPI_SOURCE, status->MPI_TAG);
    }
    follow(call, reinterpret_cast<uintptr_t>(message), content,
           shown_as(comm, status->MPI_SOURCE, status->MPI_TAG));
}

Matched take_message(const MPI_Message* message) {
    if (message == nullptr) return {g_mpi.comm_world, {}};
    const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(*message));
    if (found.entry == nullptr || found.copy.kind != kMessageHandle) {
        return {g_mpi.comm_world, {}};
    }
    drop_request(found);
    Matched matched{reinterpret_cast<MPI_Comm>(found.copy.bytes), found.copy};
    matched.receive.kind = kReceiveRequest;
    return matched;
}

void follow_message(Call* call, MPI_Request request, const Matched& matched) {
    if (!matched.has_post_order()) {
        follow_receive(call, request, matched.comm, MPI_ANY_SOURCE, MPI_ANY_TAG);
        return;
    }
    follow(call, as_handle(request), matched.receive, shown_as(matched.comm, kAnyRank, kAnyTag));
}

}  // namespace dwell
