#include "runtime/calltree/path_cache.h"

#include <string.h>
#include <sys/mman.h>

namespace dwell {

namespace {

// The entry of `hash`, a free one, or null.
CachedPath* check_of_cached(Thread* thread, uint64_t hash) {
    const uint32_t start = static_cast<uint32_t>(hash >> 40);
    for (uint32_t i = 0; i < 16 && i < thread->return_address_checks; ++i) {
        CachedPath& known = thread->known[(start + i) & (thread->return_address_checks - 1)];
        if (known.hash == hash) return &known;
        if (known.hash == 0) return &known;
    }
    return nullptr;
}

// Doubles the table; what finds no place in its neighbourhood is forgotten.
bool grow_known(Thread* thread) {
    CachedPath* const before = thread->known;
    const uint32_t slots = thread->return_address_checks;
    if (slots == kMostCachedPaths) return false;
    const uint32_t wanted = slots == 0 ? kFirstCachedPaths : 2 * slots;
    void* memory = mmap(nullptr, wanted * sizeof(CachedPath), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    thread->known = static_cast<CachedPath*>(memory);
    thread->return_address_checks = wanted;
    thread->known_count = 0;
    for (uint32_t i = 0; i < slots; ++i) {
        if (before[i].hash == 0) continue;
        CachedPath* const place = check_of_cached(thread, before[i].hash);
        if (place == nullptr) continue;
        *place = before[i];
        thread->known_count += 1;
    }
    if (before != nullptr) munmap(before, slots * sizeof(CachedPath));
    return true;
}

// Memory for that many slots, of the thread's own for good; null when there is none.
ReturnAddressCheck* new_block(Thread* thread, uint32_t slots) {
    constexpr uint32_t kAtOnce = 16 * 1024 / sizeof(ReturnAddressCheck);
    if (thread->blocks_left < slots) {
        void* memory = mmap(nullptr, kAtOnce * sizeof(ReturnAddressCheck), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        thread->blocks = static_cast<ReturnAddressCheck*>(memory);
        thread->blocks_left = kAtOnce;
    }
    ReturnAddressCheck* const block = thread->blocks;
    thread->blocks += slots;
    thread->blocks_left -= slots;
    return block;
}

}  // namespace

CachedPath* cached_path(Thread* thread, uint64_t hash) {
    if (thread->known_count >= thread->return_address_checks / 4 * 3) grow_known(thread);
    if (thread->known == nullptr) return nullptr;
    CachedPath* known = check_of_cached(thread, hash);
    if (known == nullptr && grow_known(thread)) known = check_of_cached(thread, hash);
    if (known == nullptr) {
        known =
            &thread->known[static_cast<uint32_t>(hash >> 40) & (thread->return_address_checks - 1)];
        known->hash = 0;
    }
    return known;
}

void keep_known(Thread* thread, CachedPath* known, uint64_t hash) {
    known->hash = hash;
    thread->known_count += 1;
}

void forget_known(Thread* thread) {
    if (thread->known != nullptr)
        memset(thread->known, 0, thread->return_address_checks * sizeof(CachedPath));
    thread->known_count = 0;
}

// A block is of one of two sizes, so that an entry's place, whatever paths it is given, never takes
// more than one of each.
bool put_slots(Thread* thread, PathEntry* entry, const ReturnAddressCheck* slot, int slots) {
    constexpr int kBlockSlots = 26;
    static_assert(kReturnAddressChecks <= UINT8_MAX);
    const bool few = slots <= kFewSlots;
    if (!few && slots > entry->block_slots) {
        const int wanted = slots <= kBlockSlots ? kBlockSlots : kReturnAddressChecks;
        ReturnAddressCheck* const block = new_block(thread, static_cast<uint32_t>(wanted));
        if (block == nullptr) return false;
        entry->block = block;
        entry->block_slots = static_cast<uint8_t>(wanted);
    }
    ReturnAddressCheck* const to = few ? entry->few : entry->block;
    memcpy(to, slot, static_cast<size_t>(slots) * sizeof(ReturnAddressCheck));
    entry->slot = to;
    entry->slots = static_cast<uint8_t>(slots);
    return true;
}

}  // namespace dwell
