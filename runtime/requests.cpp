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

// Takes a free entry for `handle`; a competing thread may take it first.
bool claim(Request* entry, uintptr_t handle) {
    uintptr_t free_handle = 0;
    return __atomic_compare_exchange_n(&entry->handle, &free_handle, handle, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

}  // namespace

Request* find_request(uintptr_t handle) {
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

Request* add_request(uintptr_t handle, RequestKind kind) {
    Request* request = find_request(handle);
    if (request != nullptr) {
        release_ranks(request->ranks);
    } else {
        Bucket* table = g_table.load(std::memory_order_acquire);
        if (table == nullptr) table = make_table();
        if (table == nullptr) return nullptr;
        for (Bucket* bucket = bucket_of(table, handle); request == nullptr;) {
            for (Request& entry : bucket->entries) {
                if (entry.handle == 0 && claim(&entry, handle)) {
                    request = &entry;
                    break;
                }
            }
            if (request != nullptr) break;
            Bucket* more = bucket->more.load(std::memory_order_acquire);
            bucket = more != nullptr ? more : extend(bucket);
            if (bucket == nullptr) return nullptr;
        }
    }
    request->ranks = nullptr;
    request->bytes = 0;
    request->peer = kNoPeer;
    request->kind = kind;
    request->persistent = false;
    request->active = true;
    return request;
}

void drop_request(Request* request) {
    release_ranks(request->ranks);
    request->ranks = nullptr;
    __atomic_store_n(&request->handle, 0, __ATOMIC_RELEASE);
}

void forget_request(uintptr_t handle) {
    Request* request = find_request(handle);
    if (request != nullptr) drop_request(request);
}

}  // namespace dwell
