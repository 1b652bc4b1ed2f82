// The list of deferred receives, and their delivery by dwell.
#include "runtime/order/deferred_receives.h"

#include "runtime/mpi/datatypes.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/order/order.h"
#include "runtime/order/order_choice.h"

namespace dwell {

uint32_t g_deferred = 0;

namespace {

constexpr uint32_t kMost = 64;
// Messages up to this size arrive whole with their header: receiving one waits for nobody.
uint64_t whole_bytes() {
    constexpr uint64_t kHeader = 256;
    return g_eager_limits.eager_limit_shm > kHeader ? g_eager_limits.eager_limit_shm - kHeader : 0;
}

DeferredReceive g_receives[kMost];
uint32_t g_used = 0;  // all used ones are below this index
uint32_t g_last_order = 0;

DeferredReceive* find(MPI_Request handle) {
    for (uint32_t i = 0; i < g_used; ++i) {
        DeferredReceive& receive = g_receives[i];
        if (receive.state != DeferredReceive::kFree && receive.handle == handle) return &receive;
    }
    return nullptr;
}

DeferredReceive* free_place() {
    for (uint32_t i = 0; i < g_used; ++i) {
        if (g_receives[i].state == DeferredReceive::kFree) return &g_receives[i];
    }
    return g_used < kMost ? &g_receives[g_used++] : nullptr;
}

// The earliest deferred receive.
DeferredReceive* first_deferred() {
    DeferredReceive* first = nullptr;
    for (uint32_t i = 0; i < g_used; ++i) {
        DeferredReceive& receive = g_receives[i];
        if (receive.state != DeferredReceive::kDeferred) continue;
        if (first == nullptr ||
            static_cast<int32_t>(receive.deferred_order - first->deferred_order) < 0) {
            first = &receive;
        }
    }
    return first;
}

bool is_any_posted() {
    for (uint32_t i = 0; i < g_used; ++i) {
        if (g_receives[i].state == DeferredReceive::kWithMpi) return true;
    }
    return false;
}

// Whether a receive with these arguments can be deferred. A posted receive gets its message first,
// and deferred ones match in post order, so all deferred ones must match the same messages.
bool may_defer(Call* call, int count, int tag, MPI_Comm comm) {
    if (g_process.concurrent || count < 0 || (tag < 0 && tag != MPI_ANY_TAG)) return false;
    if (is_any_posted() || !can_choose_among(call->thread, comm)) return false;
    const DeferredReceive* first = first_deferred();
    if (first != nullptr && (first->comm != comm || first->tag != tag)) {
        post_deferred();
        return false;
    }
    return true;
}

void defer(DeferredReceive* receive) {
    receive->state = DeferredReceive::kDeferred;
    receive->deferred_order = ++g_last_order;
    g_deferred += 1;
}

void fill(const Call* call, DeferredReceive* place, MPI_Request handle, void* buffer, int count,
          MPI_Datatype type, int tag, MPI_Comm comm) {
    *place = DeferredReceive{};
    place->handle = handle;
    place->buffer = buffer;
    place->type = type;
    place->comm = comm;
    place->count = count;
    place->tag = tag;
    place->bytes = as_count(count) * type_bytes(call->thread, type);
}

void count_posted() { t_thread->record->order_posted += 1; }

// Calls that handle deferred receives themselves.
bool handles_deferred(MpiCall number) {
    switch (number) {
        case MpiCall::kIrecv:
        case MpiCall::kStart:
        case MpiCall::kWait:
        case MpiCall::kWaitall:
        case MpiCall::kWaitany:
        case MpiCall::kWaitsome:
        case MpiCall::kTest:
        case MpiCall::kTestany:
        case MpiCall::kTestsome:
            return true;
        default:
            return false;
    }
}

}  // namespace

void end_deferring(MpiCall number) {
    if (g_deferred != 0 && !handles_deferred(number)) post_deferred();
}

void post_deferred() {
    if (g_deferred == 0) return;
    for (DeferredReceive* first = first_deferred(); first != nullptr; first = first_deferred()) {
        first->state = DeferredReceive::kWithMpi;
        g_mpi.Start(&first->handle);
        count_posted();
    }
    g_deferred = 0;
}

int post_receive(Call* call, decltype(&PMPI_Irecv) next, void* buffer, int count, MPI_Datatype type,
                 int source, int tag, MPI_Comm comm, MPI_Request* request) {
    DeferredReceive* place = nullptr;
    if (source != MPI_ANY_SOURCE) {
        post_deferred();
    } else if (may_defer(call, count, tag, comm)) {
        place = free_place();
    }
    if (place == nullptr) {
        if (source == MPI_ANY_SOURCE) {
            post_deferred();
            count_posted();
        }
        return next(buffer, count, type, source, tag, comm, request);
    }
    TriedOut nowhere;  // arguments that MPI rejects are rejected in this call
    int result =
        g_mpi.Irecv(buffer, count, type, MPI_PROC_NULL, tag, comm, nowhere.instead_of(request));
    if (result != MPI_SUCCESS) return result;
    result = g_mpi.Recv_init(buffer, count, type, source, tag, comm, request);
    if (result != MPI_SUCCESS) return result;
    fill(call, place, *request, buffer, count, type, tag, comm);
    defer(place);
    return MPI_SUCCESS;
}

void remember_wildcard(Call* call, MPI_Request handle, void* buffer, int count, MPI_Datatype type,
                       int tag, MPI_Comm comm) {
    DeferredReceive* place = free_place();
    if (place == nullptr) {
        count_posted();
        return;
    }
    fill(call, place, handle, buffer, count, type, tag, comm);
    place->persistent = true;
    place->state = DeferredReceive::kInactive;
}

int start_request(Call* call, decltype(&PMPI_Start) next, MPI_Request* request) {
    DeferredReceive* receive = request != nullptr ? find(*request) : nullptr;
    if (receive != nullptr && receive->state == DeferredReceive::kInactive &&
        !receive->left_to_mpi && may_defer(call, receive->count, receive->tag, receive->comm)) {
        defer(receive);
        return MPI_SUCCESS;
    }
    post_deferred();
    return next(request);
}

void note_started(MPI_Request handle) {
    DeferredReceive* receive = find(handle);
    if (receive == nullptr || receive->state != DeferredReceive::kInactive) return;
    receive->state = DeferredReceive::kWithMpi;
    count_posted();
}

DeferredReceive* next_deferred(MPI_Request handle) {
    DeferredReceive* first = g_deferred != 0 ? first_deferred() : nullptr;
    return first != nullptr && first->handle == handle ? first : nullptr;
}

const DeferredReceive* delivered(MPI_Request handle) {
    const DeferredReceive* receive = find(handle);
    return receive != nullptr && receive->state == DeferredReceive::kDelivered ? receive : nullptr;
}

bool deliver(Call* call, DeferredReceive* deferred, int source, bool waits) {
    MPI_Status found;
    int flag = 0;
    if (g_mpi.Iprobe(source, deferred->tag, deferred->comm, &flag, &found) != MPI_SUCCESS ||
        flag == 0) {
        return false;
    }
    const uint64_t bytes = bytes_of(&found);
    if (bytes > deferred->bytes) return false;
    if (bytes > whole_bytes() && !waits) return false;
    deferred->result = g_mpi.Recv(deferred->buffer, deferred->count, deferred->type, source,
                                  found.MPI_TAG, deferred->comm, &deferred->status);
    deferred->matched_stamp = match_stamp(call, deferred->comm, &deferred->status);
    deferred->state = DeferredReceive::kDelivered;
    g_deferred -= 1;
    return true;
}

void retire_deferred(MPI_Request* requests, const int* indices, int count) {
    for (int i = 0; i < count && g_used != 0; ++i) {
        MPI_Request* request = &requests[indices != nullptr ? indices[i] : i];
        DeferredReceive* receive = find(*request);
        if (receive == nullptr || receive->state == DeferredReceive::kInactive) continue;
        if (receive->persistent) {
            receive->state = DeferredReceive::kInactive;
            continue;
        }
        receive->state = DeferredReceive::kFree;
        g_mpi.Request_free(request);
    }
}

int failure_of_deferred(MPI_Request* requests, const int* indices, int count,
                        const MPI_Status* statuses, bool all) {
    for (int i = 0; i < count && g_used != 0; ++i) {
        const DeferredReceive* receive = find(requests[indices != nullptr ? indices[i] : i]);
        if (receive == nullptr || receive->state != DeferredReceive::kWithMpi ||
            receive->persistent || bytes_of(&statuses[i]) <= receive->bytes) {
            continue;
        }
        if (!receive->left_to_mpi) g_mpi.Comm_call_errhandler(receive->comm, MPI_ERR_TRUNCATE);
        retire_deferred(requests, indices, count);
        return all ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE;
    }
    return MPI_SUCCESS;
}

void forget_deferred(uintptr_t handle) {
    DeferredReceive* receive = find(reinterpret_cast<MPI_Request>(handle));
    if (receive != nullptr) receive->state = DeferredReceive::kFree;
}

void detach_deferred(const uintptr_t* comm) {
    for (uint32_t i = 0; i < g_used; ++i) {
        DeferredReceive& receive = g_receives[i];
        if (comm == nullptr || reinterpret_cast<uintptr_t>(receive.comm) == *comm) {
            receive.left_to_mpi = true;
        }
    }
}

}  // namespace dwell
