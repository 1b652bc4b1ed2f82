// The layout of a thread's time axis in its record (record_layout.h): what the thread did in each
// part of the run.
#ifndef DWELL_RUNTIME_CONTRACT_TIME_AXIS_LAYOUT_H_
#define DWELL_RUNTIME_CONTRACT_TIME_AXIS_LAYOUT_H_

#include <stdint.h>

namespace dwell {

// A part of the run in a thread's time, in virtual ticks.
struct AxisBin {
    uint64_t computation_ticks;
    uint64_t call_ticks;     // in communication statements
    uint64_t waiting_ticks;  // part of call_ticks: as CommPart::sync_ticks and blocked_ticks
    uint64_t omp_wait_ticks;
    uint64_t omp_idle_ticks;
    uint64_t io_ticks;
    uint64_t bytes_sent;
    uint32_t phase;         // cell of the phase that took most of it; 0: none, or unknown
    uint32_t phase_weight;  // of the majority vote, in kPhaseUnit ticks
};
constexpr int kPhaseUnitShift = 10;
constexpr uint32_t kAxisBins = 256;
constexpr uint32_t kFirstBinShift = 16;  // 65.536 microseconds

// What a thread has done since its start, without computation, and how much of it lies in its bins.
struct AxisSums {
    uint64_t call_ticks;
    uint64_t waiting_ticks;
    uint64_t bytes_sent;
    uint64_t omp_wait_ticks;
    uint64_t omp_idle_ticks;
    uint64_t io_ticks;
};

// The course of the run in one thread (runtime/process/time_axis.h). Bin k covers the 2^bin_shift
// ns of Unix time from (first_bin + k) * 2^bin_shift on, on a clock that goes without dwell's cost:
// so bins of all threads and ranks have common borders. Bins double their width when all are used.
// What `sums` has beyond `stored` belongs to the last bin used, together with the computation from
// `from` on. `version` is odd while bins are changed.
struct TimeAxis {
    uint64_t bin_end;  // of the last bin used, in ticks; 0: the axis has not begun
    AxisSums sums;
    uint64_t until;  // end of the last OpenMP or I/O statement
    uint64_t from;
    AxisSums stored;
    uint64_t computed_ticks;  // computation in all bins
    uint64_t first_bin;
    uint32_t bins;  // cell of AxisBin[kAxisBins]; 0: none
    uint32_t bin_shift;
    uint32_t last_bin;
    uint32_t version;
    uint32_t no_room;  // the bins found no room: the axis is missing
    uint32_t phase;    // cell of the one open now, since the virtual time phase_since
    uint64_t phase_since;
};

// As FileHeader says.
struct AxisClock {
    uint64_t start_ticks;
    int64_t start_unix_ns;
    uint64_t ticks_per_second;
};
__extension__ typedef __int128 SignedWide;
// When a bin begins, in ticks of the axis.
inline uint64_t axis_bin_begin(const AxisClock& clock, uint64_t bin, uint32_t shift) {
    const SignedWide ns = (static_cast<SignedWide>(bin) << shift) - clock.start_unix_ns;
    const SignedWide ticks = ns * clock.ticks_per_second / 1'000'000'000;
    return static_cast<uint64_t>(static_cast<SignedWide>(clock.start_ticks) + ticks);
}
// The bin of that time.
inline uint64_t axis_bin_at(const AxisClock& clock, uint64_t ticks, uint32_t shift) {
    const SignedWide since = static_cast<SignedWide>(ticks) - clock.start_ticks;
    const SignedWide ns = clock.start_unix_ns + since * 1'000'000'000 / clock.ticks_per_second;
    return ns > 0 ? static_cast<uint64_t>(ns) >> shift : 0;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_TIME_AXIS_LAYOUT_H_
