// What a long computation was besides computation: the thread did I/O, slept, was in the kernel, or
// waited for a processor (docs/causes.md, "Causes that are no computation").
//
// The thread's processor time is read where a part of its timeline of a millisecond or more ends
// (DESIGN 5.3: a slow path). Time since the last reading that lies outside of that part counts as
// off the processor, so the computation's share is never understated.
#ifndef DWELL_RUNTIME_MEASURE_PROCESSOR_TIME_H_
#define DWELL_RUNTIME_MEASURE_PROCESSOR_TIME_H_

#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kMostStalls = 1024;  // intervals with long computations of a thread

// Parts of at least this length are examined; UINT64_MAX: no rank waits for this process.
extern uint64_t g_long_part_ticks __attribute__((visibility("hidden")));

// Processor time of the calling thread. Adds the time without a processor since the last reading to
// lost_ticks.
uint64_t processor_ns_of(Thread* thread);

// At the end of MPI_Init, on the calling thread.
void open_processor_time(Thread* thread);

// On a thread that does not call MPI, before its first OpenMP region.
void begin_processor_time(Thread* thread);

// After a computation of that length. Takes some 2 microseconds, 10 where the thread was off the
// processor for a time.
DWELL_COLD void note_long_work(Thread* thread, CellIndex interval, uint64_t ticks);
// After a region of that length, on a thread that does not call MPI; the other threads ended at
// most `late` ticks before. The region was forked by `team` at the real time `fork`; of the
// threads' simultaneous stalls the longest counts. Returns the cost of this call.
DWELL_COLD uint64_t note_long_region(Thread* thread, TeamStalls* team, uint64_t fork,
                                     uint64_t ticks, uint64_t late);
// After a call of that length, in which the thread waited for partners for `waited`. The rest is
// transfer, except time in which the thread waited for a processor. Returns the time without a
// processor.
DWELL_COLD uint64_t note_long_call(Thread* thread, uint64_t ticks, uint64_t waited);
// At the end of a call: the next computation is measured from here. Does nothing when the last
// reading is less than a millisecond ago.
DWELL_COLD void read_processor_time(Thread* thread);

// After an I/O statement that took `ticks`.
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
