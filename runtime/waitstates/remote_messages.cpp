#include "runtime/waitstates/remote_messages.h"

#include "runtime/mpi/eager_limits.h"

namespace dwell {

void add_received_remote(Waiting* waiting, const Link& way, int tag, uint32_t post_order,
                         uint64_t bytes) {
    RemoteChannel* remote = way.channel->remote;
    Thread* thread = waiting->thread();
    thread->slow_overhead += collect_piggybacks(thread, remote, waiting->left());
    const ChannelLock lock(way.channel);
    EnterStamp stamp;
    const RemoteNumber number =
        lock.held() ? count_received(remote, way.comm, tag, post_order) : RemoteNumber{};
    if (!take_remote(remote, way.comm, tag, number, &stamp)) {
        waiting->add_estimated(way.channel, way.peer, bytes);
        return;
    }
    if (number.guessed) waiting->add_guessed();
    if (bytes > g_eager_limits.hosts) {
        waiting->add_collective(WaitKind::kLateSender, way.peer, stamp);
    } else {
        waiting->add_message(way.channel, way.peer, bytes, stamp);
    }
}

void add_probed_remote(Waiting* waiting, const Link& way, int tag, uint64_t bytes) {
    RemoteChannel* remote = way.channel->remote;
    Thread* thread = waiting->thread();
    thread->slow_overhead += collect_piggybacks(thread, remote, waiting->left());
    // Of a message that waits for its receiver only the beginning has come.
    const uint64_t arrived = bytes > g_eager_limits.hosts ? 0 : bytes;
    const ChannelLock lock(way.channel);
    EnterStamp stamp;
    const RemoteNumber number =
        lock.held() ? next_to_receive(remote, way.comm, tag) : RemoteNumber{};
    if (!find_remote(remote, way.comm, tag, number, &stamp)) {
        waiting->add_estimated(way.channel, way.peer, arrived);
        return;
    }
    if (number.guessed) waiting->add_guessed();
    waiting->add_message(way.channel, way.peer, arrived, stamp);
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

uint32_t notify_remote(Call* call, const Link& way, int tag, bool asks) {
    ChannelEntry entry{};
    entry.stamp = make_enter_stamp(call);
    {
        const ChannelLock lock(way.channel);
        if (!lock.held()) way.channel->remote->silent = true;  // this message is not counted
        if (!count_sent(way.channel->remote, way.comm, tag, &entry)) return 0;
        if (asks) set_question(&entry, next_question(way.channel->remote));
    }
    if (!may_send_piggyback(way.channel->remote, call->start_ticks)) return 0;
    add_delay(way.peer, &way.channel->sent_stamp, &entry.stamp);
    send_piggyback(way.channel->remote, &entry);
    begin_work(call, now_ticks());
    return question_of(entry);
}

void answer_remote(Call* call, const Link& way, int tag, uint32_t post_order) {
    RemoteChannel* remote = way.channel->remote;
    while (may_have_piggyback(remote, call->start_ticks) && take_one_piggyback(call->thread)) {
    }
    uint32_t question = 0;
    {
        const ChannelLock lock(way.channel);
        if (lock.held()) question = take_question(remote, way.comm, tag, post_order);
    }
    if (question == 0) return;
    EnterStamp stamp = make_enter_stamp(call);
    add_delay(way.peer, &way.channel->sent_stamp, &stamp);
    send_answer(remote, question, stamp);
}

}  // namespace dwell
