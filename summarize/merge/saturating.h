// Conversions of figures that may come from damaged files: a value out of range becomes the nearest
// value of the target type.
#ifndef DWELL_SUMMARIZE_MERGE_SATURATING_H_
#define DWELL_SUMMARIZE_MERGE_SATURATING_H_

#include <cstdint>

namespace dwell {

inline uint64_t whole_number(double value) {
    if (!(value > 0)) return 0;  // NaN included
    return value < 0x1p64 ? static_cast<uint64_t>(value) : UINT64_MAX;
}

inline int64_t later_by(int64_t start_ns, uint64_t ns) {
    const uint64_t room = static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(start_ns);
    if (ns >= room) return INT64_MAX;
    return static_cast<int64_t>(static_cast<uint64_t>(start_ns) + ns);
}

// 0 where the end is not later than the start.
inline uint64_t ns_between(int64_t start_ns, int64_t end_ns) {
    return end_ns > start_ns ? static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(start_ns) : 0;
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_SATURATING_H_
