// Messages between hosts: matching, answering and estimating stamps.
#include "runtime/waitstates/remote_messages.h"

#include "runtime/mpi/eager_limits.h"

namespace dwell {

void add_received_remote(Waiting* waiting, const Link& link, int tag, uint32_t post_order,
                         uint64_t bytes) {
    RemoteChannel* remote = link.channel->remote;
    Thread* thread = waiting->thread();
    thread->slow_overhead += collect_piggybacks(thread, remote, waiting->left());
    const ChannelLock lock(link.channel);
    EnterStamp stamp;
    const RemoteNumber number =
        lock.held() ? count_received(remote, link.comm, tag, post_order) : RemoteNumber{};
    if (!take_remote(remote, link.comm, tag, number, &stamp)) {
        waiting->add_estimated(link.channel, link.peer, bytes);
        return;
    }
    if (number.guessed) waiting->add_guessed();
    if (bytes > g_eager_limits.eager_limit_net) {
        waiting->add_collective(WaitKind::kLateSender, link.peer, stamp);
    } else {
        waiting->add_message(link.channel, link.peer, bytes, stamp);
    }
}

void add_probed_remote(Waiting* waiting, const Link& link, int tag, uint64_t bytes) {
    RemoteChannel* remote = link.channel->remote;
    Thread* thread = waiting->thread();
    thread->slow_overhead += collect_piggybacks(thread, remote, waiting->left());
    // Of a rendezvous message only the first part has arrived.
    const uint64_t arrived = bytes > g_eager_limits.eager_limit_net ? 0 : bytes;
    const ChannelLock lock(link.channel);
    EnterStamp stamp;
    const RemoteNumber number =
        lock.held() ? next_to_receive(remote, link.comm, tag) : RemoteNumber{};
    if (!find_remote(remote, link.comm, tag, number, &stamp)) {
        waiting->add_estimated(link.channel, link.peer, arrived);
        return;
    }
    if (number.guessed) waiting->add_guessed();
    waiting->add_message(link.channel, link.peer, arrived, stamp);
}

void add_sent_remote(Waiting* waiting, Channel* channel, uint32_t question, uint32_t peer) {
    EnterStamp answer;
    do {
        const ChannelLock lock(channel);
        if (lock.held() && find_answer(*channel->remote, question, &answer)) {
            waiting->add_collective(WaitKind::kLateReceiver, peer, answer);
            return;
        }
    } while (question != 0 && take_one_piggyback(waiting->thread()));
    waiting->add_unknown();
}

uint32_t notify_remote(Call* call, const Link& link, int tag, bool asks) {
    ChannelEntry entry{};
    entry.stamp = make_enter_stamp(call);
    {
        const ChannelLock lock(link.channel);
        if (!lock.held()) link.channel->remote->silent = true;  // this message is not counted
        if (!count_sent(link.channel->remote, link.comm, tag, &entry)) return 0;
        if (asks) set_question(&entry, next_question(link.channel->remote));
    }
    if (!may_send_piggyback(link.channel->remote, call->start_ticks)) return 0;
    add_delay(link.peer, &link.channel->stamped_until, &entry.stamp);
    send_piggyback(link.channel->remote, &entry);
    begin_work(call, now_ticks());
    return question_of(entry);
}

void answer_remote(Call* call, const Link& link, int tag, uint32_t post_order) {
    RemoteChannel* remote = link.channel->remote;
    while (may_have_piggyback(remote, call->start_ticks) && take_one_piggyback(call->thread)) {
    }
    uint32_t question = 0;
    {
        const ChannelLock lock(link.channel);
        if (lock.held()) question = take_question(remote, link.comm, tag, post_order);
    }
    if (question == 0) return;
    EnterStamp stamp = make_enter_stamp(call);
    add_delay(link.peer, &link.channel->stamped_until, &stamp);
    send_answer(remote, question, stamp);
}

}  // namespace dwell
