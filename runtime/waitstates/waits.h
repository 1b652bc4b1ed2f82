// The wait analysis: who waited for whom, how long, and why (DESIGN 4). Wrappers publish stamps on
// entry (stamp_send, announce_receive_entry). Between stop() and the recording of a call they
// classify it by its partners' stamps, which sets its virtual duration.
//
// The cause comes from the timelines of both ranks (timeline.h). A rank on another host sends its
// longest computation and the largest cause of its waits since its last stamp.
//
// The calling thread's own, except what channels.h shares. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_WAITS_H_
#define DWELL_RUNTIME_WAITSTATES_WAITS_H_

#include "runtime/calls/records.h"
#include "runtime/hosts/partners.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/mpi/requests.h"
#include "runtime/waitstates/sampled_stream.h"

namespace dwell {

// kLateCollectiveReceiver: a contributor waits for a consumer in a collective (collective_roles.h),
// like kLateReceiver in a message.
enum class WaitKind : uint8_t { kLateSender, kLateReceiver, kCollective, kLateCollectiveReceiver };

// In MPI_Init, before and after the first synchronisation of the profiled ranks. Without effect
// when the option is off or the rank is alone on its host.
void open_waits(int world_size);
void finish_opening_waits();
// The same for messages between ranks (waits_messages.cpp).
void open_message_waits();

// The thread's stamp at the start of the call. After start(); sets call->start_virtual.
EnterStamp make_enter_stamp(Call* call);
// The same for a call that may complete what earlier polls of the thread waited for.
EnterStamp make_stamp_while_polling(Call* call);

// Adds to the stamp what has delayed the thread since `stamped_until`, for `peer` on another host
// (the own rank: for all members of a collective).
void add_delay(uint32_t peer, StampedUntil* stamped_until, EnterStamp* stamp);
// All members of the communicator leave a call together, at the virtual time `end`.
void note_together(Thread* thread, uint64_t end, uint32_t comm);

// The waiting of one call, gathered from all that it completed.
class Waiting {
  public:
    // After stop().
    explicit Waiting(Call* call) : thread_(call->thread) {
        stamp_virtual(call);
        entered_ = {call->start_ticks + call->pre_overhead, call->start_virtual};
        left_ = entered_.real + call->ticks;
        ended_ = call->end_ticks;
        until_ = entered_.real;
        arrival_ = call->start_virtual;
    }
    // A message of `bytes` from `peer` was received.
    void add_message(Channel* channel, uint32_t peer, uint64_t bytes, const EnterStamp& stamp);
    // The call could not end before `peer` entered at stamp.at.
    void add_collective(WaitKind kind, uint32_t peer, const EnterStamp& stamp);
    // The call waited at least until the real time `real`.
    void add_until(uint64_t real) {
        until_ = later(until_, real);
        latest_real_ = later(latest_real_, real);
    }
    // A message from another host without a stamp.
    void add_estimated(Channel* channel, uint32_t peer, uint64_t bytes);
    // A partner's stamp is not known; or it may be of another message.
    void add_unknown() { unknown_ += 1; }
    void add_guessed() { guessed_ += 1; }
    // Messages skipped before this one, in a sampled stream.
    void add_skipped(const SkippedMessages& skipped) { skipped_ = skipped; }
    // The waiting is an estimate: the standard does not require the call to wait, or partners on
    // other hosts sent no stamps.
    void add_open() { open_ = true; }
    // A partner's slot already holds a later instance, so its enter time is lost; the call may have
    // waited for it.
    void add_later() { later_ += 1; }
    bool has_later() const { return later_ != 0; }
    // When the call began and ended.
    const DualTime& entered() const { return entered_; }
    uint64_t left() const { return left_; }
    Thread* thread() const { return thread_; }

    // Sets the call's virtual duration and records its waiting. `blocked`: it took longer than a
    // call that finds all its messages. False when some partner's time is not known. Everything
    // since the end of the call is measured as overhead, mostly cache misses on partners' stamps.
    bool classify(Call* call, bool blocked) {
        const bool known = classify_times(call, blocked);
        thread_->slow_overhead = call->slow_overhead + settled_ticks() - call->end_ticks - lost_;
        return known;
    }
    // After classify(): the waiting, and the waiting without what it made up for skipped messages.
    uint64_t sync() const { return sync_; }
    uint64_t own_sync() const { return own_sync_; }
    // By the senders' stamps all messages were there when the call began, however long it took:
    // with cold caches MPI takes tens of microseconds.
    bool found_all() const {
        return messages_ != 0 && collectives_ + unknown_ + guessed_ == 0 &&
               estimated_channel_ == nullptr && until_ == entered_.real;
    }

  private:
    struct Partner {
        EnterStamp stamp;
        uint32_t peer;
        WaitKind kind;
    };
    void consider(uint64_t arrival, const Partner& partner);
    void check_clock(WaitKind kind, const EnterStamp& stamp);

    void classify_polls();
    bool classify_times(Call* call, bool blocked);
    bool estimate();

    Thread* thread_;
    DualTime entered_;
    uint64_t left_;       // without dwell's own cost
    uint64_t ended_;      // including that cost, some of which may follow entered_, as deferring a
                          // receive does
    uint64_t until_;      // real time until which it certainly waited
    uint64_t arrival_;    // latest arrival, virtual time
    Partner decisive_{};  // partner of arrival_
    Partner latest_;      // the last among partners that are no messages, virtual time
    uint64_t latest_real_ = 0;  // real time of the last of these; 0: none
    Partner last_;              // the message sent last: with last_channel_
    Channel* last_channel_ = nullptr;
    uint64_t last_bytes_;
    uint64_t sync_ = 0;
    uint64_t own_sync_ = 0;
    uint64_t lost_ = 0;  // without a processor, since the call ended
    SkippedMessages skipped_;
    uint64_t unblocked_ticks_ = 0;  // cost of its messages if they are already there
    uint32_t messages_ = 0;
    uint32_t collectives_ = 0;
    uint32_t unknown_ = 0;
    uint32_t guessed_ = 0;
    uint32_t later_ = 0;
    Channel* estimated_channel_ = nullptr;  // of the last estimated message, as the next two
    uint32_t estimated_peer_;
    uint64_t estimated_bytes_;
    bool clock_error_ = false;
    bool open_ = false;
};

// Records a wait of a statement for `peer`: in its node, for the partner and the causes, and in the
// timeline. Called by Waiting::classify, and for collectives that are classified elsewhere.
void record_wait(Call* call, WaitKind kind, uint32_t peer, const EnterStamp& stamp, uint64_t ticks);

// For the wrappers: messages between two ranks (waits_messages.cpp). Before MPI has checked a
// communicator or datatype, only its handle is used.

inline bool waits_are_open() { return g_channels != nullptr; }

// The stamp of a send.
struct SendStamp {
    Announced announced;
    Channel* channel;  // null: no stamp was written
    uint32_t peer;
    uint32_t comm;
    uint64_t bytes;  // UINT64_MAX: not known yet
    SendMode mode;
    bool may_wait;  // the send may wait for its receiver and asks for its enter time
};
SendStamp stamp_message(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type, int count,
                        SendMode mode);
// Before a send, after start().
inline SendStamp stamp_send(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type,
                            int count, SendMode mode) {
    if (!waits_are_open() || dest < 0) return {};
    return stamp_message(call, dest, tag, comm, type, count, mode);
}
// The send failed.
inline void withdraw_stamp(const SendStamp& sent_stamp) {
    if (sent_stamp.channel != nullptr) withdraw_from(sent_stamp.channel, sent_stamp.announced);
}

// A receive is about to wait (or is only started): senders that may wait for it get its enter time.
// After start().
void announce_entry(Call* call, int source, int tag, MPI_Comm comm, bool waits);
inline void announce_receive_entry(Call* call, int source, int tag, MPI_Comm comm, bool waits) {
    if (waits_are_open() && source != MPI_PROC_NULL) announce_entry(call, source, tag, comm, waits);
}

// The same for the receive of a message that a matched probe found.
struct Matched {
    MPI_Comm comm;
    Request receive;  // as if posted when the message was found
    bool has_post_order() const { return receive.post_order != 0; }
};
void announce_matched_entry(Call* call, const Matched& matched, bool waits);
void give_up_matched(const Matched& matched);

// Logs progress, once a call: in this call MPI copies messages of single-copy sends. After start(),
// before MPI's own work; the cost is excluded from the call.
void log_progress(Call* call);
// The same for other calls in which MPI makes progress, if the rank has made none for long. After
// start().
void log_late_progress(Call* call);
// MPI makes no progress in this call: single-copy senders still wait for this rank. After start().
void leave_progress(Call* call);
inline bool makes_no_progress(const Call* call) {
    return call->thread->no_progress_call == call->thread->calls;
}

// At completion: sets the call's virtual duration. True when everything that the call may have
// waited for is known; otherwise its waiting is estimated from the duration. `blocked`, judged by
// the duration, becomes false when the stamps show that all messages were there.
bool classify_send(Call* call, const SendStamp& sent_stamp, uint64_t bytes, bool blocked);
bool classify_receive(Call* call, MPI_Comm comm, int source, const MPI_Status* status,
                      bool* blocked);
bool classify_send_receive(Call* call, const SendStamp& sent_stamp, uint64_t sent, MPI_Comm comm,
                           int source, const MPI_Status* status, bool* blocked);
// A receive that failed.
void classify_failed_receive(Call* call, int error, MPI_Comm comm, int source,
                             const MPI_Status* status);
// The receive of a matched message.
bool classify_matched(Call* call, const Matched& matched, const MPI_Status* status, bool* blocked);
// A blocking probe: its message stays where it is.
bool classify_probe(Call* call, MPI_Comm comm, const MPI_Status* status, bool* blocked);

// The stamp of a received message, from a rank of the same host.
struct MatchedStamp {
    Channel* channel;
    uint32_t peer;
    bool known;
    bool guessed;
    EnterStamp stamp;
};
MatchedStamp match_stamp(Call* call, MPI_Comm comm, const MPI_Status* status);
void add_matched_stamp(Waiting* waiting, const MatchedStamp& matched_stamp, uint64_t bytes);

// Requests. Takes the post order of a receive request:
void post_request(Call* call, Request* content, MPI_Comm comm, int source, int tag);
// For persistent requests, before MPI_Start: the post order of receives, the stamps of sends.
void stamp_start(Call* call, int count, const MPI_Request* requests);
void withdraw_start(Call* call, int count, const MPI_Request* requests);
// A wait for the request begins.
void announce_request_entry(Call* call, const Request& request);
// Whether a wait for some of so many requests should announce each: a sender may be waiting for
// one, or finding that out costs as much.
bool may_be_asked(int requests);
// The request is complete, perhaps with an error.
void add_request_to(Waiting* waiting, const Request& request, uint32_t peer,
                    const MPI_Status* status);
// The request will never complete.
void give_up_request(const Request& request);

// What a failed receive did with its message. A message that was too long was taken, as far as
// there was room (MPI-3.1 3.2.4); with arguments that MPI rejects nothing was done.
enum class AfterError { kTaken, kUntouched, kUnknown };
AfterError after_error(int error);
// It is not known whether a receive took a message, or whose.
void mark_receives_unsynchronised();
// Before MPI_Request_free.
void free_request(Call* call, const MPI_Request* request);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_WAITS_H_
