// The wait of one call: its virtual duration, the partner that decided it, and its root causes.
#include "runtime/waitstates/waits.h"

#include "runtime/calls/matched_receive.h"
#include "runtime/exchange/timeline.h"
#include "runtime/hosts/piggyback.h"
#include "runtime/measure/processor_time.h"
#include "runtime/probes/probes.h"
#include "runtime/process/file_limit.h"
#include "runtime/waitstates/collectives.h"
#include "runtime/waitstates/remote_collectives.h"
#include "runtime/waitstates/wait_records.h"

namespace dwell {

namespace {

// In Channel::transfer_time: one message so far. MPI then touched new memory, which took 20
// microseconds here, so the first value is not used.
constexpr uint32_t kOneTransferred = 1;

// Stamps less than this apart belong to one round, such as the starts of a halo exchange: a wait
// for any of them is due to the computation before the round.
constexpr uint64_t kLeastRound_ns = 10'000;
DWELL_CALL_DATA uint64_t g_least_round_ticks = 0;
// For shorter waits timelines are not compared: the partner's last computation is the cause.
constexpr uint64_t kLeastCompared_ns = 2000;
DWELL_CALL_DATA uint64_t g_least_compared_ticks = 0;
constexpr uint32_t kMostCauses = 4;  // causes of one wait in the timeline, the largest first

// The size class in Channel::transfer_time.
int transfer_class(uint64_t bytes) {
    const int bucket = size_bucket(bytes);
    return bucket < kTransferClasses ? bucket : kTransferClasses - 1;
}

// The delay as the partner's stamp reports it. A root cause rank cannot have waited because of
// itself.
Shares reported_delay(uint32_t peer, const EnterStamp& stamp, uint64_t ticks) {
    Shares reported;
    const bool passes_on = stamp.root_cause_rank != kNoPeer && stamp.root_cause_rank != own_rank();
    const uint64_t delay_cost = passes_on ? ticks_of(stamp.delay_cost) : 0;
    if (delay_cost != 0) reported.add(stamp.root_cause_rank, stamp.root_cause_path, delay_cost);
    if (stamp.path == 0) return reported;
    reported.add(peer, stamp.path,
                 stamp.work != 0 ? ticks_of(stamp.work) : beyond(ticks, delay_cost));
    return reported;
}

// The delay of a late rank against the rank that waited for it.
struct Delay {
    Shares late;     // causes that only the late rank has
    Shares own;      // causes that only the waiting rank has
    uint64_t since;  // when both were last in step
    uint32_t path;
};

Delay delay_of(uint32_t peer, const EnterStamp& stamp, const Wait& wait) {
    const uint64_t ticks = wait.end - wait.begin;
    if (ticks < g_least_compared_ticks || g_own_timeline == nullptr) {
        return {reported_delay(peer, stamp, ticks), {}, wait.begin, stamp.path};
    }
    Delay delay{};
    const Timeline* seen = timeline_of(peer);
    if (seen != nullptr) {
        delay.since = last_in_step(*g_own_timeline, *seen, wait);
        delay.late = parts_between(*seen, delay.since, wait.end);
    } else {
        delay.since = last_in_step(*g_own_timeline, wait);
        delay.late = reported_delay(peer, stamp, ticks);
    }
    const Share* longest = delay.late.largest_of(peer);
    delay.path = longest != nullptr ? longest->path : stamp.path;
    delay.own = parts_between(*g_own_timeline, delay.since, wait.begin);
    leave_delay(wait, &delay.own, &delay.late);
    return delay;
}

// A wait divided by its causes.
struct RecordedDelay {
    uint64_t indirect_ticks;  // indirect wait: not due to the partner itself
    uint32_t path;
};

// Also adds the causes to the timeline. `counted` is false for polls, whose waiting is an estimate.
RecordedDelay record_delay(Thread* thread, uint32_t peer, const EnterStamp& stamp, uint64_t begin,
                           uint64_t ticks, bool counted) {
    const Wait wait{own_rank(), peer, begin, begin + ticks};
    Delay delay = delay_of(peer, stamp, wait);
    RecordedDelay recorded{0, delay.path};
    Share causes[kMostCauses];
    uint32_t count = 0;
    uint64_t unknown = ticks;
    while (count < kMostCauses && delay.late.take_largest(unknown, &causes[count])) {
        unknown -= causes[count++].ticks;
    }
    if (delay.since < begin && writes_timeline(thread))
        rename_waits(g_own_timeline, delay.since, &delay.own, &delay.late);
    for (const Share* cause = causes; cause != causes + count; ++cause) {
        if (cause->rank == kNoPeer) {
            unknown += cause->ticks;
            continue;
        }
        const bool direct = cause->rank == peer;
        if (!direct) recorded.indirect_ticks += cause->ticks;
        if (counted) record_cause(thread, cause->rank, cause->path, cause->ticks, direct);
        write_part(thread, {begin, wait.end, cause->ticks, cause->rank, cause->path, peer, 0});
    }
    if (counted) record_unknown_cause(thread, unknown);
    if (unknown != 0) write_part(thread, {begin, wait.end, unknown, kNoPeer, 0, peer, 0});
    return recorded;
}

// The thread waited until the virtual time `end` for an unknown rank.
void note_unknown_wait(Thread* thread, uint64_t end, uint64_t ticks) {
    if (ticks == 0) return;
    write_part(thread, {end - ticks, end, ticks, kNoPeer, 0, kSomebody, 0});
}

// Earlier polls have found nothing until the virtual time `end`.
void give_up_polls(Thread* thread, uint64_t end) {
    note_unknown_wait(thread, end, thread->delay.polled_ticks);
    thread->delay.polled_ticks = 0;
}

// Adds the computation since the thread's last call to the timeline, if it is not there yet. After
// stamp_virtual().
void note_computation(Call* call) {
    Thread* thread = call->thread;
    const uint64_t last_virtual = thread->last_ticks - thread->record->intrusion_ticks;
    const uint64_t ticks = call->start_virtual - last_virtual;
    if (ticks < g_least_part_ticks || thread->delay.stamped_at > thread->last_ticks) return;
    const CellIndex interval = interval_before(thread, call->index);
    if (interval == 0) return;
    const uint64_t slow_overhead = thread->slow_overhead;
    const uint64_t lost_ticks = thread->processor.lost_ticks;
    note_new_work(thread, interval, ticks, call->start_ticks, call->start_virtual);
    thread->slow_overhead = slow_overhead;  // begin_work() accounts for it
    // Where ranks share processors, the reading is where a thread often loses its own. It would
    // have lost it in the call, waiting.
    call->lost_ticks = thread->processor.lost_ticks - lost_ticks;
}

}  // namespace

void open_waits(int world_size) {
    g_release_collective = release_collective;
    // A single rank waits for nobody, unless it connects to another world (note_world).
    if (world_size < 2 && (g_process.header->flags & kFileSpawned) == 0) {
        g_process.header->flags |= kFileWaits;
    }
    if (g_process.options.wait == WaitMode::kOff || world_size < 2 || files_are_few()) return;
    define_first_comms(world_size);
    open_exchange(count_local_ranks());
}

void finish_opening_waits() {
    const uint64_t frequency = g_process.header->ticks_per_second;
    g_least_round_ticks = kLeastRound_ns * frequency / 1'000'000'000u;
    g_least_compared_ticks = kLeastCompared_ns * frequency / 1'000'000'000u;
    const bool remote = open_piggyback(put_notice);
    if (!exchange_is_open() && !remote) return;
    if (exchange_is_open()) unlink_exchange();
    if (open_channels(static_cast<uint32_t>(g_process.header->world_size))) {
        g_process.header->flags |= kFileWaits;
        keep_definitions(remote);
        open_timelines(static_cast<uint32_t>(g_process.header->world_size));
        open_processor_time(t_thread);
    }
    open_message_waits();
    if (remote) open_remote_collectives();
}

EnterStamp make_enter_stamp(Call* call) {
    if (call->thread->delay.polled_ticks != 0) [[unlikely]] {
        stamp_virtual(call);
        give_up_polls(call->thread, call->start_virtual);
    }
    return make_stamp_while_polling(call);
}

EnterStamp make_stamp_while_polling(Call* call) {
    stamp_virtual(call);
    note_computation(call);
    const DelayState& delay = call->thread->delay;
    const DualTime at{call->start_ticks, call->start_virtual};
    if (beyond(call->start_ticks, delay.stamped_at) > g_least_round_ticks)
        return {at, 0, kNoPeer, 0, 0};
    const uint64_t work = delay.last_ticks | uint64_t{1} << kShortTicksShift;
    return {at, delay.last_path, kNoPeer, 0, 0, short_ticks(work)};
}

void add_delay(uint32_t peer, StampedUntil* stamped_until, EnterStamp* stamp) {
    if (g_own_timeline == nullptr) return;
    const uint64_t now = stamp->at.virt;
    if (now - stamped_until->round > g_least_round_ticks)
        *stamped_until = {now, stamped_until->round};
    const Wait wait{own_rank(), peer, now, now};
    const uint64_t since = later(stamped_until->before, last_in_step(*g_own_timeline, wait));
    const Shares parts = parts_between(*g_own_timeline, since, now);
    const Share* work = parts.largest_of(wait.own_rank);
    const Share* cause = parts.largest_but(wait.own_rank);
    stamp->path = work != nullptr ? work->path : 0;
    stamp->work = work != nullptr ? short_ticks(work->ticks | uint64_t{1} << kShortTicksShift) : 0;
    if (cause == nullptr) return;
    stamp->root_cause_rank = cause->rank;
    stamp->root_cause_path = cause->path;
    stamp->delay_cost = short_ticks(cause->ticks);
}

void note_together(Thread* thread, uint64_t end, uint32_t comm) {
    write_part(thread, {end, end, 0, kNoPeer, comm, kTogether, 0});
}

void record_wait(Call* call, WaitKind kind, uint32_t peer, const EnterStamp& stamp,
                 uint64_t ticks) {
    if (ticks == 0) return;
    Thread* thread = call->thread;
    WaitPart* part = wait_part(call);
    if (part == nullptr) {
        thread->record->dropped += 1;
        return;
    }
    call->part->sync_ticks += ticks;
    call->waited_ticks += ticks;
    const bool in_collective = kind == WaitKind::kLateCollectiveReceiver;
    if (kind != WaitKind::kCollective && !in_collective) record_peer_wait(call, peer, ticks);
    if (kind == WaitKind::kLateSender) part->late_sender_ticks += ticks;
    if (kind == WaitKind::kLateReceiver || in_collective) part->late_receiver_ticks += ticks;
    const RecordedDelay recorded =
        record_delay(thread, peer, stamp, call->start_virtual, ticks, true);
    part->indirect_wait_ticks += recorded.indirect_ticks;
    record_partner(call, part, peer, recorded.path, ticks, recorded.indirect_ticks);
}

void Waiting::check_clock(WaitKind kind, const EnterStamp& stamp) {
    // A receiver may enter after the send's end: MPI copied the message in an earlier call.
    if (stamp.at.real > ended_ && kind != WaitKind::kLateReceiver) clock_error_ = true;
}

void Waiting::consider(uint64_t arrival, const Partner& partner) {
    if (arrival < arrival_) return;
    arrival_ = arrival;
    decisive_ = partner;
}

void Waiting::add_message(Channel* channel, uint32_t peer, uint64_t bytes,
                          const EnterStamp& stamp) {
    const uint64_t found = matched_receive_ticks(bytes);
    const uint32_t learnt = channel->transfer_time[transfer_class(bytes)];
    const uint32_t least = learnt == kOneTransferred ? 0 : learnt;
    const Partner sender{stamp, peer, WaitKind::kLateSender};
    check_clock(sender.kind, stamp);
    consider(arrival_of(stamp.at, left_, least != 0 ? least : found), sender);
    until_ = later(until_, stamp.at.real + beyond(least, found));
    unblocked_ticks_ += found;
    messages_ += 1;
    if (last_channel_ != nullptr && stamp.at.real < last_.stamp.at.real) return;
    last_ = sender;
    last_channel_ = channel;
    last_bytes_ = bytes;
}

void Waiting::add_collective(WaitKind kind, uint32_t peer, const EnterStamp& stamp) {
    check_clock(kind, stamp);
    until_ = later(until_, stamp.at.real);
    const bool is_latest = latest_real_ == 0 || stamp.at.virt > latest_.stamp.at.virt;
    if (is_latest) latest_ = {stamp, peer, kind};
    latest_real_ = later(latest_real_, stamp.at.real);
    collectives_ += 1;
}

void Waiting::add_estimated(Channel* channel, uint32_t peer, uint64_t bytes) {
    unblocked_ticks_ += matched_receive_ticks(bytes);
    estimated_channel_ = channel;
    estimated_peer_ = peer;
    estimated_bytes_ = bytes;
}

// A receive that blocked for a message without a stamp. Afterwards the thread has lost at least as
// much time as its partner; the transfer time is the usual one.
bool Waiting::estimate() {
    const RemoteChannel& remote = *estimated_channel_->remote;
    const uint32_t transfer_time = remote.usual_transfer[transfer_class(estimated_bytes_)];
    uint64_t lost = 0;
    if (transfer_time == 0 || !lost_by_partner(remote, left_ - transfer_time, &lost)) return false;
    const uint64_t arrival = left_ - later(lost, entered_.real - entered_.virt);
    const DualTime sent{left_ - transfer_time, arrival - transfer_time};
    until_ = later(until_, left_ - earlier(transfer_time, matched_receive_ticks(estimated_bytes_)));
    consider(arrival,
             {{sent, remote.last.path, kNoPeer, 0, 0}, estimated_peer_, WaitKind::kLateSender});
    return true;
}

// Polls before a call that found its message waited until that was sent. Only the call's own wait
// is recorded by cause; the polls' wait goes to the timeline, as it delays the thread.
void Waiting::classify_polls() {
    DelayState* delay = &thread_->delay;
    const uint64_t polled = delay->polled_ticks;
    delay->polled_ticks = 0;
    const bool has_partner = latest_real_ != 0 && latest_.kind != WaitKind::kCollective &&
                             latest_.kind != WaitKind::kLateCollectiveReceiver;
    if (last_channel_ == nullptr && !has_partner) {
        note_unknown_wait(thread_, entered_.virt, polled);
        return;
    }
    const Partner& partner = last_channel_ != nullptr ? last_ : latest_;
    const uint64_t waited = earlier(polled, beyond(partner.stamp.at.real, delay->polled_from));
    if (waited == 0) return;
    const uint64_t sent = earlier(partner.stamp.at.virt, entered_.virt);
    record_delay(thread_, partner.peer, partner.stamp, sent - waited, waited, false);
}

bool Waiting::classify_times(Call* call, bool blocked) {
    if (thread_->delay.polled_ticks != 0) [[unlikely]]
        classify_polls();
    if (blocked) unknown_ += later_;
    if (estimated_channel_ != nullptr) {
        if (!blocked) {
            messages_ += 1;  // the message was there
        } else if (estimate()) {
            collectives_ += 1;
            WaitPart* part = wait_part(call);
            if (part != nullptr) count_up(&part->estimated);
        } else {
            unknown_ += 1;
        }
    }
    if ((unknown_ | guessed_) != 0) {
        WaitPart* part = wait_part(call);
        if (part != nullptr) {
            if (unknown_ != 0) count_up(&part->unknown);
            count_up(&part->guessed, guessed_);
        }
    }
    if (messages_ + collectives_ == 0) {
        const uint64_t elapsed = beyond(left_, entered_.real);
        if (unknown_ != 0) note_unknown_wait(thread_, entered_.virt + elapsed, elapsed);
        return unknown_ == 0;
    }
    if (clock_error_) call->thread->record->clock_errors += 1;
    const uint64_t elapsed = beyond(left_, entered_.real);
    uint64_t work_end = entered_.virt;
    if (messages_ != 0) {
        const uint64_t worked = beyond(left_, later(until_, entered_.real));
        work_end = end_of_work(entered_, left_, later(worked, unblocked_ticks_));
    }
    // The time after the last of all partners stays as it was.
    if (latest_real_ != 0) {
        const DualTime met{until_, latest_.stamp.at.virt};
        consider(collective_ending(entered_, left_, met).virt, latest_);
    }
    // The receiver was there before the message was sent and waited for nobody else, so the
    // transfer time is known.
    if (last_channel_ != nullptr && last_.stamp.at.real >= later(entered_.real, latest_real_)) {
        uint32_t* least = &last_channel_->transfer_time[transfer_class(last_bytes_)];
        const uint64_t transfer_time = beyond(left_, last_.stamp.at.real);
        if (last_channel_->remote == nullptr && *least == 0) {
            *least = kOneTransferred;
        } else {
            *least = least_transfer(*least == kOneTransferred ? 0 : *least, transfer_time);
        }
        if (last_channel_->remote != nullptr && transfer_time < UINT32_MAX) {
            update_transfer(last_channel_->remote, transfer_class(last_bytes_),
                            static_cast<uint32_t>(transfer_time));
        }
        consider(arrival_of(last_.stamp.at, left_, transfer_time), last_);
    }
    const Ending ending =
        ending_after(entered_, left_, work_end, arrival_, decisive_.stamp.at.virt);
    call->ticks = ending.virt - entered_.virt;
    sync_ = own_sync_ = ending.sync;
    if (skipped_.messages != 0) [[unlikely]] {
        const uint64_t sent = beyond(decisive_.stamp.at.virt, entered_.virt);
        const Waited waited = waits_after(skipped_, call->ticks, sent);
        own_sync_ = waited.own;
        sync_ = waited.all;
    }
    record_wait(call, decisive_.kind, decisive_.peer, decisive_.stamp, sync_);
    if (call->ticks >= g_long_part_ticks) [[unlikely]]
        lost_ = note_long_call(thread_, call->ticks, sync_);
    if ((unknown_ | uint32_t{open_}) == 0) [[likely]]
        return true;
    if (unknown_ != 0) {
        note_unknown_wait(thread_, entered_.virt + elapsed, beyond(elapsed, sync_));
    }
    if (open_ && sync_ != 0 && call->part->wait != 0) {
        count_up(&cell_at<WaitPart>(call->part->wait)->estimated);
    }
    return unknown_ == 0;
}

}  // namespace dwell
