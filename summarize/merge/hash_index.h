// Open addressing from a hash to an index into an array that the caller owns, for code that must
// not throw. Only reserve() allocates, and it returns whether the memory was there. Entries are
// never removed.
#ifndef DWELL_SUMMARIZE_MERGE_HASH_INDEX_H_
#define DWELL_SUMMARIZE_MERGE_HASH_INDEX_H_

#include <stddef.h>
#include <stdint.h>

#include "summarize/merge/grow_array.h"

namespace dwell {

inline uint64_t mix_hash(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 29);
}

class HashIndex {
  public:
    static constexpr uint32_t kAbsent = 0xffffffffu;

    // Makes room for `count` entries in all. Returns false without memory; the index is unchanged
    // then.
    bool reserve(size_t count) {
        if (count * 2 <= slots_.size()) return true;
        size_t wanted = 32;
        while (wanted < count * 2) wanted *= 2;
        GrowArray<Slot> grown;
        if (!grown.resize(wanted)) return false;
        for (Slot& slot : grown) slot.index = kAbsent;
        grown.swap(slots_);
        for (const Slot& slot : grown) {
            if (slot.index != kAbsent) place(slot);
        }
        return true;
    }

    // The index under `hash` for which same(index) holds, or kAbsent.
    template <typename Same>
    uint32_t find(uint64_t hash, Same same) const {
        if (slots_.empty()) return kAbsent;
        const uint32_t tag = fold(hash);
        const size_t mask = slots_.size() - 1;
        for (size_t at = tag & mask; slots_[at].index != kAbsent; at = (at + 1) & mask) {
            if (slots_[at].tag == tag && same(slots_[at].index)) return slots_[at].index;
        }
        return kAbsent;
    }

    // Only after reserve() made room for the entry.
    void insert(uint64_t hash, uint32_t index) { place(Slot{fold(hash), index}); }

  private:
    struct Slot {
        uint32_t tag;
        uint32_t index;
    };

    static uint32_t fold(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }

    void place(Slot entry) {
        const size_t mask = slots_.size() - 1;
        size_t at = entry.tag & mask;
        while (slots_[at].index != kAbsent) at = (at + 1) & mask;
        slots_[at] = entry;
    }

    GrowArray<Slot> slots_;  // a power of two, at most half full
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_HASH_INDEX_H_
