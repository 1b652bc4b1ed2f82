// Samples the stamps of a stream: messages of one communicator and tag that one statement receives
// from one rank in quick succession. The receiver reads the entry of every fifteenth message only
// (channels.h, skip_stamp). The skipped ones get equal parts of the virtual time between two
// samples, but no more than their calls took. A later sample makes up for the rest, which belongs
// to the skipped messages and is waiting in the same proportion as theirs. If messages differ, the
// virtual clock is wrong until the next sample, by at most kSkipped times kQuick_ns.
//
// Why: a read entry moves to the receiver's processor and must come back before the sender can use
// it again. Where the processors share a cache this costs 100 ns for each message of 8 bytes that
// two ranks exchange by turns, a quarter of what it takes, and 25 to 60 ns in a stream of 1280-byte
// messages; where they do not, 160 ns. No calibration can know which.
//
// The calling thread's own; not where several threads may be in MPI at a time. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_SAMPLED_STREAM_H_
#define DWELL_RUNTIME_WAITSTATES_SAMPLED_STREAM_H_

#include "runtime/calls/records.h"
#include "runtime/exchange/channels.h"

namespace dwell {

// Identifies a stream.
struct StreamKind {
    const Channel* channel;
    const CommPart* part;  // of the statement
    uint32_t comm;
    int32_t tag;
    bool operator==(const StreamKind&) const = default;
};

// The skipped messages before a sample.
struct SkippedMessages {
    uint32_t messages = 0;
    uint64_t ticks = 0;  // of virtual time, of all together
    uint64_t each = 0;   // expected ticks of one
    uint64_t sync = 0;   // expected waiting of one
};

// The waiting of a sampled call: its own, and with the missing waiting of skipped messages.
struct Waited {
    uint64_t own;
    uint64_t all;
};

// Divides the waiting of a sampled call of `ticks` virtual ticks, whose message was sent `sent`
// ticks after the call began. Time missing for the skipped messages comes first. Nobody waits for a
// message after it was sent. Pure.
inline Waited waits_after(const SkippedMessages& skipped, uint64_t ticks, uint64_t sent) {
    const uint64_t missing = earlier(beyond(skipped.messages * skipped.each, skipped.ticks), ticks);
    const uint64_t own = earlier(beyond(sent, missing), ticks - missing);
    if (missing == 0) return {own, own};
    const uint64_t of_missing = missing * earlier(skipped.sync, skipped.each) / skipped.each;
    return {own, earlier(own + of_missing, sent)};
}

// The stream that the thread is in, if any. Times in ticks; nothing fails.
class SampledStream {
  public:
    // In MPI_Init, by its thread. Before that no message belongs to a stream.
    void open(uint64_t ticks_per_second) { quick_ = kQuick_ns * ticks_per_second / 1'000'000'000u; }
    // The messages skipped before a sample.
    SkippedMessages before(const StreamKind& kind) const {
        if (skipped_ == 0 || kind != kind_) return {};
        return {skipped_, passed_, each_, sync_};
    }
    // Adds a sample with its sender's stamp. The call took `ticks` of virtual time, including what
    // was missing for skipped messages; the message itself waited `sync` for its sender.
    void look(const StreamKind& kind, const EnterStamp& stamp, uint64_t start, uint64_t end,
              uint64_t ticks, uint64_t sync) {
        const bool goes_on = is_of(kind, start, end);
        const uint64_t messages = goes_on ? uint64_t{skipped_} + 1 : 1;
        ticks_ = ((messages - 1) * ticks_ + ticks) / messages;
        const bool has_more = messages != 1;
        each_ = has_more ? (3 * each_ + (passed_ + ticks) / messages) / 4 : ticks;
        sync_ = has_more ? (3 * sync_ + sync) / 4 : sync;
        passed_ = 0;
        kind_ = kind;
        said_ = stamp;
        end_ = end;
        skipped_ = 0;
        left_ = goes_on ? kSkipped : 0;
    }
    // Whether the message of a call from the real time `start` to `end` may be skipped, if its
    // entry allows that (skip_stamp).
    bool may_go_on(const StreamKind& kind, uint64_t start, uint64_t end) const {
        return left_ != 0 && is_of(kind, start, end);
    }
    // Skips it: limits the `ticks` of its call to its part, and sets in `sync` how many of these it
    // waited for its sender. Only after may_go_on().
    void pass(uint64_t end, uint64_t* ticks, uint64_t* sync) {
        end_ = end;
        skipped_ += 1;
        left_ -= 1;
        *ticks = earlier(*ticks, ticks_);
        *sync = earlier(sync_, *ticks);
        passed_ += *ticks;
    }
    // Whether the next message of this channel will probably be skipped: then its entry is not
    // prefetched.
    bool is_on(const Channel* channel) const { return left_ != 0 && kind_.channel == channel; }
    // The sender's stamp of the last sample. Only where may_go_on() was true.
    const EnterStamp& stamp() const { return said_; }

  private:
    // Upper limit of a call's duration and of the time between two.
    static constexpr uint64_t kQuick_ns = 5000;

    bool is_of(const StreamKind& kind, uint64_t start, uint64_t end) const {
        return kind == kind_ && beyond(start, end_) <= quick_ && beyond(end, start) <= quick_;
    }

    uint64_t quick_ = 0;
    StreamKind kind_{};
    EnterStamp said_{};
    uint64_t end_ = 0;      // of the last call
    uint64_t ticks_ = 0;    // part of each
    uint64_t each_ = 0;     // average of each, with what later samples made up for
    uint64_t sync_ = 0;     // average waiting of each
    uint64_t passed_ = 0;   // virtual time of the skipped ones
    uint32_t skipped_ = 0;  // since the last sample
    uint32_t left_ = 0;     // how many more may be skipped
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_SAMPLED_STREAM_H_
