// Growing memory for a thread's cached call paths (callpath.h). Slow: system calls.
#ifndef DWELL_RUNTIME_CALLTREE_PATH_CACHE_H_
#define DWELL_RUNTIME_CALLTREE_PATH_CACHE_H_

#include "runtime/process/state.h"

namespace dwell {

// The second look-up's entry for this hash, or with hash 0 a free one; null when there is no
// memory. Valid until the next call.
CachedPath* cached_path(Thread* thread, uint64_t hash);
// Stores `hash` in a free entry.
void keep_known(Thread* thread, CachedPath* known, uint64_t hash);
void forget_known(Thread* thread);

// Stores stack slots in an entry of the first look-up; false when there is no memory.
bool put_slots(Thread* thread, PathEntry* entry, const ReturnAddressCheck* slot, int slots);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_PATH_CACHE_H_
