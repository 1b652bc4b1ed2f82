// The memory of a thread's call paths, which grows with them (callpath.h). Slow: system calls.
#ifndef DWELL_RUNTIME_CALLTREE_PATH_CACHE_H_
#define DWELL_RUNTIME_CALLTREE_PATH_CACHE_H_

#include "runtime/process/state.h"

namespace dwell {

// The entry of the second look-up for this hash, or, with hash 0, one that is free for it; null
// when there is no memory. Valid until the next call.
CachedPath* cached_path(Thread* thread, uint64_t hash);
// A free one is filled.
void keep_known(Thread* thread, CachedPath* known, uint64_t hash);
void forget_known(Thread* thread);

// Gives an entry of the first look-up its stack slots; false when there is no memory.
bool put_slots(Thread* thread, PathEntry* entry, const ReturnAddressCheck* slot, int slots);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_PATH_CACHE_H_
