// A log of the last times at which a rank entered a call in which MPI makes progress. Ranks of its
// host read it to find out when their receiver came (DESIGN 4, the mirror image of the message
// rule; late_receivers.h).
//
// A message above 256 bytes, up to the eager limit, stays in the sender's memory until the receiver
// copies it in any call that makes progress; the send waits for that copy. The receiver logs its
// progress unasked, by one store to a cache line of its own, which others read only after a send
// that took long. (With a question in each entry, a stream of 1280-byte messages took 24 ns longer
// a message, and 180 ns between processors that share no cache.)
//
// One thread of the process writes, other processes read at any time; a log that is being written
// yields nothing. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_PROGRESS_LOG_H_
#define DWELL_RUNTIME_EXCHANGE_PROGRESS_LOG_H_

#include <stddef.h>

#include "runtime/contract/record_layout.h"
#include "runtime/exchange/exchange.h"

namespace dwell {

// When and after which computation a rank entered a receive.
struct Answer {
    uint64_t real;  // in ticks of the host's clock
    uint32_t lost;  // the low half of lost_of()
    uint32_t path;  // its last computation
};
constexpr int kLostShift = 6;

// Real minus virtual time, in units of 1 << kLostShift ticks. Pure functions; any thread.
inline uint64_t lost_of(const EnterStamp& stamp) {
    return (stamp.at.real - stamp.at.virt) >> kLostShift;
}
// The low half covers some 90 s, but a long run may lose more time. The full value is restored from
// about(), which each rank publishes once for many answers: it never changes by 45 s while an
// answer is still read.
constexpr int kAboutShift = 16;
inline uint32_t about(uint64_t lost) { return static_cast<uint32_t>(lost >> kAboutShift); }
inline uint64_t lost_near(uint32_t low_half, uint32_t about_that) {
    const uint64_t near = uint64_t{about_that} << kAboutShift;
    const auto further = static_cast<int32_t>(low_half - static_cast<uint32_t>(near));
    return near + static_cast<uint64_t>(int64_t{further});
}

// Conversions for the wait analysis. The virtual time of an answer is up to 63 ticks too late.
inline Answer answer_of_stamp(const EnterStamp& stamp) {
    return {stamp.at.real, static_cast<uint32_t>(lost_of(stamp)), stamp.path};
}
inline EnterStamp stamp_of_answer(const Answer& answer, uint64_t lost, uint16_t work = 0) {
    return {{answer.real, answer.real - (lost << kLostShift)}, answer.path, kNoPeer, 0, 0, work};
}

struct ProgressEntry {
    Answer entered;
    uint64_t no_progress_since;  // real ticks when the last call that makes progress ended
};

constexpr uint32_t kProgressEntries = 2;
struct alignas(64) ProgressLog {
    uint64_t version;  // number of entries written, times 2; odd during a write
    ProgressEntry last[kProgressEntries];
    uint32_t work[kProgressEntries];  // EnterStamp::work, and above it the high half of lost_of()
};
static_assert(sizeof(ProgressLog) == 64);

// The log of a world rank of this host, null when there is no room. It stays in place to the end of
// the process. Any thread, while the exchange is open; slow: system calls.
ProgressLog* find_progress_log(uint32_t world_rank);

// Whether the newest entry has the real time `real`: a call that completes many requests logs
// progress once. Only the process that owns the log.
inline bool is_last_progress(const ProgressLog& log, uint64_t real) {
    const uint64_t written = __atomic_load_n(&log.version, __ATOMIC_RELAXED) / 2;
    return written != 0 && __atomic_load_n(&log.last[(written - 1) % kProgressEntries].entered.real,
                                           __ATOMIC_RELAXED) == real;
}

// Only the process that owns the log; never waits. `concurrent`: several threads may write at a
// time, then the second one skips its entry.
void write_progress(ProgressLog* log, const EnterStamp& stamp, uint64_t no_progress_since,
                    bool concurrent);

// The entry that ended the receiver's absence from MPI, for a message available at the real time
// `sent` and a sender that waited for its copy from `since` to `until`. After `sent` the receiver
// may have stayed in its previous call for an eighth of the sender's wait. False, with `entered`
// unchanged: the receiver was in a call, came before `since` or after `until`, has logged more than
// kProgressEntries since, or the log is being written. Any thread of the host; never waits.
bool progress_after(const ProgressLog* log, uint64_t sent, uint64_t since, uint64_t until,
                    EnterStamp* entered);

// The last entry up to the real time `until`; false: none is known, or the log is being written.
// Any thread of the host; never waits.
bool progress_before(const ProgressLog* log, uint64_t until, EnterStamp* entered);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_PROGRESS_LOG_H_
