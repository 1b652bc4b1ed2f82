// Starting, completing and freeing requests (MPI-3.1 3.7 to 3.9): what the wrappers of Isend,
// Start, Wait, Test and their kin book.
//
// A wait first tests: when that completes everything, the program need not have waited (PICL types
// -30, -60), otherwise it waits (-31, -61). Test and wait have the same effects and statuses. The
// test is left out where another tool's wrapper stands behind dwell's, which must see the call that
// the program made.
#include <string.h>

#include "runtime/mpi_semantics.h"
#include "runtime/polls.h"

namespace dwell {

namespace {

bool g_tests_first = false;

// Waits for more requests than this do not ask which of them were ready.
constexpr int kMaxReadyChecks = 64;

uintptr_t as_handle(MPI_Request request) { return reinterpret_cast<uintptr_t>(request); }

// What the completed requests of one call were, for the event types.
struct Completed {
    uint64_t count[kEventSlots] = {};

    // TM-12125 gives each request an event; the call's time goes to one type, a blocked receive
    // first (DESIGN 7).
    void book(Call* call) const {
        static constexpr int kOrder[] = {kRecvBlocked, kSendBlocked, kRecvReady, kSendReady};
        int timed = kSendReady;
        for (int slot : kOrder) {
            if (count[slot] == 0) continue;
            timed = slot;
            break;
        }
        for (int slot = 0; slot < kEventSlots; ++slot) {
            call->histogram->event_count[slot] += count[slot];
        }
        call->histogram->event_ticks[timed] += call->ticks;
    }
};

Before look_at(MPI_Request handle) {
    Before before{handle, {}, true};
    if (handle != g_mpi.request_null && handle != g_mpi.request_empty) {
        before.found = find_request(as_handle(handle));
    }
    return before;
}

// The bytes that a completed request brought, under the partner that its status names.
void book_arrival(Call* call, const Request& request, const MPI_Status* status, uint64_t ticks) {
    const uint64_t bytes = bytes_of(status);
    if (request.kind == kReceiveRequest) {
        if (status->_cancelled != 0 || status->MPI_SOURCE < 0) return;
        const bool named = request.peer != kNoPeer;
        book_message(call, named ? request.peer : peer_in(request.ranks, status->MPI_SOURCE), 0,
                     bytes, ticks);
    } else if (request.kind == kFileReadRequest) {
        book_message(call, kNoPeer, 0, bytes, 0);
    } else if (request.kind == kFileWriteRequest) {
        book_message(call, kNoPeer, bytes, 0, 0);
    }
}

// Books one request that the call completed.
void book_completed(Call* call, const Before& before, const MPI_Status* status, uint64_t ticks,
                    Completed* completed) {
    if (before.handle == g_mpi.request_null) return;
    if (before.handle == g_mpi.request_empty) {  // complete when it started; which one is not known
        completed->count[kSendReady] += 1;
        return;
    }
    if (before.found.entry == nullptr) {
        call->thread->record->guessed += 1;
        completed->count[kSendReady] += 1;
        return;
    }
    const Request& request = before.found.copy;
    if (!request.active) return;  // an inactive persistent request
    const bool send = request.kind == kSendRequest;
    completed->count[(send ? kSendReady : kRecvReady) + (before.ready ? 0 : 1)] += 1;
    book_arrival(call, request, status, ticks);
    if (request.persistent) {
        set_active(before.found, false);
    } else {
        drop_request(before.found);
    }
}

void book_blocked(Call* call, bool blocked) {
    if (blocked) call->part->blocked_ticks += call->ticks;
}

// The calibrated cost of a call covers a few requests; the work for many is measured.
class MeasuredWork {
  public:
    MeasuredWork(Call* call, int requests)
        : thread_(requests > kCalibratedRequests ? call->thread : nullptr),
          start_(thread_ != nullptr ? now_ticks() : 0) {}
    ~MeasuredWork() {
        if (thread_ != nullptr) thread_->slow_ticks += now_ticks() - start_;
    }
    MeasuredWork(const MeasuredWork&) = delete;
    MeasuredWork& operator=(const MeasuredWork&) = delete;

  private:
    static constexpr int kCalibratedRequests = 4;
    Thread* thread_;
    uint64_t start_;
};

// Room for what a call on many requests needs: look-ups before, statuses when the program wants
// none. On the stack while they are few. An untimed poll's look-ups are those of the timed one.
class Several {
  public:
    explicit Several(Poll* poll) : before_(poll->before), count_(poll->requests) {}
    Several(Call* call, int count, const MPI_Request* requests, bool own_statuses) {
        count_ = count > 0 && requests != nullptr ? count : 0;
        const size_t entries = static_cast<size_t>(count_);
        const size_t wanted = entries * (sizeof(Before) + (own_statuses ? sizeof(MPI_Status) : 0));
        void* memory = wanted <= sizeof(local_) ? local_ : scratch_of(call->thread, wanted);
        if (memory == nullptr) {
            call->thread->record->dropped += 1;
            count_ = 0;
            return;
        }
        before_ = static_cast<Before*>(memory);
        if (own_statuses) statuses_ = reinterpret_cast<MPI_Status*>(before_ + count_);
        const MeasuredWork work(call, count_);
        for (int i = 0; i < count_; ++i) before_[i] = look_at(requests[i]);
    }
    int count() const { return count_; }
    Before& operator[](int i) { return before_[i]; }
    MPI_Status* statuses() const { return statuses_; }

    // The first request that is one: what an unsuccessful test is booked as.
    const Before* first() const {
        for (int i = 0; i < count_; ++i) {
            if (before_[i].handle != g_mpi.request_null) return &before_[i];
        }
        return nullptr;
    }
    int receives_among(const int* indices, int count) const {
        int receives = 0;
        for (int i = 0; i < count; ++i) {
            const Before& before = before_[indices != nullptr ? indices[i] : i];
            if (before.is_active() && before.found.copy.kind == kReceiveRequest) {
                ++receives;
            }
        }
        return receives;
    }

  private:
    alignas(16) char local_[1024];
    Before* before_ = nullptr;
    MPI_Status* statuses_ = nullptr;
    int count_ = 0;
};

// The time of a call that completed several receives is shared out evenly among their partners.
uint64_t share(const Call* call, int receives) {
    return receives > 0 ? call->ticks / static_cast<uint64_t>(receives) : 0;
}

void book_indices(Call* call, Several& several, const int* indices, int count,
                  const MPI_Status* statuses) {
    const MeasuredWork work(call, count);
    Completed completed;
    const uint64_t ticks = share(call, several.receives_among(indices, count));
    for (int i = 0; i < count; ++i) {
        const int which = indices != nullptr ? indices[i] : i;
        if (which < 0 || which >= several.count()) continue;
        book_completed(call, several[which], &statuses[i], ticks, &completed);
    }
    completed.book(call);
}

void mark_all(Several& several, bool ready) {
    for (int i = 0; i < several.count(); ++i) several[i].ready = ready;
}

// Before a wait that will block: which requests are ready already. The wait hides what this costs.
// False when it turns out that all of them are.
bool mark_ready(Several& several) {
    mark_all(several, false);
    if (several.count() > kMaxReadyChecks) return true;
    bool blocks = false;
    for (int i = 0; i < several.count(); ++i) {
        Before& before = several[i];
        if (!before.is_active()) continue;
        int flag = 0;
        if (g_mpi.Request_get_status(before.handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
            before.ready = flag != 0;
        }
        blocks = blocks || !before.ready;
    }
    return blocks;
}

}  // namespace

void choose_tests_first() {
    // Only where the next MPI_Wait is the MPI library's own: another tool must see the wait.
    g_tests_first = next_of<void*>(kMpiForm, MpiCall::kWait) == reinterpret_cast<void*>(g_mpi.Wait);
}

namespace {

void follow(Call* call, uintptr_t handle, const Request& content) {
    if (add_request(handle, content)) return;
    release_ranks(content.ranks);
    call->thread->record->dropped += 1;
}

// A receive that names its source has its partner now; one that takes any needs to know later what
// the ranks of its communicator mean, when the communicator may be gone.
void set_source(Call* call, Request* content, MPI_Comm comm, int source) {
    if (source >= 0) {
        content->peer = peer_of(call->thread, comm, source);
    } else if (source == MPI_ANY_SOURCE) {
        content->ranks = hold_ranks(comm);
    }
}

Request active_request(RequestKind kind) {
    Request content{};
    content.peer = kNoPeer;
    content.kind = kind;
    content.active = true;
    return content;
}

}  // namespace

void follow_request(Call* call, MPI_Request request, RequestKind kind, MPI_Comm comm, int source) {
    if (request == g_mpi.request_empty || request == g_mpi.request_null) return;
    Request content = active_request(kind);
    if (kind == kReceiveRequest) set_source(call, &content, comm, source);
    follow(call, as_handle(request), content);
}

void follow_persistent(Call* call, MPI_Request request, RequestKind kind, MPI_Comm comm, int peer,
                       uint64_t bytes) {
    Request content = active_request(kind);
    content.persistent = true;
    content.active = false;
    content.bytes = bytes;
    set_source(call, &content, comm, peer);
    follow(call, as_handle(request), content);
}

void book_start(Call* call, int count, const MPI_Request* requests) {
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
        if (found.entry == nullptr) {
            call->thread->record->guessed += 1;
            continue;
        }
        set_active(found, true);
        if (found.copy.kind != kSendRequest || found.copy.peer == kNoPeer) continue;
        book_message(call, found.copy.peer, found.copy.bytes, 0, ticks);
    }
}

// The handle of a matched message names its communicator until it is received.
void remember_message(Call* call, MPI_Message message, MPI_Comm comm) {
    Request content = active_request(kMessageHandle);
    content.bytes = reinterpret_cast<uintptr_t>(comm);
    follow(call, reinterpret_cast<uintptr_t>(message), content);
}

MPI_Comm take_message(Call*, const MPI_Message* message) {
    if (message == nullptr) return g_mpi.comm_world;
    const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(*message));
    if (found.entry == nullptr || found.copy.kind != kMessageHandle) return g_mpi.comm_world;
    drop_request(found);
    return reinterpret_cast<MPI_Comm>(found.copy.bytes);
}

int complete_Wait(Call* call, decltype(&PMPI_Wait) next, MPI_Request* request, MPI_Status* status) {
    Before before = look_at(request != nullptr ? *request : g_mpi.request_null);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    int flag = 0;
    int result = MPI_SUCCESS;
    if (g_tests_first && before.handle != g_mpi.request_null) {
        result = g_mpi.Test(request, &flag, used);
    }
    if (result == MPI_SUCCESS && flag == 0) {
        before.ready = before.handle == g_mpi.request_null;
        result = next(request, used);
    }
    stop(call);
    if (result != MPI_SUCCESS) {
        book_failed(call);
        return result;
    }
    if (!g_tests_first) before.ready = took_found_message(call, bytes_of(used));
    Completed completed;
    book_completed(call, before, used, call->ticks, &completed);
    completed.book(call);
    book_blocked(call, !before.ready);
    return result;
}

int complete_Waitall(Call* call, decltype(&PMPI_Waitall) next, int count, MPI_Request* requests,
                     MPI_Status* statuses) {
    Several several(call, count, requests, statuses == MPI_STATUSES_IGNORE);
    MPI_Status* used = statuses != MPI_STATUSES_IGNORE ? statuses : several.statuses();
    if (several.count() == 0) used = statuses;
    start(call);
    int flag = 0;
    bool blocked = false;
    int result = MPI_SUCCESS;
    if (g_tests_first) result = g_mpi.Testall(count, requests, &flag, used);
    if (result == MPI_SUCCESS && flag == 0) {
        blocked = mark_ready(several);
        result = next(count, requests, used);
    }
    stop(call);
    if (result != MPI_SUCCESS) {
        book_failed(call);
        return result;
    }
    book_indices(call, several, nullptr, several.count(), used);
    book_blocked(call, blocked);
    return result;
}

int complete_Waitany(Call* call, decltype(&PMPI_Waitany) next, int count, MPI_Request* requests,
                     int* index, MPI_Status* status) {
    Several several(call, count, requests, false);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    int flag = 0;
    int result = MPI_SUCCESS;
    if (g_tests_first) result = g_mpi.Testany(count, requests, index, &flag, used);
    if (result == MPI_SUCCESS && flag == 0) {
        mark_all(several, false);
        result = next(count, requests, index, used);
    }
    stop(call);
    if (result != MPI_SUCCESS) {
        book_failed(call);
        return result;
    }
    book_indices(call, several, index, *index == MPI_UNDEFINED ? 0 : 1, used);
    book_blocked(call, flag == 0);
    return result;
}

int complete_Waitsome(Call* call, decltype(&PMPI_Waitsome) next, int count, MPI_Request* requests,
                      int* completed, int* indices, MPI_Status* statuses) {
    Several several(call, count, requests, statuses == MPI_STATUSES_IGNORE);
    MPI_Status* used = statuses != MPI_STATUSES_IGNORE ? statuses : several.statuses();
    if (several.count() == 0) used = statuses;
    start(call);
    int result = MPI_SUCCESS;
    bool blocked = true;
    if (g_tests_first) {
        result = g_mpi.Testsome(count, requests, completed, indices, used);
        blocked = result == MPI_SUCCESS && *completed == 0;
    }
    if (result == MPI_SUCCESS && blocked) {
        mark_all(several, false);
        result = next(count, requests, completed, indices, used);
    }
    stop(call);
    if (result != MPI_SUCCESS) {
        book_failed(call);
        return result;
    }
    book_indices(call, several, indices, *completed == MPI_UNDEFINED ? 0 : *completed, used);
    book_blocked(call, blocked);
    return result;
}

namespace {

uint64_t bytes_received(Several& several, const int* indices, int count,
                        const MPI_Status* statuses) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) {
        const int which = indices != nullptr ? indices[i] : i;
        if (which < 0 || which >= several.count()) continue;
        const Before& before = several[which];
        if (before.is_active() && before.found.copy.kind == kReceiveRequest) {
            bytes += bytes_of(&statuses[i]);
        }
    }
    return bytes;
}

// Found incomplete by a test: the program waits, in a loop of its own.
void book_incomplete(Call* call, Several& several) {
    const Before* first = several.first();
    if (first == nullptr) {
        Completed{}.book(call);
        return;
    }
    const bool receives = first->found.entry != nullptr && first->found.copy.kind != kSendRequest;
    const EventSlot slot = receives ? kRecvBlocked : kSendBlocked;
    book_event(call, slot);
    call->part->blocked_ticks += call->ticks;
    remember_poll(call, slot, true, &several[0], several.count());
}

// `indices` are those of the `count` requests that the test completed when `done`, null for the
// first ones.
void book_tested(Call* call, Several& several, int result, bool done, const int* indices, int count,
                 const MPI_Status* statuses) {
    if (result != MPI_SUCCESS) {
        book_failed(call);
    } else if (done) {
        book_indices(call, several, indices, count, statuses);
    } else {
        book_incomplete(call, several);
    }
}

}  // namespace

void finish_poll(Call* call, int result, bool done, const int* indices, int count,
                 const MPI_Status* statuses) {
    stop_poll(call);
    Several several(call->poll);
    estimate_poll(call, done ? bytes_received(several, indices, count, statuses) : 0);
    book_tested(call, several, result, done, indices, count, statuses);
    leave(call);
}

int complete_Test(Call* call, decltype(&PMPI_Test) next, MPI_Request* request, int* flag,
                  MPI_Status* status) {
    Several several(call, 1, request, false);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    const int result = next(request, flag, used);
    const bool done = result == MPI_SUCCESS && *flag != 0;
    stop(call);
    book_tested(call, several, result, done, nullptr, several.count(), used);
    return result;
}

int complete_Testall(Call* call, decltype(&PMPI_Testall) next, int count, MPI_Request* requests,
                     int* flag, MPI_Status* statuses) {
    Several several(call, count, requests, statuses == MPI_STATUSES_IGNORE);
    MPI_Status* used = statuses != MPI_STATUSES_IGNORE ? statuses : several.statuses();
    if (several.count() == 0) used = statuses;
    start(call);
    const int result = next(count, requests, flag, used);
    const bool done = result == MPI_SUCCESS && *flag != 0;
    stop(call);
    book_tested(call, several, result, done, nullptr, several.count(), used);
    return result;
}

int complete_Testany(Call* call, decltype(&PMPI_Testany) next, int count, MPI_Request* requests,
                     int* index, int* flag, MPI_Status* status) {
    Several several(call, count, requests, false);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    const int result = next(count, requests, index, flag, used);
    const bool done = result == MPI_SUCCESS && *flag != 0;
    stop(call);
    book_tested(call, several, result, done, index, done && *index != MPI_UNDEFINED ? 1 : 0, used);
    return result;
}

int complete_Testsome(Call* call, decltype(&PMPI_Testsome) next, int count, MPI_Request* requests,
                      int* completed, int* indices, MPI_Status* statuses) {
    Several several(call, count, requests, statuses == MPI_STATUSES_IGNORE);
    MPI_Status* used = statuses != MPI_STATUSES_IGNORE ? statuses : several.statuses();
    if (several.count() == 0) used = statuses;
    start(call);
    const int result = next(count, requests, completed, indices, used);
    const bool done = result == MPI_SUCCESS && *completed != 0;
    stop(call);
    book_tested(call, several, result, done, indices,
                done && *completed != MPI_UNDEFINED ? *completed : 0, used);
    return result;
}

}  // namespace dwell
