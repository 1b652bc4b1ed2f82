// Enter stamps of collective operations among the members of a communicator (or window) on one host
// (DESIGN 4, collective rule).
//
// A table has a slot for each member on the host and each of the last kGenerations collective
// instances. A member takes a place when it first enters a collective, so nobody needs to know the
// members of the host in advance. Each member numbers the instances itself: all members call
// collectives in the same order.
//
// Tables are found by the id of the communicator (comm_definitions.h) in an area of the exchange.
// One lock guards the area, for some dozen instructions. The last member that leaves gives the
// table back; only members read it, so none reads a table that was reused.
#ifndef DWELL_RUNTIME_EXCHANGE_COLLECTIVE_TABLE_H_
#define DWELL_RUNTIME_EXCHANGE_COLLECTIVE_TABLE_H_

#include "runtime/exchange/exchange.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/mpi/few_ranks.h"

namespace dwell {

constexpr uint32_t kGenerations = 8;
// For windows: the last exposure of a member, its last completed access, and its last released
// locks.
constexpr uint32_t kReleases = 4;
enum TableRow : uint32_t {
    kPostRow = kGenerations,
    kCompleteRow,
    kReleaseRow,
    kTableRows = kReleaseRow + kReleases
};

struct alignas(64) InstanceSlot {
    EnterStamp stamp;
    uint32_t begun;   // written before `stamp`
    uint32_t number;  // written after `stamp`: number of the instance, from 1
    uint32_t call;    // MpiCall, which shows members that are not in step
};
static_assert(sizeof(InstanceSlot) == 64);

struct TableMember {
    uint32_t place;  // rank in its group times 2, plus the group (CommDefinition::side)
    uint32_t peer;   // rank in MPI_COMM_WORLD
};

// In the exchange: this head, then the members' places, then their slots.
struct alignas(64) SharedTable {
    uint64_t id;
    uint32_t users;  // processes; 0: free
    uint32_t next;   // of the next table with the same hash, or the next free one
    uint32_t capacity;
    uint32_t size_class;
    uint32_t members;  // places taken, perhaps more than `users`
};

// This process's view of a table. Its memory is never given back to the system.
struct CollectiveTable {
    SharedTable* shared;
    TableMember* places;
    InstanceSlot* slots;  // of row 0
    uint32_t page;
    uint32_t own;      // index of the own place
    uint32_t users;    // the communicator and requests
    uint32_t members;  // of the communicator, on all hosts
    uint32_t others;   // of these, in the other group of an inter-communicator
    uint8_t side;
    bool inter;
    bool is_world;
    int32_t rank;
    FewRanks sources;  // of a topology
    FewRanks targets;  // of a topology, or of MPI_Win_start
    FewRanks origins;  // of MPI_Win_post
    FewRanks locked;   // targets that this process holds exclusive locks of
    uint32_t releases;
    CollectiveTable* next;  // of the free ones
};

// What the table holds of the communicator or window itself, as when it was made.
void set_members(CollectiveTable* table, const CommDefinition& definition);

// The table of the communicator or window, in which the calling process then has a place; null when
// there is none. Slow the first time.
DWELL_COLD CollectiveTable* join_table(Thread* thread, CommDefinition* definition);
extern CollectiveTable g_no_table __attribute__((visibility("hidden")));
inline CollectiveTable* table_of(Thread* thread, CommDefinition* definition) {
    CollectiveTable* table = __atomic_load_n(&definition->table, __ATOMIC_ACQUIRE);
    if (table == nullptr) [[unlikely]]
        return join_table(thread, definition);
    return table != &g_no_table ? table : nullptr;
}

// For a request, which may outlive the communicator. release_table() ends a request's or the
// communicator's use.
void hold_table(CollectiveTable* table);
void release_table(CollectiveTable* table);

// A member's slots are adjacent, but successive instances never share a pair of cache lines:
// processors prefetch pairs, and a reader would take the second line from its writer.
inline InstanceSlot* slot_at(const CollectiveTable* table, uint32_t row, uint32_t place) {
    constexpr uint32_t kHalf = kGenerations / 2;
    const uint32_t column = row < kGenerations ? row % kHalf * 2 + row / kHalf : row;
    return table->slots + (place * kTableRows + column);
}

// Publishes the caller's enter stamp.
void write_slot(InstanceSlot* slot, uint32_t number, uint32_t call, const EnterStamp& stamp);

// What a member's slot holds about an instance.
enum class SlotState : uint8_t { kNothingYet, kThis, kLater };
SlotState read_slot(const InstanceSlot* slot, uint32_t number, uint32_t call, EnterStamp* stamp);

// A released lock: of one target, or of all targets of a shared lock.
constexpr int32_t kAllTargets = -1;
struct Release {
    EnterStamp stamp;
    int32_t target;
    bool exclusive;
};
// Publishes the caller's next release.
void write_release(CollectiveTable* table, const Release& release);
// One of a member's last releases; false: there is none, or it is being overwritten.
bool read_release(const CollectiveTable* table, uint32_t place, uint32_t which, Release* release);

inline uint32_t places_of(const CollectiveTable* table) {
    return __atomic_load_n(&table->shared->members, __ATOMIC_ACQUIRE);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_COLLECTIVE_TABLE_H_
