#include "runtime/requests.h"

#include <sys/mman.h>

#include "runtime/boards.h"
#include "runtime/held_receives.h"
#include "runtime/ranks.h"

namespace dwell {

namespace {

// There are several tables, each sixteen times as large as the one before it and made when that had
// no room at the place: programs with a few requests stay in the caches, a million outstanding ones
// are found in a few steps.
constexpr int kBucketEntries = 4;
struct Bucket {
    Request entries[kBucketEntries];
};
constexpr int kTables = 5;
constexpr size_t kFirstBuckets = 512;

DWELL_CALL_DATA std::atomic<Bucket*> g_tables[kTables];

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

// A locked instruction waits until all that was stored before has reached the caches, also what MPI
// stored. Where one thread at a time is inside MPI, plain ones do.
template <typename T>
bool exchange(T* place, T expected, T desired) {
    if (g_process.concurrent) [[unlikely]] {
        return __atomic_compare_exchange_n(place, &expected, desired, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(place, __ATOMIC_RELAXED) != expected) return false;
    __atomic_store_n(place, desired, __ATOMIC_RELEASE);
    return true;
}

void next_generation(Request* entry) {
    if (g_process.concurrent) [[unlikely]] {
        __atomic_fetch_add(&entry->generation, 1, __ATOMIC_ACQ_REL);
    } else {
        __atomic_store_n(&entry->generation, entry->generation + 1, __ATOMIC_RELEASE);
    }
}

// Takes a free entry for `handle`; a competing thread may take it first. The entry is unsettled
// then.
bool claim(Request* entry, uintptr_t handle) {
    if (!exchange(&entry->handle, uintptr_t{0}, handle)) return false;
    next_generation(entry);
    return true;
}

// Makes a settled entry unsettled, if it is still of this generation.
bool unsettle(Request* entry, uint32_t generation) {
    return (generation & 1) == 0 && exchange(&entry->generation, generation, generation + 1);
}

void settle(Request* entry) { next_generation(entry); }

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

// All but the handle and the generation.
void copy_content(const Request& from, Request* to) {
    to->ranks = from.ranks;
    to->bytes = from.bytes;
    to->peer = from.peer;
    to->comm = from.comm;
    to->ticket = from.ticket;
    to->tag = from.tag;
    to->kind = from.kind;
    to->persistent = from.persistent;
    to->active = from.active;
    to->mode = from.mode;
}

void fill(Request* entry, const Request& content) {
    release(*entry);
    copy_content(content, entry);
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
    copy_content(entry, &found.copy);
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
    Request ended{};
    copy_content(*found.entry, &ended);
    found.entry->ranks = nullptr;
    __atomic_store_n(&found.entry->handle, 0, __ATOMIC_RELEASE);
    settle(found.entry);
    release(ended);
}

void release(const Request& content) {
    if (content.kind == kCollectiveRequest) {
        release_board(content.board);
    } else if (content.kind != kSendRequest) {
        release_ranks(content.ranks);
    }
}

void set_active(const FoundRequest& found, bool active) { found.entry->active = active; }

void set_message(const FoundRequest& found, ChannelEntry* entry, uint32_t number) {
    if (found.entry->kind == kSendRequest) found.entry->entry = entry;
    found.entry->number = number;
}

DWELL_CALL_DATA std::atomic<uint32_t> g_complete_receives;

DWELL_COLD bool take_complete_receive() {
    uint32_t left = g_complete_receives.load();
    while (left != 0 && !g_complete_receives.compare_exchange_weak(left, left - 1)) {
    }
    return left != 0;
}

void forget_request(uintptr_t handle) {
    if (handle == reinterpret_cast<uintptr_t>(g_mpi.request_empty)) {
        take_complete_receive();
        return;
    }
    if (g_process.preserve_order) forget_held(handle);
    const FoundRequest found = find_request(handle);
    if (found.entry != nullptr) drop_request(found);
}

}  // namespace dwell
