// Late receivers: progress of this rank, and the waits of its sends.
#include "runtime/waitstates/late_receivers.h"

#include "runtime/mpi/datatypes.h"
#include "runtime/mpi/eager_limits.h"

namespace dwell {

namespace {

// Shorter times are not noticed as waiting for a receive.
constexpr uint64_t kNoticed_ns = 10'000;
DWELL_CALL_DATA uint64_t g_noticed_ticks = 0;
// Sends that took longer were delayed by something unknown.
constexpr uint64_t kMostUsual_ns = 4000;
DWELL_CALL_DATA uint64_t g_most_usual_ticks = 0;
// The message that a probe has found.
struct Probed {
    const Thread* thread;
    uint32_t call;  // number of the thread's call
    MPI_Comm comm;
    int source;
    int tag;
};
DWELL_CALL_DATA Probed g_probed{};
DWELL_CALL_DATA ProgressLog* g_own_progress_log = nullptr;  // null: no exchange, or no room

// Real ticks since which the thread has been in no call that makes progress.
uint64_t no_progress_since(const Thread* thread) {
    const bool goes_on = thread->no_progress_call + 1 == thread->calls;
    return goes_on ? thread->no_progress_ticks : thread->last_ticks;
}

bool was_absent(const Call* call) {
    return call->start_ticks - no_progress_since(call->thread) > g_noticed_ticks;
}

}  // namespace

void open_late_receivers(uint64_t ticks_per_second) {
    g_noticed_ticks = kNoticed_ns * ticks_per_second / 1'000'000'000u;
    g_most_usual_ticks = kMostUsual_ns * ticks_per_second / 1'000'000'000u;
    if (exchange_is_open()) {
        g_own_progress_log = find_progress_log(own_rank());
    }
}

bool may_wait_for_receiver(const Channel* channel, SendMode mode, uint64_t bytes) {
    const uint64_t limit =
        channel->remote != nullptr ? g_eager_limits.eager_limit_net : g_eager_limits.copy_limit;
    return mode == kSynchronousSend || (mode == kStandardSend && bytes > limit);
}

bool may_wait_for_receiver(const Channel* channel, const Request& request) {
    const bool left = request.persistent && request.mode == kStandardSend && request.bytes != 0;
    return (left && channel->remote == nullptr) ||
           may_wait_for_receiver(channel, request.mode, request.bytes);
}

bool asks_in_entry(SendMode mode, uint64_t bytes) {
    return mode == kSynchronousSend || bytes > g_eager_limits.eager_limit_shm;
}

void log_progress(Call* call) {
    if (g_own_progress_log == nullptr || is_last_progress(*g_own_progress_log, call->start_ticks))
        return;
    const EnterStamp entered = make_stamp_while_polling(call);
    write_progress(g_own_progress_log, entered, no_progress_since(call->thread),
                   g_process.concurrent);
    begin_work(call, now_ticks());
}

void log_late_progress(Call* call) {
    if (g_own_progress_log == nullptr || !was_absent(call)) [[likely]]
        return;
    stamp_virtual(call);  // polling counts as progress
    if (was_absent(call)) log_progress(call);
}

void leave_progress(Call* call) {
    Thread* thread = call->thread;
    if (makes_no_progress(call)) return;
    thread->no_progress_ticks = no_progress_since(thread);
    thread->no_progress_call = thread->calls;
}

void note_probed(const Call* call, MPI_Comm comm, const MPI_Status* status) {
    if (g_process.concurrent || bytes_of(status) > g_eager_limits.eager_limit_shm) return;
    g_probed = {call->thread, call->thread->calls, comm, status->MPI_SOURCE, status->MPI_TAG};
}

bool receives_probed(const Call* call, int source, int tag, MPI_Comm comm) {
    if (g_probed.call + 1 != call->thread->calls || g_probed.thread != call->thread) return false;
    return call->node->site.call == static_cast<uint16_t>(MpiCall::kRecv) &&
           g_probed.comm == comm && (source == g_probed.source || source == MPI_ANY_SOURCE) &&
           (tag == g_probed.tag || tag == MPI_ANY_TAG);
}

// Without an answer the receiver was there before the send, or has taken the message since. Without
// overhead a sender that lost more time than its receiver would have come first, and waited on the
// virtual clock.
void add_rendezvous_send(Waiting* waiting, Channel* channel, const Announced& announced,
                         uint32_t peer) {
    EnterStamp answer;
    EnterStamp entered;
    if (announced.entry == nullptr) {
        waiting->add_unknown();
    } else if (answer_of(channel, announced, &answer)) {
        waiting->add_collective(WaitKind::kLateReceiver, peer, answer);
    } else if (is_answered(announced)) {
        waiting->add_unknown();
    } else if (channel->progress_log != nullptr &&
               progress_before(channel->progress_log, sent_at(announced).real, &entered)) {
        if (entered.at.virt > waiting->entered().virt)
            waiting->add_collective(WaitKind::kLateReceiver, peer, entered);
    }
}

namespace {

// When the receiver would have entered without overhead: its first progress after the message would
// have been sent and waited for, by the receiver's own clock.
bool arrival_without_delay(const ProgressLog* log, const DualTime& sent, const Waiting& waiting,
                           EnterStamp* entered) {
    if (!progress_before(log, waiting.left(), entered)) return false;
    const DualTime& begun = waiting.entered();
    const uint64_t lost = entered->at.real - entered->at.virt;
    return progress_after(log, earlier(sent.real, sent.virt + lost),
                          earlier(begun.real, begun.virt + lost), waiting.left(), entered);
}

}  // namespace

void add_single_copy_send(Waiting* waiting, Channel* channel, uint32_t peer, const DualTime& sent) {
    const ProgressLog* log = channel->progress_log;
    if (log == nullptr) {
        waiting->add_unknown();
        return;
    }
    if (sent.real == 0) return;  // its entry was reused, so the message was taken before
    EnterStamp entered;
    EnterStamp undelayed;
    const bool waited =
        progress_after(log, sent.real, waiting->entered().real, waiting->left(), &entered);
    if (arrival_without_delay(log, sent, *waiting, &undelayed)) {
        waiting->add_collective(WaitKind::kLateReceiver, peer, undelayed);
        if (waited) waiting->add_until(entered.at.real);
    } else if (waited) {
        waiting->add_collective(WaitKind::kLateReceiver, peer, entered);
    }
}

bool took_usual_send(Channel* channel, uint64_t ticks) {
    const uint32_t usual = __atomic_load_n(&channel->usual_send, __ATOMIC_RELAXED);
    if (ticks > usual + usual / 2) return false;
    __atomic_store_n(&channel->usual_send, usual - usual / 256, __ATOMIC_RELAXED);
    return true;
}

void learn_usual_send(Channel* channel, uint64_t ticks) {
    if (ticks > g_most_usual_ticks) return;
    const uint64_t usual = __atomic_load_n(&channel->usual_send, __ATOMIC_RELAXED);
    const uint64_t learnt = usual == 0 ? ticks : (3 * usual + ticks) / 4;
    __atomic_store_n(&channel->usual_send, static_cast<uint32_t>(learnt), __ATOMIC_RELAXED);
}

bool is_delayed(Channel* channel, const Call* call) {
    const uint64_t lost = call->start_ticks - call->start_virtual;
    const uint64_t looked = __atomic_load_n(&channel->lost_looked, __ATOMIC_RELAXED);
    // The thread has waited since, which made up for some lost time.
    if (lost < looked) __atomic_store_n(&channel->lost_looked, lost, __ATOMIC_RELAXED);
    return beyond(lost, looked) > g_noticed_ticks;
}

void note_lookup(Channel* channel, const Call* call) {
    const uint64_t lost = call->end_ticks - call->start_virtual - call->ticks;
    __atomic_store_n(&channel->lost_looked, lost, __ATOMIC_RELAXED);
}

}  // namespace dwell
