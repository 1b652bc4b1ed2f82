// Bounds the lists of causes and stalls while records are merged; see merged_waits.h.
#include "summarize/merge/merged_waits.h"

#include <algorithm>

namespace dwell {
namespace {

uint64_t hash_of(const MergedCause& cause) {
    return mix_hash(mix_hash(cause.group, cause.peer), cause.path);
}

bool is_sum(const MergedCause& cause) { return cause.peer == kNoPeer; }

void add_cause(const MergedCause& from, MergedCause* into) {
    into->count += from.count;
    into->time_ns += from.time_ns;
    into->max_ns = std::max(into->max_ns, from.max_ns);
    into->passed_on_ns += from.passed_on_ns;
    into->lost_ns += from.lost_ns;
}

bool heavier(const MergedCause& a, const MergedCause& b) {
    if (a.group != b.group) return a.group < b.group;
    if (is_sum(a) != is_sum(b)) return is_sum(b);
    if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
    if (a.peer != b.peer) return a.peer < b.peer;
    return a.path < b.path;
}

}  // namespace

uint32_t CauseTable::find(uint64_t hash, const MergedCause& cause) const {
    return index_.find(hash, [&](uint32_t i) {
        const MergedCause& other = (*list_)[i];
        return other.group == cause.group && other.peer == cause.peer && other.path == cause.path;
    });
}

bool CauseTable::load(size_t extra) {
    const size_t most = list_->size() + extra;
    if (!index_.reserve(most) || !list_->reserve(most)) return false;
    for (size_t i = 0; i < list_->size(); i++) {
        const uint64_t hash = hash_of((*list_)[i]);
        if (find(hash, (*list_)[i]) == HashIndex::kAbsent) {
            index_.insert(hash, static_cast<uint32_t>(i));
        }
    }
    return true;
}

bool CauseTable::add(const MergedCause& cause) {
    const uint64_t hash = hash_of(cause);
    const uint32_t known = find(hash, cause);
    if (known != HashIndex::kAbsent) {
        add_cause(cause, &(*list_)[known]);
        return true;
    }
    if (!index_.reserve(list_->size() + 1) || !list_->push(cause)) return false;
    index_.insert(hash, static_cast<uint32_t>(list_->size() - 1));
    return true;
}

void keep_heaviest_causes(GrowArray<MergedCause>* list, size_t limit) {
    if (!std::is_sorted(list->begin(), list->end(), heavier)) {
        std::sort(list->begin(), list->end(), heavier);
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->size();) {
        MergedCause sum{};
        sum.group = (*list)[i].group;
        sum.peer = kNoPeer;
        bool has_sum = false;
        for (size_t of_group = 0; i < list->size() && (*list)[i].group == sum.group; i++) {
            MergedCause cause = (*list)[i];
            if (!is_sum(cause) && of_group++ < limit) {
                (*list)[kept++] = cause;
                continue;
            }
            // Entries are sorted by weight, so the first one removed is the heaviest one removed.
            if (!is_sum(cause)) cause.lost_ns = of_group == limit + 1 ? cause.time_ns : 0;
            add_cause(cause, &sum);
            has_sum = true;
        }
        // At least one entry was removed before, so this does not overwrite an entry still to be
        // read.
        if (has_sum) (*list)[kept++] = sum;
    }
    list->resize(kept);
}

// Sums entries of equal path and rank: each thread of a rank may have one.
static void join_stalls(GrowArray<MergedStall>* list) {
    std::sort(list->begin(), list->end(), [](const MergedStall& a, const MergedStall& b) {
        if (a.path != b.path) return a.path < b.path;
        if (a.rank != b.rank) return a.rank < b.rank;
        return a.io_ns > b.io_ns;  // the first one supplies the I/O statement
    });
    size_t kept = 0;
    for (const MergedStall& stall : *list) {
        MergedStall& last = (*list)[kept == 0 ? 0 : kept - 1];
        if (kept == 0 || last.path != stall.path || last.rank != stall.rank) {
            (*list)[kept++] = stall;
            continue;
        }
        last.count += stall.count;
        last.time_ns += stall.time_ns;
        last.io_ns += stall.io_ns;
        last.asleep_ns += stall.asleep_ns;
        last.queued_ns += stall.queued_ns;
        last.kernel_ns += stall.kernel_ns;
    }
    list->resize(kept);
}

void keep_heaviest_stalls(GrowArray<MergedStall>* list, size_t limit) {
    join_stalls(list);
    std::sort(list->begin(), list->end(), [](const MergedStall& a, const MergedStall& b) {
        if (a.path != b.path) return a.path < b.path;
        if (stalled_ns(a) != stalled_ns(b)) return stalled_ns(a) > stalled_ns(b);
        return a.rank < b.rank;
    });
    size_t kept = 0;
    size_t of_path = 0;
    uint32_t path = 0;
    for (size_t i = 0; i < list->size(); i++) {
        const MergedStall stall = (*list)[i];
        of_path = i > 0 && stall.path == path ? of_path + 1 : 0;
        path = stall.path;
        if (of_path < limit) (*list)[kept++] = stall;
    }
    list->resize(kept);
}

}  // namespace dwell
