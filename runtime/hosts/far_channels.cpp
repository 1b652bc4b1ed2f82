#include "runtime/hosts/far_channels.h"

#include "runtime/mpi/mpi_api.h"

namespace dwell {

bool g_far_uncounted = false;

namespace {

// Both sides may have different kinds among the first: an entry says how its number was counted.
bool is_shared(const FarChannel* far, const FarKind* kind) {
    return kind >= &far->kinds[kExactKinds];
}

FarKind* find_kind(FarChannel* far, uint32_t comm, int tag) {
    const auto is_it = [=](const FarKind& kind) { return kind.comm == comm && kind.tag == tag; };
    if (far->last_kind < far->kind_count && is_it(far->kinds[far->last_kind])) [[likely]]
        return &far->kinds[far->last_kind];
    for (uint32_t i = 0; i < far->kind_count; ++i) {
        if (!is_it(far->kinds[i])) continue;
        far->last_kind = i;
        return &far->kinds[i];
    }
    if (far->kind_count < kExactKinds) {
        FarKind* made = &far->kinds[far->kind_count];
        *made = {comm, tag, 0, 0, 0};
        far->last_kind = far->kind_count++;
        return made;
    }
    const uint32_t mixed = (comm ^ static_cast<uint32_t>(tag) * 0x9e3779b1u) * 0x85ebca6bu;
    return &far->kinds[kExactKinds + (mixed >> 16) % kSharedKinds];
}

// A pause, or calls that could not be recorded: messages may have passed uncounted.
bool is_silent(FarChannel* far) {
    if (g_far_uncounted || g_live->paused_ticks != 0 || (g_process.header->flags & kFileFull) != 0)
        [[unlikely]]
        far->silent = true;
    return far->silent;
}

uint32_t order_of(const FarChannel* far, const FarKind* kind, uint32_t number) {
    return number << kNumberShift | (is_shared(far, kind) ? kSharedNumber : 0);
}

// It may have been posted before those that have their numbers already.
FarNumber next_number(const FarChannel* far, const FarKind* kind) {
    return {order_of(far, kind, kind->received + 1), kind->posted != 0 || is_shared(far, kind)};
}

ChannelEntry* find_entry_of(FarChannel* far, uint32_t comm, int tag, uint32_t order) {
    if (order == 0) return nullptr;
    for (ChannelEntry& entry : far->entries) {
        if (entry.number == 0 || entry.comm != comm || entry.tag != tag) continue;
        if (entry.order == order) return &entry;
    }
    return nullptr;
}

}  // namespace

bool count_sent(FarChannel* far, uint32_t comm, int tag, ChannelEntry* entry) {
    if (is_silent(far)) return false;
    FarKind* kind = find_kind(far, comm, tag);
    kind->sent += 1;
    entry->comm = comm;
    entry->tag = tag;
    entry->order = order_of(far, kind, kind->sent);
    return true;
}

void put_entry(FarChannel* far, const ChannelEntry& entry) {
    ChannelEntry* place = &far->entries[0];
    for (ChannelEntry& other : far->entries) {
        if (other.number == 0) {
            place = &other;
            break;
        }
        if (other.said.at.real < place->said.at.real) place = &other;
    }
    *place = entry;
    place->number = 1;
    if (question_of(entry) != 0) far->is_asked = true;
    note_said(far, entry.said);
}

uint32_t post_far(FarChannel* far, uint32_t comm, int tag) {
    if (tag == MPI_ANY_TAG || is_silent(far)) return 0;
    FarKind* kind = find_kind(far, comm, tag);
    if (is_shared(far, kind)) return 0;
    kind->received += 1;
    kind->posted += 1;
    return kind->received;
}

FarNumber count_received(FarChannel* far, uint32_t comm, int tag, uint32_t ticket) {
    if (is_silent(far)) return {0, false};
    FarKind* kind = find_kind(far, comm, tag);
    if (ticket != 0) {
        kind->posted -= 1;
        return {order_of(far, kind, ticket), false};
    }
    const FarNumber number = next_number(far, kind);
    kind->received += 1;
    return number;
}

FarNumber next_to_receive(FarChannel* far, uint32_t comm, int tag) {
    if (is_silent(far)) return {0, false};
    return next_number(far, find_kind(far, comm, tag));
}

bool find_far(FarChannel* far, uint32_t comm, int tag, const FarNumber& number, Moment* said) {
    const ChannelEntry* entry = find_entry_of(far, comm, tag, number.order);
    if (entry == nullptr) return false;
    *said = entry->said;
    return true;
}

bool take_far(FarChannel* far, uint32_t comm, int tag, const FarNumber& number, Moment* said) {
    ChannelEntry* entry = find_entry_of(far, comm, tag, number.order);
    if (entry == nullptr) return false;
    *said = entry->said;
    entry->number = 0;
    return true;
}

uint32_t take_question(FarChannel* far, uint32_t comm, int tag, uint32_t ticket) {
    if (tag == MPI_ANY_TAG || is_silent(far)) return 0;
    const FarKind* kind = find_kind(far, comm, tag);
    if (ticket == 0 && (kind->posted != 0 || is_shared(far, kind))) return 0;
    const uint32_t order = order_of(far, kind, ticket != 0 ? ticket : kind->received + 1);
    ChannelEntry* entry = find_entry_of(far, comm, tag, order);
    if (entry == nullptr) return 0;
    const uint32_t question = question_of(*entry);
    set_question(entry, 0);
    return question;
}

void put_answer(FarChannel* far, uint32_t question, const Moment& said) {
    far->answers[question % kFarAnswers] = {question, said};
}

bool find_answer(const FarChannel& far, uint32_t question, Moment* said) {
    const FarAnswer& answer = far.answers[question % kFarAnswers];
    if (question == 0 || answer.question != question) return false;
    *said = answer.said;
    return true;
}

bool lost_by_partner(const FarChannel& far, uint64_t at, uint64_t* ticks) {
    if (far.last.at.real == 0) return false;
    const uint64_t lost = far.last.at.real - far.last.at.virt;
    const uint64_t since = beyond(at, far.last.at.real);
    double rate = 0;
    if (far.loss_is_told) {
        rate = far.loss / 256.0;
    } else if (beyond(far.last.at.real, far.before.at.real) >= kRateTicks) {
        const uint64_t earlier_lost = far.before.at.real - far.before.at.virt;
        rate = static_cast<double>(beyond(lost, earlier_lost)) /
               static_cast<double>(far.last.at.real - far.before.at.real);
    }
    *ticks = lost + static_cast<uint64_t>(static_cast<double>(since) * (rate < 1 ? rate : 1));
    return true;
}

}  // namespace dwell
