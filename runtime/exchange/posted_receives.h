// The order in which the receives of one channel were posted: it decides which entry belongs to
// which receive. A post order is a number that grows, wraps around and is never 0. The first
// kPosted receives are kept in Channel::posted; this file handles the overflow beyond them
// (channels.h).
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

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_POSTED_RECEIVES_H_
