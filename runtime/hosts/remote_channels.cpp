// Counting messages between hosts, and the stamps that have arrived.
#include "runtime/hosts/remote_channels.h"

#include "runtime/mpi/mpi_api.h"

namespace dwell {

bool g_remote_uncounted = false;

namespace {

// Whether the kind counts several kinds. Both sides may keep different kinds apart, so an entry
// says how its number was counted.
bool is_shared(const RemoteChannel* remote, const RemoteKind* kind) {
    return kind >= &remote->kinds[kExactKinds];
}

RemoteKind* find_kind(RemoteChannel* remote, uint32_t comm, int tag) {
    const auto is_it = [=](const RemoteKind& kind) { return kind.comm == comm && kind.tag == tag; };
    if (remote->last_kind < remote->kind_count && is_it(remote->kinds[remote->last_kind]))
        [[likely]]
        return &remote->kinds[remote->last_kind];
    for (uint32_t i = 0; i < remote->kind_count; ++i) {
        if (!is_it(remote->kinds[i])) continue;
        remote->last_kind = i;
        return &remote->kinds[i];
    }
    if (remote->kind_count < kExactKinds) {
        RemoteKind* made = &remote->kinds[remote->kind_count];
        *made = {comm, tag, 0, 0, 0};
        remote->last_kind = remote->kind_count++;
        return made;
    }
    const uint32_t mixed = (comm ^ static_cast<uint32_t>(tag) * 0x9e3779b1u) * 0x85ebca6bu;
    return &remote->kinds[kExactKinds + (mixed >> 16) % kSharedKinds];
}

// Messages may have passed uncounted during a pause or in calls that could not be recorded.
bool is_silent(RemoteChannel* remote) {
    if (g_remote_uncounted || g_live->paused_ticks != 0 ||
        (g_process.header->flags & kFileFull) != 0) [[unlikely]]
        remote->silent = true;
    return remote->silent;
}

uint32_t order_of(const RemoteChannel* remote, const RemoteKind* kind, uint32_t number) {
    return number << kNumberShift | (is_shared(remote, kind) ? kSharedNumber : 0);
}

// Guessed if receives are pending: this one may have been posted before them.
RemoteNumber next_number(const RemoteChannel* remote, const RemoteKind* kind) {
    return {order_of(remote, kind, kind->received + 1),
            kind->posted != 0 || is_shared(remote, kind)};
}

ChannelEntry* find_entry_of(RemoteChannel* remote, uint32_t comm, int tag, uint32_t order) {
    if (order == 0) return nullptr;
    for (ChannelEntry& entry : remote->entries) {
        if (entry.number == 0 || entry.comm != comm || entry.tag != tag) continue;
        if (entry.order == order) return &entry;
    }
    return nullptr;
}

}  // namespace

bool count_sent(RemoteChannel* remote, uint32_t comm, int tag, ChannelEntry* entry) {
    if (is_silent(remote)) return false;
    RemoteKind* kind = find_kind(remote, comm, tag);
    kind->sent += 1;
    entry->comm = comm;
    entry->tag = tag;
    entry->order = order_of(remote, kind, kind->sent);
    return true;
}

void put_entry(RemoteChannel* remote, const ChannelEntry& entry) {
    ChannelEntry* place = &remote->entries[0];
    for (ChannelEntry& other : remote->entries) {
        if (other.number == 0) {
            place = &other;
            break;
        }
        if (other.stamp.at.real < place->stamp.at.real) place = &other;
    }
    *place = entry;
    place->number = 1;
    if (question_of(entry) != 0) remote->is_asked = true;
    note_stamp(remote, entry.stamp);
}

uint32_t post_remote(RemoteChannel* remote, uint32_t comm, int tag) {
    if (tag == MPI_ANY_TAG || is_silent(remote)) return 0;
    RemoteKind* kind = find_kind(remote, comm, tag);
    if (is_shared(remote, kind)) return 0;
    kind->received += 1;
    kind->posted += 1;
    return kind->received;
}

RemoteNumber count_received(RemoteChannel* remote, uint32_t comm, int tag, uint32_t post_order) {
    if (is_silent(remote)) return {0, false};
    RemoteKind* kind = find_kind(remote, comm, tag);
    if (post_order != 0) {
        kind->posted -= 1;
        return {order_of(remote, kind, post_order), false};
    }
    const RemoteNumber number = next_number(remote, kind);
    kind->received += 1;
    return number;
}

RemoteNumber next_to_receive(RemoteChannel* remote, uint32_t comm, int tag) {
    if (is_silent(remote)) return {0, false};
    return next_number(remote, find_kind(remote, comm, tag));
}

bool find_remote(RemoteChannel* remote, uint32_t comm, int tag, const RemoteNumber& number,
                 EnterStamp* stamp) {
    const ChannelEntry* entry = find_entry_of(remote, comm, tag, number.order);
    if (entry == nullptr) return false;
    *stamp = entry->stamp;
    return true;
}

bool take_remote(RemoteChannel* remote, uint32_t comm, int tag, const RemoteNumber& number,
                 EnterStamp* stamp) {
    ChannelEntry* entry = find_entry_of(remote, comm, tag, number.order);
    if (entry == nullptr) return false;
    *stamp = entry->stamp;
    entry->number = 0;
    return true;
}

uint32_t take_question(RemoteChannel* remote, uint32_t comm, int tag, uint32_t post_order) {
    if (tag == MPI_ANY_TAG || is_silent(remote)) return 0;
    const RemoteKind* kind = find_kind(remote, comm, tag);
    if (post_order == 0 && (kind->posted != 0 || is_shared(remote, kind))) return 0;
    const uint32_t order =
        order_of(remote, kind, post_order != 0 ? post_order : kind->received + 1);
    ChannelEntry* entry = find_entry_of(remote, comm, tag, order);
    if (entry == nullptr) return 0;
    const uint32_t question = question_of(*entry);
    set_question(entry, 0);
    return question;
}

void put_answer(RemoteChannel* remote, uint32_t question, const EnterStamp& stamp) {
    remote->answers[question % kRemoteAnswers] = {question, stamp};
}

bool find_answer(const RemoteChannel& remote, uint32_t question, EnterStamp* stamp) {
    const RemoteAnswer& answer = remote.answers[question % kRemoteAnswers];
    if (question == 0 || answer.question != question) return false;
    *stamp = answer.stamp;
    return true;
}

bool lost_by_partner(const RemoteChannel& remote, uint64_t at, uint64_t* ticks) {
    if (remote.last.at.real == 0) return false;
    const uint64_t lost = remote.last.at.real - remote.last.at.virt;
    const uint64_t since = beyond(at, remote.last.at.real);
    double rate = 0;
    if (remote.loss_is_known) {
        rate = remote.loss / 256.0;
    } else if (beyond(remote.last.at.real, remote.before.at.real) >= kRateTicks) {
        const uint64_t earlier_lost = remote.before.at.real - remote.before.at.virt;
        rate = static_cast<double>(beyond(lost, earlier_lost)) /
               static_cast<double>(remote.last.at.real - remote.before.at.real);
    }
    *ticks = lost + static_cast<uint64_t>(static_cast<double>(since) * (rate < 1 ? rate : 1));
    return true;
}

}  // namespace dwell
