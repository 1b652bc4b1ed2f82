// Holds what is undecided; see long_instances.h.
#include "report/filter/long_instances.h"

#include <algorithm>

namespace dwell {

// Passes on the first records that are held.
void LongInstances::pass_until(size_t end, std::vector<RingRecord>* out) {
    out->insert(out->end(), held_.begin(), held_.begin() + static_cast<ptrdiff_t>(end));
    held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(end));
    for (Open& open : open_) {
        if (open.fate == Fate::kHeld) open.at -= std::min(open.at, end);
    }
}

// What is around an instance has lasted as long.
void LongInstances::pass_long(uint64_t now, std::vector<RingRecord>* out) {
    for (size_t i = 0; undecided_ != 0 && i != open_.size(); ++i) {
        if (open_[i].fate != Fate::kHeld) continue;
        if (now < open_[i].begin || now - open_[i].begin <= limit_ticks_) return;
        open_[i].fate = Fate::kPassed;
        undecided_ -= 1;
        passed_ += 1;
        const auto next = std::find_if(open_.begin(), open_.end(),
                                       [](const Open& open) { return open.fate == Fate::kHeld; });
        pass_until(next == open_.end() ? held_.size() : next->at, out);
    }
}

void LongInstances::pass_all(std::vector<RingRecord>* out) {
    for (Open& open : open_) {
        if (open.fate != Fate::kHeld) continue;
        open.fate = Fate::kPassed;
        passed_ += 1;
    }
    undecided_ = 0;
    pass_until(held_.size(), out);
}

void LongInstances::put(const RingRecord& record, std::vector<RingRecord>* out) {
    if (undecided_ != 0) {
        held_.push_back(record);
    } else if (!of_some_sites_ || passed_ != 0) {
        out->push_back(record);
    } else {
        left_out_ += 1;
    }
}

void LongInstances::put_moved(std::vector<RingRecord>* out) {
    for (const RingRecord& moved : moved_) put(moved, out);
    moved_.clear();
}

// An instance that is held, and innermost.
void LongInstances::leave_out(const Open& open) {
    undecided_ -= 1;
    too_short_ += 1;
    const auto begin = held_.begin() + static_cast<ptrdiff_t>(open.at);
    const auto end = std::remove_if(
        begin, held_.end(), [](const RingRecord& record) { return !is_of_the_log(record.event); });
    left_out_ += static_cast<uint64_t>(held_.end() - end);
    held_.erase(end, held_.end());
}

void LongInstances::enter(const RingRecord& record, bool matches, std::vector<RingRecord>* out) {
    Open open{record.event.what, record.event.time, held_.size(), Fate::kHeld};
    if (of_some_sites_ && (undecided_ != 0 || passed_ != 0)) {
        open.fate = Fate::kInside;
    } else if (of_some_sites_ && !matches) {
        open.fate = Fate::kOutside;
    }
    if (open.fate == Fate::kHeld) undecided_ += 1;
    open_.push_back(open);
    put_moved(out);
    put(record, out);
}

void LongInstances::leave(const RingRecord& record, bool matches, std::vector<RingRecord>* out) {
    const uint32_t node = record.event.what;
    const auto found = std::find_if(open_.rbegin(), open_.rend(),
                                    [node](const Open& open) { return open.node == node; });
    last_node_ = node;
    last_was_passed_ = true;
    if (found == open_.rend()) {  // its beginning is not in the log, so its length is not known
        passed_ += matches ? 1 : 0;
        put_moved(out);
        put(record, out);
        passed_ -= matches ? 1 : 0;
        return;
    }
    const auto from = static_cast<size_t>(open_.rend() - found) - 1;
    // Inner ones whose ends are missing end here, too.
    for (; open_.size() - 1 != from; open_.pop_back()) {
        if (open_.back().fate == Fate::kHeld) leave_out(open_.back());
        if (open_.back().fate == Fate::kPassed) passed_ -= 1;
    }
    if (open_.back().fate == Fate::kHeld) {
        leave_out(open_.back());
        left_out_ += 1 + moved_.size();
        moved_.clear();
        last_was_passed_ = false;
    } else {
        put_moved(out);
        put(record, out);
        if (open_.back().fate == Fate::kPassed) passed_ -= 1;
        last_was_passed_ = open_.back().fate != Fate::kOutside;
    }
    open_.pop_back();
    // What the log needs itself was held with it.
    if (undecided_ == 0) pass_until(held_.size(), out);
}

// `ended` innermost calls ended while no records were written: how many of them were passed on.
uint64_t LongInstances::end_unseen(uint64_t ended) {
    uint64_t kept = ended;
    for (; ended != 0 && !open_.empty(); --ended) {
        kept -= open_.back().fate == Fate::kOutside ? 1 : 0;
        passed_ -= open_.back().fate == Fate::kPassed ? 1 : 0;
        open_.pop_back();
    }
    return kept;
}

// It comes shortly before or after its instance ends.
void LongInstances::add_late(const RingRecord& record, std::vector<RingRecord>* out) {
    const uint64_t node = late_node(record.event);
    const bool is_open = std::any_of(open_.begin(), open_.end(),
                                     [node](const Open& open) { return open.node == node; });
    if (is_open || node != last_node_) {
        put(record, out);
    } else if (!last_was_passed_) {
        left_out_ += 1;
    } else if (undecided_ != 0) {
        held_.push_back(record);
    } else {
        out->push_back(record);
    }
}

void LongInstances::add(const RingRecord& record, bool matches, std::vector<RingRecord>* out) {
    const Event& event = record.event;
    pass_long(event.time, out);
    if (ends_instances(event)) pass_all(out);
    if (held_.size() >= kMostHeldRecords) {
        untold_ += undecided_;
        pass_all(out);
    }
    if (is_of_the_log(event)) {
        RingRecord kept = record;
        if (is_control(event, EventControl::kEnded) && event.more != 0)
            kept.event.values[0] = end_unseen(event.values[0]);
        (undecided_ != 0 ? held_ : *out).push_back(kept);
        if (is_control(event, EventControl::kEnd)) {
            open_.clear();
            passed_ = 0;
        }
    } else if (is_control(event, EventControl::kMoved)) {
        moved_ = {record};
    } else if (late_node(event) != 0) {
        add_late(record, out);
    } else if (event.kind == EventKind::kEnter) {
        enter(record, matches, out);
    } else if (event.kind == EventKind::kLeave) {
        leave(record, matches, out);
    } else {
        put(record, out);
    }
}

}  // namespace dwell
