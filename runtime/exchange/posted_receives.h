// A turn: the place of a receive in the order in which those of one channel were posted, which
// tells whose entry is its own. Its ticket names it: tickets grow, wrap around, and are never 0. Of
// kPosted receives the turns are kept, in Channel::posted; here are those that have no place among
// these, and those that were freed (channels.h).
//
// With the channel locked, by any thread of the process. No system calls, and nothing fails: what
// cannot be known is counted as unknown when a receive asks for its entry. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_
#define DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_

#include "runtime/exchange/channels.h"

namespace dwell {

// a comes before b, where both wrap around.
inline bool is_before(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

// The next ticket.
inline uint32_t post_order_after(uint32_t post_order) {
    return post_order != UINT32_MAX ? post_order + 1 : 1;
}

// A receive is posted that gets no place; all posted after it get none either, while it is pending.
DWELL_COLD void add_overflow(Channel* channel, uint32_t post_order);
// One with this ticket, if there is such, is complete or was cancelled.
DWELL_COLD void remove_overflow(Channel* channel, uint32_t post_order);

// The receive in that place, below posted_count, is complete; of several that were freed, one.
inline void remove_place(Channel* channel, uint32_t place) {
    uint32_t* detached = &channel->posted[place].detached;
    if (*detached != 0) {
        *detached -= 1;
        if (*detached != 0) return;
        channel->detached_count -= 1;
    }
    channel->posted_count -= 1;
    for (uint32_t i = place; i < channel->posted_count; ++i) {
        channel->posted[i] = channel->posted[i + 1];
    }
}

// After a pause only those that were freed are known to be pending, and of all others it is said
// that they are complete.
DWELL_COLD void keep_detached(Channel* channel);
// Counts receives from any source that were freed since this was called last for the channel: each
// may take a message from it, so they have no place and never get one.
DWELL_COLD void add_detached_anywhere(Channel* channel);
// A receive is complete: those freed and posted before it, of the first `before` places, are that
// may take the same message.
DWELL_COLD void forget_served(Channel* channel, uint32_t before, uint32_t comm, int tag);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_
