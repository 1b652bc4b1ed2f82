// The shared file of a host: its directory of keys and the reservation of pages.
#include "runtime/exchange/exchange.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"
#include "runtime/contract/standard_files.h"
#include "runtime/process/own_file.h"
#include "runtime/process/state.h"

namespace dwell {

namespace {

constexpr uint32_t kMaxPages = 1u << 16;  // 256 MiB of addresses, mostly never reserved
constexpr uint32_t kSlotsForRank = 64;
constexpr int kMaxTries = 1 << 20;  // before giving up on another rank that makes the pages

struct Slot {
    uint64_t key;     // 0: free
    uint32_t page;    // 0: being made
    uint32_t failed;  // there was no room
};

// At the front of the file, followed by the slots.
struct Directory {
    uint32_t slots;      // a power of two
    uint32_t next_page;  // atomically taken
    uint32_t pairs;      // pairs that asked for a page
    uint32_t most_pairs;
};
constexpr size_t kDirectoryHead = 64;

// Unlinked once all have opened it, so a descriptor that the program closes cannot be reopened.
OwnFile g_file;
uint32_t g_local_ranks = 1;
char* g_memory = nullptr;
uint32_t g_open_pages = 0;  // pages of the file that are accessible here

Directory* directory() { return reinterpret_cast<Directory*>(g_memory); }
Slot* slots() { return reinterpret_cast<Slot*>(g_memory + kDirectoryHead); }

void path_of_exchange(char* path, size_t size) {
    snprintf(path, size, "%s/exchange", g_process.record_dir);
}

uint32_t slots_for(uint32_t local_ranks) {
    uint32_t slots = kExchangePage / sizeof(Slot);
    while (slots < local_ranks * kSlotsForRank && slots < kMaxPages) slots *= 2;
    return slots;
}

bool open_up_to(uint32_t page) {
    return mprotect(g_memory, size_t{page} * kExchangePage, PROT_READ | PROT_WRITE) == 0;
}

// Makes all pages accessible that any process has made so far; the file has no others (see
// open_cells()).
bool open_pages() {
    const uint32_t made = __atomic_load_n(&directory()->next_page, __ATOMIC_ACQUIRE);
    const uint32_t pages = made < kMaxPages ? made : kMaxPages;
    if (!open_up_to(pages)) return false;
    __atomic_store_n(&g_open_pages, pages, __ATOMIC_RELEASE);
    return true;
}

// The first process decides the size of the directory.
bool make_directory(uint32_t local_ranks) {
    if (!g_file.reserve(0, kDirectoryHead) || !open_up_to(1)) return false;
    Directory* head = directory();
    uint32_t count = 0;
    if (__atomic_compare_exchange_n(&head->slots, &count, slots_for(local_ranks), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        count = slots_for(local_ranks);
    }
    __atomic_store_n(&head->most_pairs, local_ranks * kPagesForRank, __ATOMIC_RELAXED);
    const size_t bytes = kDirectoryHead + count * sizeof(Slot);
    if (!g_file.reserve(0, bytes)) return false;
    uint32_t unset = 0;
    const auto first_page = static_cast<uint32_t>((bytes + kExchangePage - 1) / kExchangePage);
    __atomic_compare_exchange_n(&head->next_page, &unset, first_page, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    return true;
}

void* pages_of(Slot* slot) {
    for (int i = 0; i < kMaxTries; ++i) {
        const uint32_t page = __atomic_load_n(&slot->page, __ATOMIC_ACQUIRE);
        if (page != 0) return page_at(page);
        if (__atomic_load_n(&slot->failed, __ATOMIC_ACQUIRE) != 0) return nullptr;
        sched_yield();
    }
    return nullptr;
}

}  // namespace

bool open_exchange(uint32_t local_ranks) {
    if (local_ranks < 2 || !g_process.use_tsc) return false;
    char path[sizeof(g_process.record_dir) + 16];
    path_of_exchange(path, sizeof(path));
    const StandardFilesHeld held;
    const int file = raw_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return false;
    g_file.adopt(file);
    struct stat status;
    void* memory = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_uid == getuid()) {
        memory = mmap(nullptr, size_t{kMaxPages} * kExchangePage, PROT_NONE,
                      MAP_SHARED | MAP_NORESERVE, file, 0);
    }
    if (memory == MAP_FAILED) {
        g_file.close();
        return false;
    }
    g_memory = static_cast<char*>(memory);
    g_open_pages = 0;
    if (make_directory(local_ranks) && open_pages()) return true;
    munmap(memory, size_t{kMaxPages} * kExchangePage);
    g_memory = nullptr;
    g_file.close();
    return false;
}

uint32_t count_local_ranks() {
    DIR* directory = opendir(g_process.record_dir);
    if (directory == nullptr) return 1;
    uint32_t count = 0;
    while (const dirent* entry = readdir(directory)) {
        if (strncmp(entry->d_name, "rank.", 5) == 0) ++count;
    }
    closedir(directory);
    return count;
}

void unlink_exchange() {
    char path[sizeof(g_process.record_dir) + 16];
    path_of_exchange(path, sizeof(path));
    unlink(path);
    g_local_ranks = count_local_ranks();
}

uint32_t local_ranks() { return g_local_ranks; }

bool exchange_is_open() { return g_memory != nullptr; }

uint32_t take_pages(uint32_t pages) {
    const uint32_t first = __atomic_fetch_add(&directory()->next_page, pages, __ATOMIC_ACQ_REL);
    if (first > kMaxPages - pages) {
        __atomic_fetch_sub(&directory()->next_page, pages, __ATOMIC_ACQ_REL);
        return 0;
    }
    const size_t offset = size_t{first} * kExchangePage;
    return g_file.reserve(offset, size_t{pages} * kExchangePage) ? first : 0;
}

void* page_at(uint32_t page) {
    if (page >= __atomic_load_n(&g_open_pages, __ATOMIC_ACQUIRE)) open_pages();
    return g_memory + static_cast<size_t>(page) * kExchangePage;
}

namespace {

// For a new key, if `may_take()`, `take` returns the number of the first page.
template <typename MayTake, typename Take>
void* find_or_make(uint64_t key, MayTake may_take, Take take) {
    if (g_memory == nullptr || key == 0) return nullptr;
    const uint32_t mask = directory()->slots - 1;
    for (uint32_t i = 0; i <= mask; ++i) {
        Slot* slot = &slots()[(static_cast<uint32_t>(key >> 32) + i) & mask];
        uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
        if (found == 0 && !may_take()) return nullptr;
        if (found == 0 && __atomic_compare_exchange_n(&slot->key, &found, key, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            const int saved_errno = errno;
            const uint32_t page = take();
            errno = saved_errno;
            if (page == 0) {
                __atomic_store_n(&slot->failed, 1u, __ATOMIC_RELEASE);
                return nullptr;
            }
            __atomic_store_n(&slot->page, page, __ATOMIC_RELEASE);
            return pages_of(slot);
        }
        if (found == key) return pages_of(slot);
    }
    return nullptr;
}

// Once false, it is false for all: both ranks of a pair get the same answer even without a
// directory slot.
bool has_room_for_pair() {
    const Directory* head = directory();
    return __atomic_load_n(&head->pairs, __ATOMIC_ACQUIRE) < head->most_pairs;
}

uint32_t take_pair() {
    Directory* head = directory();
    const uint32_t before = __atomic_fetch_add(&head->pairs, 1, __ATOMIC_ACQ_REL);
    return before < head->most_pairs ? take_pages(1) : 0;
}

}  // namespace

void* find_or_make_pages(uint64_t key, uint32_t pages) {
    return find_or_make(
        key, [] { return true; }, [pages] { return take_pages(pages); });
}

void* find_or_make_pair(uint64_t key) { return find_or_make(key, has_room_for_pair, take_pair); }

bool is_same_host(uint32_t world_rank) {
    char path[sizeof(g_process.record_dir) + 24];
    snprintf(path, sizeof(path), "%s/rank.%u", g_process.record_dir, world_rank);
    const int saved_errno = errno;
    const bool found = access(path, F_OK) == 0;
    errno = saved_errno;
    return found;
}

}  // namespace dwell
