// The channel with another rank, wherever that is: by rings of entries on this host, by letters to
// another one. The rooms above ask here, and need not know which it is.
#ifndef DWELL_RUNTIME_HOSTS_PARTNERS_H_
#define DWELL_RUNTIME_HOSTS_PARTNERS_H_

#include "runtime/exchange/channels.h"
#include "runtime/hosts/remote_channels.h"

namespace dwell {

// The channel with a world rank, or null: not observed, no room, or on another node while times are
// told on each node only. The first look at a rank is slow, and counted as such.
DWELL_COLD Channel* find_channel(Thread* thread, uint32_t peer);

inline Channel* channel_with(Thread* thread, uint32_t peer) {
    if (g_channels == nullptr || peer >= g_channel_count) return nullptr;
    Channel* channel = __atomic_load_n(&g_channels[peer], __ATOMIC_ACQUIRE);
    if (channel == nullptr) [[unlikely]]
        return find_channel(thread, peer);
    return channel != &g_no_channel ? channel : nullptr;
}

// A receive is posted; the ticket of its turn, 0 when that is not known or another thread has the
// channel.
inline uint32_t post_to(Channel* channel, uint32_t comm, int tag) {
    if (channel->remote == nullptr) return post(channel, comm, tag);
    const ChannelLock lock(channel);
    return lock.held() ? post_remote(channel->remote, comm, tag) : 0;
}

// The send failed or was cancelled: where its message would have been told by a number, no more is.
void withdraw_from(Channel* channel, const Announced& announced);

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_PARTNERS_H_
