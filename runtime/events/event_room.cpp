// Where a record does not fit: the ring's end, a ring that the reader has not emptied, or a time
// too long after the last one that was written whole. Probes come here with vector registers that
// nobody saves, so this file is compiled for general registers and calls nothing.
#include "runtime/events/event_flush.h"
#include "runtime/events/events.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);
constexpr uint64_t kOwnWords = 2 + 3 + 1 + kEventLosses + 2;  // kBase, kFlushed, kGap, kEnded
// Virtual time goes back by a little where costs are estimated too high; records bear that much.
constexpr uint64_t kStepBack_ticks = uint64_t{1} << (kEventTimeBits - 3);
constexpr uint32_t kParts = 16;  // of a ring that is overwritten: each begins with a kBase

EventLoss loss_of(EventKind kind) {
    switch (kind) {
        case EventKind::kEnter:
        case EventKind::kLeave:
            return EventLoss::kEntersAndLeaves;
        case EventKind::kSend:
        case EventKind::kReceive:
        case EventKind::kOneSided:
        case EventKind::kCollective:
            return EventLoss::kMessages;
        default:
            return EventLoss::kOther;
    }
}

// Fills the rest of the lap. A reader may see the count of words too small for a moment.
void begin_lap(EventRing* ring) {
    const uint64_t end = ring->first + ring->words * kWordBytes;
    for (uint64_t at = ring->next; at != end; at += kWordBytes) {
        __atomic_store_n(reinterpret_cast<uint64_t*>(at), 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&ring->next, ring->first, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->lap_words, ring->lap_words + ring->words, __ATOMIC_RELEASE);
}

uint64_t room_in(const EventRing& ring) {
    const uint64_t read = __atomic_load_n(&ring.read, __ATOMIC_ACQUIRE);
    return ring.words - (words_written(ring, ring.next) - read);
}

// Sets the limit so that `words` words fit before it; false: the reader has not read far enough.
// `flush`: that was needed.
bool find_room(Thread* thread, EventRing* ring, uint64_t words, Flush* flush) {
    const uint64_t end = ring->first + ring->words * kWordBytes;
    const uint64_t left = (end - ring->next) / kWordBytes;
    const uint64_t skipped = words > left ? left : 0;
    if (ring->policy == static_cast<uint32_t>(EventPolicy::kOverwrite)) {
        if (skipped != 0 || left == 0) begin_lap(ring);
        ring->limit = earlier(end, ring->next + ring->words / kParts * kWordBytes);
        return true;
    }
    const bool stopped =
        ring->is_full != 0 && ring->policy == static_cast<uint32_t>(EventPolicy::kStop);
    const uint64_t least =
        ring->is_full != 0 ? later(words + skipped, ring->words / 4) : words + skipped;
    uint64_t room = room_in(*ring);
    if (room < least && ring->policy == static_cast<uint32_t>(EventPolicy::kFlush)) {
        *flush = flush_events(thread);
        room = room_in(*ring);
    }
    if (room < least || stopped) {
        ring->is_full = 1;
        return false;
    }
    ring->is_full = 0;
    if (skipped != 0 || left == 0) {
        room -= skipped;
        begin_lap(ring);
    }
    ring->limit = earlier(end, ring->next + room * kWordBytes);
    return true;
}

uint64_t* put_control(EventRing* ring, EventControl what, uint64_t virt) {
    auto* const at = reinterpret_cast<uint64_t*>(ring->next);
    *at = ((virt - ring->base) << kEventTimeShift) +
          event_what(EventKind::kControl, static_cast<uint32_t>(what));
    return at;
}
// Behind its further words.
void end_control(EventRing* ring, const uint64_t* end) {
    __atomic_store_n(&ring->next, reinterpret_cast<uint64_t>(end), __ATOMIC_RELEASE);
}

void tell_losses(EventRing* ring, uint64_t virt) {
    uint64_t lost[kEventLosses];
    uint64_t all = 0;
    for (uint32_t i = 0; i < kEventLosses; ++i) {
        lost[i] = ring->lost[i] - ring->told[i];
        all += lost[i];
        ring->told[i] = ring->lost[i];
    }
    if (all == 0) return;
    uint64_t* const at = put_control(ring, EventControl::kGap, virt);
    for (uint32_t i = 0; i < kEventLosses; ++i) at[1 + i] = event_more(lost[i]);
    end_control(ring, at + 1 + kEventLosses);
}

template <typename Do>
void for_each_open(Thread* thread, const Do& with) {
    for (uint32_t i = 0; i < kProbeStacks && thread->stacks[i].base != nullptr; ++i) {
        const ProbeStack& stack = i == thread->on_number ? thread->on : thread->stacks[i];
        for (ProbeEntry* entry = stack.base + 1; entry <= stack.top; ++entry) {
            with(entry, (entry->row & kRowWithoutNode) == 0 && has_events(entry->node));
        }
    }
}

// From now on records are written, or are not: how many open entries have their enter in the log.
uint64_t switch_entries(Thread* thread, bool writes) {
    uint64_t logged = 0;
    for_each_open(thread, [&](ProbeEntry* entry, bool has_records) {
        const bool is_logged = ((entry->flags & kEntrySwitched) != 0) == writes;
        entry->flags ^= kEntrySwitched;
        if (is_logged && has_records) logged += 1;
    });
    return logged;
}

// At the end of a gap: leaves of what was entered in it are lost, whenever they come.
void lose_open(Thread* thread, EventRing* ring, const ProbeEntry* entered) {
    constexpr auto kLost = static_cast<uint32_t>(EventLoss::kEntersAndLeaves);
    if (ring->is_unseen == 0 || ring->lost[kLost] == ring->told[kLost]) return;
    for_each_open(thread, [&](ProbeEntry* entry, bool has_records) {
        const bool is_lost = (entry->flags & (kEntrySwitched | kEntryLost)) == 0;
        if (!is_lost || !has_records || entry == entered) return;
        entry->flags |= kEntryLost;
        ring->lost[kLost] += 1;
    });
}

void tell_ended(Thread* thread, EventRing* ring, uint64_t virt) {
    if (ring->is_unseen == 0) return;
    ring->is_unseen = 0;
    const uint64_t ended = beyond(ring->open_before, switch_entries(thread, true));
    if (ended == 0) return;
    uint64_t* const at = put_control(ring, EventControl::kEnded, virt);
    at[1] = event_more(ended);
    end_control(ring, at + 2);
}

// The innermost entry, if the record is its enter, which comes when the entry is open already.
ProbeEntry* entered_by(Thread* thread, EventKind kind, uint64_t what, uint64_t virt) {
    ProbeEntry* const top = thread->on.top;
    const bool is_own =
        kind == EventKind::kEnter && what == top->node && top->entry_virtual == virt;
    return is_own ? top : nullptr;
}

}  // namespace

void begin_unseen(Thread* thread) {
    EventRing* const ring = &thread->record->events;
    if (ring->is_unseen != 0) return;
    ring->is_unseen = 1;
    ring->open_before = switch_entries(thread, false);
}

bool make_event_room(Thread* thread, uint64_t virt, uint64_t form, uint64_t what) {
    EventRing* const ring = &thread->record->events;
    const EventKind kind = event_kind(form);
    const uint64_t words = form >> kEventKindBits;
    ProbeEntry* const entered = entered_by(thread, kind, what, virt);
    Flush flush = {0, 0};
    if (!find_room(thread, ring, kOwnWords + words, &flush)) {
        begin_unseen(thread);
        if (entered != nullptr && (entered->flags & kEntrySwitched) != 0) {  // by this
            entered->flags &= ~uint32_t{kEntrySwitched};
            ring->open_before -= 1;
        }
        ring->lost[static_cast<uint32_t>(loss_of(kind))] += 1;
        ring->limit = ring->next;  // so that no shorter record comes before this one's gap
        return false;
    }
    ring->base = beyond(virt, kStepBack_ticks) + 1;  // 0: none
    uint64_t* const base = put_control(ring, EventControl::kBase, virt);
    base[1] = event_more(ring->base + thread->record->paused_ticks - ring->reset_ticks);
    end_control(ring, base + 2);
    if (flush.bytes != 0) {
        uint64_t* const at = put_control(ring, EventControl::kFlushed, virt);
        at[1] = event_more(flush.ticks);
        at[2] = event_more(flush.bytes);
        end_control(ring, at + 3);
    }
    const ProbeEntry& top = *thread->on.top;
    const bool is_end_of_lost = ring->is_unseen != 0 && (top.flags & kEntrySwitched) == 0 &&
                                kind == EventKind::kLeave && what == top.node;
    lose_open(thread, ring, entered);
    tell_losses(ring, virt);
    tell_ended(thread, ring, virt);
    if (entered != nullptr) entered->flags &= ~uint32_t{kEntrySwitched};
    return !is_end_of_lost;
}

}  // namespace dwell
