#include "runtime/requests.h"

#include <sys/mman.h>

#include "runtime/ranks.h"

namespace dwell {

namespace {

// Three entries and a link fill two cache lines; a bucket that overflows gets another behind it.
constexpr int kBucketEntries = 3;
struct Bucket {
    Request entries[kBucketEntries];
    std::atomic<Bucket*> more;
};
constexpr size_t kBuckets = 8192;
constexpr size_t kSpareBuckets = 1024;  // taken from the system at a time

std::atomic<Bucket*> g_table{nullptr};
Bucket* g_spare = nullptr;
size_t g_spare_left = 0;

Bucket* map_buckets(size_t count) {
    void* memory = mmap(nullptr, count * sizeof(Bucket), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Bucket*>(memory);
}

Bucket* bucket_of(Bucket* table, uintptr_t handle) {
    return &table[((handle >> 6) * 0x9e3779b97f4a7c15ull) >> 51];
}

DWELL_COLD Bucket* make_table() {
    const SlowLock lock;
    Bucket* table = g_table.load();
    if (table == nullptr) {
        table = map_buckets(kBuckets);
        g_table.store(table);
    }
    return table;
}

DWELL_COLD Bucket* extend(Bucket* last) {
    const SlowLock lock;
    if (last->more.load() != nullptr) return last->more.load();
    if (g_spare_left == 0) {
        g_spare = map_buckets(kSpareBuckets);
        if (g_spare == nullptr) return nullptr;
        g_spare_left = kSpareBuckets;
    }
    Bucket* added = g_spare++;
    --g_spare_left;
    last->more.store(added, std::memory_order_release);
    return added;
}

// Takes a free entry for `handle`; a competing thread may take it first. The entry is unsettled
// then.
bool claim(Request* entry, uintptr_t handle) {
    uintptr_t free_handle = 0;
    if (!__atomic_compare_exchange_n(&entry->handle, &free_handle, handle, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        return false;
    }
    __atomic_fetch_add(&entry->generation, 1, __ATOMIC_ACQ_REL);
    return true;
}

// Makes a settled entry unsettled, if it is still of this generation.
bool unsettle(Request* entry, uint32_t generation) {
    return (generation & 1) == 0 &&
           __atomic_compare_exchange_n(&entry->generation, &generation, generation + 1, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void settle(Request* entry) { __atomic_fetch_add(&entry->generation, 1, __ATOMIC_RELEASE); }

Request* entry_of(uintptr_t handle) {
    Bucket* table = g_table.load(std::memory_order_acquire);
    if (table == nullptr) return nullptr;
    for (Bucket* bucket = bucket_of(table, handle); bucket != nullptr;
         bucket = bucket->more.load(std::memory_order_acquire)) {
        for (Request& entry : bucket->entries) {
            if (__atomic_load_n(&entry.handle, __ATOMIC_ACQUIRE) == handle) return &entry;
        }
    }
    return nullptr;
}

Request* free_entry(uintptr_t handle) {
    Bucket* table = g_table.load(std::memory_order_acquire);
    if (table == nullptr) table = make_table();
    if (table == nullptr) return nullptr;
    for (Bucket* bucket = bucket_of(table, handle); bucket != nullptr;) {
        for (Request& entry : bucket->entries) {
            if (__atomic_load_n(&entry.handle, __ATOMIC_RELAXED) == 0 && claim(&entry, handle)) {
                return &entry;
            }
        }
        Bucket* more = bucket->more.load(std::memory_order_acquire);
        bucket = more != nullptr ? more : extend(bucket);
    }
    return nullptr;
}

void fill(Request* entry, const Request& content) {
    release_ranks(entry->ranks);
    entry->ranks = content.ranks;
    entry->bytes = content.bytes;
    entry->peer = content.peer;
    entry->kind = content.kind;
    entry->persistent = content.persistent;
    entry->active = content.active;
    settle(entry);
}

}  // namespace

FoundRequest find_request(uintptr_t handle) {
    FoundRequest found{entry_of(handle), {}};
    if (found.entry == nullptr) return found;
    // MPI's rules leave one thread at a time to work on a request, so a settled entry of the handle
    // stays as it is while it is copied, or is a stale one, about to be dropped.
    found.copy = *found.entry;
    if ((found.copy.generation & 1) != 0 || found.copy.handle != handle) found.entry = nullptr;
    return found;
}

bool add_request(uintptr_t handle, const Request& content) {
    while (true) {
        Request* stale = entry_of(handle);
        if (stale == nullptr) break;
        const uint32_t generation = __atomic_load_n(&stale->generation, __ATOMIC_ACQUIRE);
        if (!unsettle(stale, generation)) continue;  // being dropped right now
        if (__atomic_load_n(&stale->handle, __ATOMIC_ACQUIRE) != handle) {
            settle(stale);
            continue;
        }
        fill(stale, content);
        return true;
    }
    Request* entry = free_entry(handle);
    if (entry == nullptr) return false;
    fill(entry, content);
    return true;
}

void drop_request(const FoundRequest& found) {
    if (!unsettle(found.entry, found.copy.generation)) return;
    CommRanks* ranks = found.entry->ranks;
    found.entry->ranks = nullptr;
    __atomic_store_n(&found.entry->handle, 0, __ATOMIC_RELEASE);
    settle(found.entry);
    release_ranks(ranks);
}

void set_active(const FoundRequest& found, bool active) { found.entry->active = active; }

void forget_request(uintptr_t handle) {
    const FoundRequest found = find_request(handle);
    if (found.entry != nullptr) drop_request(found);
}

}  // namespace dwell
