// Distributes the time between two stamped calls over the untimed polls between them.
#include "runtime/calls/polls.h"

#include <sys/mman.h>

#include "runtime/calls/matched_receive.h"

namespace dwell {

namespace {

// Calls `use(poll, interval)` for each interval with untimed polls.
template <typename Use>
void for_each_untimed(Thread* thread, Use use) {
    for (uint32_t left = thread->untimed_polls; left != 0; left &= left - 1) {
        Poll& poll = thread->polls[__builtin_ctz(left) - 1];
        for (PollInterval& interval : poll.intervals) {
            if (interval.untimed != 0) use(poll, interval);
        }
    }
}

// The untimed polls of a thread, and the time that they usually take.
struct Untimed {
    uint64_t count = 0;
    uint64_t polls = 0;
    uint64_t computation = 0;
    uint64_t cost() const { return count * g_process.poll_cost_ticks; }
};
Untimed untimed_of(Thread* thread) {
    Untimed untimed;
    for_each_untimed(thread, [&](const Poll& poll, const PollInterval& interval) {
        untimed.count += interval.untimed;
        untimed.polls += interval.untimed * poll.ticks.value();
        untimed.computation += interval.untimed * interval.computation.value();
    });
    return untimed;
}

Poll* new_poll(Thread* thread, const PathEntry* path) {
    if (thread->polls == nullptr) {
        const ToolWork work(thread);
        void* memory = mmap(nullptr, kPolls * sizeof(Poll), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        thread->polls = static_cast<Poll*>(memory);
    }
    const uint32_t index = thread->next_poll++ % kPolls;
    Poll* poll = &thread->polls[index];
    *poll = Poll{};
    poll->follower = poll;
    poll->path = path;
    poll->number = static_cast<uint8_t>(index + 1);
    thread->paths[path - thread->paths].poll = poll->number;
    return poll;
}

Poll* poll_of(Thread* thread, const PathEntry* path) {
    if (path->poll == 0) return nullptr;
    Poll* poll = &thread->polls[path->poll - 1];
    return poll->path == path ? poll : nullptr;
}

PollInterval* poll_interval_of(Thread* thread, Poll* poll) {
    PollInterval* interval = find_poll_interval(poll, thread->last);
    if (interval != nullptr) return interval;
    interval = &poll->intervals[poll->next_interval++ % kPollIntervals];
    *interval = PollInterval{};
    interval->from = thread->last;
    const CellIndex node = interval_before(thread, poll->index);
    interval->node = node != 0 ? cell_at<Node>(node) : nullptr;
    return interval;
}

}  // namespace

void set_poll_spacing() {
    g_process.poll_spacing_ticks =
        kPollSpacing_ns * g_process.header->ticks_per_second / 1'000'000'000u;
}

void RecentMean::add(uint64_t value) {
    if (sixteenths_ == 0) {
        sixteenths_ = 16 * value;
        return;
    }
    sixteenths_ += value - sixteenths_ / 16;
}

Poll* find_poll(Thread* thread, MpiCall number, const Frame* frame) {
    const PathEntry* path = find_cached_path(thread, frame, number, probe_frame_of(thread, frame));
    return path != nullptr ? poll_of(thread, path) : nullptr;
}

bool same_entries(Thread* thread, Poll* poll) {
    for (int i = 0; i < poll->requests; ++i) {
        const Before& before = poll->before[i];
        if (before.handle == g_mpi.request_null || before.handle == g_mpi.request_empty) continue;
        if (before.found.entry == nullptr || !is_unchanged(before.found)) return false;
    }
    poll->calls = thread->calls;
    return true;
}

void remember_poll(Call* call, int slot, bool blocks, const Before* before, int requests) {
    Thread* thread = call->thread;
    if (blocks) thread->delay.note_polled(call->start_ticks, call->ticks);
    thread->untimed_left = 0;
    // Polls in user code must not replace the poll around it.
    if (call->path == nullptr || requests > kPollRequests || thread->user_depth != 0) return;
    const uint64_t since = call->start_ticks - thread->last_ticks;
    const uint64_t lost = lost_before(call);
    const uint64_t computation = since > lost && !call->after_untimed ? since - lost : 0;
    if (computation + call->ticks > g_process.poll_spacing_ticks) return;
    Poll* poll = poll_of(thread, call->path);
    if (poll == nullptr) poll = new_poll(thread, call->path);
    if (poll == nullptr) return;
    poll->node = call->node;
    poll->event_count = &call->histogram->event_count[slot];
    poll->index = call->index;
    poll->slot = static_cast<uint8_t>(slot);
    poll->blocks = blocks;
    poll->requests = static_cast<uint16_t>(requests);
    poll->calls = thread->calls;
    for (int i = 0; i < requests; ++i) {
        poll->handles[i] = before[i].handle;
        poll->before[i] = before[i];
    }
    // Part of dwell's work lies between the stamps. For a poll it overlaps with MPI's work, for a
    // blocking call it does not, so less is subtracted here.
    poll->ticks.add(call->ticks + beyond(g_process.inner_cost_ticks, g_process.poll_inner_ticks));
    PollInterval* interval = poll_interval_of(thread, poll);
    if (call->after_untimed || interval->node == nullptr) return;
    interval->computation.add(computation);
    thread->last_poll = poll;
    thread->untimed_left = kUntimedPolls;
}

void record_untimed(Thread* thread, uint64_t until) {
    ThreadRecord* record = thread->record;
    const uint64_t began = thread->last_ticks;
    const Untimed usual = untimed_of(thread);
    const uint64_t all = beyond(until, began);
    const uint64_t cost = earlier(usual.cost(), all);
    record->intrusion_ticks += cost;
    record->own_ticks += cost;
    // A short poll overlaps with its stamps, so its duration is known only within their cost, and
    // a timed poll among untimed ones is slow, which lengthens the computation before it. Time
    // left over is given to the polls where it is no more than the cost of the stamps.
    const uint64_t left = all - cost;
    const uint64_t stamps = usual.count * g_process.inner_cost_ticks;
    const uint64_t most = usual.polls != 0 ? usual.polls + stamps : 0;
    const uint64_t polls = left <= most ? left : usual.polls;
    const uint64_t computation = earlier(usual.computation, left - polls);
    thread->last_ticks += cost;
    // A part of `total`, which stands for `of` usual ticks. Untimed polls are few and short
    // (kUntimedPolls, kPollSpacing_ns): the product fits.
    const auto share = [thread](uint64_t part, uint64_t total, uint64_t of) {
        const uint64_t ticks = of != 0 ? part * total / of : 0;
        thread->last_ticks += ticks;
        return ticks;
    };
    for_each_untimed(thread, [&](const Poll& poll, const PollInterval& interval) {
        const uint64_t ticks = share(interval.untimed * poll.ticks.value(), polls, usual.polls);
        interval.node->ticks +=
            share(interval.untimed * interval.computation.value(), computation, usual.computation);
        auto* histogram = cell_at<SizeHistogram>(poll.index + kHistogramOffsetCells);
        poll.node->ticks += ticks;
        record->axis.sums.call_ticks += ticks;
        histogram->event_ticks[poll.slot] += ticks;
        histogram->untimed += interval.untimed;
        if (!poll.blocks) return;
        cell_at<CommPart>(poll.index + kPartCells)->blocked_ticks += ticks;
        record->axis.sums.waiting_ticks += ticks;
        thread->delay.note_polled(began, ticks);
    });
    record->last_ticks = thread->last_ticks;
    thread->slow_overhead += g_process.untimed_cost_ticks;
    forget_untimed(thread);
}

void forget_untimed(Thread* thread) {
    for_each_untimed(thread, [](const Poll&, PollInterval& interval) { interval.untimed = 0; });
    thread->untimed_polls = 0;
}

void end_polls(Thread* thread, uint64_t now) {
    if (thread->untimed_polls != 0) record_untimed(thread, now);
    thread->untimed_left = 0;
}

void reset_polls(Thread* thread, uint64_t) { forget_untimed(thread); }

void stop_poll(Call* call) {
    call->end_ticks = now_ticks();
    call->slow_overhead = call->thread->slow_overhead;
    call->node = cell_at<Node>(call->index);
    call->part = cell_at<CommPart>(call->index + kPartCells);
    call->histogram = cell_at<SizeHistogram>(call->index + kHistogramOffsetCells);
    call->histogram->untimed += 1;
    call->after_untimed = false;
    call->events = 0;
    call->waited_ticks = call->bytes_sent = 0;
    call->inner_overhead = 0 - g_process.inner_cost_ticks;  // no stamp was taken at its start
    call->thread->calls += 1;
}

// Estimated as an unsuccessful poll and, as far as time is left, the cost of a matched receive.
void estimate_poll(Call* call, uint64_t bytes) {
    Thread* thread = call->thread;
    const Untimed before = untimed_of(thread);
    const uint64_t poll_ticks = call->poll->ticks.value();
    const uint64_t usual = lost_before(call) + before.cost() + before.polls + before.computation +
                           call->poll_interval->computation.value() + poll_ticks;
    const uint64_t all = call->end_ticks - thread->last_ticks;
    const uint64_t found = earlier(beyond(all, usual), matched_receive_ticks(bytes));
    call->ticks = earlier(poll_ticks + found, all);
    call->start_ticks = call->end_ticks - call->ticks;
    record_untimed_before(call);
}

// The cost of a poll beyond MPI's own work, measured with loads finished where MPI's work would be:
// work before and after MPI's does not overlap, but the end of a poll overlaps with the beginning
// of the next one, as in a polling loop. Without the fence 6 ns would be measured in place of 9
// to 11.
void calibrate_polls(const Frame* frame) {
    constexpr int kCalls = 10;
    constexpr int kRounds = 20;
    Thread* thread = t_thread;
    uint64_t best_inner = UINT64_MAX;
    // The minimum cost of a timed poll followed by `count` untimed ones.
    const auto cost_of = [&](uint32_t count, auto in_place_of_mpi) {
        uint64_t best = UINT64_MAX;
        for (int round = 0; round < kRounds; ++round) {
            uint64_t inner = 0;
            const uint64_t begin = now_ticks();
            for (int i = 0; i < kCalls; ++i) {
                Call call;
                if (!enter(&call, MpiCall::kSend, frame, kMpiForm)) continue;
                start(&call);
                stop(&call);
                record_event(&call, kRecvBlocked);
                remember_poll(&call, kRecvBlocked, true, nullptr, 0);
                leave(&call);
                inner += call.end_ticks - call.start_ticks;
                if (thread->last_poll != nullptr) thread->untimed_left = count;
                while (begin_poll(&call, MpiCall::kSend, frame, 0, nullptr)) {
                    in_place_of_mpi();
                    end_poll(&call);
                }
            }
            best = earlier(best, now_ticks() - begin);
            best_inner = earlier(best_inner, inner);
        }
        return best / kCalls;
    };
    const auto cost_of_poll = [&](auto in_place_of_mpi) {
        return beyond(cost_of(kUntimedPolls, in_place_of_mpi), cost_of(1, in_place_of_mpi)) /
               (kUntimedPolls - 1);
    };
    uint64_t fences = UINT64_MAX;
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t begin = now_ticks();
        for (uint32_t i = 0; i < kUntimedPolls; ++i) finish_loads();
        fences = earlier(fences, now_ticks() - begin);
    }
    const auto nothing = [] {};
    const uint64_t one = cost_of(1, nothing);
    const uint64_t known =
        g_process.call_cost_ticks + g_process.inner_cost_ticks + cost_of_poll(nothing);
    g_process.poll_inner_ticks = best_inner / kCalls;
    g_process.poll_cost_ticks = beyond(cost_of_poll(finish_loads), fences / kUntimedPolls);
    g_process.untimed_cost_ticks = beyond(one, known);
    if (thread->polls != nullptr) munmap(thread->polls, kPolls * sizeof(Poll));
}

}  // namespace dwell
