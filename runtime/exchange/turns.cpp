#include "runtime/exchange/turns.h"

#include "runtime/mpi/mpi_api.h"

namespace dwell {

uint32_t g_freed_anywhere = 0;

namespace {

bool is_placeless(const Channel* channel, uint32_t ticket) {
    return channel->placeless != 0 && ticket != 0 && !is_before(ticket, channel->placeless_first);
}

// A freed receive counts with one of the same kind that was posted before it, unless one between
// them may take the same messages. False when there is none; `before`: of the first so many.
bool join_freed(Channel* channel, uint32_t before, uint32_t comm, int tag) {
    for (uint32_t i = before; i-- > 0;) {
        Posted* posted = &channel->posted[i];
        if (posted->comm != comm) continue;
        if (posted->freed != 0 && posted->tag == tag) {
            posted->freed += 1;
            return true;
        }
        if (posted->tag == tag || posted->tag == MPI_ANY_TAG || tag == MPI_ANY_TAG) return false;
    }
    return false;
}

// One without a place: the only one comes after all that have one.
void leave_placeless(Channel* channel, uint32_t ticket, uint32_t comm, int tag) {
    const bool joins =
        channel->placeless == 1 && join_freed(channel, channel->posted_count, comm, tag);
    if (joins || (channel->placeless == 1 && channel->posted_count < kPosted)) {
        if (!joins) {
            channel->posted[channel->posted_count++] = {comm, tag, ticket, 1};
            channel->freed_count += 1;
        }
        channel->placeless = 0;
        return;
    }
    channel->placeless_freed += 1;
    channel->placeless_next = 0;
}

}  // namespace

void add_placeless(Channel* channel, uint32_t ticket) {
    if (channel->placeless == 0) channel->placeless_first = channel->placeless_next = ticket;
    channel->placeless += 1;
}

void remove_placeless(Channel* channel, uint32_t ticket) {
    if (!is_placeless(channel, ticket)) return;
    channel->placeless -= 1;
    channel->placeless_next = ticket == channel->placeless_next ? ticket_after(ticket) : 0;
}

void keep_freed(Channel* channel) {
    const uint32_t before = channel->posted_count;
    channel->posted_count = 0;
    for (uint32_t i = 0; i < before; ++i) {
        if (channel->posted[i].freed == 0) continue;
        channel->posted[channel->posted_count++] = channel->posted[i];
    }
    channel->placeless = channel->placeless_freed;
    channel->placeless_first = ticket_after(channel->last_ticket);
    channel->placeless_next = 0;
}

void add_freed_anywhere(Channel* channel) {
    const uint32_t freed = __atomic_load_n(&g_freed_anywhere, __ATOMIC_RELAXED);
    for (; channel->freed_anywhere != freed; channel->freed_anywhere += 1) {
        add_placeless(channel, ticket_after(channel->last_ticket));
        channel->placeless_freed += 1;
        channel->placeless_next = 0;
    }
}

void forget_served(Channel* channel, uint32_t before, uint32_t comm, int tag) {
    for (uint32_t i = before; i-- > 0;) {
        Posted* posted = &channel->posted[i];
        if (posted->freed == 0 || posted->comm != comm) continue;
        if (posted->tag != tag && posted->tag != MPI_ANY_TAG) continue;
        posted->freed = 1;
        remove_place(channel, i);
    }
}

void leave_posted(Channel* channel, uint32_t ticket, uint32_t comm, int tag) {
    const ChannelLock lock(channel);
    if (!lock.held()) return;
    for (uint32_t i = 0; i < channel->posted_count; ++i) {
        if (channel->posted[i].ticket != ticket) continue;
        if (join_freed(channel, i, comm, tag)) {
            remove_place(channel, i);
        } else {
            channel->posted[i].freed = 1;
            channel->freed_count += 1;
        }
        return;
    }
    if (is_placeless(channel, ticket)) {
        leave_placeless(channel, ticket, comm, tag);
    } else {
        doubt_entries();
    }
}

void leave_posted_anywhere() {
    __atomic_fetch_add(&g_freed_anywhere, 1, __ATOMIC_RELAXED);
    doubt_entries();
}

}  // namespace dwell
