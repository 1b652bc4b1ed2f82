// Converts ticks to nanoseconds, exactly and without a division for each value.
#ifndef DWELL_SUMMARIZE_MERGE_TICK_SCALE_H_
#define DWELL_SUMMARIZE_MERGE_TICK_SCALE_H_

#include <stdint.h>

namespace dwell {

__extension__ typedef unsigned __int128 Wide;

// value * factor / divisor, at most UINT64_MAX.
inline uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor) {
    if (divisor == 0) return 0;
    const Wide result = static_cast<Wide>(value) * factor / divisor;
    return result > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(result);
}

class TickScale {
  public:
    TickScale() = default;
    explicit TickScale(uint64_t ticks_per_second)
        : ticks_per_second_(ticks_per_second),
          factor_(ticks_per_second > kSecond_ns
                      ? static_cast<uint64_t>((Wide{kSecond_ns} << 64) / ticks_per_second)
                      : 0) {}

    uint64_t ns(uint64_t ticks) const {
        if (factor_ == 0) return scale(ticks, kSecond_ns, ticks_per_second_);
        // The rounded factor makes the quotient right, or one too small.
        const auto quotient = static_cast<uint64_t>((Wide{ticks} * factor_) >> 64);
        const Wide rest = Wide{ticks} * kSecond_ns - Wide{quotient} * ticks_per_second_;
        return rest >= ticks_per_second_ ? quotient + 1 : quotient;
    }

  private:
    static constexpr uint64_t kSecond_ns = 1'000'000'000;
    uint64_t ticks_per_second_ = 0;
    uint64_t factor_ = 0;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_TICK_SCALE_H_
