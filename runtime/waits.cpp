#include "runtime/waits.h"

#include "runtime/far_letters.h"
#include "runtime/far_meetings.h"
#include "runtime/file_limit.h"
#include "runtime/mpi_semantics.h"
#include "runtime/probes.h"
#include "runtime/wait_records.h"

namespace dwell {

namespace {

// In place of the least ticks that messages of a size travel: there was one so far. It made MPI
// touch memory that it had not used before, 20 microseconds here, and tells nothing of others.
constexpr uint32_t kOneTravelled = 1;

// What is told so soon after another thing is part of it: several messages in a row, or the starts
// of a halo's receives and its sends. Who waits for all of them does so because of what came
// before.
constexpr uint64_t kLeastRound_ns = 10'000;
DWELL_CALL_DATA uint64_t g_least_round_ticks = 0;

// The class of a size in Channel::travel.
int travel_class(uint64_t bytes) {
    const int bucket = size_bucket(bytes);
    return bucket < kTravelClasses ? bucket : kTravelClasses - 1;
}

// A wait, by what caused it: what a partner did itself, what made that one wait before, and what is
// not known.
struct Causes {
    uint64_t direct;
    uint64_t passed;
    uint64_t unknown;
};

// Nobody made others wait for longer with a computation than that lasted; nor itself (waits.h).
Causes causes_of(const Moment& said, uint64_t ticks) {
    Causes causes{};
    const bool is_cause = said.cause_peer == static_cast<uint32_t>(g_process.header->rank);
    if (said.cause_peer != kNoPeer && !is_cause)
        causes.passed = earlier(ticks, ticks_of(said.debt));
    const uint64_t rest = ticks - causes.passed;
    causes.direct = said.work != 0 ? earlier(rest, ticks_of(said.work)) : rest;
    causes.unknown = rest - causes.direct;
    if (causes.unknown <= causes.direct / 64) {  // both are measured, and one is cut off
        causes.direct = rest;
        causes.unknown = 0;
    }
    return causes;
}

// The thread comes out of waiting: what it computed before is made up for as far as it waited.
void make_up(Blame* blame, uint64_t ticks, uint64_t now) {
    blame->heaviest_ticks = beyond(blame->heaviest_ticks, ticks);
    blame->recent_ticks = beyond(blame->recent_ticks, ticks);
    const uint64_t worked = beyond(beyond(now, blame->work_since), ticks);
    blame->work_since = now - beyond(worked, ticks);
}

// It is late now because of what made it wait, by as much more as it was before if that was the
// same; unless it was little against what nobody has heard of, or against the last waiting. False:
// it was.
bool take_debt(Blame* blame, uint32_t cause_peer, uint32_t cause_path, uint64_t ticks,
               uint64_t now) {
    blame->owed_ticks += ticks;
    if (cause_peer != blame->cause_peer || cause_path != blame->cause_path) {
        if (ticks * 4 < (blame->debt_is_told ? blame->last_ticks : blame->debt_ticks)) return false;
        blame->debt_ticks = 0;
    }
    blame->debt_ticks += ticks;
    blame->last_ticks = ticks;
    blame->taken_at = now;
    blame->last_peer = kNoPeer;
    blame->cause_peer = cause_peer;
    blame->cause_path = cause_path;
    blame->debt_is_told = false;
    return true;
}

// It waited, but for whom is not known.
void take_unknown_debt(Blame* blame, uint64_t ticks, uint64_t now) {
    make_up(blame, ticks, now);
    take_debt(blame, kNoPeer, 0, ticks, now);
}

// It is late because of what it waited for `peer`, or of what made that one late.
bool take_debt_to(Blame* blame, uint32_t peer, const Moment& said, const Causes& causes,
                  uint64_t ticks, uint64_t now) {
    uint32_t cause_peer = peer;
    uint32_t cause_path = said.path;
    if (causes.passed * 2 >= ticks) {
        cause_peer = said.cause_peer;
        cause_path = said.cause_path;
    } else if (causes.unknown * 2 >= ticks) {
        cause_peer = kNoPeer;
        cause_path = 0;
    }
    if (!take_debt(blame, cause_peer, cause_path, ticks, now)) return false;
    blame->last_peer = peer;
    return true;
}

// Its polls have not found anything by now.
void give_up_polls(Blame* blame, uint64_t now) {
    if (blame->polled_ticks == 0) return;
    take_unknown_debt(blame, blame->polled_ticks, now);
    blame->polled_ticks = 0;
}

void book_causes(Thread* thread, uint32_t peer, const Moment& said, const Causes& causes) {
    book_cause(thread, peer, said.path, causes.direct, true);
    book_cause(thread, said.cause_peer, said.cause_path, causes.passed, false);
    book_unknown_cause(thread, causes.unknown);
}

// Null: nothing was ever said to that rank, or heard from it.
Channel* known_channel(uint32_t peer) {
    Channel* channel = peer < g_channel_count ? g_channels[peer] : nullptr;
    return channel != &g_no_channel ? channel : nullptr;
}

// The computation since the thread's last call is not booked yet.
void note_computation(Call* call, uint64_t ticks) {
    const Blame& blame = call->thread->blame;
    if (ticks <= blame.heaviest_ticks && ticks <= blame.recent_ticks) return;
    const CellIndex interval = interval_before(call->thread, call->index);
    if (interval != 0) note_work(call, interval, ticks);
}

}  // namespace

void open_waits(int world_size) {
    // Alone it waits for nobody, unless it meets another world (ranks.cpp).
    if (world_size < 2 && (g_process.header->flags & kFileSpawned) == 0) {
        g_process.header->flags |= kFileWaits;
    }
    if (g_process.options.wait == WaitMode::kOff || world_size < 2 || files_are_few()) return;
    name_first_comms(world_size);
    open_exchange(count_neighbours());
}

void finish_opening_waits() {
    g_least_round_ticks = kLeastRound_ns * g_process.header->ticks_per_second / 1'000'000'000u;
    const bool far = open_letters();
    if (!exchange_is_open() && !far) return;
    if (exchange_is_open()) unlink_exchange();
    if (open_channels(static_cast<uint32_t>(g_process.header->world_size))) {
        g_process.header->flags |= kFileWaits;
    }
    open_message_waits();
    if (far) open_far_meetings();
}

void begin_round(Call* call, uint32_t* told) {
    Blame* blame = &call->thread->blame;
    if (*told == blame->round && call->start_ticks - blame->round_ticks > g_least_round_ticks) {
        const uint64_t since = beyond(call->start_ticks, call->thread->last_ticks);
        note_computation(call, beyond(since, lost_so_far(call)));
        blame->heaviest_ticks = blame->recent_ticks;
        blame->path = blame->recent_path;
        blame->recent_ticks = 0;
        blame->round_ticks = call->start_ticks;
        blame->round += 1;
    }
    *told = blame->round;
}

Moment moment_of(Call* call) {
    stamp_virtual(call);
    give_up_polls(&call->thread->blame, call->start_ticks);
    return moment_while_polling(call);
}

Moment moment_while_polling(Call* call) {
    Thread* thread = call->thread;
    stamp_virtual(call);
    const uint64_t since = beyond(call->start_ticks, thread->last_ticks);
    note_computation(call, beyond(since, lost_so_far(call)));
    const Blame& blame = thread->blame;
    const uint64_t apart = beyond(call->start_ticks, blame.work_since);
    const uint64_t work = beyond(apart, blame.polled_ticks) | uint64_t{1} << kDebtShift;
    return {{call->start_ticks, call->start_virtual}, blame.path, kNoPeer, 0, 0, short_ticks(work)};
}

Debt debt_since(const Blame& blame, uint64_t told) {
    return {blame.cause_peer, blame.cause_path,
            earlier(blame.debt_ticks, beyond(blame.owed_ticks, told))};
}

void add_debt(Thread* thread, uint64_t* told, Moment* said) {
    Blame* blame = &thread->blame;
    const Debt news = debt_since(*blame, *told);
    if (news.ticks == 0) return;
    *told = blame->owed_ticks;
    blame->debt_is_told = true;
    show_debt(news, said);
}

uint64_t debt_known(const Call* call, const Channel* channel) {
    const bool in_round = call->start_ticks - channel->told_at <= g_least_round_ticks;
    return in_round ? channel->debt_before : channel->debt_told;
}

void add_debt_beyond(uint64_t known, Call* call, Channel* channel, Moment* said) {
    Blame* blame = &call->thread->blame;
    if (debt_since(*blame, known).ticks == 0) return;
    if (channel->in != nullptr) {
        known = later(known, __atomic_load_n(&channel->in->owed_heard, __ATOMIC_RELAXED));
    }
    const Debt news = debt_since(*blame, known);
    if (news.ticks == 0) return;
    if (call->start_ticks - channel->told_at > g_least_round_ticks) {
        channel->debt_before = known;
        channel->told_at = call->start_ticks;
    }
    channel->debt_told = blame->owed_ticks;
    blame->debt_is_told = true;
    show_debt(news, said);
}

void add_debt_to(Call* call, Channel* channel, Moment* said) {
    add_debt_beyond(debt_known(call, channel), call, channel, said);
}

void show_debt(const Debt& debt, Moment* said) {
    if (debt.ticks == 0) return;
    said->cause_peer = debt.cause_peer;
    said->cause_path = debt.cause_path;
    said->debt = short_ticks(debt.ticks);
}

uint64_t leave_out_common(const Debt& own, Moment* said) {
    if (said->cause_peer != own.cause_peer || said->cause_path != own.cause_path) return 0;
    const uint64_t debt = ticks_of(said->debt);
    const uint64_t common = earlier(debt, own.ticks);
    said->debt = short_ticks(debt - common);
    return common;
}

void forget_debt(Thread* thread, uint64_t now) {
    Blame* blame = &thread->blame;
    blame->work_since = now;
    blame->last_ticks = 0;
    blame->heaviest_ticks = 0;
    blame->recent_ticks = 0;
    blame->debt_ticks = 0;
    blame->polled_ticks = 0;
}

void book_wait(Call* call, WaitKind kind, uint32_t peer, const Moment& said, uint64_t ticks,
               const Level& level) {
    if (ticks == 0) return;
    Thread* thread = call->thread;
    WaitPart* part = wait_part(call);
    if (part == nullptr) {
        thread->record->dropped += 1;
        return;
    }
    const Causes causes = causes_of(said, ticks);
    call->part->sync_ticks += ticks;
    part->passed_on_ticks += causes.passed;
    const bool taken = kind == WaitKind::kLateTaker;
    if (kind != WaitKind::kCollective && !taken) book_peer_wait(call, peer, ticks);
    if (kind == WaitKind::kLateSender) part->late_sender_ticks += ticks;
    if (kind == WaitKind::kLateReceiver || taken) part->late_receiver_ticks += ticks;
    book_partner(call, part, peer, said.path, ticks, causes.passed);
    book_causes(thread, peer, said, causes);
    make_up(&thread->blame, ticks, call->end_ticks);
    const bool passed_on = causes.passed * 2 >= ticks;
    const bool owes = take_debt_to(&thread->blame, peer, said, causes, ticks, call->end_ticks);
    const uint64_t owed_ticks = thread->blame.owed_ticks;
    if (level.told != nullptr && (level.all || passed_on)) *level.told = owed_ticks;
    if (level.heard != nullptr) *level.heard = owed_ticks;
    // Who was waited for is as late as this thread is now.
    Channel* channel = known_channel(peer);
    if (channel == nullptr) return;
    if (owes) channel->debt_told = channel->debt_before = owed_ticks;
    if (kind == WaitKind::kLateSender || kind == WaitKind::kLateReceiver) {
        channel->debt_heard = owed_ticks;
    }
}

uint64_t Waiting::travelled(const Moment& said, uint64_t travel) const {
    return said.at.virt + earlier(travel, beyond(left_, said.at.real));
}

void Waiting::check_clock(WaitKind kind, const Moment& said) {
    // A receiver may come after the send's end: MPI took the message out in another call before.
    if (said.at.real > ended_ && kind != WaitKind::kLateReceiver) clock_error_ = true;
}

void Waiting::consider(uint64_t arrival, const Partner& partner) {
    if (arrival < arrival_) return;
    arrival_ = arrival;
    decisive_ = partner;
}

// All that a partner says in one call is new against what it said before that.
void Waiting::begin_hearing(Channel* channel) const {
    if (channel->heard_at == ended_) return;
    const Blame& blame = thread_->blame;
    channel->debt_heard_before =
        blame.taken_at > channel->heard_at ? channel->debt_heard : blame.owed_ticks;
    channel->said_before = channel->said_at;
    channel->heard_at = ended_;
    channel->debt_heard = blame.owed_ticks;
}

// What a partner said, as far as this thread has not been made as late since it heard that last.
Moment Waiting::heard_from(Channel* channel, const Moment& said) const {
    begin_hearing(channel);
    channel->said_at = later(channel->said_at, said.at.real);
    Moment heard = said;
    if (said.debt != 0) {
        leave_out_common(debt_since(thread_->blame, channel->debt_heard_before), &heard);
    }
    return heard;
}

// What of a receiver's debt this rank has not heard of. Of a debt that grew while it heard of a
// part of that it is known only that the rank has not waited longer since than it had time to.
Debt Waiting::news_in(Channel* channel, const Came& came) const {
    begin_hearing(channel);
    const Owing& owing = came.owing;
    if (owing.taken_at > came.said.at.real || owing.taken_at <= channel->said_before) return {};
    if (channel->owed_heard_at != ended_) {
        channel->owed_heard_before = channel->owed_heard;
        channel->owed_heard_at = ended_;
    }
    uint64_t news = earlier(owing.debt, beyond(owing.owed, channel->owed_heard_before));
    if (owing.last_peer == static_cast<uint32_t>(g_process.header->rank)) {
        news = beyond(news, owing.last);
    }
    if (news == 0) return {};
    channel->owed_heard = owing.owed;
    if (channel->out != nullptr) {
        __atomic_store_n(&channel->out->owed_heard, owing.owed, __ATOMIC_RELAXED);
    }
    return {owing.peer, owing.path, earlier(news, owing.taken_at - channel->said_before)};
}

void Waiting::add_message(Channel* channel, uint32_t peer, uint64_t bytes, const Moment& said) {
    const uint64_t found = found_cost_ticks(bytes);
    const uint32_t learnt = channel->travel[travel_class(bytes)];
    const uint32_t least = learnt == kOneTravelled ? 0 : learnt;
    const Partner sender{heard_from(channel, said), peer, WaitKind::kLateSender, {}};
    check_clock(sender.kind, said);
    consider(travelled(said, least != 0 ? least : found), sender);
    until_ = later(until_, said.at.real + beyond(least, found));
    found_ticks_ += found;
    messages_ += 1;
    if (last_channel_ != nullptr && said.at.real < last_.said.at.real) return;
    last_ = sender;
    last_channel_ = channel;
    last_bytes_ = bytes;
}

void Waiting::add_meeting(WaitKind kind, uint32_t peer, const Moment& said, const Level& level) {
    const bool is_message = kind == WaitKind::kLateSender || kind == WaitKind::kLateReceiver;
    Channel* channel = is_message ? known_channel(peer) : nullptr;
    check_clock(kind, said);
    until_ = later(until_, said.at.real);
    const bool is_latest = met_ == 0 || said.at.virt > latest_.said.at.virt;
    const Partner partner{channel != nullptr ? heard_from(channel, said) : said, peer, kind, level};
    if (is_latest) latest_ = partner;
    met_ = later(met_, said.at.real);
    meetings_ += 1;
}

void Waiting::add_arrival(Channel* channel, uint32_t peer, const Came& came) {
    Moment said = came.said;
    show_debt(news_in(channel, came), &said);
    add_meeting(WaitKind::kLateReceiver, peer, said);
}

void Waiting::add_estimated(Channel* channel, uint32_t peer, uint64_t bytes) {
    found_ticks_ += found_cost_ticks(bytes);
    estimated_channel_ = channel;
    estimated_peer_ = peer;
    estimated_bytes_ = bytes;
}

// A call that blocked for such a message: at its end the thread has lost what the partner has, if
// that is more than it lost itself, and the message was on its way for as long as others.
bool Waiting::estimate() {
    const FarChannel& far = *estimated_channel_->far;
    const uint32_t travel = far.usual_travel[travel_class(estimated_bytes_)];
    uint64_t lost = 0;
    if (travel == 0 || !lost_by_partner(far, left_ - travel, &lost)) return false;
    const uint64_t arrival = left_ - later(lost, entered_.real - entered_.virt);
    const Instant sent{left_ - travel, arrival - travel};
    until_ = later(until_, left_ - earlier(travel, found_cost_ticks(estimated_bytes_)));
    consider(arrival,
             {{sent, far.last.path, kNoPeer, 0, 0}, estimated_peer_, WaitKind::kLateSender, {}});
    return true;
}

// The polls before a call that found a message waited for that until it was sent: known is only
// what the call itself waited, so they are booked under no cause, but make the thread late.
void Waiting::settle_polls(uint64_t now) {
    Blame* blame = &thread_->blame;
    const uint64_t polled = blame->polled_ticks;
    const bool met_one =
        met_ != 0 && latest_.kind != WaitKind::kCollective && latest_.kind != WaitKind::kLateTaker;
    if (last_channel_ == nullptr && !met_one) {
        give_up_polls(blame, now);
        return;
    }
    const Partner& partner = last_channel_ != nullptr ? last_ : latest_;
    const uint64_t waited = earlier(polled, beyond(partner.said.at.real, blame->polled_from));
    blame->polled_ticks = 0;
    if (waited == 0) return;
    make_up(blame, waited, now);
    take_debt_to(blame, partner.peer, partner.said, causes_of(partner.said, waited), waited, now);
}

bool Waiting::settle_times(Call* call, bool blocked) {
    if (thread_->blame.polled_ticks != 0) [[unlikely]]
        settle_polls(call->end_ticks);
    if (blocked) unknown_ += later_;
    if (estimated_channel_ != nullptr) {
        if (!blocked) {
            messages_ += 1;  // it was there
        } else if (estimate()) {
            meetings_ += 1;
            WaitPart* part = wait_part(call);
            if (part != nullptr) count_up(&part->estimated);
        } else {
            unknown_ += 1;
        }
    }
    if (unknown_ != 0 || guessed_ != 0) {
        WaitPart* part = wait_part(call);
        if (part != nullptr) {
            if (unknown_ != 0) count_up(&part->unknown);
            count_up(&part->guessed, guessed_);
        }
    }
    if (messages_ + meetings_ == 0) {
        const uint64_t elapsed = beyond(left_, entered_.real);
        if (unknown_ != 0) take_unknown_debt(&thread_->blame, elapsed, call->end_ticks);
        return unknown_ == 0;
    }
    if (clock_error_) call->thread->record->clock_errors += 1;
    const uint64_t elapsed = beyond(left_, entered_.real);
    uint64_t virt = entered_.virt;
    if (messages_ != 0) {
        const uint64_t worked = beyond(left_, later(until_, entered_.real));
        virt += earlier(later(worked, found_ticks_), elapsed);
    }
    // What comes after the last of all partners takes as long as it took, whoever that was.
    if (met_ != 0) {
        const Instant met{until_, latest_.said.at.virt};
        consider(meeting_ending(entered_, left_, met).virt, latest_);
    }
    // Its receiver was there before the message was sent, and waited for nobody after that.
    if (last_channel_ != nullptr && last_.said.at.real >= later(entered_.real, met_)) {
        uint32_t* least = &last_channel_->travel[travel_class(last_bytes_)];
        const uint64_t travel = beyond(left_, last_.said.at.real);
        if (last_channel_->far == nullptr && *least == 0) {
            *least = kOneTravelled;
        } else {
            *least = least_travel(*least == kOneTravelled ? 0 : *least, travel);
        }
        if (last_channel_->far != nullptr && travel < UINT32_MAX) {
            note_travel(last_channel_->far, travel_class(last_bytes_),
                        static_cast<uint32_t>(travel));
        }
        consider(travelled(last_.said, travel), last_);
    }
    const uint64_t end = earlier(later(virt, arrival_), left_);
    const Ending ending = ending_at(entered_, end, decisive_.said.at.virt);
    call->ticks = ending.virt - entered_.virt;
    sync_ = own_sync_ = ending.sync;
    if (unseen_.messages != 0) [[unlikely]] {
        const uint64_t sent = beyond(decisive_.said.at.virt, entered_.virt);
        const Waited waited = waits_after(unseen_, call->ticks, sent);
        own_sync_ = waited.own;
        sync_ = waited.all;
    }
    book_wait(call, decisive_.kind, decisive_.peer, decisive_.said, sync_, decisive_.level);
    if (unknown_ != 0) {
        take_unknown_debt(&thread_->blame, beyond(elapsed, sync_), call->end_ticks);
    }
    if (open_ && sync_ != 0 && call->part->wait != 0) {
        count_up(&cell_at<WaitPart>(call->part->wait)->estimated);
    }
    return unknown_ == 0;
}

}  // namespace dwell
