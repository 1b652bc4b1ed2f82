// The wait analysis of messages between hosts: what waits_messages.cpp does where the partner's
// times come in letters, now and then (far_letters.h). `way.channel` leads to another host
// (`far` is set) in all of these.
//
// All of this is the calling thread's own, but for the channels, which are locked. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_FAR_MESSAGES_H_
#define DWELL_RUNTIME_WAITSTATES_FAR_MESSAGES_H_

#include "runtime/hosts/far_letters.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// The channel to a rank of a communicator, when dwell knows both.
struct Way {
    Channel* channel;
    uint32_t peer;
    uint32_t comm;
};

// A message was received. Without its time the partner's intrusion is estimated.
void add_received_far(Waiting* waiting, const Way& way, int tag, uint32_t ticket, uint64_t bytes);
// A probe found a message, which is received later.
void add_probed_far(Waiting* waiting, const Way& way, int tag, uint64_t bytes);
// The receiver has said when it came, if the letter about the message asked for that.
void add_sent_far(Waiting* waiting, Channel* channel, uint32_t question, uint32_t peer);

// A message is sent. The question that goes with its letter, 0 for none.
uint32_t say_far(Call* call, const Way& way, int tag, bool asks);
// A receive begins: who asked in a letter that has come when it does is told.
void answer_far(Call* call, const Way& way, int tag, uint32_t ticket);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_FAR_MESSAGES_H_
