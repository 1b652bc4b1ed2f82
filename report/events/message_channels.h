// Which messages have both ends in the logs, and in a window of a timeline. The messages from a
// rank to another with a communicator and tag are a channel: its n-th send meets its n-th receive
// (MPI 3.5), if the logs have all of them.
#ifndef DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_
#define DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "summarize/events/event_stream.h"

namespace dwell {

inline bool is_message(EventKind kind) {
    return kind == EventKind::kSend || kind == EventKind::kReceive;
}

struct ChannelKey {
    uint32_t from;
    uint32_t to;
    uint64_t comm_and_tag;
    // Of a message of the rank `own`.
    static ChannelKey of(uint32_t own, const Event& record) {
        const bool sends = record.kind == EventKind::kSend;
        return {sends ? own : record.what, sends ? record.what : own,
                record.more >= 2 ? record.values[1] : 0};
    }
    bool operator==(const ChannelKey&) const = default;
    struct Hash {
        size_t operator()(const ChannelKey& key) const {
            const uint64_t ranks = uint64_t{key.from} << 32 | key.to;
            const uint64_t hash = ranks * 0x9e3779b97f4a7c15 ^ key.comm_and_tag;
            return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15;
        }
    };
};

// Which ends of messages have another one in logs that may lack some: rings were full or
// overwritten, events were off for a time or at one end. A first pass notes all ends in the order
// of time. A channel is whole where sizes agree number by number, and most receives come after
// their sends. In others a receive takes the oldest send before it that has its size.
class MessageMatches {
  public:
    // `one_clock`: it is that of the other end, too.
    void note(uint32_t own, const Event& record, uint64_t ns, bool one_clock);
    void end_of_notes();
    // Before each further pass, in which the ends of a channel come in the same order.
    void rewind();
    // Of the next end of its channel and direction in this pass.
    bool has_other_end(uint32_t own, const Event& record);

    uint64_t guessed() const { return guessed_; }  // messages
    uint64_t alone() const { return alone_; }      // ends
    // Receives of whole channels before their sends, as one of both times is estimated.
    uint64_t early() const { return early_; }
    uint64_t earliest_ns() const { return earliest_ns_; }

  private:
    struct End {
        uint64_t number;
        uint64_t bytes;
        uint64_t ns;
    };
    // Ends that wait for their other ones.
    struct Queue {
        std::vector<End> ends;
        size_t first = 0;
        size_t size() const { return ends.size() - first; }
        void push(const End& end) { ends.push_back(end); }
        End pop(size_t at = 0);  // and all before it
    };
    struct Channel {
        uint64_t sends = 0;
        uint64_t receives = 0;
        Queue unmet;  // by number: sends, or receives that came first
        bool unmet_are_sends = true;
        bool agrees = true;
        uint64_t early = 0;
        uint64_t earliest_ns = 0;
        Queue on_way;                 // sends
        std::vector<bool> is_met[2];  // sends, receives
        uint64_t seen[2] = {};        // in this pass
    };
    static void compare(Channel* channel, bool sends, const End& end, bool one_clock);
    static void meet(Channel* channel, bool sends, const End& end);
    static bool is_whole(const Channel& channel);
    void add_early(const Channel& channel);
    void forget_whole_ones();

    std::unordered_map<ChannelKey, Channel, ChannelKey::Hash> channels_;
    size_t most_ = 1 << 16;  // channels, before those that are whole are forgotten
    bool has_forgotten_ = false;
    uint64_t guessed_ = 0;
    uint64_t alone_ = 0;
    uint64_t early_ = 0;
    uint64_t earliest_ns_ = 0;
};

// Which messages have both ends in a window, also where one of them is outside.
class MessageChannels {
  public:
    void clear() { channels_.clear(); }
    // An end of a message, of the rank `own`, before the window or in it. True: it is in the
    // window, and the other end before it.
    bool add(uint32_t own, const Event& record, bool is_before) {
        const bool sends = record.kind == EventKind::kSend;
        Channel& channel = channels_[ChannelKey::of(own, record)];
        uint64_t& number = sends ? channel.sends : channel.receives;
        if (is_before) (sends ? channel.sends_before : channel.receives_before) += 1;
        const uint64_t others_before = sends ? channel.receives_before : channel.sends_before;
        return number++ < others_before && !is_before;
    }
    // Sends in the window whose receives are not before its end.
    uint64_t without_receive() const {
        uint64_t sum = 0;
        for (const auto& [key, channel] : channels_) {
            const uint64_t met = std::max(channel.receives, channel.sends_before);
            sum += channel.sends - std::min(channel.sends, met);
        }
        return sum;
    }

  private:
    struct Channel {
        uint64_t sends = 0;
        uint64_t receives = 0;
        uint64_t sends_before = 0;  // of these, before the window
        uint64_t receives_before = 0;
    };
    std::unordered_map<ChannelKey, Channel, ChannelKey::Hash> channels_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_
