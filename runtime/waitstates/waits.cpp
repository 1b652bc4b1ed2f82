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

// In place of the least ticks that messages of a size travel: there was one so far. It made MPI
// touch memory that it had not used before, 20 microseconds here, and tells nothing of others.
constexpr uint32_t kOneTransferred = 1;

// What is told so soon after another thing is part of it: several messages in a row, or the starts
// of a halo's receives and its sends. Who waits for all of them does so because of what came
// before.
constexpr uint64_t kLeastRound_ns = 10'000;
DWELL_CALL_DATA uint64_t g_least_round_ticks = 0;
// Timelines are not compared for less, which is due to what the partner did just before.
constexpr uint64_t kLeastCompared_ns = 2000;
DWELL_CALL_DATA uint64_t g_least_compared_ticks = 0;
constexpr uint32_t kMostCauses = 4;  // of a wait in the timeline, the largest first

// The class of a size in Channel::travel.
int transfer_class(uint64_t bytes) {
    const int bucket = size_bucket(bytes);
    return bucket < kTransferClasses ? bucket : kTransferClasses - 1;
}

// What the partner itself told of its delay. Who caused that did not wait because of it.
Shares told_by(uint32_t peer, const EnterStamp& stamp, uint64_t ticks) {
    Shares sent_stamp;
    const bool passes_on = stamp.root_cause_rank != kNoPeer && stamp.root_cause_rank != own_rank();
    const uint64_t debt = passes_on ? ticks_of(stamp.debt) : 0;
    if (debt != 0) sent_stamp.add(stamp.root_cause_rank, stamp.root_cause_path, debt);
    if (stamp.path == 0) return sent_stamp;
    sent_stamp.add(peer, stamp.path, stamp.work != 0 ? ticks_of(stamp.work) : beyond(ticks, debt));
    return sent_stamp;
}

// A rank that was waited for, beside the one that waited.
struct Delay {
    Shares late;     // by what it was later
    Shares own;      // what that was not
    uint64_t since;  // when both were last in step
    uint32_t doing;
};

Delay delay_of(uint32_t peer, const EnterStamp& stamp, const Wait& wait) {
    const uint64_t ticks = wait.end - wait.begin;
    if (ticks < g_least_compared_ticks || g_own_timeline == nullptr) {
        return {told_by(peer, stamp, ticks), {}, wait.begin, stamp.path};
    }
    Delay delay{};
    const Timeline* seen = timeline_of(peer);
    if (seen != nullptr) {
        delay.since = last_in_step(*g_own_timeline, *seen, wait);
        delay.late = parts_between(*seen, delay.since, wait.end);
    } else {
        delay.since = last_in_step(*g_own_timeline, wait);
        delay.late = told_by(peer, stamp, ticks);
    }
    const Share* longest = delay.late.largest_of(peer);
    delay.doing = longest != nullptr ? longest->path : stamp.path;
    delay.own = parts_between(*g_own_timeline, delay.since, wait.begin);
    leave_delay(wait, &delay.own, &delay.late);
    return delay;
}

// A wait by its causes.
struct Booked {
    uint64_t passed_on;  // not due to the partner itself
    uint32_t doing;
};

// Also makes it parts of the timeline. Not `counted`: as in polls, whose waiting is an estimate.
Booked record_delay(Thread* thread, uint32_t peer, const EnterStamp& stamp, uint64_t begin,
                    uint64_t ticks, bool counted) {
    const Wait wait{own_rank(), peer, begin, begin + ticks};
    Delay delay = delay_of(peer, stamp, wait);
    Booked booked{0, delay.doing};
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
        if (!direct) booked.passed_on += cause->ticks;
        if (counted) record_cause(thread, cause->rank, cause->path, cause->ticks, direct);
        write_part(thread, {begin, wait.end, cause->ticks, cause->rank, cause->path, peer, 0});
    }
    if (counted) record_unknown_cause(thread, unknown);
    if (unknown != 0) write_part(thread, {begin, wait.end, unknown, kNoPeer, 0, peer, 0});
    return booked;
}

// The thread waited until the virtual time `end`, but for whom is not known.
void note_unknown_wait(Thread* thread, uint64_t end, uint64_t ticks) {
    if (ticks == 0) return;
    write_part(thread, {end - ticks, end, ticks, kNoPeer, 0, kSomebody, 0});
}

// Its polls have not found anything until the virtual time `end`.
void give_up_polls(Thread* thread, uint64_t end) {
    note_unknown_wait(thread, end, thread->delay.polled_ticks);
    thread->delay.polled_ticks = 0;
}

// The computation since the thread's last call is not booked yet. After stamp_virtual().
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
    thread->slow_overhead = slow_overhead;  // what that took is known by begin_work()
    // So much later a thread calls that lost its processor meanwhile.
    const uint64_t late = thread->processor.lost_ticks - lost_ticks;
    call->start_ticks += late;
    call->start_virtual += late;
    thread->delay.stamped_at += late;
}

}  // namespace

void open_waits(int world_size) {
    g_release_collective = release_collective;
    // Alone it waits for nobody, unless it meets another world (note_world).
    if (world_size < 2 && (g_process.header->flags & kFileSpawned) == 0) {
        g_process.header->flags |= kFileWaits;
    }
    if (g_process.options.wait == WaitMode::kOff || world_size < 2 || files_are_few()) return;
    name_first_comms(world_size);
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
        keep_names(remote);
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
    const uint64_t work = delay.last_ticks | uint64_t{1} << kDebtShift;
    return {at, delay.last_path, kNoPeer, 0, 0, short_ticks(work)};
}

void add_delay(uint32_t peer, StampedUntil* sent_stamp, EnterStamp* stamp) {
    if (g_own_timeline == nullptr) return;
    const uint64_t now = stamp->at.virt;
    if (now - sent_stamp->round > g_least_round_ticks) *sent_stamp = {now, sent_stamp->round};
    const Wait wait{own_rank(), peer, now, now};
    const uint64_t since = later(sent_stamp->before, last_in_step(*g_own_timeline, wait));
    const Shares parts = parts_between(*g_own_timeline, since, now);
    const Share* work = parts.largest_of(wait.own_rank);
    const Share* cause = parts.largest_but(wait.own_rank);
    stamp->path = work != nullptr ? work->path : 0;
    stamp->work = work != nullptr ? short_ticks(work->ticks | uint64_t{1} << kDebtShift) : 0;
    if (cause == nullptr) return;
    stamp->root_cause_rank = cause->rank;
    stamp->root_cause_path = cause->path;
    stamp->debt = short_ticks(cause->ticks);
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
    const bool taken = kind == WaitKind::kLateCollectiveReceiver;
    if (kind != WaitKind::kCollective && !taken) record_peer_wait(call, peer, ticks);
    if (kind == WaitKind::kLateSender) part->late_sender_ticks += ticks;
    if (kind == WaitKind::kLateReceiver || taken) part->late_receiver_ticks += ticks;
    const Booked booked = record_delay(thread, peer, stamp, call->start_virtual, ticks, true);
    part->indirect_wait_ticks += booked.passed_on;
    record_partner(call, part, peer, booked.doing, ticks, booked.passed_on);
}

uint64_t Waiting::transferred(const EnterStamp& stamp, uint64_t transfer_time) const {
    return stamp.at.virt + earlier(transfer_time, beyond(left_, stamp.at.real));
}

void Waiting::check_clock(WaitKind kind, const EnterStamp& stamp) {
    // A receiver may come after the send's end: MPI took the message out in another call before.
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
    consider(transferred(stamp, least != 0 ? least : found), sender);
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
    const bool is_latest = met_ == 0 || stamp.at.virt > latest_.stamp.at.virt;
    if (is_latest) latest_ = {stamp, peer, kind};
    met_ = later(met_, stamp.at.real);
    collectives_ += 1;
}

void Waiting::add_estimated(Channel* channel, uint32_t peer, uint64_t bytes) {
    unblocked_ticks_ += matched_receive_ticks(bytes);
    estimated_channel_ = channel;
    estimated_peer_ = peer;
    estimated_bytes_ = bytes;
}

// A call that blocked for such a message: at its end the thread has lost what the partner has, if
// that is more than it lost itself, and the message was on its way for as long as others.
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

// The polls before a call that found a message waited for that until it was sent: known is only
// what the call itself waited, so they are booked under no cause, but make the thread late.
void Waiting::classify_polls() {
    DelayState* delay = &thread_->delay;
    const uint64_t polled = delay->polled_ticks;
    delay->polled_ticks = 0;
    const bool met_one = met_ != 0 && latest_.kind != WaitKind::kCollective &&
                         latest_.kind != WaitKind::kLateCollectiveReceiver;
    if (last_channel_ == nullptr && !met_one) {
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
            messages_ += 1;  // it was there
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
    uint64_t virt = entered_.virt;
    if (messages_ != 0) {
        const uint64_t worked = beyond(left_, later(until_, entered_.real));
        virt += earlier(later(worked, unblocked_ticks_), elapsed);
    }
    // What comes after the last of all partners takes as long as it took, whoever that was.
    if (met_ != 0) {
        const DualTime met{until_, latest_.stamp.at.virt};
        consider(collective_ending(entered_, left_, met).virt, latest_);
    }
    // Its receiver was there before the message was sent, and waited for nobody after that.
    if (last_channel_ != nullptr && last_.stamp.at.real >= later(entered_.real, met_)) {
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
        consider(transferred(last_.stamp, transfer_time), last_);
    }
    const uint64_t end = earlier(later(virt, arrival_), left_);
    const Ending ending = ending_at(entered_, end, decisive_.stamp.at.virt);
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
