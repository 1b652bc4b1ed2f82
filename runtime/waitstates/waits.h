// Who waited for whom, how long, and why: the wait analysis (DESIGN 4). Wrappers say what they
// begin (stamp_send, announce_receive_entry), and settle a call, between stop() and its booking, by
// what its partners said: that sets the call's virtual duration.
//
// Why: the timelines of both ranks tell (timeline.h); to other hosts a rank tells the longest of
// its own computations, and the largest cause of its waits, since it told them last.
//
// All of this is the calling thread's own, but for what channels.h shares. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_WAITS_H_
#define DWELL_RUNTIME_WAITSTATES_WAITS_H_

#include "runtime/calls/records.h"
#include "runtime/hosts/partners.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/mpi/requests.h"
#include "runtime/waitstates/sampled_stream.h"

namespace dwell {

// kLateCollectiveReceiver: of what a giver gives in a collective (collective_roles.h), as
// kLateReceiver of a message.
enum class WaitKind : uint8_t { kLateSender, kLateReceiver, kCollective, kLateCollectiveReceiver };

// In MPI_Init: before the observed ranks meet, and after that. Without effect when the user wants
// none, or is alone on the node.
void open_waits(int world_size);
void finish_opening_waits();
// Of these the messages between ranks (waits_messages.cpp).
void open_message_waits();

// The thread's moment at the start of the call, for everybody who depends on it. After start();
// sets call->start_virtual.
EnterStamp make_enter_stamp(Call* call);
// The same of a call that may find what the thread's polls before have waited for.
EnterStamp make_stamp_while_polling(Call* call);

// Adds what made the thread late since `told`, for ranks of other hosts: `peer`, or for all of a
// collective's the own rank.
void add_delay(uint32_t peer, StampedUntil* sent_stamp, EnterStamp* stamp);
// All members of the communicator leave a call together, at the virtual time `end`.
void note_together(Thread* thread, uint64_t end, uint32_t comm);

// What a call waited for, gathered from all that it completed.
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
    // The call could not end before `peer` was there: said.at is when it came.
    void add_collective(WaitKind kind, uint32_t peer, const EnterStamp& stamp);
    // On the real clock the call waited until then at least.
    void add_until(uint64_t real) {
        until_ = later(until_, real);
        met_ = later(met_, real);
    }
    // A message from another host, which did not say when it was sent.
    void add_estimated(Channel* channel, uint32_t peer, uint64_t bytes);
    // A partner's time is not known; or it may be that of another message.
    void add_unknown() { unknown_ += 1; }
    void add_guessed() { guessed_ += 1; }
    // It is one of a series, and these came before it.
    void add_skipped(const SkippedMessages& skipped) { skipped_ = skipped; }
    // That the call waited for its partners is an estimate: the standard leaves open whether it
    // does, or they are on other hosts and did not say when they came.
    void add_open() { open_ = true; }
    // A partner is further on, so that it is not known when it came; if the call blocked, that
    // may have been for it.
    void add_later() { later_ += 1; }
    bool has_later() const { return later_ != 0; }
    // When the call began and ended.
    const DualTime& entered() const { return entered_; }
    uint64_t left() const { return left_; }
    Thread* thread() const { return thread_; }

    // Sets the call's virtual duration and books what it waited. `blocked`: it took longer than a
    // call that finds all its messages. False when some partner's time is not known. All that dwell
    // did since the call ended is measured here: most of it is fetching what partners wrote.
    bool classify(Call* call, bool blocked) {
        const bool known = classify_times(call, blocked);
        thread_->slow_overhead = call->slow_overhead + settled_ticks() - call->end_ticks - lost_;
        return known;
    }
    // After settle(): what it waited, and without what it made up for unseen ones.
    uint64_t sync() const { return sync_; }
    uint64_t own_sync() const { return own_sync_; }
    // Its senders' times say that all its messages were there when it began, however long it took:
    // with caches that have forgotten MPI, tens of microseconds.
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
    uint64_t transferred(const EnterStamp& stamp, uint64_t transfer_time) const;

    void classify_polls();
    bool classify_times(Call* call, bool blocked);
    bool estimate();

    Thread* thread_;
    DualTime entered_;
    uint64_t left_;     // but for dwell's own cost
    uint64_t ended_;    // with all of that: some may lie behind entered_, as holding a receive does
    uint64_t until_;    // the real time until which it certainly waited
    uint64_t arrival_;  // the latest, on the virtual clock
    Partner decisive_{};  // whose it is
    Partner latest_;      // of the meetings, on the virtual clock
    uint64_t met_ = 0;    // the real time of the last of them; 0: there are none
    Partner last_;        // of the messages, the one that was sent last: with last_channel_
    Channel* last_channel_ = nullptr;
    uint64_t last_bytes_;
    uint64_t sync_ = 0;
    uint64_t own_sync_ = 0;
    uint64_t lost_ = 0;  // without a processor, since the call ended
    SkippedMessages skipped_;
    uint64_t unblocked_ticks_ = 0;  // what its messages cost when they are there
    uint32_t messages_ = 0;
    uint32_t collectives_ = 0;
    uint32_t unknown_ = 0;
    uint32_t guessed_ = 0;
    uint32_t later_ = 0;
    Channel* estimated_channel_ = nullptr;  // of the last estimated message, and with it these
    uint32_t estimated_peer_;
    uint64_t estimated_bytes_;
    bool clock_error_ = false;
    bool open_ = false;
};

// A statement's waiting for `peer`, `ticks` long: its node's, the partner's and the causes', and a
// part of the timeline. Waiting::settle does this; collectives that are settled elsewhere as well.
void record_wait(Call* call, WaitKind kind, uint32_t peer, const EnterStamp& stamp, uint64_t ticks);

// The wrappers' part: messages between two ranks (waits_messages.cpp). What is asked here of a
// communicator or datatype before MPI has checked it is asked by its handle alone.

inline bool waits_are_open() { return g_channels != nullptr; }

// What a send said.
struct SendStamp {
    Announced announced;
    Channel* channel;  // null: nothing was said
    uint32_t peer;
    uint32_t comm;
    uint64_t bytes;  // UINT64_MAX: not known yet
    SendMode mode;
    bool dependence;  // it may wait for its receiver: asks when that came
};
SendStamp stamp_message(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type, int count,
                        SendMode mode);
// A send is about to begin. After start().
inline SendStamp stamp_send(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type,
                            int count, SendMode mode) {
    if (!waits_are_open() || dest < 0) return {};
    return stamp_message(call, dest, tag, comm, type, count, mode);
}
// It failed.
inline void withdraw_stamp(const SendStamp& sent_stamp) {
    if (sent_stamp.channel != nullptr) withdraw_from(sent_stamp.channel, sent_stamp.announced);
}

// A receive is about to wait, or is only started: senders that wait for it learn when it came.
// After start().
void announce_entry(Call* call, int source, int tag, MPI_Comm comm, bool waits);
inline void announce_receive_entry(Call* call, int source, int tag, MPI_Comm comm, bool waits) {
    if (waits_are_open() && source != MPI_PROC_NULL) announce_entry(call, source, tag, comm, waits);
}

// The same of the receive of a message that a matched probe found.
struct Matched {
    MPI_Comm comm;
    Request receive;  // as if it had been posted when the message was found
    bool has_post_order() const { return receive.post_order != 0; }
};
void announce_matched_entry(Call* call, const Matched& matched, bool waits);
void give_up_matched(const Matched& matched);

// The call lets MPI take messages of kept sends: tells of this rank's arrival, once a call. After
// start(), before MPI's own work; what it costs is left out of the call.
void log_progress(Call* call);
// Before another call in which MPI makes progress: what senders left to it is taken then. After
// start().
void log_late_progress(Call* call);
// In this call MPI makes no progress: for those whose messages lie there the rank is still away.
// After start().
void leave_progress(Call* call);
inline bool makes_no_progress(const Call* call) {
    return call->thread->no_progress_call == call->thread->calls;
}

// The call is complete: sets its virtual duration. True when all that it may have waited for is
// known; where not, its blocking is estimated from its duration. `blocked`, what that duration
// seems to say, becomes false when the senders' times say that all messages were there.
bool classify_send(Call* call, const SendStamp& sent_stamp, uint64_t bytes, bool blocked);
bool classify_receive(Call* call, MPI_Comm comm, int source, const MPI_Status* status,
                      bool* blocked);
bool classify_send_receive(Call* call, const SendStamp& sent_stamp, uint64_t sent, MPI_Comm comm,
                           int source, const MPI_Status* status, bool* blocked);
// One that failed.
void classify_failed_receive(Call* call, int error, MPI_Comm comm, int source,
                             const MPI_Status* status);
// The receive of a matched message.
bool classify_matched(Call* call, const Matched& matched, const MPI_Status* status, bool* blocked);
// A probe that waits: its message is left where it is.
bool classify_probe(Call* call, MPI_Comm comm, const MPI_Status* status, bool* blocked);

// What was said of a message that was received, on this node.
struct MatchedStamp {
    Channel* channel;
    uint32_t peer;
    bool known;
    bool guessed;
    EnterStamp stamp;
};
MatchedStamp match_stamp(Call* call, MPI_Comm comm, const MPI_Status* status);
void add_matched_stamp(Waiting* waiting, const MatchedStamp& matched_stamp, uint64_t bytes);

// Requests. A receive request's turn among the receives of its messages:
void post_request(Call* call, Request* content, MPI_Comm comm, int source, int tag);
// A persistent one's, and a persistent send's message. Before MPI_Start.
void stamp_start(Call* call, int count, const MPI_Request* requests);
void withdraw_start(Call* call, int count, const MPI_Request* requests);
// A wait for it begins.
void announce_request_entry(Call* call, const Request& request);
// Whether a wait for some of so many requests is to look at each of them: a sender may be waiting
// for one, or to see that takes as long.
bool may_be_asked(int requests);
// It is complete, perhaps with an error.
void add_request_to(Waiting* waiting, const Request& request, uint32_t peer,
                    const MPI_Status* status);
// It never will be.
void give_up_request(const Request& request);

// What a receive that failed did with its message: one that was too long was taken, as far as there
// was room (MPI-3.1 3.2.4); with arguments that MPI refuses nothing was done.
enum class AfterError { kTaken, kUntouched, kUnknown };
AfterError after_error(int error);
// It is not known whether a receive took a message, or of whom.
void mark_receives_unsynchronised();
// The program frees a request. Before MPI_Request_free.
void free_request(Call* call, const MPI_Request* request);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_WAITS_H_
