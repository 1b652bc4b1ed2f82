// Blocks among procedures with probes, which may end before the blocks that began in them.
#include <gtest/gtest.h>
#include <setjmp.h>

#include "runtime/contract/site_table.h"
#include "runtime/openmp/omp_adapter.h"
#include "tests/unit/runtime/probes/blocks_harness.h"

namespace dwell {
namespace {

// A procedure with probes, as a plugin writes them (site_table.h).
struct Procedure {
    SiteRow row{};
    uint8_t level = kLevelFull;
    Procedure() {
        row.kind = SiteKind::kProcedure;
        row.level = static_cast<int32_t>(reinterpret_cast<const char*>(&level) -
                                         reinterpret_cast<const char*>(&row.level));
    }
    void probe(void (*entry)(), const uint64_t* slot) const {
        asm volatile(
            "mov %1, %%r11\n\t"
            "mov %2, %%r10\n\t"
            "sub $128, %%rsp\n\t"
            "call *%0\n\t"
            "add $128, %%rsp"
            :
            : "r"(entry), "r"(&row), "r"(slot)
            : "r10", "r11", "cc", "memory");
    }
};

// Return addresses in no module: their sites keep them as they are.
TEST_F(Blocks, OutliveTheProcedureThatTheyBeganIn) {
    const Procedure outer;
    const Procedure starter;
    const Procedure stopper;
    uint64_t slots[2] = {0x2000, 0x1000};  // deeper frames lie lower
    outer.probe(dwell_enter, &slots[1]);
    starter.probe(dwell_enter, &slots[0]);
    begin("carried");
    starter.probe(dwell_leave, &slots[0]);
    spin(20'000);
    slots[0] = 0x3000;
    stopper.probe(dwell_enter, &slots[0]);
    spin(10'000);
    end("carried");
    spin(10'000);
    stopper.probe(dwell_leave, &slots[0]);
    outer.probe(dwell_leave, &slots[1]);
    const Node* out = procedure_under(nullptr, 0x1000);
    ASSERT_NE(out, nullptr);
    const Node* carried = child(out, "carried");
    ASSERT_NE(carried, nullptr);
    EXPECT_EQ(carried->count, 0u);
    EXPECT_GE(carried->ticks, 27'000u);
    EXPECT_EQ(carried->part == 0 ? 0 : part_of(carried)->abandoned, 0u);
    const Node* start = procedure_under(out, 0x2000);
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(start->count, 1u);
    EXPECT_EQ(child(start, "carried")->count, 1u);
    EXPECT_GE(child(start, "carried")->min_ticks, 27'000u);
    // The procedure that ended the block goes on outside it.
    const Node* within = procedure_under(carried, 0x3000);
    const Node* after = procedure_under(out, 0x3000);
    ASSERT_NE(within, nullptr);
    ASSERT_NE(after, nullptr);
    EXPECT_EQ(within->count, 1u);
    EXPECT_GE(within->ticks, 9'000u);
    EXPECT_GE(within->min_ticks, 18'000u);
    EXPECT_EQ(after->count, 0u);
    EXPECT_GE(after->ticks, 9'000u);
    EXPECT_GE(out->ticks, start->ticks + carried->ticks + after->ticks);
}

// The end of a single construct of gcc's is not told: that of the code around it is it.
TEST_F(Blocks, ConstructsOfOpenMpEndWithTheirProcedure) {
    const Procedure code;
    uint64_t slot = 0x9000;
    code.probe(dwell_enter, &slot);
    omp_begin(OmpConstruct::kSingle, 0x9100);
    code.probe(dwell_leave, &slot);
    EXPECT_EQ(t_thread->record->probe_depth, depth_);
    omp_end(OmpConstruct::kSingle);  // told late, it ends nothing
    const Node* own = procedure_under(nullptr, 0x9000);
    ASSERT_NE(own, nullptr);
    const Node* single = child_of_kind(own, SiteKind::kOpenMp);
    ASSERT_NE(single, nullptr);
    EXPECT_EQ(single->count, 1u);
    EXPECT_EQ(cell_at<OmpPart>(single->part)->abandoned, 0u);
    EXPECT_EQ(own->part == 0 ? 0 : part_of(own)->abandoned, 0u);
}

// As for (...) dwell_phase_next(...); dwell_phase_end(); in code with probes.
TEST_F(Blocks, APhaseThatOutlivesItsLoopIsOneIteration) {
    const Procedure steps;
    uint64_t slot = 0x6000;
    steps.probe(dwell_enter, &slot);
    for (uint64_t i = 0; i < 5; ++i) {
        if (i != 0) end_phase();
        begin_phase(phase("carried step"), i);
        spin(20'000);
    }
    steps.probe(dwell_leave, &slot);
    end_phase();
    const Node* node = child(procedure_under(nullptr, 0x6000), "carried step");
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 5u);
    EXPECT_GE(node->min_ticks, 18'000u);
    EXPECT_EQ(part_of(node)->iteration, 4u);
    EXPECT_EQ(child(nullptr, "carried step")->count, 0u);
}

// A block in a recursive procedure that ends after the procedure was left: before a call in tail
// position the leave comes first.
TEST_F(Blocks, InARecursionThatIsLeftFirstTheyAreTimed) {
    const Procedure recursive;
    uint64_t slots[4] = {0x7000, 0x7000, 0x7000, 0x7100};
    for (int i = 3; i >= 0; --i) {
        recursive.probe(dwell_enter, &slots[i]);
        begin("left first");
        spin(20'000);
    }
    for (uint64_t& slot : slots) {
        recursive.probe(dwell_leave, &slot);
        end("left first");
    }
    const Node* node = child(procedure_under(nullptr, 0x7100), "left first");
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 4u);
    EXPECT_EQ(node->part == 0 ? 0 : part_of(node)->untimed, 0u);
    EXPECT_GE(node->min_ticks, 18'000u);
    EXPECT_LE(node->max_ticks, node->ticks);
}

TEST_F(Blocks, OfAFrameThatIsGoneEndWithIt) {
    const Procedure outer;
    const Procedure thrower;
    uint64_t slots[2] = {0x5000, 0x4000};
    outer.probe(dwell_enter, &slots[1]);
    thrower.probe(dwell_enter, &slots[0]);
    begin("left by a throw");
    outer.probe(dwell_landed, &slots[1]);
    EXPECT_EQ(t_thread->record->probe_depth, depth_ + 1);
    outer.probe(dwell_leave, &slots[1]);
    const Node* threw = procedure_under(procedure_under(nullptr, 0x4000), 0x5000);
    ASSERT_NE(threw, nullptr);
    const Node* left = child(threw, "left by a throw");
    EXPECT_EQ(left->count, 1u);
    EXPECT_EQ(part_of(left)->abandoned, 1u);
    EXPECT_EQ(part_of(threw)->abandoned, 1u);
}

jmp_buf g_jump;

const uint64_t* slot_above(void* frame) { return static_cast<const uint64_t*>(frame) + 1; }

__attribute__((noinline)) void leaves_by_jump(const Procedure& own) {
    own.probe(dwell_enter, slot_above(__builtin_frame_address(0)));
    longjmp(g_jump, 1);
}
__attribute__((noinline)) void catches_jump(const Procedure& own, const Procedure& inner) {
    const uint64_t* slot = slot_above(__builtin_frame_address(0));
    own.probe(dwell_enter, slot);
    begin("catching");
    if (setjmp(g_jump) == 0) leaves_by_jump(inner);
    end_block(GivenName{"catching", 8});
    own.probe(dwell_leave, slot);
}

TEST_F(Blocks, ProceduresThatAreGoneDoNotOutliveTheBlock) {
    const Procedure outer;
    const Procedure inner;
    for (int i = 0; i < opaque(5); ++i) catches_jump(outer, inner);
    const Node* catcher = nullptr;
    for (CellIndex at = cell_at<Node>(t_thread->record->root)->first_child; at != 0;
         at = cell_at<Node>(at)->next_sibling) {
        const Node* node = child_of_kind(cell_at<Node>(at), SiteKind::kProcedure);
        if (node != nullptr && child(node, "catching") != nullptr) catcher = node;
    }
    ASSERT_NE(catcher, nullptr);
    EXPECT_EQ(catcher->count, 5u);
    const Node* block_node = child(catcher, "catching");
    EXPECT_EQ(block_node->count, 5u);
    const Node* call = child_of_kind(block_node, SiteKind::kCall);
    ASSERT_NE(call, nullptr);
    const Node* jumped = child_of_kind(call, SiteKind::kProcedure);
    EXPECT_EQ(jumped->count, 5u);
    EXPECT_EQ(part_of(jumped)->abandoned, 5u);
    EXPECT_EQ(child_of_kind(catcher, SiteKind::kCall), nullptr);  // nothing went on outside
}

}  // namespace
}  // namespace dwell
