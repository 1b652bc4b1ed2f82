// Was the message there already? A receive that found it is told from one that blocked by its
// duration, against what such a receive costs on this machine.
#ifndef DWELL_RUNTIME_CALLS_FOUND_COST_H_
#define DWELL_RUNTIME_CALLS_FOUND_COST_H_

#include "runtime/calls/records.h"

namespace dwell {

// Once, when MPI is known.
void calibrate_found_cost();

// Ticks that a receive of `bytes` takes when its message is waiting.
uint64_t found_cost_ticks(uint64_t bytes);
// Before leave(): the computation before the call tells how cold the caches are.
uint64_t most_found_ticks(const Call* call, uint64_t messages, uint64_t bytes);
inline bool took_found_messages(const Call* call, uint64_t messages, uint64_t bytes) {
    return call->ticks <= most_found_ticks(call, messages, bytes);
}
inline bool took_found_message(const Call* call, uint64_t bytes) {
    return took_found_messages(call, 1, bytes);
}

inline void add_blocked(Call* call, uint64_t bytes) {
    const uint64_t found = found_cost_ticks(bytes);
    call->part->blocked_ticks += call->ticks > found ? call->ticks - found : 0;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_FOUND_COST_H_
