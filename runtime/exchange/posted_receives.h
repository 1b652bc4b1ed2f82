// The order in which the receives of one channel were posted: it decides which entry belongs to
// which receive. A post order is a number that grows, wraps around and is never 0. The first
// kPosted receives are kept in Channel::posted; this file handles the overflow beyond them and
// freed receives (channels.h).
//
// Any thread of the process, with the channel locked. No system calls. Nothing fails: what cannot
// be known is counted as unknown when a receive asks for its entry. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_
#define DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_

#include "runtime/exchange/channels.h"

namespace dwell {

// Whether a precedes b; both wrap around.
inline bool is_before(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

inline uint32_t post_order_after(uint32_t post_order) {
    return post_order != UINT32_MAX ? post_order + 1 : 1;
}

// Adds a receive for which Channel::posted has no room. All later ones overflow as well while it is
// pending.
DWELL_COLD void add_overflow(Channel* channel, uint32_t post_order);
// Removes an overflow receive that completed or was cancelled, if there is one of this post order.
DWELL_COLD void remove_overflow(Channel* channel, uint32_t post_order);

// Removes a completed receive at index `place` of Channel::posted; of several freed ones, one.
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

// After a pause: only freed receives are still pending, all others count as complete.
DWELL_COLD void keep_detached(Channel* channel);
// Adds as overflow the receives from any source that were freed since the last call for this
// channel: each may take a message from it.
DWELL_COLD void add_detached_anywhere(Channel* channel);
// A receive has completed: among the first `before` posted ones, freed receives that match the same
// message have completed as well.
DWELL_COLD void forget_served(Channel* channel, uint32_t before, uint32_t comm, int tag);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_
