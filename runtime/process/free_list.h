// A free list of small objects. Memory is never returned to the system, because another thread may
// still read an object after it was freed. For types with a member `next`; StateLock must be held.
#ifndef DWELL_RUNTIME_PROCESS_FREE_LIST_H_
#define DWELL_RUNTIME_PROCESS_FREE_LIST_H_

#include <stddef.h>
#include <sys/mman.h>

namespace dwell {

// Null when there is no memory. A reused object keeps its old content. Of new memory only the pages
// of objects that are taken are touched.
template <typename T>
T* take_from(T** free) {
    constexpr size_t kAtOnce = 32;
    static T* fresh = nullptr;
    static size_t left = 0;
    if (*free != nullptr) {
        T* taken = *free;
        *free = taken->next;
        return taken;
    }
    if (left == 0) {
        void* memory = mmap(nullptr, kAtOnce * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        fresh = static_cast<T*>(memory);
        left = kAtOnce;
    }
    left -= 1;
    return fresh++;
}

template <typename T>
void give_back_to(T** free, T* taken) {
    __atomic_store_n(&taken->next, *free, __ATOMIC_RELEASE);
    *free = taken;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_FREE_LIST_H_
