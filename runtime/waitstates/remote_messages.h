// The wait analysis of messages between hosts: what waits_messages.cpp does where the partner's
// times come in letters, now and then (piggyback.h). `way.channel` leads to another host
// (`far` is set) in all of these.
//
// All of this is the calling thread's own, but for the channels, which are locked. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_REMOTE_MESSAGES_H_
#define DWELL_RUNTIME_WAITSTATES_REMOTE_MESSAGES_H_

#include "runtime/hosts/piggyback.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// The channel to a rank of a communicator, when dwell knows both.
struct Link {
    Channel* channel;
    uint32_t peer;
    uint32_t comm;
};

// A message was received. Without its time the partner's intrusion is estimated.
void add_received_remote(Waiting* waiting, const Link& way, int tag, uint32_t post_order,
                         uint64_t bytes);
// A probe found a message, which is received later.
void add_probed_remote(Waiting* waiting, const Link& way, int tag, uint64_t bytes);
// The receiver has said when it came, if the letter about the message asked for that.
void add_sent_remote(Waiting* waiting, Channel* channel, uint32_t question, uint32_t peer);

// A message is sent. The question that goes with its letter, 0 for none.
uint32_t notify_remote(Call* call, const Link& way, int tag, bool asks);
// A receive begins: who asked in a letter that has come when it does is told.
void answer_remote(Call* call, const Link& way, int tag, uint32_t post_order);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_REMOTE_MESSAGES_H_
