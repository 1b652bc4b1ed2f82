// Copies of small structures between processes or threads: one writes while others read, and a
// version number beside the words shows readers whether the copy is consistent. Release stores and
// acquire loads of single words are plain moves on x86-64; fences are avoided because the thread
// sanitizer does not know them.
#ifndef DWELL_RUNTIME_PROCESS_SHARED_WORDS_H_
#define DWELL_RUNTIME_PROCESS_SHARED_WORDS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace dwell {

template <typename T>
inline void write_words(T* to, const T& from) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0);
    uint64_t words[sizeof(T) / sizeof(uint64_t)];
    memcpy(words, &from, sizeof(T));
    auto* at = reinterpret_cast<char*>(to);
    for (const uint64_t word : words) {
        __atomic_store_n(reinterpret_cast<uint64_t*>(at), word, __ATOMIC_RELEASE);
        at += sizeof(word);
    }
}

template <typename T>
inline void read_words(const T* from, T* to) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0);
    uint64_t words[sizeof(T) / sizeof(uint64_t)];
    const auto* at = reinterpret_cast<const char*>(from);
    for (uint64_t& word : words) {
        word = __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE);
        at += sizeof(word);
    }
    memcpy(to, words, sizeof(T));
}

// Prefetches a cache line for writing that another core owns. After a prefetch for reading the
// write would still wait for the other copy's invalidation: some 100 ns (200 between core
// complexes).
inline void fetch_to_write(const void* place) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(place)));
#else
    __builtin_prefetch(place, 1);
#endif
}

// Full fence: earlier stores become visible before later loads.
inline void full_fence() {
    uint32_t own = 0;
    __atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_SHARED_WORDS_H_
