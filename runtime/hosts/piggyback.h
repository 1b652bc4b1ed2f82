// Piggyback messages carry time stamps to other hosts (DESIGN 4, "exchange"): small messages on the
// communicator of the profiled ranks, sent before the message or collective that they belong to.
// One holds an entry of a channel or a notice of a collective (remote_collectives.h).
//
// A piggyback message costs both sides some microseconds. To each partner at most one is sent in
// kSpacing times its cost, so messages slow down by at most 3 %. It says when the next one may
// come, and the receiver does not look for one earlier. A partner that receives nothing gets no
// more than kCredit of them. Nobody waits for one.
//
// All work is done inside MPI calls of the program, by the calling thread.
#ifndef DWELL_RUNTIME_HOSTS_PIGGYBACK_H_
#define DWELL_RUNTIME_HOSTS_PIGGYBACK_H_

#include "runtime/hosts/remote_channels.h"

namespace dwell {

constexpr uint32_t kSpacing = 128;  // two sides, both directions: 4 / 128
constexpr uint32_t kCredit = 16;

// The channel state for that world rank; null: not profiled, or no memory. Slow.
RemoteChannel* make_remote_channel(uint32_t peer);

// Sends the stamp of the message in `entry`, before the message. Returns the ticks used, which are
// overhead.
uint64_t send_piggyback(RemoteChannel* remote, ChannelEntry* entry);
inline bool may_send_piggyback(const RemoteChannel* remote, uint64_t now) {
    return now >= remote->next_piggyback;
}

inline bool may_have_piggyback(const RemoteChannel* remote, uint64_t now) {
    return now >= remote->next_stamped;
}

// Answers a question that came with a piggyback message.
void send_answer(RemoteChannel* remote, uint32_t question, const EnterStamp& stamp);

// After the receipt of a message at `now`: takes the piggyback messages that have arrived, if the
// message may have one. Returns the ticks used.
uint64_t collect_piggybacks(Thread* thread, RemoteChannel* remote, uint64_t now);

// The enter stamp of a collective on a communicator.
struct EntryNotice {
    EnterStamp stamp;     // in this process's ticks, when the sender began to send notices
    uint64_t id;          // of the communicator
    uint32_t number;      // of the instance, from 1; 0: none
    uint16_t call;        // MpiCall
    uint8_t shift;        // of the sender's choice (remote_choice.h)
    uint8_t loss;         // time that the sender loses to overhead other than notices, of 256 parts
    uint32_t send_ticks;  // expected duration of sending the notices; the sender entered after it
};
using NoticeHandler = void (*)(uint32_t peer, const EntryNotice& notice);
constexpr uint16_t kRejected = UINT16_MAX;  // in `call`: withdrawn, other fields are not set
inline uint64_t entered_at(const EntryNotice& notice) {
    return notice.stamp.at.real + notice.send_ticks;
}

// In MPI_Init, by every profiled rank: `handle_notice` gets the notices that arrive. False: times
// are exchanged within hosts only.
bool open_piggyback(NoticeHandler handle_notice);

// Sends a notice to one rank; not if kCredit messages are unconfirmed or another thread holds the
// lock. Returns the ticks used; 0 for the first message to a rank, which also connects to it.
uint64_t send_notice(RemoteChannel* remote, const EntryNotice& notice);
// Takes one piggyback message that has arrived; false: there is none. A vain look may lose the
// processor, because MPI may be set to yield.
bool take_one_piggyback(Thread* thread);
// Ticks that sending one takes.
uint64_t piggyback_cost();

// In MPI_Finalize, once all profiled ranks are there: receives what is still under way.
void drain_piggybacks();

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_PIGGYBACK_H_
