// Polls: calls that ask whether something has happened (Test, Testany, Iprobe ...) and find, time
// after time, that it has not. They take 25 to 50 ns, and programs make millions of them, so one
// that repeats an unsuccessful one goes without time stamps. Counts, events, bytes and partners
// stay exact; the time is estimated, and labelled so (DESIGN 5.7):
//
//   time stamp            time stamp
//   | poll ─ c ─ poll ─ c ─ poll ─ rest ─ next call |
//
// When the next call has its stamps, each poll between gets the time that timed polls of the
// statement took of late, each interval c between them what it took of late, as far as there is
// time, and the rest is computation before the next call: all adds up to what has passed. Of
// kUntimedPolls + 2 polls two in a row are timed, so that a poll and the interval before it are
// known. Polls that come more seldom than every kPollSpacing_ns are all timed. One that succeeds
// gets its end stamped.
#ifndef DWELL_RUNTIME_CALLS_POLLS_H_
#define DWELL_RUNTIME_CALLS_POLLS_H_

#include <string.h>

#include "runtime/calls/records.h"
#include "runtime/mpi/requests.h"
#include "runtime/probes/probes.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

constexpr uint32_t kPolls = 8;  // statements of a thread that poll by turns
constexpr int kPollRequests = 16;
constexpr uint64_t kPollSpacing_ns = 2000;
void set_poll_spacing();  // once, when the clock's rate is known
// With the two that are timed a prime number: a loop over several statements times each of them.
constexpr uint32_t kUntimedPolls = 237;

// A mean of values of late.
class RecentMean {
  public:
    void add(uint64_t value);
    uint64_t value() const { return sixteenths_ / 16; }

  private:
    uint64_t sixteenths_;
};

// A poll as reached from the call before it.
struct PollInterval {
    Node* interval;  // null: this leg is not in use
    CellIndex from;
    uint32_t untimed;  // polls that have no time yet
    RecentMean computation;
};
constexpr int kPollIntervals = 4;

struct Poll {
    const PathEntry* path;
    Node* node;
    uint64_t* event_count;  // of an unsuccessful call
    CellIndex index;
    uint16_t requests;
    uint8_t number;  // as in PathEntry
    uint8_t slot;    // EventSlot of an unsuccessful call
    bool blocks;     // its time counts as blocked
    uint32_t calls;  // Thread::calls when the requests were known to be the same
    uint32_t next_leg;
    Poll* follower;  // that came after this one last time; never null
    RecentMean ticks;
    PollInterval legs[kPollIntervals];
    MPI_Request handles[kPollRequests];
    Before before[kPollRequests];
};

inline PollInterval* find_leg(Poll* poll, CellIndex from) {
    for (PollInterval& leg : poll->legs) {
        if (leg.from == from && leg.interval != nullptr) return &leg;
    }
    return nullptr;
}

// The poll of this call, or null.
Poll* find_poll(Thread* thread, MpiCall number, const Frame* frame);

// Looks the requests up again: another call may have completed and started them.
bool same_entries(Thread* thread, Poll* poll);

inline bool same_requests(Thread* thread, Poll* poll, int count, const MPI_Request* requests) {
    if (count != poll->requests || requests == nullptr) return false;
    if (count == 1 ? poll->handles[0] != requests[0]
                   : memcmp(poll->handles, requests, count * sizeof(MPI_Request)) != 0) {
        return false;
    }
    // Only a call of this thread can have changed them, when there is no other thread.
    return (poll->calls == thread->calls &&
            g_process.thread_count.load(std::memory_order_relaxed) == 1) ||
           same_entries(thread, poll);
}

// Begins an untimed poll: true when the call repeats an unsuccessful one, with the same requests.
// Then end_poll() or stop_poll() follows. False: enter() it.
DWELL_BODY bool begin_poll(Call* call, MpiCall number, const Frame* frame, int count,
                           const MPI_Request* requests) {
    Thread* thread = t_thread;
    if (thread == nullptr || thread->untimed_left == 0) return false;
    if (thread->open != nullptr || thread->in_tool || g_live->on == 0 || g_live->paused != 0 ||
        thread->epoch != g_live->epoch || has_samples(thread)) [[unlikely]] {
        return false;
    }
    Poll* poll = thread->last_poll->follower;
    if (!path_matches(*poll->path, frame, number, probe_frame_of(thread, frame)) ||
        poll->path->poll != poll->number) {
        poll = find_poll(thread, number, frame);
        if (poll == nullptr) return false;
        thread->last_poll->follower = poll;
    }
    PollInterval* leg = find_leg(poll, thread->last);
    if (leg == nullptr) return false;
    if (count != 0 && !same_requests(thread, poll, count, requests)) return false;
    call->thread = thread;
    call->poll = poll;
    call->leg = leg;
    call->index = poll->index;
    open_call(call);
    return true;
}

// After a call begun by begin_poll() that was unsuccessful once more: counts it, and ends it.
inline void end_poll(Call* call) {
    Thread* thread = call->thread;
    Poll* poll = call->poll;
    poll->node->count += 1;
    *poll->event_count += 1;
    call->leg->interval->count += 1;
    call->leg->untimed += 1;
    thread->untimed_polls |= 1u << poll->number;
    thread->untimed_left -= 1;
    thread->last_poll = poll;
    thread->last = poll->index;
    close_call(call);
}

// After one that found something or failed: stamps its end and makes a recorded call of it, whose
// time is estimated once it is known how many bytes it received. Then it is booked like any.
DWELL_COLD void stop_poll(Call* call);
DWELL_COLD void estimate_poll(Call* call, uint64_t bytes);

// The same for a test: books it and ends the call. `indices` are those of the `count` requests that
// it completed when `done`, null for the first ones.
DWELL_COLD void finish_poll(Call* call, int result, bool done, const MPI_Request* requests,
                            const int* indices, int count, const MPI_Status* statuses);

// After a timed poll that was unsuccessful, before leave(): the next ones may go untimed.
void remember_poll(Call* call, int slot, bool blocks, const Before* before, int requests);

// Drops what has no time yet.
void forget_untimed(Thread* thread);
// The thread ends; its counts are reset.
void end_polls(Thread* thread, uint64_t now);
void reset_polls(Thread* thread, uint64_t since);

// Measures what untimed polls cost, on the records of calibrate(), where MPI_Send stands for them.
void calibrate_polls(const Frame* frame);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_POLLS_H_
