// Boards: where the members of a communicator (or window) on one node write when they entered its
// collectives, and read it of each other (DESIGN 4, collective rule).
//
// A board has a slot for each member on the node and each of the last kGenerations collectives. A
// member takes its place the first time that it enters a collective there, so nobody needs to know
// beforehand who is on the node, and observed. Collectives are numbered by each member for itself:
// all members make them in the same order.
//
// Boards are found by the id of the communicator (comm_definitions.h), in an area of the exchange
// that one lock guards: it is held while a board is looked for or given back, for some dozen
// instructions. A board is given back by the last member that leaves, and only members look at it,
// so none reads one that has become another's.
#ifndef DWELL_RUNTIME_EXCHANGE_COLLECTIVE_TABLE_H_
#define DWELL_RUNTIME_EXCHANGE_COLLECTIVE_TABLE_H_

#include "runtime/exchange/exchange.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/mpi/few_ranks.h"

namespace dwell {

constexpr uint32_t kGenerations = 8;
// Of windows: when a member exposed its memory last, when it ended its last access, and when it
// gave back its last locks.
constexpr uint32_t kReleases = 4;
enum TableRow : uint32_t {
    kPostRow = kGenerations,
    kCompleteRow,
    kReleaseRow,
    kTableRows = kReleaseRow + kReleases
};

struct alignas(64) InstanceSlot {
    EnterStamp stamp;
    uint32_t begun;   // written before `said`,
    uint32_t number;  // and after it: of the collective, from 1
    uint32_t call;    // MpiCall: members that are not in step are noticed
};
static_assert(sizeof(InstanceSlot) == 64);

struct TableMember {
    uint32_t place;  // rank in its group, times 2, and which group (CommDefinition::side)
    uint32_t peer;   // rank in MPI_COMM_WORLD
};

// In the exchange: the head, then places for members, then rows of slots.
struct alignas(64) SharedTable {
    uint64_t id;
    uint32_t users;  // processes; 0: free
    uint32_t next;   // page of another one, with the same hash or also free
    uint32_t capacity;
    uint32_t size_class;
    uint32_t members;  // that have a place, perhaps more than `users`
};

// This process's side of a board. Never given back to the system.
struct CollectiveTable {
    SharedTable* shared;
    TableMember* places;
    InstanceSlot* slots;  // of row 0
    uint32_t page;
    uint32_t own;      // place
    uint32_t users;    // the communicator, requests
    uint32_t members;  // of the communicator, wherever they are;
    uint32_t others;   // of these in the other group of an inter-communicator
    uint8_t side;
    bool inter;
    bool is_world;
    int32_t rank;
    FewRanks sources;  // of a topology
    FewRanks targets;  // of a topology, or of MPI_Win_start
    FewRanks origins;  // of MPI_Win_post
    FewRanks locked;   // targets that this process has locked exclusively
    uint32_t releases;
    CollectiveTable* next;  // of the free ones
};

// The board of what has this name, where the calling process has a place now; null when there is
// none. Slow the first time.
DWELL_COLD CollectiveTable* join_table(Thread* thread, CommDefinition* name);
extern CollectiveTable g_no_table __attribute__((visibility("hidden")));
inline CollectiveTable* table_of(Thread* thread, CommDefinition* name) {
    CollectiveTable* table = __atomic_load_n(&name->table, __ATOMIC_ACQUIRE);
    if (table == nullptr) [[unlikely]]
        return join_table(thread, name);
    return table != &g_no_table ? table : nullptr;
}

// For a request, which may outlive the communicator; and its end, or the communicator's.
void hold_table(CollectiveTable* table);
void release_table(CollectiveTable* table);

// A member's slots lie side by side, those of successive collectives not in the same pair of cache
// lines: processors fetch pairs, and one of them would take the other away from its writer.
inline InstanceSlot* slot_at(const CollectiveTable* table, uint32_t row, uint32_t place) {
    constexpr uint32_t kHalf = kGenerations / 2;
    const uint32_t column = row < kGenerations ? row % kHalf * 2 + row / kHalf : row;
    return table->slots + (place * kTableRows + column);
}

// The caller says when it entered.
void write_slot(InstanceSlot* slot, uint32_t number, uint32_t call, const EnterStamp& stamp);

// What a member said about a collective.
enum class SlotState : uint8_t { kNothingYet, kThis, kLater };
SlotState read_slot(const InstanceSlot* slot, uint32_t number, uint32_t call, EnterStamp* stamp);

// A lock given back: of one target, or of all that a shared lock was held of.
constexpr int32_t kAllTargets = -1;
struct Release {
    EnterStamp stamp;
    int32_t target;
    bool exclusive;
};
// The caller's next one.
void write_release(CollectiveTable* table, const Release& release);
// One of the last of a member; false: there is none, or it is being written over.
bool read_release(const CollectiveTable* table, uint32_t place, uint32_t which, Release* release);

// Places that are taken.
inline uint32_t places_of(const CollectiveTable* table) {
    return __atomic_load_n(&table->shared->members, __ATOMIC_ACQUIRE);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_COLLECTIVE_TABLE_H_
