// From the clock of one host to that of a timeline. Clocks are compared in MPI_Init and again in
// MPI_Finalize (runtime/hosts); between the two they are taken to drift evenly, the idea of
// EPILOG's offset records.
#ifndef DWELL_REPORT_EVENTS_HOST_CLOCK_H_
#define DWELL_REPORT_EVENTS_HOST_CLOCK_H_

#include <algorithm>
#include <cstdint>

#include "runtime/contract/record_layout.h"

namespace dwell {

class HostClock {
  public:
    HostClock() = default;
    // `reviewed`: of a process of the same host, which compared the clocks again, or `own`.
    // `first`: of the first process of the log, on whose host the other clock is.
    HostClock(const FileHeader& own, const FileHeader& reviewed, const FileHeader& first)
        : offset_(own.clock_offset_ticks),
          drift_(reviewed.clock_drift_ticks),
          begin_(reviewed.init_ticks),
          length_(reviewed.end_ticks > reviewed.init_ticks
                      ? reviewed.end_ticks - reviewed.init_ticks
                      : 0) {
        if (length_ == 0) drift_ = 0;
        const auto drifted = static_cast<uint64_t>(drift_ < 0 ? -drift_ : drift_);
        const uint64_t bound = std::max(own.clock_bound_ticks, reviewed.clock_bound_ticks);
        bound_ticks_ = bound - std::min(bound, drifted);
        if (own.clock_bound_ticks == 0 || own.ticks_per_second == 0) return;
        // Differences as small as the calibration's error are none
        // (runtime/hosts/clock_relation.h).
        constexpr double kEqualRates = 1e-3;
        const double excess = static_cast<double>(first.ticks_per_second) /
                                  static_cast<double>(own.ticks_per_second) -
                              1;
        if (excess > kEqualRates || excess < -kEqualRates) excess_ = excess;
    }

    uint64_t to_timeline(uint64_t ticks) const {
        int64_t ahead = offset_;
        if (drift_ != 0 || excess_ != 0) [[unlikely]] {
            const auto since = static_cast<double>(static_cast<int64_t>(ticks - begin_));
            if (drift_ != 0) {
                const double part = since / static_cast<double>(length_);
                ahead +=
                    static_cast<int64_t>(static_cast<double>(drift_) * std::clamp(part, 0.0, 1.0));
            }
            ahead += static_cast<int64_t>(since * excess_);
        }
        return ticks + static_cast<uint64_t>(ahead);
    }
    // How far such a time may be wrong.
    uint64_t bound_ticks() const { return bound_ticks_; }

  private:
    int64_t offset_ = 0;
    int64_t drift_ = 0;  // own ticks by which the clock fell behind from `begin_` on
    uint64_t begin_ = 0;
    uint64_t length_ = 0;
    double excess_ = 0;  // ticks of the other clock for one own tick, less 1
    uint64_t bound_ticks_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_HOST_CLOCK_H_
