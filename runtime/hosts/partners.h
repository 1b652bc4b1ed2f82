// The channel to another rank: by rings of entries on the same host, by piggyback messages to
// another host. Higher rooms need not know which.
#ifndef DWELL_RUNTIME_HOSTS_PARTNERS_H_
#define DWELL_RUNTIME_HOSTS_PARTNERS_H_

#include "runtime/exchange/channels.h"
#include "runtime/hosts/remote_channels.h"

namespace dwell {

// The channel to a world rank, or null: not profiled, no room, or on another host while times are
// exchanged within hosts only. The first look-up of a rank is slow, which counts as overhead.
DWELL_COLD Channel* find_channel(Thread* thread, uint32_t peer);

inline Channel* channel_with(Thread* thread, uint32_t peer) {
    if (g_channels == nullptr || peer >= g_channel_count) return nullptr;
    Channel* channel = __atomic_load_n(&g_channels[peer], __ATOMIC_ACQUIRE);
    if (channel == nullptr) [[unlikely]]
        return find_channel(thread, peer);
    return channel != &g_no_channel ? channel : nullptr;
}

// Adds a posted receive. Returns its post order, 0 when that is not known or another thread holds
// the channel.
inline uint32_t post_to(Channel* channel, uint32_t comm, int tag) {
    if (channel->remote == nullptr) return post(channel, comm, tag);
    const ChannelLock lock(channel);
    return lock.held() ? post_remote(channel->remote, comm, tag) : 0;
}

// The send failed or was cancelled. To another host: message numbers are no longer known, so
// stamping ends.
void withdraw_from(Channel* channel, const Announced& announced);

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_PARTNERS_H_
