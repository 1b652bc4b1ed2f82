// See message_channels.h.
#include "report/events/message_channels.h"

namespace dwell {
namespace {

constexpr size_t kMostOnWay = 1024;     // of a channel; older ones have been lost
constexpr size_t kMostUnmet = 1 << 16;  // likewise

}  // namespace

MessageMatches::End MessageMatches::Queue::pop(size_t at) {
    first += at;
    const End end = ends[first++];
    if (first > ends.size() / 2) {
        ends.erase(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(first));
        first = 0;
    }
    return end;
}

void MessageMatches::note(uint32_t own, const Event& record, uint64_t ns, bool one_clock) {
    const bool sends = record.kind == EventKind::kSend;
    if (channels_.size() >= most_) {
        forget_whole_ones();
        has_forgotten_ = true;
        most_ = std::max(most_, 2 * channels_.size());
    }
    Channel& channel = channels_[ChannelKey::of(own, record)];
    const End end{sends ? channel.sends++ : channel.receives++,
                  record.more != 0 ? record.values[0] : 0, ns};
    if (channel.agrees) compare(&channel, sends, end, one_clock);
    meet(&channel, sends, end);
}

// With the other end of the same number.
void MessageMatches::compare(Channel* channel, bool sends, const End& end, bool one_clock) {
    if (channel->unmet.size() == 0) channel->unmet_are_sends = sends;
    if (channel->unmet_are_sends == sends) {
        channel->unmet.push(end);
        // One end has too many, so numbers say nothing.
        if (channel->unmet.size() > kMostUnmet) channel->agrees = false;
        return;
    }
    const End other = channel->unmet.pop();
    channel->agrees = other.bytes == end.bytes;
    if (!sends || other.ns == end.ns || !one_clock) return;
    channel->early += 1;
    channel->earliest_ns = std::max(channel->earliest_ns, end.ns - other.ns);
}

// As if others were lost.
void MessageMatches::meet(Channel* channel, bool sends, const End& end) {
    Queue& on_way = channel->on_way;
    channel->is_met[sends ? 0 : 1].push_back(false);
    if (sends) {
        on_way.push(end);
        if (on_way.size() > kMostOnWay) on_way.pop();
        return;
    }
    for (size_t at = 0; at < on_way.size(); ++at) {
        if (on_way.ends[on_way.first + at].bytes != end.bytes) continue;
        channel->is_met[0][on_way.pop(at).number] = true;
        channel->is_met[1].back() = true;
        return;
    }
}

bool MessageMatches::is_whole(const Channel& channel) {
    return channel.agrees && 2 * channel.early <= std::min(channel.sends, channel.receives);
}

void MessageMatches::add_early(const Channel& channel) {
    early_ += channel.early;
    earliest_ns_ = std::max(earliest_ns_, channel.earliest_ns);
}

// As a program may have a tag for each message.
void MessageMatches::forget_whole_ones() {
    for (auto at = channels_.begin(); at != channels_.end();) {
        const Channel& channel = at->second;
        const bool is_over = is_whole(channel) && channel.sends == channel.receives;
        if (is_over) add_early(channel);
        at = is_over ? channels_.erase(at) : std::next(at);
    }
}

void MessageMatches::end_of_notes() {
    forget_whole_ones();
    for (auto& [key, channel] : channels_) {
        const uint64_t whole = std::min(channel.sends, channel.receives);
        std::vector<bool>* const is_met = channel.is_met;
        if (has_forgotten_ || is_whole(channel)) {
            // Of what was forgotten, numbers are not known.
            is_met[0].assign(channel.sends, false);
            is_met[1].assign(channel.receives, false);
            for (uint64_t i = 0; i < whole && !has_forgotten_; ++i)
                is_met[0][i] = is_met[1][i] = true;
            if (!has_forgotten_) add_early(channel);
        } else {
            guessed_ += static_cast<uint64_t>(std::count(is_met[0].begin(), is_met[0].end(), true));
        }
        for (int i = 0; i < 2; ++i)
            alone_ += static_cast<uint64_t>(std::count(is_met[i].begin(), is_met[i].end(), false));
        channel.unmet = channel.on_way = Queue();
    }
}

void MessageMatches::rewind() {
    for (auto& [key, channel] : channels_) channel.seen[0] = channel.seen[1] = 0;
}

bool MessageMatches::has_other_end(uint32_t own, const Event& record) {
    if (channels_.empty()) return true;
    const auto found = channels_.find(ChannelKey::of(own, record));
    if (found == channels_.end()) return true;
    const int end = record.kind == EventKind::kSend ? 0 : 1;
    const std::vector<bool>& is_met = found->second.is_met[end];
    const uint64_t number = found->second.seen[end]++;
    return number < is_met.size() && is_met[number];
}

}  // namespace dwell
