// The course of the run: each thread divides its time among at most 256 bins (TimeAxis in
// record_layout.h). Statements add to sums; when a statement ends in another bin than the one
// before, what happened since then is divided at the borders of the bins. What no statement took is
// computation, so a full bin holds exactly its width.
//
// The axis has a clock of its own: virtual ticks in which pauses count, since ranks may pause at
// different times.
#ifndef DWELL_RUNTIME_PROCESS_TIME_AXIS_H_
#define DWELL_RUNTIME_PROCESS_TIME_AXIS_H_

#include "runtime/process/state.h"

namespace dwell {

// The axis' time at the real time `now`.
inline uint64_t axis_ticks(const Thread* thread, uint64_t now) {
    return now - thread->record->intrusion_ticks - thread->slow_overhead;
}
inline uint64_t axis_ticks_of(const Thread* thread, uint64_t virt) {
    return virt + thread->record->paused_ticks;
}

// A statement whose sums contain it already.
struct AxisStatement {
    uint64_t end;
    uint64_t ticks;
    uint64_t waited;
    uint64_t sent;
    uint64_t AxisSums::*kind;
};
DWELL_COLD void pass_bins(Thread* thread, const AxisStatement& statement);

// A communication statement of `ticks` ended; the first `waited` of them were waiting.
inline void add_call_to_axis(Thread* thread, uint64_t end, uint64_t ticks, uint64_t waited,
                             uint64_t sent) {
    TimeAxis* axis = &thread->record->axis;
    axis->sums.call_ticks += ticks;
    axis->sums.waiting_ticks += waited;
    axis->sums.bytes_sent += sent;
    if (end >= axis->bin_end) [[unlikely]]
        pass_bins(thread, {end, ticks, waited, sent, &AxisSums::call_ticks});
}
// The same for waiting of OpenMP threads, idle time and I/O.
inline void add_to_axis(Thread* thread, uint64_t end, uint64_t ticks, uint64_t AxisSums::*kind) {
    TimeAxis* axis = &thread->record->axis;
    axis->sums.*kind += ticks;
    axis->until = end;
    if (end >= axis->bin_end) [[unlikely]]
        pass_bins(thread, {end, ticks, 0, 0, kind});
}
// The thread computed until `end`, apart from what its sums contain.
DWELL_COLD void pass_computation(Thread* thread, uint64_t end);
inline void compute_until(Thread* thread, uint64_t end) {
    thread->record->axis.until = end;
    if (end >= thread->record->axis.bin_end) [[unlikely]]
        pass_computation(thread, end);
}

// Between both, time passes that is no computation and not in the sums yet, as in a call or a
// barrier that is suspended, or in work of dwell: all that ends meanwhile counts in the last bin.
constexpr uint64_t kAxisHeld = uint64_t{1} << 63;  // in TimeAxis::bin_end, which no time reaches
inline void hold_axis(Thread* thread) { thread->record->axis.bin_end |= kAxisHeld; }
inline void release_axis(Thread* thread) { thread->record->axis.bin_end &= ~kAxisHeld; }

// The thread's time goes on at `at`: at its beginning, or after a time that is nobody's.
DWELL_COLD void begin_axis(Thread* thread, uint64_t at);
// The thread computed until `end`; the next `ticks` are nobody's.
DWELL_COLD void leave_out(Thread* thread, uint64_t end, uint64_t ticks);
// MPI_Pcontrol(2): everything before `since` is discarded.
void reset_axis(Thread* thread, uint64_t since);
// From `now` on the thread is in `phase`; 0: in none.
DWELL_COLD void note_phase(Thread* thread, CellIndex phase, uint64_t now);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_TIME_AXIS_H_
