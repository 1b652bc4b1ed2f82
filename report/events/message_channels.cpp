// See message_channels.h.
#include "report/events/message_channels.h"

#include <algorithm>
#include <utility>

namespace dwell {
namespace {

constexpr size_t kMostOnWay = 1024;     // of a channel; older ones have been lost
constexpr size_t kMostUnmet = 1 << 16;  // likewise

}  // namespace

MessageMatches::NotedEnd MessageMatches::Queue::pop(size_t at) {
    first += at;
    const NotedEnd end = ends[first++];
    if (first > ends.size() / 2) {
        ends.erase(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(first));
        first = 0;
    }
    return end;
}

void MessageMatches::Joined::join(const NotedEnd& send, const NotedEnd& receive) {
    const bool both = send.end.is_shown && receive.end.is_shown;
    is_shown[0][send.number] = is_shown[1][receive.number] = both;
    shown += both ? 1 : 0;
    split += send.end.is_shown != receive.end.is_shown ? 1 : 0;
}

void MessageMatches::count_up(std::vector<uint64_t>* counts, uint32_t rank) {
    if (rank >= counts->size()) counts->resize(rank + size_t{1});
    (*counts)[rank] += 1;
}

void MessageMatches::note_numbered(uint64_t number, bool sends, const End& end) {
    const auto [at, is_first] = lone_.try_emplace(number, end);
    if (is_first) return;
    const End& other = at->second;
    if (other.is_shown != end.is_shown) {
        split_ += 1;
        at->second.is_shown = false;  // not counted again
        return;
    }
    if (end.is_shown && sends && other.ns != end.ns && end.has_one_clock) {
        early_ += 1;
        earliest_ns_ = std::max(earliest_ns_, end.ns - other.ns);
    }
    lone_.erase(at);
}

void MessageMatches::note(uint32_t own, const Event& record, const End& end) {
    const bool sends = record.kind == EventKind::kSend;
    if (record.more > 2) {
        note_numbered(record.values[2], sends, end);
        return;
    }
    if (channels_.size() >= most_) {
        forget_whole_ones();
        has_forgotten_ = true;
        most_ = std::max(most_, 2 * channels_.size());
    }
    const ChannelKey key = ChannelKey::of(own, record);
    Channel& channel = channels_[key];
    const auto of = [](const std::vector<uint64_t>& counts, uint32_t rank) {
        return rank < counts.size() ? counts[rank] : 0;
    };
    channel.losses = of(losses_, key.from) + of(losses_, key.to);
    channel.pauses = of(pauses_, key.from) + of(pauses_, key.to);
    // What was on the way may have been received meanwhile.
    const uint64_t missed = of(losses_, key.to) + of(pauses_, key.to);
    if (std::exchange(channel.missed, missed) != missed) channel.on_way = Queue();
    const NotedEnd noted{end, channel.ends[sends ? 0 : 1]++,
                         record.more != 0 ? record.values[0] : 0};
    channel.shown[sends ? 0 : 1] += end.is_shown ? 1 : 0;
    channel.by_number.add_end(sends);
    channel.by_time.add_end(sends);
    if (channel.agrees) compare(&channel, sends, noted);
    meet(&channel, sends, noted);
}

// With the other end of the same number.
void MessageMatches::compare(Channel* channel, bool sends, const NotedEnd& end) {
    if (channel->unmet.size() == 0) channel->unmet_are_sends = sends;
    if (channel->unmet_are_sends == sends) {
        channel->unmet.push(end);
        // One end has too many, so numbers say nothing.
        if (channel->unmet.size() > kMostUnmet) channel->agrees = false;
        return;
    }
    const NotedEnd other = channel->unmet.pop();
    channel->agrees = other.bytes == end.bytes;
    channel->by_number.join(sends ? end : other, sends ? other : end);
    if (!sends || other.end.ns == end.end.ns || !end.end.has_one_clock) return;
    channel->early += 1;
    if (!other.end.is_shown || !end.end.is_shown) return;
    channel->early_shown += 1;
    channel->earliest_ns = std::max(channel->earliest_ns, end.end.ns - other.end.ns);
}

// As if others were lost.
void MessageMatches::meet(Channel* channel, bool sends, const NotedEnd& end) {
    Queue& on_way = channel->on_way;
    if (sends) {
        on_way.push(end);
        if (on_way.size() > kMostOnWay) on_way.pop();
        return;
    }
    for (size_t at = 0; at < on_way.size(); ++at) {
        if (on_way.ends[on_way.first + at].bytes != end.bytes) continue;
        const NotedEnd send = on_way.pop(at);
        channel->by_time.join(send, end);
        channel->times_agree = channel->times_agree && send.number == end.number;
        return;
    }
}

bool MessageMatches::is_whole(const Channel& channel) {
    const bool is_even = channel.ends[0] == channel.ends[1];
    const bool is_late = 2 * channel.early <= std::min(channel.ends[0], channel.ends[1]);
    if (!channel.agrees || channel.losses != 0) return false;
    return channel.pauses == 0 ? is_even || is_late : (is_even || channel.times_agree) && is_late;
}

void MessageMatches::add(const Channel& channel, const Joined& joined) {
    split_ += joined.split;
    alone_ += channel.shown[0] + channel.shown[1] - 2 * joined.shown - joined.split;
    const bool by_number = &joined == &channel.by_number;
    if (!by_number || (channel.pauses != 0 && !channel.times_agree)) guessed_ += joined.shown;
    if (!by_number) return;
    early_ += channel.early_shown;
    earliest_ns_ = std::max(earliest_ns_, channel.earliest_ns);
}

// As a program may have a tag for each message.
void MessageMatches::forget_whole_ones() {
    for (auto at = channels_.begin(); at != channels_.end();) {
        const Channel& channel = at->second;
        const bool is_over =
            is_whole(channel) && channel.ends[0] == channel.ends[1] && channel.by_number.split == 0;
        if (is_over) add(channel, channel.by_number);
        at = is_over ? channels_.erase(at) : std::next(at);
    }
}

void MessageMatches::end_of_notes() {
    for (const auto& [number, end] : lone_) alone_ += end.is_shown ? 1 : 0;
    forget_whole_ones();
    for (auto& [key, channel] : channels_) {
        channel.unmet = channel.on_way = Queue();
        // Of what was forgotten, numbers are not known.
        if (has_forgotten_) {
            channel.by_number = channel.by_time = Joined();
            channel.early_shown = channel.earliest_ns = 0;
        }
        const bool whole = is_whole(channel);
        add(channel, whole ? channel.by_number : channel.by_time);
        if (whole) channel.by_time = std::move(channel.by_number);
        channel.by_number = Joined();
    }
}

void MessageMatches::rewind() {
    for (auto& [key, channel] : channels_) channel.seen[0] = channel.seen[1] = 0;
}

bool MessageMatches::has_other_end(uint32_t own, const Event& record) {
    if (record.more > 2) return !lone_.contains(record.values[2]);
    if (channels_.empty()) return true;
    const auto found = channels_.find(ChannelKey::of(own, record));
    if (found == channels_.end()) return true;
    const int end = record.kind == EventKind::kSend ? 0 : 1;
    const std::vector<bool>& is_shown = found->second.by_time.is_shown[end];
    const uint64_t number = found->second.seen[end]++;
    return number < is_shown.size() && is_shown[number];
}

}  // namespace dwell
