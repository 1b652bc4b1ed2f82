// The times of messages between hosts (DESIGN 4, "exchange"): which message a time that arrived is
// of. far_letters.h carries them.
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
#ifndef DWELL_RUNTIME_HOSTS_FAR_CHANNELS_H_
#define DWELL_RUNTIME_HOSTS_FAR_CHANNELS_H_

#include "runtime/exchange/channels.h"

namespace dwell {

// Messages of one communicator and tag. Those of the last kSharedKinds have several: then numbers
// tell the messages apart only while they are received in the order that they were sent in.
struct FarKind {
    uint32_t comm;
    int32_t tag;
    uint32_t sent;
    uint32_t received;  // posted included
    uint32_t posted;    // of these, not complete
};
constexpr uint32_t kExactKinds = 24;
constexpr uint32_t kSharedKinds = 8;
constexpr uint32_t kFarEntries = 16;

// In ChannelEntry::order, below the number.
constexpr uint32_t kSharedNumber = 1;
constexpr int kNumberShift = 1;

// When the receiver of a message came, whose letter had asked for it by this number.
struct FarAnswer {
    uint32_t question;  // 0: none
    Moment said;
};
constexpr uint32_t kFarAnswers = 4;

struct FarChannel {
    uint32_t place;  // among the observed ranks
    bool silent;
    uint32_t kind_count;
    uint32_t last_kind;  // used last

    // Letters (far_letters.h), this process's clock.
    uint64_t next_letter;  // none before that
    uint64_t next_told;    // messages sent before that have none
    uint32_t letters_sent;
    uint32_t letters_heard;  // of these the partner has said that they arrived
    uint32_t letters_received;
    uint32_t letters_answered;  // of these the partner has heard
    uint32_t fruitless;         // looks for a letter in a row that found none

    // What it told last, and at least kRateTicks before that: how fast its own intrusion grows.
    // Between two calls that follow each other it grows by what telling costs, and says nothing.
    Moment last;
    Moment before;
    Moment between;                         // will be `before`
    bool loss_is_told;                      // by a note, which says so itself:
    uint8_t loss;                           // of 256 parts of its time
    uint32_t usual_travel[kTravelClasses];  // from send to receive, by size: moving average
    FarKind kinds[kExactKinds + kSharedKinds];
    ChannelEntry entries[kFarEntries];  // number 0: free
    uint32_t questions;                 // asked so far
    bool is_asked;                      // the partner has asked some: there may be another
    FarAnswer answers[kFarAnswers];
};

// In letters: the question that one asks or answers, 0 for none.
inline uint32_t question_of(const ChannelEntry& letter) { return letter.answer.path; }
inline uint32_t next_question(FarChannel* far) {
    if (++far->questions == 0) far->questions = 1;
    return far->questions;
}
inline void set_question(ChannelEntry* letter, uint32_t question) {
    letter->answer.path = question;
}

// A message is about to be sent: what its time has to say of it goes into the entry. False: nothing
// can be said.
bool count_sent(FarChannel* far, uint32_t comm, int tag, ChannelEntry* entry);

// A time arrived, in this process's ticks.
void put_entry(FarChannel* far, const ChannelEntry& entry);

// What the partner said last, of whatever.
constexpr uint64_t kRateTicks = 1 << 25;  // some 10 ms
inline void note_said(FarChannel* far, const Moment& said) {
    if (far->last.at.real == 0) far->before = far->between = said;
    far->last = said;
    if (beyond(said.at.real, far->between.at.real) < kRateTicks) return;
    far->before = far->between;
    far->between = said;
}

// A receive is posted; its number as a ticket, 0 when that is not known yet.
uint32_t post_far(FarChannel* far, uint32_t comm, int tag);
// A receive was cancelled or freed: whether it gets a message is not known. Nor which partner's,
// where it could get any.
inline void unpost_far(FarChannel* far) { far->silent = true; }
extern bool g_far_uncounted __attribute__((visibility("hidden")));

// A receive is complete: its number, for take_far; 0 when it cannot be told.
struct FarNumber {
    uint32_t order;  // as in an entry
    bool guessed;
};
FarNumber count_received(FarChannel* far, uint32_t comm, int tag, uint32_t ticket);
// The number of the message that a probe found.
FarNumber next_to_receive(FarChannel* far, uint32_t comm, int tag);
// The time of that message, which take_far then forgets; false: it is not here.
bool find_far(FarChannel* far, uint32_t comm, int tag, const FarNumber& number, Moment* said);
bool take_far(FarChannel* far, uint32_t comm, int tag, const FarNumber& number, Moment* said);

// What the sender of a message asks that the next receive gets, or the one with this ticket: the
// question, which is then answered; 0 for none.
uint32_t take_question(FarChannel* far, uint32_t comm, int tag, uint32_t ticket);
void put_answer(FarChannel* far, uint32_t question, const Moment& said);
bool find_answer(const FarChannel& far, uint32_t question, Moment* said);

// A receive that blocked got its message `ticks` after it was sent.
inline void note_travel(FarChannel* far, int size_class, uint32_t ticks) {
    uint32_t* usual = &far->usual_travel[size_class];
    *usual = *usual == 0 ? ticks : *usual - *usual / 8 + ticks / 8;
}

// What the partner has lost to being observed until the real time `at`, as far as the last two
// times that it told say; false without any.
bool lost_by_partner(const FarChannel& far, uint64_t at, uint64_t* ticks);

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_FAR_CHANNELS_H_
