#include "runtime/requests.h"

#include <sys/mman.h>

#include "runtime/ranks.h"

namespace dwell {

namespace {

// There are several tables, each sixteen times as large as the one before it and made when that had
// no room at the place: programs with a few requests stay in the caches, a million outstanding ones
// are found in a few steps.
constexpr int kBucketEntries = 3;
struct Bucket {
    Request entries[kBucketEntries];
};
constexpr int kTables = 5;
constexpr size_t kFirstBuckets = 512;

std::atomic<Bucket*> g_tables[kTables];

size_t buckets_of(int table) { return kFirstBuckets << (4 * table); }

// Requests that MPI hands out one after the other lie side by side: the small table keeps them so.
Bucket* bucket_of(Bucket* buckets, int table, uintptr_t handle) {
    const size_t mask = buckets_of(table) - 1;
    if (table == 0) return &buckets[(handle >> 7) & mask];
    return &buckets[((handle >> 6) * 0x9e3779b97f4a7c15ull >> 32) & mask];
}

DWELL_COLD Bucket* make_table(int table) {
    const SlowLock lock;
    Bucket* buckets = g_tables[table].load();
    if (buckets != nullptr) return buckets;
    void* memory = mmap(nullptr, buckets_of(table) * sizeof(Bucket), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    buckets = static_cast<Bucket*>(memory);
    g_tables[table].store(buckets, std::memory_order_release);
    return buckets;
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
    for (int table = 0; table < kTables; ++table) {
        Bucket* buckets = g_tables[table].load(std::memory_order_acquire);
        if (buckets == nullptr) return nullptr;
        for (Request& entry : bucket_of(buckets, table, handle)->entries) {
            if (__atomic_load_n(&entry.handle, __ATOMIC_ACQUIRE) == handle) return &entry;
        }
    }
    return nullptr;
}

Request* free_entry(uintptr_t handle) {
    for (int table = 0; table < kTables; ++table) {
        Bucket* buckets = g_tables[table].load(std::memory_order_acquire);
        if (buckets == nullptr) buckets = make_table(table);
        if (buckets == nullptr) return nullptr;
        for (Request& entry : bucket_of(buckets, table, handle)->entries) {
            if (__atomic_load_n(&entry.handle, __ATOMIC_RELAXED) == 0 && claim(&entry, handle)) {
                return &entry;
            }
        }
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
    const Request& entry = *found.entry;
    found.copy.handle = __atomic_load_n(&entry.handle, __ATOMIC_ACQUIRE);
    found.copy.generation = __atomic_load_n(&entry.generation, __ATOMIC_ACQUIRE);
    found.copy.ranks = entry.ranks;
    found.copy.bytes = entry.bytes;
    found.copy.peer = entry.peer;
    found.copy.kind = entry.kind;
    found.copy.persistent = entry.persistent;
    found.copy.active = entry.active;
    if ((found.copy.generation & 1) != 0 || found.copy.handle != handle) found.entry = nullptr;
    return found;
}

bool still_stands(const FoundRequest& found) {
    return __atomic_load_n(&found.entry->generation, __ATOMIC_ACQUIRE) == found.copy.generation &&
           found.entry->active == found.copy.active;
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
