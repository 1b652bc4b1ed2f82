// The common name of threads that use one record in succession.
#ifndef DWELL_RUNTIME_PROCESS_THREAD_NAMES_H_
#define DWELL_RUNTIME_PROCESS_THREAD_NAMES_H_

#include <string.h>

namespace dwell {

constexpr size_t kThreadNameBytes = 16;  // as in the kernel, with the final zero

// The common beginning of `kept` and `other`: "pool-1" and "pool-12" give "pool-*", names without a
// common beginning "*". Async-signal-safe.
inline void join_thread_name(char (&kept)[kThreadNameBytes], const char* other) {
    const size_t bytes = strnlen(kept, sizeof(kept) - 1);
    if (strncmp(kept, other, sizeof(kept)) == 0) return;
    size_t same = 0;
    while (same < bytes && kept[same] == other[same]) ++same;
    const bool has_star = bytes != 0 && kept[bytes - 1] == '*';
    if (has_star && same + 1 == bytes) return;
    while (same > 0 && kept[same - 1] >= '0' && kept[same - 1] <= '9') --same;
    if (same > sizeof(kept) - 2) same = sizeof(kept) - 2;
    memset(kept + same, 0, sizeof(kept) - same);
    kept[same] = '*';
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_THREAD_NAMES_H_
