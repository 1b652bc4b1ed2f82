// Letters: what carries times to other hosts (DESIGN 4, "exchange"). One small message on the
// communicator of the observed ranks, sent before the message or the collective that it is about:
// an entry of a channel, or a note (remote_collectives.h).
//
// A letter costs both sides some microseconds. To each partner there is at most one in kSpacing
// times what it costs, so that the program's messages are slowed down by at most 3 %; each says
// when the next one may come, and until then the receiver does not look for it. A partner that
// receives nothing stops its letters after kCredit of them. Nobody waits for a letter.
//
// Everything happens inside calls of the program that MPI lets the calling thread make.
#ifndef DWELL_RUNTIME_HOSTS_PIGGYBACK_H_
#define DWELL_RUNTIME_HOSTS_PIGGYBACK_H_

#include "runtime/hosts/remote_channels.h"

namespace dwell {

constexpr uint32_t kSpacing = 128;  // 2 sides, both ways: 4 / 128
constexpr uint32_t kCredit = 16;

// The state of a channel to that world rank; null: it is not observed, or there is no memory. Slow.
RemoteChannel* make_remote_channel(uint32_t peer);

// Before the message `entry` is about, which begins at entry->said on this process's clocks. The
// ticks that it took are not the program's.
uint64_t send_piggyback(RemoteChannel* remote, ChannelEntry* entry);
inline bool may_send_piggyback(const RemoteChannel* remote, uint64_t now) {
    return now >= remote->next_piggyback;
}

inline bool may_have_piggyback(const RemoteChannel* remote, uint64_t now) {
    return now >= remote->next_stamped;
}

// The receiver's answer to a question that came with a letter.
void send_answer(RemoteChannel* remote, uint32_t question, const EnterStamp& stamp);

// A message was received at `now`: takes the letters that have arrived, when there may be one about
// it. The ticks that it took.
uint64_t collect_piggybacks(Thread* thread, RemoteChannel* remote, uint64_t now);

// About a collective on a communicator.
struct EntryNotice {
    EnterStamp stamp;  // in this process's ticks, when its sender began to tell
    uint64_t id;       // of the communicator
    uint32_t number;   // of the collective, from 1; 0: none
    uint16_t call;     // MpiCall
    uint8_t shift;     // of its sender's choice (remote_choice.h)
    uint8_t loss;      // what its sender loses to being observed but for telling, of 256 parts
    uint32_t telling;  // ticks that its sender expected to tell for: then it came
};
using NoticeHandler = void (*)(uint32_t peer, const EntryNotice& notice);
constexpr uint16_t kRejected = UINT16_MAX;  // as call: taken back; nothing else is said
inline uint64_t came_at(const EntryNotice& notice) { return notice.stamp.at.real + notice.telling; }

// In MPI_Init, by every observed rank: `handle_notice` gets the notes that arrive. False: times are
// told on each node only.
bool open_piggyback(NoticeHandler handle_notice);

// Says so to one rank; not, when that one has not taken the last kCredit letters, or another thread
// is at it. The ticks that it took; none for the first letter to a rank, which connects to it.
uint64_t send_notice(RemoteChannel* remote, const EntryNotice& notice);
// Takes a letter that has arrived; false: there is none. Who looks in vain may lose the processor:
// MPI gives it away where it was told to yield.
bool take_one_piggyback(Thread* thread);
// Ticks that sending a letter takes.
uint64_t piggyback_cost();

// In MPI_Finalize, once all observed ranks are there: receives what is on its way.
void drain_piggybacks();

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_PIGGYBACK_H_
