// Overflow receives and freed receives of a channel.
#include "runtime/exchange/posted_receives.h"

namespace dwell {

namespace {

bool is_overflow(const Channel* channel, uint32_t post_order) {
    return channel->overflow_receives != 0 && post_order != 0 &&
           !is_before(post_order, channel->overflow_first);
}

}  // namespace

void add_overflow(Channel* channel, uint32_t post_order) {
    if (channel->overflow_receives == 0)
        channel->overflow_first = channel->overflow_next = post_order;
    channel->overflow_receives += 1;
}

void remove_overflow(Channel* channel, uint32_t post_order) {
    if (!is_overflow(channel, post_order)) return;
    channel->overflow_receives -= 1;
    channel->overflow_next =
        post_order == channel->overflow_next ? post_order_after(post_order) : 0;
}

}  // namespace dwell
