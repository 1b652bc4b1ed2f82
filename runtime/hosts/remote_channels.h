// Matches the time stamps of messages between hosts to the messages (DESIGN 4, "exchange").
// piggyback.h carries the stamps.
//
// Not every message has a stamp. Both sides count the messages of each communicator and tag, and a
// stamp holds the number of its message; so a missing, late or lost stamp is never taken for that
// of another message. Receives take their number when they are posted, if possible, because MPI
// matches them then.
//
// A side that may have missed messages (a pause, a failed send, no more room for records) stops
// stamping and matching for that partner, because both counts must agree.
//
// The caller keeps two threads from using the same channel. Not signal-safe.
#ifndef DWELL_RUNTIME_HOSTS_REMOTE_CHANNELS_H_
#define DWELL_RUNTIME_HOSTS_REMOTE_CHANNELS_H_

#include "runtime/exchange/channels.h"

namespace dwell {

// Messages of one communicator and tag. Each of the last kSharedKinds counts several kinds: its
// numbers are right only while messages are received in the order in which they were sent.
struct RemoteKind {
    uint32_t comm;
    int32_t tag;
    uint32_t sent;
    uint32_t received;  // including posted ones
    uint32_t posted;    // of these, not complete
};
constexpr uint32_t kExactKinds = 24;
constexpr uint32_t kSharedKinds = 8;
constexpr uint32_t kRemoteEntries = 16;

// In ChannelEntry::order, below the number.
constexpr uint32_t kSharedNumber = 1;
constexpr int kNumberShift = 1;

// The receiver's enter stamp, which the sender's piggyback message asked for under this number.
struct RemoteAnswer {
    uint32_t question;  // 0: none
    EnterStamp stamp;
};
constexpr uint32_t kRemoteAnswers = 4;

struct RemoteChannel {
    uint32_t place;  // index among the profiled ranks
    bool silent;
    uint32_t kind_count;
    uint32_t last_kind;  // index of the kind used last

    // Piggyback messages (piggyback.h), times by this process's clock.
    uint64_t next_piggyback;  // none is sent before
    uint64_t next_stamped;    // messages sent before have none
    uint32_t piggybacks_sent;
    uint32_t piggybacks_confirmed;  // of these, confirmed by the partner
    uint32_t piggybacks_received;
    uint32_t piggybacks_answered;  // of these, confirmed to the partner
    uint32_t fruitless;            // consecutive looks that found none

    // The partner's latest stamp, and one at least kRateTicks older: they show how fast the
    // partner's intrusion grows. Between two close calls it grows by the cost of stamping alone,
    // which would mislead.
    EnterStamp last;
    EnterStamp before;
    EnterStamp between;                         // the next `before`
    bool loss_is_known;                         // by a notice, which holds the rate itself
    uint8_t loss;                               // time lost by the partner, of 256 parts
    uint32_t usual_transfer[kTransferClasses];  // from send to receive, by size: moving average
    RemoteKind kinds[kExactKinds + kSharedKinds];
    ChannelEntry entries[kRemoteEntries];  // number 0: free
    uint32_t questions;                    // number of questions so far
    bool is_asked;                         // the partner has asked before, and may ask again
    RemoteAnswer answers[kRemoteAnswers];
};

// In a piggyback message: the question that it asks or answers, 0 for none.
inline uint32_t question_of(const ChannelEntry& piggyback) { return piggyback.answer.path; }
inline uint32_t next_question(RemoteChannel* remote) {
    if (++remote->questions == 0) remote->questions = 1;
    return remote->questions;
}
inline void set_question(ChannelEntry* piggyback, uint32_t question) {
    piggyback->answer.path = question;
}

// Counts a message that is about to be sent and fills in the entry. False: it cannot be stamped.
bool count_sent(RemoteChannel* remote, uint32_t comm, int tag, ChannelEntry* entry);

// Stores an entry that arrived, in this process's ticks.
void put_entry(RemoteChannel* remote, const ChannelEntry& entry);

// Keeps the partner's latest stamp, of any message or notice.
constexpr uint64_t kRateTicks = 1 << 25;  // some 10 ms
inline void note_stamp(RemoteChannel* remote, const EnterStamp& stamp) {
    if (remote->last.at.real == 0) remote->before = remote->between = stamp;
    remote->last = stamp;
    if (beyond(stamp.at.real, remote->between.at.real) < kRateTicks) return;
    remote->before = remote->between;
    remote->between = stamp;
}

// Counts a posted receive. Returns its number as post order, 0 when that is not known yet.
uint32_t post_remote(RemoteChannel* remote, uint32_t comm, int tag);
// A receive was cancelled or freed: whether it gets a message is not known. g_remote_uncounted: the
// same of a receive from any source, for all partners.
inline void unpost_remote(RemoteChannel* remote) { remote->silent = true; }
extern bool g_remote_uncounted __attribute__((visibility("hidden")));

// The message number of a completed receive, for take_remote(); order 0: not known.
struct RemoteNumber {
    uint32_t order;  // as in ChannelEntry
    bool guessed;
};
RemoteNumber count_received(RemoteChannel* remote, uint32_t comm, int tag, uint32_t post_order);
// The message number for a probe.
RemoteNumber next_to_receive(RemoteChannel* remote, uint32_t comm, int tag);
// The stamp of that message; take_remote() also removes it. False: it has not arrived.
bool find_remote(RemoteChannel* remote, uint32_t comm, int tag, const RemoteNumber& number,
                 EnterStamp* stamp);
bool take_remote(RemoteChannel* remote, uint32_t comm, int tag, const RemoteNumber& number,
                 EnterStamp* stamp);

// The question of the sender of the message that this receive (or the next one, post_order 0) will
// get, once; 0: none.
uint32_t take_question(RemoteChannel* remote, uint32_t comm, int tag, uint32_t post_order);
void put_answer(RemoteChannel* remote, uint32_t question, const EnterStamp& stamp);
bool find_answer(const RemoteChannel& remote, uint32_t question, EnterStamp* stamp);

// A receive that blocked completed `ticks` after its message was sent.
inline void update_transfer(RemoteChannel* remote, int size_class, uint32_t ticks) {
    uint32_t* usual = &remote->usual_transfer[size_class];
    *usual = *usual == 0 ? ticks : *usual - *usual / 8 + ticks / 8;
}

// Estimates how much time the partner has lost by the real time `at`, from its last two stamps;
// false without any.
bool lost_by_partner(const RemoteChannel& remote, uint64_t at, uint64_t* ticks);

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_REMOTE_CHANNELS_H_
