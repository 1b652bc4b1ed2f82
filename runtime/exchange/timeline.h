// The recent history of a rank, in memory that all ranks of its host can read: it tells why a rank
// was late (docs/causes.md).
//
// A part is a computation between two calls, a wait with its cause, or the common end of a
// collective. A waiting rank compares the late rank's parts with its own, from the last time at
// which both were in step. Parts common to both cancel out; the remaining parts of the late rank
// are the causes, the largest first.
//
// One thread writes, any process of the host reads at any time. A rank writes a part before it
// publishes any later time stamp. Times are virtual ticks. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_TIMELINE_H_
#define DWELL_RUNTIME_EXCHANGE_TIMELINE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

// Special values of Part::waited_for, and of Part::path with kTogether.
constexpr uint32_t kTogether = 0xfffffffe;  // the common end of a collective on `path`
constexpr uint32_t kSomebody = 0xfffffffd;  // an unknown rank
constexpr uint32_t kWorldTogether = 0;      // MPI_COMM_WORLD

struct Part {
    uint64_t begin;
    uint64_t end;
    uint64_t ticks;       // of this cause, between `begin` and `end`
    uint32_t rank;        // whose computation was the cause; kNoPeer: not known
    uint32_t path;        // call path of that computation
    uint32_t waited_for;  // kNoPeer: the rank itself computed
    uint32_t reserved;
};

constexpr uint32_t kParts = 49;
constexpr uint32_t kPartsBeingWritten = 4;  // the oldest ones, which readers leave out
constexpr uint32_t kReaching = 4;           // short parts are added to one of the last so many

// A short part that sums up several of its kind, which may lie apart in time.
struct Sum {
    uint32_t path;
    uint32_t after;  // index of the part plus 1; 0: a long part
};

struct alignas(64) Timeline {
    uint64_t count;  // of parts so far
    uint32_t place;  // index of the next part
    uint32_t reserved[5];
    Sum sums[kReaching];  // of the last parts, by number modulo kReaching; for the writer only
    Part parts[kParts];
};
static_assert(sizeof(Timeline) == 2048);

// Appends a part. One shorter than `most_short` is added to a recent short part of the same kind.
void add_part(Timeline* timeline, const Part& part, uint64_t most_short);

// One cause and its part of a waiting time.
struct Share {
    uint32_t rank;
    uint32_t path;
    uint64_t ticks;
};
class Shares {
  public:
    void add(uint32_t rank, uint32_t path, uint64_t ticks);
    // Subtracts `share` from the equal cause here; returns what could not be subtracted.
    uint64_t cancel(const Share& share);
    void cancel_smallest_of(uint32_t rank, uint64_t ticks);
    uint64_t ticks_of(uint32_t rank, uint32_t path) const;
    bool has(uint64_t ticks) const;  // whether one cause is at least this large
    // Takes up to `ticks` from the largest cause; false: none is left.
    bool take_largest(uint64_t ticks, Share* taken);
    // Null: there is none.
    const Share* largest_of(uint32_t rank) const;
    const Share* largest_but(uint32_t rank) const;  // nor an unknown one
    const Share* begin() const { return list_; }
    const Share* end() const { return list_ + count_; }

  private:
    Share list_[kParts];
    uint32_t count_ = 0;
};

// A wait of `own_rank` for `late_rank`.
struct Wait {
    uint32_t own_rank;
    uint32_t late_rank;
    uint64_t begin;
    uint64_t end;
};
// When both ranks were last in step, as far as both timelines reach back.
uint64_t last_in_step(const Timeline& own, const Timeline& late, const Wait& wait);
// The same by the waiting rank's timeline alone.
uint64_t last_in_step(const Timeline& own, const Wait& wait);
// The parts between two times, summed by cause.
Shares parts_between(const Timeline& timeline, uint64_t since, uint64_t until);
// Cancels what is common to both; `late` keeps what made that rank later.
void leave_delay(const Wait& wait, Shares* own, Shares* late);

// Renames the causes of earlier waits of this rank: if the late rank does not share such a cause
// and would have been as late without it, the wait is due to the late rank's remaining causes.
void rename_waits(Timeline* timeline, uint64_t since, Shares* own, Shares* late);

// This rank's timeline; null: the analysis is off. timeline_of() gives the timeline of another rank
// of the host, found by system calls the first time; null: there is none.
extern Timeline* g_own_timeline __attribute__((visibility("hidden")));
// Shorter computations are not recorded. UINT64_MAX: the analysis is off.
extern uint64_t g_least_part_ticks __attribute__((visibility("hidden")));
void open_timelines(uint32_t world_size);
// Whether the calling thread writes the timeline: only one does where several threads are in MPI.
bool writes_timeline(Thread* thread);
// The thread has ended; the next thread in MPI becomes the writer.
void leave_timeline(Thread* thread);
// Adds a part, if the calling thread writes the timeline.
void write_part(Thread* thread, const Part& part);
// Adds the computation `interval` of `ticks`, which ended at the real time `now` and the virtual
// time `end`; once for each computation.
void note_new_work(Thread* thread, CellIndex interval, uint64_t ticks, uint64_t now, uint64_t end);
inline void note_work(Thread* thread, CellIndex interval, uint64_t ticks, uint64_t now,
                      uint64_t end) {
    if (thread->delay.stamped_at <= thread->last_ticks)
        note_new_work(thread, interval, ticks, now, end);
}
const Timeline* timeline_of(uint32_t world_rank);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_TIMELINE_H_
