// The wait analysis of messages between two ranks: the parts called by wrappers and requests.
#include "runtime/calls/call_order.h"
#include "runtime/calls/matched_receive.h"
#include "runtime/mpi/datatypes.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/mpi/ranks.h"
#include "runtime/waitstates/collectives.h"
#include "runtime/waitstates/late_receivers.h"
#include "runtime/waitstates/remote_messages.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

namespace {

DWELL_CALL_DATA SampledStream g_stream;

constexpr int kMostAnswered = 64;  // channels that a receive from any source looks at

// The bytes of a datatype that was used before; UINT64_MAX for an unknown handle.
uint64_t known_bytes(const Thread* thread, MPI_Datatype type, int count) {
    const auto handle = reinterpret_cast<uintptr_t>(type);
    const TypeEntry& entry = thread->types[place_in(kTypeBits, handle)];
    const bool known =
        entry.type == handle && entry.epoch == g_process.type_epoch.load(std::memory_order_relaxed);
    return known ? as_count(count) * entry.bytes : UINT64_MAX;
}

// The channel to a rank of a communicator, if both are known.
Link lookup_link(Thread* thread, MPI_Comm comm, int rank) {
    const CommDefinition* definition = definition_of_comm(thread, comm);
    if (definition == nullptr || rank < 0 || rank >= definition->size) return {nullptr, kNoPeer, 0};
    const uint32_t peer = peer_of(thread, comm, rank);
    return {channel_with(thread, peer), peer, definition->short_id};
}

MatchedStamp take_stamp(const Link& link, int tag, uint32_t post_order) {
    MatchedStamp matched_stamp;  // stamp: not known yet
    matched_stamp.channel = link.channel;
    matched_stamp.peer = link.peer;
    matched_stamp.guessed = false;
    matched_stamp.known =
        link.channel != nullptr && take(link.channel, link.comm, tag, post_order,
                                        &matched_stamp.stamp, &matched_stamp.guessed);
    return matched_stamp;
}

// Adds the stamp of a received message, if it is known.
void add_received(Waiting* waiting, const Link& link, int tag, uint32_t post_order,
                  uint64_t bytes) {
    if (link.channel != nullptr && link.channel->remote != nullptr) {
        add_received_remote(waiting, link, tag, post_order, bytes);
        return;
    }
    add_matched_stamp(waiting, take_stamp(link, tag, post_order), bytes);
}

Announced write_stamp(Call* call, const Link& link, int tag, SendMode mode, uint64_t bytes) {
    const bool may_wait = may_wait_for_receiver(link.channel, mode, bytes);
    if (link.channel->remote != nullptr) {
        return {nullptr, notify_remote(call, link, tag, may_wait)};
    }
    const bool asks = may_wait && asks_in_entry(mode, bytes);
    EnterStamp stamp = make_enter_stamp(call);
    stamp.at.real = now_ticks();
    const Announced announced = announce(link.channel, stamp, link.comm, tag, asks);
    begin_work(call, time_of_writing(link.channel));
    if (g_process.preserve_order) [[unlikely]]
        g_call_order->wake(call, link.peer, link.comm, tag);
    return announced;
}

// Whether a send of so many bytes had to wait for its receiver.
bool waited_for_receiver(const SendStamp& sent_stamp, uint64_t bytes) {
    return sent_stamp.may_wait && may_wait_for_receiver(sent_stamp.channel, sent_stamp.mode, bytes);
}

void add_stamp(Waiting* waiting, const SendStamp& sent_stamp) {
    if (sent_stamp.channel->remote != nullptr) {
        add_sent_remote(waiting, sent_stamp.channel, sent_stamp.announced.number, sent_stamp.peer);
    } else if (asks_in_entry(sent_stamp.mode, sent_stamp.bytes)) {
        add_rendezvous_send(waiting, sent_stamp.channel, sent_stamp.announced, sent_stamp.peer);
    } else {
        add_single_copy_send(waiting, sent_stamp.channel, sent_stamp.peer, waiting->entered());
    }
}

// The first look-up of a channel is slow: the call begins after it.
Link look_up(Call* call, MPI_Comm comm, int rank) {
    const uint64_t slow_overhead = call->thread->slow_overhead;
    const Link link = lookup_link(call->thread, comm, rank);
    if (call->thread->slow_overhead != slow_overhead) start(call);
    return link;
}

void answer_waiting(Call* call, const Link& link, int tag, uint32_t post_order) {
    if (link.channel->remote != nullptr) {
        if (!link.channel->remote->is_asked) return;
        answer_remote(call, link, tag, post_order);
        begin_work(call, now_ticks());
        return;
    }
    if (link.channel->detached_count != 0) [[unlikely]] {
        take_for_detached(link.channel);
        begin_work(call, now_ticks());
    }
    if (!may_want_answer(link.channel)) return;
    ChannelEntry* entry = find_entry(link.channel, link.comm, tag, post_order);
    if (entry == nullptr || !wants_answer(entry)) return;
    answer(link.channel, entry, make_enter_stamp(call));
    begin_work(call, now_ticks());
}

// Any sender may match: all waiting senders get the receive's enter time, and each uses the last
// answer that it has.
void answer_any(Call* call, int tag, uint32_t comm) {
    if (comm == 0) return;  // not known
    int left = kMostAnswered;
    for (Channel* channel = __atomic_load_n(&g_first_channel, __ATOMIC_ACQUIRE);
         channel != nullptr && left > 0; channel = channel->next) {
        if (channel->remote != nullptr) continue;  // a piggyback message does not say who waits
        answer_waiting(call, {channel, kNoPeer, comm}, tag, 0);
        --left;
    }
}

}  // namespace

void open_message_waits() {
    g_stream.open(g_process.header->ticks_per_second);
    open_late_receivers(g_process.header->ticks_per_second);
}

SendStamp stamp_message(Call* call, int dest, int tag, MPI_Comm comm, MPI_Datatype type, int count,
                        SendMode mode) {
    const Link link = look_up(call, comm, dest);
    if (link.channel == nullptr) return {};
    const uint64_t bytes = known_bytes(call->thread, type, count);
    const bool may_wait = may_wait_for_receiver(link.channel, mode, bytes);
    if (!may_wait) {
        leave_progress(call);
    } else if (!makes_no_progress(call)) {
        log_late_progress(call);  // it waits, and copies other messages meanwhile
    }
    return {write_stamp(call, link, tag, mode, bytes),
            link.channel,
            link.peer,
            link.comm,
            bytes,
            mode,
            may_wait};
}

void announce_entry(Call* call, int source, int tag, MPI_Comm comm, bool waits) {
    if (waits && !receives_probed(call, source, tag, comm)) {
        log_progress(call);
    } else {
        leave_progress(call);
    }
    if (source < 0) {
        if (g_process.preserve_order) {
            g_call_order->publish_waiting(call);
            begin_work(call, now_ticks());
        }
        const CommDefinition* definition = definition_of_comm(call->thread, comm);
        answer_any(call, tag, definition != nullptr ? definition->short_id : 0);
        return;
    }
    const Link link = look_up(call, comm, source);
    if (link.channel == nullptr) return;
    if (g_process.preserve_order) {
        g_call_order->publish_receiving(call, link.peer, link.comm, tag, 0);
        begin_work(call, now_ticks());
    }
    if (link.channel->remote == nullptr && !g_stream.is_on(link.channel)) {
        call->ahead = next_entry(link.channel);
    }
    answer_waiting(call, link, tag, 0);
}

bool classify_send(Call* call, const SendStamp& sent_stamp, uint64_t bytes, bool blocked) {
    if (sent_stamp.channel == nullptr) return false;
    if (!waited_for_receiver(sent_stamp, bytes)) return true;
    const bool may_be_kept =
        sent_stamp.channel->remote == nullptr && !asks_in_entry(sent_stamp.mode, sent_stamp.bytes);
    // Such a send found its receiver, but perhaps only because the sender was delayed by overhead.
    const bool found =
        sent_stamp.channel->remote == nullptr && sent_stamp.announced.entry != nullptr;
    if (!blocked && !found) return true;
    if (may_be_kept && (!blocked || took_usual_send(sent_stamp.channel, call->ticks)) &&
        !is_delayed(sent_stamp.channel, call)) {
        return true;
    }
    Waiting waiting(call);
    add_stamp(&waiting, sent_stamp);
    const bool known = waiting.classify(call, blocked);
    note_lookup(sent_stamp.channel, call);
    if (may_be_kept && blocked && waiting.sync() == 0)
        learn_usual_send(sent_stamp.channel, call->ticks);
    return known;
}

namespace {

// A message of a sampled stream whose entry was skipped.
void classify_skipped(Call* call, uint32_t peer, bool* blocked) {
    uint64_t sync = 0;
    g_stream.pass(call->end_ticks, &call->ticks, &sync);
    if (sync == 0) *blocked = false;
    record_wait(call, WaitKind::kLateSender, peer, g_stream.stamp(), sync);
    call->thread->slow_overhead = call->slow_overhead + settled_ticks() - call->end_ticks;
}

bool classify_received(Call* call, Waiting* waiting, bool* blocked) {
    const bool known = waiting->classify(call, *blocked);
    if (waiting->found_all()) *blocked = false;
    return known;
}
}  // namespace

bool classify_receive(Call* call, MPI_Comm comm, int source, const MPI_Status* status,
                      bool* blocked) {
    if (!waits_are_open()) return false;
    if (source == MPI_PROC_NULL || status->MPI_SOURCE < 0) return true;
    const Link link = lookup_link(call->thread, comm, status->MPI_SOURCE);
    const StreamKind kind{link.channel, call->part, link.comm, status->MPI_TAG};
    const uint64_t bytes = bytes_of(status);
    if (bytes <= g_eager_limits.eager_limit_shm &&
        g_stream.may_go_on(kind, call->start_ticks, call->end_ticks) &&
        skip_stamp(link.channel, link.comm, status->MPI_TAG)) {
        classify_skipped(call, link.peer, blocked);
        return true;
    }
    Waiting waiting(call);
    if (link.channel == nullptr || link.channel->remote != nullptr || g_process.concurrent ||
        g_process.preserve_order || bytes > g_eager_limits.eager_limit_shm) {
        add_received(&waiting, link, status->MPI_TAG, 0, bytes);
        return classify_received(call, &waiting, blocked);
    }
    const MatchedStamp matched_stamp = take_stamp(link, status->MPI_TAG, 0);
    add_matched_stamp(&waiting, matched_stamp, bytes);
    waiting.add_skipped(g_stream.before(kind));
    const bool known = classify_received(call, &waiting, blocked);
    if (known && !matched_stamp.guessed) {
        g_stream.look(kind, matched_stamp.stamp, call->start_ticks, call->end_ticks, call->ticks,
                      waiting.own_sync());
    }
    return known;
}

bool classify_matched(Call* call, const Matched& matched, const MPI_Status* status, bool* blocked) {
    if (!waits_are_open() || !matched.has_post_order()) {
        return classify_receive(call, matched.comm, MPI_ANY_SOURCE, status, blocked);
    }
    Waiting waiting(call);
    add_request_to(&waiting, matched.receive, matched.receive.peer, status);
    return classify_received(call, &waiting, blocked);
}

void classify_failed_receive(Call* call, int error, MPI_Comm comm, int source,
                             const MPI_Status* status) {
    if (source == MPI_PROC_NULL) return;
    const AfterError after = after_error(error);
    if (after == AfterError::kUnknown) mark_receives_unsynchronised();
    if (after != AfterError::kTaken) return;
    const uint64_t bytes = bytes_of(status);
    bool blocked = !is_unblocked_receive(call, bytes);
    if (!classify_receive(call, comm, source, status, &blocked) && blocked)
        add_blocked(call, bytes);
}

bool classify_send_receive(Call* call, const SendStamp& sent_stamp, uint64_t sent, MPI_Comm comm,
                           int source, const MPI_Status* status, bool* blocked) {
    if (!waits_are_open()) return false;
    if (source == MPI_ANY_SOURCE && g_process.preserve_order) {
        call->thread->record->order_posted += 1;
    }
    Waiting waiting(call);
    if (source != MPI_PROC_NULL && status->MPI_SOURCE >= 0) {
        add_received(&waiting, lookup_link(call->thread, comm, status->MPI_SOURCE), status->MPI_TAG,
                     0, bytes_of(status));
    }
    const bool may_wait = sent_stamp.channel != nullptr && waited_for_receiver(sent_stamp, sent);
    const bool found =
        may_wait && sent_stamp.channel->remote == nullptr && sent_stamp.announced.entry != nullptr;
    const bool looks = may_wait && (*blocked || (found && is_delayed(sent_stamp.channel, call)));
    if (looks) add_stamp(&waiting, sent_stamp);
    const bool known = classify_received(call, &waiting, blocked);
    if (looks) note_lookup(sent_stamp.channel, call);
    return known;
}

bool classify_probe(Call* call, MPI_Comm comm, const MPI_Status* status, bool* blocked) {
    if (!waits_are_open()) return false;
    note_probed(call, comm, status);
    Waiting waiting(call);
    const Link link = lookup_link(call->thread, comm, status->MPI_SOURCE);
    if (link.channel != nullptr && link.channel->remote != nullptr) {
        add_probed_remote(&waiting, link, status->MPI_TAG, bytes_of(status));
        return classify_received(call, &waiting, blocked);
    }
    const ChannelEntry* entry =
        link.channel != nullptr ? find_entry(link.channel, link.comm, status->MPI_TAG, 0) : nullptr;
    if (entry == nullptr) {
        waiting.add_unknown();
    } else {
        if (is_guessing(link.channel)) waiting.add_guessed();
        waiting.add_message(link.channel, link.peer, 0, entry->stamp);
    }
    return classify_received(call, &waiting, blocked);
}

MatchedStamp match_stamp(Call* call, MPI_Comm comm, const MPI_Status* status) {
    return take_stamp(lookup_link(call->thread, comm, status->MPI_SOURCE), status->MPI_TAG, 0);
}

void add_matched_stamp(Waiting* waiting, const MatchedStamp& matched_stamp, uint64_t bytes) {
    if (!matched_stamp.known) {
        waiting->add_unknown();
        return;
    }
    if (matched_stamp.guessed) waiting->add_guessed();
    if (bytes > g_eager_limits.eager_limit_shm) {
        waiting->add_collective(WaitKind::kLateSender, matched_stamp.peer, matched_stamp.stamp);
    } else {
        waiting->add_message(matched_stamp.channel, matched_stamp.peer, bytes, matched_stamp.stamp);
    }
}

void post_request(Call* call, Request* content, MPI_Comm comm, int source, int tag) {
    const CommDefinition* definition = definition_of_comm(call->thread, comm);
    content->comm = definition != nullptr && source != MPI_PROC_NULL ? definition->short_id : 0;
    content->tag = tag;
    if (definition == nullptr || source < 0 || content->persistent) return;
    Channel* channel = channel_with(call->thread, content->peer);
    if (channel != nullptr) content->post_order = post_to(channel, content->comm, tag);
}

namespace {

// The channel of a request that MPI_Start is to stamp; null: none.
Channel* channel_to_start(Thread* thread, const FoundRequest& found) {
    const Request& request = found.copy;
    if (found.entry == nullptr || !request.persistent || request.peer == kNoPeer) return nullptr;
    return request.comm != 0 ? channel_with(thread, request.peer) : nullptr;
}

}  // namespace

void stamp_start(Call* call, int count, const MPI_Request* requests) {
    if (requests == nullptr) return;  // MPI rejects it
    bool makes_no_progress_here = true;
    for (int i = 0; i < count; ++i) {
        const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(requests[i]));
        const Request& request = found.copy;
        if (is_persistent_collective(found)) [[unlikely]] {
            stamp_persistent(call, request.persistent_collective);
            makes_no_progress_here = false;
            continue;
        }
        if (found.entry == nullptr) skip_collective(reinterpret_cast<uintptr_t>(requests[i]));
        Channel* channel = channel_to_start(call->thread, found);
        if (channel == nullptr) continue;
        if (request.kind == kSendRequest) {
            const Announced announced = write_stamp(call, {channel, request.peer, request.comm},
                                                    request.tag, request.mode, request.bytes);
            set_message(found, announced.entry, announced.number);
        } else if (request.kind == kReceiveRequest) {
            const uint32_t post_order = post_to(channel, request.comm, request.tag);
            set_message(found, nullptr, post_order);
            answer_waiting(call, {channel, request.peer, request.comm}, request.tag, post_order);
        }
    }
    if (makes_no_progress_here) leave_progress(call);
}

void withdraw_start(Call* call, int count, const MPI_Request* requests) {
    if (requests == nullptr) return;
    for (int i = 0; i < count; ++i) {
        const FoundRequest found = find_request(reinterpret_cast<uintptr_t>(requests[i]));
        const Request& request = found.copy;
        if (is_persistent_collective(found)) {
            withdraw_persistent(request.persistent_collective);
            continue;
        }
        Channel* channel = channel_to_start(call->thread, found);
        if (channel != nullptr && request.kind == kSendRequest) {
            withdraw_from(channel, {request.entry, request.number});
        } else if (found.entry != nullptr && request.persistent) {
            give_up_request(request);
            // MPI does not say which of several requests it has started.
            if (count > 1 && request.kind == kReceiveRequest) mark_receives_unsynchronised();
        }
    }
}

namespace {

void answer_posted(Call* call, const Request& request) {
    Channel* channel = channel_with(call->thread, request.peer);
    if (channel == nullptr) return;
    if (channel->remote == nullptr) call->ahead = next_entry(channel);
    answer_waiting(call, {channel, request.peer, request.comm}, request.tag, request.post_order);
}

}  // namespace

void announce_request_entry(Call* call, const Request& request) {
    if (request.kind != kReceiveRequest) {
        log_late_progress(call);
        return;
    }
    log_progress(call);
    if (request.peer == kNoPeer) {
        answer_any(call, request.tag, request.comm);
        return;
    }
    if (request.post_order != 0) answer_posted(call, request);
}

bool may_be_asked(int requests) {
    int left = requests;
    for (const Channel* channel = __atomic_load_n(&g_first_channel, __ATOMIC_ACQUIRE);
         channel != nullptr; channel = channel->next) {
        if (--left < 0) return true;
        const bool asks = channel->remote != nullptr
                              ? channel->remote->is_asked
                              : channel->detached_count != 0 || may_want_answer(channel);
        if (asks) return true;
    }
    return false;
}

void announce_matched_entry(Call* call, const Matched& matched, bool waits) {
    if (!waits_are_open()) return;
    if (!matched.has_post_order()) {
        announce_entry(call, MPI_ANY_SOURCE, MPI_ANY_TAG, matched.comm, waits);
        return;
    }
    if (waits) {
        log_progress(call);
    } else {
        leave_progress(call);
    }
    if (g_process.preserve_order) {
        g_call_order->publish_waiting(call);
        begin_work(call, now_ticks());
    }
    answer_posted(call, matched.receive);
}

void give_up_matched(const Matched& matched) {
    if (waits_are_open() && matched.has_post_order()) give_up_request(matched.receive);
}

namespace {

void add_sent(Waiting* waiting, const Request& request) {
    if (request.peer >= g_channel_count || g_channels[request.peer] == nullptr) return;
    Channel* channel = g_channels[request.peer];
    const Announced announced{request.entry, request.number};
    if (channel->remote != nullptr) {
        if (may_wait_for_receiver(channel, request.mode, request.bytes))
            add_sent_remote(waiting, channel, request.number, request.peer);
    } else if (!may_wait_for_receiver(channel, request)) {
        return;
    } else if (asks_in_entry(request.mode, request.bytes)) {
        add_rendezvous_send(waiting, channel, announced, request.peer);
    } else if (announced.entry != nullptr) {
        add_single_copy_send(waiting, channel, request.peer, sent_at(announced));
    } else {
        waiting->add_unknown();  // its entry was dropped
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
            add_collective_to(waiting, request);
        } else if (request.persistent_collective != nullptr) {
            add_collective_to(waiting, request.persistent_collective->started);
        }
        return;
    }
    if (request.kind != kReceiveRequest) {
        if (request.dependence == Dependence::kUnknown) waiting->add_unknown();
        return;
    }
    if (peer == kNoPeer) return;
    Channel* channel = request.comm != 0 ? channel_with(waiting->thread(), peer) : nullptr;
    add_received(waiting, {channel, peer, request.comm}, status->MPI_TAG, request.post_order,
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

void mark_receives_unsynchronised() {
    mark_unsynchronised();
    g_remote_uncounted = true;
}

namespace {

// Removes the stamp of a message that no call will wait for any more.
void forget_received(const Link& link, int tag, uint32_t post_order) {
    if (link.channel->remote == nullptr) {
        take_stamp(link, tag, post_order);
        return;
    }
    const ChannelLock lock(link.channel);
    if (!lock.held()) return;
    EnterStamp stamp;
    take_remote(link.channel->remote, link.comm, tag,
                count_received(link.channel->remote, link.comm, tag, post_order), &stamp);
}

// A freed receive whose message has yet to come.
void leave_request(Channel* channel, const Request& request) {
    if (channel->remote == nullptr) {
        leave_posted(channel, request.post_order, request.comm, request.tag);
    } else if (request.post_order == 0) {
        unpost_remote(channel->remote);
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
        const bool has_message = status._cancelled == 0 && status.MPI_SOURCE >= 0;
        uint32_t peer = request.peer;
        if (has_message && peer == kNoPeer) peer = peer_in(request.ranks, status.MPI_SOURCE);
        if (has_message && request.comm != 0) channel = channel_with(call->thread, peer);
        if (channel != nullptr) {
            const Link link{channel, peer, request.comm};
            forget_received(link, status.MPI_TAG, request.post_order);
        } else if (!has_message) {
            give_up_request(request);
        }
    } else {
        channel = channel_with(call->thread, request.peer);
        if (request.peer == kNoPeer) {
            leave_posted_anywhere();
            g_remote_uncounted = true;
        } else if (channel != nullptr) {
            leave_request(channel, request);
        }
    }
    call->thread->slow_overhead += now_ticks() - start_ticks;
    start(call);
}

void give_up_request(const Request& request) {
    if (request.kind == kReceiveRequest && request.peer == kNoPeer) g_remote_uncounted = true;
    if (request.peer >= g_channel_count || g_channels[request.peer] == nullptr) return;
    Channel* channel = g_channels[request.peer];
    if (channel == &g_no_channel) return;
    if (request.kind != kReceiveRequest) return;
    if (channel->remote != nullptr) {
        unpost_remote(channel->remote);
    } else {
        unpost(channel, request.post_order);
    }
}

}  // namespace dwell
