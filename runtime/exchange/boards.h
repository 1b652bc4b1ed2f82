// Boards: where the members of a communicator (or window) on one node write when they entered its
// collectives, and read it of each other (DESIGN 4, collective rule).
//
// A board has a slot for each member on the node and each of the last kGenerations collectives. A
// member takes its place the first time that it enters a collective there, so nobody needs to know
// beforehand who is on the node, and observed. Collectives are numbered by each member for itself:
// all members make them in the same order.
//
// Boards are found by the id of the communicator (comm_names.h), in an area of the exchange that
// one lock guards: it is held while a board is looked for or given back, for some dozen
// instructions. A board is given back by the last member that leaves, and only members look at it,
// so none reads one that has become another's.
#ifndef DWELL_RUNTIME_EXCHANGE_BOARDS_H_
#define DWELL_RUNTIME_EXCHANGE_BOARDS_H_

#include "runtime/exchange/exchange.h"
#include "runtime/mpi/comm_names.h"
#include "runtime/mpi/few_ranks.h"

namespace dwell {

constexpr uint32_t kGenerations = 8;
// Of windows: when a member exposed its memory last, when it ended its last access, and when it
// gave back its last locks.
constexpr uint32_t kReleases = 4;
enum BoardRow : uint32_t {
    kPostRow = kGenerations,
    kCompleteRow,
    kReleaseRow,
    kBoardRows = kReleaseRow + kReleases
};

struct alignas(64) BoardSlot {
    Moment said;
    uint32_t begun;   // written before `said`,
    uint32_t number;  // and after it: of the collective, from 1
    uint32_t call;    // MpiCall: members that are not in step are noticed
};
static_assert(sizeof(BoardSlot) == 64);

struct BoardMember {
    uint32_t place;  // rank in its group, times 2, and which group (CommName::side)
    uint32_t peer;   // rank in MPI_COMM_WORLD
};

// In the exchange: the head, then places for members, then rows of slots.
struct alignas(64) SharedBoard {
    uint64_t id;
    uint32_t users;  // processes; 0: free
    uint32_t next;   // page of another one, with the same hash or also free
    uint32_t capacity;
    uint32_t size_class;
    uint32_t members;  // that have a place, perhaps more than `users`
};

// This process's side of a board. Never given back to the system.
struct Board {
    SharedBoard* shared;
    BoardMember* places;
    BoardSlot* slots;  // of row 0
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
    Board* next;  // of the free ones
};

// The board of what has this name, where the calling process has a place now; null when there is
// none. Slow the first time.
DWELL_COLD Board* join_board(Thread* thread, CommName* name);
extern Board g_no_board __attribute__((visibility("hidden")));
inline Board* board_of(Thread* thread, CommName* name) {
    Board* board = __atomic_load_n(&name->board, __ATOMIC_ACQUIRE);
    if (board == nullptr) [[unlikely]]
        return join_board(thread, name);
    return board != &g_no_board ? board : nullptr;
}

// For a request, which may outlive the communicator; and its end, or the communicator's.
void hold_board(Board* board);
void release_board(Board* board);

// A member's slots lie side by side, those of successive collectives not in the same pair of cache
// lines: processors fetch pairs, and one of them would take the other away from its writer.
inline BoardSlot* slot_at(const Board* board, uint32_t row, uint32_t place) {
    constexpr uint32_t kHalf = kGenerations / 2;
    const uint32_t column = row < kGenerations ? row % kHalf * 2 + row / kHalf : row;
    return board->slots + (place * kBoardRows + column);
}

// The caller says when it entered.
void write_slot(BoardSlot* slot, uint32_t number, uint32_t call, const Moment& said);

// What a member said about a collective.
enum class Said : uint8_t { kNothingYet, kThis, kLater };
Said read_slot(const BoardSlot* slot, uint32_t number, uint32_t call, Moment* said);

// A lock given back: of one target, or of all that a shared lock was held of.
constexpr int32_t kAllTargets = -1;
struct Release {
    Moment said;
    int32_t target;
    bool exclusive;
};
// The caller's next one.
void write_release(Board* board, const Release& release);
// One of the last of a member; false: there is none, or it is being written over.
bool read_release(const Board* board, uint32_t place, uint32_t which, Release* release);

// Places that are taken.
inline uint32_t places_of(const Board* board) {
    return __atomic_load_n(&board->shared->members, __ATOMIC_ACQUIRE);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_BOARDS_H_
