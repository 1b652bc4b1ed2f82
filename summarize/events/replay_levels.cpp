// The time of statements that had no events (--events-rate); see replay.h.
#include <algorithm>

#include "summarize/events/replay_parts.h"

namespace dwell {

void UntoldTime::add(uint64_t from, uint64_t to, uint64_t ticks) {
    if (ticks == 0) return;
    const double rate =
        static_cast<double>(ticks) / static_cast<double>(std::max<uint64_t>(beyond(to, from), 1));
    steps_.emplace_back(from, rate);
    steps_.emplace_back(std::max(to, from + 1), -rate);
}

void UntoldTime::end_of_adds() { std::sort(steps_.begin(), steps_.end()); }

double UntoldTime::until(uint64_t time) {
    for (; next_ != steps_.size() && steps_[next_].first <= time; ++next_) {
        const auto& [at, change] = steps_[next_];
        sum_ += rate_ * static_cast<double>(beyond(at, time_));
        time_ = std::max(time_, at);
        rate_ += change;
    }
    if (next_ == 0) return 0;
    sum_ += rate_ * static_cast<double>(beyond(time, time_));
    time_ = std::max(time_, time);
    return sum_;
}

// Of the statements of the thread with this root.
UntoldTime Replay::untold_of(CellIndex root) {
    UntoldTime untold;
    std::map<CellIndex, uint64_t> changed;  // when the node was told of last
    const uint64_t end = process_.header.end_ticks != 0 ? process_.header.end_ticks : UINT64_MAX;
    for (const LevelChange& change : process_.levels) {
        CellIndex top = change.node;
        while (top < is_node_.size() && is_node_[top] && node(top)->parent != 0)
            top = node(top)->parent;
        if (top != root || !is_statement(*node(change.node))) continue;
        const uint64_t from = std::exchange(changed[change.node], change.real_ticks);
        untold.add(from, std::min(change.real_ticks, end), change.ticks);
    }
    untold.end_of_adds();
    return untold;
}

// While a node had no events its own count and time went on.
void Replay::add_levels() {
    for (const LevelChange& change : process_.levels) {
        if (change.node >= is_node_.size() || !is_node_[change.node]) continue;
        node(change.node)->count += change.count;
        node(change.node)->ticks += change.ticks;
    }
}

}  // namespace dwell
