// Who waited for whom, how long, and why: the wait analysis (DESIGN 4). Wrappers say what they
// begin (tell_send, meet_senders), and settle a call, between stop() and its booking, by what its
// partners said: that sets the call's virtual duration.
//
// Why: a thread remembers the computation that took most of its time since it last waited itself,
// or for a partner since it last told that one, and by how much it is late because of its own
// waiting for one cause (its debt). Both go with its messages, and with what it tells those whose
// sends wait for it, as does how long it has computed at most since it last waited. Who waits for
// it books the waiting as far as the debt reaches under the cause of that, and as far as it can
// have computed under that computation; of the rest the cause is not known. Each partner hears of
// each waiting once: after that the partner is late as well, and what it waits then is the sender's
// own doing. What is told so soon after another thing that it is part of it (begin_round), and an
// answer that takes the place of another one, says the same once more: who waits for both hears the
// last of them.
//
// Of arrivals (arrivals.h) it is the hearer that knows what is new to it: what the rank waited
// since that told it anything, by message, answer or arrival, and not for the hearer itself. What
// it has read there it tells the rank, which would tell it again.
//
// A debt makes its hearer wait only as far as the hearer is not as late itself for the same reason.
// * Who is the cause is: its computation held up itself first. Had it taken no time, hearer and
//   partner would both have been there earlier by as much, and the hearer would have waited as
//   long.
// * So is who waited for the same cause since it heard of the partner last. Where a rank made two
//   others wait 3 and 2 ms, and the first of these makes the second one wait 3 ms then, that one
//   would have waited 2 ms without the cause: 1 ms is passed on, 2 ms are the first one's own
//   doing.
// * Whom it waited for, and who heard of the same debt at the same time, is: they are not told
// again.
//   After a broadcast these are the members, after what waits for all members all of them, whatever
//   made them late, after a reduction or gather the root alone.
//
// All of this is the calling thread's own, but for what channels.h shares. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITS_H_
#define DWELL_RUNTIME_WAITS_H_

#include "runtime/channels.h"
#include "runtime/comm_names.h"
#include "runtime/records.h"
#include "runtime/requests.h"
#include "runtime/series.h"

namespace dwell {

// kLateTaker: of what a giver gives in a collective (roles.h), as kLateReceiver of a message.
enum class WaitKind : uint8_t { kLateSender, kLateReceiver, kCollective, kLateTaker };

// In MPI_Init: before the observed ranks meet, and after that. Without effect when the user wants
// none, or is alone on the node.
void open_waits(int world_size);
void finish_opening_waits();
// Of these the messages between ranks (waits_messages.cpp).
void open_message_waits();

// Somebody is told of the thread's work again: from now on only what it did since the last time
// counts. `told` is the round that they heard of last. After start(), before moment_of().
void begin_round(Call* call, uint32_t* told);

// The thread's moment at the start of the call, for everybody who depends on it, without its debt.
// After start(); sets call->start_virtual.
Moment moment_of(Call* call);
// The same of a call that may find what the thread's polls before have waited for.
Moment moment_while_polling(Call* call);

// How late a thread is because of its own waiting for one cause.
struct Debt {
    uint32_t cause_peer;
    uint32_t cause_path;
    uint64_t ticks;
};
// As far as it is new to those who have heard of `told`.
Debt debt_since(const Blame& blame, uint64_t told);
// Adds the debt as far as they have not heard of it: `told` is what they have.
void add_debt(Thread* thread, uint64_t* told, Moment* said);
// The same in messages and answers to one partner. How much of the thread's waiting, in ticks, that
// had heard of before this round; what is beyond `known`, or beyond that; after start().
uint64_t debt_known(const Call* call, const Channel* channel);
void add_debt_beyond(uint64_t known, Call* call, Channel* channel, Moment* said);
void add_debt_to(Call* call, Channel* channel, Moment* said);
// The same without telling it: who may not look hears of it later.
void show_debt(const Debt& debt, Moment* said);

// What a partner said is left with what the hearer is not late by itself, for the same reason.
// Returns the rest.
uint64_t leave_out_common(const Debt& own, Moment* said);

// Who else is as late after a collective that waited: `told` is what they have heard of this
// thread's waiting. All of them, whatever made them late; or those who heard the same debt.
// `heard`: how much this thread had waited when it heard of the one that it waited for.
struct Level {
    uint64_t* told = nullptr;
    bool all = false;
    uint64_t* heard = nullptr;
};

// What a call waited for, gathered from all that it completed.
class Waiting {
  public:
    // After stop().
    explicit Waiting(Call* call) : thread_(call->thread) {
        stamp_virtual(call);
        entered_ = {call->start_ticks + call->before_ticks, call->start_virtual};
        left_ = entered_.real + call->ticks;
        ended_ = call->end_ticks;
        until_ = entered_.real;
        arrival_ = call->start_virtual;
    }
    // A message of `bytes` from `peer` was received.
    void add_message(Channel* channel, uint32_t peer, uint64_t bytes, const Moment& said);
    // The call could not end before `peer` was there: said.at is when it came.
    void add_meeting(WaitKind kind, uint32_t peer, const Moment& said, const Level& level = {});
    // The same of a late receiver, by what it tells everybody.
    void add_arrival(Channel* channel, uint32_t peer, const Came& came);
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
    void add_unseen(const Unseen& unseen) { unseen_ = unseen; }
    // That the call waited for its partners is an estimate: the standard leaves open whether it
    // does, or they are on other hosts and did not say when they came.
    void add_open() { open_ = true; }
    // A partner is further on, so that it is not known when it came; if the call blocked, that
    // may have been for it.
    void add_later() { later_ += 1; }
    bool has_later() const { return later_ != 0; }
    // When the call began and ended.
    const Instant& entered() const { return entered_; }
    uint64_t left() const { return left_; }
    Thread* thread() const { return thread_; }

    // Sets the call's virtual duration and books what it waited. `blocked`: it took longer than a
    // call that finds all its messages. False when some partner's time is not known. All that dwell
    // did since the call ended is measured here: most of it is fetching what partners wrote.
    bool settle(Call* call, bool blocked) {
        const bool known = settle_times(call, blocked);
        thread_->slow_ticks = call->slow_ticks + settled_ticks() - call->end_ticks;
        return known;
    }
    // After settle(): what it waited, and without what it made up for unseen ones.
    uint64_t sync() const { return sync_; }
    uint64_t own_sync() const { return own_sync_; }
    // Its senders' times say that all its messages were there when it began, however long it took:
    // with caches that have forgotten MPI, tens of microseconds.
    bool found_all() const {
        return messages_ != 0 && meetings_ + unknown_ + guessed_ == 0 &&
               estimated_channel_ == nullptr && until_ == entered_.real;
    }

  private:
    struct Partner {
        Moment said;
        uint32_t peer;
        WaitKind kind;
        Level level;
    };
    void consider(uint64_t arrival, const Partner& partner);
    void check_clock(WaitKind kind, const Moment& said);
    void begin_hearing(Channel* channel) const;
    Moment heard_from(Channel* channel, const Moment& said) const;
    Debt news_in(Channel* channel, const Came& came) const;
    uint64_t travelled(const Moment& said, uint64_t travel) const;

    void settle_polls(uint64_t now);
    bool settle_times(Call* call, bool blocked);
    bool estimate();

    Thread* thread_;
    Instant entered_;
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
    Unseen unseen_;
    uint64_t found_ticks_ = 0;  // what its messages cost when they are there
    uint32_t messages_ = 0;
    uint32_t meetings_ = 0;
    uint32_t unknown_ = 0;
    uint32_t guessed_ = 0;
    uint32_t later_ = 0;
    Channel* estimated_channel_ = nullptr;  // of the last estimated message, and with it these
    uint32_t estimated_peer_;
    uint64_t estimated_bytes_;
    bool clock_error_ = false;
    bool open_ = false;
};

// A statement's waiting for `peer`, `ticks` long: its node's, the partner's, the cause's, and the
// thread's own debt. Waiting::settle does this; collectives that are settled elsewhere as well.
void book_wait(Call* call, WaitKind kind, uint32_t peer, const Moment& said, uint64_t ticks,
               const Level& level = {});

// All ranks left a collective of the whole world together: nobody is late any more.
void forget_debt(Thread* thread, uint64_t now);

// The wrappers' part: messages between two ranks (waits_messages.cpp). What is asked here of a
// communicator or datatype before MPI has checked it is asked by its handle alone.

inline bool waits_are_open() { return g_channels != nullptr; }

// What a send said.
struct Told {
    Announced announced;
    Channel* channel;  // null: nothing was said
    uint32_t peer;
    uint32_t comm;
    uint64_t bytes;  // UINT64_MAX: not known yet
    SendMode mode;
    bool meets;  // it may wait for its receiver: asks when that came
};
Told tell(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type, int count,
          SendMode mode);
// A send is about to begin. After start().
inline Told tell_send(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type, int count,
                      SendMode mode) {
    if (!waits_are_open() || dest < 0) return {};
    return tell(call, dest, tag, comm, type, count, mode);
}
// It failed.
inline void untell(const Told& told) {
    if (told.channel != nullptr) withdraw(told.channel, told.announced);
}

// A receive is about to wait, or is only started: senders that wait for it learn when it came.
// After start().
void meet(Call* call, int source, int tag, MPI_Comm comm, bool waits);
inline void meet_senders(Call* call, int source, int tag, MPI_Comm comm, bool waits) {
    if (waits_are_open() && source != MPI_PROC_NULL) meet(call, source, tag, comm, waits);
}

// The same of the receive of a message that a matched probe found.
struct Matched {
    MPI_Comm comm;
    Request receive;  // as if it had been posted when the message was found
    bool has_turn() const { return receive.ticket != 0; }
};
void meet_matched(Call* call, const Matched& matched, bool waits);
void give_up_matched(const Matched& matched);

// The call lets MPI take messages of kept sends: tells of this rank's arrival, once a call. After
// start(), before MPI's own work; what it costs is left out of the call.
void say_arrival(Call* call);
// Before another call in which MPI makes progress: what senders left to it is taken then. After
// start().
void say_late_arrival(Call* call);
// In this call MPI makes no progress: for those whose messages lie there the rank is still away.
// After start().
void stay_away(Call* call);
inline bool stays_away(const Call* call) { return call->thread->away_call == call->thread->calls; }

// The call is complete: sets its virtual duration. True when all that it may have waited for is
// known; where not, its blocking is estimated from its duration. `blocked`, what that duration
// seems to say, becomes false when the senders' times say that all messages were there.
bool settle_send(Call* call, const Told& told, uint64_t bytes, bool blocked);
bool settle_receive(Call* call, MPI_Comm comm, int source, const MPI_Status* status, bool* blocked);
bool settle_send_receive(Call* call, const Told& told, uint64_t sent, MPI_Comm comm, int source,
                         const MPI_Status* status, bool* blocked);
// One that failed.
void settle_failed_receive(Call* call, int error, MPI_Comm comm, int source,
                           const MPI_Status* status);
// The receive of a matched message.
bool settle_matched(Call* call, const Matched& matched, const MPI_Status* status, bool* blocked);
// A probe that waits: its message is left where it is.
bool settle_probe(Call* call, MPI_Comm comm, const MPI_Status* status, bool* blocked);

// What was said of a message that was received, on this node.
struct Heard {
    Channel* channel;
    uint32_t peer;
    bool known;
    bool guessed;
    Moment said;
};
Heard hear(Call* call, MPI_Comm comm, const MPI_Status* status);
void add_heard(Waiting* waiting, const Heard& heard, uint64_t bytes);

// Requests. A receive request's turn among the receives of its messages:
void post_request(Call* call, Request* content, MPI_Comm comm, int source, int tag);
// A persistent one's, and a persistent send's message. Before MPI_Start.
void tell_start(Call* call, int count, const MPI_Request* requests);
void untell_start(Call* call, int count, const MPI_Request* requests);
// A wait for it begins.
void meet_request(Call* call, const Request& request);
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
void doubt_receives();
// The program frees a request. Before MPI_Request_free.
void free_request(Call* call, const MPI_Request* request);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITS_H_
