#include "runtime/waitstates/far_messages.h"

#include "runtime/mpi/eager_limits.h"

namespace dwell {

void add_received_far(Waiting* waiting, const Way& way, int tag, uint32_t ticket, uint64_t bytes) {
    FarChannel* far = way.channel->far;
    Thread* thread = waiting->thread();
    thread->slow_ticks += collect_letters(thread, far, waiting->left());
    const ChannelLock lock(way.channel);
    Moment said;
    const FarNumber number = lock.held() ? count_received(far, way.comm, tag, ticket) : FarNumber{};
    if (!take_far(far, way.comm, tag, number, &said)) {
        waiting->add_estimated(way.channel, way.peer, bytes);
        return;
    }
    if (number.guessed) waiting->add_guessed();
    if (bytes > g_eager_limits.hosts) {
        waiting->add_meeting(WaitKind::kLateSender, way.peer, said);
    } else {
        waiting->add_message(way.channel, way.peer, bytes, said);
    }
}

void add_probed_far(Waiting* waiting, const Way& way, int tag, uint64_t bytes) {
    FarChannel* far = way.channel->far;
    Thread* thread = waiting->thread();
    thread->slow_ticks += collect_letters(thread, far, waiting->left());
    // Of a message that waits for its receiver only the beginning has come.
    const uint64_t arrived = bytes > g_eager_limits.hosts ? 0 : bytes;
    const ChannelLock lock(way.channel);
    Moment said;
    const FarNumber number = lock.held() ? next_to_receive(far, way.comm, tag) : FarNumber{};
    if (!find_far(far, way.comm, tag, number, &said)) {
        waiting->add_estimated(way.channel, way.peer, arrived);
        return;
    }
    if (number.guessed) waiting->add_guessed();
    waiting->add_message(way.channel, way.peer, arrived, said);
}

void add_sent_far(Waiting* waiting, Channel* channel, uint32_t question, uint32_t peer) {
    Moment answer;
    do {
        const ChannelLock lock(channel);
        if (lock.held() && find_answer(*channel->far, question, &answer)) {
            waiting->add_meeting(WaitKind::kLateReceiver, peer, answer);
            return;
        }
    } while (question != 0 && take_one_letter(waiting->thread()));
    waiting->add_unknown();
}

uint32_t say_far(Call* call, const Way& way, int tag, bool asks) {
    ChannelEntry entry{};
    entry.said = moment_of(call);
    {
        const ChannelLock lock(way.channel);
        if (!lock.held()) way.channel->far->silent = true;  // this message is not counted
        if (!count_sent(way.channel->far, way.comm, tag, &entry)) return 0;
        if (asks) set_question(&entry, next_question(way.channel->far));
    }
    if (!may_send_letter(way.channel->far, call->start_ticks)) return 0;
    add_delay(way.peer, &way.channel->told, &entry.said);
    send_letter(way.channel->far, &entry);
    begin_work(call, now_ticks());
    return question_of(entry);
}

void answer_far(Call* call, const Way& way, int tag, uint32_t ticket) {
    FarChannel* far = way.channel->far;
    while (may_have_letter(far, call->start_ticks) && take_one_letter(call->thread)) {
    }
    uint32_t question = 0;
    {
        const ChannelLock lock(way.channel);
        if (lock.held()) question = take_question(far, way.comm, tag, ticket);
    }
    if (question == 0) return;
    Moment said = moment_of(call);
    add_delay(way.peer, &way.channel->told, &said);
    send_answer(far, question, said);
}

}  // namespace dwell
