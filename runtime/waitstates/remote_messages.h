// The wait analysis of messages between hosts, whose stamps come with some of the messages
// (piggyback.h). `link.channel->remote` is set in all of these.
//
// The calling thread's own, except the channels, which are locked. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_REMOTE_MESSAGES_H_
#define DWELL_RUNTIME_WAITSTATES_REMOTE_MESSAGES_H_

#include "runtime/hosts/piggyback.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// The channel to a rank of a communicator, if both are known.
struct Link {
    Channel* channel;
    uint32_t peer;
    uint32_t comm;
};

// A message was received. Without a stamp, the partner's intrusion is estimated.
void add_received_remote(Waiting* waiting, const Link& link, int tag, uint32_t post_order,
                         uint64_t bytes);
// A probe found a message, which is received later.
void add_probed_remote(Waiting* waiting, const Link& link, int tag, uint64_t bytes);
// Adds the receiver's enter time, if the piggyback message asked for it.
void add_sent_remote(Waiting* waiting, Channel* channel, uint32_t question, uint32_t peer);

// Sends a stamp for a message. Returns the question that goes with it, 0 for none.
uint32_t notify_remote(Call* call, const Link& link, int tag, bool asks);
// A receive begins: answers the question of a piggyback message that has arrived.
void answer_remote(Call* call, const Link& link, int tag, uint32_t post_order);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_REMOTE_MESSAGES_H_
