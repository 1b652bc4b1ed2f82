// Collective tables: their area in the exchange, how processes join and leave one, and the stamps
// in their slots.
#include "runtime/exchange/collective_table.h"

#include <sched.h>
#include <string.h>

#include "runtime/process/free_list.h"
#include "runtime/process/shared_words.h"

namespace dwell {

CollectiveTable g_no_table;

namespace {

constexpr uint64_t kAreaKey = 0x626f617264730000;  // in the exchange
constexpr uint32_t kAreaPages = 5;
constexpr uint32_t kAreaBuckets = 4096;
constexpr uint32_t kSizeClasses = 16;  // tables of 1, 2, 4 ... pages
constexpr uint32_t kMostPages = 1u << 14;
constexpr int kMaxTries = 1 << 16;

// In the exchange. A table is named by its first page; 0: none.
struct TableArea {
    uint32_t lock;
    uint32_t pages;  // of all tables
    uint32_t free_tables[kSizeClasses];
    uint32_t buckets[kAreaBuckets];
};
static_assert(sizeof(TableArea) <= kAreaPages * kExchangePage);

// The following variables need StateLock.
TableArea* g_area = nullptr;
bool g_area_failed = false;
CollectiveTable* g_free_tables = nullptr;

SharedTable* shared_at(uint32_t page) { return static_cast<SharedTable*>(page_at(page)); }

bool find_area() {
    if (g_area != nullptr) return true;
    if (!g_area_failed) g_area = static_cast<TableArea*>(find_or_make_pages(kAreaKey, kAreaPages));
    g_area_failed = g_area == nullptr;
    return !g_area_failed;
}

// If a process dies with the lock, the others go on without tables.
class AreaLock {
  public:
    AreaLock() {
        for (int i = 0; i < kMaxTries && !g_area_failed; ++i) {
            if (__atomic_exchange_n(&g_area->lock, 1, __ATOMIC_ACQUIRE) == 0) {
                held_ = true;
                return;
            }
            sched_yield();
        }
        g_area_failed = true;
    }
    ~AreaLock() {
        if (held_) __atomic_store_n(&g_area->lock, 0, __ATOMIC_RELEASE);
    }
    AreaLock(const AreaLock&) = delete;
    AreaLock& operator=(const AreaLock&) = delete;
    bool held() const { return held_; }

  private:
    bool held_ = false;
};

constexpr size_t kBytesOfMember = sizeof(TableMember) + kTableRows * sizeof(InstanceSlot);

// The places fill whole cache lines, so that slots are aligned.
size_t bytes_of_places(uint32_t capacity) {
    return (capacity * sizeof(TableMember) + sizeof(InstanceSlot) - 1) / sizeof(InstanceSlot) *
           sizeof(InstanceSlot);
}

uint32_t capacity_of_class(uint32_t size_class) {
    const size_t bytes = (kExchangePage << size_class) - sizeof(SharedTable) - sizeof(InstanceSlot);
    return static_cast<uint32_t>(bytes / kBytesOfMember);
}

uint32_t* bucket_of(uint64_t id) { return &g_area->buckets[id >> 32 & (kAreaBuckets - 1)]; }

uint32_t take_free_table(uint32_t size_class) {
    uint32_t* first = &g_area->free_tables[size_class];
    if (*first != 0) {
        const uint32_t page = *first;
        *first = shared_at(page)->next;
        return page;
    }
    const uint32_t pages = 1u << size_class;
    if (g_area->pages + pages > kMostPages) return 0;
    const uint32_t page = take_pages(pages);
    if (page != 0) g_area->pages += pages;
    return page;
}

uint32_t find_table(uint64_t id) {
    uint32_t page = *bucket_of(id);
    while (page != 0 && shared_at(page)->id != id) page = shared_at(page)->next;
    return page;
}

uint32_t make_table(uint64_t id, uint32_t most_members) {
    uint32_t size_class = 0;
    while (capacity_of_class(size_class) < most_members) {
        if (++size_class == kSizeClasses) return 0;
    }
    const uint32_t page = take_free_table(size_class);
    if (page == 0) return 0;
    uint32_t* bucket = bucket_of(id);
    *shared_at(page) = SharedTable{id, 0, *bucket, capacity_of_class(size_class), size_class, 0};
    *bucket = page;
    return page;
}

void give_back(uint32_t page) {
    SharedTable* table = shared_at(page);
    uint32_t* at = bucket_of(table->id);
    while (*at != 0 && *at != page) at = &shared_at(*at)->next;
    if (*at == 0) return;
    *at = table->next;
    uint32_t* first = &g_area->free_tables[table->size_class];
    table->next = *first;
    *first = page;
}

void set_page(CollectiveTable* table, uint32_t page) {
    SharedTable* shared = shared_at(page);
    table->shared = shared;
    table->places = reinterpret_cast<TableMember*>(shared + 1);
    table->slots = reinterpret_cast<InstanceSlot*>(reinterpret_cast<char*>(shared + 1) +
                                                   bytes_of_places(shared->capacity));
    table->page = page;
}

// With the area locked.
bool take_place(CollectiveTable* table) {
    SharedTable* shared = table->shared;
    const uint32_t place = shared->members;
    if (place == shared->capacity) return false;
    table->own = place;
    table->places[place] = {static_cast<uint32_t>(table->rank) << 1 | table->side, own_rank()};
    for (uint32_t row = 0; row < kTableRows; ++row) {
        memset(static_cast<void*>(slot_at(table, row, place)), 0, sizeof(InstanceSlot));
    }
    shared->users += 1;
    __atomic_store_n(&shared->members, place + 1, __ATOMIC_RELEASE);
    return true;
}

// With StateLock held.
CollectiveTable* join(const CommDefinition& definition) {
    if (definition.members < 2 || !find_area()) return nullptr;
    CollectiveTable* table = take_from(&g_free_tables);
    if (table == nullptr) return nullptr;
    {
        const AreaLock lock;
        if (lock.held()) {
            const uint32_t here = local_ranks();
            uint32_t page = find_table(definition.id);
            if (page == 0)
                page = make_table(definition.id,
                                  here < definition.members ? here : definition.members);
            if (page != 0) {
                set_page(table, page);
                set_members(table, definition);
                table->users = 1;
                if (take_place(table)) return table;
            }
        }
    }
    give_back_to(&g_free_tables, table);
    return nullptr;
}

}  // namespace

void set_members(CollectiveTable* table, const CommDefinition& definition) {
    table->members = definition.members;
    table->others = definition.inter ? static_cast<uint32_t>(definition.size) : 0;
    table->side = definition.side;
    table->inter = definition.inter;
    table->is_world = definition.is_world;
    table->rank = definition.rank;
    table->sources.known = table->targets.known = table->origins.known = false;
    table->locked.count = table->releases = 0;
}

CollectiveTable* join_table(Thread* thread, CommDefinition* definition) {
    const ToolWork work(thread);
    const StateLock lock;
    if (definition->table == nullptr) {
        CollectiveTable* joined = join(*definition);
        __atomic_store_n(&definition->table, joined != nullptr ? joined : &g_no_table,
                         __ATOMIC_RELEASE);
    }
    return definition->table != &g_no_table ? definition->table : nullptr;
}

void hold_table(CollectiveTable* table) { __atomic_fetch_add(&table->users, 1, __ATOMIC_RELAXED); }

void release_table(CollectiveTable* table) {
    if (table == nullptr || table == &g_no_table) return;
    if (__atomic_sub_fetch(&table->users, 1, __ATOMIC_ACQ_REL) != 0) return;
    const StateLock slow_lock;
    {
        const AreaLock lock;
        if (lock.held() && --table->shared->users == 0) give_back(table->page);
    }
    give_back_to(&g_free_tables, table);
}

void write_slot(InstanceSlot* slot, uint32_t number, uint32_t call, const EnterStamp& stamp) {
    __atomic_store_n(&slot->begun, number, __ATOMIC_RELAXED);
    write_words(&slot->stamp, stamp);
    __atomic_store_n(&slot->call, call, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
}

void write_release(CollectiveTable* table, const Release& release) {
    const uint32_t number = __atomic_add_fetch(&table->releases, 1, __ATOMIC_RELAXED);
    const auto what = static_cast<uint32_t>(release.target) << 1 | (release.exclusive ? 1 : 0);
    write_slot(slot_at(table, kReleaseRow + number % kReleases, table->own),
               number != 0 ? number : 1, what, release.stamp);
}

bool read_release(const CollectiveTable* table, uint32_t place, uint32_t which, Release* release) {
    const InstanceSlot* slot = slot_at(table, kReleaseRow + which, place);
    const uint32_t number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
    if (number == 0) return false;
    read_words(&slot->stamp, &release->stamp);
    const uint32_t what = __atomic_load_n(&slot->call, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->begun, __ATOMIC_RELAXED) != number) return false;
    release->target = static_cast<int32_t>(what) >> 1;
    release->exclusive = (what & 1) != 0;
    return true;
}

SlotState read_slot(const InstanceSlot* slot, uint32_t number, uint32_t call, EnterStamp* stamp) {
    const uint32_t found = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
    if (found != number) {
        return static_cast<int32_t>(found - number) > 0 ? SlotState::kLater
                                                        : SlotState::kNothingYet;
    }
    read_words(&slot->stamp, stamp);
    const uint32_t found_call = __atomic_load_n(&slot->call, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->begun, __ATOMIC_RELAXED) != number) return SlotState::kLater;
    return found_call == call ? SlotState::kThis : SlotState::kNothingYet;
}

}  // namespace dwell
