// Recursive regions, and constructs without room for an entry: counts, and that no time is counted
// twice (DESIGN 3). Counts are arithmetic; times are compared with those measured around them.
#include "tests/unit/runtime/openmp/openmp_process.h"

namespace dwell {

namespace {

constexpr uint64_t kPiece = 1'000'000;  // ticks

class OmpRecursion : public OpenMp {
  protected:
    // A region of the calling thread alone.
    template <typename Work>
    static void serial(uint64_t address, Work work) {
        OmpTeam* const team = omp_fork(address, nullptr);
        omp_implicit_begin(team, 0, 1);
        work();
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, address, true);
        omp_barrier_end();
        omp_implicit_end();
        omp_join(team);
    }
    template <typename Work>
    static void within(OmpConstruct construct, uint64_t address, Work work) {
        omp_begin(construct, address);
        work();
        omp_end(construct);
    }
    static void deep(uint64_t address, int levels) {
        if (levels == 0) return;
        serial(address, [=] {
            spin(kPiece);
            deep(address, levels - 1);
        });
    }
};

TEST_F(OmpRecursion, RegionInItselfCollapsesAndIsTimedOnce) {
    constexpr uint64_t kLevels = 6;
    const uint64_t begin = now_ticks();
    deep(place(1), kLevels);
    const uint64_t passed = now_ticks() - begin;
    const Node* region = child(root(t_thread), OmpConstruct::kParallel, place(1));
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(region->count, kLevels);
    EXPECT_EQ(part(region).created, kLevels);
    EXPECT_EQ(part(region).untimed, kLevels - 1);
    EXPECT_EQ(child(region, OmpConstruct::kParallel, place(1)), nullptr);
    EXPECT_EQ(child(region, OmpConstruct::kImplicitBarrier, place(1))->count, kLevels);
    EXPECT_GE(region->ticks, kLevels * kPiece);
    EXPECT_LE(region->ticks, passed);
    EXPECT_EQ(region->min_ticks, region->ticks);
    EXPECT_EQ(region->max_ticks, region->ticks);
}

TEST_F(OmpRecursion, NodesBetweenAreNotTimedMeanwhile) {
    uint64_t outside = 0;
    const uint64_t begin = now_ticks();
    serial(place(2), [&] {
        omp_begin(OmpConstruct::kSections, place(3));
        serial(place(4), [&] {
            serial(place(2), [&] {
                const uint64_t since = now_ticks();
                spin(kPiece);
                outside += now_ticks() - since;
                omp_begin(OmpConstruct::kSections, place(3));
                omp_end(OmpConstruct::kSections);
            });
        });
        omp_end(OmpConstruct::kSections);
    });
    const uint64_t passed = now_ticks() - begin;
    const Node* region = child(root(t_thread), OmpConstruct::kParallel, place(2));
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(region->count, 2u);
    EXPECT_GE(region->ticks, kPiece);
    EXPECT_LE(region->ticks, passed);
    const Node* sections = child(region, OmpConstruct::kSections, place(3));
    ASSERT_NE(sections, nullptr);
    EXPECT_EQ(sections->count, 2u);
    EXPECT_EQ(part(sections).untimed, 0u);
    EXPECT_LE(sections->ticks, passed - outside);
    const Node* between = child(sections, OmpConstruct::kParallel, place(4));
    ASSERT_NE(between, nullptr);
    EXPECT_LE(between->ticks, sections->ticks);
}

TEST_F(OmpRecursion, GroupAndMaskedInThemselvesCollapse) {
    uint64_t outside = 0;
    const uint64_t begin = now_ticks();
    within(OmpConstruct::kTaskgroup, place(14), [&] {
        within(OmpConstruct::kMasked, place(15), [&] {
            within(OmpConstruct::kTaskgroup, place(14), [&] {
                const uint64_t since = now_ticks();
                spin(kPiece);
                outside += now_ticks() - since;
                within(OmpConstruct::kMasked, place(15), [] {
                    within(OmpConstruct::kTaskgroup, place(14), nothing);
                    spin(kPiece);
                });
            });
        });
    });
    const uint64_t passed = now_ticks() - begin;
    const Node* group = child(root(t_thread), OmpConstruct::kTaskgroup, place(14));
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->count, 3u);
    EXPECT_EQ(part(group).untimed, 2u);
    EXPECT_GE(group->ticks, 2 * kPiece);
    EXPECT_LE(group->ticks, passed);
    EXPECT_EQ(child(group, OmpConstruct::kTaskgroup, place(14)), nullptr);
    const Node* masked = child(group, OmpConstruct::kMasked, place(15));
    ASSERT_NE(masked, nullptr);
    EXPECT_EQ(masked->count, 2u);
    EXPECT_EQ(part(masked).untimed, 0u);
    EXPECT_GE(masked->ticks, kPiece);
    EXPECT_LE(masked->ticks, passed - outside);
    EXPECT_EQ(masked->first_child, 0u);
}

TEST_F(OmpRecursion, GroupInItselfOnAThreadWithACopy) {
    Worker second;
    within(OmpConstruct::kTaskgroup, place(16), [&] {
        region(second, place(17), nothing,
               [] { within(OmpConstruct::kTaskgroup, place(16), [] { spin(kPiece); }); });
    });
    leave(second);
    const Node* copy = child(root(thread_of(second)), OmpConstruct::kTaskgroup, place(16));
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->count, 1u);
    EXPECT_EQ(part(copy).untimed, 0u);
    EXPECT_GE(copy->ticks, kPiece);
    const Node* inner = child(copy, OmpConstruct::kParallel, place(17));
    ASSERT_NE(inner, nullptr);
    EXPECT_EQ(child(inner, OmpConstruct::kTaskgroup, place(16)), nullptr);
    EXPECT_LE(inner->ticks, copy->ticks - kPiece);
}

TEST_F(OmpRecursion, OtherThreadReturnsToACopiedNode) {
    Worker second;
    uint64_t passed = 0;  // until the last thread reached the end
    serial(place(5), [&] {
        OmpTeam* const team = omp_fork(place(6), nullptr);
        omp_implicit_begin(team, 0, 2);
        uint64_t begin = 0;
        second([&] {
            begin = now_ticks();
            omp_implicit_begin(team, 1, 2);
            serial(place(5), [] { spin(kPiece); });
            omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(6), true);
        });
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, place(6), true);
        passed = now_ticks() - begin;
        omp_barrier_end();
        omp_implicit_end();
        omp_join(team);
    });
    const uint64_t begin = now_ticks();
    leave(second);
    passed += now_ticks() - begin;
    const Node* copy = child(root(thread_of(second)), OmpConstruct::kParallel, place(5));
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->count, 1u);
    EXPECT_EQ(part(copy).untimed, 0u);
    EXPECT_GE(copy->ticks, kPiece);
    EXPECT_LE(copy->ticks, passed);
    const Node* own = child(copy, OmpConstruct::kParallel, place(6));
    ASSERT_NE(own, nullptr);
    EXPECT_LE(own->ticks, copy->ticks - kPiece);
}

TEST_F(OmpRecursion, ConstructsWithoutRoomAreCountedAndEndNothingElse) {
    constexpr uint64_t kRoom = kProbeStackEntries - 1;
    constexpr uint64_t kBeyond = 5;
    serial(place(7), nothing);  // the thread has its stack from here on
    const uint64_t dropped = t_thread->record->probes_dropped;
    deep(place(8), static_cast<int>(kRoom + kBeyond));
    const Node* region = child(root(t_thread), OmpConstruct::kParallel, place(8));
    EXPECT_EQ(region->count, kRoom + kBeyond);
    EXPECT_EQ(part(region).created, kRoom + kBeyond);
    EXPECT_EQ(part(region).untimed, kRoom + kBeyond - 1);
    EXPECT_EQ(t_thread->record->probes_dropped, dropped);

    for (uint64_t i = 0; i < kRoom; ++i) omp_begin(OmpConstruct::kTaskgroup, place(9));
    omp_begin(OmpConstruct::kCritical, place(10));
    omp_acquired(OmpConstruct::kCritical, true);
    omp_begin(OmpConstruct::kTaskwait, place(11));
    omp_barrier_begin(OmpConstruct::kBarrier, place(12), false);
    omp_barrier_end();
    omp_loop_begin(OmpConstruct::kStaticLoop, place(13), 1);
    EXPECT_TRUE(omp_loop_end());
    omp_wait_end(OmpConstruct::kTaskwait);
    omp_end(OmpConstruct::kCritical);
    EXPECT_EQ(t_thread->record->probe_depth, kRoom);
    EXPECT_EQ(t_thread->omp.unopened, 0u);
    const auto innermost = t_thread->on.top->node;
    for (const auto& [construct, at] :
         {std::pair{OmpConstruct::kCritical, 10}, std::pair{OmpConstruct::kTaskwait, 11},
          std::pair{OmpConstruct::kBarrier, 12}, std::pair{OmpConstruct::kStaticLoop, 13}}) {
        const Node* node = child(innermost, construct, place(static_cast<uint64_t>(at)));
        ASSERT_NE(node, nullptr) << at;
        EXPECT_EQ(node->count, 1u);
        EXPECT_EQ(part(node).untimed, 1u);
    }
    for (uint64_t i = 0; i < kRoom; ++i) omp_end(OmpConstruct::kTaskgroup);
}

}  // namespace

}  // namespace dwell
