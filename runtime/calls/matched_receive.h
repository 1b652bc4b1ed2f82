// Decides whether a receive found its message or blocked, by comparing its duration with the
// calibrated cost of a receive whose message is waiting.
#ifndef DWELL_RUNTIME_CALLS_MATCHED_RECEIVE_H_
#define DWELL_RUNTIME_CALLS_MATCHED_RECEIVE_H_

#include "runtime/calls/records.h"

namespace dwell {

// Once, when MPI is known.
void calibrate_matched_receive();

// Ticks that a receive of `bytes` takes when its message is waiting.
uint64_t matched_receive_ticks(uint64_t bytes);
// To be called before leave(): the length of the computation before the call tells how cold the
// caches are.
uint64_t most_unblocked_ticks(const Call* call, uint64_t messages, uint64_t bytes);
inline bool are_unblocked_receives(const Call* call, uint64_t messages, uint64_t bytes) {
    return call->ticks <= most_unblocked_ticks(call, messages, bytes);
}
inline bool is_unblocked_receive(const Call* call, uint64_t bytes) {
    return are_unblocked_receives(call, 1, bytes);
}

inline void add_blocked(Call* call, uint64_t bytes) {
    const uint64_t found = matched_receive_ticks(bytes);
    record_blocked(call, call->ticks > found ? call->ticks - found : 0);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_MATCHED_RECEIVE_H_
