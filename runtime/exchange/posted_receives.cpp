// Overflow receives and freed receives of a channel.
#include "runtime/exchange/posted_receives.h"

#include "runtime/mpi/mpi_api.h"

namespace dwell {

uint32_t g_detached_anywhere = 0;

namespace {

bool is_overflow(const Channel* channel, uint32_t post_order) {
    return channel->overflow_receives != 0 && post_order != 0 &&
           !is_before(post_order, channel->overflow_first);
}

// Adds a freed receive to one of the same kind among the first `before` posted ones, unless a
// receive between them may take the same messages. False when there is none.
bool join_detached(Channel* channel, uint32_t before, uint32_t comm, int tag) {
    for (uint32_t i = before; i-- > 0;) {
        Posted* posted = &channel->posted[i];
        if (posted->comm != comm) continue;
        if (posted->detached != 0 && posted->tag == tag) {
            posted->detached += 1;
            return true;
        }
        if (posted->tag == tag || posted->tag == MPI_ANY_TAG || tag == MPI_ANY_TAG) return false;
    }
    return false;
}

}  // namespace

void add_overflow(Channel* channel, uint32_t post_order) {
    if (channel->overflow_receives == 0) channel->overflow_first = post_order;
    channel->overflow_receives += 1;
}

void remove_overflow(Channel* channel, uint32_t post_order) {
    if (is_overflow(channel, post_order)) channel->overflow_receives -= 1;
}

void keep_detached(Channel* channel) {
    const uint32_t before = channel->posted_count;
    channel->posted_count = 0;
    for (uint32_t i = 0; i < before; ++i) {
        if (channel->posted[i].detached == 0) continue;
        channel->posted[channel->posted_count++] = channel->posted[i];
    }
}

void add_detached_anywhere(Channel* channel) {
    const uint32_t detached = __atomic_load_n(&g_detached_anywhere, __ATOMIC_RELAXED);
    for (; channel->detached_anywhere != detached; channel->detached_anywhere += 1) {
        add_overflow(channel, post_order_after(channel->last_post_order));
    }
}

void forget_served(Channel* channel, uint32_t before, uint32_t comm, int tag) {
    for (uint32_t i = before; i-- > 0;) {
        Posted* posted = &channel->posted[i];
        if (posted->detached == 0 || posted->comm != comm) continue;
        if (posted->tag != tag && posted->tag != MPI_ANY_TAG) continue;
        posted->detached = 1;
        remove_place(channel, i);
    }
}

void leave_posted(Channel* channel, uint32_t post_order, uint32_t comm, int tag) {
    const ChannelLock lock(channel);
    if (!lock.held()) return;
    for (uint32_t i = 0; i < channel->posted_count; ++i) {
        if (channel->posted[i].post_order != post_order) continue;
        if (join_detached(channel, i, comm, tag)) {
            remove_place(channel, i);
        } else {
            channel->posted[i].detached = 1;
            channel->detached_count += 1;
        }
        return;
    }
    if (!is_overflow(channel, post_order)) mark_unsynchronised();
}

void leave_posted_anywhere() {
    __atomic_fetch_add(&g_detached_anywhere, 1, __ATOMIC_RELAXED);
    mark_unsynchronised();
}

}  // namespace dwell
