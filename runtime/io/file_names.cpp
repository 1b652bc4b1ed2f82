// A hash table from file names to their records.
#include "runtime/io/file_names.h"

#include <errno.h>
#include <sys/mman.h>

#include "runtime/calls/callpath.h"
#include "runtime/calltree/texts.h"

namespace dwell {

namespace {

constexpr uint32_t kFirstSlots = 1024;

struct FileName {
    uint64_t hash;  // 0: free; written last
    CellIndex cell;
};
// A full table is copied into one four times as large, and not freed, because others may be reading
// it.
struct NameTable {
    uint32_t slot_count;  // a power of two, at most three quarters used
    FileName slots[];
};
NameTable* g_table = nullptr;  // written with StateLock held
uint32_t g_name_count = 0;

// The slot of the name, or the free slot for it.
FileName* slot_of(NameTable* table, uint64_t hash) {
    const uint32_t last = table->slot_count - 1;
    uint32_t at = static_cast<uint32_t>(hash >> 32) & last;
    for (;; at = (at + 1) & last) {
        const uint64_t there = __atomic_load_n(&table->slots[at].hash, __ATOMIC_ACQUIRE);
        if (there == 0 || there == hash) return &table->slots[at];
    }
}

void put(NameTable* table, uint64_t hash, CellIndex cell) {
    FileName* slot = slot_of(table, hash);
    slot->cell = cell;
    __atomic_store_n(&slot->hash, hash, __ATOMIC_RELEASE);
}

CellIndex known_cell(uint64_t hash) {
    NameTable* table = __atomic_load_n(&g_table, __ATOMIC_ACQUIRE);
    if (table == nullptr) return 0;
    const FileName* slot = slot_of(table, hash);
    return __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE) == hash ? slot->cell : 0;
}

// Makes room for one more name. StateLock must be held.
bool make_room() {
    NameTable* before = g_table;
    if (before != nullptr && g_name_count < before->slot_count / 4 * 3) return true;
    const uint32_t slot_count = before != nullptr ? before->slot_count * 4 : kFirstSlots;
    void* memory = mmap(nullptr, sizeof(NameTable) + slot_count * sizeof(FileName),
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto* table = static_cast<NameTable*>(memory);
    table->slot_count = slot_count;
    for (uint32_t i = 0; before != nullptr && i < before->slot_count; ++i) {
        const FileName& name = before->slots[i];
        if (name.hash != 0) put(table, name.hash, name.cell);
    }
    __atomic_store_n(&g_table, table, __ATOMIC_RELEASE);
    return true;
}

CellIndex write_name(Thread* thread, uint64_t hash, const char* name, size_t bytes) {
    if (is_over_budget()) return 0;
    const CellIndex cell = write_text(thread, name, bytes);
    if (cell == 0) return 0;
    const StateLock lock;
    const CellIndex faster = known_cell(hash);  // added by another thread meanwhile
    if (faster != 0) return faster;
    if (!make_room()) return 0;
    put(g_table, hash, cell);
    g_name_count += 1;
    return cell;
}

}  // namespace

CellIndex record_of_name(Thread* thread, const char* name, size_t bytes) {
    const uint64_t hash = hash_bytes(name, bytes, kHashStart) | 1;
    const CellIndex known = known_cell(hash);
    if (known != 0) return known;
    const CellIndex written = write_name(thread, hash, name, bytes);
    if (written == 0) {
        __atomic_fetch_add(&g_process.header->files_unnamed, 1, __ATOMIC_RELAXED);
    }
    return written;
}

}  // namespace dwell
