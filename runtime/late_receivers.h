// Sends that may wait for their receivers, and how these say when they came: in the message's entry
// where the send asks for that (channels.h), of shorter messages in a line of their own
// (arrivals.h). The calling thread's own, but for what channels.h and arrivals.h share. Not
// signal-safe.
#ifndef DWELL_RUNTIME_LATE_RECEIVERS_H_
#define DWELL_RUNTIME_LATE_RECEIVERS_H_

#include "runtime/waits.h"

namespace dwell {

// In MPI_Init.
void open_late_receivers(uint64_t ticks_per_second);

// Whether the send may wait for its receiver. `bytes` UINT64_MAX: it is not known how many.
bool is_meeting(const Channel* channel, SendMode mode, uint64_t bytes);
// Of those whether it asks; for ranks of one node.
bool asks_in_entry(SendMode mode, uint64_t bytes);

// For those whom this thread keeps until it receives. After start().
void say_arrival(Call* call);

// A send to a rank of the node is over that had to meet its receiver.
void add_asked(Waiting* waiting, const Announced& announced, uint32_t peer);
// One that may have: it waited if the receiver came meanwhile.
void add_kept(Waiting* waiting, const Channel* channel, uint32_t peer);

// Whether such a send took no longer than they do while the receiver is there: then nobody looks
// when that came. Now and then it is looked at all the same, so that it is seen when they become
// shorter.
bool took_usual_send(Channel* channel, uint64_t ticks);
// It took so long, and its receiver was there.
void learn_usual_send(Channel* channel, uint64_t ticks);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LATE_RECEIVERS_H_
