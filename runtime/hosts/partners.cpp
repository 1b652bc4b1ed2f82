// The first look-up of a channel, on the same or another host.
#include "runtime/hosts/partners.h"

#include "runtime/hosts/piggyback.h"

namespace dwell {

namespace {

// With StateLock held.
Channel* new_remote_channel(uint32_t peer) {
    RemoteChannel* remote = make_remote_channel(peer);
    Channel* channel = remote != nullptr ? new_channel() : nullptr;
    if (channel != nullptr) channel->remote = remote;
    return channel;
}

}  // namespace

Channel* find_channel(Thread* thread, uint32_t peer) {
    const ToolWork work(thread);
    const StateLock lock;
    Channel* channel = g_channels[peer];
    if (channel == nullptr) {
        channel = is_same_host(peer) ? make_channel(peer) : new_remote_channel(peer);
        if (channel == nullptr) channel = &g_no_channel;
        __atomic_store_n(&g_channels[peer], channel, __ATOMIC_RELEASE);
    }
    return channel != &g_no_channel ? channel : nullptr;
}

void withdraw_from(Channel* channel, const Announced& announced) {
    if (channel->remote == nullptr) {
        withdraw(channel, announced);
        return;
    }
    const ChannelLock lock(channel);
    channel->remote->silent = true;
}

}  // namespace dwell
