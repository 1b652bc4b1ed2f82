#include "runtime/hosts/partners.h"

#include <errno.h>

#include "runtime/hosts/far_letters.h"

namespace dwell {

namespace {

// With SlowLock held.
Channel* make_remote_channel(uint32_t peer) {
    FarChannel* far = make_far_channel(peer);
    Channel* channel = far != nullptr ? new_channel() : nullptr;
    if (channel != nullptr) channel->far = far;
    return channel;
}

}  // namespace

Channel* find_channel(Thread* thread, uint32_t peer) {
    const uint64_t start = now_ticks();
    const int saved_errno = errno;
    Channel* channel = nullptr;
    {
        const SlowLock lock;
        channel = g_channels[peer];
        if (channel == nullptr) {
            channel = is_neighbour(peer) ? make_channel(peer) : make_remote_channel(peer);
            if (channel == nullptr) channel = &g_no_channel;
            __atomic_store_n(&g_channels[peer], channel, __ATOMIC_RELEASE);
        }
    }
    errno = saved_errno;
    thread->slow_ticks += now_ticks() - start;
    return channel != &g_no_channel ? channel : nullptr;
}

void withdraw_from(Channel* channel, const Announced& announced) {
    if (channel->far == nullptr) {
        withdraw(channel, announced);
        return;
    }
    const ChannelLock lock(channel);
    channel->far->silent = true;
}

}  // namespace dwell
