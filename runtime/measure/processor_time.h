// What a long computation was besides computation: the thread read or wrote files, slept, was in
// the kernel, or waited for a processor that others had (docs/causes.md, "Causes that are no
// computation").
//
// The thread's processor time is read where a part of its timeline ended that took a millisecond or
// more (DESIGN 5.3: a slow path). What of the time since the last reading lies outside of that part
// counts as not spent on a processor, so that a part is never said to be less of a computation than
// it was.
#ifndef DWELL_RUNTIME_MEASURE_PROCESSOR_TIME_H_
#define DWELL_RUNTIME_MEASURE_PROCESSOR_TIME_H_

#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kMostStalls = 1024;  // kinds of long computations (intervals) of a thread

// Parts that took as long are looked at; UINT64_MAX: nobody waits for this process.
extern uint64_t g_long_part_ticks __attribute__((visibility("hidden")));

// Of the calling thread.
uint64_t thread_processor_ns();
// The same. What time it passed without a processor meanwhile is among its lost_ticks.
uint64_t processor_ns_of(Thread* thread);

// Where MPI_Init ends, on the calling thread.
void open_processor_time(Thread* thread);

// On a thread that MPI is not called on, before it takes part in its first region of OpenMP.
void begin_processor_time(Thread* thread);

// A computation of that length has just ended. Takes some 2 microseconds, 10 where the thread was
// not on a processor all the time.
DWELL_COLD void note_long_work(Thread* thread, CellIndex interval, uint64_t ticks);
// Such a thread has come to the end of a region that took so long, and the others no later than
// `late` ticks before it. The region is the one that `team` forked at the real time `fork`; of what
// its threads do at the same time the longest counts. Returns what this cost.
DWELL_COLD uint64_t note_long_region(Thread* thread, TeamStalls* team, uint64_t fork,
                                     uint64_t ticks, uint64_t late);
// A call of that length has just ended, and has waited for partners so long. What it took beyond
// that is transfer, but for what of it the thread waited for a processor. Returns how long it had
// none meanwhile.
DWELL_COLD uint64_t note_long_call(Thread* thread, uint64_t ticks, uint64_t waited);
// At the end of a call: the next computation is measured from here. Nothing is done when the last
// reading is less than a millisecond ago.
DWELL_COLD void read_processor_time(Thread* thread);

// An I/O statement took so long.
inline void note_io(Thread* thread, CellIndex node, uint64_t ticks) {
    IoSinceCall* io = &thread->processor.io;
    if (io->since != thread->last_ticks) {
        *io = {thread->last_ticks, 0, 0, node};
        thread->processor.io_ticks = 0;
    }
    io->ticks += ticks;
    weigh(&io->node, &io->weight, node, ticks);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_PROCESSOR_TIME_H_
