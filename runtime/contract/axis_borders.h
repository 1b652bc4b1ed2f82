// Where the bins of a time axis begin (TimeAxis in record_layout.h): for the writer and the readers.
#ifndef DWELL_RUNTIME_CONTRACT_AXIS_BORDERS_H_
#define DWELL_RUNTIME_CONTRACT_AXIS_BORDERS_H_

#include "runtime/contract/record_layout.h"

namespace dwell {

__extension__ typedef __int128 SignedWide;

// When a bin begins, in ticks of the axis.
inline uint64_t axis_bin_begin(const FileHeader& header, uint64_t bin, uint32_t shift) {
    const SignedWide ns = (static_cast<SignedWide>(bin) << shift) - header.start_unix_ns;
    const SignedWide ticks = ns * header.ticks_per_second / 1'000'000'000;
    return static_cast<uint64_t>(static_cast<SignedWide>(header.start_ticks) + ticks);
}

// The bin of that time.
inline uint64_t axis_bin_at(const FileHeader& header, uint64_t ticks, uint32_t shift) {
    const SignedWide since = static_cast<SignedWide>(ticks) - header.start_ticks;
    const SignedWide ns = header.start_unix_ns + since * 1'000'000'000 / header.ticks_per_second;
    return ns > 0 ? static_cast<uint64_t>(ns) >> shift : 0;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_AXIS_BORDERS_H_
