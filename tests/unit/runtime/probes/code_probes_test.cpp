// Procedures of code built with -finstrument-functions, alone and with blocks.
#include <gtest/gtest.h>
#include <setjmp.h>

#include "tests/unit/runtime/probes/blocks_harness.h"

extern "C" {
void __cyg_profile_func_enter(void* function, void* call_site);
void __cyg_profile_func_exit(void* function, void* call_site);
}

namespace dwell {
namespace {

jmp_buf g_jump;

// Code as -finstrument-functions makes it, by hand.
#define ENTER(function) __cyg_profile_func_enter(code(function), __builtin_return_address(0))
#define LEAVE(function) __cyg_profile_func_exit(code(function), __builtin_return_address(0))
template <typename Function>
void* code(Function* function) {
    return reinterpret_cast<void*>(function);
}

const Node* code_node(const Node* parent, void* function, int* instances = nullptr) {
    if (parent == nullptr) parent = cell_at<Node>(t_thread->record->root);
    const Node* found = nullptr;
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        if (cell_at<Node>(at)->site.kind != SiteKind::kCall) continue;
        const Node* node = child_of_kind(cell_at<Node>(at), SiteKind::kProcedure);
        if (node == nullptr || (node->site.flags & kNodeCode) == 0) continue;
        for (CellIndex module = g_process.header->first_module; module != 0;
             module = cell_at<ModuleRecord>(module)->next) {
            const auto* record = cell_at<ModuleRecord>(module);
            if (record->number != node->site.module ||
                record->base + node->site.offset != reinterpret_cast<uint64_t>(function)) {
                continue;
            }
            found = node;
            if (instances != nullptr) *instances += 1;
        }
    }
    return found;
}

__attribute__((noinline)) void leaf(bool jump) {
    ENTER(&leaf);
    if (jump) longjmp(g_jump, 1);
    LEAVE(&leaf);
}
__attribute__((noinline)) void middle() {
    ENTER(&middle);
    leaf(false);
    leaf(false);
    LEAVE(&middle);
}
__attribute__((noinline)) void fibonacci(int n) {
    ENTER(&fibonacci);
    if (n > 1) {
        fibonacci(n - 1);
        fibonacci(n - 2);
    }
    LEAVE(&fibonacci);
}
// Stands for the body of one procedure in another.
__attribute__((noinline)) void with_inlined() {
    ENTER(&with_inlined);
    ENTER(&middle);
    leaf(false);
    LEAVE(&middle);
    LEAVE(&with_inlined);
}
__attribute__((noinline)) void with_block() {
    ENTER(&with_block);
    begin("in code");
    leaf(false);
    end("in code");
    LEAVE(&with_block);
}
__attribute__((noinline)) void jumper() {
    ENTER(&jumper);
    if (setjmp(g_jump) == 0) leaf(true);
    leaf(false);
    LEAVE(&jumper);
}

TEST_F(Blocks, CodeProbesKeepTheirCallStatements) {
    for (int i = 0; i < opaque(100); ++i) middle();
    const Node* node = code_node(nullptr, code(&middle));
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 100u);
    int statements = 0;
    const Node* below = code_node(node, code(&leaf), &statements);
    EXPECT_EQ(statements, 2);
    EXPECT_EQ(below->count, 100u);
    EXPECT_GE(node->ticks, below->ticks);
}

TEST_F(Blocks, CodeProbesFoldRecursion) {
    fibonacci(10);  // 177 calls: fib(10) makes 2 * F(11) - 1
    const Node* node = code_node(nullptr, code(&fibonacci));
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 177u);
    EXPECT_EQ(part_of(node)->untimed, 176u);
    EXPECT_EQ(part_of(node)->abandoned, 0u);
    EXPECT_EQ(code_node(node, code(&fibonacci)), nullptr);
}

TEST_F(Blocks, CodeProbesOfInlinedProceduresLieInTheirHost) {
    for (int i = 0; i < opaque(50); ++i) with_inlined();
    const Node* host = code_node(nullptr, code(&with_inlined));
    ASSERT_NE(host, nullptr);
    const Node* inlined = code_node(host, code(&middle));
    ASSERT_NE(inlined, nullptr);
    EXPECT_EQ(host->count, 50u);
    EXPECT_EQ(inlined->count, 50u);
    EXPECT_EQ(code_node(inlined, code(&leaf))->count, 50u);
    EXPECT_EQ(host->part == 0 ? 0 : part_of(host)->abandoned, 0u);
}

TEST_F(Blocks, CodeProbesAndBlocksHoldEachOther) {
    begin("around code");
    for (int i = 0; i < opaque(20); ++i) with_block();
    end("around code");
    const Node* procedure = code_node(child(nullptr, "around code"), code(&with_block));
    ASSERT_NE(procedure, nullptr);
    const Node* inner = child(procedure, "in code");
    ASSERT_NE(inner, nullptr);
    EXPECT_EQ(inner->count, 20u);
    EXPECT_EQ(code_node(inner, code(&leaf))->count, 20u);
}

TEST_F(Blocks, CodeProbesDropFramesLeftByLongjmp) {
    for (int i = 0; i < opaque(10); ++i) jumper();
    const Node* host = code_node(nullptr, code(&jumper));
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(host->count, 10u);
    int statements = 0;
    uint64_t entries = 0;
    uint64_t abandoned = 0;
    for (CellIndex at = host->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* node = child_of_kind(cell_at<Node>(at), SiteKind::kProcedure);
        if (node == nullptr) continue;
        statements += 1;
        entries += node->count;
        if (node->part != 0) abandoned += part_of(node)->abandoned;
    }
    EXPECT_EQ(statements, 2);
    EXPECT_EQ(entries, 20u);
    EXPECT_EQ(abandoned, 10u);
}

}  // namespace
}  // namespace dwell
