// A series: messages of one communicator and tag that one statement receives from one rank in quick
// succession. The receiver looks at the entry of every fifteenth only (channels.h, skip_stamp);
// the others are taken to be like those: of the virtual time between two that are looked at, each
// has the same part, if its call took so long. Where they are not alike the receiver's virtual
// clock is wrong until the next one that is looked at, by no more than the calls between took: at
// most kSkipped times kQuick_ns.
//
// Each takes at most what its call took, so that the clock falls behind a little where some take
// less than their part, and the next one that is looked at makes up for that. What it makes up is
// time of the unseen ones, and waiting as far as theirs is: it begins when it would have, had each
// taken its part.
//
// Why: an entry that is read goes to the receiver's processor and has to come back before the
// sender can use it again. Each time that makes a stream of messages of 1280 bytes 25 ns longer
// where the processors share a cache, and 160 where they do not, which no calibration can know.
//
// The calling thread's own; not where several threads may be in MPI at a time. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_SAMPLED_STREAM_H_
#define DWELL_RUNTIME_WAITSTATES_SAMPLED_STREAM_H_

#include "runtime/calls/records.h"
#include "runtime/exchange/channels.h"

namespace dwell {

// What a series is known by.
struct StreamKind {
    const Channel* channel;
    const CommPart* part;  // the statement's
    uint32_t comm;
    int32_t tag;
    bool operator==(const StreamKind&) const = default;
};

// What came before a message that is looked at.
struct SkippedMessages {
    uint32_t messages = 0;
    uint64_t ticks = 0;  // of virtual time they took in all
    uint64_t each = 0;   // one takes, and
    uint64_t sync = 0;   // one waits, as those before them did
};

// How long a call waited itself, and with what of its time was missing of unseen ones' waiting.
struct Waited {
    uint64_t own;
    uint64_t all;
};

// A call after those took `ticks` of virtual time, and its message was sent `sent` after it began
// on a clock that their missing time is not on yet: that comes first. Nobody waits for a message
// after it was sent. All in ticks; pure.
inline Waited waits_after(const SkippedMessages& skipped, uint64_t ticks, uint64_t sent) {
    const uint64_t missing = earlier(beyond(skipped.messages * skipped.each, skipped.ticks), ticks);
    const uint64_t own = earlier(beyond(sent, missing), ticks - missing);
    if (missing == 0) return {own, own};
    const uint64_t of_missing = missing * earlier(skipped.sync, skipped.each) / skipped.each;
    return {own, earlier(own + of_missing, sent)};
}

// The series that the thread is in, if it is in one. Times are ticks; none of this fails.
class SampledStream {
  public:
    // In MPI_Init, by its thread. Until then no message belongs to a series.
    void open(uint64_t ticks_per_second) { quick_ = kQuick_ns * ticks_per_second / 1'000'000'000u; }
    // What came before a message whose entry is looked at.
    SkippedMessages before(const StreamKind& kind) const {
        if (skipped_ == 0 || kind != kind_) return {};
        return {skipped_, passed_, each_, sync_};
    }
    // Such a message, with what its sender said. The call took `ticks` of virtual time, among them
    // what was missing of the unseen ones'; the message itself waited `sync` for its sender.
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
    // Whether the message of the call from the real time `start` to `end` may go unseen, if its
    // entry says nothing else (skip_stamp).
    bool may_go_on(const StreamKind& kind, uint64_t start, uint64_t end) const {
        return left_ != 0 && is_of(kind, start, end);
    }
    // It did: of the `ticks` that its call took, sets how many are its part, and in `sync` how many
    // of these it waited for its sender. Only after may_go_on().
    void pass(uint64_t end, uint64_t* ticks, uint64_t* sync) {
        end_ = end;
        skipped_ += 1;
        left_ -= 1;
        *ticks = earlier(*ticks, ticks_);
        *sync = earlier(sync_, *ticks);
        passed_ += *ticks;
    }
    // Whether the next of this channel is likely to go unseen: then its entry is not read ahead.
    bool is_on(const Channel* channel) const { return left_ != 0 && kind_.channel == channel; }
    // What the sender of the last that was looked at said. Only where may_go_on() was true.
    const EnterStamp& stamp() const { return said_; }

  private:
    // How long a call, and the time between two, may be.
    static constexpr uint64_t kQuick_ns = 5000;

    bool is_of(const StreamKind& kind, uint64_t start, uint64_t end) const {
        return kind == kind_ && beyond(start, end_) <= quick_ && beyond(end, start) <= quick_;
    }

    uint64_t quick_ = 0;
    StreamKind kind_{};
    EnterStamp said_{};
    uint64_t end_ = 0;      // of the last one's call
    uint64_t ticks_ = 0;    // the part of each
    uint64_t each_ = 0;     // what each took on the average, with what was made up
    uint64_t sync_ = 0;     // and waited
    uint64_t passed_ = 0;   // what the unseen ones took
    uint32_t skipped_ = 0;  // since the last that was looked at
    uint32_t left_ = 0;     // how many more may be
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_SAMPLED_STREAM_H_
