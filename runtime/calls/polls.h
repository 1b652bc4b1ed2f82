// Polling calls (Test, Testany, Iprobe ...) that find nothing. They take 25 to 50 ns, and programs
// make millions of them, so a call that repeats an unsuccessful one goes without time stamps.
// Counts, events, bytes and partners stay exact; the time is estimated and labelled (DESIGN 5.7):
//
//   time stamp            time stamp
//   | poll ─ c ─ poll ─ c ─ poll ─ rest ─ next call |
//
// At the next call's stamp, each poll gets the recent mean of timed polls of its statement, each
// interval c its recent mean, as far as the time suffices; the rest is computation before the next
// call, so that all adds up. Of kUntimedPolls + 2 polls two in a row are timed. Polls further apart
// than kPollSpacing_ns are all timed. The end of a successful poll is always stamped.
#ifndef DWELL_RUNTIME_CALLS_POLLS_H_
#define DWELL_RUNTIME_CALLS_POLLS_H_

#include <string.h>

#include "runtime/calls/records.h"
#include "runtime/mpi/requests.h"
#include "runtime/probes/probes.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

constexpr uint32_t kPolls = 8;  // polling statements of a thread that alternate
constexpr int kPollRequests = 16;
constexpr uint64_t kPollSpacing_ns = 2000;
void set_poll_spacing();  // called once, when the clock's rate is known
// Prime together with the two timed polls: so each statement of a polling loop is timed.
constexpr uint32_t kUntimedPolls = 237;

// A moving mean.
class RecentMean {
  public:
    void add(uint64_t value);
    uint64_t value() const { return sixteenths_ / 16; }

  private:
    uint64_t sixteenths_;
};

// The interval between the previous call and a poll.
struct PollInterval {
    Node* node;  // null: unused
    CellIndex from;
    uint32_t untimed;  // polls without time so far
    RecentMean computation;
};
constexpr int kPollIntervals = 4;

struct Poll {
    const PathEntry* path;
    Node* node;
    uint64_t* event_count;  // event counter of an unsuccessful call
    CellIndex index;
    uint16_t requests;
    uint8_t number;  // as in PathEntry::poll
    uint8_t slot;    // its EventSlot
    bool blocks;     // an unsuccessful call's time counts as blocked
    uint32_t calls;  // Thread::calls when the requests were last verified
    uint32_t next_interval;
    Poll* follower;  // the poll that followed this one last time; never null
    RecentMean ticks;
    PollInterval intervals[kPollIntervals];
    MPI_Request handles[kPollRequests];
    Before before[kPollRequests];
};

inline PollInterval* find_poll_interval(Poll* poll, CellIndex from) {
    for (PollInterval& interval : poll->intervals) {
        if (interval.from == from && interval.node != nullptr) return &interval;
    }
    return nullptr;
}

// The poll at this statement, or null.
Poll* find_poll(Thread* thread, MpiCall number, const Frame* frame);

// Looks the requests up again, because another call may have completed and restarted them.
bool same_entries(Thread* thread, Poll* poll);

inline bool same_requests(Thread* thread, Poll* poll, int count, const MPI_Request* requests) {
    if (count != poll->requests || requests == nullptr) return false;
    if (count == 1 ? poll->handles[0] != requests[0]
                   : memcmp(poll->handles, requests, count * sizeof(MPI_Request)) != 0) {
        return false;
    }
    // With a single thread only a recorded call can have changed the requests.
    return (poll->calls == thread->calls &&
            g_process.thread_count.load(std::memory_order_relaxed) == 1) ||
           same_entries(thread, poll);
}

// Begins an untimed poll; end_poll() or stop_poll() follows. False when the call does not repeat an
// unsuccessful one with the same requests: enter() it.
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
    PollInterval* interval = find_poll_interval(poll, thread->last);
    if (interval == nullptr) return false;
    if (count != 0 && !same_requests(thread, poll, count, requests)) return false;
    call->thread = thread;
    call->poll = poll;
    call->poll_interval = interval;
    call->index = poll->index;
    open_call(call);
    return true;
}

// After begin_poll() and another unsuccessful call: counts the call and ends it.
inline void end_poll(Call* call) {
    Thread* thread = call->thread;
    Poll* poll = call->poll;
    poll->node->count += 1;
    *poll->event_count += 1;
    call->poll_interval->node->count += 1;
    call->poll_interval->untimed += 1;
    thread->untimed_polls |= 1u << poll->number;
    thread->untimed_left -= 1;
    thread->last_poll = poll;
    thread->last = poll->index;
    close_call(call);
}

// After a successful or failed poll: stamps its end and makes a recorded call of it.
// estimate_poll() estimates its time once the received bytes are known; then the call is recorded
// as usual.
DWELL_COLD void stop_poll(Call* call);
DWELL_COLD void estimate_poll(Call* call, uint64_t bytes);

// Likewise for a test: records and ends the call. `indices` are the requests that the test
// completed when `done`, null: the first ones of `count`.
DWELL_COLD void finish_poll(Call* call, int result, bool done, const MPI_Request* requests,
                            const int* indices, int count, const MPI_Status* statuses);

// After a timed, unsuccessful poll, before leave(): the next polls may go untimed.
void remember_poll(Call* call, int slot, bool blocks, const Before* before, int requests);

// Discards untimed polls.
void forget_untimed(Thread* thread);
// Hooks for the end of the thread and for a reset of its counts.
void end_polls(Thread* thread, uint64_t now);
void reset_polls(Thread* thread, uint64_t since);

// Measures the cost of untimed polls on the records of calibrate(), with MPI_Send in place of a
// poll.
void calibrate_polls(const Frame* frame);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_POLLS_H_
