// Hash table of a thread's call paths, and memory for their stack slots.
#include "runtime/calltree/path_cache.h"

#include <string.h>
#include <sys/mman.h>

namespace dwell {

namespace {

// The entry of `hash`, a free one, or null.
CachedPath* slot_of_hash(Thread* thread, uint64_t hash) {
    const uint32_t start = static_cast<uint32_t>(hash >> 40);
    for (uint32_t i = 0; i < 16 && i < thread->known_slots; ++i) {
        CachedPath& known = thread->known[(start + i) & (thread->known_slots - 1)];
        if (known.hash == hash) return &known;
        if (known.hash == 0) return &known;
    }
    return nullptr;
}

// Doubles the table; drops paths that find no free slot.
bool grow_known(Thread* thread) {
    CachedPath* const before = thread->known;
    const uint32_t slots = thread->known_slots;
    if (slots == kMostCachedPaths) return false;
    const uint32_t wanted = slots == 0 ? kFirstCachedPaths : 2 * slots;
    void* memory = mmap(nullptr, wanted * sizeof(CachedPath), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    thread->known = static_cast<CachedPath*>(memory);
    thread->known_slots = wanted;
    thread->known_count = 0;
    for (uint32_t i = 0; i < slots; ++i) {
        if (before[i].hash == 0) continue;
        CachedPath* const place = slot_of_hash(thread, before[i].hash);
        if (place == nullptr) continue;
        *place = before[i];
        thread->known_count += 1;
    }
    if (before != nullptr) munmap(before, slots * sizeof(CachedPath));
    return true;
}

// Memory for that many slots, never freed; null when there is no memory.
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
    if (thread->known_count >= thread->known_slots / 4 * 3) grow_known(thread);
    if (thread->known == nullptr) return nullptr;
    CachedPath* known = slot_of_hash(thread, hash);
    if (known == nullptr && grow_known(thread)) known = slot_of_hash(thread, hash);
    if (known == nullptr) {
        known = &thread->known[static_cast<uint32_t>(hash >> 40) & (thread->known_slots - 1)];
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
        memset(thread->known, 0, thread->known_slots * sizeof(CachedPath));
    thread->known_count = 0;
}

// Two block sizes only, so that an entry, whatever paths it holds, takes at most one block of each.
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
