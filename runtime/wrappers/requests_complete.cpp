// Completion of requests (MPI-3.1 3.7 to 3.9): what the wrappers of Wait, Test and similar record.
//
// A wait first tests: if that completes everything, the program need not have waited (PICL types
// -30, -60), otherwise it waits (-31, -61). Test and wait have the same effects and statuses. The
// test is omitted where another tool's wrapper follows dwell's, because that tool must see the
// program's own call.
#include <string.h>

#include "runtime/calls/polls.h"
#include "runtime/order/order.h"
#include "runtime/order/order_requests.h"
#include "runtime/wrappers/mpi_semantics.h"
#include "runtime/wrappers/several_requests.h"

namespace dwell {

namespace {

DWELL_CALL_DATA bool g_tests_first = false;

// With more requests than this, a wait does not check which of them were ready.
constexpr int kMaxReadyChecks = 64;

// Completed requests of one call, counted by event type.
struct Completed {
    uint64_t count[kEventSlots] = {};

    // TM-12125 gives each request an event; the call's time goes to one type, a blocked receive
    // first (DESIGN 7).
    void record(Call* call) const {
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

// Records the bytes received by a completed request, under the partner named by its status.
void record_received_bytes(Call* call, const Request& request, const MPI_Status* status,
                           uint64_t ticks) {
    const uint64_t bytes = bytes_of(status);
    if (request.kind == kReceiveRequest) {
        if (status->_cancelled != 0 || status->MPI_SOURCE < 0) return;
        const bool named = request.peer != kNoPeer;
        const uint32_t peer = named ? request.peer : peer_in(request.ranks, status->MPI_SOURCE);
        record_message(call, peer, 0, bytes, ticks);
        if (writes_events_of(call)) [[unlikely]]
            write_message_of(call, request.comm, EventKind::kReceive, peer, status->MPI_TAG, bytes);
    } else if (request.kind == kFileReadRequest) {
        record_message(call, kNoPeer, 0, bytes, 0);
    } else if (request.kind == kFileWriteRequest) {
        record_message(call, kNoPeer, bytes, 0, 0);
    }
}

void end_request(const Before& before) {
    if (before.found.copy.persistent) {
        if (is_persistent_collective(before.found)) [[unlikely]]
            end_persistent(before.found.copy.persistent_collective);
        set_active(before.found, false);
    } else {
        drop_request(before.found);
    }
}

// Records one request that the call completed, with an error or without.
void record_completed(Call* call, const Before& before, const MPI_Status* status, int error,
                      uint64_t ticks, Completed* completed) {
    if (before.handle == g_mpi.request_null || error == MPI_ERR_PENDING) return;
    if (error != MPI_SUCCESS) {
        if (before.is_active()) end_request(before);
        return;
    }
    if (before.handle == g_mpi.request_empty) {
        completed->count[completes_send() ? kSendReady : kRecvReady] += 1;
        return;
    }
    if (before.found.entry == nullptr) {
        call->thread->record->guessed += 1;
        completed->count[kSendReady] += 1;
        mark_unsynchronised();  // the request may have been a receive
        return;
    }
    const Request& request = before.found.copy;
    if (!request.active) return;  // an inactive persistent request
    const bool send = request.kind == kSendRequest;
    completed->count[(send ? kSendReady : kRecvReady) + (before.ready ? 0 : 1)] += 1;
    record_received_bytes(call, request, status, ticks);
    note_request(call, EventKind::kComplete, before.found.entry);
    end_request(before);
}

// Whether a failed request consumed its message.
DWELL_COLD bool takes_message(const Request& request, int error) {
    if (request.kind != kReceiveRequest) return false;
    if (after_error(error) == AfterError::kTaken) return true;
    give_up_request(request);
    mark_receives_unsynchronised();
    return false;
}

// Records a failed call; true when it tells which requests it completed.
DWELL_COLD bool record_failed_completion(Call* call, int result) {
    record_failed(call);
    if (reports_completed(result)) return true;
    if (after_error(result) == AfterError::kUnknown) mark_receives_unsynchronised();
    return false;
}

// Forgets a failed request, which MPI has freed even if it was persistent.
DWELL_COLD void forget_freed(MPI_Request handle, MPI_Request now) {
    if (g_process.preserve_order && now != handle)
        forget_deferred(reinterpret_cast<uintptr_t>(handle));
}
DWELL_COLD bool record_failed_completion(Call* call, int result, const Several& several,
                                         const MPI_Request* requests) {
    for (int i = 0; i < several.count(); ++i) forget_freed(several.handle(i), requests[i]);
    return record_failed_completion(call, result);
}

void add_completed(Waiting* waiting, const Before& before, const MPI_Status* status, int error) {
    if (!before.is_active() || error == MPI_ERR_PENDING) return;
    const Request& request = before.found.copy;
    uint32_t peer = request.peer;
    if (g_process.preserve_order) [[unlikely]] {
        const DeferredReceive* deferred = delivered(before.handle);
        if (deferred != nullptr) {
            add_matched_stamp(waiting, deferred->matched_stamp, bytes_of(status));
            return;
        }
    }
    if (error != MPI_SUCCESS && !takes_message(request, error)) return;
    if (request.kind == kReceiveRequest) {
        if (status->_cancelled != 0 || status->MPI_SOURCE < 0) {
            give_up_request(request);
            return;
        }
        if (peer == kNoPeer) peer = peer_in(request.ranks, status->MPI_SOURCE);
    }
    add_request_to(waiting, request, peer, status);
}

// Finds what the call waited for among its completed requests. False when unknown. `found`: by its
// senders' stamps all messages were there when the call began.
bool classify_requests(Call* call, Several& several, const int* indices, int count,
                       const MPI_Status* statuses, int result, bool blocked,
                       bool* found = nullptr) {
    if (!waits_are_open()) return false;
    const MeasuredWork work(call, count);
    Waiting waiting(call);
    for (int i = 0; i < count; ++i) {
        const Before* before = several.completed(indices, i);
        if (before == nullptr) continue;
        add_completed(&waiting, *before, &statuses[i], error_in(statuses[i], result));
    }
    const bool known = waiting.classify(call, blocked);
    if (found != nullptr) *found = waiting.found_all();
    return known;
}

// Publishes the enter time to senders that wait for one of the call's receives. Which of many
// requests this concerns is looked up only where a sender may be waiting, or where checking that
// would take longer.
void announce_request_entries(Call* call, const Several& several) {
    if (!waits_are_open()) return;
    const Before* before = several.all();
    if (before == nullptr && !may_be_asked(several.count())) {
        const Before first = several.first();
        first.is_receive() ? log_progress(call) : log_late_progress(call);
        return;
    }
    for (int i = 0; i < several.count(); ++i) {
        const Before one = before != nullptr ? before[i] : look_at(several.handle(i));
        if (one.is_active()) announce_request_entry(call, one.found.copy);
    }
}

// The time of a call that completed several receives is divided evenly among their partners.
uint64_t share(const Call* call, int receives) {
    return receives > 0 ? call->ticks / static_cast<uint64_t>(receives) : 0;
}

void record_indices(Call* call, Several& several, const int* indices, int count,
                    const MPI_Status* statuses, int result) {
    const MeasuredWork work(call, count);
    Completed completed;
    const uint64_t ticks = share(call, several.receives_among(indices, count));
    for (int i = 0; i < count; ++i) {
        const Before* before = several.completed(indices, i);
        if (before == nullptr) continue;
        record_completed(call, *before, &statuses[i], error_in(statuses[i], result), ticks,
                         &completed);
    }
    completed.record(call);
}

// Before a wait that will block: finds which requests are already ready. The wait hides the cost.
// False when all of them are ready.
bool mark_ready(Several& several) {
    several.mark_all(false);
    if (several.count() > kMaxReadyChecks) return true;
    bool blocks = false;
    for (int i = 0; i < several.count(); ++i) {
        Before& before = several.before(i);
        if (!before.is_active()) continue;
        int flag = 0;
        if (g_mpi.Request_get_status(before.handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
            before.ready = flag != 0;
        }
        set_awaited(before.found, before.ready ? kWasComplete : kAwaited);
        blocks = blocks || !before.ready;
    }
    return blocks;
}

// Without stamps: the call took no longer than that many matched receives.
bool are_unblocked_receives(const Call* call, Several& several, const MPI_Status* statuses,
                            int result) {
    uint64_t bytes = 0;
    uint64_t messages = 0;
    for (int i = 0; i < several.count(); ++i) {
        const Before& before = several.before(i);
        if (!before.is_active() || error_in(statuses[i], result) != MPI_SUCCESS) continue;
        if (before.found.copy.kind == kReceiveRequest) bytes += bytes_of(&statuses[i]);
        ++messages;
    }
    return are_unblocked_receives(call, messages, bytes);
}

// Chooses the requests to complete, when the order is kept. After start().
Picked pick(Call* call, const Several& several, Pick pick, bool waits) {
    if (!g_process.preserve_order) [[likely]]
        return {};
    Picked picked =
        pick_requests(call, several.all(), several.count(), pick, waits, several.pick_room());
    picked.in_order = true;
    return picked;
}

// Counts a call that was left to MPI and has completed something.
void count_left_to_mpi(Call* call, const Picked& picked, int completed) {
    if (picked.left_to_mpi != nullptr && completed > 0) {
        call->thread->record->*picked.left_to_mpi += 1;
    }
}

// MPI_Waitany on the chosen requests.
DWELL_COLD int complete_picked(const Picked& picked, decltype(&PMPI_Waitany) next, int count,
                               MPI_Request* requests, int* index, MPI_Status* status) {
    const int result = next(count, picked.requests, index, status);
    put_back(picked, count, requests);
    if (picked.deferred < 0) return result;
    *index = picked.deferred;
    return give_status(requests[picked.deferred], result, status);
}

// MPI_Waitsome or MPI_Testsome on the chosen requests.
DWELL_COLD int complete_picked(const Picked& picked, decltype(&PMPI_Waitsome) next, int count,
                               MPI_Request* requests, int* completed, int* indices,
                               MPI_Status* statuses) {
    const int result = next(count, picked.requests, completed, indices, statuses);
    put_back(picked, count, requests);
    if (picked.deferred < 0) return result;
    return add_delivered(picked, requests[picked.deferred], result, completed, indices, statuses);
}

}  // namespace

void choose_tests_first() {
    // Only where the next MPI_Wait is the MPI library's own, because another tool must see the
    // wait.
    g_tests_first = next_of<void*>(kMpiForm, MpiCall::kWait) == reinterpret_cast<void*>(g_mpi.Wait);
}

int complete_Wait(Call* call, decltype(&PMPI_Wait) next, MPI_Request* request, MPI_Status* status) {
    Before before = look_at(*request);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    if (waits_are_open() && before.is_active()) announce_request_entry(call, before.found.copy);
    int flag = 0;
    int result = MPI_SUCCESS;
    Delivery delivery = Delivery::kNone;
    if (holds_receives()) [[unlikely]]
        delivery = deliver_to(call, before.handle, true);
    if (g_tests_first && before.handle != g_mpi.request_null) {
        result = g_mpi.Test(request, &flag, used);
    }
    if (result == MPI_SUCCESS && flag == 0) {
        before.ready = before.handle == g_mpi.request_null;
        if (g_process.preserve_order) [[unlikely]]
            publish_request(call, before.found.copy);
        result = next(request, used);
    }
    if (delivery != Delivery::kNone) [[unlikely]] {
        result = give_status(before.handle, result, used);
        before.ready = delivery == Delivery::kAtOnce;
    }
    stop(call);
    if (result != MPI_SUCCESS) [[unlikely]] {
        forget_freed(before.handle, *request);
        if (!record_failed_completion(call, result)) return result;
    }
    if (!g_tests_first && delivery == Delivery::kNone) {
        before.ready = is_unblocked_receive(call, bytes_of(used));
    }
    bool known = false;
    if (waits_are_open()) {
        Waiting waiting(call);
        add_completed(&waiting, before, used, result);
        known = waiting.classify(call, !before.ready);
        if (!g_tests_first && waiting.found_all()) before.ready = true;
    }
    Completed completed;
    record_completed(call, before, used, result, call->ticks, &completed);
    completed.record(call);
    if (!before.ready && !known) record_blocked(call, call->ticks);
    return result;
}

int complete_Waitall(Call* call, decltype(&PMPI_Waitall) next, int count, MPI_Request* requests,
                     MPI_Status* statuses) {
    const bool own = statuses == MPI_STATUSES_IGNORE;
    Several several(call, LookUp::kBefore, count, count, requests, own);
    MPI_Status* used = own ? several.statuses() : statuses;
    if (several.count() == 0) used = statuses;
    start(call);
    announce_request_entries(call, several);
    int flag = 0;
    bool blocked = false;
    int result = MPI_SUCCESS;
    const bool holds = holds_receives();
    if (holds) [[unlikely]]
        deliver_all(call, several.all(), several.count());
    // With threads, Open MPI 4's MPI_Waitall never returns when one of its requests failed before
    // it began; testing a request makes progress, in which receives fail.
    const bool looks = !g_process.threaded_mpi;
    if (g_tests_first && looks) result = g_mpi.Testall(count, requests, &flag, used);
    if (result == MPI_SUCCESS && flag == 0) {
        if (looks) {
            blocked = mark_ready(several);
        } else {
            several.mark_all(false);
            blocked = true;
        }
        if (g_process.preserve_order) [[unlikely]]
            publish_waiting(call);
        result = next(count, requests, used);
    }
    if (g_process.preserve_order) [[unlikely]] {
        for (int i = 0; i < several.count() && holds; ++i) {
            result = give_status(several.handle(i), result, &used[i]);
        }
        blocked = blocked || holds;
        if (result == MPI_SUCCESS)
            result = failure_of_deferred(requests, nullptr, several.count(), used, true);
    }
    stop(call);
    if (result != MPI_SUCCESS && !record_failed_completion(call, result, several, requests))
        return result;
    if (!looks && !holds) blocked = !are_unblocked_receives(call, several, used, result);
    bool found = false;
    const bool known =
        classify_requests(call, several, nullptr, several.count(), used, result, blocked, &found);
    if (!looks && !holds) {
        blocked = blocked && !found;
        several.mark_all(!blocked);
    }
    record_indices(call, several, nullptr, several.count(), used, result);
    if (blocked && !known) record_blocked(call, call->ticks);
    return result;
}

int complete_Waitany(Call* call, decltype(&PMPI_Waitany) next, int count, MPI_Request* requests,
                     int* index, MPI_Status* status) {
    Several several(call, least_look_up(), count, 1, requests, false);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    announce_request_entries(call, several);
    int flag = 0;
    int result = MPI_SUCCESS;
    const Picked picked = pick(call, several, Pick::kOne, true);
    if (picked.known) [[unlikely]] {
        flag = picked.at_once ? 1 : 0;
        several.mark_all(picked.at_once);
        result = complete_picked(picked, next, count, requests, index, used);
    } else if (g_tests_first) {
        result = g_mpi.Testany(count, requests, index, &flag, used);
    }
    if (result == MPI_SUCCESS && flag == 0 && !picked.known) {
        several.mark_all(false);
        if (g_process.preserve_order) [[unlikely]]
            publish_waiting(call);
        result = next(count, requests, index, used);
    }
    if (picked.in_order && result == MPI_SUCCESS && *index != MPI_UNDEFINED) [[unlikely]]
        result = failure_of_deferred(requests, index, 1, used, false);
    stop(call);
    if (result != MPI_SUCCESS && !record_failed_completion(call, result, several, requests))
        return result;
    const int done = *index == MPI_UNDEFINED ? 0 : 1;
    count_left_to_mpi(call, picked, done);
    several.find_completed(call, index, done);
    const bool known = classify_requests(call, several, index, done, used, result, flag == 0);
    record_indices(call, several, index, done, used, result);
    if (flag == 0 && !known) record_blocked(call, call->ticks);
    return result;
}

int complete_Waitsome(Call* call, decltype(&PMPI_Waitsome) next, int count, MPI_Request* requests,
                      int* completed, int* indices, MPI_Status* statuses) {
    const bool own = statuses == MPI_STATUSES_IGNORE;
    Several several(call, least_look_up(), count, count, requests, own);
    MPI_Status* used = own ? several.statuses() : statuses;
    if (several.count() == 0) used = statuses;
    start(call);
    announce_request_entries(call, several);
    int result = MPI_SUCCESS;
    bool blocked = true;
    const Picked picked = pick(call, several, Pick::kSome, true);
    if (picked.known) [[unlikely]] {
        blocked = !picked.at_once;
        several.mark_all(picked.at_once);
        result = complete_picked(picked, next, count, requests, completed, indices, used);
    } else if (g_tests_first) {
        result = g_mpi.Testsome(count, requests, completed, indices, used);
        blocked = result == MPI_SUCCESS && *completed == 0;
    }
    if (result == MPI_SUCCESS && blocked && !picked.known) {
        several.mark_all(false);
        if (g_process.preserve_order) [[unlikely]]
            publish_waiting(call);
        result = next(count, requests, completed, indices, used);
    }
    stop(call);
    if (result != MPI_SUCCESS && !record_failed_completion(call, result, several, requests))
        return result;
    const int done = *completed == MPI_UNDEFINED ? 0 : *completed;
    count_left_to_mpi(call, picked, done);
    several.find_completed(call, indices, done);
    const bool known = classify_requests(call, several, indices, done, used, result, blocked);
    record_indices(call, several, indices, done, used, result);
    if (blocked && !known) record_blocked(call, call->ticks);
    return result;
}

namespace {

uint64_t bytes_received(const Several& several, const int* indices, int count,
                        const MPI_Status* statuses) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) {
        const Before* before = several.completed(indices, i);
        if (before != nullptr && before->is_receive()) bytes += bytes_of(&statuses[i]);
    }
    return bytes;
}

// A test found the requests incomplete: the program waits in a polling loop of its own.
void record_incomplete(Call* call, Several& several) {
    const Before first = several.first();
    if (first.handle == g_mpi.request_null) {
        Completed{}.record(call);
        return;
    }
    const bool receives = first.found.entry != nullptr && first.found.copy.kind != kSendRequest;
    const EventSlot slot = receives ? kRecvBlocked : kSendBlocked;
    record_event(call, slot);
    record_blocked(call, call->ticks);
    if (several.count() > kPollRequests) {
        remember_poll(call, slot, true, nullptr, several.count());
    } else {
        remember_poll(call, slot, true, several.incomplete(), several.count());
    }
}

// `indices` are those of the requests that the test completed when `done`; null: the first ones of
// `count`.
void record_tested(Call* call, Several& several, const MPI_Request* requests, int result, bool done,
                   const int* indices, int count, const MPI_Status* statuses) {
    if (result != MPI_SUCCESS && !record_failed_completion(call, result, several, requests)) return;
    if (done) {
        several.find_completed(call, indices, count);
        classify_requests(call, several, indices, count, statuses, result, false);
        record_indices(call, several, indices, count, statuses, result);
    } else {
        record_incomplete(call, several);
    }
}

}  // namespace

void finish_poll(Call* call, int result, bool done, const MPI_Request* requests, const int* indices,
                 int count, const MPI_Status* statuses) {
    stop_poll(call);
    Several several(call->poll);
    estimate_poll(call, done ? bytes_received(several, indices, count, statuses) : 0);
    record_tested(call, several, requests, result, done, indices, count, statuses);
    leave(call);
}

int complete_Test(Call* call, decltype(&PMPI_Test) next, MPI_Request* request, int* flag,
                  MPI_Status* status) {
    Several several(call, LookUp::kBefore, 1, 1, request, false);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    log_late_progress(call);
    Delivery delivery = Delivery::kNone;
    if (holds_receives()) [[unlikely]]
        delivery = deliver_to(call, *request, false);
    int result = MPI_SUCCESS;
    if (delivery == Delivery::kNothingThere) {
        *flag = 0;
    } else {
        result = next(request, flag, used);
    }
    const bool done = result == MPI_SUCCESS ? *flag != 0 : reports_completed(result);
    if (delivery != Delivery::kNone && done) result = give_status(several.handle(0), result, used);
    stop(call);
    record_tested(call, several, request, result, done, nullptr, several.count(), used);
    return result;
}

int complete_Testall(Call* call, decltype(&PMPI_Testall) next, int count, MPI_Request* requests,
                     int* flag, MPI_Status* statuses) {
    const bool own = statuses == MPI_STATUSES_IGNORE;
    Several several(call, least_look_up(), count, count, requests, own);
    MPI_Status* used = own ? several.statuses() : statuses;
    if (several.count() == 0) used = statuses;
    start(call);
    log_late_progress(call);
    int result = next(count, requests, flag, used);
    if (g_process.preserve_order && result == MPI_SUCCESS && *flag != 0) [[unlikely]] {
        result = failure_of_deferred(requests, nullptr, several.count(), used, true);
        if (result == MPI_SUCCESS) retire_deferred(requests, nullptr, several.count());
    }
    const bool done = result == MPI_SUCCESS ? *flag != 0 : reports_completed(result);
    stop(call);
    record_tested(call, several, requests, result, done, nullptr, several.count(), used);
    return result;
}

int complete_Testany(Call* call, decltype(&PMPI_Testany) next, int count, MPI_Request* requests,
                     int* index, int* flag, MPI_Status* status) {
    Several several(call, least_look_up(), count, 1, requests, false);
    MPI_Status own;
    MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
    start(call);
    log_late_progress(call);
    int result = MPI_SUCCESS;
    const Picked picked = pick(call, several, Pick::kOne, false);
    if (picked.known && picked.count == 0) [[unlikely]] {
        *index = MPI_UNDEFINED;
        *flag = 0;
    } else if (picked.known) {
        result = next(count, picked.requests, index, flag, used);
        put_back(picked, count, requests);
        if (picked.deferred >= 0) {
            *index = picked.deferred;
            result = give_status(requests[picked.deferred], result, used);
        }
    } else {
        result = next(count, requests, index, flag, used);
    }
    if (picked.in_order && result == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED)
        [[unlikely]]
        result = failure_of_deferred(requests, index, 1, used, false);
    const bool done = result == MPI_SUCCESS ? *flag != 0 : reports_completed(result);
    stop(call);
    const int found = done && *index != MPI_UNDEFINED ? 1 : 0;
    count_left_to_mpi(call, picked, found);
    record_tested(call, several, requests, result, done, index, found, used);
    return result;
}

int complete_Testsome(Call* call, decltype(&PMPI_Testsome) next, int count, MPI_Request* requests,
                      int* completed, int* indices, MPI_Status* statuses) {
    const bool own = statuses == MPI_STATUSES_IGNORE;
    Several several(call, least_look_up(), count, count, requests, own);
    MPI_Status* used = own ? several.statuses() : statuses;
    if (several.count() == 0) used = statuses;
    start(call);
    log_late_progress(call);
    int result = MPI_SUCCESS;
    const Picked picked = pick(call, several, Pick::kSome, false);
    if (picked.known && picked.count == 0) [[unlikely]] {
        *completed = 0;
    } else if (picked.known) {
        result = complete_picked(picked, next, count, requests, completed, indices, used);
    } else {
        result = next(count, requests, completed, indices, used);
    }
    const bool done = result == MPI_SUCCESS ? *completed != 0 : reports_completed(result);
    stop(call);
    const int found = done && *completed != MPI_UNDEFINED ? *completed : 0;
    count_left_to_mpi(call, picked, found);
    record_tested(call, several, requests, result, done, indices, found, used);
    return result;
}

}  // namespace dwell
