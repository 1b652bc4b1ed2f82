// The wait analysis of messages between two ranks: what wrappers and requests say and hear.
#include "runtime/calls/call_order.h"
#include "runtime/calls/found_cost.h"
#include "runtime/mpi/datatypes.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/mpi/ranks.h"
#include "runtime/waitstates/far_messages.h"
#include "runtime/waitstates/late_receivers.h"
#include "runtime/waitstates/meetings.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

namespace {

DWELL_CALL_DATA Series g_series;

constexpr int kMostAnswered = 64;  // channels that a receive from any source looks at

// The bytes of a type that was used before; UINT64_MAX when nothing is known of the handle.
uint64_t known_bytes(const Thread* thread, MPI_Datatype type, int count) {
    const auto handle = reinterpret_cast<uintptr_t>(type);
    const TypeEntry& entry = thread->types[place_in(kTypeBits, handle)];
    const bool known =
        entry.type == handle && entry.epoch == g_process.type_epoch.load(std::memory_order_relaxed);
    return known ? as_count(count) * entry.bytes : UINT64_MAX;
}

// The channel to a rank of a communicator, when dwell knows both.
Way way_to(Thread* thread, MPI_Comm comm, int rank) {
    const CommName* name = name_of_comm(thread, comm);
    if (name == nullptr || rank < 0 || rank >= name->size) return {nullptr, kNoPeer, 0};
    const uint32_t peer = peer_of(thread, comm, rank);
    return {channel_with(thread, peer), peer, name->name};
}

Heard hear_on(const Way& way, int tag, uint32_t ticket) {
    Heard heard;  // what was said is not known yet
    heard.channel = way.channel;
    heard.peer = way.peer;
    heard.guessed = false;
    heard.known = way.channel != nullptr &&
                  take(way.channel, way.comm, tag, ticket, &heard.said, &heard.guessed);
    return heard;
}

// What a message was sent with, as far as it is known.
void add_received(Waiting* waiting, const Way& way, int tag, uint32_t ticket, uint64_t bytes) {
    if (way.channel != nullptr && way.channel->far != nullptr) {
        add_received_far(waiting, way, tag, ticket, bytes);
        return;
    }
    add_heard(waiting, hear_on(way, tag, ticket), bytes);
}

Announced say(Call* call, const Way& way, int tag, SendMode mode, uint64_t bytes) {
    const bool meets = is_meeting(way.channel, mode, bytes);
    if (way.channel->far != nullptr) {
        return {nullptr, say_far(call, way, tag, meets)};
    }
    const bool asks = meets && asks_in_entry(mode, bytes);
    Moment said = moment_of(call);
    said.at.real = now_ticks();
    const Announced announced = announce(way.channel, said, way.comm, tag, asks);
    begin_work(call, time_of_writing(way.channel));
    if (g_process.preserve_order) [[unlikely]]
        g_call_order->wake(call, way.peer, way.comm, tag);
    return announced;
}

// A send of so many bytes could not end without its receiver.
bool had_to_meet(const Told& told, uint64_t bytes) {
    return told.meets && is_meeting(told.channel, told.mode, bytes);
}

void add_told(Waiting* waiting, const Told& told) {
    if (told.channel->far != nullptr) {
        add_sent_far(waiting, told.channel, told.announced.number, told.peer);
    } else if (asks_in_entry(told.mode, told.bytes)) {
        add_asked(waiting, told.channel, told.announced, told.peer);
    } else {
        add_kept(waiting, told.channel, told.peer, waiting->entered());
    }
}

// Finding a channel for the first time is slow: the call begins after that.
class Lookup {
  public:
    explicit Lookup(Call* call) : call_(call), slow_ticks_(call->thread->slow_ticks) {}
    ~Lookup() {
        if (call_->thread->slow_ticks != slow_ticks_) start(call_);
    }
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;

  private:
    Call* call_;
    uint64_t slow_ticks_;
};

Way look_up(Call* call, MPI_Comm comm, int rank) {
    const Lookup lookup(call);
    return way_to(call->thread, comm, rank);
}

void answer_waiting(Call* call, const Way& way, int tag, uint32_t ticket) {
    if (way.channel->far != nullptr) {
        if (!way.channel->far->is_asked) return;
        answer_far(call, way, tag, ticket);
        begin_work(call, now_ticks());
        return;
    }
    if (way.channel->freed_count != 0) [[unlikely]] {
        take_for_freed(way.channel);
        begin_work(call, now_ticks());
    }
    if (!may_want_answer(way.channel)) return;
    ChannelEntry* entry = find_entry(way.channel, way.comm, tag, ticket);
    if (entry == nullptr || !wants_answer(entry)) return;
    answer(way.channel, entry, moment_of(call));
    begin_work(call, now_ticks());
}

// Any sender may be the one: all that wait learn when the receive began, and the last answer that
// one of them has is the right one.
void meet_any(Call* call, int tag, uint32_t comm) {
    if (comm == 0) return;  // not known
    int left = kMostAnswered;
    for (Channel* channel = __atomic_load_n(&g_first_channel, __ATOMIC_ACQUIRE);
         channel != nullptr && left > 0; channel = channel->next) {
        if (channel->far != nullptr) continue;  // a letter does not say whom it lets wait
        answer_waiting(call, {channel, kNoPeer, comm}, tag, 0);
        --left;
    }
}

}  // namespace

void open_message_waits() {
    g_series.open(g_process.header->ticks_per_second);
    open_late_receivers(g_process.header->ticks_per_second);
}

Told tell(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type, int count,
          SendMode mode) {
    const Way way = look_up(call, comm, dest);
    if (way.channel == nullptr) return {};
    const uint64_t bytes = known_bytes(call->thread, type, count);
    const bool meets = is_meeting(way.channel, mode, bytes);
    if (!meets) {
        stay_away(call);
    } else if (!stays_away(call)) {
        say_late_arrival(call);  // it waits, and takes what others sent meanwhile
    }
    return {say(call, way, tag, mode, bytes), way.channel, way.peer, way.comm, bytes, mode, meets};
}

void meet(Call* call, int source, int tag, MPI_Comm comm, bool waits) {
    if (waits && !receives_probed(call, source, tag, comm)) {
        say_arrival(call);
    } else {
        stay_away(call);
    }
    if (source < 0) {
        if (g_process.preserve_order) {
            g_call_order->say_waiting(call);
            begin_work(call, now_ticks());
        }
        const CommName* name = name_of_comm(call->thread, comm);
        meet_any(call, tag, name != nullptr ? name->name : 0);
        return;
    }
    const Way way = look_up(call, comm, source);
    if (way.channel == nullptr) return;
    if (g_process.preserve_order) {
        g_call_order->say_receiving(call, way.peer, way.comm, tag, 0);
        begin_work(call, now_ticks());
    }
    if (way.channel->far == nullptr && !g_series.is_on(way.channel)) {
        call->ahead = next_entry(way.channel);
    }
    answer_waiting(call, way, tag, 0);
}

bool settle_send(Call* call, const Told& told, uint64_t bytes, bool blocked) {
    if (told.channel == nullptr) return false;
    if (!had_to_meet(told, bytes)) return true;
    const bool may_be_kept = told.channel->far == nullptr && !asks_in_entry(told.mode, told.bytes);
    // That such a send found its receiver does not say that it had without being delayed.
    const bool found = told.channel->far == nullptr && told.announced.entry != nullptr;
    if (!blocked && !found) return true;
    if (may_be_kept && (!blocked || took_usual_send(told.channel, call->ticks)) &&
        !is_delayed(told.channel, call)) {
        return true;
    }
    Waiting waiting(call);
    add_told(&waiting, told);
    const bool known = waiting.settle(call, blocked);
    note_look(told.channel, call);
    if (may_be_kept && blocked && waiting.sync() == 0) learn_usual_send(told.channel, call->ticks);
    return known;
}

namespace {

// One of a series whose entry was not looked at.
void settle_unread(Call* call, uint32_t peer, bool* blocked) {
    uint64_t sync = 0;
    g_series.pass(call->end_ticks, &call->ticks, &sync);
    if (sync == 0) *blocked = false;
    book_wait(call, WaitKind::kLateSender, peer, g_series.said(), sync);
    call->thread->slow_ticks = call->slow_ticks + settled_ticks() - call->end_ticks;
}

bool settle_received(Call* call, Waiting* waiting, bool* blocked) {
    const bool known = waiting->settle(call, *blocked);
    if (waiting->found_all()) *blocked = false;
    return known;
}
}  // namespace

bool settle_receive(Call* call, MPI_Comm comm, int source, const MPI_Status* status,
                    bool* blocked) {
    if (!waits_are_open()) return false;
    if (source == MPI_PROC_NULL || status->MPI_SOURCE < 0) return true;
    const Way way = way_to(call->thread, comm, status->MPI_SOURCE);
    const SeriesKind kind{way.channel, call->part, way.comm, status->MPI_TAG};
    const uint64_t bytes = bytes_of(status);
    if (bytes <= g_eager_limits.node &&
        g_series.may_go_on(kind, call->start_ticks, call->end_ticks) &&
        leave_unread(way.channel, way.comm, status->MPI_TAG)) {
        settle_unread(call, way.peer, blocked);
        return true;
    }
    Waiting waiting(call);
    if (way.channel == nullptr || way.channel->far != nullptr || g_process.concurrent ||
        g_process.preserve_order || bytes > g_eager_limits.node) {
        add_received(&waiting, way, status->MPI_TAG, 0, bytes);
        return settle_received(call, &waiting, blocked);
    }
    const Heard heard = hear_on(way, status->MPI_TAG, 0);
    add_heard(&waiting, heard, bytes);
    waiting.add_unseen(g_series.before(kind));
    const bool known = settle_received(call, &waiting, blocked);
    if (known && !heard.guessed) {
        g_series.look(kind, heard.said, call->start_ticks, call->end_ticks, call->ticks,
                      waiting.own_sync());
    }
    return known;
}

bool settle_matched(Call* call, const Matched& matched, const MPI_Status* status, bool* blocked) {
    if (!waits_are_open() || !matched.has_turn()) {
        return settle_receive(call, matched.comm, MPI_ANY_SOURCE, status, blocked);
    }
    Waiting waiting(call);
    add_request_to(&waiting, matched.receive, matched.receive.peer, status);
    return settle_received(call, &waiting, blocked);
}

void settle_failed_receive(Call* call, int error, MPI_Comm comm, int source,
                           const MPI_Status* status) {
    if (source == MPI_PROC_NULL) return;
    const AfterError after = after_error(error);
    if (after == AfterError::kUnknown) doubt_receives();
    if (after != AfterError::kTaken) return;
    const uint64_t bytes = bytes_of(status);
    bool blocked = !took_found_message(call, bytes);
    if (!settle_receive(call, comm, source, status, &blocked) && blocked) add_blocked(call, bytes);
}

bool settle_send_receive(Call* call, const Told& told, uint64_t sent, MPI_Comm comm, int source,
                         const MPI_Status* status, bool* blocked) {
    if (!waits_are_open()) return false;
    if (source == MPI_ANY_SOURCE && g_process.preserve_order) {
        call->thread->record->order_posted += 1;
    }
    Waiting waiting(call);
    if (source != MPI_PROC_NULL && status->MPI_SOURCE >= 0) {
        add_received(&waiting, way_to(call->thread, comm, status->MPI_SOURCE), status->MPI_TAG, 0,
                     bytes_of(status));
    }
    const bool meets = told.channel != nullptr && had_to_meet(told, sent);
    const bool found = meets && told.channel->far == nullptr && told.announced.entry != nullptr;
    const bool looks = meets && (*blocked || (found && is_delayed(told.channel, call)));
    if (looks) add_told(&waiting, told);
    const bool known = settle_received(call, &waiting, blocked);
    if (looks) note_look(told.channel, call);
    return known;
}

bool settle_probe(Call* call, MPI_Comm comm, const MPI_Status* status, bool* blocked) {
    if (!waits_are_open()) return false;
    note_probed(call, comm, status);
    Waiting waiting(call);
    const Way way = way_to(call->thread, comm, status->MPI_SOURCE);
    if (way.channel != nullptr && way.channel->far != nullptr) {
        add_probed_far(&waiting, way, status->MPI_TAG, bytes_of(status));
        return settle_received(call, &waiting, blocked);
    }
    const ChannelEntry* entry =
        way.channel != nullptr ? find_entry(way.channel, way.comm, status->MPI_TAG, 0) : nullptr;
    if (entry == nullptr) {
        waiting.add_unknown();
    } else {
        if (is_guessing(way.channel)) waiting.add_guessed();
        waiting.add_message(way.channel, way.peer, 0, entry->said);
    }
    return settle_received(call, &waiting, blocked);
}

Heard hear(Call* call, MPI_Comm comm, const MPI_Status* status) {
    return hear_on(way_to(call->thread, comm, status->MPI_SOURCE), status->MPI_TAG, 0);
}

void add_heard(Waiting* waiting, const Heard& heard, uint64_t bytes) {
    if (!heard.known) {
        waiting->add_unknown();
        return;
    }
    if (heard.guessed) waiting->add_guessed();
    if (bytes > g_eager_limits.node) {
        waiting->add_meeting(WaitKind::kLateSender, heard.peer, heard.said);
    } else {
        waiting->add_message(heard.channel, heard.peer, bytes, heard.said);
    }
}

void post_request(Call* call, Request* content, MPI_Comm comm, int source, int tag) {
    const CommName* name = name_of_comm(call->thread, comm);
    content->comm = name != nullptr && source != MPI_PROC_NULL ? name->name : 0;
    content->tag = tag;
    if (name == nullptr || source < 0 || content->persistent) return;
    Channel* channel = channel_with(call->thread, content->peer);
    if (channel != nullptr) content->ticket = post_to(channel, content->comm, tag);
}

namespace {

// The channel of a request that MPI_Start tells of; null: of this one it does not.
Channel* channel_to_start(Thread* thread, const FoundRequest& found) {
    const Request& request = found.copy;
    if (found.entry == nullptr || !request.persistent || request.peer == kNoPeer) return nullptr;
    return request.comm != 0 ? channel_with(thread, request.peer) : nullptr;
}

}  // namespace

void tell_start(Call* call, int count, const MPI_Request* requests) {
    if (requests == nullptr) return;  // MPI refuses it
    bool stays = true;
    for (int i = 0; i < count; ++i) {
        const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(requests[i]));
        const Request& request = found.copy;
        if (is_standing(found)) [[unlikely]] {
            tell_standing(call, request.standing);
            stays = false;
            continue;
        }
        if (found.entry == nullptr) pass_meeting(reinterpret_cast<uintptr_t>(requests[i]));
        Channel* channel = channel_to_start(call->thread, found);
        if (channel == nullptr) continue;
        if (request.kind == kSendRequest) {
            const Announced announced = say(call, {channel, request.peer, request.comm},
                                            request.tag, request.mode, request.bytes);
            set_message(found, announced.entry, announced.number);
        } else if (request.kind == kReceiveRequest) {
            const uint32_t ticket = post_to(channel, request.comm, request.tag);
            set_message(found, nullptr, ticket);
            answer_waiting(call, {channel, request.peer, request.comm}, request.tag, ticket);
        }
    }
    if (stays) stay_away(call);
}

void untell_start(Call* call, int count, const MPI_Request* requests) {
    if (requests == nullptr) return;
    for (int i = 0; i < count; ++i) {
        const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(requests[i]));
        const Request& request = found.copy;
        if (is_standing(found)) {
            untell_standing(request.standing);
            continue;
        }
        Channel* channel = channel_to_start(call->thread, found);
        if (channel != nullptr && request.kind == kSendRequest) {
            withdraw_from(channel, {request.entry, request.number});
        } else if (found.entry != nullptr && request.persistent) {
            give_up_request(request);
            // MPI does not say which of several it has started.
            if (count > 1 && request.kind == kReceiveRequest) doubt_receives();
        }
    }
}

namespace {

void answer_posted(Call* call, const Request& request) {
    Channel* channel = channel_with(call->thread, request.peer);
    if (channel == nullptr) return;
    if (channel->far == nullptr) call->ahead = next_entry(channel);
    answer_waiting(call, {channel, request.peer, request.comm}, request.tag, request.ticket);
}

}  // namespace

void meet_request(Call* call, const Request& request) {
    if (request.kind != kReceiveRequest) {
        say_late_arrival(call);
        return;
    }
    say_arrival(call);
    if (request.peer == kNoPeer) {
        meet_any(call, request.tag, request.comm);
        return;
    }
    if (request.ticket != 0) answer_posted(call, request);
}

bool may_be_asked(int requests) {
    int left = requests;
    for (const Channel* channel = __atomic_load_n(&g_first_channel, __ATOMIC_ACQUIRE);
         channel != nullptr; channel = channel->next) {
        if (--left < 0) return true;
        const bool asks = channel->far != nullptr
                              ? channel->far->is_asked
                              : channel->freed_count != 0 || may_want_answer(channel);
        if (asks) return true;
    }
    return false;
}

void meet_matched(Call* call, const Matched& matched, bool waits) {
    if (!waits_are_open()) return;
    if (!matched.has_turn()) {
        meet(call, MPI_ANY_SOURCE, MPI_ANY_TAG, matched.comm, waits);
        return;
    }
    if (waits) {
        say_arrival(call);
    } else {
        stay_away(call);
    }
    if (g_process.preserve_order) {
        g_call_order->say_waiting(call);
        begin_work(call, now_ticks());
    }
    answer_posted(call, matched.receive);
}

void give_up_matched(const Matched& matched) {
    if (waits_are_open() && matched.has_turn()) give_up_request(matched.receive);
}

namespace {

void add_sent(Waiting* waiting, const Request& request) {
    if (request.peer >= g_channel_count || g_channels[request.peer] == nullptr) return;
    Channel* channel = g_channels[request.peer];
    const Announced announced{request.entry, request.number};
    if (channel->far != nullptr) {
        if (is_meeting(channel, request.mode, request.bytes))
            add_sent_far(waiting, channel, request.number, request.peer);
    } else if (!is_meeting(channel, request)) {
        return;
    } else if (asks_in_entry(request.mode, request.bytes)) {
        add_asked(waiting, channel, announced, request.peer);
    } else if (announced.entry != nullptr) {
        add_kept(waiting, channel, request.peer, sent_at(announced));
    } else {
        waiting->add_unknown();  // there was no room to say when it was sent
    }
}

}  // namespace

void add_request_to(Waiting* waiting, const Request& request, uint32_t peer,
                    const MPI_Status* status) {
    if (request.kind == kSendRequest) {
        add_sent(waiting, request);
        return;
    }
    if (request.kind == kCollectiveRequest) {
        if (!request.persistent) {
            add_meeting_to(waiting, request);
        } else if (request.standing != nullptr) {
            add_meeting_to(waiting, request.standing->started);
        }
        return;
    }
    if (request.kind != kReceiveRequest) {
        if (request.meets == Meets::kUnknown) waiting->add_unknown();
        return;
    }
    if (peer == kNoPeer) return;
    Channel* channel = request.comm != 0 ? channel_with(waiting->thread(), peer) : nullptr;
    add_received(waiting, {channel, peer, request.comm}, status->MPI_TAG, request.ticket,
                 bytes_of(status));
}

AfterError after_error(int error) {
    switch (error) {
        case MPI_ERR_TRUNCATE:
            return AfterError::kTaken;
        case MPI_ERR_BUFFER:
        case MPI_ERR_COUNT:
        case MPI_ERR_TYPE:
        case MPI_ERR_TAG:
        case MPI_ERR_COMM:
        case MPI_ERR_RANK:
        case MPI_ERR_REQUEST:
        case MPI_ERR_ARG:
            return AfterError::kUntouched;
        default:
            return AfterError::kUnknown;
    }
}

void doubt_receives() {
    doubt_entries();
    g_far_uncounted = true;
}

namespace {

// A message that no call will wait for any more.
void forget_received(const Way& way, int tag, uint32_t ticket) {
    if (way.channel->far == nullptr) {
        hear_on(way, tag, ticket);
        return;
    }
    const ChannelLock lock(way.channel);
    if (!lock.held()) return;
    Moment said;
    take_far(way.channel->far, way.comm, tag,
             count_received(way.channel->far, way.comm, tag, ticket), &said);
}

// A receive that nobody will ask about any more, and whose message has yet to come.
void leave_request(Channel* channel, const Request& request) {
    if (channel->far == nullptr) {
        leave_posted(channel, request.ticket, request.comm, request.tag);
    } else if (request.ticket == 0) {
        unpost_far(channel->far);
    }
}

}  // namespace

void free_request(Call* call, const MPI_Request* place) {
    if (!waits_are_open() || place == nullptr) return;
    const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(*place));
    const Request& request = found.copy;
    if (found.entry == nullptr || request.kind != kReceiveRequest || !request.active) return;
    const uint64_t start_ticks = now_ticks();
    int flag = 0;
    MPI_Status status;
    const int result = g_mpi.Request_get_status(*place, &flag, &status);
    Channel* channel = nullptr;
    if (result == MPI_SUCCESS && flag != 0) {
        const bool came = status._cancelled == 0 && status.MPI_SOURCE >= 0;
        uint32_t peer = request.peer;
        if (came && peer == kNoPeer) peer = peer_in(request.ranks, status.MPI_SOURCE);
        if (came && request.comm != 0) channel = channel_with(call->thread, peer);
        if (channel != nullptr) {
            const Way way{channel, peer, request.comm};
            forget_received(way, status.MPI_TAG, request.ticket);
        } else if (!came) {
            give_up_request(request);
        }
    } else {
        channel = channel_with(call->thread, request.peer);
        if (request.peer == kNoPeer) {
            leave_posted_anywhere();
            g_far_uncounted = true;
        } else if (channel != nullptr) {
            leave_request(channel, request);
        }
    }
    call->thread->slow_ticks += now_ticks() - start_ticks;
    start(call);
}

void give_up_request(const Request& request) {
    if (request.kind == kReceiveRequest && request.peer == kNoPeer) g_far_uncounted = true;
    if (request.peer >= g_channel_count || g_channels[request.peer] == nullptr) return;
    Channel* channel = g_channels[request.peer];
    if (channel == &g_no_channel) return;
    if (request.kind != kReceiveRequest) return;
    if (channel->far != nullptr) {
        unpost_far(channel->far);
    } else {
        unpost(channel, request.ticket);
    }
}

}  // namespace dwell
