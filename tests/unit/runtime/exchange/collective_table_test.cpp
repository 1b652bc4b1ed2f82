// Tables of collective instances (runtime/exchange/collective_table.h): members within one process
// stand for processes; real processes test races.
#include "runtime/exchange/collective_table.h"

#include <sched.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "tests/unit/support/recording.h"

namespace dwell {

class CollectiveTables : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        strcpy(g_process.record_dir, directory_.c_str());
        for (int rank = 1; rank < kRanks; ++rank) make_file("rank." + std::to_string(rank));
        // All tests of the process share one exchange.
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

    static CommDefinition member(uint64_t id, int rank) {
        CommDefinition definition{};
        definition.id = id;
        definition.size = kRanks;
        definition.members = kRanks;
        definition.rank = rank;
        return definition;
    }
    static CollectiveTable* join(CommDefinition* definition) {
        g_process.header->rank = 10 + definition->rank;
        return table_of(t_thread, definition);
    }
    static EnterStamp make_stamp(uint64_t real) {
        return {{real, real - 1},
                static_cast<uint32_t>(real + 2),
                static_cast<uint32_t>(real + 3),
                static_cast<uint32_t>(real + 4),
                static_cast<uint16_t>(real + 5),
                static_cast<uint16_t>(real + 6)};
    }
    static bool is_stamp(const EnterStamp& stamp, uint64_t real) {
        return stamp.at.real == real && stamp.at.virt == real - 1 &&
               stamp.path == static_cast<uint32_t>(real + 2) &&
               stamp.root_cause_rank == static_cast<uint32_t>(real + 3) &&
               stamp.root_cause_path == static_cast<uint32_t>(real + 4) &&
               stamp.delay_cost == static_cast<uint16_t>(real + 5) &&
               stamp.work == static_cast<uint16_t>(real + 6);
    }

    static constexpr int kRanks = 3;
    static constexpr uint32_t kCall = 7;
};

TEST_F(CollectiveTables, MembersShareOneTable) {
    CommDefinition first = member(100, 0);
    CommDefinition second = member(100, 2);
    CommDefinition stranger = member(101, 1);
    CollectiveTable* a = join(&first);
    CollectiveTable* b = join(&second);
    CollectiveTable* c = join(&stranger);
    ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr);
    EXPECT_EQ(a->shared, b->shared);
    EXPECT_NE(a->shared, c->shared);
    ASSERT_EQ(places_of(a), 2u);
    EXPECT_NE(a->own, b->own);
    EXPECT_EQ(a->places[b->own].place, 2u << 1);
    EXPECT_EQ(a->places[b->own].peer, 12u);
    EXPECT_EQ(table_of(t_thread, &first), a);
    for (CollectiveTable* table : {a, b, c}) release_table(table);
}

TEST_F(CollectiveTables, SlotsHoldOneCollective) {
    CommDefinition definition = member(110, 0);
    CollectiveTable* table = join(&definition);
    InstanceSlot* slot = slot_at(table, 5 % kGenerations, table->own);
    EnterStamp stamp;
    EXPECT_EQ(read_slot(slot, 5, kCall, &stamp), SlotState::kNothingYet);
    write_slot(slot, 5, kCall, make_stamp(5000));
    ASSERT_EQ(read_slot(slot, 5, kCall, &stamp), SlotState::kThis);
    EXPECT_TRUE(is_stamp(stamp, 5000));
    EXPECT_EQ(read_slot(slot, 5, kCall + 1, &stamp), SlotState::kNothingYet);
    write_slot(slot, 5 + kGenerations, kCall, make_stamp(6000));
    EXPECT_EQ(read_slot(slot, 5, kCall, &stamp), SlotState::kLater);
    EXPECT_EQ(read_slot(slot, 5 + 2 * kGenerations, kCall, &stamp), SlotState::kNothingYet);
    // Numbers wrap around.
    write_slot(slot, 2, kCall, make_stamp(7000));
    EXPECT_EQ(read_slot(slot, UINT32_MAX - 5, kCall, &stamp), SlotState::kLater);
    write_slot(slot, UINT32_MAX - 5, kCall, make_stamp(8000));
    EXPECT_EQ(read_slot(slot, 2, kCall, &stamp), SlotState::kNothingYet);
    release_table(table);
}

TEST_F(CollectiveTables, SlotsOfAllRowsLieApart) {
    CommDefinition definition = member(115, 0);
    CollectiveTable* table = join(&definition);
    std::vector<const InstanceSlot*> seen;
    for (uint32_t place = 0; place < table->shared->capacity; ++place) {
        for (uint32_t row = 0; row < kTableRows; ++row) {
            const InstanceSlot* slot = slot_at(table, row, place);
            EXPECT_GE(reinterpret_cast<const char*>(slot),
                      reinterpret_cast<const char*>(table->places + table->shared->capacity));
            EXPECT_LE(reinterpret_cast<const char*>(slot + 1),
                      reinterpret_cast<const char*>(table->shared) + kExchangePage);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(slot) % 64, 0u);
            EXPECT_EQ(std::count(seen.begin(), seen.end(), slot), 0);
            seen.push_back(slot);
        }
    }
    EXPECT_GE(table->shared->capacity, static_cast<uint32_t>(kRanks));
    release_table(table);
}

TEST_F(CollectiveTables, TheLastMemberGivesItBack) {
    CommDefinition first = member(120, 0);
    CommDefinition second = member(120, 1);
    CollectiveTable* a = join(&first);
    CollectiveTable* b = join(&second);
    const uint32_t page = a->page;
    write_slot(slot_at(a, 1, a->own), 1, kCall, make_stamp(1000));
    release_table(a);
    // The remaining member still reads the other one's stamp.
    EnterStamp stamp;
    EXPECT_EQ(read_slot(slot_at(b, 1, 0), 1, kCall, &stamp), SlotState::kThis);
    CommDefinition other = member(121, 0);
    CollectiveTable* c = join(&other);
    EXPECT_NE(c->page, page);
    release_table(b);
    CommDefinition next = member(122, 0);
    CollectiveTable* d = join(&next);
    ASSERT_EQ(d->page, page);
    EXPECT_EQ(places_of(d), 1u);
    EXPECT_EQ(read_slot(slot_at(d, 1, d->own), 1, kCall, &stamp), SlotState::kNothingYet);
    // A member that comes after its table is gone gets another one.
    CommDefinition late = member(120, 2);
    CollectiveTable* e = join(&late);
    EXPECT_NE(e->page, page);
    EXPECT_EQ(places_of(e), 1u);
    for (CollectiveTable* table : {c, d, e}) release_table(table);
}

TEST_F(CollectiveTables, RequestsKeepThem) {
    CommDefinition definition = member(130, 0);
    CollectiveTable* table = join(&definition);
    hold_table(table);
    release_table(table);
    CommDefinition other = member(130, 1);
    CollectiveTable* same = join(&other);
    EXPECT_EQ(same->shared, table->shared);
    release_table(same);
    release_table(table);
    CommDefinition late = member(130, 2);
    CollectiveTable* alone = join(&late);
    EXPECT_EQ(places_of(alone), 1u);
    release_table(alone);
}

TEST_F(CollectiveTables, MillionsComeAndGo) {
    CommDefinition first = member(140, 0);
    CollectiveTable* table = join(&first);
    const uint32_t page = table->page;
    release_table(table);
    for (uint64_t id = 1000; id < 101'000; ++id) {
        CommDefinition definition = member(id, 0);
        table = join(&definition);
        ASSERT_NE(table, nullptr);
        ASSERT_EQ(table->page, page);
        release_table(table);
    }
}

TEST_F(CollectiveTables, NoPlaceLeft) {
    std::vector<CommDefinition> names;
    for (int rank = 0; rank < 100; ++rank) names.push_back(member(150, rank));
    const uint32_t capacity = join(&names[0])->shared->capacity;
    for (uint32_t i = 1; i < capacity; ++i) EXPECT_NE(join(&names[i]), nullptr);
    EXPECT_EQ(join(&names[capacity]), nullptr);
    EXPECT_EQ(join(&names[capacity]), nullptr);
    for (uint32_t i = 0; i < capacity; ++i) release_table(names[i].table);
}

TEST_F(CollectiveTables, ReadersSeeWholeStamps) {
    CommDefinition definition = member(160, 0);
    CollectiveTable* table = join(&definition);
    InstanceSlot* slot = slot_at(table, 0, table->own);
    std::atomic<uint32_t> last{0};
    std::atomic<uint32_t> whole{0};
    constexpr uint32_t kWrites = 1'000'000;
    std::thread writer([&] {
        for (uint32_t i = 1; i <= kWrites; ++i) {
            write_slot(slot, i, kCall, make_stamp(i * 1000));
            last.store(i, std::memory_order_release);
            // Both must have run, however busy the machine is.
            const uint32_t before = whole.load();
            while (i % (kWrites / 8) == kWrites / 16 && whole.load() == before) sched_yield();
            for (uint32_t k = 0; k < i % 32; ++k) __builtin_ia32_pause();
        }
    });
    uint32_t torn = 0;
    while (last.load(std::memory_order_acquire) != kWrites) {
        const uint32_t number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
        EnterStamp stamp;
        if (number == 0 || read_slot(slot, number, kCall, &stamp) != SlotState::kThis) continue;
        if (is_stamp(stamp, number * 1000)) {
            whole += 1;
        } else {
            torn += 1;
        }
    }
    writer.join();
    EXPECT_EQ(torn, 0u);
    EXPECT_GE(whole, 8u);
    release_table(table);
}

// Processes join, write, read and leave the same tables in the same order, each at its own pace:
// nobody reads a stamp of another table.
TEST_F(CollectiveTables, ProcessesNeverReadAnothersTable) {
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
            CommDefinition definition = member(id, rank);
            const CollectiveTable* table = join(&definition);
            if (table == nullptr) _exit(2);
            write_slot(slot_at(table, 1, table->own), 1, kCall, make_stamp(id));
            random = random * 1664525 + 1013904223;
            if (random >> 29 == 0) sched_yield();
            for (uint32_t place = 0; place < places_of(table); ++place) {
                EnterStamp stamp;
                const SlotState found = read_slot(slot_at(table, 1, place), 1, kCall, &stamp);
                if (found == SlotState::kLater) _exit(3);
                if (found == SlotState::kThis && !is_stamp(stamp, id)) _exit(4);
                if (place == table->own && found != SlotState::kThis) _exit(5);
            }
            release_table(definition.table);
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

// Pages for pairs of ranks are limited, and tables have room beyond that limit.
TEST_F(CollectiveTables, PagesOfPairsAreBounded) {
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
    CommDefinition definition = member(77, 0);
    EXPECT_NE(join(&definition), nullptr);
}

}  // namespace dwell
