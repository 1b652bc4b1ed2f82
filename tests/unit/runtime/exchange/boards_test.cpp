// Boards (runtime/exchange/boards.h): members of one process stand for processes, and real ones for
// races.
#include "runtime/exchange/boards.h"

#include <sched.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "tests/unit/support/recording.h"

namespace dwell {

class Boards : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        strcpy(g_process.record_dir, directory_.c_str());
        for (int rank = 1; rank < kRanks; ++rank) make_file("rank." + std::to_string(rank));
        // One exchange for all tests of the process.
        static bool opened = open_exchange(kRanks);
        if (!opened) GTEST_SKIP() << "no invariant TSC";
        unlink_exchange();
    }
    void TearDown() override {
        for (int rank = 1; rank < kRanks; ++rank) {
            unlink((directory_ + "/rank." + std::to_string(rank)).c_str());
        }
        Records::TearDown();
    }
    void make_file(const std::string& name) {
        FILE* file = fopen((directory_ + "/" + name).c_str(), "w");
        ASSERT_NE(file, nullptr);
        fclose(file);
    }

    static CommName member(uint64_t id, int rank) {
        CommName name{};
        name.id = id;
        name.size = kRanks;
        name.members = kRanks;
        name.rank = rank;
        return name;
    }
    static Board* join(CommName* name) {
        g_process.header->rank = 10 + name->rank;
        return board_of(t_thread, name);
    }
    static Moment moment(uint64_t real) {
        return {{real, real - 1},
                static_cast<uint32_t>(real + 2),
                static_cast<uint32_t>(real + 3),
                static_cast<uint32_t>(real + 4),
                static_cast<uint16_t>(real + 5),
                static_cast<uint16_t>(real + 6)};
    }
    static bool is_moment(const Moment& said, uint64_t real) {
        return said.at.real == real && said.at.virt == real - 1 &&
               said.path == static_cast<uint32_t>(real + 2) &&
               said.cause_peer == static_cast<uint32_t>(real + 3) &&
               said.cause_path == static_cast<uint32_t>(real + 4) &&
               said.debt == static_cast<uint16_t>(real + 5) &&
               said.work == static_cast<uint16_t>(real + 6);
    }

    static constexpr int kRanks = 3;
    static constexpr uint32_t kCall = 7;
};

TEST_F(Boards, MembersMeetOnOneBoard) {
    CommName first = member(100, 0);
    CommName second = member(100, 2);
    CommName stranger = member(101, 1);
    Board* a = join(&first);
    Board* b = join(&second);
    Board* c = join(&stranger);
    ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr);
    EXPECT_EQ(a->shared, b->shared);
    EXPECT_NE(a->shared, c->shared);
    ASSERT_EQ(places_of(a), 2u);
    EXPECT_NE(a->own, b->own);
    EXPECT_EQ(a->places[b->own].place, 2u << 1);
    EXPECT_EQ(a->places[b->own].peer, 12u);
    EXPECT_EQ(board_of(t_thread, &first), a);
    for (Board* board : {a, b, c}) release_board(board);
}

TEST_F(Boards, SlotsTellOneCollective) {
    CommName name = member(110, 0);
    Board* board = join(&name);
    BoardSlot* slot = slot_at(board, 5 % kGenerations, board->own);
    Moment said;
    EXPECT_EQ(read_slot(slot, 5, kCall, &said), Said::kNothingYet);
    write_slot(slot, 5, kCall, moment(5000));
    ASSERT_EQ(read_slot(slot, 5, kCall, &said), Said::kThis);
    EXPECT_TRUE(is_moment(said, 5000));
    EXPECT_EQ(read_slot(slot, 5, kCall + 1, &said), Said::kNothingYet);
    write_slot(slot, 5 + kGenerations, kCall, moment(6000));
    EXPECT_EQ(read_slot(slot, 5, kCall, &said), Said::kLater);
    EXPECT_EQ(read_slot(slot, 5 + 2 * kGenerations, kCall, &said), Said::kNothingYet);
    // Numbers wrap around.
    write_slot(slot, 2, kCall, moment(7000));
    EXPECT_EQ(read_slot(slot, UINT32_MAX - 5, kCall, &said), Said::kLater);
    write_slot(slot, UINT32_MAX - 5, kCall, moment(8000));
    EXPECT_EQ(read_slot(slot, 2, kCall, &said), Said::kNothingYet);
    release_board(board);
}

TEST_F(Boards, SlotsOfAllRowsLieApart) {
    CommName name = member(115, 0);
    Board* board = join(&name);
    std::vector<const BoardSlot*> seen;
    for (uint32_t place = 0; place < board->shared->capacity; ++place) {
        for (uint32_t row = 0; row < kBoardRows; ++row) {
            const BoardSlot* slot = slot_at(board, row, place);
            EXPECT_GE(reinterpret_cast<const char*>(slot),
                      reinterpret_cast<const char*>(board->places + board->shared->capacity));
            EXPECT_LE(reinterpret_cast<const char*>(slot + 1),
                      reinterpret_cast<const char*>(board->shared) + kExchangePage);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(slot) % 64, 0u);
            EXPECT_EQ(std::count(seen.begin(), seen.end(), slot), 0);
            seen.push_back(slot);
        }
    }
    EXPECT_GE(board->shared->capacity, static_cast<uint32_t>(kRanks));
    release_board(board);
}

TEST_F(Boards, TheLastMemberGivesItBack) {
    CommName first = member(120, 0);
    CommName second = member(120, 1);
    Board* a = join(&first);
    Board* b = join(&second);
    const uint32_t page = a->page;
    write_slot(slot_at(a, 1, a->own), 1, kCall, moment(1000));
    release_board(a);
    // The one that stays still reads what the other one said.
    Moment said;
    EXPECT_EQ(read_slot(slot_at(b, 1, 0), 1, kCall, &said), Said::kThis);
    CommName other = member(121, 0);
    Board* c = join(&other);
    EXPECT_NE(c->page, page);
    release_board(b);
    CommName next = member(122, 0);
    Board* d = join(&next);
    ASSERT_EQ(d->page, page);
    EXPECT_EQ(places_of(d), 1u);
    EXPECT_EQ(read_slot(slot_at(d, 1, d->own), 1, kCall, &said), Said::kNothingYet);
    // One that comes when its board is gone gets another one.
    CommName late = member(120, 2);
    Board* e = join(&late);
    EXPECT_NE(e->page, page);
    EXPECT_EQ(places_of(e), 1u);
    for (Board* board : {c, d, e}) release_board(board);
}

TEST_F(Boards, RequestsKeepThem) {
    CommName name = member(130, 0);
    Board* board = join(&name);
    hold_board(board);
    release_board(board);
    CommName other = member(130, 1);
    Board* same = join(&other);
    EXPECT_EQ(same->shared, board->shared);
    release_board(same);
    release_board(board);
    CommName late = member(130, 2);
    Board* alone = join(&late);
    EXPECT_EQ(places_of(alone), 1u);
    release_board(alone);
}

TEST_F(Boards, MillionsComeAndGo) {
    CommName first = member(140, 0);
    Board* board = join(&first);
    const uint32_t page = board->page;
    release_board(board);
    for (uint64_t id = 1000; id < 101'000; ++id) {
        CommName name = member(id, 0);
        board = join(&name);
        ASSERT_NE(board, nullptr);
        ASSERT_EQ(board->page, page);
        release_board(board);
    }
}

TEST_F(Boards, NoPlaceLeft) {
    std::vector<CommName> names;
    for (int rank = 0; rank < 100; ++rank) names.push_back(member(150, rank));
    const uint32_t capacity = join(&names[0])->shared->capacity;
    for (uint32_t i = 1; i < capacity; ++i) EXPECT_NE(join(&names[i]), nullptr);
    EXPECT_EQ(join(&names[capacity]), nullptr);
    EXPECT_EQ(join(&names[capacity]), nullptr);
    for (uint32_t i = 0; i < capacity; ++i) release_board(names[i].board);
}

TEST_F(Boards, ReadersSeeWholeMoments) {
    CommName name = member(160, 0);
    Board* board = join(&name);
    BoardSlot* slot = slot_at(board, 0, board->own);
    std::atomic<uint32_t> last{0};
    std::atomic<uint32_t> whole{0};
    constexpr uint32_t kWrites = 1'000'000;
    std::thread writer([&] {
        for (uint32_t i = 1; i <= kWrites; ++i) {
            write_slot(slot, i, kCall, moment(i * 1000));
            last.store(i, std::memory_order_release);
            // Both must have been at it, however busy the machine is.
            const uint32_t before = whole.load();
            while (i % (kWrites / 8) == kWrites / 16 && whole.load() == before) sched_yield();
            for (uint32_t k = 0; k < i % 32; ++k) __builtin_ia32_pause();
        }
    });
    uint32_t torn = 0;
    while (last.load(std::memory_order_acquire) != kWrites) {
        const uint32_t number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
        Moment said;
        if (number == 0 || read_slot(slot, number, kCall, &said) != Said::kThis) continue;
        if (is_moment(said, number * 1000)) {
            whole += 1;
        } else {
            torn += 1;
        }
    }
    writer.join();
    EXPECT_EQ(torn, 0u);
    EXPECT_GE(whole, 8u);
    release_board(board);
}

// Processes that join, write, read and leave the same boards in the same order, each at its own
// pace: nobody ever reads anything that was written about another one.
TEST_F(Boards, ProcessesNeverReadAnothersBoard) {
    constexpr uint64_t kIds = 20'000;
    std::vector<pid_t> children;
    for (int rank = 0; rank < kRanks; ++rank) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child != 0) {
            children.push_back(child);
            continue;
        }
        uint32_t random = 12345 + static_cast<uint32_t>(rank);
        for (uint64_t id = 1'000'000; id < 1'000'000 + kIds; ++id) {
            CommName name = member(id, rank);
            const Board* board = join(&name);
            if (board == nullptr) _exit(2);
            write_slot(slot_at(board, 1, board->own), 1, kCall, moment(id));
            random = random * 1664525 + 1013904223;
            if (random >> 29 == 0) sched_yield();
            for (uint32_t place = 0; place < places_of(board); ++place) {
                Moment said;
                const Said found = read_slot(slot_at(board, 1, place), 1, kCall, &said);
                if (found == Said::kLater) _exit(3);
                if (found == Said::kThis && !is_moment(said, id)) _exit(4);
                if (place == board->own && found != Said::kThis) _exit(5);
            }
            release_board(name.board);
        }
        _exit(0);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
}

// Pairs of ranks that all talk to each other get pages up to a limit, and boards have room beyond
// it.
TEST_F(Boards, PagesOfPairsAreBounded) {
    const auto key = [](uint64_t number) { return (number + 1) * 0x9e3779b97f4a7c15ull; };
    constexpr uint64_t kMost = uint64_t{kRanks} * kPagesForRank;
    void* const first = find_or_make_pair(key(0));
    EXPECT_NE(first, nullptr);
    for (uint64_t pair = 1; pair < kMost; ++pair) EXPECT_NE(find_or_make_pair(key(pair)), nullptr);
    for (uint64_t pair = kMost; pair < 10 * kMost; ++pair) {
        EXPECT_EQ(find_or_make_pair(key(pair)), nullptr);
    }
    EXPECT_EQ(find_or_make_pair(key(0)), first);
    EXPECT_NE(find_or_make_pages(key(20 * kMost), 1), nullptr);
    CommName name = member(77, 0);
    EXPECT_NE(join(&name), nullptr);
}

}  // namespace dwell
