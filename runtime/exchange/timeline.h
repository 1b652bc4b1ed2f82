// What made a rank late: the last stretches of its time, in memory that all ranks of its host read
// (docs/causes.md).
//
// A part is a computation between two calls, or a wait together with what caused that, or the end
// of a collective that all members of a communicator leave together. A rank that had to wait lays
// the late rank's parts beside its own, from where both were last in step: what is in both made
// neither later than the other, and what is left of the late rank's is the cause, largest first.
//
// One thread writes a timeline, anybody on the host reads it at any time. The rank writes a part
// before it tells anybody of a time after it. Times in virtual ticks. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_TIMELINE_H_
#define DWELL_RUNTIME_EXCHANGE_TIMELINE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kTogether = 0xfffffffe;  // Part::waited_for: all left a collective of `path`
constexpr uint32_t kSomebody = 0xfffffffd;  // Part::waited_for: it is not known whom
constexpr uint32_t kWorldTogether = 0;      // Part::path: of the whole world

struct Part {
    uint64_t begin;
    uint64_t end;
    uint64_t ticks;       // of this cause between the two
    uint32_t rank;        // whose computation it was, kNoPeer: not known
    uint32_t path;        // and which
    uint32_t waited_for;  // kNoPeer: the rank computed itself
    uint32_t reserved;
};

constexpr uint32_t kParts = 49;
constexpr uint32_t kPartsBeingWritten = 4;  // the oldest, for readers
constexpr uint32_t kReaching = 4;           // to so many of the last parts something is added

// A short part, to which others of its kind are added: then it is a sum of what may lie apart.
struct Sum {
    uint32_t path;
    uint32_t after;  // the part's place plus 1; 0: that part is long
};

struct alignas(64) Timeline {
    uint64_t count;  // of parts so far
    uint32_t place;  // of the next one
    uint32_t reserved[5];
    Sum sums[kReaching];  // the last parts, by their number modulo kReaching: the writer's own
    Part parts[kParts];
};
static_assert(sizeof(Timeline) == 2048);

// A part shorter than `most_short` is added to one of the same kind among the last few.
void add_part(Timeline* timeline, const Part& part, uint64_t most_short);

// One cause and how much of a wait is due to it.
struct Share {
    uint32_t rank;
    uint32_t path;
    uint64_t ticks;
};
class Shares {
  public:
    void add(uint32_t rank, uint32_t path, uint64_t ticks);
    // What of it `share` makes up for is left out; returns the rest of `share`.
    uint64_t cancel(const Share& share);
    void cancel_smallest_of(uint32_t rank, uint64_t ticks);
    uint64_t ticks_of(uint32_t rank, uint32_t path) const;
    bool has(uint64_t ticks) const;  // one that is as large
    // The largest gives what it has, `ticks` at most; false: nothing is left.
    bool take_largest(uint64_t ticks, Share* taken);
    // Null: there is none.
    const Share* largest_of(uint32_t rank) const;
    const Share* largest_but(uint32_t rank) const;  // nor of one that is not known
    const Share* begin() const { return list_; }
    const Share* end() const { return list_ + count_; }

  private:
    Share list_[kParts];
    uint32_t count_ = 0;
};

// A wait of the rank `own_rank`, from `begin` to `end`, for `late_rank`.
struct Wait {
    uint32_t own_rank;
    uint32_t late_rank;
    uint64_t begin;
    uint64_t end;
};
// When both were last in step, as far as the timelines reach back.
uint64_t last_in_step(const Timeline& own, const Timeline& late, const Wait& wait);
// The same as far as the waiting rank alone knows.
uint64_t last_in_step(const Timeline& own, const Wait& wait);
// The parts from `since` to `until`.
Shares parts_between(const Timeline& timeline, uint64_t since, uint64_t until);
// Leaves in `late` what made that rank later than the one with `own`.
void leave_delay(const Wait& wait, Shares* own, Shares* late);

// The rank has waited for one that would have come as late without what made the rank itself wait
// before, and was not in both: those waits are due to what is left of the other one's.
void rename_waits(Timeline* timeline, uint64_t since, Shares* own, Shares* late);

// This rank's own timeline, null: nobody waits for it. And that of another rank of the host, which
// is looked up the first time, by system calls; null: there is none.
extern Timeline* g_own_timeline __attribute__((visibility("hidden")));
// Shorter computations are no parts, UINT64_MAX: nobody waits.
extern uint64_t g_least_part_ticks __attribute__((visibility("hidden")));
void open_timelines(uint32_t world_size);
// Whether the calling thread writes the timeline: where threads are in MPI at the same time one
// does.
bool writes_timeline(Thread* thread);
// The thread has ended: the next one that is in MPI writes.
void leave_timeline(Thread* thread);
// A part of the calling thread's, if it does.
void write_part(Thread* thread, const Part& part);
// The computation `interval`, `ticks` long, has ended `now`, at the virtual time `end`. That since
// the last call is told once.
void note_new_work(Thread* thread, CellIndex interval, uint64_t ticks, uint64_t now, uint64_t end);
inline void note_work(Thread* thread, CellIndex interval, uint64_t ticks, uint64_t now,
                      uint64_t end) {
    if (thread->delay.stamped_at <= thread->last_ticks)
        note_new_work(thread, interval, ticks, now, end);
}
const Timeline* timeline_of(uint32_t world_rank);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_TIMELINE_H_
