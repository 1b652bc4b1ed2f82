// Which messages have both ends in a window of a timeline: the n-th send from a rank to another
// with a communicator and tag meets the n-th receive (MPI 3.5), also where one of them is outside.
#ifndef DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_
#define DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include "summarize/events/event_stream.h"

namespace dwell {

inline bool is_message(EventKind kind) {
    return kind == EventKind::kSend || kind == EventKind::kReceive;
}

class MessageChannels {
  public:
    void clear() { channels_.clear(); }
    // An end of a message, of the rank `own`, before the window or in it. True: it is in the
    // window, and the other end before it.
    bool add(uint32_t own, const Event& record, bool is_before) {
        const bool sends = record.kind == EventKind::kSend;
        Channel& channel = channels_[{sends ? own : record.what, sends ? record.what : own,
                                      record.more >= 2 ? record.values[1] : 0}];
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
    using Key = std::tuple<uint32_t, uint32_t, uint64_t>;  // from, to, communicator and tag
    struct Hash {
        size_t operator()(const Key& key) const {
            const auto& [from, to, comm_and_tag] = key;
            const uint64_t hash = ((uint64_t{from} << 32 | to) * 0x9e3779b97f4a7c15) ^ comm_and_tag;
            return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15;
        }
    };
    std::unordered_map<Key, Channel, Hash> channels_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_
