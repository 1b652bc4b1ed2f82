// Which messages have both ends in what is shown of the logs. The messages from a rank to another
// with a communicator and tag are a channel: its n-th send meets its n-th receive (MPI 3.5), if the
// logs have all of them.
#ifndef DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_
#define DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_

#include <array>
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

// Which ends of messages are shown with their other ones, of logs that may lack some: rings were
// full or overwritten, events were off for a time or at one end. A first pass notes all ends, and
// where a rank has lost messages, in the order of time.
//
// A channel can be joined in two ways: by number, if sizes agree, and by time, where a receive
// takes the oldest send before it that has its size and was sent since the receiver lost messages.
// Numbers count where no rank has lost some, and there are as many sends as receives or most
// receives come after their sends. Where events were off for a time, in both ranks perhaps for the
// same messages, most receives must do so. Else time counts. Where the two contradict, messages are
// guessed.
class MessageMatches {
  public:
    struct End {
        uint64_t ns;
        bool has_one_clock;  // its clock is that of the other end, too
        bool is_shown;
    };
    // An end of the rank `own`.
    void note(uint32_t own, const Event& record, const End& end);
    // An end of a message with a process of which there is no log.
    void note_alone() { alone_ += 1; }
    // Messages of this rank are missing here: lost, or not written because events were off.
    void note_loss(uint32_t rank) { count_up(&losses_, rank); }
    void note_pause(uint32_t rank) { count_up(&pauses_, rank); }
    void end_of_notes();
    // Before each further pass, in which the ends of a channel come in the same order.
    void rewind();
    // Of the next end of its channel and direction in this pass: the other end is shown, too.
    bool has_other_end(uint32_t own, const Event& record);

    uint64_t guessed() const { return guessed_; }  // messages
    uint64_t alone() const { return alone_; }      // ends
    uint64_t split() const { return split_; }      // messages with one end that is not shown
    // Receives of whole channels before their sends, as one of both times is estimated.
    uint64_t early() const { return early_; }
    uint64_t earliest_ns() const { return earliest_ns_; }

  private:
    static void count_up(std::vector<uint64_t>* counts, uint32_t rank);
    struct NotedEnd {
        End end;
        uint64_t number;
        uint64_t bytes;
    };
    // Ends that wait for their other ones.
    struct Queue {
        std::vector<NotedEnd> ends;
        size_t first = 0;
        size_t size() const { return ends.size() - first; }
        void push(const NotedEnd& end) { ends.push_back(end); }
        NotedEnd pop(size_t at = 0);  // and all before it
    };
    // What one way of joining has found.
    struct Joined {
        std::array<std::vector<bool>, 2> is_shown;  // sends, receives: with their other ends
        uint64_t shown = 0;                         // messages
        uint64_t split = 0;
        void add_end(bool sends) { is_shown[sends ? 0 : 1].push_back(false); }
        void join(const NotedEnd& send, const NotedEnd& receive);
    };
    struct Channel {
        uint64_t ends[2] = {};   // sends, receives
        uint64_t shown[2] = {};  // of these
        uint64_t losses = 0;     // of both ranks, so far
        uint64_t pauses = 0;     // likewise
        uint64_t missed = 0;     // both, of the receiver
        Queue unmet;             // by number: sends, or receives that came first
        bool unmet_are_sends = true;
        bool agrees = true;       // sizes, by number
        bool times_agree = true;  // what is joined by time has the same numbers
        uint64_t early = 0;
        uint64_t early_shown = 0;
        uint64_t earliest_ns = 0;
        Queue on_way;  // sends
        Joined by_number;
        Joined by_time;
        uint64_t seen[2] = {};  // in this pass
    };
    // Of a message that has a number of its own (--events-filter).
    void note_numbered(uint64_t number, bool sends, const End& end);
    static void compare(Channel* channel, bool sends, const NotedEnd& end);
    static void meet(Channel* channel, bool sends, const NotedEnd& end);
    static bool is_whole(const Channel& channel);
    void add(const Channel& channel, const Joined& joined);
    void forget_whole_ones();

    std::unordered_map<ChannelKey, Channel, ChannelKey::Hash> channels_;
    std::unordered_map<uint64_t, End> lone_;  // ends without their other ones
    size_t most_ = 1 << 16;                   // channels, before those that are whole are forgotten
    bool has_forgotten_ = false;
    std::vector<uint64_t> losses_;  // by rank
    std::vector<uint64_t> pauses_;
    uint64_t guessed_ = 0;
    uint64_t alone_ = 0;
    uint64_t split_ = 0;
    uint64_t early_ = 0;
    uint64_t earliest_ns_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_MESSAGE_CHANNELS_H_
