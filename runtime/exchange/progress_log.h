// An arrival: a rank comes to a call in which MPI takes what was sent to it, a receive or a wait
// for one, or after some time in no call of MPI any other. The last arrivals of a rank are written
// down for those on its node whose sends may have had to wait for them (DESIGN 4, the mirror image
// of the message rule; late_receivers.h). The virtual arrival of DESIGN 4 is another thing, a
// message's.
//
// A message of more than 256 bytes, up to what is sent ahead, lies in the sender's memory until the
// receiver takes it out of there, in any call in which MPI makes progress: its send waits for that.
// Such messages are many and short, so the receiver tells of its arrivals without being asked, in a
// line of its own that others read only after a send that took long: a receive costs one store to
// memory that is at hand. (With a question in each entry that each receive looked for, a stream of
// 1280 bytes took 24 ns longer for each message, and 180 between processors that share no cache.)
//
// What made it late its timeline tells (timeline.h).
//
// One writes and others read at any time; a line that is being written says nothing. Of several
// threads one writes. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_PROGRESS_LOG_H_
#define DWELL_RUNTIME_EXCHANGE_PROGRESS_LOG_H_

#include <stddef.h>

#include "runtime/contract/record_layout.h"
#include "runtime/exchange/exchange.h"

namespace dwell {

// When a rank came to a receive, as it answers or tells unasked.
struct Answer {
    uint64_t real;  // in ticks of the node's clock
    uint32_t lost;  // the low half of lost_of()
    uint32_t path;  // what it had been doing
};
constexpr int kLostShift = 6;

// Real less virtual time, in units of 1 << kLostShift ticks. Pure, as all here; any thread.
inline uint64_t lost_of(const EnterStamp& stamp) {
    return (stamp.at.real - stamp.at.virt) >> kLostShift;
}
// Half of that is some 90 s, of which a long run may lose more. Where an answer is, is no room for
// all: beside many of a rank stands what it had lost about when it told the last one. It has not
// lost 45 s more since an answer that is still looked at.
constexpr int kAboutShift = 16;
inline uint32_t about(uint64_t lost) { return static_cast<uint32_t>(lost >> kAboutShift); }
inline uint64_t lost_near(uint32_t low_half, uint32_t about_that) {
    const uint64_t near = uint64_t{about_that} << kAboutShift;
    const auto further = static_cast<int32_t>(low_half - static_cast<uint32_t>(near));
    return near + static_cast<uint64_t>(int64_t{further});
}

// From and to what the wait analysis works with. The virtual time of an answer is up to 63 ticks
// too late.
inline Answer answer_of_stamp(const EnterStamp& stamp) {
    return {stamp.at.real, static_cast<uint32_t>(lost_of(stamp)), stamp.path};
}
inline EnterStamp stamp_of_answer(const Answer& answer, uint64_t lost, uint16_t work = 0) {
    return {{answer.real, answer.real - (lost << kLostShift)}, answer.path, kNoPeer, 0, 0, work};
}

struct ProgressEntry {
    Answer came;
    uint64_t away;  // real ticks since when it had been in no call in which MPI makes progress
};

constexpr uint32_t kProgressEntries = 2;
struct alignas(64) ProgressLog {
    uint64_t version;  // how many were written, times 2; odd while one is
    ProgressEntry last[kProgressEntries];
    uint32_t
        work[kProgressEntries];  // EnterStamp::work, and above it of lost_of() what Answer has not
};
static_assert(sizeof(ProgressLog) == 64);

// The line of a world rank of this node, null when there is no room. It stays where it is to the
// end of the process. Any thread, with the exchange open; slow, by system calls.
ProgressLog* find_progress_log(uint32_t world_rank);

// Whether the arrival that was written last was at the real time `real`, in ticks: a call that
// completes many requests comes once. By the process that the line is of.
inline bool is_last_progress(const ProgressLog& line, uint64_t real) {
    const uint64_t written = __atomic_load_n(&line.version, __ATOMIC_RELAXED) / 2;
    return written != 0 && __atomic_load_n(&line.last[(written - 1) % kProgressEntries].came.real,
                                           __ATOMIC_RELAXED) == real;
}

// By the process that the line is of; without waiting. Several threads may do so at a time if
// `concurrent`: then one that meets another leaves it to that one.
void write_progress(ProgressLog* line, const EnterStamp& stamp, uint64_t away, bool concurrent);

// The arrival that ended the time in which the rank was in no call of MPI, when a message was there
// for it at the real time `sent`, in ticks, and somebody began at `since` to wait for it to be
// taken, until `until`: after `sent` it may have stayed in its last call for an eighth of the time
// that was waited until it came. False, and `came` as it was: when it was in one, when it came
// before `since` or after `until`, when kProgressEntries others have come since, or while the line
// is being written. Any thread of the node; without waiting.
bool progress_after(const ProgressLog* line, uint64_t sent, uint64_t since, uint64_t until,
                    EnterStamp* came);

// The last arrival that is known until the real time `until`, in ticks; false when there is none,
// or while the line is being written. Any thread of the node; without waiting.
bool progress_before(const ProgressLog* line, uint64_t until, EnterStamp* came);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_PROGRESS_LOG_H_
