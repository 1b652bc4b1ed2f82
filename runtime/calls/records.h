// What every wrapper does: find the node, take two time stamps, record what the call did (DESIGN 3,
// 5.3).
//
// The time between the second stamp of a call and the first stamp of the next is computation, less
// the calibrated cost of recording and the measured time of slow work; both are overhead. All
// recording of a call happens after its second stamp.
#ifndef DWELL_RUNTIME_CALLS_RECORDS_H_
#define DWELL_RUNTIME_CALLS_RECORDS_H_

#include "runtime/calls/callpath.h"
#include "runtime/mpi/mpi_api.h"
#include "runtime/process/reset.h"
#include "runtime/process/state.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

struct PollInterval;

// A communication statement under way, on its wrapper's stack.
struct Call {
    uintptr_t proof;  // valid only in a live Call, not in a frame left by longjmp or a throw
    Thread* thread;
    Node* node;
    CommPart* part;
    SizeHistogram* histogram;
    CellIndex index;
    uint64_t start_ticks;
    uint64_t start_virtual;  // after stamp_virtual()
    uint64_t end_ticks;
    uint64_t slow_overhead;   // slow work before the call; later work counts for the next one
    uint64_t ticks;           // virtual duration, after stop()
    uint64_t inner_overhead;  // between the time stamps, beside inner_cost_ticks
    uint64_t pre_overhead;    // part of inner_overhead before MPI's own work
    uint64_t lost_ticks;      // without a processor before MPI's own work: no overhead
    uint64_t waited_ticks;    // of `ticks`: as CommPart::sync_ticks and blocked_ticks
    uint64_t bytes_sent;
    const void* ahead;      // prefetched for the time after MPI returns, or null
    Poll* poll;             // the untimed poll, else null (polls.h)
    void* next_definition;  // where to pass a call that is not entered, or null
    const PathEntry* path;  // cached path, or null
    PollInterval* poll_interval;
    bool after_untimed;  // untimed polls precede it since the last time stamp
    uint8_t events;      // CallEvents
};

enum CallEvents : uint8_t {
    kCallNoted = 1,   // the event of its beginning is written
    kCallWindow = 2,  // events are on at least until its end
};

constexpr uintptr_t kProof = 0x6477656c6c21c0deull;
inline uintptr_t proof_of(const Call* call) { return reinterpret_cast<uintptr_t>(call) ^ kProof; }

// Marks the call as the outermost one of its thread.
inline void open_call(Call* call) {
    call->proof = proof_of(call);
    call->thread->open = call;
    __atomic_store_n(&call->thread->record->open.node, call->index, __ATOMIC_RELEASE);
}
inline void close_call(Call* call) {
    call->proof = 0;
    call->thread->open = nullptr;
}

// True when the call is to be recorded: start() follows. False: pass the call on.
bool enter(Call* call, MpiCall number, const Frame* frame, EntryForm form);

// Whom the call may wait for, for `dwell where`. Before start().
inline void expect_rank(Call* call, uintptr_t handle, int peer, int tag = 0) {
    OpenCall* open = &call->thread->record->open;
    open->handle = handle;
    open->peer = peer;
    open->tag = tag;
}
inline void expect_ranks(Call* call, uintptr_t handle, int source, int tag, int destination) {
    expect_rank(call, handle, source, tag);
    call->thread->record->open.destination = destination;
}
inline void expect_requests(Call* call, int count) {
    call->thread->record->open.requests = static_cast<uint32_t>(count);
}
inline void expect_request(Call* call, uintptr_t handle) {
    call->thread->record->open.requests = 1;
    call->thread->record->open.request = handle;
}

// Stamps the beginning of the call. The cells needed afterwards are prefetched while MPI works: 12
// ns less for a call after a walk through 8 MiB.
inline void start(Call* call) {
    call->start_ticks = now_ticks();
    __atomic_store_n(&call->thread->record->open.entry_ticks, call->start_ticks, __ATOMIC_RELEASE);
    __builtin_prefetch(cell_at<void>(call->node->first_child), 1);
    __builtin_prefetch(cell_at<void>(call->part->last_peer), 1);
}

// Everything since the call's start was overhead: MPI's work begins at the real time `now`.
inline void begin_work(Call* call, uint64_t now) {
    call->pre_overhead = beyond(now, call->start_ticks + call->lost_ticks);
    call->inner_overhead = call->pre_overhead;
}

// Overhead in the time before a call: after stop(), and before stop().
inline uint64_t lost_before(const Call* call) {
    return call->slow_overhead + g_process.call_cost_ticks;
}
inline uint64_t lost_so_far(const Call* call) {
    return call->thread->slow_overhead + g_process.call_cost_ticks;
}

// Distributes the time before `until` over the untimed polls since the thread's last time stamp,
// and moves that stamp behind them.
DWELL_COLD void record_untimed(Thread* thread, uint64_t until);
inline void record_untimed_before(Call* call) {
    if (call->thread->untimed_polls == 0) [[likely]]
        return;
    call->after_untimed = true;
    record_untimed(call->thread, call->start_ticks - lost_before(call));
}

// Sets the virtual start time of the call. After start().
inline void stamp_virtual(Call* call) {
    const Thread* thread = call->thread;
    if (thread->untimed_polls != 0) [[unlikely]] {
        call->after_untimed = true;
        record_untimed(call->thread, call->start_ticks - lost_so_far(call));
    }
    const ThreadRecord* record = thread->record;
    const uint64_t since = call->start_ticks - thread->last_ticks;
    const uint64_t lost = lost_so_far(call);
    // Pauses stay in the time, because ranks may pause at different times.
    call->start_virtual =
        call->start_ticks - record->intrusion_ticks - (lost < since ? lost : since);
}

// Stamps the end of the call.
inline void stop(Call* call) {
    __builtin_prefetch(call->ahead);
    call->end_ticks = now_ticks();
    call->slow_overhead = call->thread->slow_overhead;
    const uint64_t elapsed = call->end_ticks - call->start_ticks;
    const uint64_t inner = g_process.inner_cost_ticks + call->inner_overhead;
    call->ticks = elapsed > inner ? elapsed - inner : 0;
    record_untimed_before(call);
}

// Between the last call and this one, without what has nodes of its own.
inline uint64_t time_before(const Call* call) {
    const Thread* const thread = call->thread;
    const uint64_t rest = call->start_ticks - thread->last_ticks - thread->separate_ticks;
    return static_cast<int64_t>(rest) > 0 ? rest : 0;
}
// The part of it that was overhead. After stop().
inline uint64_t overhead_before(const Call* call) {
    return earlier(lost_before(call), time_before(call));
}

// Writes the event of the call's beginning, once. After stop().
void write_begin(Call* call);
inline void note_begin(Call* call) {
    if ((call->events & kCallNoted) == 0) write_begin(call);
}

// The interval node from the thread's last call to `node`; 0: no room.
CellIndex interval_before(Thread* thread, CellIndex node);

// Records the call and the computation before it, and ends the call.
void leave(Call* call);

// The next definition to use for a call that was not entered.
template <typename Function>
Function passed_on(const Call* call, Function next) {
    return call->next_definition != nullptr ? reinterpret_cast<Function>(call->next_definition)
                                            : next;
}

inline void record_blocked(Call* call, uint64_t ticks) {
    call->part->blocked_ticks += ticks;
    call->waited_ticks += ticks;
}
inline void record_bytes(Call* call, uint64_t sent, uint64_t received) {
    call->part->bytes_sent += sent;
    call->bytes_sent += sent;
    call->part->bytes_received += received;
}

inline void record_event(Call* call, int slot) {
    call->histogram->event_count[slot] += 1;
    call->histogram->event_ticks[slot] += call->ticks;
}

inline int size_bucket(uint64_t bytes) {
    if (bytes == 0) return 0;
    const int bucket = 64 - __builtin_clzll(bytes);
    return bucket < kSizeBuckets ? bucket : kSizeBuckets - 1;
}

// Records one message with a partner: sizes, bytes, and `ticks` in the peer record.
void record_message(Call* call, uint32_t peer, uint64_t sent, uint64_t received, uint64_t ticks);
void record_peer(Call* call, uint32_t peer, uint64_t sent, uint64_t received, uint64_t ticks);
// Adds waiting time to the peer record.
void record_peer_wait(Call* call, uint32_t peer, uint64_t ticks);

// Measure the cost of recording (call_calibration.cpp): once before the first recorded call, and
// for messages once MPI can be asked for ranks and types.
void calibrate();
void calibrate_messages();

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_RECORDS_H_
