// Keeps calls nested; see filter_records.h.
#include "report/filter/filter_records.h"

#include <algorithm>

namespace dwell {

// Belongs to a call that was dropped.
bool FilterNesting::is_left_out(const Event& event) {
    if (const uint64_t node = late_node(event); node != 0) {
        const auto found = std::find_if(open_.rbegin(), open_.rend(),
                                        [node](const Open& open) { return open.node == node; });
        if (found != open_.rend()) return found->is_dropped;
        return node == last_node_ && last_was_dropped_;
    }
    return !open_.empty() && open_.back().is_dropped && open_.back().is_call;
}

// `ended` innermost entries ended while no records were written, as have statements, which are
// not among these: how many of them were not dropped.
uint64_t FilterNesting::end_unseen(uint64_t ended) {
    uint64_t kept = ended;
    for (; !open_.empty() && (ended != 0 || open_.back().is_call); open_.pop_back()) {
        if (open_.back().is_call) continue;
        kept -= open_.back().is_dropped ? 1 : 0;
        ended -= 1;
    }
    return kept;
}

void FilterNesting::filter(const RingRecord* records, size_t count, const Decide& decide,
                           const IsCall& is_call, std::vector<RingRecord>* out,
                           FilterCounts* counts) {
    const auto ask = [&](RingRecord* record, uint32_t around) {
        added_.clear();
        return decide(record, around, &added_);
    };
    const auto put = [&](const RingRecord& record) { out->push_back(record); };
    const auto put_added = [&] {
        counts->added += added_.size();
        out->insert(out->end(), added_.begin(), added_.end());
        added_.clear();
    };
    const auto put_moved = [&](bool drops) {
        if (drops) counts->dropped += moved_.size();
        if (!drops) out->insert(out->end(), moved_.begin(), moved_.end());
        moved_.clear();
    };
    for (size_t i = 0; i != count; ++i) {
        RingRecord record = records[i];
        const Event& event = record.event;
        if (is_control(event, EventControl::kMoved)) {
            moved_ = {record};
            continue;
        }
        if (is_control(event, EventControl::kEnd)) open_.clear();
        if (is_control(event, EventControl::kGap)) end_unseen(0);
        if (is_control(event, EventControl::kEnded) && event.more != 0)
            record.event.values[0] = end_unseen(event.values[0]);
        if (is_of_the_log(event)) {
            put(record);
            continue;
        }
        if (event.kind == EventKind::kLeave) {
            const uint32_t node = event.what;
            const auto found = std::find_if(open_.rbegin(), open_.rend(),
                                            [node](const Open& open) { return open.node == node; });
            const bool is_known = found != open_.rend();
            const bool was_dropped = is_known && found->is_dropped;
            if (is_known) open_.resize(static_cast<size_t>(open_.rend() - found) - 1);
            last_node_ = node;
            last_was_dropped_ = was_dropped;
            if (was_dropped) {
                counts->dropped += 1;
                put_moved(true);
                continue;
            }
            ask(&record, record.place);
            put_moved(false);
            put(records[i]);
            put_added();
            continue;
        }
        if (event.kind != EventKind::kEnter && is_left_out(event)) {
            counts->dropped += 1;
            continue;
        }
        if (is_control(event, EventControl::kWaited)) {
            put(record);
            continue;
        }
        const uint32_t around = open_.empty() ? kNoEventPlace : open_.back().place;
        const bool is_enter = event.kind == EventKind::kEnter;
        const Verdict verdict = ask(&record, is_enter ? record.place : around);
        if (is_enter) {
            open_.push_back({event.what, record.place, verdict.drops, is_call(record.place)});
            put_moved(verdict.drops);
        }
        if (verdict.drops) {
            counts->dropped += 1;
        } else {
            counts->changed += verdict.changed ? 1 : 0;
            put(is_enter ? records[i] : record);
        }
        put_added();
    }
}

}  // namespace dwell
