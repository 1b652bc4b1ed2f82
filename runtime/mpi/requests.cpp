// The request table: page tables by handle, and entries that threads change without locks.
#include "runtime/mpi/requests.h"

#include <sys/mman.h>

#include "runtime/mpi/ranks.h"

namespace dwell {

namespace {

// Page tables map handles to entries: every 64 bytes of address space, in which at most one MPI
// request begins, have one place. Requests that MPI allocates in sequence are adjacent here too,
// and nothing is searched.
constexpr int kPlaceShift = 6;
constexpr int kPageShift = 15;
constexpr int kPartShift = 31;
constexpr size_t kPlaces = size_t{1} << (kPageShift - kPlaceShift);
constexpr size_t kPages = size_t{1} << (kPartShift - kPageShift);
constexpr size_t kParts = size_t{1} << (47 - kPartShift);  // all addresses of a process
struct Page {
    Request* places[kPlaces];
};
struct Part {
    Page* pages[kPages];
};
Part* g_parts[kParts];

// Free entries. The head is an address with a change count above it, so that concurrent takers
// notice a reused address (ABA).
DWELL_CALL_DATA uint64_t g_free = 0;
constexpr int kTimesShift = 48;
Request* in_head(uint64_t head) {
    return reinterpret_cast<Request*>(head & ((uint64_t{1} << kTimesShift) - 1));
}
uint64_t next_head(uint64_t head, const Request* first) {
    const uint64_t times = (head >> kTimesShift) + 1;
    return times << kTimesShift | reinterpret_cast<uintptr_t>(first);
}

inline Request** place_of(uintptr_t handle) {
    const uintptr_t part_number = handle >> kPartShift;
    if (part_number >= kParts) [[unlikely]]
        return nullptr;
    Part* part = __atomic_load_n(&g_parts[part_number], __ATOMIC_ACQUIRE);
    if (part == nullptr) return nullptr;
    Page* page = __atomic_load_n(&part->pages[(handle >> kPageShift) % kPages], __ATOMIC_ACQUIRE);
    if (page == nullptr) return nullptr;
    return &page->places[(handle >> kPlaceShift) % kPlaces];
}

// Memory is taken in growing pieces, and its pages are populated here. With StateLock held.
constexpr size_t kLeastPiece = 16 * 1024;
constexpr size_t kMostPiece = 1024 * 1024;
char* g_piece = nullptr;
size_t g_piece_left = 0;
size_t g_all_pieces = 0;

void* map(size_t bytes, int flags) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

void* take_memory(size_t bytes) {
    if (bytes > g_piece_left) {
        size_t wanted = kLeastPiece;
        while (wanted < bytes || (wanted < kMostPiece && wanted < g_all_pieces)) wanted *= 2;
        void* memory = map(wanted, MAP_POPULATE);
        if (memory == nullptr) return nullptr;
        g_piece = static_cast<char*>(memory);
        g_piece_left = wanted;
        g_all_pieces += wanted;
    }
    void* taken = g_piece;
    g_piece += bytes;
    g_piece_left -= bytes;
    return taken;
}

DWELL_COLD Request** make_place(uintptr_t handle) {
    if (handle >> kPartShift >= kParts) return nullptr;
    const ToolWork growth(t_thread);
    const StateLock lock;
    Part** part = &g_parts[handle >> kPartShift];
    if (*part == nullptr) {
        void* memory = map(sizeof(Part), MAP_NORESERVE);
        if (memory == nullptr) return nullptr;
        __atomic_store_n(part, static_cast<Part*>(memory), __ATOMIC_RELEASE);
    }
    Page** page = &(*part)->pages[(handle >> kPageShift) % kPages];
    if (*page == nullptr) {
        void* memory = take_memory(sizeof(Page));
        if (memory == nullptr) return nullptr;
        __atomic_store_n(page, static_cast<Page*>(memory), __ATOMIC_RELEASE);
    }
    return place_of(handle);
}

// Only where several threads may be in MPI at a time. Otherwise nothing is locked: a locked
// instruction waits until all earlier stores, also MPI's, have reached the cache.
template <typename T>
bool exchange(T* place, T* expected, T desired) {
    return __atomic_compare_exchange_n(place, expected, desired, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

// Begins a change of an entry, if it still has this generation.
bool begin_change(Request* entry, uint32_t generation) {
    return (generation & 1) == 0 && exchange(&entry->generation, &generation, generation + 1);
}

void advance_generation(Request* entry) {
    __atomic_fetch_add(&entry->generation, 1, __ATOMIC_ACQ_REL);
}

Request* entry_at(Request** place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }

void give_back_shared(Request* entry) {
    uint64_t head = __atomic_load_n(&g_free, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&entry->next_free, in_head(head), __ATOMIC_RELAXED);
    } while (!exchange(&g_free, &head, next_head(head, entry)));
}

void give_back(Request* entry) {
    entry->next_free = in_head(g_free);
    g_free = reinterpret_cast<uintptr_t>(entry);
}

// Entries lie in the record file, where readers see them, unless it has no room or they would take
// too much of it.
constexpr size_t kFewEntries = 64;
constexpr size_t kManyEntries = 1024;
constexpr size_t kMostShown = 16 * kManyEntries;  // 1 MiB
std::atomic<size_t> g_entries{0};

RequestEntry* add_block(size_t entries) {
    if (t_thread == nullptr || g_entries.load() >= kMostShown) return nullptr;
    const CellIndex cell = take_cells(t_thread, static_cast<uint32_t>(1 + entries));
    if (cell == 0) return nullptr;
    auto* block = cell_at<RequestBlock>(cell);
    block->entries = static_cast<uint32_t>(entries);
    link_first(&g_process.header->first_requests, &block->next, cell);
    return cell_at<RequestEntry>(cell + 1);
}

RequestEntry* add_unseen(size_t entries) {
    const StateLock lock;
    void* memory = take_memory(entries * sizeof(RequestEntry));
    if (memory != nullptr && g_process.header != nullptr) {
        __atomic_fetch_add(&g_process.header->requests_unseen, static_cast<uint32_t>(entries),
                           __ATOMIC_RELAXED);
    }
    return static_cast<RequestEntry*>(memory);
}

DWELL_COLD bool make_entries() {
    const ToolWork growth(t_thread);
    const size_t count = g_entries.load() < kManyEntries ? kFewEntries : kManyEntries;
    RequestEntry* made = add_block(count);
    if (made == nullptr) made = add_unseen(count);
    if (made == nullptr) return false;
    g_entries += count;
    for (size_t i = count; i > 0; --i) give_back_shared(&made[i - 1]);  // the first is taken first
    return true;
}

// A free entry; null when there is no memory.
Request* take_entry() {
    Request* entry = in_head(g_free);
    if (entry == nullptr) [[unlikely]] {
        if (!make_entries()) return nullptr;
        entry = in_head(g_free);
    }
    g_free = reinterpret_cast<uintptr_t>(entry->next_free);
    return entry;
}

Request* take_entry_shared() {
    uint64_t head = __atomic_load_n(&g_free, __ATOMIC_ACQUIRE);
    while (true) {
        Request* entry = in_head(head);
        if (entry == nullptr) {
            if (!make_entries()) return nullptr;
            head = __atomic_load_n(&g_free, __ATOMIC_ACQUIRE);
            continue;
        }
        const Request* next = __atomic_load_n(&entry->next_free, __ATOMIC_RELAXED);
        if (exchange(&g_free, &head, next_head(head, next))) return entry;
    }
}

// Copies all but handle and generation. A thread that takes a free entry concurrently may still
// read the first field as the link, and then finds the list head changed.
void copy_content(const Request& from, Request* to) {
    __atomic_store_n(&to->ranks, from.ranks, __ATOMIC_RELAXED);
    to->bytes = from.bytes;
    to->peer = from.peer;
    to->comm = from.comm;
    to->post_order = from.post_order;
    to->tag = from.tag;
    to->kind = from.kind;
    to->persistent = from.persistent;
    to->active = from.active;
    to->mode = from.mode;
}

void show(Request* entry, const ShownRequest& shown) {
    static_cast<RequestEntry*>(entry)->shown = shown;
}

DWELL_COLD bool add_shared(Request** place, uintptr_t handle, const Request& content,
                           const ShownRequest& shown) {
    while (true) {
        Request* entry = entry_at(place);
        if (entry == nullptr) {
            Request* made = take_entry_shared();
            if (made == nullptr) return false;
            advance_generation(made);  // begins the change
            __atomic_store_n(&made->handle, handle, __ATOMIC_RELAXED);
            copy_content(content, made);
            show(made, shown);
            advance_generation(made);
            if (exchange(place, &entry, made)) return true;
            __atomic_store_n(&made->handle, 0, __ATOMIC_RELAXED);  // another thread was faster
            give_back_shared(made);
            continue;
        }
        const uint32_t generation = __atomic_load_n(&entry->generation, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&entry->handle, __ATOMIC_ACQUIRE) != handle) {
            if (entry_at(place) != entry) continue;   // removed meanwhile
            if ((generation & 1) == 0) return false;  // two requests in one place
        }
        if (!begin_change(entry, generation)) continue;  // being removed right now
        release(*entry);
        copy_content(content, entry);
        show(entry, shown);
        advance_generation(entry);
        return true;
    }
}

DWELL_COLD void drop_shared(const FoundRequest& found) {
    Request* entry = found.entry;
    if (!begin_change(entry, found.copy.generation)) return;
    const Request ended = *entry;
    __atomic_store_n(found.place, nullptr, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->handle, 0, __ATOMIC_RELEASE);
    advance_generation(entry);
    give_back_shared(entry);
    release(ended);
}

}  // namespace

void find_request(uintptr_t handle, FoundRequest* found) {
    found->entry = nullptr;
    Request** place = place_of(handle);
    Request* entry = place != nullptr ? entry_at(place) : nullptr;
    if (entry == nullptr) return;
    // By MPI's rules one thread at a time works on a request, so an unchanging entry of the handle
    // stays the same during the copy, or is stale and about to be removed.
    const uint32_t generation = __atomic_load_n(&entry->generation, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&entry->handle, __ATOMIC_ACQUIRE) != handle) return;
    copy_content(*entry, &found->copy);
    if (g_process.concurrent) [[unlikely]] {
        if ((generation & 1) != 0) return;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&entry->generation, __ATOMIC_RELAXED) != generation) return;
    }
    found->copy.handle = handle;
    found->copy.generation = generation;
    found->place = place;
    found->entry = entry;
}

bool is_unchanged(const FoundRequest& found) {
    return __atomic_load_n(&found.entry->generation, __ATOMIC_ACQUIRE) == found.copy.generation &&
           found.entry->active == found.copy.active;
}

bool add_request(uintptr_t handle, const Request& content, const ShownRequest& shown) {
    Request** place = place_of(handle);
    if (place == nullptr) [[unlikely]]
        place = make_place(handle);
    if (place == nullptr) return false;
    if (g_process.concurrent) [[unlikely]]
        return add_shared(place, handle, content, shown);
    Request* entry = *place;
    if (entry == nullptr) [[likely]] {
        entry = take_entry();
        if (entry == nullptr) return false;
        *place = entry;
    } else if (entry->handle == handle) {
        release(*entry);
        __atomic_store_n(&entry->handle, 0, __ATOMIC_RELEASE);
    } else {
        return false;  // two requests in one place
    }
    copy_content(content, entry);
    show(entry, shown);
    entry->generation += 2;
    __atomic_store_n(&entry->handle, handle, __ATOMIC_RELEASE);
    return true;
}

void drop_request(const FoundRequest& found) {
    if (g_process.concurrent) [[unlikely]] {
        drop_shared(found);
        return;
    }
    Request* entry = found.entry;
    if (entry->generation != found.copy.generation) return;
    *found.place = nullptr;
    entry->handle = 0;
    entry->generation += 2;
    if (entry->kind != kSendRequest) release(*entry);
    give_back(entry);
}

void release(const Request& content) {
    if (content.kind == kCollectiveRequest) {
        if (g_release_collective != nullptr) g_release_collective(content);
    } else if (content.kind != kSendRequest) {
        release_ranks(content.ranks);
    }
}

void set_active(const FoundRequest& found, bool active) {
    found.entry->active = active;
    set_awaited(found, kNotAwaited);
}

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
    const FoundRequest found = find_request(handle);
    if (found.entry != nullptr) drop_request(found);
}

}  // namespace dwell
