#include "runtime/calltree/known_paths.h"

#include <string.h>
#include <sys/mman.h>

namespace dwell {

namespace {

// The entry of `hash`, a free one, or null.
KnownPath* slot_of_known(Thread* thread, uint64_t hash) {
    const uint32_t start = static_cast<uint32_t>(hash >> 40);
    for (uint32_t i = 0; i < 16 && i < thread->known_slots; ++i) {
        KnownPath& known = thread->known[(start + i) & (thread->known_slots - 1)];
        if (known.hash == hash) return &known;
        if (known.hash == 0) return &known;
    }
    return nullptr;
}

// Doubles the table; what finds no place in its neighbourhood is forgotten.
bool grow_known(Thread* thread) {
    KnownPath* const before = thread->known;
    const uint32_t slots = thread->known_slots;
    if (slots == kMostKnownPaths) return false;
    const uint32_t wanted = slots == 0 ? kFirstKnownPaths : 2 * slots;
    void* memory = mmap(nullptr, wanted * sizeof(KnownPath), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    thread->known = static_cast<KnownPath*>(memory);
    thread->known_slots = wanted;
    thread->known_count = 0;
    for (uint32_t i = 0; i < slots; ++i) {
        if (before[i].hash == 0) continue;
        KnownPath* const place = slot_of_known(thread, before[i].hash);
        if (place == nullptr) continue;
        *place = before[i];
        thread->known_count += 1;
    }
    if (before != nullptr) munmap(before, slots * sizeof(KnownPath));
    return true;
}

// Memory for that many slots, of the thread's own for good; null when there is none.
PathSlot* new_block(Thread* thread, uint32_t slots) {
    constexpr uint32_t kAtOnce = 16 * 1024 / sizeof(PathSlot);
    if (thread->blocks_left < slots) {
        void* memory = mmap(nullptr, kAtOnce * sizeof(PathSlot), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        thread->blocks = static_cast<PathSlot*>(memory);
        thread->blocks_left = kAtOnce;
    }
    PathSlot* const block = thread->blocks;
    thread->blocks += slots;
    thread->blocks_left -= slots;
    return block;
}

}  // namespace

KnownPath* known_path(Thread* thread, uint64_t hash) {
    if (thread->known_count >= thread->known_slots / 4 * 3) grow_known(thread);
    if (thread->known == nullptr) return nullptr;
    KnownPath* known = slot_of_known(thread, hash);
    if (known == nullptr && grow_known(thread)) known = slot_of_known(thread, hash);
    if (known == nullptr) {
        known = &thread->known[static_cast<uint32_t>(hash >> 40) & (thread->known_slots - 1)];
        known->hash = 0;
    }
    return known;
}

void keep_known(Thread* thread, KnownPath* known, uint64_t hash) {
    known->hash = hash;
    thread->known_count += 1;
}

void forget_known(Thread* thread) {
    if (thread->known != nullptr) memset(thread->known, 0, thread->known_slots * sizeof(KnownPath));
    thread->known_count = 0;
}

// A block is of one of two sizes, so that an entry's place, whatever paths it is given, never takes
// more than one of each.
bool put_slots(Thread* thread, PathEntry* entry, const PathSlot* slot, int slots) {
    constexpr int kBlockSlots = 26;
    static_assert(kPathSlots <= UINT8_MAX);
    const bool few = slots <= kFewSlots;
    if (!few && slots > entry->block_slots) {
        const int wanted = slots <= kBlockSlots ? kBlockSlots : kPathSlots;
        PathSlot* const block = new_block(thread, static_cast<uint32_t>(wanted));
        if (block == nullptr) return false;
        entry->block = block;
        entry->block_slots = static_cast<uint8_t>(wanted);
    }
    PathSlot* const to = few ? entry->few : entry->block;
    memcpy(to, slot, static_cast<size_t>(slots) * sizeof(PathSlot));
    entry->slot = to;
    entry->slots = static_cast<uint8_t>(slots);
    return true;
}

}  // namespace dwell
