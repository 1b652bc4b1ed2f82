// The limited sets of wait records and cause records.
#include "runtime/waitstates/wait_records.h"

#include <algorithm>

#include "runtime/contract/path_hash.h"

namespace dwell {

namespace {

template <class Record>
uint64_t weight_of(const Record& record) {
    return record.ticks + record.displaced_ticks;
}

// Whether the lightest record gives way to a wait of `ticks`; then its own time moves to the rest.
template <class Record>
bool gives_way(Record* lightest, uint64_t ticks, uint64_t* rest_ticks, uint64_t* rest_count) {
    lightest->challenged_ticks += ticks;
    const uint64_t weight = weight_of(*lightest);
    if (lightest->challenged_ticks <= weight) return false;
    *rest_ticks += lightest->ticks;
    *rest_count += lightest->count;
    lightest->displaced_ticks = weight + lightest->challenged_ticks - ticks;
    lightest->challenged_ticks = 0;
    __atomic_store_n(&lightest->ticks, uint64_t{0}, __ATOMIC_RELEASE);
    __atomic_store_n(&lightest->count, uint64_t{0}, __ATOMIC_RELEASE);
    return true;
}

template <class Record>
void name(Record* record, uint32_t peer, uint32_t path) {
    __atomic_store_n(&record->peer, peer, __ATOMIC_RELEASE);
    __atomic_store_n(&record->path, path, __ATOMIC_RELEASE);
}

DWELL_COLD WaitPart* make_wait_part(Call* call) {
    const CellIndex made = take_cells(call->thread, 1);
    if (made == 0) return nullptr;
    __atomic_store_n(&call->part->wait, made, __ATOMIC_RELEASE);
    return cell_at<WaitPart>(made);
}

WaitPeerRecord* add_partner(Call* call, WaitPart* part, uint32_t peer, uint32_t path) {
    if (part->partner_count == kWaitPartners) return nullptr;
    const CellIndex made = take_cells(call->thread, 1);
    if (made == 0) return nullptr;
    auto* partner = cell_at<WaitPeerRecord>(made);
    name(partner, peer, path);
    partner->next = part->first_partner;
    __atomic_store_n(&part->first_partner, made, __ATOMIC_RELEASE);
    part->partner_count += 1;
    return partner;
}

WaitPeerRecord* find_partner(Call* call, WaitPart* part, uint32_t peer, uint32_t path,
                             uint64_t ticks) {
    if (part->last_partner != 0) {
        auto* last = cell_at<WaitPeerRecord>(part->last_partner);
        if (last->peer == peer && last->path == path) return last;
    }
    WaitPeerRecord* lightest = nullptr;
    for (CellIndex at = part->first_partner; at != 0;) {
        auto* partner = cell_at<WaitPeerRecord>(at);
        if (partner->peer == peer && partner->path == path) return partner;
        if (lightest == nullptr || weight_of(*partner) < weight_of(*lightest)) lightest = partner;
        at = partner->next;
    }
    WaitPeerRecord* added = add_partner(call, part, peer, path);
    if (added != nullptr || lightest == nullptr) return added;
    if (!gives_way(lightest, ticks, &part->rest_ticks, &part->rest_count)) return nullptr;
    lightest->indirect_wait_ticks = lightest->max_ticks = 0;
    name(lightest, peer, path);
    return lightest;
}

DWELL_COLD CellIndex make_cause(Thread* thread, uint32_t peer, uint32_t path) {
    const CellIndex made = take_cells(thread, 1);
    if (made == 0) return 0;
    auto* cause = cell_at<RootCauseRecord>(made);
    name(cause, peer, path);
    cause->next = thread->record->first_cause;
    __atomic_store_n(&thread->record->first_cause, made, __ATOMIC_RELEASE);
    return made;
}

CauseSlot* lightest_between(CauseSlot* begin, CauseSlot* end) {
    return std::min_element(begin, end, [](const CauseSlot& a, const CauseSlot& b) {
        return weight_of(*cell_at<RootCauseRecord>(a.cell)) <
               weight_of(*cell_at<RootCauseRecord>(b.cell));
    });
}

// The record of a cause, in a set that may be full; null: none.
RootCauseRecord* find_cause(Thread* thread, uint32_t peer, uint32_t path, uint64_t ticks) {
    const uint64_t hash = mix_path(mix_path(kRootPath, peer), path);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    CauseSlot* const set = thread->causes[hash % kCauseSets];
    CauseSlot* const end = set + kCauseWays;
    CauseSlot* slot = set;
    for (; slot != end && slot->cell != 0; ++slot) {
        if (slot->tag != tag) continue;
        auto* cause = cell_at<RootCauseRecord>(slot->cell);
        if (cause->peer == peer && cause->path == path) return cause;
    }
    if (slot != end) {
        slot->cell = make_cause(thread, peer, path);
        slot->tag = tag;
        if (slot->cell != 0) return cell_at<RootCauseRecord>(slot->cell);
    }
    if (slot == set) return nullptr;
    CauseSlot* const lightest = lightest_between(set, slot);
    auto* cause = cell_at<RootCauseRecord>(lightest->cell);
    ThreadRecord* record = thread->record;
    if (!gives_way(cause, ticks, &record->rest_cause_ticks, &record->rest_cause_count)) {
        return nullptr;
    }
    cause->direct_wait_ticks = 0;
    name(cause, peer, path);
    lightest->tag = tag;
    return cause;
}

}  // namespace

WaitPart* wait_part(Call* call) {
    return call->part->wait != 0 ? cell_at<WaitPart>(call->part->wait) : make_wait_part(call);
}

void record_partner(Call* call, WaitPart* part, uint32_t peer, uint32_t path, uint64_t ticks,
                    uint64_t indirect_ticks) {
    WaitPeerRecord* partner = find_partner(call, part, peer, path, ticks);
    if (partner == nullptr) {
        part->rest_count += 1;
        part->rest_ticks += ticks;
        return;
    }
    part->last_partner = index_of(partner);
    partner->count += 1;
    partner->ticks += ticks;
    partner->indirect_wait_ticks += indirect_ticks;
    partner->max_ticks = later(partner->max_ticks, ticks);
}

void record_cause(Thread* thread, uint32_t peer, uint32_t path, uint64_t ticks, bool direct) {
    if (ticks == 0) return;
    RootCauseRecord* cause = find_cause(thread, peer, path, ticks);
    if (cause == nullptr) {
        record_unknown_cause(thread, ticks);
        return;
    }
    cause->count += 1;
    cause->ticks += ticks;
    if (direct) cause->direct_wait_ticks += ticks;
}

void record_unknown_cause(Thread* thread, uint64_t ticks) {
    if (ticks == 0) return;
    thread->record->rest_cause_ticks += ticks;
    thread->record->rest_cause_count += 1;
}

}  // namespace dwell
