#include "runtime/exchange/boards.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "runtime/process/free_list.h"
#include "runtime/process/shared_words.h"

namespace dwell {

Board g_no_board;

namespace {

constexpr uint64_t kAreaKey = 0x626f617264730000;  // in the exchange
constexpr uint32_t kAreaPages = 5;
constexpr uint32_t kAreaBuckets = 4096;
constexpr uint32_t kSizeClasses = 16;  // boards of 1, 2, 4 ... pages
constexpr uint32_t kMostPages = 1u << 14;
constexpr int kMaxTries = 1 << 16;

// In the exchange. Boards are named by their first page; 0: none.
struct BoardArea {
    uint32_t lock;
    uint32_t pages;  // of all boards
    uint32_t free_boards[kSizeClasses];
    uint32_t buckets[kAreaBuckets];
};
static_assert(sizeof(BoardArea) <= kAreaPages * kExchangePage);

// The following with SlowLock held.
BoardArea* g_area = nullptr;
bool g_area_failed = false;
Board* g_free_boards = nullptr;

SharedBoard* shared_at(uint32_t page) { return static_cast<SharedBoard*>(page_at(page)); }

bool find_area() {
    if (g_area != nullptr) return true;
    if (!g_area_failed) g_area = static_cast<BoardArea*>(find_or_make_pages(kAreaKey, kAreaPages));
    g_area_failed = g_area == nullptr;
    return !g_area_failed;
}

// A process that dies with the lock makes the others go on without boards.
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

constexpr size_t kBytesOfMember = sizeof(BoardMember) + kBoardRows * sizeof(BoardSlot);

// The members' places fill whole cache lines, so that slots begin on one.
size_t bytes_of_places(uint32_t capacity) {
    return (capacity * sizeof(BoardMember) + sizeof(BoardSlot) - 1) / sizeof(BoardSlot) *
           sizeof(BoardSlot);
}

uint32_t capacity_of_class(uint32_t size_class) {
    const size_t bytes = (kExchangePage << size_class) - sizeof(SharedBoard) - sizeof(BoardSlot);
    return static_cast<uint32_t>(bytes / kBytesOfMember);
}

uint32_t* bucket_of(uint64_t id) { return &g_area->buckets[id >> 32 & (kAreaBuckets - 1)]; }

uint32_t take_free_board(uint32_t size_class) {
    uint32_t* first = &g_area->free_boards[size_class];
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

uint32_t find_board(uint64_t id) {
    uint32_t page = *bucket_of(id);
    while (page != 0 && shared_at(page)->id != id) page = shared_at(page)->next;
    return page;
}

uint32_t make_board(uint64_t id, uint32_t most_members) {
    uint32_t size_class = 0;
    while (capacity_of_class(size_class) < most_members) {
        if (++size_class == kSizeClasses) return 0;
    }
    const uint32_t page = take_free_board(size_class);
    if (page == 0) return 0;
    uint32_t* bucket = bucket_of(id);
    *shared_at(page) = SharedBoard{id, 0, *bucket, capacity_of_class(size_class), size_class, 0};
    *bucket = page;
    return page;
}

void give_back(uint32_t page) {
    SharedBoard* board = shared_at(page);
    uint32_t* at = bucket_of(board->id);
    while (*at != 0 && *at != page) at = &shared_at(*at)->next;
    if (*at == 0) return;
    *at = board->next;
    uint32_t* first = &g_area->free_boards[board->size_class];
    board->next = *first;
    *first = page;
}

void describe(Board* board, uint32_t page, const CommName& name) {
    SharedBoard* shared = shared_at(page);
    board->shared = shared;
    board->places = reinterpret_cast<BoardMember*>(shared + 1);
    board->slots = reinterpret_cast<BoardSlot*>(reinterpret_cast<char*>(shared + 1) +
                                                bytes_of_places(shared->capacity));
    board->page = page;
    board->members = name.members;
    board->others = name.inter ? static_cast<uint32_t>(name.size) : 0;
    board->side = name.side;
    board->inter = name.inter;
    board->is_world = name.is_world;
    board->rank = name.rank;
    board->sources.known = board->targets.known = board->origins.known = false;
    board->locked.count = board->releases = 0;
}

// With the area locked.
bool take_place(Board* board) {
    SharedBoard* shared = board->shared;
    const uint32_t place = shared->members;
    if (place == shared->capacity) return false;
    board->own = place;
    board->places[place] = {static_cast<uint32_t>(board->rank) << 1 | board->side, own_rank()};
    for (uint32_t row = 0; row < kBoardRows; ++row) {
        memset(static_cast<void*>(slot_at(board, row, place)), 0, sizeof(BoardSlot));
    }
    shared->users += 1;
    __atomic_store_n(&shared->members, place + 1, __ATOMIC_RELEASE);
    return true;
}

// With SlowLock held.
Board* join(const CommName& name) {
    if (name.members < 2 || !find_area()) return nullptr;
    Board* board = take_from(&g_free_boards);
    if (board == nullptr) return nullptr;
    {
        const AreaLock lock;
        if (lock.held()) {
            const uint32_t here = neighbours_of_node();
            uint32_t page = find_board(name.id);
            if (page == 0) page = make_board(name.id, here < name.members ? here : name.members);
            if (page != 0) {
                describe(board, page, name);
                board->users = 1;
                if (take_place(board)) return board;
            }
        }
    }
    give_back_to(&g_free_boards, board);
    return nullptr;
}

}  // namespace

Board* join_board(Thread* thread, CommName* name) {
    const uint64_t start = now_ticks();
    const int saved_errno = errno;
    {
        const SlowLock lock;
        if (name->board == nullptr) {
            Board* joined = join(*name);
            __atomic_store_n(&name->board, joined != nullptr ? joined : &g_no_board,
                             __ATOMIC_RELEASE);
        }
    }
    errno = saved_errno;
    thread->slow_ticks += now_ticks() - start;
    return name->board != &g_no_board ? name->board : nullptr;
}

void hold_board(Board* board) { __atomic_fetch_add(&board->users, 1, __ATOMIC_RELAXED); }

void release_board(Board* board) {
    if (board == nullptr || board == &g_no_board) return;
    if (__atomic_sub_fetch(&board->users, 1, __ATOMIC_ACQ_REL) != 0) return;
    const SlowLock slow_lock;
    {
        const AreaLock lock;
        if (lock.held() && --board->shared->users == 0) give_back(board->page);
    }
    give_back_to(&g_free_boards, board);
}

void write_slot(BoardSlot* slot, uint32_t number, uint32_t call, const Moment& said) {
    __atomic_store_n(&slot->begun, number, __ATOMIC_RELAXED);
    write_words(&slot->said, said);
    __atomic_store_n(&slot->call, call, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
}

void write_release(Board* board, const Release& release) {
    const uint32_t number = __atomic_add_fetch(&board->releases, 1, __ATOMIC_RELAXED);
    const auto what = static_cast<uint32_t>(release.target) << 1 | (release.exclusive ? 1 : 0);
    write_slot(slot_at(board, kReleaseRow + number % kReleases, board->own),
               number != 0 ? number : 1, what, release.said);
}

bool read_release(const Board* board, uint32_t place, uint32_t which, Release* release) {
    const BoardSlot* slot = slot_at(board, kReleaseRow + which, place);
    const uint32_t number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
    if (number == 0) return false;
    read_words(&slot->said, &release->said);
    const uint32_t what = __atomic_load_n(&slot->call, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->begun, __ATOMIC_RELAXED) != number) return false;
    release->target = static_cast<int32_t>(what) >> 1;
    release->exclusive = (what & 1) != 0;
    return true;
}

Said read_slot(const BoardSlot* slot, uint32_t number, uint32_t call, Moment* said) {
    const uint32_t found = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
    if (found != number) {
        return static_cast<int32_t>(found - number) > 0 ? Said::kLater : Said::kNothingYet;
    }
    read_words(&slot->said, said);
    const uint32_t said_call = __atomic_load_n(&slot->call, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->begun, __ATOMIC_RELAXED) != number) return Said::kLater;
    return said_call == call ? Said::kThis : Said::kNothingYet;
}

}  // namespace dwell
