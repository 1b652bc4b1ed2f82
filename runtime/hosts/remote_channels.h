// The times of messages between hosts (DESIGN 4, "exchange"): which message a time that arrived is
// of. piggyback.h carries them.
//
// Not every message has its time told. Both sides count the messages of each communicator and tag,
// and a time says of the how manyth of them it is: so what is missing, late or lost never makes the
// time of one message be taken for that of another. Receives take their number when they are
// posted, if they can, as MPI matches them then.
//
// Where a side may have missed messages (a pause, a failed send, no more room for records) it falls
// silent towards that partner: what is not counted by both is not known.
//
// The caller keeps two threads from using the same one. Not signal-safe.
#ifndef DWELL_RUNTIME_HOSTS_REMOTE_CHANNELS_H_
#define DWELL_RUNTIME_HOSTS_REMOTE_CHANNELS_H_

#include "runtime/exchange/channels.h"

namespace dwell {

// Messages of one communicator and tag. Those of the last kSharedKinds have several: then numbers
// tell the messages apart only while they are received in the order that they were sent in.
struct RemoteKind {
    uint32_t comm;
    int32_t tag;
    uint32_t sent;
    uint32_t received;  // posted included
    uint32_t posted;    // of these, not complete
};
constexpr uint32_t kExactKinds = 24;
constexpr uint32_t kSharedKinds = 8;
constexpr uint32_t kRemoteEntries = 16;

// In ChannelEntry::order, below the number.
constexpr uint32_t kSharedNumber = 1;
constexpr int kNumberShift = 1;

// When the receiver of a message came, whose letter had asked for it by this number.
struct RemoteAnswer {
    uint32_t question;  // 0: none
    EnterStamp stamp;
};
constexpr uint32_t kRemoteAnswers = 4;

struct RemoteChannel {
    uint32_t place;  // among the observed ranks
    bool silent;
    uint32_t kind_count;
    uint32_t last_kind;  // used last

    // Letters (piggyback.h), this process's clock.
    uint64_t next_piggyback;  // none before that
    uint64_t next_stamped;    // messages sent before that have none
    uint32_t piggybacks_sent;
    uint32_t piggybacks_confirmed;  // of these the partner has said that they arrived
    uint32_t piggybacks_received;
    uint32_t piggybacks_answered;  // of these the partner has heard
    uint32_t fruitless;            // looks for a letter in a row that found none

    // What it told last, and at least kRateTicks before that: how fast its own intrusion grows.
    // Between two calls that follow each other it grows by what telling costs, and says nothing.
    EnterStamp last;
    EnterStamp before;
    EnterStamp between;                         // will be `before`
    bool loss_is_told;                          // by a note, which says so itself:
    uint8_t loss;                               // of 256 parts of its time
    uint32_t usual_transfer[kTransferClasses];  // from send to receive, by size: moving average
    RemoteKind kinds[kExactKinds + kSharedKinds];
    ChannelEntry entries[kRemoteEntries];  // number 0: free
    uint32_t questions;                    // asked so far
    bool is_asked;                         // the partner has asked some: there may be another
    RemoteAnswer answers[kRemoteAnswers];
};

// In letters: the question that one asks or answers, 0 for none.
inline uint32_t question_of(const ChannelEntry& piggyback) { return piggyback.answer.path; }
inline uint32_t next_question(RemoteChannel* remote) {
    if (++remote->questions == 0) remote->questions = 1;
    return remote->questions;
}
inline void set_question(ChannelEntry* piggyback, uint32_t question) {
    piggyback->answer.path = question;
}

// A message is about to be sent: what its time has to say of it goes into the entry. False: nothing
// can be said.
bool count_sent(RemoteChannel* remote, uint32_t comm, int tag, ChannelEntry* entry);

// A time arrived, in this process's ticks.
void put_entry(RemoteChannel* remote, const ChannelEntry& entry);

// What the partner said last, of whatever.
constexpr uint64_t kRateTicks = 1 << 25;  // some 10 ms
inline void note_said(RemoteChannel* remote, const EnterStamp& stamp) {
    if (remote->last.at.real == 0) remote->before = remote->between = stamp;
    remote->last = stamp;
    if (beyond(stamp.at.real, remote->between.at.real) < kRateTicks) return;
    remote->before = remote->between;
    remote->between = stamp;
}

// A receive is posted; its number as a ticket, 0 when that is not known yet.
uint32_t post_remote(RemoteChannel* remote, uint32_t comm, int tag);
// A receive was cancelled or freed: whether it gets a message is not known. Nor which partner's,
// where it could get any.
inline void unpost_remote(RemoteChannel* remote) { remote->silent = true; }
extern bool g_remote_uncounted __attribute__((visibility("hidden")));

// A receive is complete: its number, for take_remote; 0 when it cannot be told.
struct RemoteNumber {
    uint32_t order;  // as in an entry
    bool guessed;
};
RemoteNumber count_received(RemoteChannel* remote, uint32_t comm, int tag, uint32_t post_order);
// The number of the message that a probe found.
RemoteNumber next_to_receive(RemoteChannel* remote, uint32_t comm, int tag);
// The time of that message, which take_remote then forgets; false: it is not here.
bool find_remote(RemoteChannel* remote, uint32_t comm, int tag, const RemoteNumber& number,
                 EnterStamp* stamp);
bool take_remote(RemoteChannel* remote, uint32_t comm, int tag, const RemoteNumber& number,
                 EnterStamp* stamp);

// What the sender of a message asks that the next receive gets, or the one with this ticket: the
// question, which is then answered; 0 for none.
uint32_t take_question(RemoteChannel* remote, uint32_t comm, int tag, uint32_t post_order);
void put_answer(RemoteChannel* remote, uint32_t question, const EnterStamp& stamp);
bool find_answer(const RemoteChannel& remote, uint32_t question, EnterStamp* stamp);

// A receive that blocked got its message `ticks` after it was sent.
inline void update_transfer(RemoteChannel* remote, int size_class, uint32_t ticks) {
    uint32_t* usual = &remote->usual_transfer[size_class];
    *usual = *usual == 0 ? ticks : *usual - *usual / 8 + ticks / 8;
}

// What the partner has lost to being observed until the real time `at`, as far as the last two
// times that it told say; false without any.
bool lost_by_partner(const RemoteChannel& remote, uint64_t at, uint64_t* ticks);

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_REMOTE_CHANNELS_H_
